// The steps of an order that is followed.

package durable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// OrderChange is a change of an order that is followed.
type OrderChange struct {
	Account string // hotelstays.Client.Account
	// Before is the order that OnOutcome, or the last call of OnOrder, received. It is nil if no key in
	// Options.Keys decrypts it.
	Before *types.Order
	After  *types.Order
}

// follow stores the order that a booking has found, so that workers read it.
func (e *Engine[Tx]) follow(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error {
	if e.opts.OnOrder == nil || EndingOf(outcome) != EndingFound {
		return nil
	}
	f, err := follow(e.keys, outcome, time.Now())
	if err != nil {
		return err
	}
	row := &Row{ID: e.id(KindOrder, f.CustomerReferenceNo)}
	return insert(ctx, e, tx, row, f, func(*Row) (followed, error) { return f, nil }) // f replaces the row of an earlier round
}

// workOrder reads a followed order, and returns when the next read is due.
func (e *Engine[Tx]) workOrder(ctx context.Context, row *Row) (due time.Time, err error) {
	at := time.Now()
	f, err := read[followed](row)
	if err != nil || f.Settled {
		return due, err
	}
	return e.storeSight(ctx, row, e.compared(ctx, row, at, e.readTogether(ctx, []Row{*row})[row.Reference]))
}

// sight is the result of a read of a followed order: the stored state, the next state, and the change.
type sight struct {
	was, next       followed
	before, changed *types.Order // the order before and after a change; nil without a change
	err             error
}

// quiet reports whether the read changes at most Due in the row.
func (s sight) quiet() bool {
	s.next.Due = s.was.Due
	return s.err == nil && s.changed == nil && reflect.DeepEqual(s.next, s.was)
}

// compared compares a followed order with the orders that a read has returned. The parameter at is when the read began.
// Problems that need a person, such as a missing order, are logged once.
func (e *Engine[Tx]) compared(ctx context.Context, row *Row, at time.Time, of reading) (s sight) {
	f, err := read[followed](row)
	if s.was, s.err = f, cmp.Or(err, ctx.Err()); s.err != nil {
		return s
	}
	if of.err != nil {
		s.next = f.failed(at)
		return s
	}
	if f.PlatformReferenceNo == "" { // an older version stored the row without the number of the order
		if _, seen := f.seen(e.keys); seen != nil {
			f.PlatformReferenceNo, f.CheckOut = seen.PlatformReferenceNo, seen.CheckOut
		}
	}
	log := e.log.With(slog.String("reference", row.Reference), slog.String("order", f.PlatformReferenceNo))
	order, others := identify(of.orders, f.PlatformReferenceNo)
	if f.Other = strings.Join(others, ", "); f.Other != s.was.Other && f.Other != "" {
		log.ErrorContext(ctx, "another order is under the reference of a followed order; OnOrder is not called for it; check it by hand",
			slog.String("other", f.Other))
	}
	if order != nil {
		var changed bool
		if s.next, s.before, changed, s.err = f.saw(e.keys, at, order, e.client.StatusMeanings()); changed {
			s.changed = order
		}
		return s
	}
	if s.next = f.lost(at); s.next.Settled {
		log.ErrorContext(ctx, "a followed order has disappeared, and is no longer read; check it by hand")
	} else if f.MissingSince.IsZero() {
		log.WarnContext(ctx, "a followed order has disappeared")
	}
	return s
}

// storeSight stores the result of a read, and passes a change of the order to OnOrder. It returns the time at
// which the next read is due.
func (e *Engine[Tx]) storeSight(ctx context.Context, row *Row, s sight) (due time.Time, err error) {
	if s.err != nil {
		return due, s.err
	}
	id := e.id(KindOrder, row.Reference)
	err = change(ctx, e, id, s.changed != nil, func(locked *Row, stored *followed) (then delivery[Tx], err error) {
		if stored.Settled || !bytes.Equal(stored.Seen, s.was.Seen) || s.changed == nil && locked.Version != row.Version {
			return nil, ErrMoved
		}
		if *stored = s.next; s.changed != nil {
			then = func(ctx context.Context, tx Tx) error {
				return e.handle(ctx, id, "OnOrder", func() error { return e.opts.OnOrder(ctx, tx, &OrderChange{e.account, s.before, s.changed}) })
			}
		}
		return then, nil
	})
	if s.next.Settled {
		return due, err
	}
	return s.next.Due, err
}

// Unfollow stops the reads of a followed order. When Unfollow returns, a call of OnOrder may still be in progress.
func (e *Engine[Tx]) Unfollow(ctx context.Context, customerReferenceNo string) error {
	err := change(ctx, e, e.id(KindOrder, customerReferenceNo), false, func(_ *Row, f *followed) (delivery[Tx], error) {
		f.Settled, f.Seen = true, nil
		return nil, nil
	})
	if errors.Is(err, ErrNotBegun) {
		return nil
	}
	return e.failed(err, "Unfollow: reference %q", customerReferenceNo)
}
