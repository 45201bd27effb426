// Voucher documents: downloaded, verified, and only then returned.

package hotelstays

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// documentTimeout bounds a download without a deadline.
	documentTimeout   = 5 * time.Minute
	defaultMaxVoucher = 64 << 20
)

func (c *Client) collectVoucher(ctx context.Context, method Operation, row *operation, opts []CallOption) (settings, error) {
	if err := c.usable(ctx, method); err != nil {
		return settings{}, err
	}
	set := collect(method, row, opts)
	set.maxVoucherBytes = cmp.Or(set.maxVoucherBytes, defaultMaxVoucher)
	return set, set.faults.err(method)
}

// VerifyVoucher compares the SHA-256 of a document with that of its voucher, in constant time. The
// error is ErrVoucherAltered if they differ or the document is empty. Without a signature block it is
// ErrVoucherAltered if the size differs, else ErrVoucherUnsigned. A document that is unchanged need
// not be current: Voucher.VerifyURL shows whether the order is cancelled, or a newer version exists.
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
	case v.Signature == nil && !set.unsignedVouchers:
		return unsignedVoucher(v)
	case v.Signature == nil:
		return nil
	case subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum)), []byte(v.Signature.Digest)) != 1:
		return voucherError(v, ErrVoucherAltered, "the SHA-256 of its %d bytes is not the one that was signed", size)
	}
	return nil
}

// DownloadVoucher downloads the document of v, in a temporary file, and writes it to w after it has
// verified all of it. The errors are those of VerifyVoucher, ErrVoucherLinkExpired, and those of the
// connection and of w, all in a *VoucherError; a nil w is a *ValidationError. The download ends with
// ctx or WithTimeout; without a deadline, after five minutes. A broken one is not resumed.
//
// The request has no credentials. It follows up to three redirects if the voucher has a digest. Link
// and redirects must be https and lead to a public host, as ValidateCallbackURL defines it, and to its
// public addresses, unless WithVoucherHosts names the host. With a DialContext of your own, the address
// that it connected to is checked before anything is sent; a proxy, or a RoundTripper other than
// *http.Transport, has to check addresses itself. A client of a loopback base URL accepts any host,
// and http on loopback.
func (c *Client) DownloadVoucher(ctx context.Context, v *types.Voucher, w io.Writer, opts ...CallOption) error {
	set, err := c.collectVoucher(ctx, "DownloadVoucher", nil, opts)
	if err != nil {
		return err
	}
	if w == nil {
		set.faults.add("w", "is nil")
		return set.faults.err(set.method)
	}
	_, err = helped(ctx, c, set.method, func(ctx context.Context) (none struct{}, err error) {
		return none, c.downloadVoucher(ctx, v, w, set)
	})
	return err
}

func (c *Client) downloadVoucher(ctx context.Context, v *types.Voucher, w io.Writer, set settings) error {
	temp, _, err := spool(func(w io.Writer) error { return c.fetchDocument(ctx, v, w, set) })
	if err != nil {
		return err
	}
	defer func() { _ = discard(temp) }()
	if _, err := io.Copy(w, temp); err != nil {
		return voucherError(v, transport.WithoutCause(ctx, err), "writing the verified document")
	}
	return nil
}

// spool returns a temporary file, at its start, and its size, once write succeeds.
func spool(write documentWriter) (*os.File, int64, error) {
	temp, err := os.CreateTemp("", "voucher-*")
	if err != nil {
		return nil, 0, &VoucherError{Err: err, Detail: "a temporary file could not be created"}
	}
	os.Remove(temp.Name()) // Unix: a killed process leaves no file
	whole := false
	defer func() { // also when a transport panics
		if !whole {
			_ = discard(temp)
		}
	}()
	if err := write(temp); err != nil {
		return nil, 0, err
	}
	size, err := temp.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = temp.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, 0, &VoucherError{Err: err, Detail: "reading the temporary file"}
	}
	whole = true
	return temp, size, nil
}

func discard(temp *os.File) error {
	err := temp.Close()
	os.Remove(temp.Name()) // systems other than Unix
	return err
}

func (s *settings) acceptable(v *types.Voucher) error {
	switch {
	case v == nil:
		return &VoucherError{Err: ErrNoVoucher, Detail: "the voucher is nil"}
	case v.ByteSize > s.maxVoucherBytes || v.Signature == nil && v.ByteSize < 1:
		return voucherError(v, errVoucherSize, "it states %d bytes; the limit is %d (WithMaxVoucherBytes)", v.ByteSize, s.maxVoucherBytes)
	case v.Signature == nil && !s.unsignedVouchers:
		return unsignedVoucher(v)
	}
	return nil
}

func unsignedVoucher(v *types.Voucher) error {
	return voucherError(v, ErrVoucherUnsigned, "WithUnsignedVouchers accepts it by its size alone")
}

var errVoucherSize = errors.New("size not accepted")

// copyDocument is a documentWriter. It reads at most one byte more than is allowed.
func copyDocument(ctx context.Context, w io.Writer, document io.Reader, v *types.Voucher, set settings, links []string) error {
	sum := sha256.New()
	limit := set.maxVoucherBytes
	if v.Signature == nil {
		limit = v.ByteSize
	}
	document = io.LimitReader(document, min(limit, math.MaxInt64-1)+1)
	size, err := io.Copy(io.MultiWriter(w, sum), document)
	switch {
	case err != nil:
		return voucherError(v, withoutLinks(transport.WithoutCause(ctx, err), links), "after %d of %d bytes", size, v.ByteSize)
	case size > set.maxVoucherBytes:
		return voucherError(v, errVoucherSize, "it has more than %d bytes (WithMaxVoucherBytes)", set.maxVoucherBytes)
	}
	return verdict(v, size, sum.Sum(nil), set)
}

func (c *Client) fetchDocument(ctx context.Context, v *types.Voucher, w io.Writer, set settings) error {
	if err := set.acceptable(v); err != nil {
		return err
	}
	timeout := set.timeout
	if _, bounded := ctx.Deadline(); timeout == 0 && !bounded {
		timeout = documentTimeout
	}
	if timeout > 0 {
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

// maxVoucherAttempts limits how often SaveVoucher and OpenVoucher get the voucher: during a
// download its link may expire, or a new version may replace it.
const maxVoucherAttempts = 3

// SaveVoucher gets the voucher of an order, saves its document at path, for its owner alone, and
// returns the voucher. It writes, verifies and syncs a file beside path and renames it: path holds a
// whole document, or after an error what it had before. A process that is killed may leave a file
// named .voucher-*, which you can delete.
//
// If the link has expired, or the document is incomplete or altered, there may be a newer version:
// SaveVoucher gets the voucher again, at most three times in all. With req.IncludeDocument it uses the
// document in the answer, or the link if that is too large. A voucher without a document is
// ErrVoucherNotReady, which AwaitVoucher waits for, or ErrNoVoucher; the other errors are those of
// OrderVoucher and DownloadVoucher. WithTimeout applies to each OrderVoucher and each download.
func (c *Client) SaveVoucher(ctx context.Context, req *OrderVoucherRequest, path string, opts ...CallOption) (*types.Voucher, error) {
	set, err := c.collectVoucher(ctx, "SaveVoucher", operations[OpOrderVoucher], opts)
	if err != nil {
		return nil, err
	}
	if path == "" {
		set.faults.add("path", "is empty")
		return nil, set.faults.err(set.method)
	}
	return helped(ctx, c, set.method, func(ctx context.Context) (*types.Voucher, error) {
		return c.storeVoucher(ctx, req, set, func(write documentWriter) error { return writeWhole(path, write) })
	})
}

// OpenVoucher gets the voucher of an order like SaveVoucher, and returns its verified document. Close
// it: until then it is in a temporary file.
func (c *Client) OpenVoucher(ctx context.Context, req *OrderVoucherRequest, opts ...CallOption) (*VoucherDocument, error) {
	set, err := c.collectVoucher(ctx, "OpenVoucher", operations[OpOrderVoucher], opts)
	if err != nil {
		return nil, err
	}
	document := new(VoucherDocument)
	document.Voucher, err = helped(ctx, c, set.method, func(ctx context.Context) (*types.Voucher, error) {
		return c.storeVoucher(ctx, req, set, func(write documentWriter) error {
			temp, size, err := spool(write)
			document.Content, document.Size = tempFile{temp}, size
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return document, nil
}

// VoucherDocument is a verified document, for http.ServeContent for instance. Only one goroutine may
// use it at a time.
type VoucherDocument struct {
	Voucher *types.Voucher
	Size    int64         // in bytes
	Content io.ReadSeeker // of OpenVoucher a temporary file, of a test any reader
}

var _ io.ReadSeekCloser = (*VoucherDocument)(nil)

var errNoContent = errors.New("hotelstays: this VoucherDocument has no Content; OpenVoucher returns one that has")

// Read reads the next bytes of Content.
func (d *VoucherDocument) Read(p []byte) (int, error) {
	if d.Content == nil {
		return 0, errNoContent
	}
	return d.Content.Read(p)
}

// Seek sets the place of the next Read.
func (d *VoucherDocument) Seek(offset int64, whence int) (int64, error) {
	if d.Content == nil {
		return 0, errNoContent
	}
	return d.Content.Seek(offset, whence)
}

// Close closes Content if it is an io.Closer. That of OpenVoucher is then removed.
func (d *VoucherDocument) Close() error {
	if content, ok := d.Content.(io.Closer); ok {
		return content.Close()
	}
	return nil
}

// tempFile is removed when it is closed.
type tempFile struct{ *os.File }

func (f tempFile) Close() error { return discard(f.File) }

// documentWriter writes a document. It returns nil only if all of it is verified. documentStore keeps
// what one writes.
type (
	documentWriter func(io.Writer) error
	documentStore  func(documentWriter) error
)

// storeVoucher gets the voucher of an order and calls store for each attempt to keep its document.
func (c *Client) storeVoucher(ctx context.Context, req *OrderVoucherRequest, set settings, store documentStore) (*types.Voucher, error) {
	if req == nil {
		return nil, nilRequest(set.method)
	}
	ask, reference := *req, req.anyReference()
	for attempt := 1; ; attempt++ {
		v, err := c.storeOnce(ctx, &ask, set, store)
		switch {
		case err == nil:
			return v, nil
		case errors.Is(err, ErrVoucherTooLarge) && ask.IncludeDocument:
			ask.IncludeDocument = false
			attempt--
		case attempt < maxVoucherAttempts && mayBeOutdated(err):
			c.log.LogAttrs(ctx, slog.LevelInfo, "getting the voucher again",
				append(logAttrs(err), slog.String(transport.LogReference, reference))...)
		default:
			return nil, ofOrder(reference, err)
		}
	}
}

func mayBeOutdated(err error) bool {
	return errors.Is(err, ErrVoucherLinkExpired) || errors.Is(err, ErrVoucherAltered) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (c *Client) storeOnce(ctx context.Context, req *OrderVoucherRequest, set settings, store documentStore) (*types.Voucher, error) {
	resp, err := c.OrderVoucher(ctx, req, set.to(OpOrderVoucher))
	if err != nil {
		return nil, err
	}
	v, status := resp.Voucher, fmt.Sprintf("its status is %q", resp.Status)
	switch {
	case inPreparation(resp.Status):
		return nil, &VoucherError{Status: resp.Status, Err: ErrVoucherNotReady, Detail: status + "; AwaitVoucher waits for it"}
	case resp.Status != types.VoucherGenerated:
		return nil, &VoucherError{Status: resp.Status, Err: ErrNoVoucher, Detail: status}
	case v == nil:
		return nil, &VoucherError{Status: resp.Status, Err: ErrNoVoucher, Detail: status + ", but the answer has no voucher"}
	}
	return v, store(func(file io.Writer) error {
		if v.Content != nil {
			return inlineDocument(ctx, v, file, set)
		}
		return c.fetchDocument(ctx, v, file, set)
	})
}

func inlineDocument(ctx context.Context, v *types.Voucher, w io.Writer, set settings) error {
	if err := set.acceptable(v); err != nil {
		return err
	}
	return copyDocument(ctx, w, base64.NewDecoder(base64.StdEncoding, strings.NewReader(v.Content.Base64)), v, set, nil)
}

// writeWhole writes a file beside path, and renames it once write succeeds.
func writeWhole(path string, write documentWriter) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".voucher-*")
	if err != nil {
		return &VoucherError{Err: err, Detail: "a file beside the target could not be created"}
	}
	renamed := false
	defer func() { // also when a transport panics
		if !renamed {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if err := write(file); err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return &VoucherError{Err: err, Detail: "the verified document could not be written"}
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return &VoucherError{Err: err, Detail: "the verified document could not be renamed"}
	}
	renamed = true
	return nil
}
