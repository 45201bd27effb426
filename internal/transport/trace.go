// What is known to have left: httptrace's hooks, and what they prove.

package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
)

// trace observes one attempt. Its hooks run on other goroutines, and may run
// after the round trip has returned.
type trace struct {
	hooks   httptrace.ClientTrace
	permit  Permit
	asked   atomic.Bool // a connection was asked for: the transport reports events
	got     atomic.Bool // there was one
	wrote   atomic.Bool // the headers were written: the request may arrive
	settled atomic.Bool // the permit was given back
}

func (t *trace) context(ctx context.Context) context.Context {
	t.hooks = httptrace.ClientTrace{
		GetConn:      func(string) { t.asked.Store(true) },
		GotConn:      func(httptrace.GotConnInfo) { t.got.Store(true) },
		WroteHeaders: func() { t.wrote.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if t.wrote.Load() {
				t.settle(true)
			}
		},
	}
	return httptrace.WithClientTrace(ctx, &t.hooks)
}

// ended takes the round trip's error and tells whether the request may have
// reached the service. A transport that reports no events proves nothing, and
// counts as having sent; so does one that wrote headers, whatever came after.
func (t *trace) ended(err error) bool {
	sent := err == nil || t.wrote.Load() || (!t.asked.Load() && !isDial(err))
	t.settle(sent)
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

// settle starts the slot's window when the request left, or hands the slot back
// when it never did.
func (t *trace) settle(left bool) {
	switch {
	case !t.settled.CompareAndSwap(false, true):
	case left:
		t.permit.Left()
	default:
		t.permit.Unused()
	}
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
