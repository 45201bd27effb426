// Following orders: one goroutine in each process reads those that are due, many in one request.
// A webhook makes an order due. A real engine uses a job queue.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// readBatch is how many orders one request reads. The limit is undocumented.
	readBatch = 100
	// readSoon is the pause after which a new order is read again, and readLate the longest one.
	// In between it is a tenth of the age of the order, because webhooks can be lost.
	readSoon = 5 * time.Second
	readLate = 12 * time.Hour
	// readLease is how long a process may take to read an order. It is also the pause after a
	// failure.
	readLease = time.Minute
	// cancelEnd is how long after a Cancel with an unknown outcome an order that is not
	// cancelled stays.
	cancelEnd = 10 * time.Minute
)

// readNow makes an order new again, and due.
func (o *order) readNow() {
	o.Since = time.Now()
	o.nextRead = o.Since.UnixMilli()
}

// saw stores the order as it was read, if it was found.
func (o *order) saw(seen *types.Order) {
	now := time.Now()
	if seen != nil && !same(o.Booked, seen) {
		o.Booked, o.Since = seen, now
	}
	switch {
	case cancelled(o.Booked):
		o.Cancelled, o.Cancelling, o.Problem = true, time.Time{}, nil
	case seen != nil && !o.Cancelling.IsZero() && now.Sub(o.Cancelling) > cancelEnd:
		o.Cancelling, o.Problem = time.Time{}, &notCancelled
	}
	o.nextRead = 0
	if !o.over(now) {
		o.nextRead = now.Add(min(max(now.Sub(o.Since)/10, readSoon), readLate)).UnixMilli()
	}
}

// over reports whether an order cannot change any more: it is cancelled, or the stay is past
// in all time zones.
func (o order) over(now time.Time) bool {
	out, err := o.Checkout.Offer.CheckOut.Time()
	return cancelled(o.Booked) || err == nil && now.After(out.AddDate(0, 0, 2))
}

// lacksVoucher reports whether the hotel has answered, and a voucher may still come.
func (o order) lacksVoucher(states hotelstays.OrderStates) bool {
	switch o.Voucher {
	case "", types.VoucherNotGenerated, types.VoucherPending:
		return states.StateOf(o.Booked.Status) != hotelstays.OrderStateOpen && !cancelled(o.Booked)
	}
	return false
}

// cancelled reports whether an order is certainly cancelled, whatever the number of that
// state.
func cancelled(o *types.Order) bool { return o != nil && o.CancelTime != "" }

// same reports whether two orders are equal after they were stored.
func same(a, b *types.Order) bool {
	textA, errA := json.Marshal(a)
	textB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(textA, textB)
}

// claim returns the references of up to limit orders to read now. They are due again at the
// end of the lease, because this process may die.
func (db *database) claim(ctx context.Context, now, lease int64, limit int) (due []string, err error) {
	rows, err := db.QueryContext(ctx, `UPDATE orders SET next_read = $1 WHERE next_read BETWEEN 1 AND $2 AND reference IN
		(SELECT reference FROM orders WHERE next_read BETWEEN 1 AND $2 ORDER BY next_read LIMIT $3) RETURNING reference`, lease, now, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var reference string
		if err := rows.Scan(&reference); err != nil {
			return nil, err
		}
		due = append(due, reference)
	}
	return due, rows.Err()
}

// follow reads the orders that are due until the engine closes.
func (e *engine) follow() {
	for e.ctx.Err() == nil {
		read, err := e.readDue()
		if err != nil && e.ctx.Err() == nil {
			e.log.Error("reading orders", "error", err)
		}
		if read == 0 {
			select {
			case <-time.After(e.service.pause):
			case <-e.ctx.Done():
			}
		}
	}
}

// readDue reads orders that are due, stores them, and returns how many these are.
func (e *engine) readDue() (int, error) {
	now, lease := time.Now().UnixMilli(), time.Now().Add(readLease).UnixMilli()
	due, err := e.db.claim(e.ctx, now, lease, readBatch)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	resp, err := e.client.QueryOrders(e.ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: due})
	if err != nil {
		return len(due), err
	}
	seen := make(map[string]*types.Order)
	for i := range resp.Orders {
		seen[resp.Orders[i].CustomerReferenceNo] = &resp.Orders[i]
	}
	for _, reference := range due {
		ask := false
		e.update(e.ctx, reference, func(o *order) {
			if o.nextRead == lease { // else something has happened meanwhile, and it is read again
				o.saw(seen[reference])
				ask = seen[reference] != nil && o.lacksVoucher(e.service.facts.OrderStates)
			}
		})
		if ask {
			e.work.Go(func() { e.askVoucher(reference) })
		}
	}
	return len(due), nil
}

// askVoucher stores the status of the voucher.
func (e *engine) askVoucher(reference string) {
	resp, err := e.client.OrderVoucher(e.ctx, &hotelstays.OrderVoucherRequest{CustomerReferenceNo: reference})
	switch {
	case err == nil:
		e.update(e.ctx, reference, func(o *order) { o.Voucher = resp.Status })
	case e.ctx.Err() == nil:
		e.log.Error("asking for a voucher", "reference", reference, "error", err)
	}
}
