// Waking: a webhook says that there is something to see.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// wakePatience is how long Wake waits for a poll that is under way.
	wakePatience = 5 * time.Second
	wakePause    = 50 * time.Millisecond
)

// Wake makes a worker ask for an order now, off the schedule: within a second, River's
// own pace. Call it from a webhook handler with the event's reference. It is safe at any
// time: a booking that has ended, that is not known, or that nobody has begun to send is
// left alone, and that is no error.
//
// A worker may be asking at this very moment, and have asked too early. Wake waits for
// it, five seconds at most, and then returns an error: answer the webhook with a 5xx,
// and the sender delivers it again.
func (b *Bookings) Wake(ctx context.Context, customerReferenceNo string) error {
	ctx, cancel := context.WithTimeout(ctx, wakePatience)
	defer cancel()
	for {
		busy, err := b.wake(ctx, customerReferenceNo)
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
			return fmt.Errorf("hotelstaysriver: Wake: reference %q is being asked for right now; wake it again later: %w", customerReferenceNo, ctx.Err())
		}
	}
}

// wake makes a job due, unless it is running.
func (b *Bookings) wake(ctx context.Context, reference string) (busy bool, err error) {
	err = b.transact(ctx, func(tx pgx.Tx) error {
		job, err := b.jobs.lockLive(ctx, tx, reference, b.account)
		switch {
		case errors.Is(err, errNoJob):
			return nil
		case err != nil:
			return err
		case !job.begun():
			return nil
		case job.running():
			busy = true
			return nil
		}
		job.Args.Recovery.NextPoll = wall(time.Now())
		if err := b.jobs.set(ctx, tx, job); err != nil {
			return err
		}
		return b.jobs.due(ctx, tx, job.ID, job.Args.Recovery.NextPoll)
	})
	return busy, err
}
