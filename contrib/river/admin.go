// What webhooks, pages and the people on call need.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotelstays/hotelstays-go/durable"
)

// Watch returns a channel for a page that waits. It receives a value after a transaction of OnOutcome,
// OnCancel or OnOrder for the reference was committed in this process; values that nobody has received
// are one. Watch first, then look at your own row, and look again after each value. Another process
// may commit as well, which is not noticed here: look every few seconds, too. Call stop at the end.
func (b *Bookings) Watch(customerReferenceNo string) (changed <-chan struct{}, stop func()) {
	return b.watchers.Watch(customerReferenceNo)
}

// List returns the open bookings of the client's account, in the order of their references. It
// reads them in pages, without a transaction. Due is when a worker acts next. Unverified counts
// the polls that showed nothing: such a booking needs a person if it stays so.
//
// A job whose arguments somebody has changed by hand is an error that names its reference, and the
// list continues. An error of the database ends it.
func (b *Bookings) List(ctx context.Context) iter.Seq2[durable.Booking, error] {
	return func(yield func(durable.Booking, error) bool) {
		for after := ""; ; {
			page, err := b.bookings.page(ctx, b.cfg.Pool, after)
			if err != nil {
				yield(durable.Booking{}, fmt.Errorf("hotelstaysriver: List: %w", err))
				return
			}
			for _, job := range page {
				if after = job.Reference; job.unreadable != nil {
					err = fmt.Errorf("hotelstaysriver: List: reference %q: %w", after, job.unreadable)
				}
				if !yield(job.Args.Booking, err) {
					return
				}
				err = nil
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}

// Retry makes a worker poll for a booking now. A booking that was abandoned opens again, while
// River has its job. It is refused while the booking waits for Send. The error is
// durable.ErrNotBegun if the booking has an outcome or is unknown.
//
// If a worker is polling at this moment, Retry waits for it, at most five seconds.
func (b *Bookings) Retry(ctx context.Context, customerReferenceNo string) error {
	return b.pollNow(ctx, "Retry", customerReferenceNo, durable.Booking.Retry)
}

// Abandon ends a booking without an outcome: it is neither sent nor polled for any more, and
// OnOutcome is not called. Ask the service first whether there is an order. It is refused
// while Book may be under way. The error is durable.ErrNotBegun if the booking has ended or is
// unknown.
func (b *Bookings) Abandon(ctx context.Context, customerReferenceNo string) error {
	err := b.transact(ctx, func(tx pgx.Tx) error {
		job, err := b.bookings.lockLatest(ctx, tx, customerReferenceNo)
		if err != nil {
			return err
		}
		next, err := job.Args.Abandon(time.Now())
		if err != nil {
			return err
		}
		return b.end(ctx, tx, job, next)
	})
	if err != nil {
		return fmt.Errorf("hotelstaysriver: Abandon: reference %q: %w", customerReferenceNo, err)
	}
	return nil
}

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
