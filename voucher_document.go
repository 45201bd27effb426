// Voucher documents: fetched, verified, and only then handed over.

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
	"github.com/hotelstays/hotelstays-go/types"
)

// What is wrong with a voucher document, for errors.Is.
var (
	// ErrVoucherLinkExpired: the link works no more; ask OrderVoucher for another.
	// SaveVoucher does so by itself.
	ErrVoucherLinkExpired = errors.New("the link has expired")
	// ErrVoucherUnsigned: the voucher has no signature block, as those made before
	// signing existed; WithUnsignedVouchers accepts it by its size alone.
	ErrVoucherUnsigned = errors.New("the voucher has no digest to verify it by")
	// ErrVoucherAltered: size or digest differ from those issued. Such a document
	// must not be given to a traveller.
	ErrVoucherAltered = errors.New("the document is not the one that was issued")
	// ErrVoucherNotReady: there is no document, or not yet.
	ErrVoucherNotReady = errors.New("there is no document")
)

// VoucherError reports a voucher document that could not be fetched or written, or is not
// to be trusted. No byte of an unverified document was handed over.
type VoucherError struct {
	// Reference is the order's, as SaveVoucher was given it; empty elsewhere.
	Reference string
	// VoucherNumber and Version name the voucher, where there is one.
	VoucherNumber string
	Version       int
	// Err is one of the conditions, or what failed.
	Err error
	// Detail says more.
	Detail string
}

// Error names the voucher, and says what is wrong and what to do next.
func (e *VoucherError) Error() string {
	text := "hotelstays: voucher"
	if e.VoucherNumber != "" {
		text += fmt.Sprintf(" %s version %d", e.VoucherNumber, e.Version)
	}
	if e.Reference != "" {
		text += fmt.Sprintf(" of order %q", e.Reference)
	}
	text += ": " + e.Err.Error()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	switch {
	case errors.Is(e.Err, ErrVoucherAltered):
		text += "; do not hand it out, ask for the voucher again, and report it if that goes on"
	case errors.Is(e.Err, ErrVoucherLinkExpired):
		text += "; ask OrderVoucher for another link"
	}
	return text
}

// Unwrap returns the condition.
func (e *VoucherError) Unwrap() error { return e.Err }

func voucherError(v *types.Voucher, err error, format string, args ...any) error {
	return &VoucherError{VoucherNumber: v.VoucherNumber, Version: v.Version, Err: err, Detail: fmt.Sprintf(format, args...)}
}

// ofOrder adds the order's reference to an error of SaveVoucher.
func ofOrder(reference string, err error) error {
	switch e := err.(type) {
	case *VoucherError:
		e.Reference = reference
		return e
	case *ValidationError:
		return e
	}
	return &orderError{reference, err}
}

// orderError names the order that an error is about.
type orderError struct {
	reference string
	err       error
}

func (e *orderError) Error() string {
	return fmt.Sprintf("hotelstays: voucher of order %q: %s", e.reference, strings.TrimPrefix(e.err.Error(), "hotelstays: "))
}

func (e *orderError) Unwrap() error { return e.err }

const (
	// documentTimeout bounds one download without a deadline.
	documentTimeout   = 5 * time.Minute
	defaultMaxVoucher = 64 << 20
)

// WithUnsignedVouchers accepts a voucher without a signature block, which is then checked
// by its size alone.
func WithUnsignedVouchers() VoucherOption {
	return voucherOption(func(s *voucherSettings) { s.allowUnsigned = true })
}

// WithMaxVoucherBytes bounds a document, 64 MiB by default. Where a voucher states a larger
// size, nothing is fetched from its link: that is a *VoucherError.
func WithMaxVoucherBytes(n int64) VoucherOption {
	return voucherOption(func(s *voucherSettings) {
		if n < 1 {
			s.faults.add("WithMaxVoucherBytes", "is %d; it must be positive", n)
			return
		}
		s.maxBytes = n
	})
}

func collectVoucher(opts []VoucherOption) (voucherSettings, error) {
	set := voucherSettings{maxBytes: defaultMaxVoucher}
	applyAll(opts, &set, VoucherOption.applyVoucher)
	set.misplaced(OpOrderVoucher, operations[OpOrderVoucher])
	return set, set.faults.err(OpOrderVoucher)
}

// VerifyVoucher checks a document against its voucher: its size, and its SHA-256 in
// constant time. A voucher without a signature block is ErrVoucherUnsigned; anything that
// differs is ErrVoucherAltered.
//
// A good digest proves that the bytes are as issued. It does not prove that the voucher is
// still current: the order may have been cancelled since, or a newer version made.
// Voucher.VerifyURL shows that.
func VerifyVoucher(document []byte, v *types.Voucher) error {
	if v == nil {
		return &VoucherError{Err: ErrVoucherNotReady, Detail: "the voucher is nil"}
	}
	check := newDocumentCheck(v)
	_, _ = check.Write(document) // a hash takes everything
	return check.verdict(voucherSettings{})
}

// documentCheck counts and hashes a document as it streams by.
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

// DownloadVoucher fetches the document of v from its link and writes it to w, once it is
// whole and verified: until then it lies in a temporary file. The errors are those of
// VerifyVoucher, ErrVoucherLinkExpired, and those of the connection and of w, all in a
// *VoucherError; a bad option and a nil w are a *ValidationError.
//
// WithTimeout bounds the download; without it, and without a deadline of ctx, five minutes
// do. Other call options have no effect here: the link is not a call of the API. It must be
// https, except on loopback for a client of loopback. The request carries no credentials and
// follows no redirect. A download that breaks off is not resumed.
func (c *Client) DownloadVoucher(ctx context.Context, v *types.Voucher, w io.Writer, opts ...VoucherOption) error {
	if err := c.usable(ctx, "DownloadVoucher"); err != nil {
		return err
	}
	set, err := collectVoucher(opts)
	if err != nil {
		return err
	}
	if w == nil {
		set.faults.add("w", "is nil")
		return set.faults.err("DownloadVoucher")
	}
	spool, err := os.CreateTemp("", "voucher-*")
	if err != nil {
		return &VoucherError{Err: err, Detail: "no temporary file could be made"}
	}
	os.Remove(spool.Name())       // where an open file can go on without a name, none is left behind
	defer os.Remove(spool.Name()) // elsewhere
	defer spool.Close()
	if err := c.fetchDocument(ctx, v, spool, set); err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return voucherError(v, err, "reading the temporary file")
	}
	if _, err := io.Copy(w, spool); err != nil {
		return voucherError(v, err, "writing the verified document")
	}
	return nil
}

// acceptable checks what can be checked before the document is there.
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

var errVoucherSize = errors.New("no document of that size is accepted")

// copyDocument writes the document to w, and returns nil only if what was written
// is the document of v. One byte more than stated is enough to know that it is not.
func copyDocument(w io.Writer, document io.Reader, v *types.Voucher, set voucherSettings) error {
	check := newDocumentCheck(v)
	if _, err := io.Copy(io.MultiWriter(w, check), io.LimitReader(document, v.ByteSize+1)); err != nil {
		return voucherError(v, withoutLink(err, v), "after %d of %d bytes", check.size, v.ByteSize)
	}
	return check.verdict(set)
}

// fetchDocument writes the document behind the link to w, as copyDocument does.
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
	return copyDocument(w, resp.Body, v, set)
}

// withoutLink is err where it does not quote the link, or the first of its causes that
// does not, or its text without the link: whoever has the link has the document.
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
		return nil, voucherError(v, errors.New("its link is not an address"), "")
	}
	if u.Scheme != "https" && !(c.loopback && u.Scheme == "http" && isLoopback(u.Hostname())) {
		return nil, voucherError(v, errors.New("its link is not https"), "")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, voucherError(v, errors.New("its link is not an address"), "")
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept-Encoding", "identity") // the digest is over the bytes as issued
	// The transport itself follows no redirect and knows no cookies.
	resp, err := c.http.Transport.RoundTrip(req)
	if err == nil && (resp == nil || resp.Body == nil) {
		err = errors.New("the transport returned neither an answer nor an error")
	}
	if err != nil {
		return nil, voucherError(v, withoutLink(err, v), "fetching the document")
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return resp, nil
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		err = ErrVoucherLinkExpired
	default:
		err = errors.New("the document could not be fetched")
	}
	resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError {
		return nil, voucherError(v, err, "HTTP %d; it is safe to ask again later", resp.StatusCode)
	}
	return nil, voucherError(v, err, "HTTP %d", resp.StatusCode)
}

// voucherRounds is how often SaveVoucher asks for the voucher: its link may expire, or a
// newer version supersede it, during the download.
const voucherRounds = 3

// SaveVoucher asks for the voucher of an order and saves its document at path. A file that
// is at path afterwards is whole and verified: the document is written beside it, synced,
// and renamed. After a failure path is as it was before. It returns the saved voucher.
//
// When the link has expired, or the document breaks off or does not match, a newer version
// may have been made meanwhile: the voucher is asked for again, up to three times in all.
// With req.IncludeDocument the document inside the answer is used, or the link where it is
// too large for that. A voucher without a document is ErrVoucherNotReady: AwaitVoucher
// waits. The other errors are those of OrderVoucher and DownloadVoucher, with the order's
// reference. Call options apply to each OrderVoucher, and WithTimeout to each download.
//
// Only its owner can read the file. A process that is killed in the middle leaves a file
// named .voucher-* beside path, which can be deleted.
func (c *Client) SaveVoucher(ctx context.Context, req *OrderVoucherRequest, path string, opts ...VoucherOption) (*types.Voucher, error) {
	if err := c.usable(ctx, OpOrderVoucher); err != nil {
		return nil, err
	}
	set, err := collectVoucher(opts)
	if err != nil {
		return nil, err
	}
	if path == "" {
		set.faults.add("path", "is empty")
		return nil, set.faults.err(OpOrderVoucher)
	}
	if req == nil {
		return nil, nilRequest(OpOrderVoucher)
	}
	ask, reference := *req, req.anyReference()
	for round := 1; ; round++ {
		v, err := c.saveOnce(ctx, &ask, path, set)
		switch {
		case err == nil:
			return v, nil
		case errors.Is(err, ErrVoucherTooLarge) && ask.IncludeDocument:
			ask.IncludeDocument = false
			round--
		case round < voucherRounds && oneOfErrors(err, ErrVoucherLinkExpired, ErrVoucherAltered, io.ErrUnexpectedEOF):
			c.log.LogAttrs(ctx, slog.LevelInfo, "asking for the voucher again", slog.String("reference", reference), slog.String("error", fact(err)))
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

func (c *Client) saveOnce(ctx context.Context, req *OrderVoucherRequest, path string, set voucherSettings) (*types.Voucher, error) {
	resp, err := c.OrderVoucher(ctx, req, set.option())
	if err != nil {
		return nil, err
	}
	v := resp.Voucher
	switch {
	case resp.Status != types.VoucherGenerated:
		return nil, &VoucherError{Err: ErrVoucherNotReady, Detail: withoutDocument(resp.Status)}
	case v == nil:
		return nil, &VoucherError{Err: ErrVoucherNotReady, Detail: "its status is GENERATED, but the answer has no voucher"}
	}
	return v, writeWhole(path, func(file io.Writer) error {
		if v.Content != nil {
			return inlineDocument(v, file, set)
		}
		return c.fetchDocument(ctx, v, file, set)
	})
}

// withoutDocument says whether a document may follow a status.
func withoutDocument(status types.VoucherStatus) string {
	text := "its status is " + string(status)
	switch status {
	case types.VoucherNotGenerated, types.VoucherPending:
		return text + "; AwaitVoucher waits for it"
	case types.VoucherFailed, types.VoucherCancelled:
		return text + "; waiting does not change that"
	}
	return text
}

// inlineDocument writes the document that came inside the answer.
func inlineDocument(v *types.Voucher, w io.Writer, set voucherSettings) error {
	if err := set.acceptable(v); err != nil {
		return err
	}
	return copyDocument(w, base64.NewDecoder(base64.StdEncoding, strings.NewReader(v.Content.Base64)), v, set)
}

// writeWhole makes a file that is whole or not there: it writes beside path, and renames
// the file once write succeeded.
func writeWhole(path string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".voucher-*")
	if err != nil {
		return &VoucherError{Err: err, Detail: "no file could be made beside the target"}
	}
	named := false
	defer func() { // also when a transport panics
		if !named {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if err := write(file); err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return &VoucherError{Err: err, Detail: "the verified document could not be stored"}
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return &VoucherError{Err: err, Detail: "the verified document could not be given its name"}
	}
	named = true
	return nil
}
