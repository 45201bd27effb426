// The statements that touch River's table. River changes a job's arguments never, and
// completes a job only while a worker runs it; a recovery makes progress between runs,
// and ends in the process that booked as well.
//
// JSON is passed as a string, with its type in the SQL: so every way of pgx to run a query
// can encode it, those for a PgBouncer included.

package hotelstaysriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/rivertype"
)

// errNoJob: there is no such job.
var errNoJob = errors.New("no such job")

// jobTable is River's table of jobs.
type jobTable struct{ name string }

func newJobTable(schema string) jobTable {
	name := pgx.Identifier{"river_job"}
	if schema != "" {
		name = pgx.Identifier{schema, "river_job"}
	}
	return jobTable{name.Sanitize()}
}

// lockedJob is a job that nobody else changes while the transaction lasts.
type lockedJob struct {
	ID     int64
	State  rivertype.JobState
	Taken  *time.Time // when a worker took it last
	Args   jobArgs
	Ending State // of a job that has ended
}

func (j *lockedJob) live() bool    { return slices.Contains(liveStates, j.State) }
func (j *lockedJob) running() bool { return j.State == rivertype.JobStateRunning }

// takenBy tells whether a run of the job is its latest, and has not ended.
func (j *lockedJob) takenBy(run *rivertype.JobRow) bool {
	return j.running() && j.Taken != nil && run.AttemptedAt != nil && j.Taken.Equal(*run.AttemptedAt)
}

// describe says how a job ended.
func (j *lockedJob) describe() string {
	if j.Ending == "" {
		return string(j.State)
	}
	return string(j.Ending)
}

// begun tells whether somebody has begun to book, or to ask.
func (j *lockedJob) begun() bool { return !j.Args.BookBy.IsZero() }

const jobColumns = `id, state::text, attempted_at, args, coalesce(metadata ->> 'hotelstays_ending', '')`

func scanJob(row pgx.Row) (*lockedJob, error) {
	var j lockedJob
	var args []byte
	err := row.Scan(&j.ID, &j.State, &j.Taken, &args, &j.Ending)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, errNoJob
	case err != nil:
		return nil, fmt.Errorf("hotelstaysriver: reading a job: %w", err)
	}
	if err := json.Unmarshal(args, &j.Args); err != nil {
		return nil, fmt.Errorf("hotelstaysriver: the arguments of job %d cannot be read: %w", j.ID, err)
	}
	return &j, nil
}

// lock locks a job.
func (t jobTable) lock(ctx context.Context, tx pgx.Tx, id int64) (*lockedJob, error) {
	j, err := scanJob(tx.QueryRow(ctx, `SELECT `+jobColumns+` FROM `+t.name+` WHERE id = $1 FOR UPDATE`, id))
	if errors.Is(err, errNoJob) {
		return nil, fmt.Errorf("hotelstaysriver: job %d is gone from River's table", id)
	}
	return j, err
}

// lockLive locks the job of a booking that has not ended, or returns errNoJob.
func (t jobTable) lockLive(ctx context.Context, tx pgx.Tx, reference, account string) (*lockedJob, error) {
	key, err := json.Marshal(map[string]string{"reference": reference, "account": account})
	if err != nil {
		return nil, err
	}
	return scanJob(tx.QueryRow(ctx, `SELECT `+jobColumns+` FROM `+t.name+`
		WHERE args @> $1::jsonb AND kind = $2 AND finalized_at IS NULL FOR UPDATE`, string(key), jobKind))
}

// set stores the arguments of a locked job.
func (t jobTable) set(ctx context.Context, tx pgx.Tx, j *lockedJob) error {
	args, err := j.Args.encode()
	if err != nil {
		return err
	}
	return write(ctx, tx, `UPDATE `+t.name+` SET args = $2::jsonb WHERE id = $1`, j.ID, string(args))
}

// due makes a locked job that is not running available at a time.
func (t jobTable) due(ctx context.Context, tx pgx.Tx, id int64, at time.Time) error {
	return write(ctx, tx, `UPDATE `+t.name+` SET state = 'available', scheduled_at = $2 WHERE id = $1 AND state <> 'running'`, id, at)
}

// complete ends a locked job.
func (t jobTable) complete(ctx context.Context, tx pgx.Tx, id int64, ending State) error {
	return write(ctx, tx, `UPDATE `+t.name+` SET state = 'completed', finalized_at = now(),
		metadata = metadata || jsonb_build_object('hotelstays_ending', $2::text) WHERE id = $1`, id, string(ending))
}

// outliveCrash makes the transaction's commit wait for the disk where the server or the
// pool have synchronous_commit off. The log is written in order: what was committed before,
// the caller's row and the job, is on disk by then, too.
func outliveCrash(ctx context.Context, tx pgx.Tx) error {
	return write(ctx, tx, `SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`)
}

func write(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
	if _, err := tx.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("hotelstaysriver: storing a job: %w", err)
	}
	return nil
}
