// Waking a recovery, because a webhook says that something has happened.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotelstays/hotelstays-go/durable"
)

const (
	// wakeTimeout is how long Wake waits for a poll that is under way.
	wakeTimeout = 5 * time.Second
	wakePause   = 50 * time.Millisecond
)

// Wake makes a worker poll for an order now, off the schedule: within a second, River's own
// pace. That of a cancellation, and one that is followed, is read as well. Call it from a
// webhook handler with the event's reference. Unknown and ended bookings, and those that nobody
// has started to send, are left alone without an error.
//
// If a worker is polling at this moment, it may have asked too early. Wake waits for it, at
// most five seconds, and then returns an error: answer the webhook with a 5xx, so that the
// sender delivers it again.
func (b *Bookings) Wake(ctx context.Context, customerReferenceNo string) error {
	err := b.pollNow(ctx, "Wake", customerReferenceNo, func(b durable.Booking, now time.Time) (durable.Booking, error) {
		next, ok := b.Wake(now)
		if !ok {
			return b, durable.ErrNotBegun
		}
		return next, nil
	})
	if errors.Is(err, durable.ErrNotBegun) {
		err = nil
	}
	if err == nil {
		err = b.wakeCancel(ctx, customerReferenceNo)
	}
	if err == nil && b.cfg.OnOrder != nil {
		err = b.wakeOrder(ctx, customerReferenceNo)
	}
	return err
}

// pollNow makes a job due by a transition. If a worker runs the job, it waits.
func (b *Bookings) pollNow(ctx context.Context, name, reference string,
	transition func(durable.Booking, time.Time) (durable.Booking, error)) error {
	return b.whenFree(ctx, name, reference, func(tx pgx.Tx) (busy bool, err error) {
		job, err := b.jobs.lockLatest(ctx, tx, reference, b.account)
		if err != nil {
			return false, err
		}
		next, err := transition(job.Args.Booking, time.Now())
		if busy = job.running(); err != nil || busy {
			return busy, err
		}
		return false, b.jobs.store(ctx, tx, job, next)
	})
}

// whenFree calls change in a transaction, again and again while a worker is busy with the job: what
// is due is then up to that worker.
func (b *Bookings) whenFree(ctx context.Context, name, reference string, change func(pgx.Tx) (busy bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	for {
		var busy bool
		err := b.transact(ctx, func(tx pgx.Tx) (err error) {
			busy, err = change(tx)
			return err
		})
		switch {
		case err != nil:
			return fmt.Errorf("hotelstaysriver: %s: reference %q: %w", name, reference, err)
		case !busy:
			return nil
		}
		select {
		case <-time.After(wakePause):
		case <-ctx.Done():
			return fmt.Errorf("hotelstaysriver: %s: reference %q: a worker still has it; call %s again later: %w",
				name, reference, name, ctx.Err())
		}
	}
}
