// Orders that are followed: each change is delivered once.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// orderArgs are the arguments of a job that follows an order.
type orderArgs struct {
	// Reference and Account make a live job unique.
	Reference string `json:"reference" river:"unique"`
	Account   string `json:"account" river:"unique"`
	durable.Followed
}

func (orderArgs) Kind() string { return "hotelstays_order" }

// follow begins to follow the order that a booking has found.
func (b *Bookings) follow(ctx context.Context, tx pgx.Tx, outcome *hotelstays.BookingOutcome) error {
	if b.cfg.OnOrder == nil || durable.EndingOf(outcome) != durable.EndingFound {
		return nil
	}
	f, err := durable.Follow(b.keys, outcome, time.Now())
	if err == nil {
		_, err = b.river.InsertTx(ctx, tx, orderArgs{f.CustomerReferenceNo, b.account, f}, &river.InsertOpts{
			MaxAttempts: math.MaxInt16, Queue: b.cfg.Queue, ScheduledAt: f.Due,
			Priority:   3, // after bookings and cancellations
			UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: liveStates},
		})
	}
	return err
}

type orderWorker struct {
	river.WorkerDefaults[orderArgs]
	b *Bookings
}

// Timeout bounds a read, and OnOrder.
func (w *orderWorker) Timeout(*river.Job[orderArgs]) time.Duration { return workTimeout }

// NextRetry returns when a failed job is tried again.
func (w *orderWorker) NextRetry(job *river.Job[orderArgs]) time.Time { return nextRetry(job.JobRow) }

// Work reads the order, and delivers a change.
func (w *orderWorker) Work(ctx context.Context, job *river.Job[orderArgs]) error {
	if job.Args.Settled {
		return nil
	}
	if w.b.cfg.OnOrder == nil { // another process has one
		return river.JobSnooze(othersPause)
	}
	return w.b.guarded(ctx, job.JobRow, job.Args.Reference, func() error {
		next, err := w.step(ctx, job)
		switch {
		case errors.Is(err, errMoved):
			return river.JobSnooze(interruptedPause)
		case err != nil || next.Settled:
			return err
		}
		return river.JobSnooze(max(time.Until(next.Due), 0))
	})
}

// step reads the order, and stores and delivers a change in one transaction.
func (w *orderWorker) step(ctx context.Context, job *river.Job[orderArgs]) (next durable.Followed, err error) {
	at, f, client := time.Now(), job.Args.Followed, w.b.cfg.Client
	order, err := client.FindOrder(ctx, f.CustomerReferenceNo, append(f.Options(), hotelstays.WithTimeout(pollTimeout))...)
	if err != nil {
		w.b.cfg.Logger.WarnContext(ctx, "an order is read later",
			slog.String("reference", f.CustomerReferenceNo), slog.String("error", err.Error()))
		f.Due = f.Missed(at)
		return f, nil
	}
	next, before, changed, err := f.Saw(w.b.keys, at, order, client.OrderStates())
	if err != nil {
		return next, err
	}
	return next, w.b.deliver(ctx, f.CustomerReferenceNo, func(tx pgx.Tx) error {
		locked, err := lockState[orderArgs](ctx, w.b, tx, job.ID)
		if err != nil {
			return err
		}
		if !locked.takenBy(job.JobRow) || !reflect.DeepEqual(locked.Args.Followed, job.Args.Followed) {
			return errMoved
		}
		locked.Args.Followed = next
		if changed || next.Settled {
			err = locked.store(ctx, w.b, tx)
		}
		if err == nil && next.Settled {
			err = locked.complete(ctx, w.b, tx)
		}
		if err == nil && changed {
			if err = w.b.cfg.OnOrder(ctx, tx, before, order); err != nil {
				err = fmt.Errorf("hotelstaysriver: OnOrder of reference %q: %w", f.CustomerReferenceNo, err)
			}
		}
		return err
	})
}

// changeOrder changes a followed order by a transition, if there is one.
func (b *Bookings) changeOrder(ctx context.Context, name, reference string,
	transition func(durable.Followed) (durable.Followed, bool)) error {
	err := b.whenFree(ctx, name, reference, func(tx pgx.Tx) (busy bool, err error) {
		job, err := latestState[orderArgs](ctx, b, tx, reference, 0, "FOR UPDATE")
		if err != nil || !job.live() {
			return false, err
		}
		next, ok := transition(job.Args.Followed)
		if busy = job.running(); busy || !ok {
			return busy, nil
		}
		job.Args.Followed = next
		if err := job.store(ctx, b, tx); err != nil {
			return false, err
		}
		return false, job.wake(ctx, b, tx)
	})
	if errors.Is(err, durable.ErrNotBegun) {
		return nil
	}
	return err
}

// wakeOrder makes a followed order due, if there is one.
func (b *Bookings) wakeOrder(ctx context.Context, reference string) error {
	return b.changeOrder(ctx, "Wake", reference, func(f durable.Followed) (durable.Followed, bool) { return f.Wake(time.Now()) })
}

// Unfollow ends the reads of an order, because the caller knows enough. If a worker reads it at this
// moment, Unfollow waits for it, at most five seconds.
func (b *Bookings) Unfollow(ctx context.Context, customerReferenceNo string) error {
	return b.changeOrder(ctx, "Unfollow", customerReferenceNo, func(f durable.Followed) (durable.Followed, bool) {
		f.Settled, f.Seen = true, nil
		return f, true
	})
}
