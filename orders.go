// Orders: reading them back, and cancelling them.

package hotelstays

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go/types"
)

// QueryOrdersRequest selects orders. Every field is optional; how results are
// ordered or split into pages is not shown.
type QueryOrdersRequest struct {
	// CustomerReferenceNos are the references given to Book: the filter to use
	// after a time-out.
	CustomerReferenceNos []string          `json:"customerReferenceNos,omitempty"`
	SupplierReferenceNos []string          `json:"supplierReferenceNos,omitempty"`
	CheckInTimeWindow    *types.TimeWindow `json:"checkInTimeWindow,omitempty"`
	CheckOutTimeWindow   *types.TimeWindow `json:"checkOutTimeWindow,omitempty"`
	BookingTimeWindow    *types.TimeWindow `json:"bookingTimeWindow,omitempty"`
	FreeCancelTimeWindow *types.TimeWindow `json:"freeCancelTimeWindow,omitempty"`
	CancelledTimeWindow  *types.TimeWindow `json:"cancelledTimeWindow,omitempty"`
	// StatusList filters by status. What its elements look like is not shown, so
	// they are the caller's own JSON.
	StatusList []json.RawMessage `json:"statusList,omitempty"`
}

func (r *QueryOrdersRequest) validate(v *validation) {
	v.texts("customerReferenceNos", r.CustomerReferenceNos)
	v.texts("supplierReferenceNos", r.SupplierReferenceNos)
	for i, status := range r.StatusList {
		if !json.Valid(status) {
			v.add(fmt.Sprintf("statusList[%d]", i), "is not JSON")
		}
	}
}

// QueryOrdersResponse holds orders.
type QueryOrdersResponse struct {
	// Orders is whole or an error: fewer orders must not look like none.
	Orders []types.Order `json:"orders" whole:"true"`
	Meta   ResponseMeta  `json:"-"`

	// more is what says that there may be more orders than came, or empty. It is looked
	// for only where none came.
	more string
}

func (r *QueryOrdersRequest) parts() parts { return parts{body: r} }

// check refuses an answer without a list of orders: it may be of another operation, and
// must not look like one that has no orders.
func (*QueryOrdersRequest) check(resp *QueryOrdersResponse, a *answer) error {
	if resp.Orders == nil {
		return missing("data.orders")
	}
	if len(resp.Orders) == 0 {
		resp.more = a.signOfMore()
	}
	return nil
}

func (r *QueryOrdersResponse) meta() *ResponseMeta { return &r.Meta }

// signOfMore says why an answer without orders may not be all there is, or nothing.
func (a *answer) signOfMore() string {
	switch {
	case a.Answer.Status != http.StatusOK: // such as 206: a part
		return fmt.Sprintf("HTTP %d", a.Answer.Status)
	case len(a.Answer.Body) > maxNoOrders:
		return fmt.Sprintf("an answer of %d bytes", len(a.Answer.Body))
	}
	return signOfMore(a.Answer.Body, "data", "page")
}

// maxNoOrders is the longest answer, in bytes, that is believed to hold no order.
const maxNoOrders = 64 << 10

// signOfMore names a member of an object that says that more follows than came, or
// returns nothing. The document shows such members for other operations alone, so that
// it looks for every name that may be one; a false alarm costs no booking. It looks into
// the members whose names hold the first word of below, and into theirs by the next one.
func signOfMore(object []byte, below ...string) string {
	members := json.NewDecoder(bytes.NewReader(object))
	if start, _ := members.Token(); start != json.Delim('{') {
		return ""
	}
	for members.More() {
		token, _ := members.Token()
		var value json.RawMessage
		if members.Decode(&value) != nil {
			return "an unreadable member"
		}
		name, _ := token.(string)
		has := func(word string) bool { return strings.Contains(strings.ToLower(name), word) }
		switch {
		case slices.Contains([]string{"false", "0", "null", `""`, "[]", "{}"}, string(value)):
		case slices.ContainsFunc([]string{"more", "total", "cursor", "next"}, has):
			return name
		case len(below) > 0 && has(below[0]) && value[0] == '{':
			if sign := signOfMore(value, below[1:]...); sign != "" {
				return name + "." + sign
			}
		case len(below) > 0 && has(below[0]) && value[0] == '[':
			return name
		}
	}
	return ""
}

// QueryOrders returns the orders that req selects, as they truly are: it is the
// authority on what became of a booking.
//
// A field of an order that is not of its documented type is left out, and
// Meta.Mismatches names it. An order that cannot be read at all is a *DecodeError, and
// so is an answer without a list of orders: fewer orders must not look like none.
// Whether results come in pages is undocumented: WithRawData keeps the whole answer.
func (c *Client) QueryOrders(ctx context.Context, req *QueryOrdersRequest, opts ...CallOption) (*QueryOrdersResponse, error) {
	return do(ctx, c, OpQueryOrders, req, opts)
}

// CancelRequest cancels an order. How to cancel a part of it is not shown.
type CancelRequest struct {
	// SessionID is required. Which session is meant is undocumented: store the one that
	// was booked in with the order.
	SessionID           string `json:"-"`
	CustomerReferenceNo string `json:"customerReferenceNo"` // required
	SupplierReferenceNo string `json:"supplierReferenceNo"` // required: the order's
	// Reason is required for some orders; without it those are ErrCancelRefused.
	Reason string `json:"reason,omitempty"`
}

func (r *CancelRequest) parts() parts {
	return parts{body: r, session: r.SessionID, reference: r.CustomerReferenceNo}
}

func (*CancelRequest) check(*CancelResponse, *answer) error { return nil }

func (r *CancelRequest) validate(v *validation) {
	v.session(r.SessionID, true)
	v.required("customerReferenceNo", r.CustomerReferenceNo)
	v.required("supplierReferenceNo", r.SupplierReferenceNo)
}

// CancelResponse says what cancelling did.
type CancelResponse struct {
	// ServiceFee is what the supplier charges, and does not give back.
	ServiceFee *types.Money `json:"serviceFee"`
	// Status is the order's status now; nil where the service did not say.
	Status *types.OrderStatus `json:"status"`
	Meta   ResponseMeta       `json:"-"`
}

func (r *CancelResponse) meta() *ResponseMeta { return &r.Meta }

// Cancel cancels an order. An order that cannot be cancelled online is
// ErrCancelRefused, and its message names the cause; one that does not exist is
// ErrNotFound. Which of the two an order of another account is, the document leaves
// open.
//
// An *OutcomeUnknownError means that the order may be cancelled: read it back
// with QueryOrders. A ctx that ends while Cancel is under way ends it like this,
// too. Cancel is never sent twice unless the first sending provably did nothing.
func (c *Client) Cancel(ctx context.Context, req *CancelRequest, opts ...CallOption) (*CancelResponse, error) {
	return do(ctx, c, OpCancel, req, opts)
}

// CancelOutcome is what is known after a cancellation.
type CancelOutcome struct {
	// Response is the service's answer, or nil when the outcome of Cancel is unknown.
	Response *CancelResponse
	// Order is the order as it was read back, or nil when it could not be read.
	Order *types.Order
	// Verified tells that the order is cancelled. Only WithOrderStates can say so:
	// the number of that state is not shown.
	Verified bool
}

// CancelAndRead cancels an order and reads it back, once. Cancel is not sent
// again, whatever happens.
//
// When the outcome of Cancel is unknown and the order that was read back does not
// show it as cancelled, the *OutcomeUnknownError is returned with the outcome:
// read the order again later. A refusal returns its error and no outcome. An
// order that cannot be read back after an answer of Cancel is no error: Response
// is what counts.
func (c *Client) CancelAndRead(ctx context.Context, req *CancelRequest, opts ...CallOption) (*CancelOutcome, error) {
	set := collect(opts)
	outcome := &CancelOutcome{}
	resp, err := c.Cancel(ctx, req, plainCall(opts)...)
	var unknown *OutcomeUnknownError
	if err != nil && !errors.As(err, &unknown) {
		return nil, err
	}
	outcome.Response = resp

	states := set.over(&c.defaults).states
	order, readErr := c.readOrder(ctx, req.CustomerReferenceNo, []CallOption{set.forQueryOrders()})
	outcome.Order = order
	outcome.Verified = states.cancelled(order, resp)
	if err != nil && !outcome.Verified {
		switch {
		case readErr != nil:
			err = fmt.Errorf("%w; reading it back failed, too: %s", err, fact(readErr))
		case order != nil && states == nil:
			err = fmt.Errorf("%w; it was read back with status %d, whose meaning only WithOrderStates can tell", err, order.Status)
		case order != nil:
			err = fmt.Errorf("%w; it was read back with status %d, which is not cancelled", err, order.Status)
		}
		return outcome, err
	}
	return outcome, nil
}
