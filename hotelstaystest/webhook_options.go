// Options about webhooks.

package hotelstaystest

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// The documented kinds of event.
const (
	EventOrderCreated   = "order_created"
	EventOrderPaid      = "order_paid"
	EventOrderCancelled = "order_cancelled"
	EventOrderModified  = "order_modified"
)

// WebhookTrigger is something that happens to an order and sends events.
type WebhookTrigger string

// The triggers.
const (
	OnBook    WebhookTrigger = "book"    // Book
	OnConfirm WebhookTrigger = "confirm" // the confirmation
	OnAmend   WebhookTrigger = "amend"   // Server.AmendOrder
	OnCancel  WebhookTrigger = "cancel"  // Cancel, or Server.SetOrderStatus to cancelled
	OnStatus  WebhookTrigger = "status"  // Server.SetOrderStatus to any other status
)

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

// WithWebhookSecret sets [Server.WebhookSecret], which signs deliveries of all accounts.
func WithWebhookSecret(secret string) Option {
	return func(c *config) error {
		c.webhooks.secret = secret
		if secret == "" {
			return errors.New("WithWebhookSecret needs a secret; see WithUnsignedWebhooks")
		}
		return nil
	}
}

// WithUnsignedWebhooks sends deliveries without a signature, as to a credential without
// a webhook signing secret.
func WithUnsignedWebhooks() Option {
	return func(c *config) error { c.webhooks.secret = ""; return nil }
}

// WithWebhookRetryDelays sets the delay before each retry of a delivery. The default is 1,
// 2, 4, 8 and 16 seconds. Without delays there is no retry.
func WithWebhookRetryDelays(delays ...time.Duration) Option {
	return func(c *config) error {
		for _, d := range delays {
			if err := positive("WithWebhookRetryDelays", d); err != nil {
				return err
			}
		}
		c.webhooks.retry = slices.Clone(delays)
		return nil
	}
}

// WithWebhookTimeout sets the timeout of an attempt. The default is ten seconds.
func WithWebhookTimeout(d time.Duration) Option {
	return func(c *config) error { c.webhooks.timeout = d; return positive("WithWebhookTimeout", d) }
}

// WithWebhookEvents sets the events that a trigger sends, in order. They may be none, and
// of undocumented kinds.
func WithWebhookEvents(on WebhookTrigger, events ...string) Option {
	return func(c *config) error {
		if _, ok := c.webhooks.events[on]; !ok {
			return fmt.Errorf("unknown WebhookTrigger %q", on)
		}
		if slices.Contains(events, "") {
			return errors.New("WithWebhookEvents: an event has no name")
		}
		c.webhooks.events[on] = slices.Clone(events)
		return nil
	}
}

// WithCallbackHandler sends all deliveries to h over in-memory connections, whatever the
// host of their callbackUrl. Use it under testing/synctest, and for callback URLs that
// are not loopback. [Server.Close] cancels the contexts of h's requests and waits for h
// to return, so h must not call Close. If h needs the secret before there is a server,
// set it with [WithWebhookSecret].
func WithCallbackHandler(h http.Handler) Option {
	return func(c *config) error {
		c.webhooks.handler = h
		if h == nil {
			return errors.New("WithCallbackHandler needs a handler")
		}
		return nil
	}
}

// WithCallbackRoots sets the trusted roots for deliveries to https on loopback.
func WithCallbackRoots(roots *x509.CertPool) Option {
	return func(c *config) error { c.webhooks.roots = roots; return nil }
}
