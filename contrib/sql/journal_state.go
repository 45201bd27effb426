// What the tables of bookings, cancellations and orders have in common.

package hotelstayssql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// table is a table of the journal. Its rows are live until they have ended.
type table[E leased] struct {
	name, columns string
	scan          func(j *Journal, scan func(...any) error) (E, error)
}

const (
	tableOfBookings = "hotelstays_journal"
	tableOfCancels  = "hotelstays_cancels"
	tableOfOrders   = "hotelstays_orders"

	stateColumns = `reference, fence, live, due, state`
)

var (
	bookings = table[*entry]{tableOfBookings, `reference, fence, live, due, booking, request`, (*Journal).scan}
	cancels  = table[*cancelEntry]{tableOfCancels, stateColumns, (*Journal).scanCancel}
	orders   = table[*orderEntry]{tableOfOrders, stateColumns, (*Journal).scanOrder}
)

// unreadableError reports a row that somebody has changed by hand.
type unreadableError struct {
	row
	why error
}

func (e *unreadableError) Error() string {
	return fmt.Sprintf("the row of reference %q in %s was changed by hand: %v; "+
		"correct it, or ask the service for the order and delete the row", e.reference, e.table, e.why)
}

// scanState reads the columns of a row: its state, which then has an identity, and others behind. A row
// that makes no sense is an *unreadableError.
func (j *Journal) scanState(scan func(...any) error, e leased, state any,
	identity func() (reference, fingerprint string), others ...any) error {
	r := e.at()
	var reference []byte
	var due int64
	if err := scan(append([]any{&reference, &r.fence, &r.live, &due, &r.stored}, others...)...); err != nil {
		return err
	}
	r.reference = string(reference)
	e.setDue(time.UnixMicro(due).UTC())
	err := json.Unmarshal(r.stored, state)
	if of, account := identity(); err == nil && (of != r.reference || account != string(j.account)) {
		err = fmt.Errorf("its state is of the reference %q, or of another account", of)
	}
	if err != nil {
		return &unreadableError{*r, err}
	}
	return nil
}

// find returns the row of a reference, or sql.ErrNoRows.
func (t table[E]) find(ctx context.Context, j *Journal, in interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, reference string) (E, error) {
	return t.scan(j, in.QueryRowContext(ctx, j.db.dialect.sql(`SELECT `+t.columns+` FROM `+t.name+` WHERE account = ? AND reference = ?`),
		j.account, []byte(reference)).Scan)
}

// change calls step, which may store the next state of the row of a reference, if there is one. If the
// row has changed meanwhile, it reads the row and calls step again.
func (t table[E]) change(ctx context.Context, j *Journal, reference string, step func(E) error) error {
	for {
		e, err := t.find(ctx, j, j.db, reference)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = step(e)
		}
		if !errors.Is(err, errMoved) {
			return err
		}
	}
}

// page returns live rows that meet a condition, and those that are unreadable.
func (t table[E]) page(ctx context.Context, j *Journal, limit int, condition string, value any) (
	page []E, unreadable []*unreadableError, err error,
) {
	rows, err := j.db.QueryContext(ctx, j.db.dialect.sql(`SELECT `+t.columns+` FROM `+t.name+`
		WHERE account = ? AND live = 1 AND `+condition+` LIMIT `+fmt.Sprint(limit)), j.account, value)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		e, err := t.scan(j, rows.Scan)
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

// claim takes leases of rows that are due, of those that choose returns.
func (t table[E]) claim(ctx context.Context, j *Journal, choose func(due []E) []E) ([]E, error) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	now := time.Now()
	due, unreadable, err := t.page(ctx, j, pageSize+j.opts.MaxWorkers, `due <= ? ORDER BY due`, micros(now))
	if err != nil {
		return nil, err
	}
	var bad []*row
	for _, u := range unreadable {
		j.opts.Logger.ErrorContext(ctx, "a row cannot be worked on", slog.String("error", u.Error()))
		bad = append(bad, &u.row)
	}
	if _, err := postpone(ctx, j, bad, func(*row) time.Time { return now.Add(unreadablePause) }); err != nil {
		return nil, err
	}
	underway := j.underway() // a function of the caller that hangs has one worker, and not another one a minute later
	due = slices.DeleteFunc(due, func(e E) bool { return slices.Contains(underway, e.at().reference) })
	return postpone(ctx, j, choose(due[:min(len(due), pageSize)]), func(E) time.Time { return now.Add(lease) })
}
