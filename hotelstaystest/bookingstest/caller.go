// The caller of an implementation: its database, and its table.

package bookingstest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// Table is the SQL statement that creates the table bookings. It stands for the table that a program keeps beside the
// tables of its Bookings.
const Table = `CREATE TABLE bookings (reference varchar(64) PRIMARY KEY, state varchar(16) NOT NULL,
	order_no varchar(64) NOT NULL, ended integer NOT NULL, cancel varchar(16) NOT NULL DEFAULT '', cancels integer NOT NULL DEFAULT 0,
	mirror varchar(64) NOT NULL DEFAULT '', changes integer NOT NULL DEFAULT 0)`

// Database executes the SQL statements of a test, in the database of the implementation under test. Statements have ?
// for parameters.
type Database[Tx any] struct {
	// InTx calls a function in a transaction, and commits if it returns nil.
	InTx func(context.Context, func(Tx) error) error
	// Exec executes a statement, and returns how many rows it has changed.
	Exec func(ctx context.Context, tx Tx, statement string, args ...any) (int64, error)
	// QueryRow returns the only row of a query.
	QueryRow func(ctx context.Context, query string, args ...any) interface{ Scan(...any) error }
	// Query returns the rows of a query. The caller of Query reads all of them.
	Query func(ctx context.Context, query string, args ...any) (Rows, error)
}

// Rows are the rows of a query.
type Rows interface {
	Next() bool
	Scan(...any) error
	Err() error
}

// Numbered replaces the ? of a statement by $1, $2 and so on, which PostgreSQL needs.
func Numbered(statement string) string {
	for i := 1; strings.Contains(statement, "?"); i++ {
		statement = strings.Replace(statement, "?", fmt.Sprint("$", i), 1)
	}
	return statement
}

// Row is a row of the caller's table.
type Row struct {
	State, Order string
	Ended        int
}

// Row reads the caller's row of a reference.
func (w *World[Tx]) Row(reference string) (r Row) {
	w.Helper()
	w.scan(reference, "state, order_no, ended", &r.State, &r.Order, &r.Ended)
	return r
}

// mirror returns the caller's copy of an order, and how many times OnOrder has changed it.
func (w *World[Tx]) mirror(reference string) (mirror string, changes int) {
	w.Helper()
	w.scan(reference, "mirror, changes", &mirror, &changes)
	return mirror, changes
}

func (w *World[Tx]) scan(reference, columns string, into ...any) {
	w.Helper()
	require.NoError(w, w.Fleet.QueryRow(w.Context(), `SELECT `+columns+` FROM bookings WHERE reference = ?`, reference).Scan(into...))
}

// AddRow inserts the caller's row of a reference, and commits.
func (w *World[Tx]) AddRow(reference string) {
	w.Helper()
	require.NoError(w, w.Fleet.InTx(w.Context(), func(tx Tx) error { return w.addRow(w.Context(), tx, reference) }))
}

func (w *World[Tx]) addRow(ctx context.Context, tx Tx, reference string) error {
	_, err := w.Fleet.Exec(ctx, tx, `INSERT INTO bookings (reference, state, order_no, ended) VALUES (?, 'pending', '', 0)`, reference)
	return err
}

// StoreRow is the caller's OnOutcome. It stores the outcome in the row.
func (d Database[Tx]) StoreRow(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error {
	order := ""
	if outcome.Order != nil {
		order = outcome.Order.PlatformReferenceNo
	}
	return d.update(ctx, tx, `state = ?, order_no = ?, ended = ended + 1 WHERE reference = ?`,
		string(durable.EndingOf(outcome)), order, outcome.Recovery.CustomerReferenceNo)
}

// StoreCancel is the caller's OnCancel. It stores how the cancellation ended.
func (d Database[Tx]) StoreCancel(ctx context.Context, tx Tx, c *durable.Cancellation) error {
	return d.update(ctx, tx, `cancel = ?, cancels = cancels + 1 WHERE reference = ?`, string(c.Ending), c.CustomerReferenceNo)
}

// StoreOrder is the caller's OnOrder. It fails if change.Before is not the order that the row has.
func (d Database[Tx]) StoreOrder(ctx context.Context, tx Tx, change *durable.OrderChange) error {
	return d.update(ctx, tx, `mirror = ?, changes = changes + 1 WHERE mirror IN (?, '') AND reference = ?`,
		mirrorOf(change.After), mirrorOf(change.Before), change.After.CustomerReferenceNo)
}

// update changes the row of a reference. The reference is the last of args.
func (d Database[Tx]) update(ctx context.Context, tx Tx, set string, args ...any) error {
	n, err := d.Exec(ctx, tx, `UPDATE bookings SET `+set, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("updated %d rows of reference %s instead of one", n, args[len(args)-1])
	}
	return err
}

// mirrorOf returns the caller's copy of an order: its status, and a digest of the whole order.
func mirrorOf(o *types.Order) string {
	text, _ := json.Marshal(o)
	return fmt.Sprintf("%d %x", o.Status, sha256.Sum256(text))[:40]
}
