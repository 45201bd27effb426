// Package journaltest lets time pass for bookings and cancellations in a journal.
//
// A recovery takes up to ten minutes. A test need not wait for its end: it moves the stored times back:
//
//	err := journaltest.PassTime(ctx, db, hotelstayssql.SQLite, time.Minute, nil)
//
// This package is outside the compatibility promise: a minor version may change it.
package journaltest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
)

// PassTime moves the times of open bookings, cancellations and followed orders of all accounts in the database back by
// d. The last parameter is a function that selects the bookings; nil selects all of them. With such a function,
// PassTime also leaves out each cancellation whose Cancel may be in progress. A row that changes during the call, or
// that a process has locked, keeps its times.
//
// Use [PollsOnly] to leave out bookings whose Book may be in progress. Otherwise Run takes over such a booking while
// its Book still runs.
func PassTime(ctx context.Context, db *sql.DB, dialect hotelstayssql.Dialect, d time.Duration, which func(durable.Booking) bool) error {
	var problems []error
	for _, t := range []table{
		{"hotelstays_journal", "booking", func(state []byte) bool {
			var b durable.Booking
			return json.Unmarshal(state, &b) == nil && (which == nil || which(b))
		}},
		{"hotelstays_orders", "state", func([]byte) bool { return true }},
		{"hotelstays_cancels", "state", func(state []byte) bool {
			var c struct {
				SendBy time.Time
				Ending durable.CancelEnding
			}
			return json.Unmarshal(state, &c) == nil && (which == nil || c.Ending != "" || !time.Now().Before(c.SendBy))
		}},
	} {
		problems = append(problems, t.passTime(ctx, db, dialect, d))
	}
	return errors.Join(problems...)
}

// table names a database table, and its column for the state of a row.
type table struct {
	name, column string
	moves        func(state []byte) bool // whether PassTime moves the times of a row with this state
}

// times matches the JSON fields of a state that PassTime moves back. Workers compare the times in these fields with the
// clock.
var times = regexp.MustCompile(`"(bookBy|earlier|endedAt|nextPoll|begun|bound|sendBy|since|missingSince)":"[^"]*"`)

func (t table) passTime(ctx context.Context, db *sql.DB, dialect hotelstayssql.Dialect, d time.Duration) error {
	rows, err := t.open(ctx, db, dialect)
	for _, r := range rows {
		if err != nil {
			break
		}
		if !t.moves(r.state) {
			continue
		}
		r.due -= d.Microseconds()
		r.state = times.ReplaceAllFunc(r.state, func(field []byte) []byte {
			name, value, _ := bytes.Cut(field, []byte(":"))
			var at time.Time
			if json.Unmarshal(value, &at) != nil || at.IsZero() {
				return field
			}
			value, _ = json.Marshal(at.Add(-d))
			return slices.Concat(name, []byte(":"), value)
		})
		err = t.store(ctx, db, dialect, r)
	}
	return err
}

// store writes a changed row. It skips a locked row, because a frozen process may hold the lock. SQLite has no row
// locks.
func (t table) store(ctx context.Context, db *sql.DB, dialect hotelstayssql.Dialect, r row) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if dialect != hotelstayssql.SQLite {
		err := tx.QueryRowContext(ctx, translate(dialect, `SELECT fence FROM `+t.name+` WHERE account = ? AND reference = ?
			FOR UPDATE SKIP LOCKED`), r.account, r.reference).Scan(new(int64))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, translate(dialect,
		`UPDATE `+t.name+` SET due = ?, `+t.column+` = ? WHERE account = ? AND reference = ? AND fence = ?`),
		r.due, r.state, r.account, r.reference, r.fence); err != nil {
		return err
	}
	return tx.Commit()
}

// PollsOnly selects the bookings for which workers poll: Book has ended, or the time limit of Book has
// passed. Pass PollsOnly to PassTime.
func PollsOnly(b durable.Booking) bool { return b.Phase(time.Now()) == durable.PhasePolling }

// row is an open row of a table. Every write of the row changes its fence.
type row struct {
	account, reference, state []byte
	fence, due                int64
}

func (t table) open(ctx context.Context, db *sql.DB, dialect hotelstayssql.Dialect) (all []row, err error) {
	rows, err := db.QueryContext(ctx, translate(dialect, `SELECT account, reference, `+t.column+`, fence, due FROM `+t.name+` WHERE live = 1`))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.account, &r.reference, &r.state, &r.fence, &r.due); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// translate replaces each ? of a statement by $1, $2 and so on if the dialect is PostgreSQL.
func translate(dialect hotelstayssql.Dialect, statement string) string {
	for i := 1; dialect == hotelstayssql.PostgreSQL && strings.Contains(statement, "?"); i++ {
		statement = strings.Replace(statement, "?", "$"+strconv.Itoa(i), 1)
	}
	return statement
}
