// Voucher documents: downloaded, verified, and only then returned.

package hotelstays

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/hosts"
	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// documentTimeout limits a download if neither WithTimeout nor ctx limits it.
	documentTimeout   = 5 * time.Minute
	defaultMaxVoucher = 64 << 20
	maxRedirects      = 3
)

// VerifyVoucher compares the SHA-256 of a document with the digest of its voucher, in constant time. The error is
// ErrVoucherAltered if they differ, or the document is empty. For a voucher without a signature block the error is
// ErrVoucherAltered if the size differs, and otherwise ErrVoucherUnsigned. An unchanged document may be superseded, or its
// order cancelled: Voucher.VerifyURL shows whether it is valid.
func VerifyVoucher(document []byte, v *types.Voucher) error {
	if v == nil {
		return &VoucherError{Err: ErrNoVoucher, Detail: "the voucher is nil"}
	}
	sum := sha256.Sum256(document)
	return verdict(v, int64(len(document)), sum[:], settings{})
}

func verdict(v *types.Voucher, size int64, sum []byte, set settings) error {
	switch {
	case size == 0 || v.Signature == nil && size != v.ByteSize:
		return voucherError(v, ErrVoucherAltered, "it has %d bytes instead of %d", size, v.ByteSize)
	case v.Signature == nil && !set.UnsignedVouchers:
		return unsignedVoucher(v)
	case v.Signature == nil:
		return nil
	case subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum)), []byte(v.Signature.Digest)) != 1:
		return voucherError(v, ErrVoucherAltered, "the SHA-256 of its %d bytes is not the signed digest", size)
	}
	return nil
}

// DownloadVoucher puts the document of v into a temporary file, verifies the whole document, and then writes it to w. If v
// contains the document, nothing is downloaded. The error is a *VoucherError with an error of VerifyVoucher,
// ErrVoucherLinkExpired, or an error of the connection or of w. A nil w is a *ValidationError. The download ends with ctx or
// the WithTimeout of the call, and without both after five minutes. A broken download is not resumed.
//
// The request has no credentials. It follows up to three redirects if the voucher has a digest. The link and its redirects
// must be https. They must lead to a public host, as ValidateCallbackURL defines it, and to public addresses, unless
// WithVoucherHosts names the host. With your own DialContext, the connected address is checked before anything is sent. A
// proxy, or a RoundTripper other than *http.Transport, must check addresses itself. A client of a loopback base URL accepts
// any host, and http on loopback.
func (c *Client) DownloadVoucher(ctx context.Context, v *types.Voucher, w io.Writer, opts ...CallOption) error {
	if err := c.usable(ctx, "DownloadVoucher"); err != nil {
		return err
	}
	set := c.collect("DownloadVoucher", nil, opts)
	if w == nil {
		set.faults.add("w", "is nil")
	}
	if err := set.faults.err("DownloadVoucher"); err != nil {
		return err
	}
	_, err := helped(ctx, c, "DownloadVoucher", func(ctx context.Context) (none struct{}, err error) {
		temp, err := c.spool(ctx, v, set, "")
		if err != nil {
			return none, err
		}
		defer func() { _ = temp.Close() }()
		if _, err = io.Copy(w, temp); err != nil {
			err = voucherError(v, transport.WithoutCause(ctx, err), "the verified document could not be written to w")
		}
		return none, err
	})
	return err
}

// tempFile is a file that Close removes.
type tempFile struct {
	*os.File
	size int64
}

func (f tempFile) Close() error {
	err := f.File.Close()
	os.Remove(f.Name())
	return err
}

// spool writes the verified document of v to a temporary file in dir, and rewinds the file. If dir is "", the file is in
// the system's directory of temporary files. On Unix that file has no name, so a killed process leaves no file behind.
func (c *Client) spool(ctx context.Context, v *types.Voucher, set settings, dir string) (temp tempFile, err error) {
	set.MaxVoucherBytes = cmp.Or(set.MaxVoucherBytes, defaultMaxVoucher)
	file, err := os.CreateTemp(dir, ".voucher-*")
	if err != nil {
		return temp, &VoucherError{Err: err, Detail: "a temporary file could not be created"}
	}
	if dir == "" {
		os.Remove(file.Name()) // on Windows this fails, because the file is open: there only Close removes the file
	}
	whole := false
	defer func() { // runs even if a transport panics
		if !whole {
			_ = tempFile{File: file}.Close()
		}
	}()
	if err := c.writeDocument(ctx, v, file, set); err != nil {
		return temp, err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return temp, &VoucherError{Err: err, Detail: "the temporary file could not be read"}
	}
	whole = true
	return tempFile{file, size}, nil
}

func (f tempFile) renameTo(path string) error {
	err := errors.Join(f.Sync(), f.File.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = f.Close()
		return &VoucherError{Err: err, Detail: "the verified document could not be written"}
	}
	return nil
}

func (s *settings) acceptable(v *types.Voucher) error {
	switch {
	case v == nil:
		return &VoucherError{Err: ErrNoVoucher, Detail: "the voucher is nil"}
	case v.ByteSize > s.MaxVoucherBytes || v.Signature == nil && v.ByteSize < 1:
		return voucherError(v, errVoucherSize, "the voucher states %d bytes; the limit is %d (WithMaxVoucherBytes)",
			v.ByteSize, s.MaxVoucherBytes)
	case v.Signature == nil && !s.UnsignedVouchers:
		return unsignedVoucher(v)
	}
	return nil
}

func unsignedVoucher(v *types.Voucher) error {
	return voucherError(v, ErrVoucherUnsigned, "WithUnsignedVouchers accepts the document, and checks only its size")
}

var errVoucherSize = errors.New("the document's size is outside the limits")

// copyDocument copies a document to w and verifies it. It reads at most one byte more than the size limit.
func copyDocument(ctx context.Context, w io.Writer, document io.Reader, v *types.Voucher, set settings, links redact.Links) error {
	sum := sha256.New()
	limit := set.MaxVoucherBytes
	if v.Signature == nil {
		limit = v.ByteSize
	}
	document = io.LimitReader(document, min(limit, math.MaxInt64-1)+1)
	size, err := io.Copy(io.MultiWriter(w, sum), document)
	switch {
	case err != nil:
		return voucherError(v, links.Clean(transport.WithoutCause(ctx, err)), "after %d of %d bytes%s",
			size, v.ByteSize, adviceAfter(err))
	case size > set.MaxVoucherBytes:
		return voucherError(v, errVoucherSize, "it has more than %d bytes (WithMaxVoucherBytes)", set.MaxVoucherBytes)
	}
	return verdict(v, size, sum.Sum(nil), set)
}

func (c *Client) writeDocument(ctx context.Context, v *types.Voucher, w io.Writer, set settings) error {
	if err := set.acceptable(v); err != nil {
		return err
	}
	if v.Content != nil {
		return copyDocument(ctx, w, base64.NewDecoder(base64.StdEncoding, strings.NewReader(v.Content.Base64)), v, set, nil)
	}
	_, bounded := ctx.Deadline()
	// The variable asked is false for a WithTimeout of New, because that option limits calls of the API.
	if asked := set.has(optTimeout); asked || !bounded {
		timeout := documentTimeout
		if asked {
			timeout = set.Timeout
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	resp, links, err := c.getDocument(ctx, v)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return copyDocument(ctx, w, resp.Body, v, set, links)
}

// getDocument requests the document of v, and follows redirects. The result links has the URLs of the document and of
// the redirects. These URLs are secret, so no error may contain them.
func (c *Client) getDocument(ctx context.Context, v *types.Voucher) (resp *http.Response, links redact.Links, err error) {
	documents := hosts.Documents{Transport: c.http.Transport, Trusted: c.voucherHosts, Loopback: c.loopback,
		UserAgent: cmp.Or(c.defaults.Header.Get(userAgent), defaultUserAgent)}
	if _, ok := c.http.Transport.(defaultTransport); ok {
		documents.Transport = http.DefaultTransport
	}
	redirects := 0
	if v.Signature != nil && v.Signature.Digest != "" {
		redirects = maxRedirects
	}
	resp, links, err = documents.Get(ctx, v.DownloadURL, redirects)
	switch {
	case err != nil:
		return nil, nil, voucherError(v, links.Clean(transport.WithoutCause(ctx, err)),
			"the document could not be downloaded%s", adviceAfter(err))
	case resp.StatusCode != http.StatusOK:
		resp.Body.Close()
		return nil, nil, documentRefused(v, resp.StatusCode)
	}
	return resp, links, nil
}

// adviceAfter returns the advice after a failed download, or "" if nothing helps.
func adviceAfter(err error) string {
	var certificate *tls.CertificateVerificationError
	var file *fs.PathError
	var inline base64.CorruptInputError
	link, ok := errors.AsType[*hosts.LinkError](err)
	switch {
	case ok && link.NotPublic, errors.Is(err, hosts.ErrPrivate):
		return "; if you trust this host, name it in WithVoucherHosts"
	case ok, errors.As(err, &certificate), errors.As(err, &file), errors.As(err, &inline):
		return ""
	}
	return "; " + tryLater
}

func documentRefused(v *types.Voucher, status int) error {
	err, next := errors.New("the document could not be downloaded"), ""
	switch {
	case oneOf(status, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone):
		err = ErrVoucherLinkExpired
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests:
		next = "; " + tryLater
	case hosts.IsRedirect(status):
		next = "; at most three redirects are followed, and none if the voucher has no digest"
	}
	return voucherError(v, err, "HTTP %d%s", status, next)
}

// maxVoucherAttempts is how often SaveVoucher and OpenVoucher may call OrderVoucher. They call OrderVoucher again if the
// link expires during a download, or leads to an older version.
const maxVoucherAttempts = 3

// SaveVoucher gets the voucher of an order, saves its document at path, and returns the voucher. Only the file's owner can
// read the file. SaveVoucher writes, verifies and syncs a temporary file beside path, and then renames that file to path. So
// path has a whole document, or after an error its old content. If path is a directory, a device or a symbolic link, the
// error is a *ValidationError. A process that is killed may leave a file named .voucher-*, which you can delete.
//
// If the link has expired, or the document is incomplete or altered, there may be a newer version: SaveVoucher gets the
// voucher again, at most three times in all. With req.IncludeDocument it uses the document in the answer, or the link if the
// document is too large. If there is no document yet, the error is ErrVoucherNotReady: call AwaitVoucher. If no
// document is in preparation, the error is ErrNoVoucher. SaveVoucher also returns the errors of OrderVoucher and
// DownloadVoucher. WithTimeout bounds each OrderVoucher and each download.
func (c *Client) SaveVoucher(ctx context.Context, req *OrderVoucherRequest, path string, opts ...CallOption) (*types.Voucher, error) {
	set := c.collect("SaveVoucher", operations[OpOrderVoucher], opts)
	if path == "" {
		set.faults.add("path", "is empty")
	}
	if old, err := os.Lstat(path); err == nil && !old.Mode().IsRegular() { // the rename would replace a device or a symbolic link
		set.faults.add("path", "exists, and is not a regular file; give the path of a regular file, or of a new one")
	}
	if err := checkCall(ctx, c, "SaveVoucher", req, set); err != nil {
		return nil, err
	}
	return helped(ctx, c, "SaveVoucher", func(ctx context.Context) (*types.Voucher, error) {
		v, temp, err := c.spoolVoucher(ctx, req, set, filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		if err := temp.renameTo(path); err != nil {
			return nil, ofOrder(req.anyReference(), err)
		}
		return v, nil
	})
}

// OpenVoucher gets the voucher of an order like SaveVoucher, and returns its verified document. Close the document: until then
// it is in a temporary file. Each call makes two requests, so a server should cache the documents, by the digest of the
// voucher.
func (c *Client) OpenVoucher(ctx context.Context, req *OrderVoucherRequest, opts ...CallOption) (*VoucherDocument, error) {
	set := c.collect("OpenVoucher", operations[OpOrderVoucher], opts)
	if err := checkCall(ctx, c, "OpenVoucher", req, set); err != nil {
		return nil, err
	}
	return helped(ctx, c, "OpenVoucher", func(ctx context.Context) (*VoucherDocument, error) {
		v, temp, err := c.spoolVoucher(ctx, req, set, "")
		if err != nil {
			return nil, err
		}
		return &VoucherDocument{v, temp.size, temp}, nil
	})
}

// VoucherDocument is a verified document, for example for http.ServeContent. Only one goroutine may use it at a time.
type VoucherDocument struct {
	Voucher *types.Voucher
	Size    int64         // in bytes
	Content io.ReadSeeker // OpenVoucher sets a temporary file; a test may set any reader
}

var _ io.ReadSeekCloser = (*VoucherDocument)(nil)

var errNoContent = errors.New("hotelstays: this VoucherDocument has no Content; use a VoucherDocument from OpenVoucher")

// Read reads the next bytes of Content.
func (d *VoucherDocument) Read(p []byte) (int, error) {
	if d.Content == nil {
		return 0, errNoContent
	}
	return d.Content.Read(p)
}

// Seek sets the position in Content from which the next Read reads.
func (d *VoucherDocument) Seek(offset int64, whence int) (int64, error) {
	if d.Content == nil {
		return 0, errNoContent
	}
	return d.Content.Seek(offset, whence)
}

// Close closes Content if it is an io.Closer. This removes the temporary file of OpenVoucher.
func (d *VoucherDocument) Close() error {
	if content, ok := d.Content.(io.Closer); ok {
		return content.Close()
	}
	return nil
}

func (c *Client) spoolVoucher(ctx context.Context, req *OrderVoucherRequest, set settings, dir string) (*types.Voucher, tempFile, error) {
	ask, reference := *req, req.anyReference()
	for attempt := 1; ; attempt++ {
		v, temp, err := c.spoolOnce(ctx, &ask, set, dir)
		switch {
		case err == nil:
			return v, temp, nil
		case errors.Is(err, ErrVoucherTooLarge) && ask.IncludeDocument:
			ask.IncludeDocument = false
			attempt--
		case attempt < maxVoucherAttempts && mayBeOutdated(err):
			c.log.LogAttrs(ctx, slog.LevelInfo, "getting the voucher again",
				append(logAttrs(err), slog.String(transport.LogReference, reference))...)
		default:
			return nil, temp, ofOrder(reference, err)
		}
	}
}

func mayBeOutdated(err error) bool {
	return errors.Is(err, ErrVoucherLinkExpired) || errors.Is(err, ErrVoucherAltered) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (c *Client) spoolOnce(
	ctx context.Context, req *OrderVoucherRequest, set settings, dir string,
) (_ *types.Voucher, temp tempFile, err error) {
	resp, err := c.OrderVoucher(ctx, req, set.forCall(OpOrderVoucher))
	if err != nil {
		return nil, temp, err
	}
	v, status := resp.Voucher, fmt.Sprintf("its status is %q", resp.Status)
	switch {
	case inPreparation(resp.Status):
		return nil, temp, &VoucherError{Status: resp.Status, Err: ErrVoucherNotReady, Detail: status + "; AwaitVoucher waits for it"}
	case resp.Status != types.VoucherGenerated:
		return nil, temp, &VoucherError{Status: resp.Status, Err: ErrNoVoucher, Detail: status + "; if the order is not cancelled, ask the supplier"}
	case v == nil:
		return nil, temp, &VoucherError{Status: resp.Status, Err: ErrNoVoucher, Detail: status + ", but the answer has no voucher"}
	}
	temp, err = c.spool(ctx, v, set, dir)
	return v, temp, err
}
