// Voucher documents: downloaded, verified, and only then returned.

package hotelstays

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// documentTimeout bounds a download without a deadline.
	documentTimeout   = 5 * time.Minute
	defaultMaxVoucher = 64 << 20
)

// WithUnsignedVouchers accepts a voucher without a signature block. Only its size is then
// checked.
func WithUnsignedVouchers() VoucherOption {
	return voucherOption(func(s *voucherSettings) { s.allowUnsigned = true })
}

// WithMaxVoucherBytes limits the size of a document, 64 MiB by default. A voucher with a
// larger size is a *VoucherError, and nothing is downloaded.
func WithMaxVoucherBytes(n int64) VoucherOption {
	return voucherOption(func(s *voucherSettings) {
		if n < 1 {
			s.faults.add("WithMaxVoucherBytes", "is %d; it must be positive", n)
			return
		}
		s.maxBytes = n
	})
}

func (c *Client) collectVoucher(ctx context.Context, method Operation, opts []VoucherOption) (voucherSettings, error) {
	set := voucherSettings{method: method, maxBytes: defaultMaxVoucher}
	if err := c.usable(ctx, method); err != nil {
		return set, err
	}
	applyAll(opts, &set, VoucherOption.applyVoucher)
	set.misplaced(OpOrderVoucher, operations[OpOrderVoucher])
	return set, set.faults.err(method)
}

// VerifyVoucher checks the size and the SHA-256 of a document against its voucher, in
// constant time. The error is ErrVoucherAltered if they differ, or ErrVoucherUnsigned if the
// voucher has no signature block.
//
// It proves that the document is unchanged, not that it is current: the order may be
// cancelled, or there may be a newer version. Voucher.VerifyURL shows that.
func VerifyVoucher(document []byte, v *types.Voucher) error {
	if v == nil {
		return &VoucherError{Err: ErrVoucherNotReady, Detail: "the voucher is nil"}
	}
	check := newDocumentCheck(v)
	_, _ = check.Write(document) // never fails
	return check.verdict(voucherSettings{})
}

type documentCheck struct {
	voucher *types.Voucher
	hash    hash.Hash
	size    int64
}

func newDocumentCheck(v *types.Voucher) *documentCheck {
	return &documentCheck{voucher: v, hash: sha256.New()}
}

func (d *documentCheck) Write(p []byte) (int, error) {
	d.size += int64(len(p))
	return d.hash.Write(p)
}

func (d *documentCheck) verdict(set voucherSettings) error {
	v := d.voucher
	if d.size != v.ByteSize || d.size == 0 {
		return voucherError(v, ErrVoucherAltered, "it has %d bytes instead of %d", d.size, v.ByteSize)
	}
	if v.Signature == nil {
		if set.allowUnsigned {
			return nil
		}
		return voucherError(v, ErrVoucherUnsigned, "WithUnsignedVouchers accepts it by its size alone")
	}
	got := hex.EncodeToString(d.hash.Sum(nil))
	if subtle.ConstantTimeCompare([]byte(got), []byte(v.Signature.Digest)) != 1 {
		return voucherError(v, ErrVoucherAltered, "its SHA-256 is not the one that was signed")
	}
	return nil
}

// DownloadVoucher downloads the document of v and writes it to w after it has verified all of
// it; until then it uses a temporary file. The errors are those of VerifyVoucher,
// ErrVoucherLinkExpired, and those of the connection and of w, all in a *VoucherError. A nil
// w or a bad option is a *ValidationError.
//
// The download ends with ctx or WithTimeout; without a deadline, after five minutes. Other
// call options have no effect, because the link is not an operation of the API. It must be
// https; a loopback client also accepts http on loopback. The request has no credentials and
// follows no redirect. A broken download is not resumed.
func (c *Client) DownloadVoucher(ctx context.Context, v *types.Voucher, w io.Writer, opts ...VoucherOption) error {
	set, err := c.collectVoucher(ctx, "DownloadVoucher", opts)
	if err != nil {
		return err
	}
	if w == nil {
		set.faults.add("w", "is nil")
		return set.faults.err(set.method)
	}
	temp, err := spool(func(w io.Writer) error { return c.fetchDocument(ctx, v, w, set) })
	if err != nil {
		return err
	}
	defer func() { _ = discard(temp) }()
	if _, err := io.Copy(w, temp); err != nil {
		return voucherError(v, transport.WithoutCause(ctx, err), "writing the verified document")
	}
	return nil
}

// spool returns a temporary file, at its start, once write succeeds.
func spool(write documentWriter) (*os.File, error) {
	temp, err := os.CreateTemp("", "voucher-*")
	if err != nil {
		return nil, &VoucherError{Err: err, Detail: "a temporary file could not be created"}
	}
	os.Remove(temp.Name()) // Unix: a killed process leaves no file
	whole := false
	defer func() { // also when a transport panics
		if !whole {
			_ = discard(temp)
		}
	}()
	if err := write(temp); err != nil {
		return nil, err
	}
	if _, err := temp.Seek(0, io.SeekStart); err != nil {
		return nil, &VoucherError{Err: err, Detail: "reading the temporary file"}
	}
	whole = true
	return temp, nil
}

func discard(temp *os.File) error {
	err := temp.Close()
	os.Remove(temp.Name()) // systems other than Unix
	return err
}

func (s voucherSettings) acceptable(v *types.Voucher) error {
	switch {
	case v == nil:
		return &VoucherError{Err: ErrVoucherNotReady, Detail: "the voucher is nil"}
	case v.ByteSize < 1 || v.ByteSize > s.maxBytes:
		return voucherError(v, errVoucherSize, "it states %d bytes; the limit is %d (WithMaxVoucherBytes)", v.ByteSize, s.maxBytes)
	case v.Signature == nil && !s.allowUnsigned:
		return voucherError(v, ErrVoucherUnsigned, "WithUnsignedVouchers accepts it by its size alone")
	}
	return nil
}

var errVoucherSize = errors.New("size not accepted")

// copyDocument writes the document to w. It returns nil only if all of it is verified. It
// reads at most one byte more than v states.
func copyDocument(ctx context.Context, w io.Writer, document io.Reader, v *types.Voucher, set voucherSettings) error {
	check := newDocumentCheck(v)
	if _, err := io.Copy(io.MultiWriter(w, check), io.LimitReader(document, v.ByteSize+1)); err != nil {
		return voucherError(v, withoutLink(transport.WithoutCause(ctx, err), v), "after %d of %d bytes", check.size, v.ByteSize)
	}
	return check.verdict(set)
}

func (c *Client) fetchDocument(ctx context.Context, v *types.Voucher, w io.Writer, set voucherSettings) error {
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
	resp, err := c.getDocument(ctx, v)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return copyDocument(ctx, w, resp.Body, v, set)
}

// withoutLink returns err, or the first of its causes without the link, or its text with the
// link redacted. Whoever has the link has the document.
func withoutLink(err error, v *types.Voucher) error {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if text := cause.Error(); redactLink(text, v) == text {
			return cause
		}
	}
	return errors.New(redactLink(err.Error(), v))
}

func redactLink(text string, v *types.Voucher) string {
	for _, secret := range []string{v.DownloadURL, requestURI(v.DownloadURL)} {
		if len(secret) > 1 {
			text = strings.ReplaceAll(text, secret, redact.Marker)
		}
	}
	return text
}

func requestURI(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return ""
	}
	return u.RequestURI()
}

func (c *Client) getDocument(ctx context.Context, v *types.Voucher) (*http.Response, error) {
	u, err := url.Parse(v.DownloadURL)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil, voucherError(v, errors.New("its link is not a URL"), "")
	}
	if u.Scheme != "https" && !(c.loopback && u.Scheme == "http" && isLoopback(u.Hostname())) {
		return nil, voucherError(v, errors.New("its link is not https"), "")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, voucherError(v, errors.New("its link is not a URL"), "")
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept-Encoding", "identity") // the digest is over the bytes as issued
	// A RoundTripper follows no redirect and has no cookies.
	resp, err := c.http.Transport.RoundTrip(req)
	if err == nil && (resp == nil || resp.Body == nil) {
		err = errors.New("the transport returned neither an answer nor an error")
	}
	if err != nil {
		return nil, voucherError(v, withoutLink(transport.WithoutCause(ctx, err), v), "downloading the document")
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return resp, nil
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		err = ErrVoucherLinkExpired
	default:
		err = errors.New("the document could not be downloaded")
	}
	resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError {
		return nil, voucherError(v, err, "HTTP %d; try again later", resp.StatusCode)
	}
	return nil, voucherError(v, err, "HTTP %d", resp.StatusCode)
}

// maxVoucherAttempts limits how often SaveVoucher and OpenVoucher get the voucher: during a
// download its link may expire, or a new version may replace it.
const maxVoucherAttempts = 3

// SaveVoucher gets the voucher of an order, saves its document at path, and returns the
// voucher. It writes and syncs a verified file beside path and renames it, so path holds a
// whole document, or after an error what it had before. Only the owner can read the file.
//
// If the link has expired, or the document is incomplete or altered, there may be a newer
// version: SaveVoucher gets the voucher again, at most three times in all. With
// req.IncludeDocument it uses the document in the answer, or the link if that is too large. A
// voucher without a document is ErrVoucherNotReady; AwaitVoucher waits for it. The other
// errors are those of OrderVoucher and DownloadVoucher, with the reference. Call options
// apply to each OrderVoucher, and WithTimeout also to each download.
//
// If the process is killed, it may leave a file named .voucher-* beside path. You can delete
// it.
func (c *Client) SaveVoucher(ctx context.Context, req *OrderVoucherRequest, path string, opts ...VoucherOption) (*types.Voucher, error) {
	set, err := c.collectVoucher(ctx, "SaveVoucher", opts)
	if err != nil {
		return nil, err
	}
	if path == "" {
		set.faults.add("path", "is empty")
		return nil, set.faults.err(set.method)
	}
	return c.storeVoucher(ctx, req, set, func(write documentWriter) error { return writeWhole(path, write) })
}

// OpenVoucher gets the voucher of an order and returns its verified document, to be closed by
// the caller. Until then the document is in a temporary file. The attempts, options and errors
// are those of SaveVoucher.
func (c *Client) OpenVoucher(ctx context.Context, req *OrderVoucherRequest, opts ...VoucherOption) (*VoucherDocument, error) {
	set, err := c.collectVoucher(ctx, "OpenVoucher", opts)
	if err != nil {
		return nil, err
	}
	var temp *os.File
	v, err := c.storeVoucher(ctx, req, set, func(write documentWriter) (err error) {
		temp, err = spool(write)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &VoucherDocument{Voucher: v, Size: v.ByteSize, temp: temp}, nil
}

// VoucherDocument is a verified document, for http.ServeContent for instance. OpenVoucher
// returns it. Only one goroutine may use it at a time.
type VoucherDocument struct {
	Voucher *types.Voucher
	// Size is in bytes.
	Size int64

	temp *os.File
}

var _ io.ReadSeekCloser = (*VoucherDocument)(nil)

// Read reads the next bytes of the document.
func (d *VoucherDocument) Read(p []byte) (int, error) { return d.temp.Read(p) }

// Seek sets the place of the next Read.
func (d *VoucherDocument) Seek(offset int64, whence int) (int64, error) {
	return d.temp.Seek(offset, whence)
}

// Close removes the temporary file.
func (d *VoucherDocument) Close() error { return discard(d.temp) }

// documentWriter writes a document. It returns nil only if all of it is verified.
type documentWriter func(io.Writer) error

// storeVoucher gets the voucher of an order and calls store to keep its document, for each
// attempt.
func (c *Client) storeVoucher(ctx context.Context, req *OrderVoucherRequest, set voucherSettings, store func(documentWriter) error) (*types.Voucher, error) {
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
		case attempt < maxVoucherAttempts && oneOfErrors(err, ErrVoucherLinkExpired, ErrVoucherAltered, io.ErrUnexpectedEOF):
			c.log.LogAttrs(ctx, slog.LevelInfo, "getting the voucher again", slog.String("reference", reference), slog.String("error", fact(err)))
		default:
			return nil, ofOrder(reference, err)
		}
	}
}

func oneOfErrors(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func (c *Client) storeOnce(ctx context.Context, req *OrderVoucherRequest, set voucherSettings, store func(documentWriter) error) (*types.Voucher, error) {
	resp, err := c.OrderVoucher(ctx, req, set.option())
	if err != nil {
		return nil, err
	}
	v := resp.Voucher
	switch {
	case resp.Status != types.VoucherGenerated:
		return nil, &VoucherError{Status: resp.Status, Err: ErrVoucherNotReady, Detail: withoutDocument(resp.Status)}
	case v == nil:
		return nil, &VoucherError{Status: resp.Status, Err: ErrVoucherNotReady, Detail: "its status is GENERATED, but the answer has no voucher"}
	}
	return v, store(func(file io.Writer) error {
		if v.Content != nil {
			return inlineDocument(ctx, v, file, set)
		}
		return c.fetchDocument(ctx, v, file, set)
	})
}

func withoutDocument(status types.VoucherStatus) string {
	text := fmt.Sprintf("its status is %q", status)
	switch status {
	case types.VoucherNotGenerated, types.VoucherPending:
		return text + "; AwaitVoucher waits for it"
	case types.VoucherFailed, types.VoucherCancelled:
		return text + "; waiting does not help"
	}
	return text
}

func inlineDocument(ctx context.Context, v *types.Voucher, w io.Writer, set voucherSettings) error {
	if err := set.acceptable(v); err != nil {
		return err
	}
	return copyDocument(ctx, w, base64.NewDecoder(base64.StdEncoding, strings.NewReader(v.Content.Base64)), v, set)
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
