// Orders that are followed: each change is delivered once.

package hotelstaysriver

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// orderArgs are the arguments of a job that follows an order.
type orderArgs struct {
	Reference string `json:"reference" river:"unique"`
	Account   string `json:"account" river:"unique"`
	durable.Followed
}

func (a orderArgs) key() (reference, account string) { return a.Reference, a.Account }

// Kind is River's name for these jobs.
func (orderArgs) Kind() string { return "hotelstays_order" }

// follow begins to follow the order that a booking has found.
func (b *Bookings) follow(ctx context.Context, tx pgx.Tx, outcome *hotelstays.BookingOutcome) error {
	if b.cfg.OnOrder == nil || durable.EndingOf(outcome) != durable.EndingFound {
		return nil
	}
	f, err := durable.Follow(b.keys, outcome, time.Now())
	if err == nil {
		_, err = b.river.InsertTx(ctx, tx, orderArgs{f.CustomerReferenceNo, b.account, f}, b.insertOpts(f.Due, priorityOrder))
	}
	return err
}

// stepOrder reads the order, and stores and delivers a change in one transaction.
func (b *Bookings) stepOrder(ctx context.Context, job *river.Job[orderArgs]) (due time.Time, err error) {
	at, f, client := time.Now(), job.Args.Followed, b.cfg.Client
	if f.Settled {
		return due, nil
	}
	order, err := client.FindOrder(ctx, f.CustomerReferenceNo, append(f.Options(), hotelstays.WithTimeout(pollTimeout))...)
	if err != nil {
		b.cfg.Logger.WarnContext(ctx, "an order is read later",
			slog.String("reference", f.CustomerReferenceNo), slog.String("error", err.Error()))
		return f.Missed(at), nil
	}
	next, before, changed, err := f.Saw(b.keys, at, order, client.OrderStates())
	if err != nil {
		return due, err
	}
	if !next.Settled {
		due = next.Due
	}
	err = b.transact(ctx, func(tx pgx.Tx) error {
		locked, err := b.orders.lockUnchanged(ctx, tx, job)
		if err != nil {
			return err
		}
		locked.Args.Followed = next
		switch {
		case next.Settled:
			err = b.orders.end(ctx, tx, locked, "settled")
		case changed:
			err = b.orders.store(ctx, tx, locked)
		}
		if err == nil && changed {
			if err = b.cfg.OnOrder(ctx, tx, before, order); err != nil {
				err = fmt.Errorf("hotelstaysriver: OnOrder of reference %q: %w", f.CustomerReferenceNo, err)
			}
		}
		return err
	})
	if err == nil && changed {
		b.watchers.Wake(f.CustomerReferenceNo)
	}
	return due, err
}

// wakeOrder makes a followed order due, if there is one.
func (b *Bookings) wakeOrder(ctx context.Context, reference string) error {
	return changeLive(ctx, b, b.orders, "Wake", reference, func(a *orderArgs) (ok bool) {
		a.Followed, ok = a.Wake(time.Now())
		return ok
	})
}

// Unfollow ends the reads of an order, because the caller knows enough. If a worker reads it at this
// moment, Unfollow waits for it, at most five seconds.
func (b *Bookings) Unfollow(ctx context.Context, customerReferenceNo string) error {
	return changeLive(ctx, b, b.orders, "Unfollow", customerReferenceNo, func(a *orderArgs) bool {
		a.Settled, a.Seen = true, nil
		return true
	})
}
