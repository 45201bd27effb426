// ServiceFacts: what you know about your service although the API document does not say it.

package hotelstays

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hotelstays/hotelstays-go/types"
)

// ServiceFacts is what you know about a service beyond its document. You can keep its JSON in a file. An unknown name in
// this JSON is an error. The letter case of names does not matter.
type ServiceFacts struct {
	// StatusMeanings are the meanings of order states, for AwaitOrder and CancelAndRead.
	StatusMeanings StatusMeanings `json:"statusMeanings,omitzero"`
	// RefusalCodes are undocumented codes of the service which prove that Book or Cancel did nothing, such as {"Book":
	// [100001200]}. With such a code and HTTP 2xx or 4xx, the error is an *APIError, as for a documented code. Without this
	// fact, an answer with such a code leaves the outcome unknown. The exceptions are HTTP 400, 401, 403 and 429, and for
	// Cancel also 404: these prove a refusal. With a status other than 2xx or 4xx no code proves anything.
	RefusalCodes map[Operation][]int `json:"refusalCodes,omitempty"`
	// NullOrders states that the service writes an empty list of orders as "orders": null, with nothing else in data.
	// Without this fact such an answer is a *DecodeError, and does not prove that there are no orders.
	NullOrders bool `json:"nullOrders,omitempty"`
}

// UnmarshalJSON refuses unknown names, because a misspelt fact would be ignored silently.
func (f *ServiceFacts) UnmarshalJSON(text []byte) error {
	type plain ServiceFacts // plain has no UnmarshalJSON, so Decode does not call this method again
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	err := strict.Decode((*plain)(f))
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("%q must not be a JSON %s", cmp.Or(mismatch.Field, "ServiceFacts"), mismatch.Value)
	}
	if err != nil {
		return fmt.Errorf("hotelstays: invalid JSON of ServiceFacts: %w; see the documentation of ServiceFacts", err)
	}
	return nil
}

func (f *ServiceFacts) refuses(op Operation, code int) bool {
	return slices.Contains(f.RefusalCodes[op], code)
}

// StatusMeanings are the meanings of order states. Each status may be in one list only. The document names only 0, Unknown,
// and 1, Confirming. The client treats both as open, so no list other than Pending may contain them.
type StatusMeanings struct {
	Confirmed []types.OrderStatus `json:"confirmed,omitempty"`
	Pending   []types.OrderStatus `json:"pending,omitempty"`
	Cancelled []types.OrderStatus `json:"cancelled,omitempty"`
}

// OrderState is the meaning of an order's status. StateOf never returns the zero value.
type OrderState string

// The results of StatusMeanings.StateOf.
const (
	// OrderStateOpen: the order is neither confirmed nor cancelled yet.
	OrderStateOpen      OrderState = "open"
	OrderStateConfirmed OrderState = "confirmed"
	OrderStateCancelled OrderState = "cancelled"
	// OrderStateUnknown: no list of StatusMeanings has the status, or it is types.OrderStatusUnreadable.
	OrderStateUnknown OrderState = "unknown"
)

// StateOf returns the meaning of a status. 0 and 1 are open.
func (s StatusMeanings) StateOf(status types.OrderStatus) OrderState {
	switch {
	case isOpen(status), slices.Contains(s.Pending, status):
		return OrderStateOpen
	case slices.Contains(s.Confirmed, status):
		return OrderStateConfirmed
	case slices.Contains(s.Cancelled, status):
		return OrderStateCancelled
	}
	return OrderStateUnknown
}

// unknownStatus describes a status whose state is OrderStateUnknown, and says why its meaning is unknown.
func unknownStatus(status types.OrderStatus) string {
	if status == types.OrderStatusUnreadable {
		return "a status that is not a number (QueryOrders lists it in Meta.Mismatches)"
	}
	return fmt.Sprintf("status %d, which is in no list of ServiceFacts.StatusMeanings", status)
}

// isOpen reports whether a status counts as open without ServiceFacts. The status 0 (Unknown) counts as open, so that
// the client reads the order again.
func isOpen(status types.OrderStatus) bool {
	return status == types.OrderUnknown || status == types.OrderConfirming
}
