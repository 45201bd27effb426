// Orders: reading them back, waiting for them, and cancelling them.

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
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// QueryOrdersRequest selects orders. Every field is optional. The order of the results, and
// whether they come in pages, is undocumented.
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
	// StatusList filters by status. Its elements are undocumented: give your own JSON.
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
	return invoke(ctx, c, OpQueryOrders, req, opts)
}

// pickOrder returns the order under a reference, or nil where there is none. It fails where
// the answer proves nothing: other orders alone mean that the filter was not honoured, and
// no orders beside a sign of more that the list is not whole.
func pickOrder(resp *QueryOrdersResponse, reference string) (*types.Order, error) {
	for i := range resp.Orders {
		if resp.Orders[i].CustomerReferenceNo == reference {
			return &resp.Orders[i], nil
		}
	}
	if n := len(resp.Orders); n > 0 {
		return nil, fmt.Errorf("hotelstays: %s: none of %d orders is under reference %q: the filter was not honoured, so this proves nothing", OpQueryOrders, n, reference)
	}
	if resp.more != "" {
		return nil, fmt.Errorf("hotelstays: %s: no order is under reference %q, but %s says that there may be more: this proves nothing", OpQueryOrders, reference, resp.more)
	}
	return nil, nil
}

// readOrder returns the order under a reference, or nil where there is none.
func (c *Client) readOrder(ctx context.Context, reference string, opt CallOption) (*types.Order, error) {
	resp, err := c.QueryOrders(ctx, &QueryOrdersRequest{CustomerReferenceNos: []string{reference}}, opt)
	if err != nil {
		return nil, err
	}
	return pickOrder(resp, reference)
}

// decided reports whether a status ends the wait.
func (s *OrderStates) decided(status types.OrderStatus) bool {
	if s == nil {
		return status != types.OrderUnknown && status != types.OrderConfirming
	}
	return slices.Contains(s.Confirmed, status) || slices.Contains(s.Cancelled, status)
}

// cancelled reports whether the order, or the answer to Cancel where the order could not be
// read, has a status that is known to be cancelled.
func (s *OrderStates) cancelled(order *types.Order, resp *CancelResponse) bool {
	switch {
	case s == nil:
		return false
	case order != nil:
		return slices.Contains(s.Cancelled, order.Status)
	default:
		return resp != nil && resp.Status != nil && slices.Contains(s.Cancelled, *resp.Status)
	}
}

// awaitSchedule is when AwaitOrder asks, counted from its start; then every awaitPause.
// Suppliers normally take 3 to 10 minutes.
var awaitSchedule = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second}

const (
	awaitPause = 30 * time.Second
	// awaitVisible is how long AwaitOrder looks for an order that is not there.
	awaitVisible = 10 * time.Minute
)

// AwaitOrder polls an order until it is decided: until its status is neither 0 nor 1,
// because which states are final is undocumented, or, with WithOrderStates, until it is
// confirmed or cancelled. It polls 5, 10 and 20 seconds after the call, then every 30, and
// when WithWakeup fires. A ctx without a deadline waits for as long as the order is open:
// WithTimeout bounds one poll.
//
// Polls that fail are made again; a refusal that will not change is returned. An order that
// does not show up within ten minutes is ErrNotFound. When ctx ends, the order as it was
// last seen is returned with the error, or nil if none was seen.
func (c *Client) AwaitOrder(ctx context.Context, customerReferenceNo string, opts ...WaitOption) (*types.Order, error) {
	if err := c.usable(ctx, "AwaitOrder"); err != nil {
		return nil, err
	}
	var set waitSettings
	applyAll(opts, &set, WaitOption.applyWait)
	if customerReferenceNo == "" {
		set.faults.add("customerReferenceNo", "is required")
	}
	set.misplaced(OpQueryOrders, operations[OpQueryOrders])
	if err := set.faults.err("AwaitOrder"); err != nil {
		return nil, err
	}
	states := set.over(&c.defaults).states
	var seen *types.Order
	var failed error // the last poll's
	start := time.Now()
	for {
		if err := waitUntil(ctx, awaitNext(start), set.wakeup); err != nil {
			return seen, waitEnded(orderAwaited(customerReferenceNo, seen), err, failed)
		}
		order, err := c.readOrder(ctx, customerReferenceNo, set.option())
		failed = err
		switch {
		case err != nil && !transient(err):
			return seen, err
		case order != nil:
			seen = order
		case seen == nil && err == nil && time.Since(start) >= awaitVisible:
			return nil, fmt.Errorf("hotelstays: AwaitOrder: no order under reference %q after %s: %w; check the reference, and that this account booked it", customerReferenceNo, awaitVisible, ErrNotFound)
		}
		if seen != nil && states.decided(seen.Status) {
			return seen, nil
		}
	}
}

// orderAwaited says how far the awaited order was seen.
func orderAwaited(reference string, seen *types.Order) string {
	if seen == nil {
		return fmt.Sprintf("AwaitOrder: no order under reference %q was seen", reference)
	}
	return fmt.Sprintf("AwaitOrder: the order under reference %q is still open (status %d)", reference, seen.Status)
}

// waitEnded is the error of a wait that the caller's ctx ended.
func waitEnded(what string, ctxErr, lastPoll error) error {
	hint := "call again to go on waiting"
	if lastPoll != nil {
		hint = "the last poll failed: " + fact(lastPoll)
	}
	return fmt.Errorf("hotelstays: %s; the caller's ctx ended the wait: %w; %s", what, ctxErr, hint)
}

// awaitNext is the next time of the schedule of a wait.
func awaitNext(start time.Time) time.Time {
	elapsed := time.Since(start)
	for _, at := range awaitSchedule {
		if at > elapsed {
			return start.Add(at)
		}
	}
	last := awaitSchedule[len(awaitSchedule)-1]
	return start.Add(last + ((elapsed-last)/awaitPause+1)*awaitPause)
}

// transient reports whether a poll that failed may succeed later.
func transient(err error) bool {
	var api *APIError
	if _, ok := errors.AsType[*ValidationError](err); ok {
		return false
	}
	return !errors.As(err, &api) || api.HTTPStatus >= 500 || errors.Is(err, ErrRateLimited)
}

// waitUntil waits for a time or a wake-up. Its error is that of a ctx that ended.
func waitUntil(ctx context.Context, at time.Time, wakeup <-chan struct{}) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		case _, open := <-wakeup:
			if open {
				return ctx.Err()
			}
			wakeup = nil
		}
	}
}

// CancelRequest cancels an order. How to cancel a part of it is undocumented.
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
	// ServiceFee is what the supplier charges, and does not refund.
	ServiceFee *types.Money `json:"serviceFee"`
	// Status is the order's status now; nil where the service did not say.
	Status *types.OrderStatus `json:"status"`
	Meta   ResponseMeta       `json:"-"`
}

func (r *CancelResponse) meta() *ResponseMeta { return &r.Meta }

// Cancel cancels an order. An order that cannot be cancelled online is ErrCancelRefused,
// and the message names the cause; one that does not exist is ErrNotFound. Which of the two
// comes for an order of another account is undocumented.
//
// An *OutcomeUnknownError means that the order may be cancelled: read it back with
// QueryOrders. A ctx that ends while Cancel is under way gives this error, too. Cancel is
// never sent twice unless the first sending provably did nothing.
func (c *Client) Cancel(ctx context.Context, req *CancelRequest, opts ...CallOption) (*CancelResponse, error) {
	return invoke(ctx, c, OpCancel, req, opts)
}

// CancelOutcome is what is known after a cancellation.
type CancelOutcome struct {
	// Response is the service's answer, or nil when the outcome of Cancel is unknown.
	Response *CancelResponse
	// Order is the order as it was read back, or nil when it could not be read.
	Order *types.Order
	// Cancelled: the order is cancelled. Without WithOrderStates it is always false,
	// because the number of that state is undocumented.
	Cancelled bool
}

// CancelAndRead cancels an order, then reads it back once. Cancel is not sent again,
// whatever happens.
//
// When the outcome of Cancel is unknown and the order that was read back does not show it
// as cancelled, the *OutcomeUnknownError is returned with the outcome: read the order again
// later. A refusal returns its error and no outcome. An order that cannot be read back
// after an answer of Cancel is no error: Response is what counts.
func (c *Client) CancelAndRead(ctx context.Context, req *CancelRequest, opts ...CallOption) (*CancelOutcome, error) {
	set := collect(opts)
	resp, err := c.Cancel(ctx, req, set.option())
	var unknown *OutcomeUnknownError
	if err != nil && !errors.As(err, &unknown) {
		return nil, err
	}
	states := set.over(&c.defaults).states
	order, readErr := c.readOrder(ctx, req.CustomerReferenceNo, set.forOperation(OpQueryOrders).option())
	outcome := &CancelOutcome{Response: resp, Order: order, Cancelled: states.cancelled(order, resp)}
	switch {
	case err == nil || outcome.Cancelled:
		return outcome, nil
	case readErr != nil:
		err = fmt.Errorf("%w; reading it back failed, too: %s", err, fact(readErr))
	case order != nil && states == nil:
		err = fmt.Errorf("%w; it was read back with status %d: WithOrderStates gives that a meaning", err, order.Status)
	case order != nil:
		err = fmt.Errorf("%w; it was read back with status %d, which is not cancelled", err, order.Status)
	}
	return outcome, err
}
