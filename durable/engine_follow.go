// The steps of an order that is followed.

package durable

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
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

// follow begins to follow the order that a booking has found.
func (e *Engine[Tx]) follow(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error {
	if e.opts.OnOrder == nil || EndingOf(outcome) != EndingFound {
		return nil
	}
	f, err := follow(e.keys, outcome, time.Now())
	if err != nil {
		return err
	}
	row := &Row{ID: e.id(KindOrder, f.CustomerReferenceNo)}
	return insert(ctx, e, tx, row, f, func(*Row) (followed, error) { return f, nil }) // an existing row belongs to an earlier round
}

// workOrder reads a followed order, and returns when the next read is due.
func (e *Engine[Tx]) workOrder(ctx context.Context, row *Row) (due time.Time, err error) {
	at := time.Now()
	f, err := read[followed](row)
	if err != nil || f.Settled {
		return due, err
	}
	found, readErr := e.ordersOf(ctx, []string{row.Reference}, f.options())
	return e.saw(ctx, row, at, reading{found[row.Reference], readErr})
}

// saw stores the result of a read that began at a time, and delivers a change of the order. It returns
// when the next read is due.
func (e *Engine[Tx]) saw(ctx context.Context, row *Row, at time.Time, of reading) (due time.Time, err error) {
	if of.err != nil && ctx.Err() != nil {
		return due, of.err
	}
	f, err := read[followed](row)
	if err != nil {
		return due, err
	}
	next, before, order, err := e.compared(ctx, f, at, of)
	if err != nil {
		return due, err
	}
	id := e.id(KindOrder, row.Reference)
	err = change(ctx, e, id, order != nil, func(locked *Row, stored *followed) (then delivery[Tx], err error) {
		if stored.Settled || !bytes.Equal(stored.Seen, f.Seen) || order == nil && locked.Version != row.Version {
			return nil, ErrMoved
		}
		if *stored = next; order != nil {
			then = func(ctx context.Context, tx Tx) error {
				return e.handle(ctx, id, "OnOrder", func() error { return e.opts.OnOrder(ctx, tx, &OrderChange{e.account, before, order}) })
			}
		}
		return then, nil
	})
	if err == nil && order != nil {
		e.changed(row.Reference)
	}
	if err != nil || next.Settled {
		return due, err
	}
	return next.Due, nil
}

// compared returns the state of an order after a read and, if the order has changed, the order before and
// after. It logs once what a person must look at.
func (e *Engine[Tx]) compared(ctx context.Context, f followed, at time.Time, of reading) (next followed,
	before, changed *types.Order, err error) {
	log := func(level slog.Level, what string, more ...slog.Attr) {
		e.log.LogAttrs(ctx, level, what, append(more, slog.String("reference", f.CustomerReferenceNo),
			slog.String("order", f.PlatformReferenceNo))...)
	}
	if of.err != nil {
		log(slog.LevelWarn, "a followed order cannot be read", slog.String("error", of.err.Error()))
		return f.failed(at), nil, nil, nil //nolint:nilerr // the next read reports it
	}
	if _, seen := f.seen(e.keys); f.PlatformReferenceNo == "" && seen != nil { // an older version has stored it
		f.PlatformReferenceNo, f.CheckOut = seen.PlatformReferenceNo, seen.CheckOut
	}
	order, others := identify(of.orders, f.PlatformReferenceNo)
	if other := strings.Join(others, ", "); other != f.Other {
		if f.Other = other; other != "" {
			log(slog.LevelError, "another order is under the reference of a followed order; OnOrder is not called for it, look at it",
				slog.String("other", other))
		}
	}
	if order == nil {
		next = f.lost(at)
		if next.Settled {
			log(slog.LevelError, "a followed order has disappeared, and is no longer read; look at it")
		} else if f.MissingSince.IsZero() {
			log(slog.LevelWarn, "a followed order has disappeared")
		}
		return next, nil, nil, nil
	}
	next, before, is, err := f.saw(e.keys, at, order, e.client.StatusMeanings())
	if is {
		changed = order
	}
	return next, before, changed, err
}

// quiet returns when an order is read next, if nothing else must be stored: the order has not changed,
// or the read failed.
func (e *Engine[Tx]) quiet(row *Row, at time.Time, of reading) (due time.Time, is bool) {
	f, err := read[followed](row)
	if err != nil || of.err != nil {
		return f.failed(at).Due, err == nil
	}
	order, others := identify(of.orders, f.PlatformReferenceNo)
	if order == nil || !f.MissingSince.IsZero() || strings.Join(others, ", ") != f.Other {
		return due, false
	}
	next, _, changed, err := f.saw(e.keys, at, order, e.client.StatusMeanings())
	return next.Due, err == nil && !changed && !next.Settled
}

// Unfollow ends the reads of a followed order. A call of OnOrder may still be under way.
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
