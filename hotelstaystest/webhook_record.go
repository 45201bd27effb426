// The ledger's webhooks.

package hotelstaystest

import (
	"bytes"
	"slices"
	"time"
)

// WebhookState is the state of an event's delivery.
type WebhookState string

// The states of an event's delivery.
const (
	WebhookPending   WebhookState = "pending"   // not finished, or cut short by Close
	WebhookDelivered WebhookState = "delivered" // answered with a 2xx status
	WebhookGivenUp   WebhookState = "given-up"  // the last retry failed
	WebhookDropped   WebhookState = "dropped"   // by FaultDrop
	WebhookRefused   WebhookState = "refused"   // the address is not loopback
)

// Webhook is the record of an event of an order with a callbackUrl.
type Webhook struct {
	EventID             string
	Event               string // such as EventOrderPaid
	CustomerReferenceNo string
	PlatformReferenceNo string
	URL                 string
	EventTime           time.Time
	Body                []byte // before FaultAlteredBody
	State               WebhookState
	Attempts            []WebhookAttempt // oldest first
}

// WebhookAttempt is the record of an attempt to deliver an event.
type WebhookAttempt struct {
	Started   time.Time
	Done      time.Time // zero: not yet
	Signature string    // X-Platform-Signature as sent
	Status    int       // HTTP status of the answer; 0: none
	Error     string    // why there is no answer
	Fault     FaultKind // that acted on it, or empty
	Copy      bool      // made by FaultDuplicate
}

// Webhooks returns the events, oldest first.
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

func (l *Ledger) addWebhook(w *Webhook) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.webhooks)-l.limit >= l.limit { // as in arrive
		l.webhooks = append([]*Webhook(nil), l.webhooks[len(l.webhooks)-l.limit:]...)
	}
	l.webhooks = append(l.webhooks, w)
}

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

// attempted adds the record of an attempt and returns its index.
func (l *Ledger) attempted(w *Webhook, a WebhookAttempt) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Attempts = append(w.Attempts, a)
	return len(w.Attempts) - 1
}

func (l *Ledger) answered(w *Webhook, i, status int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &w.Attempts[i]
	a.Done, a.Status = time.Now(), status
	if err != nil {
		a.Error = err.Error()
	}
}

// settleWebhook sets the state of a delivery. Delivered stays delivered.
func (l *Ledger) settleWebhook(w *Webhook, state WebhookState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.State != WebhookDelivered {
		w.State = state
	}
}
