// The interfaces between an Engine and its database.

package durable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kind is the kind of a row in a Store. No row has the zero value.
type Kind string

// The kinds.
const (
	KindBooking Kind = "booking"
	KindCancel  Kind = "cancellation"
	KindOrder   Kind = "order" // a followed order
)

// Life says whether workers still have to act on a row. An Engine never stores the zero value, and
// reports a row with the zero value as unreadable.
type Life int

// The lives of a row. Their numbers may be stored.
const (
	Open Life = iota + 1 // a worker must act when the row becomes due
	Over                 // nothing is left to do for the row
)

// ID identifies a row. Two accounts may use the same reference.
type ID struct {
	Account   string // hotelstays.Client.Account
	Kind      Kind
	Reference string
}

// Row is the row of a Store for one reference of an account.
type Row struct {
	ID
	Life Life
	// Due is when a worker must act, or when the lease of a worker ends.
	Due time.Time
	// State is the booking, the cancellation or the followed order, as a JSON object.
	State []byte
	// Sealed is the encrypted request of a booking. If it is nil, Save erases the stored value.
	Sealed []byte
	// Version belongs to the Store: a comparable value that differs after each change of the row.
	Version any
	// Busy reports that a worker of the database's own scheduler works on the row. Wake and Retry
	// wait until that worker has ended.
	Busy bool
	// Unreadable, if not nil, says why the row cannot be read, for example after a change by hand.
	// Only List and Due return such rows.
	Unreadable error
}

// Store is the database of an Engine, for all accounts. Its methods are safe for concurrent use. Tx
// is a transaction. Insert, Lock, Look and Save receive the caller's own transaction or a
// transaction of InTx.
//
// A Store decides nothing: the Engine decides what a row contains and whether it may change.
type Store[Tx any] interface {
	// InTx calls f in a new transaction, and commits it if f returns nil. It may call f again after a
	// deadlock. The commit must survive a crash. If guarded is true, f calls a function of the
	// caller: let the database end the transaction when it is idle for long, because a process that
	// is frozen would keep its locks.
	InTx(ctx context.Context, guarded bool, f func(ctx context.Context, tx Tx) error) error
	// Insert stores a new row and returns nil, if there is no row with its ID. Otherwise it stores nothing, and locks and
	// returns the existing row. If the existing row is Over, a later Save of the new row replaces it.
	Insert(ctx context.Context, tx Tx, row *Row) (before *Row, err error)
	// Lock locks the latest row with the ID, and returns the row. Without such a row it returns nil.
	Lock(ctx context.Context, tx Tx, id ID) (*Row, error)
	// Look returns the latest row with the ID, as the transaction sees it, or nil if there is no such row. Look does not
	// wait for locks, because a frozen process may hold them.
	Look(ctx context.Context, tx Tx, id ID) (*Row, error)
	// Save stores a row that this transaction has inserted or locked.
	Save(ctx context.Context, tx Tx, row *Row) error
	// Read is like Look, but without a transaction.
	Read(ctx context.Context, id ID) (*Row, error)
	// List returns up to limit open rows of one kind, in an order that does not change. The parameter after has the
	// kind, and is the row before the first result. For the first rows, after has only an ID without a reference. If
	// all is false, the rows belong to the account of after.
	List(ctx context.Context, after Row, all bool, limit int) ([]Row, error)
	// Failed puts the names of the Store's package and of the call in front of err. If the database
	// names the cause, Failed adds what to do.
	Failed(call string, err error) error
}

// Queue finds the rows that are due, in a database that has no scheduler of its own.
type Queue interface {
	// Due returns open rows that are due. Rows of one account are in the order in which they are due.
	Due(ctx context.Context, look DueLook) ([]Row, error)
	// Postpone sets when rows of one kind are due, and returns the rows that it has changed. It skips
	// rows that have changed since they were read, and rows that another transaction has locked.
	Postpone(ctx context.Context, rows []Row, due func(Row) time.Time) ([]Row, error)
}

// DueLook says which rows Run asks a Queue for.
type DueLook struct {
	Kind    Kind
	Account string // the only account whose rows are wanted; empty: all accounts
	At      time.Time
	Limit   int // maximum number of rows
	// Each and After matter only if Account is empty. Each is a number of rows: up to that many rows of every
	// account come before all further rows. Accounts are in the order of their names: first the accounts
	// behind After, then the other accounts.
	After string
	Each  int
}

// ErrMoved: the row has changed since Work read it, or another worker has leased it.
var ErrMoved = errors.New("the row has changed meanwhile")

// errKeep is returned by a function that changes a row, if the row must stay unchanged.
var errKeep = errors.New("nothing is to be stored")

// state is the state of a row: of a booking, a cancellation or a followed order.
type state interface {
	identity() (reference, fingerprint string)
	due() time.Time
	open() bool // reports whether a worker must act when the row becomes due
	// read copies the values that are not in the JSON, such as Due, from the row. readState calls it after it has
	// decoded the JSON.
	read(row *Row) error
}

// readState decodes the State of a row into the parameter known. It refuses a state that belongs to another reference
// or account.
func readState(row *Row, known state) error {
	err := row.Unreadable
	if err == nil && row.Life < Open {
		err = fmt.Errorf("the row's field Life is %d; it must be %d (Open) or %d (Over)", row.Life, Open, Over)
	}
	if err == nil {
		err = json.Unmarshal(row.State, known)
	}
	if reference, fingerprint := known.identity(); err == nil && (reference != row.Reference || fingerprint != row.Account) {
		err = fmt.Errorf("the row's state belongs to the reference %q, or to another account", reference)
	}
	if err == nil {
		err = known.read(row)
	}
	if err != nil {
		return &unreadableError{row.Kind, row.Reference, err}
	}
	return nil
}

// unreadableError reports a row that somebody has changed by hand.
type unreadableError struct {
	kind      Kind
	reference string
	why       error
}

func (e *unreadableError) Error() string {
	return fmt.Sprintf("the %s row of reference %q was changed by hand: %v; correct it, or ask the service for the order and delete the row",
		e.kind, e.reference, e.why)
}

// setState stores the state next in the row. The parameter before is the state that was read from the row, or nil. If
// before is not nil, setState keeps the fields of the stored JSON that this version does not know.
func (r *Row) setState(before, next state) error {
	text, err := json.Marshal(next)
	if before != nil {
		text = withUnknown(r.State, before, text)
	}
	if r.State, r.Due, r.Life = text, next.due(), Over; next.open() {
		r.Life = Open
	}
	if b, ok := next.(*booking); ok && (!b.BookBy.IsZero() || b.Ending != "") {
		r.Sealed = nil // erased, because the request contains names of guests, and is not needed any more
	}
	return err
}

// withUnknown returns the JSON of the next state, with the fields of the stored state that this
// version does not know. A newer process of the fleet has written them.
func withUnknown(stored []byte, known state, next []byte) []byte {
	knownText, _ := json.Marshal(known) // Marshal cannot fail, because known was decoded from stored
	if bytes.Equal(stored, knownText) {
		return next
	}
	var fields [3]map[string]any
	for i, text := range [][]byte{next, stored, knownText} {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		_ = d.Decode(&fields[i]) // Decode cannot fail, because each text is the JSON of a state
	}
	addUnknown(fields[0], fields[1], fields[2])
	text, _ := json.Marshal(fields[0])
	return text
}

// addUnknown adds fields to the JSON object in the parameter next: the fields that the object in stored has, but the
// object in known does not have. It does the same in nested objects.
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
