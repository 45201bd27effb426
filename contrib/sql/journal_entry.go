// The rows of the journal.

package hotelstayssql

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

// row is a row of one of the tables.
type row struct {
	table     string
	reference string
	fence     int64  // changes with every write of the row
	live      int64  // one of the states below, as it was read
	stored    []byte // the JSON of what is in the row
}

func (r *row) at() *row         { return r }
func (r *row) setDue(time.Time) {}

// entry is a row of the journal.
type entry struct {
	row
	durable.Booking
	sealed []byte // the request, until Book is marked
}

func (e *entry) setDue(due time.Time) { e.Due = due }

func newEntry(reference string, b durable.Booking) *entry {
	return &entry{row: row{table: tableOfBookings, reference: reference, fence: newID()}, Booking: b}
}

// errMoved: the row has changed since it was read.
var errMoved = errors.New("the row has changed")

// States of an entry in the column live. An entry that has ended without an order may be
// replaced.
const (
	liveEnded = iota
	liveOpen
	liveBooked // it has ended with an order
)

// insert stores a new entry, or replaces one that has ended without an order.
func (j *Journal) insert(ctx context.Context, tx *sql.Tx, e *entry) error {
	text, err := json.Marshal(e.Booking)
	if err != nil {
		return err
	}
	// The assignments keep an open booking as it is, and one with an order. The booking of the
	// round before is read below.
	_, err = j.db.dialect.exec(ctx, tx, `INSERT INTO hotelstays_journal
			(account, reference, fence, live, due, booking, request) VALUES (?, ?, ?, 1, ?, ?, ?)
		{conflict account, reference}
			`+replaced(tableOfBookings, "live = 0", "fence", "due", "request", "live"),
		j.account, []byte(e.reference), e.fence, micros(e.Due), text, e.sealed)
	if err != nil {
		return err
	}
	// How many rows an upsert reports depends on the driver's settings.
	var fence, live int64
	var stored []byte
	err = tx.QueryRowContext(ctx, j.db.dialect.sql(`SELECT fence, live, booking FROM hotelstays_journal WHERE account = ? AND reference = ?`),
		j.account, []byte(e.reference)).Scan(&fence, &live, &stored)
	switch {
	case err == nil && live == liveBooked:
		return durable.ErrAlreadyBooked
	case errors.Is(err, sql.ErrNoRows) || err == nil && fence != e.fence:
		return durable.ErrAlreadyBegun
	case err != nil:
		return err
	}
	if e.stored = text; bytes.Equal(stored, text) {
		return nil
	}
	var before durable.Booking
	if err := json.Unmarshal(stored, &before); err != nil {
		return &unreadableError{e.row, err}
	}
	e.Earlier = before.LastBook()
	if e.stored, err = json.Marshal(e.Booking); err != nil {
		return err
	}
	_, err = j.db.dialect.exec(ctx, tx, `UPDATE hotelstays_journal SET booking = ? WHERE account = ? AND reference = ?`,
		e.stored, j.account, []byte(e.reference))
	return err
}

// read returns the entry of a reference, or durable.ErrNotBegun.
func (j *Journal) read(ctx context.Context, reference string) (*entry, error) {
	e, err := bookings.find(ctx, j, j.db, reference)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, durable.ErrNotBegun
	}
	return e, err
}

// scan reads a row.
func (j *Journal) scan(scan func(...any) error) (*entry, error) {
	e := newEntry("", durable.Booking{})
	err := j.scanState(scan, e, &e.Booking,
		func() (string, string) { return e.Recovery.CustomerReferenceNo, e.Recovery.Fingerprint }, &e.sealed)
	if err == nil && e.live != liveOf(e.Booking) {
		err = &unreadableError{e.row, fmt.Errorf("live is %d and the ending is %q", e.live, e.Ending)}
	}
	return e, err
}

// store stores the next booking of an entry, erases its request unless it still waits for Send, and
// calls then in the same transaction. It returns errMoved, and changes nothing, if the row has
// changed since the entry was read.
func (j *Journal) store(ctx context.Context, e *entry, next durable.Booking, then func(context.Context, *sql.Tx) error) error {
	text, err := withUnknown(e.stored, e.Booking, next)
	if err != nil {
		return err
	}
	assignments := `live = ?, due = ?, booking = ?`
	if !next.BookBy.IsZero() || next.Ending != "" {
		assignments += `, request = NULL`
	}
	err = j.write(ctx, &e.row, then, assignments, liveOf(next), micros(next.Due), text)
	if err == nil {
		e.Booking, e.stored = next, text
	}
	return err
}

// write updates the row, if it has not changed since it was read, and calls then in the same
// transaction. The error is errMoved if it has changed.
func (j *Journal) write(ctx context.Context, r *row, then func(context.Context, *sql.Tx) error,
	assignments string, values ...any) (err error) {
	update := func(tx *sql.Tx) error { return j.updateRow(ctx, tx, r, assignments, values...) }
	if then == nil {
		err = j.db.inTx(ctx, update)
	} else {
		id := newID()
		j.delivering.Store(id, r.reference)
		defer j.delivering.Delete(id)
		err = j.db.inGuardedTx(ctx, func(tx *sql.Tx) error {
			if err := update(tx); err != nil {
				return err
			}
			if err := then(ctx, tx); err != nil {
				return err
			}
			return j.stillWritten(ctx, tx, r)
		})
		if err == nil {
			j.watchers.Wake(r.reference)
		}
	}
	if err == nil {
		r.fence++
	}
	return err
}

// stillWritten returns errUndone if the transaction has lost its write of a row.
func (j *Journal) stillWritten(ctx context.Context, tx *sql.Tx, r *row) error {
	var fence int64
	err := tx.QueryRowContext(ctx, j.db.dialect.sql(`SELECT fence FROM `+r.table+` WHERE account = ? AND reference = ?`),
		j.account, []byte(r.reference)).Scan(&fence)
	if err == nil && fence != r.fence+1 {
		err = errUndone
	}
	return err
}

// leased is an entry of a table.
type leased interface {
	at() *row
	setDue(time.Time)
}

// postpone sets when entries of one table are due. It returns those that it has changed: it leaves
// out rows that have changed since they were read, or that another transaction has locked, whose
// process may be frozen.
func postpone[E leased](ctx context.Context, j *Journal, entries []E, due func(E) time.Time) (postponed []E, err error) {
	if len(entries) == 0 {
		return nil, nil
	}
	err = j.db.inTx(ctx, func(tx *sql.Tx) error {
		postponed = nil
		free, err := lock(ctx, j, tx, entries)
		for _, e := range free {
			err := j.updateRow(ctx, tx, e.at(), `due = ?`, micros(due(e)))
			switch {
			case err == nil:
				postponed = append(postponed, e)
			case !errors.Is(err, errMoved):
				return err
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, e := range postponed {
		e.at().fence++
		e.setDue(due(e))
	}
	return postponed, nil
}

// lock locks the rows of entries, and returns those that no other transaction has locked.
func lock[E leased](ctx context.Context, j *Journal, tx *sql.Tx, entries []E) (free []E, err error) {
	skipLocked := grammars[j.db.dialect].skipLocked
	if skipLocked == "" {
		return entries, nil
	}
	args := []any{j.account}
	for _, e := range entries {
		args = append(args, []byte(e.at().reference))
	}
	rows, err := tx.QueryContext(ctx, j.db.dialect.sql(
		`SELECT reference FROM `+entries[0].at().table+` WHERE account = ? AND reference IN (`+list("?", len(entries))+`) `+skipLocked), args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var reference string
		if err := rows.Scan(&reference); err != nil {
			return nil, err
		}
		free = append(free, entries[slices.IndexFunc(entries, func(e E) bool { return e.at().reference == reference })])
	}
	return free, rows.Err()
}

func liveOf(b durable.Booking) int64 {
	switch {
	case b.Ending == "":
		return liveOpen
	case b.Ending.HasOrder():
		return liveBooked
	}
	return liveEnded
}

// updateRow updates a row, if it has not changed since it was read.
func (j *Journal) updateRow(ctx context.Context, tx *sql.Tx, r *row, assignments string, values ...any) error {
	done, err := j.db.dialect.exec(ctx, tx, `UPDATE `+r.table+` SET fence = fence + 1, `+assignments+
		` WHERE account = ? AND reference = ? AND fence = ?`, append(values, j.account, []byte(r.reference), r.fence)...)
	if err != nil {
		return err
	}
	if rows, err := done.RowsAffected(); err != nil || rows == 0 {
		return cmp.Or(err, errMoved)
	}
	return nil
}

// apply stores the booking that a transition returns, and calls then in the same transaction. If
// the row has changed meanwhile, it reads the row and calls transition again. A transition returns
// false to store nothing.
func (j *Journal) apply(ctx context.Context, e *entry, transition func(durable.Booking) (durable.Booking, bool, error),
	then func(context.Context, *sql.Tx) error) error {
	for {
		next, ok, err := transition(e.Booking)
		if err != nil || !ok {
			return err
		}
		if err = j.store(ctx, e, next, then); !errors.Is(err, errMoved) {
			return err
		}
		latest, err := j.read(ctx, e.reference)
		if err != nil {
			return err
		}
		*e = *latest
	}
}

// pageSize bounds how many rows are in memory at once.
const pageSize = 100

// withUnknown returns the JSON of the next state, with the fields of the stored one that this
// version does not know: a newer process of the fleet has written them.
func withUnknown(stored []byte, known, next any) ([]byte, error) {
	text, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	knownText, err := json.Marshal(known)
	if err != nil || bytes.Equal(stored, knownText) {
		return text, err
	}
	var fields [3]map[string]any
	for i, text := range [][]byte{text, stored, knownText} {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&fields[i]); err != nil {
			return nil, err
		}
	}
	addUnknown(fields[0], fields[1], fields[2])
	return json.Marshal(fields[0])
}

// addUnknown adds what stored has and known has not, in objects within objects as well.
func addUnknown(next, stored, known map[string]any) {
	for name, value := range stored {
		_, isKnown := known[name]
		_, isNext := next[name]
		inner, _ := value.(map[string]any)
		innerKnown, _ := known[name].(map[string]any)
		innerNext, _ := next[name].(map[string]any)
		switch {
		case !isKnown && !isNext:
			next[name] = value
		case innerNext != nil:
			addUnknown(innerNext, inner, innerKnown)
		}
	}
}

// micros returns a time as it is stored.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixMicro()
}
