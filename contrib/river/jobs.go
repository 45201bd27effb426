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
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

// errMoved: the job has changed since it was read.
var errMoved = errors.New("the job has changed meanwhile")

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
	ID         int64
	State      rivertype.JobState
	Taken      *time.Time // when a worker last took it
	Args       jobArgs
	unreadable error // why Args has the reference alone
}

func (j *lockedJob) running() bool { return j.State == rivertype.JobStateRunning }

// takenBy reports whether run is the latest run of the job, and has not ended.
func (j *lockedJob) takenBy(run *rivertype.JobRow) bool {
	return j.running() && j.Taken != nil && run.AttemptedAt != nil && j.Taken.Equal(*run.AttemptedAt)
}

// unchanged reports whether a job is still as a run has polled for it. It is not, if another run
// has it, or if a Book under its reference has ended since.
func (j *lockedJob) unchanged(run *rivertype.JobRow, polled durable.Booking) bool {
	polled.Due = j.Args.Due // not part of the arguments
	return j.takenBy(run) && reflect.DeepEqual(j.Args.Booking, polled)
}

// A job that was cancelled or discarded has no ending of its own.
const jobColumns = `id, state::text, attempted_at, scheduled_at, args, args ->> 'reference',
	CASE WHEN finalized_at IS NULL THEN '' ELSE coalesce(metadata ->> 'hotelstays_ending', 'abandoned') END`

// scanJob reads a job, or returns durable.ErrNotBegun.
func scanJob(row pgx.Row) (*lockedJob, error) {
	var j lockedJob
	var args []byte
	var due time.Time
	var reference string
	var ending durable.Ending
	err := row.Scan(&j.ID, &j.State, &j.Taken, &due, &args, &reference, &ending)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, durable.ErrNotBegun
	case err != nil:
		return nil, fmt.Errorf("reading a job: %w", err)
	}
	if err := json.Unmarshal(args, &j.Args); err != nil {
		err = fmt.Errorf("cannot read the arguments of job %d, which somebody has changed by hand: %w", j.ID, err)
		return &lockedJob{ID: j.ID, Args: jobArgs{Reference: reference}, unreadable: err}, err
	}
	j.Args.Due, j.Args.Ending = due.UTC(), ending
	return &j, nil
}

func (t jobTable) lock(ctx context.Context, tx pgx.Tx, id int64) (*lockedJob, error) {
	j, err := scanJob(tx.QueryRow(ctx, `SELECT `+jobColumns+` FROM `+t.name+` WHERE id = $1 FOR UPDATE`, id))
	if errors.Is(err, durable.ErrNotBegun) {
		return nil, fmt.Errorf("job %d is no longer in River's table", id)
	}
	return j, err
}

// latest returns the live job of a booking, or else the last one, or durable.ErrNotBegun. A job that
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

// pageSize bounds how many jobs List has in memory at once.
const pageSize = 100

// page returns live jobs of an account, in the order of their references.
func (t jobTable) page(ctx context.Context, pool *pgxpool.Pool, account, after string) ([]*lockedJob, error) {
	key, err := json.Marshal(map[string]string{"account": account})
	if err != nil {
		return nil, err
	}
	rows, err := pool.Query(ctx, `SELECT `+jobColumns+` FROM `+t.name+`
		WHERE args @> $1::jsonb AND kind = $2 AND finalized_at IS NULL AND (args ->> 'reference') COLLATE "C" > $3
		ORDER BY (args ->> 'reference') COLLATE "C" LIMIT `+fmt.Sprint(pageSize), string(key), jobKind, after)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*lockedJob, error) {
		j, err := scanJob(row)
		if j != nil {
			err = nil // List reports the unreadable job
		}
		return j, err
	})
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
// unless a worker runs it. A job that was cancelled is open again.
func (t jobTable) store(ctx context.Context, tx pgx.Tx, j *lockedJob, next durable.Booking) error {
	if j.Args.Booking = next; !next.BookBy.IsZero() {
		j.Args.Request = nil
	}
	if err := t.setArgs(ctx, tx, j); err != nil {
		return err
	}
	return write(ctx, tx, `UPDATE `+t.name+` SET state = 'available', scheduled_at = $2, finalized_at = NULL,
		metadata = metadata - 'cancel_attempted_at' WHERE id = $1 AND state <> 'running'`, j.ID, next.Due)
}

// end completes a locked job, or cancels it if its booking was abandoned. Its ending is not among
// the arguments, so that a person can retry the job.
func (t jobTable) end(ctx context.Context, tx pgx.Tx, j *lockedJob, ended durable.Booking) error {
	j.Args.Changes, j.Args.Request = ended.Changes, nil
	if err := t.setArgs(ctx, tx, j); err != nil {
		return err
	}
	state := rivertype.JobStateCompleted
	if ended.Ending == durable.EndingAbandoned {
		state = rivertype.JobStateCancelled
	}
	return write(ctx, tx, `UPDATE `+t.name+` SET state = '`+string(state)+`', finalized_at = now(),
		metadata = metadata || jsonb_build_object('hotelstays_ending', $2::text) WHERE id = $1`, j.ID, string(ended.Ending))
}

// commitToDisk makes the commit wait for the disk, also if synchronous_commit is off. The
// log is written in order, so the caller's row and the job are then on disk, too.
func commitToDisk(ctx context.Context, tx pgx.Tx) error {
	return write(ctx, tx, `SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`)
}

func write(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
	if _, err := tx.Exec(ctx, sql, args...); err != nil {
		return fmt.Errorf("storing a job: %w", err)
	}
	return nil
}
