// The events of an order that webhooks report.

package types

// EventKind says what happened to an order, such as EventOrderCancelled.
type EventKind string

// The documented kinds; others may come. Which changes cause which event is undocumented.
const (
	EventOrderCreated   EventKind = "order_created"
	EventOrderPaid      EventKind = "order_paid"
	EventOrderCancelled EventKind = "order_cancelled"
	// EventOrderModified is a change of a confirmed order, such as the hotel's confirmation
	// number. Each change has its own event.
	EventOrderModified EventKind = "order_modified"
)
