// A client for these calls, written by hand on net/http. It has pooled buffers, and one transport, which keeps its
// connections. It decodes the envelope together with its data. It has no retries, rate limits, token fetches or unknown
// outcomes.
//
// encoding/json and goccy/go-json share this code.

package peers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
)

type codec struct {
	marshal   func(any) ([]byte, error)
	unmarshal func([]byte, any) error
}

func newHandwritten(codec codec) func(baseURL string) (Peer, error) {
	return func(baseURL string) (Peer, error) {
		h := &handwritten{base: baseURL, http: httpClient(), codec: codec}
		return Peer{Calls: callsThrough(h.post), Close: h.http.CloseIdleConnections}, nil
	}
}

// httpClient returns a client that keeps up to 256 idle connections, so that no caller has to connect again.
func httpClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     90 * time.Second,
	}}
}

type handwritten struct {
	base  string
	http  *http.Client
	codec codec
}

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (h *handwritten) send(ctx context.Context, path string, in any) (*http.Response, error) {
	sent, err := h.codec.marshal(in)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.base+path, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+Token)
	req.Header.Set("Request-Id", uuid.NewString())
	req.Header.Set("Trace-Id", uuid.NewString())
	req.Header.Set("Session-Id", answers.Session)
	req.Header.Set("Timeout-Milliseconds", strconv.FormatInt(timeoutHint, 10))
	return h.http.Do(req)
}

func (h *handwritten) post(ctx context.Context, path string, in, answer any) (status int, err error) {
	resp, err := h.send(ctx, path, in)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()

	body := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(body)
	body.Reset()
	if resp.ContentLength > 0 {
		body.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(io.LimitReader(resp.Body, 64<<20)); err != nil {
		return 0, err
	}
	if err := h.codec.unmarshal(body.Bytes(), answer); err != nil {
		return 0, fmt.Errorf("%s answered HTTP %d: %w", path, resp.StatusCode, err)
	}
	return resp.StatusCode, nil
}
