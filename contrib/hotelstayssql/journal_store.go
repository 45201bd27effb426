// The rows of the journal: a table for each kind.

package hotelstayssql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

// journalStore is the durable.Store and the durable.Queue of a Journal.
type journalStore struct {
	db   database
	fits atomic.Bool // set when checkTables has succeeded
}

var (
	_ durable.Store[*sql.Tx] = (*journalStore)(nil)
	_ durable.Queue          = (*journalStore)(nil)
)

// table names the database table for one kind of rows, and the columns of Row.State and Row.Sealed.
type table struct{ name, state, sealed string }

var tables = map[durable.Kind]table{
	durable.KindBooking: {"hotelstays_journal", "booking", "request"},
	durable.KindCancel:  {"hotelstays_cancels", "state", "NULL"},
	durable.KindOrder:   {"hotelstays_orders", "state", "NULL"},
}

// query returns a SELECT of the rows that meet the condition in the parameter where. The column fence changes with
// every write of a row.
func (t table) query(where string) string { return t.selected() + ` WHERE ` + where }

func (t table) selected() string {
	return `SELECT account, reference, fence, live, due, ` + t.state + `, ` + t.sealed + ` FROM ` + t.name
}

// scan converts the columns of table.query into a row. It returns nil if there is no row.
func scan(kind durable.Kind, scan func(...any) error) (*durable.Row, error) {
	row := durable.Row{ID: durable.ID{Kind: kind}}
	var account, reference []byte
	var fence, due int64
	err := scan(&account, &reference, &fence, &row.Life, &due, &row.State, &row.Sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	row.Account, row.Reference, row.Version, row.Due = string(account), string(reference), fence, time.UnixMicro(due).UTC()
	return &row, err
}

func (s *journalStore) InTx(ctx context.Context, guarded bool, f func(context.Context, *sql.Tx) error) error {
	if err := s.checkTables(ctx); err != nil {
		return err
	}
	switch fn := func(tx *sql.Tx) error { return f(ctx, tx) }; {
	case !guarded:
		return s.db.inTx(ctx, fn)
	case grammars[s.db.dialect].unguard == "": // no check, because only on MySQL fn can continue after its transaction was undone
		return s.db.inGuardedTx(ctx, fn)
	}
	return s.db.inGuardedTx(ctx, func(tx *sql.Tx) error {
		var written []durable.Row
		if err := f(context.WithValue(ctx, writtenKey{}, &written), tx); err != nil {
			return err
		}
		return s.stillWritten(ctx, tx, written)
	})
}

// writtenKey is the context key for the list of rows that a guarded transaction has written.
type writtenKey struct{}

// stillWritten returns errUndone if the database no longer has the written rows. The reason is a deadlock that undid
// the transaction, while the caller's function continued in a new transaction.
func (s *journalStore) stillWritten(ctx context.Context, tx *sql.Tx, written []durable.Row) error {
	for _, row := range written {
		var fence int64
		err := tx.QueryRowContext(ctx, s.db.dialect.sql(`SELECT fence FROM `+tables[row.Kind].name+` WHERE account = ? AND reference = ?`),
			[]byte(row.Account), []byte(row.Reference)).Scan(&fence)
		if err == nil && fence != row.Version || errors.Is(err, sql.ErrNoRows) {
			err = errUndone
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkTables returns an error if the tables are missing or have another version. After its first success it does not
// check again.
func (s *journalStore) checkTables(ctx context.Context) error {
	if s.fits.Load() {
		return nil
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := checkSchema(ctx, conn, s.db.dialect); err != nil {
		return err
	}
	s.fits.Store(true)
	return nil
}

func (s *journalStore) Insert(ctx context.Context, tx *sql.Tx, row *durable.Row) (before *durable.Row, err error) {
	if err := s.check(tx, row.Reference); err != nil {
		return nil, err
	}
	t, fence := tables[row.Kind], newID()
	columns := `account, reference, fence, live, due, ` + t.state
	values := []any{[]byte(row.Account), []byte(row.Reference), fence, row.Life, micros(row.Due), row.State}
	if row.Kind == durable.KindBooking {
		columns, values = columns+`, `+t.sealed, append(values, row.Sealed)
	}
	_, err = s.db.dialect.exec(ctx, tx, `INSERT INTO `+t.name+` (`+columns+`) VALUES (`+list("?", len(values))+`)
		{conflict account, reference} fence = `+t.name+`.fence`, values...)
	if err != nil {
		return nil, err
	}
	// find shows whether the upsert has inserted the row. RowsAffected does not show this, because it depends on the
	// driver's settings.
	stored, err := s.find(ctx, tx, row.ID)
	switch {
	case err != nil:
		return nil, err
	case stored == nil:
		return nil, errUndone
	case stored.Version == fence:
		row.Version = fence
		noteWritten(ctx, row)
		return nil, nil
	}
	row.Version = stored.Version
	return stored, nil
}

func (s *journalStore) check(tx *sql.Tx, reference string) error {
	if tx == nil {
		return errors.New("tx is nil; pass the transaction of your own row")
	}
	return checkReference(reference)
}

// Lock returns a row and locks it. On SQLite, Lock writes first: a write locks the whole database, and a transaction
// that begins with a read may fail at its first write.
func (s *journalStore) Lock(ctx context.Context, tx *sql.Tx, id durable.ID) (*durable.Row, error) {
	if err := s.check(tx, id.Reference); err != nil {
		return nil, err
	}
	if grammars[s.db.dialect].lock == "" {
		_, err := s.db.dialect.exec(ctx, tx, `UPDATE `+tables[id.Kind].name+` SET fence = fence WHERE account = ? AND reference = ?`,
			[]byte(id.Account), []byte(id.Reference))
		if err != nil {
			return nil, err
		}
	}
	return s.find(ctx, tx, id)
}

func (s *journalStore) find(ctx context.Context, tx *sql.Tx, id durable.ID) (*durable.Row, error) {
	return s.findIn(ctx, tx, id, grammars[s.db.dialect].lock)
}

// Look returns a row without locking it. On SQLite it is like Lock, because a transaction must write before it reads.
func (s *journalStore) Look(ctx context.Context, tx *sql.Tx, id durable.ID) (*durable.Row, error) {
	if grammars[s.db.dialect].lock == "" {
		return s.Lock(ctx, tx, id)
	}
	if err := s.check(tx, id.Reference); err != nil {
		return nil, err
	}
	return s.findIn(ctx, tx, id, "")
}

func (s *journalStore) Read(ctx context.Context, id durable.ID) (*durable.Row, error) {
	return s.findIn(ctx, s.db, id, "")
}

func (s *journalStore) findIn(ctx context.Context, in interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, id durable.ID, lock string) (*durable.Row, error) {
	return scan(id.Kind, in.QueryRowContext(ctx, s.db.dialect.sql(tables[id.Kind].query(`account = ? AND reference = ? `+lock)),
		[]byte(id.Account), []byte(id.Reference)).Scan)
}

func (s *journalStore) Save(ctx context.Context, tx *sql.Tx, row *durable.Row) error {
	t := tables[row.Kind]
	assignments, values := `live = ?, due = ?, `+t.state+` = ?`, []any{row.Life, micros(row.Due), row.State}
	if row.Kind == durable.KindBooking {
		assignments, values = assignments+`, `+t.sealed+` = ?`, append(values, row.Sealed)
	}
	if err := s.update(ctx, tx, row, assignments, values...); err != nil {
		return err
	}
	noteWritten(ctx, row)
	return nil
}

// noteWritten adds a row to the list that stillWritten checks.
func noteWritten(ctx context.Context, row *durable.Row) {
	if written, ok := ctx.Value(writtenKey{}).(*[]durable.Row); ok {
		*written = append(slices.DeleteFunc(*written, func(r durable.Row) bool { return r.ID == row.ID }), *row)
	}
}

var errChanged = errors.New("the row has changed since it was read")

// update changes columns of a row. It returns errChanged if the row has changed since it was read.
func (s *journalStore) update(ctx context.Context, tx *sql.Tx, row *durable.Row, assignments string, values ...any) error {
	fence, _ := row.Version.(int64)
	done, err := s.db.dialect.exec(ctx, tx, `UPDATE `+tables[row.Kind].name+` SET fence = fence + 1, `+assignments+
		` WHERE account = ? AND reference = ? AND fence = ?`, append(values, []byte(row.Account), []byte(row.Reference), fence)...)
	if err != nil {
		return err
	}
	if rows, err := done.RowsAffected(); err != nil || rows == 0 {
		return cmp.Or(err, errChanged)
	}
	row.Version = fence + 1
	return nil
}

// List returns open rows, ordered by account and reference.
func (s *journalStore) List(ctx context.Context, after durable.Row, all bool, limit int) ([]durable.Row, error) {
	account := []byte(after.Account)
	page, err := s.page(ctx, after.Kind, `account = ? AND reference > ? ORDER BY reference`, limit, account, []byte(after.Reference))
	if err != nil || !all || len(page) == limit {
		return page, err
	}
	behind, err := s.page(ctx, after.Kind, `account > ? ORDER BY account, reference`, limit-len(page), account)
	return append(page, behind...), err
}

// Due returns open rows that are due, the earliest first.
func (s *journalStore) Due(ctx context.Context, look durable.DueLook) ([]durable.Row, error) {
	if look.Account == "" {
		return s.dueOfAll(ctx, look)
	}
	return s.page(ctx, look.Kind, `account = ? AND due <= ? ORDER BY due`, look.Limit, []byte(look.Account), micros(look.At))
}

// dueOfAll returns due rows of all accounts, which take turns. It chooses the rows by an index, and reads the other
// columns only for these rows.
func (s *journalStore) dueOfAll(ctx context.Context, look durable.DueLook) ([]durable.Row, error) {
	t, after := tables[look.Kind], []byte(look.After)
	query := t.selected() + ` JOIN (
		SELECT whose, which, turn FROM (
			SELECT account AS whose, reference AS which, ROW_NUMBER() OVER (PARTITION BY account ORDER BY due) AS turn
			FROM ` + t.name + ` WHERE live = 1 AND due <= ?) AS numbered
		ORDER BY turn > ?, whose <= ?, whose, turn LIMIT ` + fmt.Sprint(look.Limit) + `) AS chosen
		ON account = whose AND reference = which ORDER BY turn > ?, whose <= ?, whose, turn`
	return s.rows(ctx, look.Kind, query, micros(look.At), look.Each, after, look.Each, after)
}

func (s *journalStore) page(ctx context.Context, kind durable.Kind, condition string, limit int, values ...any) ([]durable.Row, error) {
	return s.rows(ctx, kind, tables[kind].query(`live = 1 AND `+condition+` LIMIT `+fmt.Sprint(limit)), values...)
}

func (s *journalStore) rows(ctx context.Context, kind durable.Kind, query string, values ...any) (page []durable.Row, err error) {
	rows, err := s.db.QueryContext(ctx, s.db.dialect.sql(query), values...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		row, err := scan(kind, rows.Scan)
		if err != nil {
			return nil, err
		}
		page = append(page, *row)
	}
	return page, rows.Err()
}

// Postpone changes the time at which rows are due, and returns the changed rows. It skips locked rows, because a frozen
// process may hold the lock.
func (s *journalStore) Postpone(ctx context.Context, rows []durable.Row,
	due func(durable.Row) time.Time) (postponed []durable.Row, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	err = s.db.inTx(ctx, func(tx *sql.Tx) error {
		postponed = nil
		free, err := s.unlocked(ctx, tx, rows)
		for _, row := range free {
			row.Due = due(row)
			switch err := s.update(ctx, tx, &row, `due = ?`, micros(row.Due)); {
			case err == nil:
				postponed = append(postponed, row)
			case !errors.Is(err, errChanged):
				return err
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return postponed, nil
}

// unlocked locks rows of one kind. It returns the rows that no other transaction had locked.
func (s *journalStore) unlocked(ctx context.Context, tx *sql.Tx, rows []durable.Row) (free []durable.Row, err error) {
	lock := grammars[s.db.dialect].lock
	if lock == "" {
		return rows, nil
	}
	var ids []any
	for _, row := range rows {
		ids = append(ids, []byte(row.Account), []byte(row.Reference))
	}
	either := strings.Repeat(` OR account = ? AND reference = ?`, len(rows))[len(` OR `):]
	found, err := tx.QueryContext(ctx, s.db.dialect.sql(`SELECT account, reference FROM `+tables[rows[0].Kind].name+
		` WHERE `+either+` `+lock+` SKIP LOCKED`), ids...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		var id durable.ID
		if err := found.Scan(&id.Account, &id.Reference); err != nil {
			return nil, err
		}
		id.Kind = rows[0].Kind
		free = append(free, rows[slices.IndexFunc(rows, func(row durable.Row) bool { return row.ID == id })])
	}
	return free, found.Err()
}

// Failed adds to an error the name of the call, and advice if the cause is known.
func (s *journalStore) Failed(call string, err error) error { return s.db.failed(err, "%s", call) }

// micros converts a time to microseconds since 1970. The zero time becomes the smallest number, so that it sorts first.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return math.MinInt64
	}
	return t.UnixMicro()
}
