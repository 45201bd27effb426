// Webhooks: what happened to an order.

package types

// WebhookKind is what happened to an order.
type WebhookKind string

// The documented kinds; others may come. Which changes cause which event is undocumented.
const (
	EventOrderCreated   WebhookKind = "order_created"
	EventOrderPaid      WebhookKind = "order_paid"
	EventOrderCancelled WebhookKind = "order_cancelled"
	// EventOrderModified is a change of a confirmed order, such as the hotel's confirmation
	// number. Each change has its own event.
	EventOrderModified WebhookKind = "order_modified"
)
