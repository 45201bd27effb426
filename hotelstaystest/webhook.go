// Webhook events: their order and their attempts.

package hotelstaystest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// WebhookTrigger is a change of an order that causes webhook events.
type WebhookTrigger string

// The triggers.
const (
	OnBook    WebhookTrigger = "book"    // Book has made the order
	OnConfirm WebhookTrigger = "confirm" // the order is confirmed
	OnAmend   WebhookTrigger = "amend"   // Server.AmendOrder
	OnCancel  WebhookTrigger = "cancel"  // Cancel, or Server.SetOrderStatus with the status cancelled
	OnStatus  WebhookTrigger = "status"  // Server.SetOrderStatus with a status other than confirmed and cancelled
)

type webhooks struct {
	s         *Server
	cfg       *WebhookConfig
	ctx       context.Context // ends when the server closes
	stop      context.CancelFunc
	transport http.RoundTripper
	server    *http.Server // serves CallbackHandler
	numbers   atomic.Int64
}

func newWebhooks(s *Server) *webhooks {
	w := &webhooks{s: s, cfg: &s.cfg.Webhooks}
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

func (w *webhooks) start() {
	if w.cfg.CallbackHandler != nil {
		w.transport = w.serveCallbacks(w.cfg.CallbackHandler)
	} else {
		w.transport = w.cfg.socketTransport(w.s.cfg.AllowRemote)
	}
}

func (w *webhooks) close() {
	w.stop()
	if w.server != nil {
		w.server.Close()
	}
}

type webhookBody struct {
	CustomerReferenceNo string          `json:"customerReferenceNo"`
	HotelConfirmNo      string          `json:"hotelConfirmNo"`
	Event               types.EventKind `json:"event"`
	EventTime           int64           `json:"eventTime"`
}

// event is a webhook event with its attempts. Server.lock guards it.
type event struct {
	Webhook         // the webhook at the creation of the event, without later changes
	rec     *record // the event's record in the ledger
	order   *order
	tries   int    // started attempts
	fault   *Fault // fault that delays the next attempt, and then acts on the attempt
}

// eventQueue sends the first attempts of an order's events one after another.
type eventQueue struct {
	waiting []*event
	first   *event // the event whose first attempt is in progress
}

// trigger makes the events that the configuration lists for a trigger. The caller holds the lock.
func (w *webhooks) trigger(o *order, on WebhookTrigger, at time.Time) {
	for _, kind := range w.cfg.Events[on] {
		w.post(o, kind, at)
	}
}

// post makes one event and delivers it. The caller holds the lock.
func (w *webhooks) post(o *order, kind types.EventKind, at time.Time) {
	if o.callbackURL == "" || w.s.isClosing() {
		return
	}
	body, _ := json.Marshal(webhookBody{o.customerRef, o.confirmNo, kind, at.UnixMilli()}) // cannot fail
	id := hex.EncodeToString(w.s.mac("event", strconv.FormatInt(w.numbers.Add(1), 10)))[:24]
	made := Webhook{
		EventID: "evt_" + id, Event: kind, CustomerReferenceNo: o.customerRef, PlatformReferenceNo: o.platformRef,
		URL: o.callbackURL, EventTime: at, Body: body, State: WebhookPending, Attempts: []WebhookAttempt{},
	}
	e := &event{Webhook: made, rec: w.s.ledger.addWebhook(made), order: o}
	o.events.waiting = append(o.events.waiting, e)
	w.next(o, nil)
}

// next starts the first attempt of the order's next event, unless the first attempt of an earlier event is in progress.
// The argument for passed is nil, or an event for which later events need not wait. The first attempt of that event has
// ended, or a fault delays that attempt.
func (w *webhooks) next(o *order, passed *event) {
	q := &o.events
	if q.first != passed && q.first != nil {
		return
	}
	if q.first = nil; len(q.waiting) > 0 {
		q.first, q.waiting = q.waiting[0], q.waiting[1:]
		w.schedule(q.first, 0)
	}
}

func (w *webhooks) schedule(e *event, pause time.Duration) {
	w.s.agenda.add(appointment{at: w.s.clock.now().Add(pause), event: e})
}

// attempt tries to deliver an event whose time has come. The first fault that matches acts on this attempt. The caller
// holds the lock.
func (w *webhooks) attempt(e *event) {
	if w.s.isClosing() {
		return
	}
	f := e.fault
	if f == nil {
		f = w.s.pickFault(OpWebhook, e.CustomerReferenceNo, e.PlatformReferenceNo)
		if f != nil && f.Kind != FaultDuplicate && f.Delay > 0 { // later events do not wait for this event
			e.fault = f
			w.later(e, f.Delay, func() { w.attempt(e) })
			w.next(e.order, e)
			return
		}
	}
	e.fault = nil
	e.tries++
	switch {
	case f != nil && f.Kind == FaultDrop:
		now := w.s.clock.now()
		w.s.ledger.updateWebhook(e.rec, func(rec *Webhook) {
			rec.Attempts = append(rec.Attempts, WebhookAttempt{Started: now, Done: now, Fault: f.Kind, Signed: "none"})
			rec.settle(WebhookDropped)
		})
		w.next(e.order, e)
		return
	case f != nil && f.Kind == FaultDuplicate:
		w.later(e, f.Delay, func() { w.send(e, f, true) })
	}
	w.send(e, f, false)
}

// later calls fn after d, and holds the lock during the call. The delay d is in real time, like all delays of faults.
func (w *webhooks) later(e *event, d time.Duration, fn func()) {
	if !w.s.enter() {
		return
	}
	go func() {
		defer w.s.work.Done()
		if w.s.wait(w.ctx, d) {
			w.s.lock()
			defer w.s.unlock()
			if !w.orderDropped(e) {
				fn()
			}
		}
	}()
}

// orderDropped reports whether Reset has dropped the event's order.
func (w *webhooks) orderDropped(e *event) bool {
	return w.s.orders.byPlatform[e.PlatformReferenceNo] != e.order
}

// answered records the answer to an attempt, and schedules the next attempt if this attempt failed.
func (w *webhooks) answered(e *event, i, status int, err error, isCopy bool) {
	if w.orderDropped(e) {
		return
	}
	pauses := w.cfg.RetryDelays
	retry := e.tries <= len(pauses)
	state := WebhookPending
	switch {
	case err == nil && status >= 200 && status <= 299:
		state = WebhookDelivered
	case errors.Is(err, errRefusedAddress):
		state = WebhookRefused
	case !retry && !w.s.isClosing():
		state = WebhookGivenUp
	}
	w.s.ledger.updateWebhook(e.rec, func(rec *Webhook) {
		a := &rec.Attempts[i]
		a.Done, a.Status = w.s.clock.now(), status
		if err != nil {
			a.Error = err.Error()
		}
		if !isCopy {
			rec.settle(state)
		}
	})
	if isCopy {
		return
	}
	w.next(e.order, e)
	if state == WebhookPending && retry {
		w.schedule(e, pauses[e.tries-1])
	}
}

// settle sets the state of an event, unless the event was delivered before.
func (w *Webhook) settle(state WebhookState) {
	if w.State != WebhookDelivered {
		w.State = state
	}
}

// SendWebhook sends an event of any kind, even an unknown kind. The order does not change. If the
// order has no callbackUrl, SendWebhook sends nothing.
func (s *Server) SendWebhook(reference string, event types.EventKind) {
	panicOn("SendWebhook", s.sendWebhook(reference, event))
}

func (s *Server) sendWebhook(reference string, event types.EventKind) error {
	if event == "" {
		return badField("event", "event is required")
	}
	return s.withOrder(reference, func(o *order, now time.Time) error { s.webhooks.post(o, event, now); return nil })
}

// RedeliverWebhook delivers an event again, with the same event id and body, and with all
// retries. It panics if the ledger does not have the event.
func (s *Server) RedeliverWebhook(eventID string) {
	panicOn("RedeliverWebhook", s.redeliverWebhook(eventID))
}

func (s *Server) redeliverWebhook(eventID string) error {
	s.lock()
	defer s.unlock()
	rec, made := s.ledger.findWebhook(eventID)
	if rec == nil {
		return refuse(http.StatusNotFound, "eventId", "no event %q in the ledger", eventID)
	}
	o := s.orders.byPlatform[made.PlatformReferenceNo]
	s.webhooks.schedule(&event{Webhook: made, rec: rec, order: o}, 0)
	return nil
}
