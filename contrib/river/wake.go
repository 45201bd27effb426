// Waking a recovery, because a webhook says that something has happened.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// wakeTimeout is how long Wake waits for a poll that is under way.
	wakeTimeout = 5 * time.Second
	wakePause   = 50 * time.Millisecond
)

// Wake makes a worker poll for an order now, off the schedule: within a second, River's own
// pace. Call it from a webhook handler with the event's reference. Unknown and ended
// bookings, and those that nobody has started to send, are left alone without an error.
//
// If a worker is polling at this moment, it may have asked too early. Wake waits for it, at
// most five seconds, and then returns an error: answer the webhook with a 5xx, so that the
// sender delivers it again.
func (b *Bookings) Wake(ctx context.Context, customerReferenceNo string) error {
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	for {
		busy, err := b.tryWake(ctx, customerReferenceNo)
		switch {
		case err != nil:
			return fmt.Errorf("hotelstaysriver: Wake: reference %q: %w", customerReferenceNo, err)
		case !busy:
			return nil
		}
		timer := time.NewTimer(wakePause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("hotelstaysriver: Wake: reference %q: a poll is still under way; wake it again later: %w",
				customerReferenceNo, ctx.Err())
		}
	}
}

// tryWake makes a job due, unless it is running.
func (b *Bookings) tryWake(ctx context.Context, reference string) (busy bool, err error) {
	err = b.transact(ctx, func(tx pgx.Tx) error {
		job, err := b.jobs.lockLive(ctx, tx, reference, b.account)
		switch {
		case errors.Is(err, errNoJob):
			return nil
		case err != nil:
			return err
		}
		next, started := job.Args.Wake(time.Now())
		busy = started && job.running()
		if !started || busy {
			return nil
		}
		return b.jobs.store(ctx, tx, job, next)
	})
	return busy, err
}
