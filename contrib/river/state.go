// What the jobs of cancellations and of orders have in common.

package hotelstaysriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

// stateArgs are arguments that have a state.
type stateArgs interface {
	river.JobArgs
	reference() string
}

// stateWorker works on the jobs of a kind, unless only other processes have the caller's function. step
// does a step of a job, and returns when the next one is due, or completes the job and returns zero.
type stateWorker[A stateArgs] struct {
	river.WorkerDefaults[A]
	b       *Bookings
	others  bool
	timeout time.Duration
	step    func(context.Context, *river.Job[A]) (due time.Time, err error)
}

// Timeout bounds a step, with the caller's function.
func (w *stateWorker[A]) Timeout(*river.Job[A]) time.Duration { return w.timeout }

// NextRetry returns when a failed job is tried again.
func (w *stateWorker[A]) NextRetry(job *river.Job[A]) time.Time { return nextRetry(job.JobRow) }

// Work does a step. It returns nil only if the job is completed in the database.
func (w *stateWorker[A]) Work(ctx context.Context, job *river.Job[A]) error {
	if w.others {
		return river.JobSnooze(othersPause)
	}
	return w.b.guarded(ctx, job.JobRow, job.Args.reference(), func() error {
		due, err := w.step(ctx, job)
		switch {
		case errors.Is(err, errMoved):
			return river.JobSnooze(interruptedPause)
		case err != nil || due.IsZero():
			return err
		}
		return river.JobSnooze(max(time.Until(due), 0))
	})
}

// stateJob is a job whose arguments have a state.
type stateJob[A stateArgs] struct {
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
func scanState[A stateArgs](row pgx.Row) (*stateJob[A], error) {
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

func lockState[A stateArgs](ctx context.Context, b *Bookings, tx pgx.Tx, id int64) (*stateJob[A], error) {
	return scanState[A](tx.QueryRow(ctx, `SELECT `+stateColumns+` FROM `+b.jobs.name+` WHERE id = $1 FOR UPDATE`, id))
}

// lockUnchanged locks a job, or returns errMoved if it has changed since the run began.
func lockUnchanged[A stateArgs](ctx context.Context, b *Bookings, tx pgx.Tx, run *river.Job[A]) (*stateJob[A], error) {
	locked, err := lockState[A](ctx, b, tx, run.ID)
	if err == nil && (!locked.takenBy(run.JobRow) || !reflect.DeepEqual(locked.Args, run.Args)) {
		err = errMoved
	}
	return locked, err
}

// latestState returns the live job of a kind and a reference, or else the last one, as latest does.
func latestState[A stateArgs](ctx context.Context, b *Bookings, tx pgx.Tx, reference string,
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

// changeState changes the live job of a reference, if there is one, by a transition, and makes it
// available. If a worker runs it, changeState waits.
func changeState[A stateArgs](ctx context.Context, b *Bookings, name, reference string, transition func(*A) (ok bool)) error {
	err := b.whenFree(ctx, name, reference, func(tx pgx.Tx) (busy bool, err error) {
		job, err := latestState[A](ctx, b, tx, reference, 0, "FOR UPDATE")
		if err != nil || !job.live() || !transition(&job.Args) {
			return false, err
		}
		if job.running() {
			return true, nil
		}
		if err := job.store(ctx, b, tx); err != nil {
			return false, err
		}
		return false, write(ctx, tx, `UPDATE `+b.jobs.name+` SET state = 'available', scheduled_at = now() WHERE id = $1`, job.ID)
	})
	if errors.Is(err, durable.ErrNotBegun) {
		return nil
	}
	return err
}
