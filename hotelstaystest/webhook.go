// Webhook events: their order and their attempts.

package hotelstaystest

import (
	"cmp"
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

// maxReorderWait is the default of FaultReorder.
const maxReorderWait = time.Minute

type webhooks struct {
	s         *Server
	cfg       *webhookConfig
	ctx       context.Context // ends with the server
	stop      context.CancelFunc
	transport http.RoundTripper
	server    *http.Server // of WithCallbackHandler
	numbers   counter
}

func newWebhooks(s *Server) *webhooks {
	w := &webhooks{s: s, cfg: &s.cfg.webhooks}
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

func (w *webhooks) start() {
	if w.cfg.handler != nil {
		w.transport = w.serveCallbacks(w.cfg.handler)
	} else {
		w.transport = w.cfg.socketTransport(dialSocket)
	}
}

// close cancels every delivery.
func (w *webhooks) close() {
	w.stop()
	if w.server != nil {
		w.server.Close()
	}
}

type webhookBody struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	HotelConfirmNo      string `json:"hotelConfirmNo"`
	Event               string `json:"event"`
	EventTime           int64  `json:"eventTime"`
}

// event is a delivery with its retries. First attempts of an order's events go out one
// after another.
type event struct {
	Webhook                 // as it was made
	rec       *record       // in the ledger
	before    *event        // the order's previous event
	turn      chan struct{} // closed when the next event may start
	held      bool          // the next event may overtake it; set before turn is closed
	overtook  *event        // the previous event, if it is held
	overtaken chan struct{} // closed after the first attempt of the next event
	done      chan struct{} // closed after its first attempt
	released  sync.Once
	tried     sync.Once
}

func newEvent(w Webhook, rec *record) *event {
	return &event{Webhook: w, rec: rec, turn: make(chan struct{}), overtaken: make(chan struct{}), done: make(chan struct{})}
}

// release lets the next event start. held means that it overtakes this one.
func (e *event) release(held bool) { e.released.Do(func() { e.held = held; close(e.turn) }) }

// passed ends the first attempt.
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

// happened makes the events of a trigger. The caller holds the order store's lock.
func (w *webhooks) happened(o *order, on WebhookTrigger, at time.Time) {
	for _, kind := range w.cfg.events[on] {
		w.post(o, kind, at)
	}
}

// post makes one event and delivers it in the background.
func (w *webhooks) post(o *order, kind string, at time.Time) {
	if o.callbackURL == "" || !w.s.enter() {
		return
	}
	body, _ := json.Marshal(webhookBody{o.customerRef, o.confirmNo, kind, at.UnixMilli()}) // cannot fail
	id := hex.EncodeToString(w.s.mac("event", strconv.FormatInt(w.numbers.next(), 10)))[:24]
	made := Webhook{
		EventID: "evt_" + id, Event: kind, CustomerReferenceNo: o.customerRef, PlatformReferenceNo: o.platformRef,
		URL: o.callbackURL, EventTime: at, Body: body, State: WebhookPending,
	}
	e := newEvent(made, w.s.ledger.addWebhook(made))
	e.before, o.lastEvent = o.lastEvent, e
	go w.deliver(e)
}

// deliver makes the attempts. The caller has called enter.
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
		w.settle(e, state)
		if state != WebhookPending || w.s.isClosing() || !w.s.wait(w.ctx, w.cfg.retry[n]) {
			return
		}
	}
}

// await waits for the first attempts of the events before e, except held ones. It returns
// false when the server closes.
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

// attempt makes one attempt, with the next fault. WebhookPending means that it failed.
func (w *webhooks) attempt(e *event) WebhookState {
	f := w.s.faults.pick(OpWebhook)
	if !w.hold(e, f) {
		return WebhookPending
	}
	if f != nil && f.Kind == FaultDrop {
		now := time.Now()
		w.attempted(e, WebhookAttempt{Started: now, Done: now, Fault: f.Kind})
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

// attempted adds the record of an attempt and returns its index.
func (w *webhooks) attempted(e *event, a WebhookAttempt) (i int) {
	w.s.ledger.updateWebhook(e.rec, func(rec *Webhook) {
		i = len(rec.Attempts)
		rec.Attempts = append(rec.Attempts, a)
	})
	return i
}

// settle sets the state of a delivery. Delivered stays delivered.
func (w *webhooks) settle(e *event, state WebhookState) {
	w.s.ledger.updateWebhook(e.rec, func(rec *Webhook) {
		if rec.State != WebhookDelivered {
			rec.State = state
		}
	})
}

// hold delays an attempt as f prescribes. Later events do not wait for it. It returns
// false when the server closes.
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
	t := time.NewTimer(cmp.Or(f.Delay, maxReorderWait))
	defer t.Stop()
	select {
	case <-e.overtaken:
	case <-t.C:
	case <-w.s.closing:
		return false
	}
	return true
}

// SendWebhook sends an event of any kind, also an unknown one. The order does not change.
// An order without a callbackUrl sends nothing.
func (s *Server) SendWebhook(reference, event string) {
	s.withOrder("SendWebhook", reference, func(o *order, now time.Time) { s.webhooks.post(o, event, now) })
}

// RedeliverWebhook delivers an event again, with the same event id, the same body and all
// retries. It panics when the ledger does not have the event.
func (s *Server) RedeliverWebhook(eventID string) {
	rec, made := s.ledger.findWebhook(eventID)
	if rec == nil {
		panic(fmt.Sprintf("hotelstaystest: RedeliverWebhook: no event %q in the ledger", eventID))
	}
	if s.enter() {
		go s.webhooks.deliver(newEvent(made, rec))
	}
}
