// The options about webhooks.

package hotelstaystest

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// The kinds of event that the API names.
const (
	EventOrderCreated   = "order_created"
	EventOrderPaid      = "order_paid"
	EventOrderCancelled = "order_cancelled"
	EventOrderModified  = "order_modified"
)

// WebhookTrigger is something that happens to an order and makes events.
type WebhookTrigger string

// The triggers.
const (
	OnBook    WebhookTrigger = "book"    // the order is made
	OnConfirm WebhookTrigger = "confirm" // the supplier confirms and issues the hotel's confirmation number
	OnAmend   WebhookTrigger = "amend"   // Server.AmendOrder
	OnCancel  WebhookTrigger = "cancel"  // Cancel, or Server.SetOrderStatus with the number of cancelled
	OnStatus  WebhookTrigger = "status"  // Server.SetOrderStatus with any other number
)

// webhookConfig is what the options about webhooks set.
type webhookConfig struct {
	secret  string // empty: unsigned
	retry   []time.Duration
	timeout time.Duration
	events  map[WebhookTrigger][]string
	handler http.Handler
	roots   *x509.CertPool
}

func defaultWebhooks() webhookConfig {
	return webhookConfig{
		secret:  "sandbox-webhook-secret",
		retry:   []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second},
		timeout: 10 * time.Second,
		events: map[WebhookTrigger][]string{
			OnBook: {EventOrderCreated}, OnConfirm: {EventOrderPaid, EventOrderModified}, OnAmend: {EventOrderModified},
			OnCancel: {EventOrderCancelled}, OnStatus: {EventOrderModified},
		},
	}
}

// WithWebhookSecret sets the secret that signs deliveries, [Server.WebhookSecret]. It
// serves all accounts.
func WithWebhookSecret(secret string) Option {
	return func(c *config) error {
		c.webhooks.secret = secret
		if secret == "" {
			return errors.New("WithWebhookSecret needs a secret; WithUnsignedWebhooks signs nothing")
		}
		return nil
	}
}

// WithUnsignedWebhooks sends deliveries without a signature, as for a credential that
// has no webhook signing secret. The event id stays.
func WithUnsignedWebhooks() Option {
	return func(c *config) error { c.webhooks.secret = ""; return nil }
}

// WithWebhookRetryDelays sets the pauses between the attempts to deliver an event: with n
// pauses there are at most n+1 attempts. The default is 1, 2, 4, 8 and 16 seconds;
// none at all means a single attempt.
func WithWebhookRetryDelays(schedule ...time.Duration) Option {
	return func(c *config) error {
		for _, d := range schedule {
			if err := positive("WithWebhookRetryDelays", d); err != nil {
				return err
			}
		}
		c.webhooks.retry = slices.Clone(schedule)
		return nil
	}
}

// WithWebhookTimeout sets how long one attempt may take. The default is ten seconds.
func WithWebhookTimeout(d time.Duration) Option {
	return func(c *config) error { c.webhooks.timeout = d; return positive("WithWebhookTimeout", d) }
}

// WithWebhookEvents sets which events a trigger makes, in their order; none silences
// it. Kinds that the API does not name are possible too.
func WithWebhookEvents(on WebhookTrigger, events ...string) Option {
	return func(c *config) error {
		if _, ok := c.webhooks.events[on]; !ok {
			return fmt.Errorf("there is no webhook trigger %q", on)
		}
		if slices.Contains(events, "") {
			return errors.New("WithWebhookEvents needs names of events")
		}
		c.webhooks.events[on] = slices.Clone(events)
		return nil
	}
}

// WithCallbackHandler gives all deliveries to a handler, over in-memory connections
// and whatever the host of their callbackUrl: no socket is opened and no name is
// resolved. It is the way to receive them under testing/synctest, and with callback
// URLs that are not loopback. [Server.Close] cancels the contexts of its requests and
// waits for it to return, so it must not call Close itself. A handler that has to
// know the secret before there is a server takes that of WithWebhookSecret.
func WithCallbackHandler(h http.Handler) Option {
	return func(c *config) error {
		c.webhooks.handler = h
		if h == nil {
			return errors.New("WithCallbackHandler needs a handler")
		}
		return nil
	}
}

// WithCallbackRoots trusts these certificates when a delivery goes to https on
// loopback, instead of the machine's.
func WithCallbackRoots(roots *x509.CertPool) Option {
	return func(c *config) error { c.webhooks.roots = roots; return nil }
}
