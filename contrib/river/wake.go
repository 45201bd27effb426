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
		err = changeLive(ctx, b, b.cancels, "Wake", customerReferenceNo, func(a *cancelArgs) (ok bool) {
			a.Cancellation, ok = a.Wake(time.Now())
			return ok
		})
	}
	if err == nil && b.cfg.OnOrder != nil {
		err = b.wakeOrder(ctx, customerReferenceNo)
	}
	return err
}

// pollNow makes the job of a booking due by a transition.
func (b *Bookings) pollNow(ctx context.Context, name, reference string,
	transition func(durable.Booking, time.Time) (durable.Booking, error)) error {
	return change(ctx, b, b.bookings, name, reference, func(j *bookingJob) error {
		next, err := transition(j.Args.Booking, time.Now())
		j.Args.become(next)
		return err
	})
}

// changeLive changes the live job of a reference, if there is one, by a transition.
func changeLive[A jobArgs](ctx context.Context, b *Bookings, of jobs[A], name, reference string, transition func(*A) (ok bool)) error {
	err := change(ctx, b, of, name, reference, func(j *storedJob[A]) error {
		if !j.live() || !transition(&j.Args) {
			return durable.ErrNotBegun
		}
		return nil
	})
	if errors.Is(err, durable.ErrNotBegun) {
		err = nil
	}
	return err
}

// change changes the latest job of a reference by a transition, and makes it due now. While a worker
// runs the job, what is due is up to that worker, and change waits.
func change[A jobArgs](ctx context.Context, b *Bookings, of jobs[A], name, reference string, transition func(*storedJob[A]) error) error {
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	for {
		var busy bool
		err := b.transact(ctx, func(tx pgx.Tx) error {
			job, err := of.lockLatest(ctx, tx, reference)
			if err == nil {
				err = transition(job)
			}
			if err != nil {
				return err
			}
			if busy = job.running(); busy {
				return nil
			}
			return of.reschedule(ctx, tx, job, time.Now())
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
