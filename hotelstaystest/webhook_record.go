// The ledger's part about webhooks: every event, and every attempt to deliver it.

package hotelstaystest

import (
	"bytes"
	"slices"
	"time"
)

// WebhookState is how far the delivery of an event is.
type WebhookState string

// The states of an event's delivery.
const (
	WebhookPending   WebhookState = "pending"   // under way, or cut short by Close
	WebhookDelivered WebhookState = "delivered" // answered with a 2xx status
	WebhookGivenUp   WebhookState = "given-up"  // the last attempt failed
	WebhookDropped   WebhookState = "dropped"   // lost on purpose, by FaultDrop
	WebhookRefused   WebhookState = "refused"   // its address is not loopback: nothing was sent
)

// Webhook is the record of one event of an order that was booked with a callbackUrl.
type Webhook struct {
	EventID             string
	Event               string // such as EventOrderPaid
	CustomerReferenceNo string
	PlatformReferenceNo string
	URL                 string
	EventTime           time.Time
	Body                []byte // as sent, but for FaultAlteredBody
	State               WebhookState
	Attempts            []WebhookAttempt // in the order they began
}

// WebhookAttempt is the record of one attempt to deliver an event.
type WebhookAttempt struct {
	Started   time.Time
	Done      time.Time // zero while under way
	Signature string    // X-Platform-Signature as sent; empty when unsigned, or not sent
	Status    int       // HTTP status answered; 0 without an answer
	Error     string    // why there was no answer
	Fault     FaultKind // the fault that acted on it, or empty
	Copy      bool      // the second copy that FaultDuplicate makes
}

// Webhooks returns the events in the order they happened, up to [WithLedgerLimit] of
// the latest.
func (l *Ledger) Webhooks() []Webhook { return l.webhooksOf(func(*Webhook) bool { return true }) }

// WebhooksFor returns the events of the orders with this customerReferenceNo.
func (l *Ledger) WebhooksFor(customerReferenceNo string) []Webhook {
	return l.webhooksOf(func(w *Webhook) bool { return w.CustomerReferenceNo == customerReferenceNo })
}

func (l *Ledger) webhooksOf(wanted func(*Webhook) bool) []Webhook {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Webhook
	for _, w := range l.webhooks[max(0, len(l.webhooks)-l.limit):] {
		if wanted(w) {
			c := *w
			c.Body, c.Attempts = bytes.Clone(w.Body), slices.Clone(w.Attempts)
			out = append(out, c)
		}
	}
	return out
}

// addWebhook begins the record of an event.
func (l *Ledger) addWebhook(w *Webhook) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.webhooks)-l.limit >= l.limit { // as with requests
		l.webhooks = append([]*Webhook(nil), l.webhooks[len(l.webhooks)-l.limit:]...)
	}
	l.webhooks = append(l.webhooks, w)
}

// findWebhook finds an event that is still kept.
func (l *Ledger) findWebhook(eventID string) *Webhook {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.webhooks {
		if w.EventID == eventID {
			return w
		}
	}
	return nil
}

// attempted begins the record of an attempt and returns its index.
func (l *Ledger) attempted(w *Webhook, a WebhookAttempt) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Attempts = append(w.Attempts, a)
	return len(w.Attempts) - 1
}

// answered completes the record of an attempt.
func (l *Ledger) answered(w *Webhook, i, status int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &w.Attempts[i]
	a.Done, a.Status = time.Now(), status
	if err != nil {
		a.Error = err.Error()
	}
}

// settleWebhook notes how a delivery ended. What was delivered once stays so.
func (l *Ledger) settleWebhook(w *Webhook, state WebhookState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.State != WebhookDelivered {
		w.State = state
	}
}
