// The rows of the journal.

package hotelstayssql

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

// entry is a row of the journal.
type entry struct {
	reference string
	fence     int64 // changes with every write of the row
	durable.Booking
	sealed []byte // the request, until Book is marked
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
	// The assignments keep an open booking as it is, and one with an order.
	_, err = j.db.dialect.exec(ctx, tx, `INSERT INTO hotelstays_journal
			(account, reference, fence, live, due, booking, request) VALUES (?, ?, ?, 1, ?, ?, ?)
		{conflict account, reference}
			fence = CASE hotelstays_journal.live WHEN 0 THEN {new fence} ELSE hotelstays_journal.fence END,
			due = CASE hotelstays_journal.live WHEN 0 THEN {new due} ELSE hotelstays_journal.due END,
			booking = CASE hotelstays_journal.live WHEN 0 THEN {new booking} ELSE hotelstays_journal.booking END,
			request = CASE hotelstays_journal.live WHEN 0 THEN {new request} ELSE hotelstays_journal.request END,
			live = CASE hotelstays_journal.live WHEN 0 THEN 1 ELSE hotelstays_journal.live END`,
		j.account, []byte(e.reference), e.fence, micros(e.Due), text, e.sealed)
	if err != nil {
		return err
	}
	// How many rows an upsert reports depends on the driver's settings.
	var fence, live int64
	err = tx.QueryRowContext(ctx, j.db.dialect.sql(`SELECT fence, live FROM hotelstays_journal WHERE account = ? AND reference = ?`),
		j.account, []byte(e.reference)).Scan(&fence, &live)
	switch {
	case err == nil && live == liveBooked:
		return ErrAlreadyBooked
	case errors.Is(err, sql.ErrNoRows) || err == nil && fence != e.fence:
		return ErrAlreadyBegun
	}
	return err
}

// read returns the entry of a reference, or ErrNotBegun.
func (j *Journal) read(ctx context.Context, reference string) (*entry, error) {
	row := j.db.QueryRowContext(ctx, j.db.dialect.sql(
		`SELECT reference, fence, live, due, booking, request FROM hotelstays_journal WHERE account = ? AND reference = ?`),
		j.account, []byte(reference))
	e, err := j.scan(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNotBegun
	}
	return e, err
}

// unreadableError reports a row that somebody has changed by hand.
type unreadableError struct {
	entry
	why error
}

func (e *unreadableError) Error() string {
	return fmt.Sprintf("the row of reference %q in hotelstays_journal was changed by hand: %v; correct its booking, or ask the service for the order and delete the row",
		e.reference, e.why)
}

// scan reads a row. A row that makes no sense is an *unreadableError.
func (j *Journal) scan(scan func(...any) error) (*entry, error) {
	var e entry
	var reference, booking []byte
	var live, due int64
	if err := scan(&reference, &e.fence, &live, &due, &booking, &e.sealed); err != nil {
		return nil, err
	}
	e.reference = string(reference)
	err := json.Unmarshal(booking, &e.Booking)
	switch {
	case err != nil:
	case e.Recovery.CustomerReferenceNo != e.reference:
		err = fmt.Errorf("its booking has the reference %q", e.Recovery.CustomerReferenceNo)
	case e.Recovery.Fingerprint != string(j.account):
		err = errors.New("its booking is of another account")
	case live != liveOf(e.Booking):
		err = fmt.Errorf("live is %d and the ending is %q", live, e.Ending)
	}
	if err != nil {
		return nil, &unreadableError{e, err}
	}
	e.Due = time.UnixMicro(due).UTC()
	return &e, nil
}

// change replaces the booking of an entry, erases its request, and calls then in the same
// transaction. It returns errMoved, and changes nothing, if the row has changed since the
// entry was read.
func (j *Journal) change(ctx context.Context, e *entry, next durable.Booking, then func(context.Context, *sql.Tx) error) error {
	var err error
	if then == nil {
		err = j.replace(ctx, j.db, e, next)
	} else {
		err = j.db.inTx(ctx, func(tx *sql.Tx) error {
			if err := j.replace(ctx, tx, e, next); err != nil {
				return err
			}
			return then(ctx, tx)
		})
	}
	if err == nil {
		e.replaced(next)
	}
	return err
}

// changeAll changes many entries in one transaction. It returns those that it has changed; the
// rows of the others have changed since they were read.
func (j *Journal) changeAll(ctx context.Context, entries []*entry, next func(*entry) durable.Booking) (changed []*entry, err error) {
	if len(entries) == 0 {
		return nil, nil
	}
	entries = slices.SortedFunc(slices.Values(entries), func(a, b *entry) int { return strings.Compare(a.reference, b.reference) })
	err = j.db.inTx(ctx, func(tx *sql.Tx) error { // all processes lock in one order
		changed = nil
		for _, e := range entries {
			err := j.replace(ctx, tx, e, next(e))
			switch {
			case err == nil:
				changed = append(changed, e)
			case !errors.Is(err, errMoved):
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, e := range changed {
		e.replaced(next(e))
	}
	return changed, nil
}

// replace writes the booking of an entry, and erases its request.
func (j *Journal) replace(ctx context.Context, db execer, e *entry, next durable.Booking) error {
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	return j.write(ctx, db, e, `live = ?, due = ?, booking = ?, request = NULL`, liveOf(next), micros(next.Due), text)
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

// replaced keeps what was written.
func (e *entry) replaced(next durable.Booking) {
	e.fence, e.Booking, e.sealed = e.fence+1, next, nil
}

// write updates the row of an entry, if it has not changed since it was read.
func (j *Journal) write(ctx context.Context, db execer, e *entry, assignments string, values ...any) error {
	done, err := j.db.dialect.exec(ctx, db, `UPDATE hotelstays_journal SET fence = fence + 1, `+assignments+
		` WHERE account = ? AND reference = ? AND fence = ?`, append(values, j.account, []byte(e.reference), e.fence)...)
	if err != nil {
		return err
	}
	if rows, err := done.RowsAffected(); err != nil || rows == 0 {
		return cmp.Or(err, errMoved)
	}
	return nil
}

// apply changes an entry by a transition, and calls then in the same transaction. If another
// process is faster, it reads the row again. A transition returns false to change nothing.
func (j *Journal) apply(ctx context.Context, e *entry, transition func(durable.Booking) (durable.Booking, bool, error),
	then func(context.Context, *sql.Tx) error) error {
	for {
		next, ok, err := transition(e.Booking)
		if err != nil || !ok {
			return err
		}
		if err = j.change(ctx, e, next, then); !errors.Is(err, errMoved) {
			return err
		}
		now, err := j.read(ctx, e.reference)
		if err != nil {
			return err
		}
		*e = *now
	}
}

// pageSize bounds how many rows are in memory at once.
const pageSize = 100

// page returns open bookings that meet a condition, and the rows that are unreadable.
func (j *Journal) page(ctx context.Context, condition string, value any) (page []*entry, unreadable []*unreadableError, err error) {
	rows, err := j.db.QueryContext(ctx, j.db.dialect.sql(`SELECT reference, fence, live, due, booking, NULL FROM hotelstays_journal
		WHERE account = ? AND live = 1 AND `+condition+` LIMIT `+fmt.Sprint(pageSize)), j.account, value)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		e, err := j.scan(rows.Scan)
		bad, isBad := errors.AsType[*unreadableError](err)
		switch {
		case isBad:
			unreadable = append(unreadable, bad)
		case err != nil:
			return nil, nil, err
		default:
			page = append(page, e)
		}
	}
	return page, unreadable, rows.Err()
}

// micros returns a time as it is stored.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixMicro()
}
