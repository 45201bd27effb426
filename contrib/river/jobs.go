// SQL on River's table. River itself never changes a job's arguments, and completes a job
// only while a worker runs it. Here a recovery makes progress between runs, and Book
// completes its job as well.
//
// JSON is passed as a string with its type in the SQL, so that every query mode of pgx can
// encode it, also those for PgBouncer.

package hotelstaysriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

var (
	errNoJob = errors.New("no such job")
	// errMoved: the job has changed since it was read.
	errMoved = errors.New("the job has changed meanwhile")
)

// jobTable is River's table of jobs.
type jobTable struct{ name string }

func newJobTable(schema string) jobTable {
	name := pgx.Identifier{"river_job"}
	if schema != "" {
		name = pgx.Identifier{schema, "river_job"}
	}
	return jobTable{name.Sanitize()}
}

// lockedJob is a job that the transaction has locked.
type lockedJob struct {
	ID    int64
	State rivertype.JobState
	Taken *time.Time // when a worker last took it
	Args  jobArgs
}

func (j *lockedJob) running() bool { return j.State == rivertype.JobStateRunning }

// takenBy reports whether run is the latest run of the job, and has not ended.
func (j *lockedJob) takenBy(run *rivertype.JobRow) bool {
	return j.running() && j.Taken != nil && run.AttemptedAt != nil && j.Taken.Equal(*run.AttemptedAt)
}

// unchanged reports whether a job is still as a run has polled for it. It is not, if another run
// has it, or if a Book under its reference has ended since.
func (j *lockedJob) unchanged(run *rivertype.JobRow, polled durable.Booking) bool {
	polled.Due = time.Time{} // not part of the arguments
	return j.takenBy(run) && reflect.DeepEqual(j.Args.Booking, polled)
}

// A job that has ended without an ending was cancelled or discarded.
const jobColumns = `id, state::text, attempted_at, args,
	CASE WHEN finalized_at IS NULL THEN '' ELSE coalesce(metadata ->> 'hotelstays_ending', 'abandoned') END`

func scanJob(row pgx.Row) (*lockedJob, error) {
	var j lockedJob
	var args []byte
	var ending durable.Ending
	err := row.Scan(&j.ID, &j.State, &j.Taken, &args, &ending)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, errNoJob
	case err != nil:
		return nil, fmt.Errorf("hotelstaysriver: reading a job: %w", err)
	}
	if err := json.Unmarshal(args, &j.Args); err != nil {
		return nil, fmt.Errorf("hotelstaysriver: cannot read the arguments of job %d: %w", j.ID, err)
	}
	j.Args.Ending = ending
	return &j, nil
}

func (t jobTable) lock(ctx context.Context, tx pgx.Tx, id int64) (*lockedJob, error) {
	j, err := scanJob(tx.QueryRow(ctx, `SELECT `+jobColumns+` FROM `+t.name+` WHERE id = $1 FOR UPDATE`, id))
	if errors.Is(err, errNoJob) {
		return nil, fmt.Errorf("hotelstaysriver: job %d is no longer in River's table", id)
	}
	return j, err
}

// latest returns the live job of a booking, or else the last one, or errNoJob. A job that
// is to be left out has the id except. lock ends the statement.
func (t jobTable) latest(ctx context.Context, tx pgx.Tx, reference, account string, except int64, lock string) (*lockedJob, error) {
	key, err := json.Marshal(map[string]string{"reference": reference, "account": account})
	if err != nil {
		return nil, err
	}
	return scanJob(tx.QueryRow(ctx, `SELECT `+jobColumns+` FROM `+t.name+`
		WHERE args @> $1::jsonb AND kind = $2 AND id <> $3 ORDER BY finalized_at IS NULL DESC, id DESC LIMIT 1 `+lock,
		string(key), jobKind, except))
}

// lockLatest locks the live job of a booking, or else the last one.
func (t jobTable) lockLatest(ctx context.Context, tx pgx.Tx, reference, account string) (*lockedJob, error) {
	return t.latest(ctx, tx, reference, account, 0, "FOR UPDATE")
}

// lockLive locks the live job of a booking, or returns errNoJob.
func (t jobTable) lockLive(ctx context.Context, tx pgx.Tx, reference, account string) (*lockedJob, error) {
	j, err := t.lockLatest(ctx, tx, reference, account)
	if err == nil && j.Args.Ending != "" {
		return nil, errNoJob
	}
	return j, err
}

// setArgs stores the arguments of a locked job.
func (t jobTable) setArgs(ctx context.Context, tx pgx.Tx, j *lockedJob) error {
	args, err := json.Marshal(j.Args)
	if err != nil {
		return err
	}
	return write(ctx, tx, `UPDATE `+t.name+` SET args = $2::jsonb WHERE id = $1`, j.ID, string(args))
}

// store stores a booking in its locked job, and makes the job available when it is due,
// unless a worker runs it.
func (t jobTable) store(ctx context.Context, tx pgx.Tx, j *lockedJob, next durable.Booking) error {
	j.Args.Booking = next
	if err := t.setArgs(ctx, tx, j); err != nil {
		return err
	}
	return write(ctx, tx, `UPDATE `+t.name+` SET state = 'available', scheduled_at = $2
		WHERE id = $1 AND state <> 'running'`, j.ID, next.Due)
}

// complete completes a locked job. Its ending is not among the arguments, so that a person can
// retry the job.
func (t jobTable) complete(ctx context.Context, tx pgx.Tx, j *lockedJob, ended durable.Booking) error {
	j.Args.Changes = ended.Changes
	if err := t.setArgs(ctx, tx, j); err != nil {
		return err
	}
	return write(ctx, tx, `UPDATE `+t.name+` SET state = 'completed', finalized_at = now(),
		metadata = metadata || jsonb_build_object('hotelstays_ending', $2::text) WHERE id = $1`, j.ID, string(ended.Ending))
}

// commitToDisk makes the commit wait for the disk, also if synchronous_commit is off. The
// log is written in order, so the caller's row and the job are then on disk, too.
func commitToDisk(ctx context.Context, tx pgx.Tx) error {
	return write(ctx, tx, `SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`)
}

func write(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
	if _, err := tx.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("hotelstaysriver: storing a job: %w", err)
	}
	return nil
}
