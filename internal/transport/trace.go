// What is known to have left: httptrace's hooks, and what they prove.

package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// trace observes one attempt. Its hooks run on other goroutines, and may run
// after the round trip has returned.
type trace struct {
	hooks  httptrace.ClientTrace
	permit Permit
	asked  atomic.Bool // a connection was asked for: the transport reports events
	got    atomic.Bool // there was one
	wrote  atomic.Bool // the headers were written: the request may arrive

	mu         sync.Mutex // so that Sent never follows Done
	sent, done bool       // which of the two was called
	firstByte  time.Time  // when the answer began
}

func (t *trace) context(ctx context.Context) context.Context {
	t.hooks = httptrace.ClientTrace{
		GetConn:      func(string) { t.asked.Store(true) },
		GotConn:      func(httptrace.GotConnInfo) { t.got.Store(true) },
		WroteHeaders: func() { t.wrote.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if t.wrote.Load() {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.leave()
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

// ended takes what the round trip returned and reports whether the request may have
// reached the service. A transport that reports no events proves nothing, and
// counts as having sent; so does one that wrote headers, whatever came after.
func (t *trace) ended(resp *http.Response, err error) bool {
	sent := err == nil || t.wrote.Load() || (!t.asked.Load() && !isDial(err))
	if err != nil {
		resp = nil
	}
	t.finish(sent, resp)
	return sent
}

// ErrNoConnection is part of the error of an attempt that got no connection.
var ErrNoConnection = errors.New("no connection")

// explain adds to the round trip's error how far it came: "EOF", "Forbidden" and the
// end of a ctx may be of a dial, of a proxy or of a handshake as well. Where a peer
// refused the stream it leaves the cause alone: net/http adds the advice to define
// GetBody, which would have it send the request again by itself.
func (t *trace) explain(err error) error {
	if rest, ok := strings.CutPrefix(err.Error(), "http2: Transport: cannot retry err ["); ok {
		if cause, _, ok := strings.Cut(rest, "] after Request.Body was written"); ok {
			return errors.New(cause)
		}
	}
	if t.asked.Load() && !t.got.Load() || !t.asked.Load() && isDial(err) {
		return fmt.Errorf("%w: %w", ErrNoConnection, err)
	}
	return err
}

// leave says that the request leaves. t.mu is held.
func (t *trace) leave() {
	if !t.sent && !t.done {
		t.sent = true
		t.permit.Sent()
	}
}

// finish gives the permit back, once.
func (t *trace) finish(sent bool, resp *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return
	}
	if sent {
		t.leave()
	}
	t.done = true
	t.permit.Done(t.result(resp))
}

// result is what the answer proves. The request arrived before the answer began, and
// earlier by the time that the service says it took. The header counts whole
// milliseconds and may be rounded up, so one of them proves nothing.
func (t *trace) result(resp *http.Response) PermitResult {
	if resp == nil {
		return PermitResult{}
	}
	r := PermitResult{FirstByte: t.firstByte, RateLimited: resp.StatusCode == http.StatusTooManyRequests}
	if r.FirstByte.IsZero() { // the transport reports no events
		r.FirstByte = time.Now()
	}
	if cost, err := strconv.ParseUint(resp.Header.Get("Server-Cost-Milliseconds"), 10, 31); err == nil {
		r.ArrivedBy = r.FirstByte.Add(-time.Duration(max(cost, 1)-1) * time.Millisecond)
	}
	return r
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
