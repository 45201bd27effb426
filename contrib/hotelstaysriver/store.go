// The store of the engine: River's table.
//
// River itself never changes a job's arguments, and completes a job only while a worker runs the job. This package also
// changes arguments between runs, and Send can complete a job.
//
// JSON is passed as a string with its type in the SQL, so that every query mode of pgx can
// encode it, also the modes for PgBouncer.

package hotelstaysriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

// store is a durable.Store that keeps rows as jobs in River's table.
type store struct {
	pool             *pgxpool.Pool
	river            *river.Client[pgx.Tx] // client that only inserts jobs
	queue            string
	table, stateType string
	idle             time.Duration // maximum time that a transaction may be idle
}

func nameIn(schema, name string) string {
	if schema == "" {
		return pgx.Identifier{name}.Sanitize()
	}
	return pgx.Identifier{schema, name}.Sanitize()
}

var liveStates = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// queueOf returns the queue for jobs of a kind. Jobs that an older version of this package inserted are all in the
// queue of bookings.
func (s *store) queueOf(kind durable.Kind) string {
	switch kind {
	case durable.KindCancel:
		return s.queue + "_cancel"
	case durable.KindOrder:
		return s.queue + "_order"
	}
	return s.queue
}

// InTx calls f in a transaction. The commit waits for the disk, even if synchronous_commit is off. Earlier commits of
// the caller are then on disk, too, because PostgreSQL writes its log in order.
//
// The transaction is READ COMMITTED, whatever the default of the connections. A serializable transaction would fail
// because of other jobs, because it reads the whole table if the table is small.
//
// PostgreSQL ends the transaction if it is idle for longer than s.idle. Otherwise a hanging function of the caller, or
// a machine that has lost its network, would lock its job for hours. River's rescuer and scheduler would wait for that
// lock.
func (s *store) InTx(ctx context.Context, _ bool, f func(context.Context, pgx.Tx) error) error {
	begin := fmt.Sprintf(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = %d;
		SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`, s.idle.Milliseconds())
	return durable.Repeat(ctx, func() error {
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{BeginQuery: begin}, func(tx pgx.Tx) error { return f(ctx, tx) })
	})
}

// Insert inserts a job. If the reference has a live job, it locks and returns that job instead. It does not lock an
// ended job of the reference: another transaction may hold that lock and wait for the new job, so a deadlock could
// occur.
func (s *store) Insert(ctx context.Context, tx pgx.Tx, row *durable.Row) (before *durable.Row, err error) {
	if err := check(tx, row.Reference); err != nil {
		return nil, err
	}
	opts := &river.InsertOpts{
		MaxAttempts: math.MaxInt16, // the maximum, because River discards a job after its last attempt (see countedFailures)
		Queue:       s.queueOf(row.Kind),
		Priority:    lastPriority,
		UniqueOpts:  river.UniqueOpts{ByArgs: true, ByState: liveStates},
	}
	if row.Due.After(time.Now()) { // a due job must not wait for River's scheduler, which runs every five seconds
		opts.ScheduledAt = row.Due
	}
	inserted, err := s.river.InsertTx(ctx, tx, s.args(row), opts)
	if err != nil {
		return nil, err
	}
	if inserted.UniqueSkippedAsDuplicate {
		return s.Lock(ctx, tx, row.ID)
	}
	row.Version = version{id: inserted.Job.ID}
	if before, err = s.latest(ctx, tx, row.ID, inserted.Job.ID, ""); before != nil {
		before.Life = durable.Over // the new job replaces the earlier job, even if tx still reads the earlier job as live
	}
	return before, err
}

func (s *store) args(row *durable.Row) args {
	return args{row.Reference, row.Account, row.Sealed, row.Kind, row.State}
}

func check(tx pgx.Tx, reference string) error {
	if strings.ContainsRune(reference, 0) {
		return fmt.Errorf("customerReferenceNo is %q; PostgreSQL cannot store the character NUL", reference)
	}
	if tx == nil {
		return errors.New("tx is nil; pass the transaction of your own row")
	}
	return nil
}

// Lock locks and returns the live job of a reference, or its last job if no job is live.
func (s *store) Lock(ctx context.Context, tx pgx.Tx, id durable.ID) (*durable.Row, error) {
	if err := check(tx, id.Reference); err != nil {
		return nil, err
	}
	for ended := any(nil); ; {
		row, err := s.latest(ctx, tx, id, 0, "FOR UPDATE")
		if err != nil || row == nil || row.Life == durable.Open || row.Version == ended {
			return row, err
		}
		ended = row.Version // look again, because another job may have been inserted while this call waited for the lock
	}
}

// Look returns the live job of a reference, or its last job if no job is live.
func (s *store) Look(ctx context.Context, tx pgx.Tx, id durable.ID) (*durable.Row, error) {
	if err := check(tx, id.Reference); err != nil {
		return nil, err
	}
	return s.latest(ctx, tx, id, 0, "")
}

// Read is like Look, but needs no transaction.
func (s *store) Read(ctx context.Context, id durable.ID) (*durable.Row, error) {
	return s.latest(ctx, s.pool, id, 0, "")
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// endingOf is an SQL expression for the ending of a booking. The ending is in the job's metadata and not in the
// arguments, so that a person can retry the job in River. A job that River has cancelled or discarded has no ending.
const endingOf = `CASE WHEN kind = 'hotelstays_booking' AND finalized_at IS NOT NULL AND metadata ? 'hotelstays_ending'
	THEN jsonb_build_object('ending', metadata -> 'hotelstays_ending') ELSE '{}' END`

// find returns the jobs of a kind that meet an SQL condition. The condition refers to the first of params as $2.
func (s *store) find(ctx context.Context, q querier, kind durable.Kind, condition string, params ...any) ([]durable.Row, error) {
	rows, err := q.Query(ctx, `SELECT id, state::text, attempted_at, scheduled_at, finalized_at, args || `+endingOf+`,
		args ->> 'account', args ->> 'reference' FROM `+s.table+` WHERE kind = $1 AND `+condition,
		append([]any{args{kind: kind}.Kind()}, params...)...)
	if err != nil {
		return nil, fmt.Errorf("reading jobs: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(of pgx.CollectableRow) (durable.Row, error) {
		var job rivertype.JobRow
		var account, reference string
		err := of.Scan(&job.ID, &job.State, &job.AttemptedAt, &job.ScheduledAt, &job.FinalizedAt, &job.EncodedArgs, &account, &reference)
		row := rowOf(kind, &job)
		row.Account, row.Reference = account, reference
		return *row, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading jobs: %w", err)
	}
	return found, nil
}

// latest returns the live job of a reference, or its last job if no job is live. The parameter except is the id of a
// job to ignore. The parameter lock is the last part of the SQL statement, such as FOR UPDATE.
func (s *store) latest(ctx context.Context, q querier, id durable.ID, except int64, lock string) (*durable.Row, error) {
	wanted, err := json.Marshal(map[string]string{"account": id.Account, "reference": id.Reference})
	if err != nil {
		return nil, err
	}
	rows, err := s.find(ctx, q, id.Kind, `args @> $2::jsonb AND id <> $3 ORDER BY finalized_at IS NULL DESC, id DESC LIMIT 1 `+lock,
		string(wanted), except)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// List returns jobs in the order in which they were inserted. In an order by account or reference, each page would read
// all jobs, because River has no such index.
func (s *store) List(ctx context.Context, after durable.Row, all bool, limit int) ([]durable.Row, error) {
	last, _ := after.Version.(version)
	return s.find(ctx, s.pool, after.Kind, `finalized_at IS NULL AND ($2 OR args ->> 'account' = $3) AND id > $4
		ORDER BY id LIMIT `+fmt.Sprint(limit), all, after.Account, last.id)
}

// Save stores a row in its job. The job of an open row becomes available when it is due, even if it was cancelled
// before. If a worker runs that job, Save changes attempted_at instead, so that River's rescuer leaves the job to the
// worker for longer.
func (s *store) Save(ctx context.Context, tx pgx.Tx, row *durable.Row) error {
	text, err := json.Marshal(s.args(row))
	if err != nil {
		return err
	}
	of, _ := row.Version.(version)
	params := []any{of.id, string(text)}
	set := `args = $2::jsonb, attempted_at = now()`
	switch {
	case row.Life != durable.Open:
		set = `args = CASE kind WHEN 'hotelstays_booking' THEN $2::jsonb - 'ending' ELSE $2::jsonb END, finalized_at = now(),
			state = (CASE $2::jsonb ->> 'ending' WHEN 'abandoned' THEN 'cancelled' ELSE 'completed' END)::` + s.stateType + `,
			metadata = metadata || jsonb_strip_nulls(jsonb_build_object('hotelstays_ending', $2::jsonb -> 'ending'))`
	case !row.Busy:
		set = `args = $2::jsonb, state = 'available', scheduled_at = $3, finalized_at = NULL,
			metadata = metadata - 'cancel_attempted_at' - 'hotelstays_ending'`
		params = append(params, row.Due)
	}
	if _, err := tx.Exec(ctx, `UPDATE `+s.table+` SET `+set+` WHERE id = $1`, params...); err != nil {
		return fmt.Errorf("storing a job: %w", err)
	}
	return nil
}

// lastPriority is River's lowest priority. New jobs have it until takeTurns changes it.
const lastPriority = 4

// takeTurns sets River's priorities of the due jobs of a kind, so that accounts take turns: the first job of each
// account runs before the second job of any account, and so on.
//
// It skips locked jobs, because a frozen process may hold the lock.
func (s *store) takeTurns(ctx context.Context, kind durable.Kind) error {
	_, err := s.pool.Exec(ctx, `WITH due AS (
			SELECT id, least($2, row_number() OVER (PARTITION BY args ->> 'account' ORDER BY scheduled_at, id)) AS turn
			FROM `+s.table+` WHERE state = 'available' AND queue = $1 AND scheduled_at <= now()
		), late AS (
			SELECT id, turn FROM due JOIN `+s.table+` AS job USING (id) WHERE priority <> turn
			FOR UPDATE OF job SKIP LOCKED
		)
		UPDATE `+s.table+` AS job SET priority = turn FROM late WHERE job.id = late.id`, s.queueOf(kind), lastPriority)
	return err
}

// Failed adds to an error the names of the package and of the call.
func (s *store) Failed(call string, err error) error {
	return fmt.Errorf("hotelstaysriver: %s: %w", call, err)
}
