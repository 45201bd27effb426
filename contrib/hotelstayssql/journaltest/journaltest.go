// Package journaltest lets time pass for bookings and cancellations in a journal.
//
// A recovery takes up to ten minutes. A test that waits for its end moves the stored times back
// instead:
//
//	err := journaltest.PassTime(ctx, db, hotelstayssql.SQLite, time.Minute, nil)
//
// This package is outside the compatibility promise: a minor version may change it.
package journaltest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
)

// PassTime moves the times of open bookings, cancellations and followed orders of all accounts in
// the database back by d. If which is not nil, it moves only bookings that which selects, and no
// cancellation whose Cancel may be under way. A row that changes meanwhile, or that a process has
// locked, keeps its times.
//
// Leave out bookings whose Book may be under way, with [PollsOnly]: Run takes over a booking when
// its time to book has passed.
func PassTime(ctx context.Context, db *sql.DB, dialect hotelstayssql.Dialect, d time.Duration, which func(durable.Booking) bool) error {
	return errors.Join(
		passTime(ctx, db, dialect, "hotelstays_journal", "booking", d, func(text []byte, f fields) bool {
			var booking durable.Booking
			var recovery fields
			if json.Unmarshal(text, &booking) != nil || json.Unmarshal(f["recovery"], &recovery) != nil || which != nil && !which(booking) {
				return false
			}
			f.back(d, "bookBy", "earlier")
			recovery.back(d, "endedAt", "nextPoll")
			f["recovery"], _ = json.Marshal(recovery)
			return true
		}),
		passTime(ctx, db, dialect, "hotelstays_orders", "state", d, func(_ []byte, f fields) bool {
			f.back(d, "since", "missingSince")
			return true
		}),
		passTime(ctx, db, dialect, "hotelstays_cancels", "state", d, func(_ []byte, c fields) bool {
			if _, ended := c["ending"]; which != nil && !ended && time.Now().Before(c.time("sendBy")) {
				return false
			}
			c.back(d, "begun", "bound", "sendBy")
			return true
		}))
}

// fields are the fields of a state. Only the times matter here.
type fields map[string]json.RawMessage

func (f fields) time(name string) (at time.Time) {
	_ = json.Unmarshal(f[name], &at)
	return at
}

// back moves the times back that are set.
func (f fields) back(d time.Duration, names ...string) {
	for _, name := range names {
		if at := f.time(name); !at.IsZero() {
			f[name], _ = json.Marshal(at.Add(-d))
		}
	}
}

// passTime moves the times of a table whose rows have a state in a column.
func passTime(ctx context.Context, db *sql.DB, dialect hotelstayssql.Dialect, table, column string, d time.Duration,
	move func(text []byte, f fields) bool) error {
	rows, err := open(ctx, db, dialect, table, column)
	if err != nil {
		return err
	}
	for _, r := range rows {
		var state fields
		if json.Unmarshal(r.state, &state) != nil || !move(r.state, state) {
			continue
		}
		if r.state, err = json.Marshal(state); err != nil {
			return err
		}
		r.due -= d.Microseconds()
		if err := r.store(ctx, db, dialect, table, column); err != nil {
			return err
		}
	}
	return nil
}

// store skips locked rows: a frozen process may hold the lock. SQLite has no row locks.
func (r *row) store(ctx context.Context, db *sql.DB, dialect hotelstayssql.Dialect, table, column string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if dialect != hotelstayssql.SQLite {
		err := tx.QueryRowContext(ctx, translate(dialect, `SELECT fence FROM `+table+` WHERE account = ? AND reference = ?
			FOR UPDATE SKIP LOCKED`), r.account, r.reference).Scan(new(int64))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, translate(dialect,
		`UPDATE `+table+` SET due = ?, `+column+` = ? WHERE account = ? AND reference = ? AND fence = ?`),
		r.due, r.state, r.account, r.reference, r.fence); err != nil {
		return err
	}
	return tx.Commit()
}

// PollsOnly selects the bookings that are polled for, for PassTime: those whose Book has ended, or whose
// time to book has passed.
func PollsOnly(b durable.Booking) bool { return b.Phase(time.Now()) == durable.PhasePolling }

// row is an open booking or cancellation. Its fence changes with every write.
type row struct {
	account, reference, state []byte
	fence, due                int64
}

func open(ctx context.Context, db *sql.DB, dialect hotelstayssql.Dialect, table, column string) (all []row, err error) {
	rows, err := db.QueryContext(ctx, translate(dialect, `SELECT account, reference, `+column+`, fence, due FROM `+table+` WHERE live = 1`))
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

// translate writes parameters as the dialect does.
func translate(dialect hotelstayssql.Dialect, statement string) string {
	for i := 1; dialect == hotelstayssql.PostgreSQL && strings.Contains(statement, "?"); i++ {
		statement = strings.Replace(statement, "?", "$"+strconv.Itoa(i), 1)
	}
	return statement
}
