// Cancelling an order, and reading it back.

package hotelstays

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotelstays/hotelstays-go/types"
)

// CancelRequest cancels an order. How to cancel a part of an order is undocumented.
type CancelRequest struct {
	// SessionID is required. Which session is undocumented: use the session of the booking.
	SessionID           string `json:"sessionId,omitempty"`
	CustomerReferenceNo string `json:"customerReferenceNo"` // required
	SupplierReferenceNo string `json:"supplierReferenceNo"` // required; read it from the order
	// Reason is required for some orders: without it the error is ErrCancelRefused.
	Reason string `json:"reason,omitempty"`
}

func (r *CancelRequest) parts() parts {
	body := *r
	body.SessionID = "" // SessionID is sent as a header
	return parts{body: &body, session: r.SessionID, reference: r.CustomerReferenceNo}
}

func (*CancelRequest) check(*CancelResponse, *exchange) error { return nil }

func (r *CancelRequest) validate(v *validation) {
	v.session(r.SessionID, true)
	v.required("customerReferenceNo", r.CustomerReferenceNo)
	v.required("supplierReferenceNo", r.SupplierReferenceNo)
}

// CancelResponse is the result of a cancellation.
type CancelResponse struct {
	ServiceFee *types.Money       `json:"serviceFee"` // the supplier's fee, which is not refunded
	Status     *types.OrderStatus `json:"status"`     // the new status of the order, or nil if the service sent no number
	Meta       ResponseMeta       `json:"-"`
}

// Cancel cancels an order. The error is ErrCancelRefused if the order cannot be cancelled online, and ErrNotFound if it does
// not exist. An order of another account causes either error. The error is an *OutcomeUnknownError, also after the end of
// ctx, if nobody knows yet whether the order was cancelled: read the order with QueryOrders. Cancel is sent again only if
// the attempt before provably did nothing.
func (c *Client) Cancel(ctx context.Context, req *CancelRequest, opts ...CallOption) (*CancelResponse, error) {
	return invoke(ctx, c, OpCancel, req, opts)
}

// CancelOutcome is the result of CancelAndRead. Decide by State.
type CancelOutcome struct {
	// Response is the answer to Cancel, or nil if there was no answer. The error may still be nil, because Order shows
	// that the order is cancelled.
	Response *CancelResponse
	// Order is the order that was read after Cancel, or nil if the read failed or found no order.
	Order *types.Order
	// State is the meaning of Order.Status, or of Response.Status if Order is nil. State is OrderStateUnknown unless the
	// status is 0 or 1, or in ServiceFacts.StatusMeanings.
	State OrderState
}

func (s StatusMeanings) after(resp *CancelResponse, order *types.Order) OrderState {
	switch {
	case order != nil:
		return s.StateOf(order.Status)
	case resp != nil && resp.Status != nil:
		return s.StateOf(*resp.Status)
	}
	return OrderStateUnknown
}

func (e *AmbiguousReferenceError) bySupplier(reference string) (*types.Order, error) {
	found := slices.DeleteFunc(slices.Clone(e.Orders), func(o types.Order) bool { return o.SupplierReferenceNo != reference })
	if len(found) != 1 {
		return nil, e
	}
	return &found[0], nil
}

// CancelAndRead calls Cancel once, then reads the order once. If the error is nil, check State.
//
// If the outcome of Cancel is unknown, and State is not OrderStateCancelled, CancelAndRead returns both the outcome and
// an *OutcomeUnknownError: read the order again later. After a refusal the outcome is nil. If Cancel was answered and
// only the read failed, the error is nil, and Response is set.
func (c *Client) CancelAndRead(ctx context.Context, req *CancelRequest, opts ...CallOption) (*CancelOutcome, error) {
	set := c.collect("CancelAndRead", operations[OpCancel], opts)
	if err := checkCall(ctx, c, OpCancel, req, set); err != nil {
		return nil, err
	}
	return helped(ctx, c, "CancelAndRead", func(ctx context.Context) (*CancelOutcome, error) { return c.cancelAndRead(ctx, req, set) })
}

func (c *Client) cancelAndRead(ctx context.Context, req *CancelRequest, set settings) (*CancelOutcome, error) {
	resp, err := c.Cancel(ctx, req, set.forCall(OpCancel))
	var unknown *OutcomeUnknownError
	if err != nil && !errors.As(err, &unknown) {
		return nil, err
	}
	states := set.ServiceFacts.StatusMeanings
	order, _, readErr := c.readOrder(ctx, req.CustomerReferenceNo, set.forCall(OpQueryOrders))
	if several, ok := errors.AsType[*AmbiguousReferenceError](readErr); ok {
		order, readErr = several.bySupplier(req.SupplierReferenceNo)
	}
	outcome := &CancelOutcome{Response: resp, Order: order, State: states.after(resp, order)}
	var found string
	switch {
	case err == nil || outcome.State == OrderStateCancelled:
		return outcome, nil
	case readErr != nil:
		found = "reading the order failed, too: " + fact(readErr)
	case order != nil && outcome.State == OrderStateUnknown:
		found = "the order has " + unknownStatus(order.Status)
	case order != nil:
		found = fmt.Sprintf("the order is %s (status %d)", outcome.State, order.Status)
	default:
		return outcome, err
	}
	joined := *unknown // a copy, because an observer holds the original error
	joined.Err = &bothErrors{unknown.Err, errors.New(found)}
	return outcome, &joined
}
