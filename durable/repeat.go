// Transactions that a database undoes because of other transactions.

package durable

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"
)

const attempts = 12

// Repeat calls transact, which must make one transaction. While the database undoes the transaction because of a
// deadlock or a failed serialization, Repeat calls transact again after a short pause. It makes at most twelve
// calls. It is for implementations of Store.InTx.
func Repeat(ctx context.Context, transact func() error) error {
	for attempt := 1; ; attempt++ {
		err := transact()
		if attempt == attempts || !isUndone(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(100 * time.Millisecond)):
		}
	}
}

// isUndone reports whether the database has undone a transaction because of another transaction. It does not read the
// text of an error, because an error of the caller may contain any text.
//
// MariaDB can deadlock even if all transactions lock rows in the same order. If an insert is undone, each transaction
// that waited for the inserted row locks the gap in which that row was.
func isUndone(err error) bool {
	if coded, ok := err.(interface{ SQLState() string }); ok { // errors of jackc/pgx and lib/pq have this method
		return coded.SQLState() == "40001" || coded.SQLState() == "40P01"
	}
	if e := reflect.Indirect(reflect.ValueOf(err)); e.Kind() == reflect.Struct { // a *mysql.MySQLError has no method SQLState
		const deadlock = 1213
		if number := e.FieldByName("Number"); number.CanUint() && number.Uint() == deadlock {
			return true
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return isUndone(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), isUndone)
	}
	return false
}
