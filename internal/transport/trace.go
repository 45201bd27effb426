// Whether a request has left the machine, according to net/http/httptrace.

package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/pacing"
)

// ErrNoConnection means that an attempt got no connection. The error of the attempt wraps ErrNoConnection.
var ErrNoConnection = errors.New("no connection")

// trace observes what one attempt sends. The transport may call the hooks on other goroutines, even after RoundTrip has
// returned.
type trace struct {
	hooks  httptrace.ClientTrace
	permit Permit

	askedConn    atomic.Bool // the transport asked for a connection, which proves that the transport reports events
	gotConn      atomic.Bool
	wroteHeaders atomic.Bool // the transport has written the headers, so the request may arrive

	mu         sync.Mutex // guards the fields below; a late hook must not call Permit.Sent after Permit.Done
	sent, done bool       // whether Permit.Sent and Permit.Done were called
	firstByte  time.Time
}

func (t *trace) context(ctx context.Context) context.Context {
	t.hooks = httptrace.ClientTrace{
		GetConn:      func(string) { t.askedConn.Store(true) },
		GotConn:      func(httptrace.GotConnInfo) { t.gotConn.Store(true) },
		WroteHeaders: func() { t.wroteHeaders.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if t.wroteHeaders.Load() {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.markSent()
			}
		},
		GotFirstResponseByte: func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.firstByte = time.Now()
		},
	}
	return httptrace.WithClientTrace(ctx, &t.hooks)
}

// ended calls the permit's Done, and reports whether the request may have reached the service. If the transport reports
// events, the events decide. Without events, only a dial error or the parameter unsent proves that the request did not
// reach the service. The parameter unsent is true in two cases: the transport refused the request with ErrNotSent, or
// an *http.Transport did not read the body.
func (t *trace) ended(resp *http.Response, err error, unsent bool) (sent bool) {
	if err != nil {
		resp = nil
	}
	sent = err == nil || t.wroteHeaders.Load() || !t.askedConn.Load() && !isDial(err) && !unsent
	t.finish(sent, resp)
	return sent
}

// finish calls the permit's Done. Later calls do nothing.
func (t *trace) finish(sent bool, resp *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return
	}
	if sent {
		t.markSent()
	}
	t.done = true
	t.permit.Done(t.result(resp))
}

// markSent calls the permit's Sent, but only once, and not after Done. The caller holds t.mu.
func (t *trace) markSent() {
	if !t.sent && !t.done {
		t.sent = true
		t.permit.Sent()
	}
}

// result returns what the answer proves about the arrival of the request. The latest possible arrival is the time of
// the answer's first byte, minus Server-Cost-Milliseconds. The service may round this header up, so result subtracts
// one millisecond less.
func (t *trace) result(resp *http.Response) pacing.PermitResult {
	if resp == nil {
		return pacing.PermitResult{}
	}
	r := pacing.PermitResult{FirstByte: t.firstByte, RateLimited: resp.StatusCode == http.StatusTooManyRequests}
	if r.FirstByte.IsZero() { // the transport reports no events, so the time of the first byte is unknown
		r.FirstByte = time.Now()
	}
	if cost, err := strconv.ParseUint(resp.Header.Get("Server-Cost-Milliseconds"), 10, 31); err == nil {
		r.ArrivedBy = r.FirstByte.Add(-time.Duration(max(cost, 1)-1) * time.Millisecond)
	}
	return r
}

// explain adds to the error of RoundTrip that there was no connection, or that the connection was closed before an
// answer came. If a peer refused an HTTP/2 stream, explain removes net/http's advice to define GetBody. With GetBody,
// net/http would send the request again by itself.
func (t *trace) explain(err error) error {
	if rest, ok := strings.CutPrefix(err.Error(), "http2: Transport: cannot retry err ["); ok {
		if cause, _, ok := strings.Cut(rest, "] after Request.Body was written"); ok {
			return errors.New(cause)
		}
	}
	switch {
	case t.askedConn.Load() && !t.gotConn.Load() || !t.askedConn.Load() && isDial(err):
		return fmt.Errorf("%w: %w", ErrNoConnection, err)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the connection was closed before an answer came: %w", err)
	}
	return err
}

// withoutGuests removes JSON from the text of err. If an answer is not HTTP, net/http quotes the answer's first line.
// This line may be a body with the data of guests.
func withoutGuests(err error) error {
	const fault = "malformed "
	if err == nil {
		return nil
	}
	before, line, ok := strings.Cut(err.Error(), fault)
	if outline := wire.Outline([]byte(line)); ok && outline != line {
		return errors.New(before + fault + outline)
	}
	return err
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
