// Package memstore is a durable.Store in memory, for tests.
package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

// Tx is a transaction. Rows holds all rows, with the changes of the transaction. Seen, Locked and Saved tell which rows the
// transaction has read, locked and saved.
type Tx struct {
	Guarded bool // value of the argument guarded of InTx
	Rows    map[durable.ID]durable.Row
	Seen    map[durable.ID]bool
	Locked  map[durable.ID]bool
	Saved   map[durable.ID]bool
	before  func() error
}

func Begin(rows map[durable.ID]durable.Row) *Tx {
	return &Tx{Rows: rows, Seen: map[durable.ID]bool{}, Locked: map[durable.ID]bool{}, Saved: map[durable.ID]bool{}, before: succeeds}
}

func succeeds() error { return nil }

// Rows has the methods of a Store that need only the transaction.
type Rows struct{}

func (r Rows) Lock(ctx context.Context, tx *Tx, id durable.ID) (*durable.Row, error) {
	tx.Locked[id] = true
	return r.Look(ctx, tx, id)
}

func (Rows) Look(_ context.Context, tx *Tx, id durable.ID) (*durable.Row, error) {
	if err := tx.before(); err != nil {
		return nil, err
	}
	tx.Seen[id] = true
	row, found := tx.Rows[id]
	if !found {
		return nil, nil
	}
	return &row, nil
}

func (r Rows) Insert(ctx context.Context, tx *Tx, row *durable.Row) (before *durable.Row, err error) {
	before, err = r.Lock(ctx, tx, row.ID)
	if err == nil && before == nil {
		err = r.Save(ctx, tx, row)
	}
	return before, err
}

// Save fails if the transaction has not locked or inserted the row. It also fails if the stored row is open, and has
// another version than the saved row.
func (Rows) Save(_ context.Context, tx *Tx, row *durable.Row) error {
	if err := tx.before(); err != nil {
		return err
	}
	if !tx.Locked[row.ID] {
		return fmt.Errorf("row %v is saved without a lock; call Lock or Insert first", row.ID)
	}
	if stored := tx.Rows[row.ID]; stored.Life == durable.Open && stored.Version != row.Version {
		return fmt.Errorf("row %v is saved over an open row of another version; save the row that Lock or Insert has returned", row.ID)
	}
	tx.Rows[row.ID], tx.Saved[row.ID] = *row, true
	return nil
}

func (Rows) Failed(call string, err error) error { return fmt.Errorf("memstore: %s: %w", call, err) }

// Store is a durable.Store and a durable.Queue. One transaction runs at a time. A transaction whose ctx has ended is
// not committed. Create a Store with New, inside the bubble of its test.
type Store struct {
	Rows
	// Before is called at the beginning of each operation, except InTx. The operation returns its error.
	Before func() error

	busy    chan struct{}
	mu      sync.Mutex
	rows    map[durable.ID]durable.Row
	version int
}

func New() *Store {
	return &Store{Before: succeeds, busy: make(chan struct{}, 1), rows: map[durable.ID]durable.Row{}}
}

func (s *Store) InTx(ctx context.Context, guarded bool, f func(context.Context, *Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var stop func() bool
	select {
	case s.busy <- struct{}{}:
		undo := sync.OnceFunc(func() { <-s.busy })
		defer undo()
		stop = context.AfterFunc(ctx, undo)
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	tx := Begin(maps.Clone(s.rows))
	tx.Guarded, tx.before = guarded, s.Before
	s.mu.Unlock()
	if err := f(ctx, tx); err != nil {
		return err
	}
	if ended := !stop(); ended {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range tx.Saved {
		s.set(tx.Rows[id])
	}
	return nil
}

func (s *Store) set(row durable.Row) durable.Row {
	s.version++
	row.Version = s.version
	s.rows[row.ID] = row
	return row
}

// Put stores a row outside of a transaction, like a person who changes the database by hand.
func (s *Store) Put(row durable.Row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(row)
}

// Delete removes a row outside of a transaction, like a person who changes the database by hand.
func (s *Store) Delete(id durable.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, id)
}

func (s *Store) Read(_ context.Context, id durable.ID) (*durable.Row, error) {
	if err := s.Before(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if row, found := s.rows[id]; found {
		return &row, nil
	}
	return nil, nil
}

func (s *Store) open(kind durable.Kind, limit int, keep func(durable.Row) bool, order func(a, b durable.Row) int) ([]durable.Row, error) {
	if err := s.Before(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []durable.Row
	for _, row := range s.rows {
		if row.Kind == kind && row.Life == durable.Open && keep(row) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, order)
	return rows[:min(limit, len(rows))], nil
}

func (s *Store) List(_ context.Context, after durable.Row, all bool, limit int) ([]durable.Row, error) {
	return s.open(after.Kind, limit, func(row durable.Row) bool {
		return byName(row.ID, after.ID) > 0 && (all || row.Account == after.Account)
	},
		func(a, b durable.Row) int { return byName(a.ID, b.ID) })
}

func byName(a, b durable.ID) int {
	return cmp.Or(strings.Compare(a.Account, b.Account), strings.Compare(a.Reference, b.Reference))
}

func (s *Store) Due(_ context.Context, look durable.DueLook) ([]durable.Row, error) {
	due, err := s.open(look.Kind, math.MaxInt, func(row durable.Row) bool {
		return (look.Account == "" || row.Account == look.Account) && !row.Due.After(look.At)
	}, func(a, b durable.Row) int { return cmp.Or(a.Due.Compare(b.Due), byName(a.ID, b.ID)) })
	if look.Account == "" {
		due = inTurn(due, look)
	}
	return due[:min(look.Limit, len(due))], err
}

// inTurn sorts the due rows of all accounts so that the accounts take turns, as durable.DueLook requires.
func inTurn(due []durable.Row, look durable.DueLook) []durable.Row {
	turns, beyond := map[string]int{}, map[durable.ID]int{}
	for _, row := range due {
		if turns[row.Account]++; turns[row.Account] > look.Each {
			beyond[row.ID] = 1
		}
	}
	last := func(row durable.Row) int {
		if row.Account <= look.After {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(due, func(a, b durable.Row) int {
		return cmp.Or(beyond[a.ID]-beyond[b.ID], last(a)-last(b), strings.Compare(a.Account, b.Account))
	})
	return due
}

func (s *Store) Postpone(_ context.Context, rows []durable.Row, due func(durable.Row) time.Time) (postponed []durable.Row, err error) {
	if err := s.Before(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range rows {
		if stored, found := s.rows[row.ID]; found && stored.Version == row.Version {
			stored.Due = due(row)
			postponed = append(postponed, s.set(stored))
		}
	}
	return postponed, nil
}
