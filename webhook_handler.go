// The webhook handler, which handles each event once.

package hotelstays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/events"
	"github.com/hotelstays/hotelstays-go/types"
)

// settleTimeout limits the calls of the EventStore after the user's function has returned. The request's ctx may have
// ended by then, because the sender has disconnected.
const settleTimeout = 5 * time.Second

// WebhookHandler is an http.Handler for webhooks. Create it with NewWebhookHandler. It is safe for concurrent use.
type WebhookHandler struct {
	opts     WebhookOptions
	trust    VerifyWebhookOptions
	unsigned EventStore // the store for unsigned events
	fn       func(context.Context, *WebhookEvent) error
}

// WebhookOptions configures NewWebhookHandler.
type WebhookOptions struct {
	// Secrets, AllowUnsigned, Account and Tolerance are documented at VerifyWebhookOptions.
	Secrets       []types.Secret
	AllowUnsigned bool
	Account       string
	Tolerance     time.Duration
	// Store is in memory by default, with the last 100,000 signed events, and the last 200,000 unsigned events.
	Store     EventStore
	Retention time.Duration // how long Store remembers an event, 7 days by default
	// Lease limits how long the function fn of NewWebhookHandler may handle an event, 1 minute by default. Then the ctx of
	// fn ends, and a duplicate of the event may be handled.
	Lease        time.Duration
	MaxBodyBytes int64 // the maximum size of a body; 1 MiB by default
	// ReadTimeout limits the reading of the body, 10 seconds by default. It needs a ResponseWriter with a read deadline;
	// if a middleware hides the deadline, use http.Server.ReadTimeout.
	ReadTimeout time.Duration
	// OnError, if set, is called for each rejected or failed delivery, after the response. ErrWebhookBusy needs no alarm:
	// the event came twice at the same time.
	OnError func(*http.Request, error)
}

// NewWebhookHandler returns a handler that verifies deliveries and calls fn for each event,
// concurrently and in any order. The error is a *ValidationError.
//
// An event is handled when fn returns nil. After an error the sender may deliver it again. Within the store's retention fn
// succeeds once per event, provided that it returns within its lease. The ctx of fn ends when the sender disconnects, or
// after opts.Lease.
//
// Two deliveries are duplicates if they have the same event id or the same signed body. Without an id they are also duplicates
// if they have the same reference and kind. For types.EventOrderModified and unknown kinds, which may come again, the time must
// be the same, too. A signed and an unsigned delivery are never duplicates, so that nobody without a secret can make an event
// look handled. But the signature does not cover the id. An attacker who has a signed delivery that was never handled can send it
// with a guessed id. If another event has this id, the handler then takes that event for a duplicate.
//
//	200  handled, now or before
//	400  the body is not an event
//	401  the signature is missing, wrong, or outside the tolerance
//	405  the method is not POST
//	408  the body did not arrive in time
//	413  the body is too large
//	500  fn failed
//	503  a duplicate is being handled, or the store failed
func NewWebhookHandler(opts WebhookOptions, fn func(context.Context, *WebhookEvent) error) (*WebhookHandler, error) {
	var f faults
	trust := VerifyWebhookOptions{slices.Clone(opts.Secrets), opts.AllowUnsigned, opts.Account, opts.Tolerance}
	trust.check(&f, trust.reveal())
	if opts.Retention < 0 || opts.Lease < 0 || opts.ReadTimeout < 0 || opts.MaxBodyBytes < 0 {
		f.add("Retention, Lease, ReadTimeout, MaxBodyBytes", "must not be negative")
	}
	if fn == nil {
		f.add("fn", "is nil")
	}
	if err := f.err("NewWebhookHandler"); err != nil {
		return nil, err
	}
	unsigned := opts.Store
	if opts.Store == nil { // with one store, many unsigned events could push out a signed event
		opts.Store, unsigned = memoryEvents{events.New(defaultEvents)}, memoryEvents{events.New(defaultEvents)}
	}
	opts.Retention = cmp.Or(opts.Retention, 7*24*time.Hour)
	opts.Lease = cmp.Or(opts.Lease, time.Minute)
	opts.MaxBodyBytes = cmp.Or(opts.MaxBodyBytes, 1<<20)
	opts.ReadTimeout = cmp.Or(opts.ReadTimeout, 10*time.Second)
	return &WebhookHandler{opts, trust, unsigned, fn}, nil
}

// ServeHTTP handles one delivery.
func (h *WebhookHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, err := h.handle(w, r)
	switch status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status) // the answer has no details, which could help an attacker
	}
	if err != nil && h.opts.OnError != nil {
		_ = http.NewResponseController(w).Flush() // sends the answer now, so that the sender does not wait for OnError
		h.opts.OnError(r, err)
	}
}

func (h *WebhookHandler) handle(w http.ResponseWriter, r *http.Request) (status int, err error) {
	// The deadline is set before any refusal, because net/http reads the body after a refusal. The error is ignored,
	// because some middlewares do not support deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.opts.ReadTimeout))
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, fmt.Errorf("hotelstays: webhook: the method is %.20q, not POST", r.Method)
	}
	body, status, err := h.read(w, r)
	if err != nil {
		return status, err
	}
	event, err := h.trust.verify(body, r.Header, h.trust.reveal())
	switch {
	case errors.Is(err, ErrWebhookBody):
		return http.StatusBadRequest, err
	case err != nil:
		return http.StatusUnauthorized, err
	}
	return h.once(r.Context(), event)
}

func (h *WebhookHandler) read(w http.ResponseWriter, r *http.Request) (body []byte, status int, err error) {
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, h.opts.MaxBodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("hotelstays: webhook: the body is larger than %d bytes (MaxBodyBytes): %w",
			h.opts.MaxBodyBytes, err)
	case err != nil:
		return nil, http.StatusRequestTimeout, fmt.Errorf("hotelstays: webhook: the body could not be read: %w", err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, 0, nil
}

func (h *WebhookHandler) once(ctx context.Context, event *WebhookEvent) (status int, err error) {
	store, keys, leaseEnd := h.opts.Store, event.Keys(), time.Now().Add(h.opts.Lease)
	if !event.Signed {
		store = h.unsigned
	}
	claim, err := store.Claim(ctx, keys, h.opts.Lease)
	switch {
	case err != nil:
		return http.StatusServiceUnavailable, fmt.Errorf("hotelstays: webhook: the store could not claim the event, so it was not handled: %w", err)
	case claim == ClaimDone:
		return http.StatusOK, nil
	case claim != ClaimGranted:
		return http.StatusServiceUnavailable, fmt.Errorf("hotelstays: webhook: %w", ErrWebhookBusy)
	}
	done := false
	// The claim is released even if fn panics, but not after the lease, because another process may then have the
	// claim.
	defer func() {
		if !done && time.Now().Before(leaseEnd) {
			_ = h.settle(ctx, func(ctx context.Context) error { return store.Release(ctx, keys) })
		}
	}()
	leased, cancel := context.WithTimeout(ctx, h.opts.Lease)
	defer cancel()
	if err := h.fn(leased, event); err != nil {
		return http.StatusInternalServerError,
			fmt.Errorf("hotelstays: webhook: your function failed for the event %.100q of order %.100q: %w",
				event.Kind, event.CustomerReferenceNo, err)
	}
	done = true
	err = h.settle(ctx, func(ctx context.Context) error {
		return store.Done(ctx, keys, h.opts.Retention)
	})
	if err != nil {
		return http.StatusServiceUnavailable,
			fmt.Errorf("hotelstays: webhook: the event was handled, but the store did not mark it, so it may be handled again: %w", err)
	}
	return http.StatusOK, nil
}

func (h *WebhookHandler) settle(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	return call(ctx)
}
