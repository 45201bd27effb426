// Hurry: a recovery takes up to ten minutes, too long for this program. For sleeping
// recoveries time passes two hundred times as fast.
//
// The times of a recovery are plain data in River's table, and are moved back there. A Book
// that may be under way keeps real time. Due jobs and the jobs of dead processes are made
// available at once, which River itself does every few seconds.
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
	// stuckAfter is when a running job counts as a dead worker's.
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
		// Errors do not matter: the database may be restarting.
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
