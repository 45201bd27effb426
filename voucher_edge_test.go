// Edges of fetching a document: odd sizes, odd transports, and what must not leak.

package hotelstays_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// inlineRef asks for the document inside the answer.
var inlineRef = &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1", IncludeDocument: true}

// The limit holds for a document inside the answer.
func TestVoucherInlineLimitHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "voucher.pdf")
	service := serviceOf(func(v *types.Voucher) { voucherInline(v, voucherDoc) }, nil)
	_, err := clientThrough(t, service).SaveVoucher(t.Context(), inlineRef, path, hotelstays.WithMaxVoucherBytes(5))
	assert.Error(t, err)
	assert.NoFileExists(t, path)
}

// An empty document is none.
func TestVoucherInlineEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "voucher.pdf")
	service := serviceOf(func(v *types.Voucher) { voucherInline(v, nil); v.ByteSize = 0; v.Signature = nil }, nil)
	_, err := clientThrough(t, service).SaveVoucher(t.Context(), inlineRef, path, hotelstays.AllowUnsigned())
	assert.Error(t, err)
	assert.NoFileExists(t, path)
	assert.Error(t, hotelstays.VerifyVoucher(nil, voucherFor(nil, "")))
}

// No voucher is returned where none was saved.
func TestNoVoucherWithAnError(t *testing.T) {
	service := serviceOf(nil, replying(500))
	v, err := clientThrough(t, service).SaveVoucher(t.Context(), voucherRef, filepath.Join(t.TempDir(), "voucher.pdf"))
	assert.Error(t, err)
	assert.Nil(t, v)
}

// A document above the limit is not "altered", and asking again does not help.
func TestVoucherLimitIsNotAltered(t *testing.T) {
	service := serviceOf(nil, nil)
	_, err := clientThrough(t, service).SaveVoucher(t.Context(), voucherRef, filepath.Join(t.TempDir(), "voucher.pdf"), hotelstays.WithMaxVoucherBytes(5))
	assert.NotErrorIs(t, err, hotelstays.ErrVoucherAltered)
	assert.Equal(t, 1, service.asks)
}

// A panic leaves no file.
func TestVoucherPanicLeavesFile(t *testing.T) {
	dir := t.TempDir()
	service := serviceOf(nil, func(*http.Request) (*http.Response, error) { panic("boom") })
	assert.Panics(t, func() {
		clientThrough(t, service).SaveVoucher(t.Context(), voucherRef, filepath.Join(dir, "voucher.pdf"))
	})
	assertFiles(t, dir)
}

// The link in an error text.
func TestVoucherLinkStaysOut(t *testing.T) {
	for name, serve := range map[string]func(*http.Request) (*http.Response, error){
		"transport quotes": func(r *http.Request) (*http.Response, error) { return nil, errors.New("no route to " + r.URL.String()) },
		"nested url.Error": func(r *http.Request) (*http.Response, error) {
			return nil, &url.Error{Op: "Get", URL: r.URL.String(), Err: io.ErrUnexpectedEOF}
		},
		"broken off": func(r *http.Request) (*http.Response, error) {
			resp := reply(200, "")
			resp.Body = io.NopCloser(iotest.ErrReader(errors.New("reading " + r.URL.String())))
			return resp, nil
		},
		"malformed location": func(r *http.Request) (*http.Response, error) {
			resp := reply(302, "")
			resp.Header.Set("Location", "http://[::1"+r.URL.RequestURI())
			return resp, nil
		},
	} {
		service := serviceOf(nil, serve)
		err := clientThrough(t, service).DownloadVoucher(t.Context(), service.voucher(1), io.Discard)
		require.Error(t, err)
		assert.NotContains(t, err.Error(), voucherSecret, name)
	}
}

// What a transport wraps together with the link is still to be told by errors.Is, and
// is asked for again like the same without it.
func TestVoucherLinkHidesNoCause(t *testing.T) {
	for cause, asks := range map[error]int{context.Canceled: 1, io.ErrUnexpectedEOF: 3} {
		service := serviceOf(nil, func(r *http.Request) (*http.Response, error) {
			return nil, &url.Error{Op: "Get", URL: r.URL.String(), Err: cause}
		})
		_, err := clientThrough(t, service).SaveVoucher(t.Context(), voucherRef, filepath.Join(t.TempDir(), "voucher.pdf"))
		require.ErrorIs(t, err, cause)
		assert.Equal(t, asks, service.asks)
		assert.NotContains(t, err.Error(), voucherSecret)
	}
}

// An answer without a body, which a RoundTripper must not return, is no document.
func TestVoucherAnswerWithoutABody(t *testing.T) {
	service := serviceOf(nil, func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, nil })
	err := clientThrough(t, service).DownloadVoucher(t.Context(), service.voucher(1), io.Discard)
	assert.ErrorContains(t, err, "fetching the document")
}

// A server that goes silent does not hold the caller for ever.
func TestVoucherStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := serviceOf(nil, func(r *http.Request) (*http.Response, error) {
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(24 * time.Hour):
				return reply(500, ""), nil
			}
		})
		start := time.Now()
		err := clientThrough(t, service).DownloadVoucher(t.Context(), service.voucher(1), io.Discard)
		assert.Error(t, err)
		assert.Equal(t, 5*time.Minute, time.Since(start))
	})
}

func TestVoucherWriterIsMissing(t *testing.T) {
	service := serviceOf(nil, func(*http.Request) (*http.Response, error) {
		t.Error("something was fetched for nobody")
		return reply(500, ""), nil
	})
	err := clientThrough(t, service).DownloadVoucher(t.Context(), service.voucher(1), nil)
	var invalid *hotelstays.ValidationError
	require.ErrorAs(t, err, &invalid)
	assert.Contains(t, err.Error(), "w: is nil")
}
