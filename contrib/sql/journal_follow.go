// Orders that are followed: each change is delivered once.

package hotelstayssql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// orderEntry is a row of hotelstays_orders. It is live until the order is settled.
type orderEntry struct {
	row
	durable.Followed
}

func (e *orderEntry) setDue(due time.Time) { e.Due = due }

func newOrderEntry(f durable.Followed) *orderEntry {
	return &orderEntry{row{table: tableOfOrders, reference: f.CustomerReferenceNo, fence: newID()}, f}
}

// follow begins to follow the order that a booking has found.
func (j *Journal) follow(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	if j.opts.OnOrder == nil || durable.EndingOf(outcome) != durable.EndingFound {
		return nil
	}
	f, err := durable.Follow(j.keys, outcome, time.Now())
	if err != nil {
		return err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	e := newOrderEntry(f)
	_, err = j.db.dialect.exec(ctx, tx, `INSERT INTO hotelstays_orders (account, reference, fence, live, due, state) VALUES (?, ?, ?, 1, ?, ?)
		{conflict account, reference} fence = {new fence}, live = 1, due = {new due}, state = {new state}`,
		j.account, []byte(e.reference), e.fence, micros(e.Due), text)
	return err
}

func (j *Journal) scanOrder(scan func(...any) error) (*orderEntry, error) {
	e := newOrderEntry(durable.Followed{})
	return e, j.scanState(scan, e, &e.Followed, func() (string, string) { return e.CustomerReferenceNo, e.Fingerprint })
}

// workOrders reads leased orders in one request, and delivers what has changed.
func (j *Journal) workOrders(ctx context.Context, entries []*orderEntry) {
	defer j.logPanic(ctx, "orders are read later") // of the read of all of them
	at := time.Now()
	orders, readErr := j.ordersOf(ctx, entries)
	var unchanged []*orderEntry
	for _, e := range entries {
		err, kept := readErr, readErr == nil
		if order := orders[e.reference]; order != nil {
			kept, err = j.saw(ctx, e, at, order)
		}
		switch {
		case err != nil && ctx.Err() == nil && !errors.Is(err, errMoved):
			j.opts.Logger.ErrorContext(ctx, "an order is read later", slog.String("reference", e.reference), slog.String("error", err.Error()))
		case kept:
			unchanged = append(unchanged, e)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if _, err := postpone(ctx, j, unchanged, func(e *orderEntry) time.Time { return e.Missed(at) }); err != nil {
		j.opts.Logger.WarnContext(ctx, "orders are read again", slog.Int("orders", len(unchanged)), slog.String("error", err.Error()))
	}
}

// ordersOf reads the orders of entries by reference. It asks for fewer at once if that is refused,
// because one reference may spoil the answer.
func (j *Journal) ordersOf(ctx context.Context, entries []*orderEntry) (map[string]*types.Order, error) {
	if late(entries[0].Due, time.Now()) {
		return nil, errMoved
	}
	req := &hotelstays.QueryOrdersRequest{}
	for _, e := range entries {
		req.CustomerReferenceNos = append(req.CustomerReferenceNos, e.reference)
	}
	resp, err := j.client.QueryOrders(ctx, req, append(entries[0].Options(), hotelstays.WithTimeout(pollWithin))...)
	orders := map[string]*types.Order{}
	switch half := len(entries) / 2; {
	case err == nil:
		for i := range resp.Orders {
			orders[resp.Orders[i].CustomerReferenceNo] = &resp.Orders[i]
		}
	case half > 0 && isOfContent(err):
		first, firstErr := j.ordersOf(ctx, entries[:half])
		second, secondErr := j.ordersOf(ctx, entries[half:])
		maps.Copy(orders, first)
		maps.Copy(orders, second)
		err = errors.Join(firstErr, secondErr)
	}
	return orders, err
}

// saw delivers an order that has changed. unchanged reports that only the next read is to be stored.
func (j *Journal) saw(ctx context.Context, e *orderEntry, at time.Time, order *types.Order) (unchanged bool, err error) {
	defer j.logPanic(ctx, "an order is read later") // and the others of its page go on
	next, before, changed, err := e.Saw(j.keys, at, order, j.client.OrderStates())
	if err != nil || !changed && !next.Settled {
		return err == nil, err
	}
	ctx, cancel := context.WithDeadline(ctx, e.Due.Add(deliverBy-lease))
	defer cancel()
	var deliver func(context.Context, *sql.Tx) error
	if changed {
		deliver = func(ctx context.Context, tx *sql.Tx) error {
			if err := j.opts.OnOrder(ctx, tx, before, order); err != nil {
				return fmt.Errorf("OnOrder: %w", err)
			}
			return nil
		}
	}
	return false, j.storeOrder(ctx, e, next, deliver)
}

// storeOrder stores the next state of an order, and calls then in the same transaction.
func (j *Journal) storeOrder(ctx context.Context, e *orderEntry, next durable.Followed, then func(context.Context, *sql.Tx) error) error {
	text, err := withUnknown(e.stored, e.Followed, next)
	if err != nil {
		return err
	}
	live := liveOpen
	if next.Settled {
		live = liveEnded
	}
	return j.write(ctx, &e.row, then, `live = ?, due = ?, state = ?`, live, micros(next.Due), text)
}

// changeOrder changes a followed order by a transition, if there is one.
func (j *Journal) changeOrder(ctx context.Context, reference string, transition func(durable.Followed) (durable.Followed, bool)) error {
	return orders.change(ctx, j, reference, func(e *orderEntry) error {
		next, ok := transition(e.Followed)
		if !ok {
			return nil
		}
		return j.storeOrder(ctx, e, next, nil)
	})
}

// wakeOrder makes a followed order due, if there is one.
func (j *Journal) wakeOrder(ctx context.Context, reference string) error {
	if j.opts.OnOrder == nil {
		return nil
	}
	return j.changeOrder(ctx, reference, func(f durable.Followed) (durable.Followed, bool) { return f.Wake(time.Now()) })
}

// Unfollow ends the reads of an order, because the caller knows enough. OnOrder may be under way.
func (j *Journal) Unfollow(ctx context.Context, customerReferenceNo string) error {
	err := j.changeOrder(ctx, customerReferenceNo, func(f durable.Followed) (durable.Followed, bool) {
		ended := !f.Settled
		f.Settled, f.Seen = true, nil
		return f, ended
	})
	if err != nil {
		return j.db.failed(err, "Unfollow: reference %q", customerReferenceNo)
	}
	return nil
}
