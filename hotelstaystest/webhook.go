// The life of a webhook event: how it comes about, waits for its turn, is attempted,
// and ends.

package hotelstaystest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// reorderPatience is how long an event under FaultReorder waits to be overtaken.
const reorderPatience = time.Minute

// webhooks delivers the events of a server.
type webhooks struct {
	s         *Server
	cfg       *webhookConfig
	ctx       context.Context // ends with the server
	stop      context.CancelFunc
	transport http.RoundTripper
	server    *http.Server // of the in-memory handler; nil without one
	numbers   counter
}

func newWebhooks(s *Server) *webhooks {
	w := &webhooks{s: s, cfg: &s.cfg.webhooks}
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

// start makes the way to the receivers.
func (w *webhooks) start() {
	if w.cfg.handler != nil {
		w.transport = w.serveCallbacks(w.cfg.handler)
	} else {
		w.transport = w.cfg.socketTransport(dialSocket)
	}
}

// close ends every delivery; the server waits for them.
func (w *webhooks) close() {
	w.stop()
	if w.server != nil {
		w.server.Close()
	}
}

// webhookBody is what a delivery carries.
type webhookBody struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	HotelConfirmNo      string `json:"hotelConfirmNo"`
	Event               string `json:"event"`
	EventTime           int64  `json:"eventTime"`
}

// event is one round of delivering an event. The first attempts of an order's events
// take turns; further attempts do not.
type event struct {
	rec       *Webhook
	before    *event        // the order's event before this one
	turn      chan struct{} // closed when the event behind may go
	held      bool          // it lets the event behind overtake it; set before turn is closed
	overtook  *event        // the event before, when it let itself be overtaken
	overtaken chan struct{} // closed when the event behind has had its first attempt
	done      chan struct{} // closed when it has had its own
	released  sync.Once
	tried     sync.Once
}

func newEvent(rec *Webhook) *event {
	return &event{rec: rec, turn: make(chan struct{}), overtaken: make(chan struct{}), done: make(chan struct{})}
}

// release lets the event behind go, to overtake this one when it is held.
func (e *event) release(held bool) { e.released.Do(func() { e.held = held; close(e.turn) }) }

// passed notes that the first attempt has ended.
func (e *event) passed() {
	e.release(false)
	e.tried.Do(func() {
		close(e.done)
		if e.before != nil {
			close(e.before.overtaken)
			e.before = nil
		}
	})
}

// happened makes the events of a trigger. The order store's lock is held.
func (w *webhooks) happened(o *order, on WebhookTrigger, at time.Time) {
	for _, kind := range w.cfg.events[on] {
		w.post(o, kind, at)
	}
}

// post makes one event and begins to deliver it.
func (w *webhooks) post(o *order, kind string, at time.Time) {
	if o.callbackURL == "" || !w.s.enter() {
		return
	}
	body, _ := json.Marshal(webhookBody{o.customerRef, o.confirmNo, kind, at.UnixMilli()}) // strings and a number: cannot fail
	id := hex.EncodeToString(w.s.mac("event", strconv.FormatInt(w.numbers.next(), 10)))[:24]
	e := newEvent(&Webhook{
		EventID: "evt_" + id, Event: kind, CustomerReferenceNo: o.customerRef, PlatformReferenceNo: o.platformRef,
		URL: o.callbackURL, EventTime: at, Body: body, State: WebhookPending,
	})
	e.before, o.lastEvent = o.lastEvent, e
	w.s.ledger.addWebhook(e.rec)
	go w.deliver(e)
}

// deliver takes an event through its attempts. The caller has entered.
func (w *webhooks) deliver(e *event) {
	defer w.s.work.Done()
	defer e.passed()
	if !w.await(e) {
		return
	}
	for n := 0; ; n++ {
		state := w.attempt(e)
		e.passed()
		if state == WebhookPending && n == len(w.cfg.retry) && !w.s.isClosing() {
			state = WebhookGivenUp
		}
		w.s.ledger.settleWebhook(e.rec, state)
		if state != WebhookPending || w.s.isClosing() || !w.s.wait(w.ctx, w.cfg.retry[n]) {
			return
		}
	}
}

// await waits for an event's turn: for the event before, and for those that it
// overtook. It returns false when the server closes.
func (w *webhooks) await(e *event) bool {
	if e.before == nil {
		return true
	}
	if !w.reached(e.before.turn) {
		return false
	}
	if e.before.held {
		e.overtook = e.before
		return true
	}
	for x := e.before.overtook; x != nil; x = x.overtook {
		if !w.reached(x.done) {
			return false
		}
	}
	return true
}

// reached waits for a channel to be closed. It returns false when the server closes.
func (w *webhooks) reached(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-w.s.closing:
		return false
	}
}

// attempt makes one attempt, as the next fault wants it. Pending means that it failed.
func (w *webhooks) attempt(e *event) WebhookState {
	f := w.s.faults.pick(OpWebhook)
	if !w.hold(e, f) {
		return WebhookPending
	}
	if f != nil && f.Kind == FaultDrop {
		now := time.Now()
		w.s.ledger.attempted(e.rec, WebhookAttempt{Started: now, Done: now, Fault: f.Kind})
		return WebhookDropped
	}
	if f != nil && f.Kind == FaultDuplicate {
		w.s.work.Go(func() {
			if w.s.wait(w.ctx, f.Delay) {
				w.sendOnce(e, f, true)
			}
		})
	}
	switch err := w.sendOnce(e, f, false); {
	case err == nil:
		return WebhookDelivered
	case errors.Is(err, errNotLoopback):
		return WebhookRefused
	}
	return WebhookPending
}

// hold keeps an attempt back for its fault; the events behind do not wait for it. It
// returns false when the server closes.
func (w *webhooks) hold(e *event, f *Fault) bool {
	switch {
	case f == nil || f.Kind == FaultDuplicate:
		return true
	case f.Kind != FaultReorder:
		if f.Delay > 0 {
			e.release(false)
		}
		return w.s.wait(w.ctx, f.Delay)
	}
	e.release(true)
	patience := f.Delay
	if patience == 0 {
		patience = reorderPatience
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-e.overtaken:
	case <-t.C:
	case <-w.s.closing:
		return false
	}
	return true
}

// AmendOrder amends a confirmed order: it gets another hotel confirmation number and a new
// version of its voucher, and [OnAmend] makes an event. It panics when the order is
// not confirmed.
func (s *Server) AmendOrder(reference string) {
	s.withOrder("AmendOrder", reference, func(o *order, now time.Time) {
		if o.status() != s.cfg.statusNumbers.Confirmed {
			panic("hotelstaystest: AmendOrder: the order is not confirmed")
		}
		o.amended++
		o.confirmNo = fmt.Sprintf("HC-%s-%d", o.platformRef[2:], o.amended+1)
		o.voucher = voucherState{version: o.voucher.version + 1, issued: now.Add(s.cfg.voucherDelay)}
		s.webhooks.happened(o, OnAmend, now)
	})
}

// SendWebhook makes an event of any kind for an order, unknown kinds too, and changes
// nothing else. Nothing is sent for an order without a callbackUrl.
func (s *Server) SendWebhook(reference, event string) {
	s.withOrder("SendWebhook", reference, func(o *order, now time.Time) { s.webhooks.post(o, event, now) })
}

// RedeliverWebhook delivers an event once more, at once and with all the retries, under the
// same event id and with the same body. It panics when the ledger does not hold the
// event.
func (s *Server) RedeliverWebhook(eventID string) {
	rec := s.ledger.findWebhook(eventID)
	if rec == nil {
		panic(fmt.Sprintf("hotelstaystest: RedeliverWebhook: the ledger holds no event %q", eventID))
	}
	if s.enter() {
		go s.webhooks.deliver(newEvent(rec))
	}
}
