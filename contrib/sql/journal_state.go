// What the tables of cancellations and of orders have in common.

package hotelstayssql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

const stateColumns = `reference, fence, live, due, state`

// scanState reads a row into a state, which then has an identity. A row that makes no sense is an
// *unreadableError.
func (j *Journal) scanState(scan func(...any) error, r *row, state any,
	identity func() (reference, fingerprint string)) (due time.Time, err error) {
	var reference []byte
	var live, micros int64
	if err := scan(&reference, &r.fence, &live, &micros, &r.stored); err != nil {
		return due, err
	}
	r.reference = string(reference)
	err = json.Unmarshal(r.stored, state)
	if of, account := identity(); err == nil && (of != r.reference || account != string(j.account)) {
		err = fmt.Errorf("its state is of the reference %q, or of another account", of)
	}
	if err != nil {
		return due, &unreadableError{entry{row: *r}, err}
	}
	return time.UnixMicro(micros).UTC(), nil
}

// claimRows takes leases of at most n rows that are due, of those that same accepts.
func claimRows[E leased](ctx context.Context, j *Journal, table string, n int, scan func(func(...any) error) (E, error),
	same func(first, e E) bool) ([]E, error) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	now := time.Now()
	underway := j.underway() // a function of the caller that hangs has one worker
	rows, err := j.db.QueryContext(ctx, j.db.dialect.sql(`SELECT `+stateColumns+` FROM `+table+`
		WHERE account = ? AND live = 1 AND due <= ? ORDER BY due LIMIT `+fmt.Sprint(n+len(underway))), j.account, micros(now))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var due []E
	var bad []*row
	for rows.Next() {
		e, err := scan(rows.Scan)
		unreadable, isBad := errors.AsType[*unreadableError](err)
		switch {
		case isBad:
			j.opts.Logger.ErrorContext(ctx, "a row cannot be worked on", slog.String("error", err.Error()))
			bad = append(bad, &unreadable.row)
		case err != nil:
			return nil, err
		case len(due) < n && !slices.Contains(underway, e.at().reference) && (due == nil || same(due[0], e)):
			due = append(due, e)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	_ = rows.Close() // the pool may have one connection
	if _, err := postpone(ctx, j, bad, func(*row) time.Time { return now.Add(unreadablePause) }); err != nil {
		return nil, err
	}
	return postpone(ctx, j, due, func(E) time.Time { return now.Add(lease) })
}
