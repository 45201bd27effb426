// What the jobs of cancellations and of orders have in common.

package hotelstaysriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

// stateJob is a job whose arguments have a state.
type stateJob[A river.JobArgs] struct {
	ID    int64
	State rivertype.JobState
	Taken *time.Time // when a worker last took it
	Args  A
}

func (j *stateJob[A]) live() bool    { return slices.Contains(liveStates, j.State) }
func (j *stateJob[A]) running() bool { return j.State == rivertype.JobStateRunning }

// takenBy reports whether run is the latest run of the job, and has not ended.
func (j *stateJob[A]) takenBy(run *rivertype.JobRow) bool {
	return j.running() && j.Taken != nil && run.AttemptedAt != nil && j.Taken.Equal(*run.AttemptedAt)
}

const stateColumns = `id, state::text, attempted_at, args`

// scanState reads a job, or returns durable.ErrNotBegun.
func scanState[A river.JobArgs](row pgx.Row) (*stateJob[A], error) {
	var j stateJob[A]
	var args []byte
	err := row.Scan(&j.ID, &j.State, &j.Taken, &args)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, durable.ErrNotBegun
	case err != nil:
		return nil, fmt.Errorf("reading a job: %w", err)
	}
	if err := json.Unmarshal(args, &j.Args); err != nil {
		return nil, fmt.Errorf("cannot read the arguments of job %d, which somebody has changed by hand: %w", j.ID, err)
	}
	return &j, nil
}

func lockState[A river.JobArgs](ctx context.Context, b *Bookings, tx pgx.Tx, id int64) (*stateJob[A], error) {
	return scanState[A](tx.QueryRow(ctx, `SELECT `+stateColumns+` FROM `+b.jobs.name+` WHERE id = $1 FOR UPDATE`, id))
}

// latestState returns the live job of a kind and a reference, or else the last one, as latest does.
func latestState[A river.JobArgs](ctx context.Context, b *Bookings, tx pgx.Tx, reference string,
	except int64, lock string) (*stateJob[A], error) {
	key, err := json.Marshal(map[string]string{"reference": reference, "account": b.account})
	if err != nil {
		return nil, err
	}
	var kind A
	return scanState[A](tx.QueryRow(ctx, `SELECT `+stateColumns+` FROM `+b.jobs.name+`
		WHERE args @> $1::jsonb AND kind = $2 AND id <> $3 ORDER BY finalized_at IS NULL DESC, id DESC LIMIT 1 `+lock,
		string(key), kind.Kind(), except))
}

// store stores the arguments of a locked job.
func (j *stateJob[A]) store(ctx context.Context, b *Bookings, tx pgx.Tx) error {
	args, err := json.Marshal(j.Args)
	if err != nil {
		return err
	}
	return write(ctx, tx, `UPDATE `+b.jobs.name+` SET args = $2::jsonb WHERE id = $1`, j.ID, string(args))
}

// complete ends a locked job.
func (j *stateJob[A]) complete(ctx context.Context, b *Bookings, tx pgx.Tx) error {
	return write(ctx, tx, `UPDATE `+b.jobs.name+` SET state = 'completed', finalized_at = now() WHERE id = $1`, j.ID)
}

// wake makes a locked job available.
func (j *stateJob[A]) wake(ctx context.Context, b *Bookings, tx pgx.Tx) error {
	return write(ctx, tx, `UPDATE `+b.jobs.name+` SET state = 'available', scheduled_at = now() WHERE id = $1 AND state <> 'running'`, j.ID)
}
