// A careful client on net/http for these four calls: one transport that keeps its connections,
// pooled buffers, and the envelope decoded together with its data. It has no retries, rate
// limits, tokens and unknown outcomes.
//
// encoding/json and goccy/go-json share this code.

package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	goccy "github.com/goccy/go-json"
	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// codec is a JSON package.
type codec struct {
	marshal   func(any) ([]byte, error)
	unmarshal func([]byte, any) error
}

func newBare(baseURL string) (Peer, error) {
	return newCareful(baseURL, codec{json.Marshal, json.Unmarshal}), nil
}

func newGoccy(baseURL string) (Peer, error) {
	return newCareful(baseURL, codec{goccy.Marshal, goccy.Unmarshal}), nil
}

func newCareful(baseURL string, codec codec) Peer {
	c := &careful{base: baseURL, http: carefulClient(), codec: codec}
	calls := map[hotelstays.Operation]Call{
		hotelstays.OpHotelList: func(ctx context.Context) (any, error) {
			return post[hotelstays.HotelListResponse](ctx, c, "/api/search/hotelList", hotelList.SessionID, hotelList)
		},
		hotelstays.OpHotelRates: func(ctx context.Context) (any, error) {
			return post[hotelstays.HotelRatesResponse](ctx, c, "/api/search/hotelRates", hotelRates.SessionID, hotelRates)
		},
		hotelstays.OpCheckAvail: func(ctx context.Context) (any, error) {
			return post[hotelstays.CheckAvailResponse](ctx, c, "/api/search/checkAvail", checkAvail.SessionID, checkAvail)
		},
		hotelstays.OpBook: func(ctx context.Context) (any, error) {
			return post[hotelstays.BookResponse](ctx, c, "/api/trade/book", book.SessionID, book)
		},
	}
	return Peer{Calls: calls, Close: c.http.CloseIdleConnections}
}

// carefulClient keeps as many idle connections as there are callers.
func carefulClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     90 * time.Second,
	}}
}

type careful struct {
	base  string
	http  *http.Client
	codec codec
}

// timeout bounds a call; the service gets a second less, in milliseconds.
const (
	timeout     = 60 * time.Second
	timeoutHint = int64((timeout - time.Second) / time.Millisecond)
)

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// send sends a request.
func (c *careful) send(ctx context.Context, path, session string, in any) (*http.Response, error) {
	sent, err := c.codec.marshal(in)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+Token)
	req.Header.Set("Request-Id", uuid.NewString())
	req.Header.Set("Trace-Id", uuid.NewString())
	req.Header.Set("Session-Id", session)
	req.Header.Set("Timeout-Milliseconds", strconv.FormatInt(timeoutHint, 10))
	return c.http.Do(req)
}

func post[T any](ctx context.Context, c *careful, path, session string, in any) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := c.send(ctx, path, session, in)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()

	body := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(body)
	body.Reset()
	if resp.ContentLength > 0 {
		body.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(io.LimitReader(resp.Body, 64<<20)); err != nil {
		return nil, err
	}
	var answer envelope[T]
	if err := c.codec.unmarshal(body.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("%s answered HTTP %d: %w", path, resp.StatusCode, err)
	}
	if err := answer.check(path, resp.StatusCode); err != nil {
		return nil, err
	}
	return answer.Data, nil
}

// envelope is the envelope of an answer.
type envelope[T any] struct {
	Code *int   `json:"code"`
	Msg  string `json:"msg"`
	Data *T     `json:"data"`
}

func (e *envelope[T]) check(path string, status int) error {
	if status != http.StatusOK || e.Code == nil || *e.Code != 0 || e.Data == nil {
		return fmt.Errorf("%s answered HTTP %d: %s", path, status, e.Msg)
	}
	return nil
}
