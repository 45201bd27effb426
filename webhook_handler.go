// The webhook handler: every event handled successfully once.

package hotelstays

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	defaultRetention   = 7 * 24 * time.Hour
	defaultLease       = time.Minute
	defaultMaxWebhook  = 1 << 20
	defaultReadTimeout = 10 * time.Second
	// storePatience bounds the store's part after the function has returned, when
	// the sender may be gone.
	storePatience = 5 * time.Second
)

// NewWebhookHandler returns a handler that verifies deliveries and calls fn for
// each event. It panics when opts cannot work.
//
// Within the store's retention fn succeeds once for each event, whatever copies
// come, as long as it returns within its lease: an event counts as handled when fn
// has returned nil. Otherwise the answer is a 5xx, and the sender delivers again. fn
// must not rely on order: deliveries can overtake each other. It is called by several
// goroutines at once, and its ctx ends when the sender goes away, or after opts.Lease.
//
// A copy is told by the event's id, by its signed body, or, without an id, by
// reference and kind, and by time for EventOrderModified. The id is outside the
// signature: whoever can replay a signed delivery that has not been handled yet, and
// guess the id of another event, can have that other event taken for a copy.
//
//	200  handled now, or before
//	400  not an event
//	401  not signed by a known secret, or at another time
//	405  not a POST
//	408  the body did not come in time
//	413  the body is too large
//	415  not JSON
//	500  fn failed
//	503  a copy is being handled right now, or the store failed
func NewWebhookHandler(opts WebhookOptions, fn func(context.Context, *WebhookEvent) error) http.Handler {
	if err := opts.check(); err != nil {
		panic(err)
	}
	if fn == nil {
		panic("hotelstays: NewWebhookHandler: fn is nil")
	}
	if opts.Store == nil {
		opts.Store = newMemoryEvents(defaultEvents)
	}
	opts.Secrets = slices.Clone(opts.Secrets)
	return &webhookHandler{opts, fn}
}

type webhookHandler struct {
	opts WebhookOptions
	fn   func(context.Context, *WebhookEvent) error
}

// ServeHTTP answers a delivery.
func (h *webhookHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, err := h.handle(w, r)
	switch status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	if status == http.StatusOK {
		w.WriteHeader(status)
	} else {
		http.Error(w, http.StatusText(status), status) // no detail for strangers
	}
	if err != nil && h.opts.OnError != nil {
		_ = http.NewResponseController(w).Flush() // the sender need not wait for it
		h.opts.OnError(r, err)
	}
}

// handle takes a delivery through its steps and returns the answer's status.
func (h *webhookHandler) handle(w http.ResponseWriter, r *http.Request) (status int, err error) {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, fmt.Errorf("hotelstays: webhook: %s instead of POST", r.Method)
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return http.StatusUnsupportedMediaType, errors.New("hotelstays: webhook: the delivery is not JSON")
	}
	body, status, err := h.read(w, r)
	if err != nil {
		return status, err
	}
	event, err := VerifyWebhook(body, r.Header, h.opts)
	switch {
	case errors.Is(err, ErrWebhookBody):
		return http.StatusBadRequest, err
	case err != nil:
		return http.StatusUnauthorized, err
	}
	return h.once(r.Context(), event)
}

func isJSON(contentType string) bool {
	if contentType == "" {
		return true // the service's is not shown
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

func (h *webhookHandler) read(w http.ResponseWriter, r *http.Request) (body []byte, status int, err error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(orDefault(h.opts.ReadTimeout, defaultReadTimeout))) // not every server can
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, orDefault(h.opts.MaxBody, defaultMaxWebhook)))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("hotelstays: webhook: %w", err)
	case err != nil:
		return nil, http.StatusRequestTimeout, fmt.Errorf("hotelstays: webhook: the body did not come: %w", err)
	}
	_ = control.SetReadDeadline(time.Time{})
	return body, 0, nil
}

// once claims the event, calls fn, and marks it done or gives it back.
func (h *webhookHandler) once(ctx context.Context, event *WebhookEvent) (status int, err error) {
	keys, lease := event.keys(), orDefault(h.opts.Lease, defaultLease)
	ends := time.Now().Add(lease)
	claim, err := h.opts.Store.Claim(ctx, keys, lease)
	switch {
	case err != nil:
		return http.StatusServiceUnavailable, fmt.Errorf("hotelstays: webhook: claiming the event: %w", err)
	case claim == ClaimDone:
		return http.StatusOK, nil
	case claim != ClaimGranted:
		return http.StatusServiceUnavailable, errors.New("hotelstays: webhook: a copy of the event is being handled")
	}
	done := false
	defer func() { // also when fn panics; a lease that is over may be somebody else's by now
		if !done && time.Now().Before(ends) {
			_ = h.settle(ctx, func(ctx context.Context) error { return h.opts.Store.Release(ctx, keys) })
		}
	}()
	leased, cancel := context.WithTimeout(ctx, lease)
	defer cancel()
	if err := h.fn(leased, event); err != nil {
		return http.StatusInternalServerError, fmt.Errorf("hotelstays: webhook: handling %.100q of %.100q: %w", event.Kind, event.CustomerReferenceNo, err)
	}
	done = true
	err = h.settle(ctx, func(ctx context.Context) error {
		return h.opts.Store.Done(ctx, keys, orDefault(h.opts.Retention, defaultRetention))
	})
	if err != nil {
		return http.StatusServiceUnavailable, fmt.Errorf("hotelstays: webhook: the event was handled, and could not be marked so; it will be handled again: %w", err)
	}
	return http.StatusOK, nil
}

// settle calls the store even when the sender is gone.
func (h *webhookHandler) settle(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	return call(ctx)
}

// keys are what copies of an event have in common; one is enough to tell a copy.
// They are hashes, so that a sender cannot make the store hold more than that.
func (e *WebhookEvent) keys() []string {
	body := hashed("body", string(e.Raw))
	var keys []string
	switch {
	case e.ID != "":
		keys = append(keys, hashed("id", e.ID))
	case e.Kind != EventOrderModified:
		keys = append(keys, hashed("event", e.CustomerReferenceNo, string(e.Kind)))
	case e.EventTime != 0: // each amendment is an event of its own
		keys = append(keys, hashed("event", e.CustomerReferenceNo, string(e.Kind), fmt.Sprint(e.EventTime)))
	default: // and without a time, its content tells it
		keys = append(keys, body)
	}
	if e.Signed && !slices.Contains(keys, body) {
		keys = append(keys, body)
	}
	return keys
}

func hashed(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
