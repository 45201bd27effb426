// Hurry: a recovery may last ten minutes, and this program shall not. For recoveries
// that sleep, time passes two hundred times as fast.
//
// Whether a booking is absent is known when its order is not found ten minutes after
// the Book, and not before. The schedule is the SDK's, and stays as it is: its times are
// plain data in River's table, and are moved back there. A Book that may be under way
// keeps to real time, for its timeout is a real one. What River itself does every few
// seconds has to keep up: to make due jobs available, and to give the jobs of dead
// processes to others.
//
// No real fleet does any of this.

package main

import (
	"context"
	"time"
)

const (
	hurrySpeed = 200
	hurryTick  = 100 * time.Millisecond
	// stuckAfter is when a job that is still running is taken for a dead worker's.
	stuckAfter = 5 * time.Second
)

// hurry lets time pass until ctx ends.
func (d *database) hurry(ctx context.Context) {
	for ticker := time.NewTicker(hurryTick); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			ticker.Stop()
			return
		}
		// That the database is away matters not: then nothing passes.
		_, _ = d.Exec(ctx, `UPDATE river_job SET scheduled_at = scheduled_at - $1::interval,
				args = args || jsonb_build_object('bookBy', (args ->> 'bookBy')::timestamptz - $1::interval,
					'recovery', args -> 'recovery' || jsonb_strip_nulls(jsonb_build_object(
						'endedAt', (args #>> '{recovery,endedAt}')::timestamptz - $1::interval,
						'nextPoll', (args #>> '{recovery,nextPoll}')::timestamptz - $1::interval)))
			WHERE state IN ('available', 'scheduled', 'retryable') AND args #> '{recovery,endedAt}' IS NOT NULL`, hurryTick*(hurrySpeed-1))
		_, _ = d.Exec(ctx, `UPDATE river_job SET state = 'available' WHERE state IN ('scheduled', 'retryable') AND scheduled_at <= now()
			OR state = 'running' AND attempted_at < now() - $1::interval`, stuckAfter)
	}
}
