// Voucher documents: nothing unverified is written, and a file is either replaced as a whole or not changed.

package hotelstays_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// voucherLink is the link to a document. Its path and query must stay secret.
const (
	voucherLink   = "http://127.0.0.1:1/vouchers/secret-path.pdf?proof=" + voucherSecret
	voucherSecret = "secret-proof"
)

func voucherFor(document []byte, link string) *types.Voucher {
	return &types.Voucher{
		VoucherNumber: "V1", Version: 1, IssuedAt: "2000-01-01T00:00:00Z", ContentType: "application/pdf", ByteSize: int64(len(document)),
		VerifyURL: "http://127.0.0.1:1/verify", DownloadURL: link, ExpiresIn: 60,
		Signature: &types.VoucherSignature{Alg: "HMAC-SHA256", KeyID: "key", Digest: voucherDigest(document), Signature: "00",
			SignedAt: "2000-01-01T00:00:00Z"},
	}
}

func voucherDigest(document []byte) string {
	sum := sha256.Sum256(document)
	return hex.EncodeToString(sum[:])
}

func inlined(document []byte) func(*types.Voucher) {
	return func(v *types.Voucher) {
		v.Content = &types.VoucherContent{ContentType: "application/pdf", ByteSize: int64(len(document)),
			Base64: base64.StdEncoding.EncodeToString(document)}
	}
}

// voucherService is a transport. It answers OrderVoucher with a voucher, and a request for the document with serve.
type voucherService struct {
	voucher       func(request int) *types.Voucher // the parameter request counts from 1
	serve         func(*http.Request) (*http.Response, error)
	asks, fetches int
	open          int // document bodies that are not closed
}

func (s *voucherService) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		s.asks++
		return reply(200, voucherAnswer(types.VoucherGenerated, s.voucher(s.asks))), nil
	}
	s.fetches++
	resp, err := s.serve(r)
	if resp != nil && resp.Body != nil {
		s.open++
		resp.Body = &closeCounter{resp.Body, func() { s.open-- }}
	}
	return resp, err
}

type closeCounter struct {
	io.ReadCloser
	closed func()
}

func (c *closeCounter) Close() error { c.closed(); return c.ReadCloser.Close() }

func serving(document []byte) transportFunc { return answering(200, string(document)) }

func serviceOf(change func(*types.Voucher), serve func(*http.Request) (*http.Response, error)) *voucherService {
	if serve == nil {
		serve = serving(voucherDoc)
	}
	return &voucherService{serve: serve, voucher: func(int) *types.Voucher {
		v := voucherFor(voucherDoc, voucherLink)
		if change != nil {
			change(v)
		}
		return v
	}}
}

// ownTempDir gives the test its own directory for temporary files.
func ownTempDir(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	return dir
}

func TestVerifyVoucherComparesTheDigest(t *testing.T) {
	v := voucherFor(voucherDoc, voucherLink)
	require.NoError(t, hotelstays.VerifyVoucher(voucherDoc, v))
	for at := range voucherDoc {
		for bit := range 8 {
			altered := bytes.Clone(voucherDoc)
			altered[at] ^= 1 << bit
			require.ErrorIs(t, hotelstays.VerifyVoucher(altered, v), hotelstays.ErrVoucherAltered, "bit %d of byte %d", bit, at)
		}
		cut := slices.Delete(bytes.Clone(voucherDoc), at, at+1)
		require.ErrorIs(t, hotelstays.VerifyVoucher(cut, v), hotelstays.ErrVoucherAltered, "without byte %d", at)
	}
	for _, document := range [][]byte{append(bytes.Clone(voucherDoc), '\n'), {}, nil, voucherOld} {
		assert.ErrorIs(t, hotelstays.VerifyVoucher(document, v), hotelstays.ErrVoucherAltered, "%q", document)
	}
	assert.ErrorIs(t, hotelstays.VerifyVoucher(nil, voucherFor(nil, voucherLink)), hotelstays.ErrVoucherAltered,
		"an empty document with its digest")
	digest := v.Signature.Digest
	other := voucherFor(voucherDoc, voucherLink)
	for _, digest := range []string{"", voucherDigest(voucherOld), strings.ToUpper(digest), digest[:63], digest + "0", " " + digest} {
		other.Signature.Digest = digest
		assert.ErrorIs(t, hotelstays.VerifyVoucher(voucherDoc, other), hotelstays.ErrVoucherAltered, digest)
	}
	for _, size := range []int64{0, -1, v.ByteSize - 1, v.ByteSize + 1, 1 << 62} {
		other := voucherFor(voucherDoc, voucherLink)
		other.ByteSize = size
		assert.NoError(t, hotelstays.VerifyVoucher(voucherDoc, other), "the digest is right, so the size %d does not matter", size)
		other.Signature = nil
		assert.ErrorIs(t, hotelstays.VerifyVoucher(voucherDoc, other), hotelstays.ErrVoucherAltered, size)
	}
	other.Signature, other.ByteSize = nil, v.ByteSize
	assert.ErrorIs(t, hotelstays.VerifyVoucher(voucherDoc, other), hotelstays.ErrVoucherUnsigned)
	assert.ErrorIs(t, hotelstays.VerifyVoucher(voucherDoc[1:], other), hotelstays.ErrVoucherAltered)
	assert.ErrorIs(t, hotelstays.VerifyVoucher(voucherDoc, nil), hotelstays.ErrNoVoucher)
	assert.Error(t, hotelstays.VerifyVoucher(nil, &types.Voucher{}))

	failed := errorAs[*hotelstays.VoucherError](t, hotelstays.VerifyVoucher(nil, v))
	assert.Equal(t, "V1", failed.VoucherNumber)
	assert.Equal(t, 1, failed.Version)
	assert.ErrorContains(t, failed, `"V1" version 1`)
}

func TestErrorOfSaveVoucherDependsOnTheVoucherStatus(t *testing.T) {
	for status, want := range map[types.VoucherStatus]error{
		types.VoucherNotGenerated: hotelstays.ErrVoucherNotReady,
		types.VoucherPending:      hotelstays.ErrVoucherNotReady,
		types.VoucherFailed:       hotelstays.ErrNoVoucher,
		types.VoucherCancelled:    hotelstays.ErrNoVoucher,
		types.VoucherGenerated:    hotelstays.ErrNoVoucher, // GENERATED, but the answer has no voucher
		"ARCHIVED":                hotelstays.ErrNoVoucher,
	} {
		document := voucherFor(voucherDoc, voucherLink)
		inlined(voucherDoc)(document)
		for _, there := range []*types.Voucher{nil, document} { // the client ignores a voucher if the status is not GENERATED
			if there != nil && status == types.VoucherGenerated {
				continue
			}
			answer, dir := &fixedAnswer{Status: 200, Body: voucherAnswer(status, there)}, t.TempDir()
			v, err := clientThrough(t, answer).SaveVoucher(t.Context(), voucherRef, filepath.Join(dir, "voucher.pdf"))
			assert.ErrorIs(t, err, want)
			assert.Nil(t, v)
			assertFiles(t, dir)
			assert.Len(t, answer.Sent, 1)
			assert.ErrorContains(t, err, `of order "ref-1": there is no document`)
			assert.ErrorContains(t, err, `: its status is "`+string(status)+`"`)
			assert.Equal(t, errors.Is(want, hotelstays.ErrVoucherNotReady), strings.Contains(err.Error(), "AwaitVoucher waits for it"))
		}
	}
}

type documentFault struct {
	change func(*types.Voucher)
	serve  func(*http.Request) (*http.Response, error)
	opts   []hotelstays.CallOption
	is     error
	text   string
	asks   int // how many requests of OrderVoucher a SaveVoucher sends; 0: not checked
	again  bool
	// unfetched means that the client refuses the document before it requests the link.
	unfetched bool
}

var errBroken = errors.New("the line broke")

func breaking(document []byte, err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return replyOf(200, io.MultiReader(bytes.NewReader(document), iotest.ErrReader(err))), nil
	}
}

func sized(size int64) func(*types.Voucher) { return func(v *types.Voucher) { v.ByteSize = size } }
func unsigned(v *types.Voucher)             { v.Signature = nil }

func documentFaults() map[string]documentFault {
	flipped := bytes.Clone(voucherDoc)
	flipped[len(flipped)-1] ^= 1
	n := len(voucherDoc)
	unsignedAllowed := []hotelstays.CallOption{hotelstays.WithUnsignedVouchers()}
	atMost := func(size int) []hotelstays.CallOption {
		return []hotelstays.CallOption{hotelstays.WithMaxVoucherBytes(int64(size))}
	}
	faults := map[string]documentFault{
		"a document with a flipped bit": {serve: serving(flipped), is: hotelstays.ErrVoucherAltered, asks: 3},
		"another document": {serve: serving(voucherOld), is: hotelstays.ErrVoucherAltered, asks: 3,
			text: "; do not use the document; call OrderVoucher again"},
		"one byte more":          {serve: serving(append(bytes.Clone(voucherDoc), 0)), is: hotelstays.ErrVoucherAltered, asks: 3},
		"an empty body":          {serve: serving(nil), is: hotelstays.ErrVoucherAltered, asks: 3},
		"a body that ends early": {serve: breaking(voucherDoc[:n/2], io.ErrUnexpectedEOF), is: io.ErrUnexpectedEOF, asks: 3, again: true},
		"a body that ends in an error": {serve: breaking(voucherDoc[:n/2], errBroken), is: errBroken, asks: 1, again: true,
			text: fmt.Sprintf("after %d of %d bytes", n/2, n)},
		"no connection":          {serve: failing(errBroken), is: errBroken, asks: 1, again: true},
		"an unknown certificate": {serve: failing(&tls.CertificateVerificationError{Err: errBroken}), is: errBroken, asks: 1},
		"a cancelled request whose error has the link": {serve: failing(&url.Error{Op: "Get", URL: voucherLink, Err: context.Canceled}),
			is: context.Canceled, asks: 1, again: true},
		"an interrupted request whose error has the link": {serve: failing(&url.Error{Op: "Get", URL: voucherLink, Err: io.ErrUnexpectedEOF}),
			is: io.ErrUnexpectedEOF, asks: 3, again: true},
		"no answer": {serve: func(*http.Request) (*http.Response, error) { return nil, nil }, text: "could not be downloaded", asks: 1,
			again: true},
		"no body": {serve: func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, nil },
			text: "the document could not be downloaded", asks: 1, again: true},
		"a stated size above 64 MiB": {change: sized(64<<20 + 1), text: "67108865 bytes", unfetched: true},
		"a document longer than its stated size and than the limit": {change: sized(1), opts: atMost(n - 1),
			text: fmt.Sprintf("more than %d bytes", n-1), asks: 1},
		"a stated size above the limit": {opts: atMost(n - 1), text: fmt.Sprintf("the limit is %d (WithMaxVoucherBytes)", n-1), asks: 1,
			unfetched: true},
		"an unsigned voucher": {change: unsigned, is: hotelstays.ErrVoucherUnsigned, text: "WithUnsignedVouchers", asks: 1,
			unfetched: true},
		"an unsigned voucher of another size": {change: unsigned, serve: serving(voucherOld), opts: unsignedAllowed,
			is:   hotelstays.ErrVoucherAltered,
			asks: 3},
		"an unsigned voucher without a size": {change: func(v *types.Voucher) { v.Signature, v.ByteSize = nil, 0 }, opts: unsignedAllowed,
			text: "0 bytes",
			asks: 1, unfetched: true},
		"an unsigned voucher, and a redirect": {change: unsigned, serve: redirecting(302, voucherLink+"&again"), opts: unsignedAllowed,
			text: "none if the voucher has no digest", asks: 1},
		"a voucher without a digest, and a redirect": {change: func(v *types.Voucher) { v.Signature.Digest = "" }, serve: redirecting(302,
			voucherLink+"&again"),
			opts: unsignedAllowed, text: "none if the voucher has no digest", asks: 1},
		"an inline document with a flipped bit": {change: inlined(flipped), is: hotelstays.ErrVoucherAltered, asks: 3, unfetched: true},
		"an inline document that is not base64": {change: func(v *types.Voucher) { inlined(voucherDoc)(v); v.Content.Base64 += "!!!!" },
			text: "base64", asks: 1,
			unfetched: true},
		"an inline document with cut base64": {change: func(v *types.Voucher) { inlined(voucherDoc)(v); v.Content.Base64 = v.Content.Base64[1:] },
			is: io.ErrUnexpectedEOF, asks: 3, unfetched: true, again: true},
		"an inline document of an unsigned voucher": {change: func(v *types.Voucher) { inlined(voucherDoc)(v); v.Signature = nil },
			is:   hotelstays.ErrVoucherUnsigned,
			asks: 1, unfetched: true},
		"an inline document above the limit": {change: inlined(voucherDoc), opts: atMost(5), text: "WithMaxVoucherBytes", asks: 1,
			unfetched: true},
		"an altered document of a signed voucher, while unsigned vouchers are allowed": {serve: serving(flipped), opts: unsignedAllowed,
			is: hotelstays.ErrVoucherAltered, asks: 3},
	}
	for name, quote := range map[string]func(*url.URL) string{
		"whole": (*url.URL).String, "path and query": (*url.URL).RequestURI, "raw query": func(u *url.URL) string { return u.RawQuery },
		"path": func(u *url.URL) string { return u.Path }, "file": func(u *url.URL) string { return path.Base(u.Path) },
		"parameter": func(u *url.URL) string { return u.Query().Get("proof") }, "query": func(u *url.URL) string { return fmt.Sprint(u.Query()) },
		"fields":       func(u *url.URL) string { return fmt.Sprintf("%+v", *u) },
		"escaped link": func(u *url.URL) string { return url.QueryEscape(u.String()) },
	} {
		faults["an error with the "+name+" of the link"] = documentFault{text: "no route to ", asks: 1, again: true,
			serve: func(r *http.Request) (*http.Response, error) { return nil, errors.New("no route to " + quote(r.URL)) }}
	}
	quoting := func(r *http.Request) (*http.Response, error) {
		return replyOf(200, iotest.ErrReader(errors.New("reading "+r.URL.String()))), nil
	}
	faults["an answer whose error quotes the link"] = documentFault{serve: quoting, text: "reading ", asks: 1, again: true}
	faults["a redirect to an answer whose error quotes the link"] = documentFault{text: "reading ", asks: 1, again: true,
		serve: func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/moved" {
				return quoting(r)
			}
			return redirecting(302, "/moved?x="+voucherSecret)(r)
		}}
	for _, status := range []int{401, 403, 404, 410} {
		faults[fmt.Sprint("HTTP ", status)] = documentFault{serve: answering(status, "no"), is: hotelstays.ErrVoucherLinkExpired,
			text: fmt.Sprintf("HTTP %d; call OrderVoucher for a new link", status), asks: 3}
	}
	for _, status := range []int{201, 206, 304, 400, 429, 500, 503} { // the body is the document, but the status is not 200
		faults[fmt.Sprint("HTTP ", status)] = documentFault{text: fmt.Sprint("could not be downloaded: HTTP ", status), asks: 1,
			again: status >= 429, serve: redirecting(status, voucherLink+"&again")}
	}
	for _, to := range []string{"", voucherLink} { // an empty Location header, and a redirect to the same link
		faults["a redirect to "+to] = documentFault{serve: redirecting(302, to), text: "could not be downloaded: HTTP 302", asks: 1}
	}
	const secret = "/secret-path.pdf?proof=" + voucherSecret
	for link, text := range map[string]string{
		"https://ho st" + secret: "is not a URL", "https://" + secret: "is not a URL", "https://user@host.example" + secret: "is not a URL",
		"http://127.0.0.1:2" + secret: "is not https", "file://127.0.0.1:1" + secret: "is not https", "//host.example" + secret: "is not https",
	} {
		faults["a redirect to "+link] = documentFault{serve: redirecting(307, link), text: "a redirect of its link " + text, asks: 1}
	}
	faults["a redirect from https to http"] = documentFault{serve: redirecting(302, "http://host.example"+secret), asks: 1,
		change: func(v *types.Voucher) { v.DownloadURL = "https://host.example" + secret }, text: "a redirect of its link is not https"}
	for link, text := range map[string]string{
		"": "is not a URL", secret: "is not a URL", "https://:443" + secret: "is not a URL", "https://host.example/\x7f" + secret: "is not a URL",
		"https://@host.example" + secret: "is not a URL", "http://user:pass@127.0.0.1" + secret: "is not a URL",
		"http://host.example" + secret: "is not https", "http://127.0.0.1.example" + secret: "is not https",
		"ftp://127.0.0.1" + secret: "is not https",
	} {
		faults["the link "+link] = documentFault{change: func(v *types.Voucher) { v.DownloadURL = link }, text: "its link " + text, asks: 1,
			unfetched: true}
	}
	return faults
}

// redirecting answers with a redirect to a link, and with the document if the link ends in &again.
func redirecting(status int, to string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.RawQuery, "&again") {
			return reply(200, string(voucherDoc)), nil
		}
		return reply(status, string(voucherDoc), "Location", to), nil
	}
}

func (f *documentFault) check(t *testing.T, err error, service *voucherService) {
	t.Helper()
	failed := errorAs[*hotelstays.VoucherError](t, err)
	assert.Equal(t, "V1", failed.VoucherNumber)
	if f.is != nil {
		assert.ErrorIs(t, err, f.is)
	} else {
		assert.NotErrorIs(t, err, hotelstays.ErrVoucherAltered)
	}
	assert.ErrorContains(t, err, f.text)
	assert.Equal(t, f.again, hotelstays.Retryable(err), err)
	if f.asks > 0 && service.asks > 0 {
		assert.Equal(t, f.asks, service.asks)
	}
	assert.Equal(t, f.unfetched, service.fetches == 0)
	assert.Zero(t, service.open, "all bodies are closed")
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		assertNoLink(t, fmt.Sprintf("%v %+v %#v", cause, cause, cause))
	}
}

func assertNoLink(t *testing.T, text string) {
	t.Helper()
	assert.NotContains(t, text, voucherSecret)
	assert.NotContains(t, text, "secret-path")
}

// After a faulty document, an existing file has its old content, and no other file is left. Neither the error nor the
// log has the link.
func TestFaultyDocumentIsNeverReturned(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "voucher.pdf")
	temp := ownTempDir(t)
	for name, fault := range documentFaults() {
		t.Run(name, func(t *testing.T) {
			var w bytes.Buffer
			service := serviceOf(fault.change, fault.serve)
			err := clientThrough(t, service).DownloadVoucher(t.Context(), service.voucher(1), &w, fault.opts...)
			fault.check(t, err, service)
			assert.Zero(t, w.Len())
			assert.LessOrEqual(t, service.fetches, 4)
			assert.Zero(t, service.asks, "only SaveVoucher and OpenVoucher know the reference")
			for _, there := range []bool{false, true} {
				if there {
					require.NoError(t, os.WriteFile(path, voucherOld, 0o640))
				}
				service = serviceOf(fault.change, fault.serve)
				var logged bytes.Buffer
				log := slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
				v, err := clientThrough(t, service, hotelstays.WithLogger(log)).SaveVoucher(t.Context(), voucherRef, path, fault.opts...)
				assert.Nil(t, v, "SaveVoucher returns no voucher if it saved no document")
				fault.check(t, err, service)
				assertNoLink(t, logged.String())
				if !there {
					assertFiles(t, dir)
					continue
				}
				assertFiles(t, dir, "voucher.pdf")
				assertFile(t, path, voucherOld)
				info, err := os.Stat(path)
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o640), info.Mode())
				require.NoError(t, os.Remove(path))
			}
			service = serviceOf(fault.change, fault.serve)
			document, err := clientThrough(t, service).OpenVoucher(t.Context(), voucherRef, fault.opts...)
			assert.Nil(t, document)
			assert.ErrorContains(t, err, "ref-1")
			fault.check(t, err, service)
			assert.Zero(t, openFiles(t, temp))
			assertFiles(t, temp)
		})
	}
}

func TestByteSizeOfAVoucherMayBeWrongIfTheDigestMatches(t *testing.T) {
	ownTempDir(t)
	for _, size := range []int{-1, 0, 1, len(voucherDoc) - 1, len(voucherDoc) + 1} {
		service := serviceOf(sized(int64(size)), nil)
		client := clientThrough(t, service)
		var w bytes.Buffer
		require.NoError(t, client.DownloadVoucher(t.Context(), service.voucher(1), &w, hotelstays.WithMaxVoucherBytes(math.MaxInt64)))
		assert.Equal(t, voucherDoc, w.Bytes())
		document, err := client.OpenVoucher(t.Context(), voucherRef, hotelstays.WithMaxVoucherBytes(int64(max(size, len(voucherDoc)))))
		require.NoError(t, err, "a document as large as the limit")
		assert.EqualValues(t, len(voucherDoc), document.Size)
		require.NoError(t, document.Close())
		inline := serviceOf(func(v *types.Voucher) { inlined(voucherDoc)(v); v.ByteSize = int64(size) }, nil)
		path := filepath.Join(t.TempDir(), "voucher.pdf")
		_, err = clientThrough(t, inline).SaveVoucher(t.Context(), voucherRef, path)
		require.NoError(t, err)
		assertFile(t, path, voucherDoc)
	}
}

func TestDocumentIsNotReadBeyondTheSizeLimit(t *testing.T) {
	ownTempDir(t)
	read := 0
	service := serviceOf(nil, func(*http.Request) (*http.Response, error) {
		return replyOf(200, readerFunc(func(p []byte) (int, error) { read += len(p); return len(p), nil })), nil
	})
	client := clientThrough(t, service)
	var w bytes.Buffer
	err := client.DownloadVoucher(t.Context(), service.voucher(1), &w, hotelstays.WithMaxVoucherBytes(1000))
	assert.ErrorContains(t, err, "more than 1000 bytes")
	assert.Equal(t, 1001, read)
	assert.Zero(t, service.open)
	assert.Zero(t, w.Len())

	read = 0
	err = client.DownloadVoucher(t.Context(), edited(*service.voucher(1), unsigned), &w, hotelstays.WithUnsignedVouchers())
	assert.ErrorIs(t, err, hotelstays.ErrVoucherAltered)
	assert.Equal(t, len(voucherDoc)+1, read, "without a digest, the stated size and one byte")
}

func TestOpenVoucherReturnsTheDocument(t *testing.T) {
	t.Chdir(t.TempDir()) // the paths below have no directory, so the files are in the working directory
	temp := ownTempDir(t)
	for name, config := range map[string]hotelstaystest.Config{
		"plain": {}, "https": {TLS: true}, "compressed": {Compression: true, VoucherSize: 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile("voucher.pdf", voucherOld, 0o600))
			require.NoError(t, os.Link("voucher.pdf", "old.pdf"))
			inVoucherSandbox(t, config, func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
				v := orderVoucher(t, client)
				var w bytes.Buffer
				require.NoError(t, client.DownloadVoucher(t.Context(), v, &w))
				assert.NoError(t, hotelstays.VerifyVoucher(w.Bytes(), v))

				_, err := client.SaveVoucher(t.Context(), voucherRef, "voucher.pdf")
				require.NoError(t, err)
				assertFile(t, "voucher.pdf", w.Bytes())
				assertFile(t, "old.pdf", voucherOld, "the rename replaced the file, which a hard link still has")
				assertFiles(t, ".", "voucher.pdf", "old.pdf")
				info, err := os.Stat("voucher.pdf")
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o600), info.Mode(), "only the owner may read a traveller's data")

				document, err := client.OpenVoucher(t.Context(), voucherRef)
				require.NoError(t, err)
				whole, err := io.ReadAll(document)
				require.NoError(t, err)
				assert.Equal(t, w.Bytes(), whole)
				assert.EqualValues(t, len(whole), document.Size)
				part := httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodGet, "/voucher", nil)
				r.Header.Set("Range", "bytes=1-3")
				http.ServeContent(part, r, "voucher.pdf", time.Time{}, document)
				assert.Equal(t, http.StatusPartialContent, part.Code)
				assert.Equal(t, "PDF", part.Body.String())
				assertFiles(t, temp) // OpenVoucher has already removed the name of the file
				require.NoError(t, document.Close())
				_, err = document.Read(make([]byte, 1))
				assert.ErrorIs(t, err, os.ErrClosed)
				assert.Zero(t, openFiles(t, temp))
				assertFiles(t, temp)

				assert.Equal(t, 3, srv.Ledger().Count(hotelstays.OpOrderVoucher))
				requests := srv.Ledger().Requests(hotelstaystest.OpVoucherDownload)
				require.Len(t, requests, 3)
				assert.Equal(t, "identity", requests[0].Header.Get("Accept-Encoding"))
				require.NoError(t, os.Remove("old.pdf"))
			})
		})
	}
}

// If the body of the document does not begin or does not end, the download fails when ctx ends. Without a deadline of ctx,
// the download fails after five minutes. The client's WithTimeout limits only calls of the API.
func TestDownloadVoucherEndsInTime(t *testing.T) {
	temp := ownTempDir(t)
	for _, kind := range []hotelstaystest.FaultKind{hotelstaystest.FaultSlowBody, hotelstaystest.FaultDelay} {
		inVoucherSandbox(t, hotelstaystest.Config{}, func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
			client, err := client.With(hotelstays.WithTimeout(time.Minute))
			require.NoError(t, err)
			v, start := orderVoucher(t, client), time.Now()
			srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpVoucherDownload, Kind: kind, Delay: time.Hour, Times: -1})
			ctx := within(t, 20*time.Minute)
			var w bytes.Buffer
			for i, ctx := range []context.Context{t.Context(), ctx, ctx} {
				assert.ErrorIs(t, client.DownloadVoucher(ctx, v, &w), context.DeadlineExceeded)
				assert.Equal(t, []time.Duration{5, 20, 20}[i]*time.Minute, time.Since(start))
			}
			assert.Zero(t, w.Len())
			assertFiles(t, temp)
		})
	}
}

func TestDownloadVoucherReportsAWriterThatFails(t *testing.T) {
	temp := ownTempDir(t)
	service := serviceOf(nil, nil)
	client := clientThrough(t, service)
	for _, n := range []int{0, 3} {
		assert.ErrorIs(t, client.DownloadVoucher(t.Context(), service.voucher(1), failingWriter{n, errBroken}), errBroken)
	}
	err := client.DownloadVoucher(t.Context(), service.voucher(1), failingWriter{3, nil})
	assert.ErrorIs(t, err, io.ErrShortWrite)
	assert.ErrorContains(t, err, "the verified document could not be written")
	assertFiles(t, temp)

	t.Setenv("TMPDIR", filepath.Join(temp, "missing"))
	assert.ErrorIs(t, client.DownloadVoucher(t.Context(), service.voucher(1), io.Discard), os.ErrNotExist)
}

type failingWriter struct {
	n   int
	err error
}

func (w failingWriter) Write(p []byte) (int, error) { return min(w.n, len(p)), w.err }

func TestInvalidVoucherArgumentsAreRefused(t *testing.T) {
	service := serviceOf(nil, nil)
	client := clientThrough(t, service)
	path := filepath.Join(t.TempDir(), "voucher.pdf")
	_, noPath := client.SaveVoucher(t.Context(), voucherRef, "")
	_, err := client.SaveVoucher(t.Context(), &hotelstays.OrderVoucherRequest{}, path)
	assert.ErrorAs(t, err, new(*hotelstays.ValidationError))
	noBytes := hotelstays.WithMaxVoucherBytes(0)
	_, savesNone := client.SaveVoucher(t.Context(), voucherRef, path, noBytes)
	_, opensNone := client.OpenVoucher(t.Context(), voucherRef, noBytes)
	_, savesNil := client.SaveVoucher(t.Context(), nil, path)
	_, opensNil := client.OpenVoucher(t.Context(), nil)
	for method, errs := range map[string][]error{
		"SaveVoucher": {noPath, savesNone, savesNil},
		"OpenVoucher": {opensNone, opensNil},
		"DownloadVoucher": {client.DownloadVoucher(t.Context(), service.voucher(1), io.Discard, noBytes),
			client.DownloadVoucher(t.Context(), service.voucher(1), nil)},
	} {
		for _, err := range errs {
			assert.Equal(t, method, errorAs[*hotelstays.ValidationError](t, err).Func)
		}
	}
	assert.ErrorIs(t, client.DownloadVoucher(t.Context(), nil, io.Discard), hotelstays.ErrNoVoucher)
	assert.Zero(t, service.asks+service.fetches)
	assert.NoFileExists(t, path)
}

// beforeDownload returns a client that calls act before its first download.
func beforeDownload(t *testing.T, srv *hotelstaystest.Server, act func()) *hotelstays.Client {
	first := sync.OnceFunc(act)
	return newClient(t, srv, ticketOf(srv),
		hotelstays.WithHTTPClient(&http.Client{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Path, "/vouchers/") {
				first()
			}
			return srv.Client().Transport.RoundTrip(r)
		})}))
}

func TestSaveVoucherSavesTheNewestVersion(t *testing.T) {
	inVoucherSandbox(t, hotelstaystest.Config{}, func(t *testing.T, srv *hotelstaystest.Server, _ *hotelstays.Client) {
		client := beforeDownload(t, srv, func() { srv.RegenerateVoucher("ref-1") })
		path := filepath.Join(t.TempDir(), "voucher.pdf")
		v, err := client.SaveVoucher(t.Context(), voucherRef, path)
		require.NoError(t, err)
		assert.Equal(t, 2, v.Version)
		document, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.NoError(t, hotelstays.VerifyVoucher(document, v))
		assert.Equal(t, 2, srv.Ledger().Count(hotelstays.OpOrderVoucher))
	})
	// While the service makes the new document, the error is ErrVoucherNotReady.
	inVoucherSandbox(t, hotelstaystest.Config{VoucherDelay: time.Minute},
		func(t *testing.T, srv *hotelstaystest.Server, _ *hotelstays.Client) {
			time.Sleep(2 * time.Minute)
			client := beforeDownload(t, srv, func() { srv.RegenerateVoucher("ref-1") })
			dir := t.TempDir()
			_, err := client.SaveVoucher(t.Context(), voucherRef, filepath.Join(dir, "voucher.pdf"))
			voucher := errorAs[*hotelstays.VoucherError](t, err)
			assert.ErrorIs(t, err, hotelstays.ErrVoucherNotReady)
			assert.Equal(t, types.VoucherPending, voucher.Status)
			assert.ErrorContains(t, err, "PENDING")
			assertFiles(t, dir)
		})
}

// SaveVoucher fetches the link only if the answer has no document, or if the service refuses the document as too large.
func TestSaveVoucherDoesNotFetchAnInlineDocument(t *testing.T) {
	ref := hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1", IncludeDocument: true}
	for name, tc := range map[string]struct {
		change        func(*types.Voucher)
		tooLarge      bool
		asks, fetches int
	}{
		"inline":               {inlined(voucherDoc), false, 1, 0},
		"a link":               {nil, false, 1, 1},
		"refused as too large": {nil, true, 1, 1},
	} {
		service := serviceOf(tc.change, nil)
		refused := 0
		client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
			if tc.tooLarge && r.Method == http.MethodPost {
				if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte("includeDocument")) {
					refused++
					return reply(400, fmt.Sprintf(`{"code":%d}`, types.CodeVoucherTooLarge)), nil
				}
			}
			return service.RoundTrip(r)
		}))
		path := filepath.Join(t.TempDir(), "voucher.pdf")
		_, err := client.SaveVoucher(t.Context(), &ref, path)
		require.NoError(t, err, name)
		assertFile(t, path, voucherDoc, name)
		assert.Equal(t, tc.asks, service.asks, name)
		assert.Equal(t, tc.fetches, service.fetches, name)
		assert.Equal(t, tc.tooLarge, refused == 1, name)
		assert.True(t, ref.IncludeDocument, "the caller's request is not changed")
	}
}

func TestSaveVoucherReportsAPathThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	service := serviceOf(nil, nil)
	client := clientThrough(t, service)
	_, err := client.SaveVoucher(t.Context(), voucherRef, filepath.Join(dir, "missing", "voucher.pdf"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.Zero(t, service.fetches)
	assertFiles(t, dir)

	_, err = client.SaveVoucher(t.Context(), voucherRef, filepath.Join(dir, strings.Repeat("x", 300)))
	assert.ErrorContains(t, err, "rename ")
	assertFiles(t, dir)

	ctx, cancel := context.WithCancel(t.Context())
	service.serve = func(r *http.Request) (*http.Response, error) {
		cancel()
		return nil, r.Context().Err()
	}
	_, err = client.SaveVoucher(ctx, voucherRef, filepath.Join(dir, "voucher.pdf"))
	assert.ErrorIs(t, err, context.Canceled)
	assertFiles(t, dir)
}

// If root saved a voucher as /dev/stdout by a rename, the rename would replace /dev/stdout for all programs.
func TestSaveVoucherReplacesOnlyARegularFile(t *testing.T) {
	dir := t.TempDir()
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer socket.Close()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "directory"), 0o700))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	service := serviceOf(nil, nil)
	for _, name := range []string{"directory", "link", "socket"} {
		_, err := clientThrough(t, service).SaveVoucher(t.Context(), voucherRef, filepath.Join(dir, name))
		assert.Equal(t, []string{"path"}, faultPaths(t, err), name)
	}
	assert.Zero(t, service.asks)
	assertFiles(t, dir, "directory", "link", "socket")
}

// Without the sync, the file could be incomplete after a crash of the machine.
func TestSaveVoucherSyncsBeforeTheRename(t *testing.T) {
	path := filepath.Join(t.TempDir(), "voucher.pdf")
	file, err := os.Create(path + ".temp")
	require.NoError(t, err)
	require.NoError(t, file.Close()) // Sync of a closed file fails
	assert.ErrorContains(t, hotelstays.RenameDocument(file, path), "sync ")
	assert.NoFileExists(t, path)
}

// The log lines name the order, too. errors.Is still finds the cause of the error.
func TestErrorOfSaveVoucherNamesTheOrder(t *testing.T) {
	var log strings.Builder
	logged := hotelstays.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))
	save := func(transport http.RoundTripper) error {
		_, err := clientThrough(t, transport, logged).SaveVoucher(t.Context(), voucherRef, filepath.Join(t.TempDir(), "voucher.pdf"))
		assert.Equal(t, 1, strings.Count(err.Error(), "hotelstays: "), err)
		assert.Equal(t, 1, strings.Count(err.Error(), "ref-1"), err)
		return err
	}
	refused := save(answering(404, `{"code":100000404,"msg":"no such order"}`))
	assert.ErrorIs(t, refused, hotelstays.ErrNotFound)
	var voucher *hotelstays.VoucherError
	require.ErrorAs(t, refused, &voucher)
	assert.Equal(t, hotelstays.KindNotFound, hotelstays.KindOf(refused))
	assert.ErrorContains(t, refused,
		`hotelstays: voucher of order "ref-1": OrderVoucher: not found (HTTP 404, code 100000404, "no such order"`)
	assert.NotContains(t, log.String(), "again")
	expired := save(serviceOf(nil, answering(410, "no")))
	assert.ErrorIs(t, expired, hotelstays.ErrVoucherLinkExpired)
	require.ErrorAs(t, expired, &voucher)
	assert.Equal(t, "ref-1", voucher.Reference)
	assert.Equal(t, 2, strings.Count(log.String(), "reference=ref-1"))
}

// openFiles returns how many files of a directory this process has open. It returns 0 if there is no /proc.
func openFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	handles, _ := filepath.Glob("/proc/self/fd/*")
	for _, handle := range handles {
		if file, err := os.Readlink(handle); err == nil && strings.HasPrefix(file, dir) {
			n++
		}
	}
	return n
}
