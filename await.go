// Waiting: for an order to be decided, and for what cuts a wait short.

package hotelstays

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// OrderStates says what the numbers of order states mean, for callers who know.
// The document shows only 0 and 1.
type OrderStates struct {
	Confirmed, Pending, Cancelled []types.OrderStatus
}

// WithOrderStates tells AwaitOrder and CancelAndRead what the numbers of order
// states mean. Without it a status other than 0 and 1 means no more than that it
// changed.
func WithOrderStates(states OrderStates) SharedOption {
	return sharedOption(func(s *settings) {
		all := slices.Concat(states.Confirmed, states.Pending, states.Cancelled)
		slices.Sort(all)
		switch {
		case len(all) == 0:
			s.faults.add("WithOrderStates", "names no status")
		case len(slices.Compact(slices.Clone(all))) != len(all):
			s.faults.add("WithOrderStates", "names a status twice")
		default:
			s.states = &states
		}
	})
}

// WithWakeup makes a helper that waits ask at once whenever wakeup delivers: feed
// it from a webhook. Give each wait a channel of its own, with room for one: a
// wake-up that comes while it is asking is then not lost, and no sender waits. A
// closed channel is not a wake-up.
func WithWakeup(wakeup <-chan struct{}) CallOption {
	return callOption(func(s *settings) {
		if wakeup == nil {
			s.faults.add("WithWakeup", "is nil")
			return
		}
		s.wakeup = wakeup
	})
}

// awaitSchedule is when AwaitOrder asks, counted from its start; then every
// awaitPause. Suppliers normally take 3 to 10 minutes.
var awaitSchedule = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second}

const (
	awaitPause = 30 * time.Second
	// awaitVisible is how long AwaitOrder looks for an order that is not there.
	awaitVisible = 10 * time.Minute
)

// AwaitOrder asks for an order, gently, until it is decided. That is this client's word
// for a status other than 0 and 1, because which states are final is undocumented; with
// WithOrderStates it means confirmed or cancelled. It asks
// 5, 10 and 20 seconds after the call, then every 30, and when WithWakeup fires. A
// ctx without a deadline waits for as long as the order is open: WithTimeout bounds
// one poll.
//
// Polls that fail are made again; a refusal that will not change is returned. An
// order that does not show up within ten minutes is ErrNotFound. When ctx ends,
// the order as it was last seen is returned with the error, or nil if none was seen.
func (c *Client) AwaitOrder(ctx context.Context, customerReferenceNo string, opts ...CallOption) (*types.Order, error) {
	if err := c.usable(ctx, "AwaitOrder"); err != nil {
		return nil, err
	}
	set := collect(opts).over(&c.defaults)
	if customerReferenceNo == "" {
		set.faults.add("customerReferenceNo", "is required")
	}
	if err := set.faults.err("AwaitOrder"); err != nil {
		return nil, err
	}
	var seen *types.Order
	var failed error // the last poll's
	start := time.Now()
	for {
		if err := waitUntil(ctx, start.Add(awaitNext(time.Since(start))), set.wakeup); err != nil {
			return seen, stillWaiting(fmt.Sprintf("the order under reference %q is not known to be decided", customerReferenceNo), err, failed)
		}
		order, err := c.readOrder(ctx, customerReferenceNo, opts)
		failed = err
		switch {
		case err != nil && !transient(err):
			return seen, err
		case order != nil:
			seen = order
		case seen == nil && err == nil && time.Since(start) >= awaitVisible:
			return nil, fmt.Errorf("hotelstays: no order under reference %q after %s: %w; check the reference, and that it was booked by this account", customerReferenceNo, awaitVisible, ErrNotFound)
		}
		if seen != nil && set.states.decided(seen.Status) {
			return seen, nil
		}
	}
}

// awaitNext is the first time of the schedule that is not past yet.
func awaitNext(elapsed time.Duration) time.Duration {
	for _, at := range awaitSchedule {
		if at > elapsed {
			return at
		}
	}
	last := awaitSchedule[len(awaitSchedule)-1]
	return last + ((elapsed-last)/awaitPause+1)*awaitPause
}

// AwaitVoucher asks for the voucher of an order until it is neither NOT_GENERATED
// nor PENDING: at once, then at the times of AwaitOrder, and when WithWakeup fires.
// VoucherFailed and VoucherCancelled end the wait, too, and are no errors.
//
// Polls that fail are made again; a refusal that will not change is returned. When
// ctx ends, the answer that was seen last is returned with the error, or nil if none
// came. As in AwaitOrder, only ctx bounds the wait.
func (c *Client) AwaitVoucher(ctx context.Context, req *OrderVoucherRequest, opts ...CallOption) (*OrderVoucherResponse, error) {
	wakeup := collect(opts).wakeup
	var seen *OrderVoucherResponse
	var failed error // the last poll's
	start := time.Now()
	for {
		resp, err := c.OrderVoucher(ctx, req, plainCall(opts)...)
		failed = err
		switch {
		case err != nil && !transient(err):
			return seen, err
		case err == nil && resp.Status != types.VoucherNotGenerated && resp.Status != types.VoucherPending:
			return resp, nil
		case err == nil:
			seen = resp
		}
		if err := waitUntil(ctx, start.Add(awaitNext(time.Since(start))), wakeup); err != nil {
			return seen, stillWaiting(voucherMissing(req, seen), err, failed)
		}
	}
}

// voucherMissing names the order whose voucher is waited for, and how far it was seen.
func voucherMissing(req *OrderVoucherRequest, seen *OrderVoucherResponse) string {
	text := fmt.Sprintf("the voucher of order %q is not known to be made", req.anyReference())
	if seen != nil {
		text += ", and was " + string(seen.Status)
	}
	return text
}

// stillWaiting is the error of a wait that its ctx ended.
func stillWaiting(what string, err, lastPoll error) error {
	if lastPoll != nil {
		return fmt.Errorf("hotelstays: %s: %w; the last poll failed: %s", what, err, fact(lastPoll))
	}
	return fmt.Errorf("hotelstays: %s: %w; call again to go on waiting", what, err)
}

// readOrder returns the order under a reference, or nil where there is none.
func (c *Client) readOrder(ctx context.Context, reference string, opts []CallOption) (*types.Order, error) {
	resp, err := c.QueryOrders(ctx, &QueryOrdersRequest{CustomerReferenceNos: []string{reference}}, plainCall(opts)...)
	if err != nil {
		return nil, err
	}
	return pickOrder(resp, reference)
}

// decided tells whether a status ends the wait.
func (s *OrderStates) decided(status types.OrderStatus) bool {
	if s == nil {
		return status != types.OrderUnknown && status != types.OrderConfirming
	}
	return slices.Contains(s.Confirmed, status) || slices.Contains(s.Cancelled, status)
}

// cancelled tells whether the order, or the answer to Cancel where the order could
// not be read, has a status that is known to be cancelled.
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

// transient tells a failure that may pass from one that asking again will not
// change.
func transient(err error) bool {
	var api *APIError
	if _, ok := errors.AsType[*ValidationError](err); ok {
		return false
	}
	return !errors.As(err, &api) || api.HTTPStatus >= 500 || errors.Is(err, ErrRateLimited)
}

// waitUntil waits for a time, for a wake-up, or for the end of ctx, which is the
// only one of the three that is an error.
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

// fired takes a wake-up that is waiting.
func fired(wakeup <-chan struct{}) bool {
	select {
	case _, open := <-wakeup:
		return open
	default:
		return false
	}
}
