// Orders: QueryOrders, FindOrder and AwaitOrder.

package hotelstays

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/clone"
	"github.com/hotelstays/hotelstays-go/internal/paging"
	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/types"
)

// QueryOrdersRequest selects orders; all fields are optional. How the results are sorted, and whether they come in pages, is
// undocumented.
type QueryOrdersRequest struct {
	CustomerReferenceNos []string             `json:"customerReferenceNos,omitempty"` // the references that your BookRequests had
	SupplierReferenceNos []string             `json:"supplierReferenceNos,omitempty"`
	CheckInTimeWindow    *types.TimeWindow    `json:"checkInTimeWindow,omitempty"`
	CheckOutTimeWindow   *types.TimeWindow    `json:"checkOutTimeWindow,omitempty"`
	BookingTimeWindow    *types.TimeWindow    `json:"bookingTimeWindow,omitempty"`
	FreeCancelTimeWindow *types.TimeWindow    `json:"freeCancelTimeWindow,omitempty"`
	CancelledTimeWindow  *types.TimeWindow    `json:"cancelledTimeWindow,omitempty"`
	StatusList           []types.StatusFilter `json:"statusList,omitempty"`
}

func (r *QueryOrdersRequest) validate(v *validation) {
	v.texts("customerReferenceNos", r.CustomerReferenceNos)
	v.texts("supplierReferenceNos", r.SupplierReferenceNos)
	for i, status := range r.StatusList {
		if !json.Valid(status.Raw) {
			v.add(fmt.Sprintf("statusList[%d]", i), "is not JSON")
		}
	}
}

// QueryOrdersResponse holds orders.
type QueryOrdersResponse struct {
	// Orders has every order of the answer: if one order cannot be decoded, the call fails.
	Orders []types.Order `json:"orders"`
	Meta   ResponseMeta  `json:"-"`

	// more describes a sign that an answer without orders may be incomplete; empty: there is no sign.
	more string
}

// Complete reports whether an empty list proves that there is no order. An answer that announces more pages proves nothing.
func (r *QueryOrdersResponse) Complete() bool { return r.more == "" }

func (r *QueryOrdersRequest) parts() parts { return parts{body: r} }

// check requires a list of orders, because an answer without a list does not prove that there are no orders.
func (*QueryOrdersRequest) check(resp *QueryOrdersResponse, x *exchange) error {
	if resp.Orders == nil {
		switch null := len(x.Answer.Body) <= maxNoOrders && paging.IsNull(x.Answer.Body, "orders"); {
		case null && !x.set.ServiceFacts.NullOrders:
			return errNullOrders
		case !null:
			return missing("data.orders")
		}
		resp.Orders = []types.Order{}
	}
	if len(resp.Orders) == 0 {
		resp.more = x.signOfMore()
	}
	return nil
}

// signOfMore describes a sign that an answer without orders may be incomplete, or returns "".
func (x *exchange) signOfMore() string {
	switch {
	case x.Answer.Status != http.StatusOK: // for example 206 Partial Content
		return fmt.Sprintf("HTTP %d", x.Answer.Status)
	case len(x.Answer.Body) > maxNoOrders:
		return fmt.Sprintf("an answer of %d bytes", len(x.Answer.Body))
	}
	return paging.SignOfMore(x.Answer.Body)
}

const maxNoOrders = 64 << 10 // in bytes: a larger answer is not credible as an answer without orders

// QueryOrders returns the orders that req selects. Only QueryOrders shows the true state of a booking. An order that cannot
// be decoded, or an answer without a list of orders, is a *DecodeError: otherwise an existing order could seem absent.
// Paging is undocumented: WithRawData keeps all of the data.
func (c *Client) QueryOrders(ctx context.Context, req *QueryOrdersRequest, opts ...CallOption) (*QueryOrdersResponse, error) {
	return invoke(ctx, c, OpQueryOrders, req, opts)
}

// pickOrder returns the order under a reference, or nil if the answer proves that there is no such order. An answer
// that only has orders with other references proves nothing, because the filter did not work. A list that may be
// incomplete proves nothing either. In both cases the error is a *DecodeError.
func pickOrder(resp *QueryOrdersResponse, reference string) (*types.Order, error) {
	found := slices.DeleteFunc(slices.Clone(resp.Orders), func(o types.Order) bool { return o.CustomerReferenceNo != reference })
	var why error
	switch n := len(resp.Orders); {
	case len(found) == 1:
		return &found[0], nil
	case len(found) > 1:
		return nil, &AmbiguousReferenceError{CustomerReferenceNo: reference, Orders: found}
	case n > 0:
		why = fmt.Errorf("the service did not apply the filter: none of %d orders has reference %q, so the order may exist", n, reference)
	case resp.more != "":
		why = fmt.Errorf("no order has reference %q, but %s indicates further orders, so the order may exist", reference, resp.more)
	default:
		return nil, nil
	}
	return nil, &DecodeError{Operation: OpQueryOrders, HTTPStatus: resp.Meta.HTTPStatus, RequestID: resp.Meta.RequestID,
		TraceID: resp.Meta.TraceID, Err: why}
}

func (c *Client) readOrder(ctx context.Context, reference string, opt CallOption) (*types.Order, ResponseMeta, error) {
	resp, err := c.QueryOrders(ctx, &QueryOrdersRequest{CustomerReferenceNos: []string{reference}}, opt)
	if err != nil {
		return nil, ResponseMeta{}, err
	}
	order, err := pickOrder(resp, reference)
	return order, resp.Meta, err
}

// FindOrder calls QueryOrders once and returns the order under a reference. If a complete answer has no such order, the
// error is an *OrderNotFoundError, which matches ErrNotFound. If the answer may be incomplete, the error is a *DecodeError: the
// order may exist. Several orders under the reference are an *AmbiguousReferenceError. After a Book with an unknown outcome
// use RecoverBooking, because the order may appear later.
func (c *Client) FindOrder(ctx context.Context, customerReferenceNo string, opts ...CallOption) (*types.Order, error) {
	set := c.collect("FindOrder", operations[OpQueryOrders], opts)
	set.faults.required("customerReferenceNo", customerReferenceNo)
	order, _, err := c.readOrder(ctx, customerReferenceNo, set.forCall(OpQueryOrders))
	if err == nil && order == nil {
		err = &OrderNotFoundError{CustomerReferenceNo: customerReferenceNo}
	}
	return order, err
}

// OrderNotFoundError reports that a complete answer of QueryOrders has no order under the reference.
type OrderNotFoundError struct {
	CustomerReferenceNo string
	// Waited is how long AwaitOrder has polled; 0 after FindOrder.
	Waited time.Duration
}

// Error names the reference and the next step.
func (e *OrderNotFoundError) Error() string {
	waited, next := "", "; after a Book with an unknown outcome use RecoverBooking"
	if e.Waited > 0 {
		waited, next = " after "+e.Waited.String(), ""
	}
	return fmt.Sprintf("hotelstays: no order under reference %q%s: check the reference, and that this account booked it%s",
		e.CustomerReferenceNo, waited, next)
}

// Unwrap returns ErrNotFound.
func (e *OrderNotFoundError) Unwrap() error { return ErrNotFound }

func (*OrderNotFoundError) kind() ErrorKind    { return KindNotFound }
func (e *OrderNotFoundError) details() details { return details{reference: e.CustomerReferenceNo} }

// LogValue returns attributes for slog: the kind, the reference and the text.
func (e *OrderNotFoundError) LogValue() slog.Value { return logValue(e) }

// AmbiguousReferenceError reports that QueryOrders returned several orders under one reference, such as a cancelled order
// and a later one. The client chooses none of these orders.
type AmbiguousReferenceError struct {
	CustomerReferenceNo string
	Orders              []types.Order // all orders that have the reference
}

// Error names the reference and each order's PlatformReferenceNo.
func (e *AmbiguousReferenceError) Error() string {
	names := make([]string, len(e.Orders))
	for i, order := range e.Orders {
		names[i] = strconv.Quote(order.PlatformReferenceNo)
	}
	text := redact.Shorten(strings.Join(names, ", "), maxExcerpt)
	return fmt.Sprintf("hotelstays: %d orders have the reference %q, with the platformReferenceNos %s: find out which order is meant",
		len(e.Orders), e.CustomerReferenceNo, text)
}

// Unwrap returns ErrAmbiguousReference.
func (e *AmbiguousReferenceError) Unwrap() error { return ErrAmbiguousReference }

func (*AmbiguousReferenceError) kind() ErrorKind    { return KindAmbiguousReference }
func (e *AmbiguousReferenceError) details() details { return details{reference: e.CustomerReferenceNo} }

// LogValue returns attributes for slog: the kind, the reference and the text.
func (e *AmbiguousReferenceError) LogValue() slog.Value { return logValue(e) }

// StatusMeanings returns the meanings of order states that WithServiceFacts gave to the client.
func (c *Client) StatusMeanings() StatusMeanings {
	if facts := clone.Of(c.defaults.ServiceFacts); facts != nil {
		return facts.StatusMeanings
	}
	return StatusMeanings{}
}

// decided reports whether AwaitOrder ends with this status. If s lists no final status, every status that is not open ends
// the wait.
func (s StatusMeanings) decided(status types.OrderStatus) bool {
	state := s.StateOf(status)
	none := len(s.Confirmed)+len(s.Cancelled) == 0
	return state == OrderStateConfirmed || state == OrderStateCancelled || state == OrderStateUnknown && none
}

// awaitVisible is how long AwaitOrder waits for an order to appear.
const awaitVisible = 10 * time.Minute

// AwaitOrder polls an order until its status is neither 0 nor 1, because the final states are undocumented. With
// ServiceFacts.StatusMeanings it polls until the order is confirmed or cancelled. It polls immediately, 5, 10 and 20
// seconds after the call, then every 30 seconds, and on each wake-up of WithWakeup. Set a deadline on ctx, because
// WithTimeout bounds only each poll.
//
// A failed poll is repeated, unless a later poll would also fail, or several orders have the reference. If no order
// appears within ten minutes, the error is an *OrderNotFoundError. If ctx ends, AwaitOrder returns the last order that
// it has read, and an error.
func (c *Client) AwaitOrder(ctx context.Context, customerReferenceNo string, opts ...CallOption) (*types.Order, error) {
	if err := c.usable(ctx, "AwaitOrder"); err != nil {
		return nil, err
	}
	set := c.collect("AwaitOrder", operations[OpQueryOrders], opts)
	set.faults.required("customerReferenceNo", customerReferenceNo)
	if err := set.faults.err("AwaitOrder"); err != nil {
		return nil, err
	}
	states := set.ServiceFacts.StatusMeanings
	return helped(ctx, c, "AwaitOrder", func(ctx context.Context) (seen *types.Order, err error) {
		start := time.Now()
		err = await(ctx, set.Wakeup, func() (done bool, err error) {
			order, _, err := c.readOrder(ctx, customerReferenceNo, set.forCall(OpQueryOrders))
			switch {
			case err != nil:
				return false, err
			case order != nil:
				seen = order
			case seen == nil && time.Since(start) >= awaitVisible:
				return true, &OrderNotFoundError{customerReferenceNo, awaitVisible}
			}
			return seen != nil && states.decided(seen.Status), nil
		}, func() string { return states.progress(customerReferenceNo, seen) })
		return seen, err
	})
}

func (s StatusMeanings) progress(reference string, seen *types.Order) string {
	switch {
	case seen == nil:
		return fmt.Sprintf("AwaitOrder: no order under reference %q was seen", reference)
	case s.StateOf(seen.Status) == OrderStateUnknown:
		return fmt.Sprintf("AwaitOrder: the order under reference %q has %s", reference, unknownStatus(seen.Status))
	}
	return fmt.Sprintf("AwaitOrder: the order under reference %q is still open (status %d)", reference, seen.Status)
}
