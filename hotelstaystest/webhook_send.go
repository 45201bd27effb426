// Webhook requests, over sockets to loopback addresses and named hosts, or to a handler in memory.

package hotelstaystest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

const maxCallbackAnswer = 64 << 10 // maximum number of bytes that the sandbox reads of a receiver's answer

var errRefusedAddress = errors.New(
	"webhooks go only to webhooks.callbackHosts, to a CallbackHandler and, unless allowRemote is set, to loopback addresses")

// socketTransport returns a transport that connects only to CallbackHosts and, unless remote is set, to loopback.
// The transport uses no proxy, and a new connection for each delivery.
func (c *WebhookConfig) socketTransport(remote bool) *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true,
		MaxConnsPerHost:   64,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dial := new(net.Dialer).DialContext
			host, _, err := net.SplitHostPort(addr)
			switch {
			case err == nil && c.allowsHost(host):
				return dial(ctx, network, addr)
			case remote: // with AllowRemote, other machines could otherwise reach loopback addresses through the sandbox
				return nil, errRefusedAddress
			}
			return dialLoopback(ctx, dial, network, addr)
		},
	}
}

func (c *WebhookConfig) allowsHost(host string) bool {
	host = strings.TrimSuffix(host, ".")
	return slices.ContainsFunc(c.CallbackHosts, func(taken string) bool { return strings.EqualFold(taken, host) })
}

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// dialLoopback dials a loopback address. The only name that it accepts is localhost, without a DNS
// lookup.
func dialLoopback(ctx context.Context, dial dialFunc, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if name := strings.ToLower(strings.TrimSuffix(host, ".")); name == "localhost" {
		conn, err := dial(ctx, network, net.JoinHostPort("127.0.0.1", port))
		if err != nil && ctx.Err() == nil {
			conn, err = dial(ctx, network, net.JoinHostPort("::1", port))
		}
		return conn, err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Unmap().IsLoopback() {
		return nil, fmt.Errorf("%s: %w", host, errRefusedAddress)
	}
	return dial(ctx, network, addr)
}

// serveCallbacks serves the handler h over in-memory connections. The returned transport sends every URL to h, even
// with https.
func (w *webhooks) serveCallbacks(h http.Handler) *http.Transport {
	listener := newMemListener()
	w.server = &http.Server{
		Handler: h, ConnState: w.s.trackConn,
		// Close cancels w.ctx. If h has not read the body of a request, net/http does not notice that the connection closes.
		BaseContext: func(net.Listener) context.Context { return w.ctx },
		ErrorLog:    log.New(panicsOnly{os.Stderr}, "hotelstaystest: callback handler: ", 0),
	}
	w.s.work.Go(func() { w.server.Serve(listener) })
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.dial(ctx, "127.0.0.1:40000") }
	return &http.Transport{DisableKeepAlives: true, DialContext: dial, DialTLSContext: dial}
}

// send sends and records one attempt. isCopy is true for the copy that FaultDuplicate sends. The caller holds the lock.
func (w *webhooks) send(e *event, f *Fault, isCopy bool) {
	attempt := WebhookAttempt{Started: w.s.clock.now(), Copy: isCopy}
	secret, sent := w.cfg.Secret, e.Body
	if f != nil {
		attempt.Fault = f.Kind
		switch f.Kind {
		case FaultBadSignature:
			secret = rand.Text()
		case FaultAlteredBody:
			sent = slices.Clone(e.Body)
			sent[len(sent)/2] ^= 1
		}
	}
	now := time.Now() // the real time, because receivers compare the time of signing with their own clock
	req := NewWebhookRequest(e.URL, "", now, e.EventID, sent)
	if secret != "" {
		req.Header.Set(signatureHeader, SignWebhook(secret, now, e.Body))
	}
	switch attempt.Signature = req.Header.Get(signatureHeader); {
	case attempt.Signature == "":
		attempt.Signed = "none"
	case secret != w.cfg.Secret || !bytes.Equal(sent, e.Body):
		attempt.Signed = "invalid"
	default:
		attempt.Signed = "valid"
	}
	if !w.s.enter() {
		return
	}
	i := 0
	w.s.ledger.updateWebhook(e.rec, func(rec *Webhook) {
		i = len(rec.Attempts)
		rec.Attempts = append(rec.Attempts, attempt)
	})
	w.s.agenda.inFlight++
	go func() {
		defer w.s.work.Done()
		status, err := w.exchange(req)
		w.s.lock()
		defer w.s.unlock()
		w.s.agenda.attemptEnded()
		w.answered(e, i, status, err, isCopy)
	}()
}

func (w *webhooks) exchange(req *http.Request) (int, error) {
	ctx, cancel := context.WithTimeout(w.ctx, w.cfg.Timeout)
	defer cancel()
	resp, err := w.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, maxCallbackAnswer))
	return resp.StatusCode, nil
}
