// SQL on River's table. River itself never changes a job's arguments, and completes a job
// only while a worker runs it. Here a recovery makes progress between runs, and Book
// completes its job as well.
//
// JSON is passed as a string with its type in the SQL, so that every query mode of pgx can
// encode it, also those for PgBouncer.

package hotelstaysriver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

// errMoved: the job has changed since it was read.
var errMoved = errors.New("the job has changed meanwhile")

// jobArgs are the arguments of a job. Two of them make a live job unique among those of its kind.
type jobArgs interface {
	river.JobArgs
	key() (reference, account string)
}

// withoutNUL removes the escape of NUL from JSON, but not an escaped backslash before the
// same letters.
var withoutNUL = strings.NewReplacer(`\\`, `\\`, `\u0000`, ``)

// marshal removes the character NUL, which jsonb cannot hold, from the texts of arguments.
func marshal(args any) ([]byte, error) {
	text, err := json.Marshal(args)
	return []byte(withoutNUL.Replace(string(text))), err
}

// jobs are the jobs of a kind.
type jobs[A jobArgs] struct {
	table, account string
}

func jobsOf[A jobArgs](schema, account string) jobs[A] {
	name := pgx.Identifier{"river_job"}
	if schema != "" {
		name = pgx.Identifier{schema, "river_job"}
	}
	return jobs[A]{name.Sanitize(), account}
}

// storedJob is a job that a transaction has read.
type storedJob[A jobArgs] struct {
	ID         int64
	State      rivertype.JobState
	Taken      *time.Time // when a worker last took it
	Reference  string
	Args       A
	unreadable error // why there are no Args
}

// liveStates are the states of a job that has not ended.
var liveStates = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

func (j *storedJob[A]) live() bool    { return slices.Contains(liveStates, j.State) }
func (j *storedJob[A]) running() bool { return j.State == rivertype.JobStateRunning }

// unchanged reports whether a job is still as its latest run has read it. It is not, if another run
// has it, or if a Book under its reference has ended since.
func (j *storedJob[A]) unchanged(run *river.Job[A]) bool {
	if !j.running() || j.Taken == nil || run.AttemptedAt == nil || !j.Taken.Equal(*run.AttemptedAt) {
		return false
	}
	stored, err := json.Marshal(j.Args)
	read, errRead := json.Marshal(run.Args)
	return err == nil && errRead == nil && bytes.Equal(stored, read)
}

// A booking's job that was cancelled or discarded has no ending of its own.
const columns = `id, state::text, attempted_at, scheduled_at, args, args ->> 'reference',
	CASE WHEN finalized_at IS NULL THEN '' ELSE coalesce(metadata ->> 'hotelstays_ending', 'abandoned') END`

// scan reads a job, or returns durable.ErrNotBegun.
func (jobs[A]) scan(row pgx.Row) (*storedJob[A], error) {
	var j storedJob[A]
	var args []byte
	var due time.Time
	var ending durable.Ending
	err := row.Scan(&j.ID, &j.State, &j.Taken, &due, &args, &j.Reference, &ending)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, durable.ErrNotBegun
	case err != nil:
		return nil, fmt.Errorf("reading a job: %w", err)
	}
	if err := json.Unmarshal(args, &j.Args); err != nil {
		j.unreadable = fmt.Errorf("cannot read the arguments of job %d, which somebody has changed by hand: %w", j.ID, err)
		return &j, j.unreadable
	}
	if booking, ok := any(&j.Args).(*bookingArgs); ok {
		booking.Due, booking.Ending = due.UTC(), ending
	}
	return &j, nil
}

func (t jobs[A]) lock(ctx context.Context, tx pgx.Tx, id int64) (*storedJob[A], error) {
	j, err := t.scan(tx.QueryRow(ctx, `SELECT `+columns+` FROM `+t.table+` WHERE id = $1 FOR UPDATE`, id))
	if errors.Is(err, durable.ErrNotBegun) {
		return nil, fmt.Errorf("job %d is no longer in River's table", id)
	}
	return j, err
}

// lockUnchanged locks a job, or returns errMoved if it has changed since a run has read it.
func (t jobs[A]) lockUnchanged(ctx context.Context, tx pgx.Tx, run *river.Job[A]) (*storedJob[A], error) {
	locked, err := t.lock(ctx, tx, run.ID)
	if err == nil && !locked.unchanged(run) {
		err = errMoved
	}
	return locked, err
}

// latest returns the live job of a reference, or else the last one, or durable.ErrNotBegun. A job that
// is to be left out has the id except. lock ends the statement.
func (t jobs[A]) latest(ctx context.Context, tx pgx.Tx, reference string, except int64, lock string) (*storedJob[A], error) {
	wanted, err := json.Marshal(map[string]string{"reference": reference, "account": t.account})
	if err != nil {
		return nil, err
	}
	var kind A
	return t.scan(tx.QueryRow(ctx, `SELECT `+columns+` FROM `+t.table+`
		WHERE args @> $1::jsonb AND kind = $2 AND id <> $3 ORDER BY finalized_at IS NULL DESC, id DESC LIMIT 1 `+lock,
		string(wanted), kind.Kind(), except))
}

// lockLatest locks the live job of a reference, or else the last one.
func (t jobs[A]) lockLatest(ctx context.Context, tx pgx.Tx, reference string) (*storedJob[A], error) {
	return t.latest(ctx, tx, reference, 0, "FOR UPDATE")
}

// pageSize bounds how many jobs List has in memory at once.
const pageSize = 100

// page returns live jobs, in the order of their references.
func (t jobs[A]) page(ctx context.Context, pool *pgxpool.Pool, after string) ([]*storedJob[A], error) {
	wanted, err := json.Marshal(map[string]string{"account": t.account})
	if err != nil {
		return nil, err
	}
	var kind A
	rows, err := pool.Query(ctx, `SELECT `+columns+` FROM `+t.table+`
		WHERE args @> $1::jsonb AND kind = $2 AND finalized_at IS NULL AND (args ->> 'reference') COLLATE "C" > $3
		ORDER BY (args ->> 'reference') COLLATE "C" LIMIT `+fmt.Sprint(pageSize), string(wanted), kind.Kind(), after)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*storedJob[A], error) {
		j, err := t.scan(row)
		if j != nil {
			err = nil // List reports the unreadable job
		}
		return j, err
	})
}

// store stores the arguments of a locked job.
func (t jobs[A]) store(ctx context.Context, tx pgx.Tx, j *storedJob[A]) error {
	args, err := json.Marshal(j.Args)
	if err != nil {
		return err
	}
	return write(ctx, tx, `UPDATE `+t.table+` SET args = $2::jsonb WHERE id = $1`, j.ID, string(args))
}

// reschedule stores a locked job, and makes it available when it is due, unless a worker runs it. A
// job that was cancelled is open again.
func (t jobs[A]) reschedule(ctx context.Context, tx pgx.Tx, j *storedJob[A], due time.Time) error {
	if err := t.store(ctx, tx, j); err != nil {
		return err
	}
	return write(ctx, tx, `UPDATE `+t.table+` SET state = 'available', scheduled_at = $2, finalized_at = NULL,
		metadata = metadata - 'cancel_attempted_at' WHERE id = $1 AND state <> 'running'`, j.ID, due)
}

// end stores a locked job, and completes it, or cancels it if its booking was abandoned. The ending of
// a booking is not among the arguments, so that a person can retry the job.
func (t jobs[A]) end(ctx context.Context, tx pgx.Tx, j *storedJob[A], ending string) error {
	if err := t.store(ctx, tx, j); err != nil {
		return err
	}
	state := rivertype.JobStateCompleted
	if ending == string(durable.EndingAbandoned) {
		state = rivertype.JobStateCancelled
	}
	return write(ctx, tx, `UPDATE `+t.table+` SET state = '`+string(state)+`', finalized_at = now(),
		metadata = metadata || jsonb_build_object('hotelstays_ending', $2::text) WHERE id = $1`, j.ID, ending)
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
