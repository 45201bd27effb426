package durable_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/types"
)

// failingStore is a store in which one operation fails. failing is the number of that operation, counted from 1.
type failingStore struct {
	*memstore.Store
	operation atomic.Int32
	failing   int32
}

var errDisk = errors.New("the disk is full")

func (s *failingStore) fails() error {
	if s.operation.Add(1) == s.failing {
		return errDisk
	}
	return nil
}

func (s *failingStore) InTx(ctx context.Context, guarded bool, f func(context.Context, *memstore.Tx) error) error {
	if err := s.fails(); err != nil {
		return err
	}
	return s.Store.InTx(ctx, guarded, f)
}

func (s *failingStore) Lock(ctx context.Context, tx *memstore.Tx, id durable.ID) (*durable.Row, error) {
	if err := s.fails(); err != nil {
		return nil, err
	}
	return s.Store.Lock(ctx, tx, id)
}

func (s *failingStore) Look(ctx context.Context, tx *memstore.Tx, id durable.ID) (*durable.Row, error) {
	if err := s.fails(); err != nil {
		return nil, err
	}
	return s.Store.Look(ctx, tx, id)
}

func (s *failingStore) Insert(ctx context.Context, tx *memstore.Tx, row *durable.Row) (*durable.Row, error) {
	if err := s.fails(); err != nil {
		return nil, err
	}
	return s.Store.Insert(ctx, tx, row)
}

func (s *failingStore) Save(ctx context.Context, tx *memstore.Tx, row *durable.Row) error {
	if err := s.fails(); err != nil {
		return err
	}
	return s.Store.Save(ctx, tx, row)
}

func (s *failingStore) Read(ctx context.Context, id durable.ID) (*durable.Row, error) {
	if err := s.fails(); err != nil {
		return nil, err
	}
	return s.Store.Read(ctx, id)
}

func (s *failingStore) List(ctx context.Context, after durable.Row, all bool, limit int) ([]durable.Row, error) {
	if err := s.fails(); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, after, all, limit)
}

func (s *failingStore) Due(ctx context.Context, look durable.DueLook) ([]durable.Row, error) {
	if err := s.fails(); err != nil {
		return nil, err
	}
	return s.Store.Due(ctx, look)
}

func (s *failingStore) Postpone(ctx context.Context, rows []durable.Row, due func(durable.Row) time.Time) ([]durable.Row, error) {
	if err := s.fails(); err != nil {
		return nil, err
	}
	return s.Store.Postpone(ctx, rows, due)
}

// A failure of the store is returned or logged. It never looks like success or like a missing row.
func TestErrorOfTheStoreIsReturnedOrLogged(t *testing.T) {
	booked := func(e *engine) { e.book = found; e.begin("ref-1"); e.send() }
	cancels := func(e *engine) { booked(e); e.orders = orderOne; require.NoError(e.t, e.cancel(toCancel)) }
	again := func(e *engine) {
		e.abandoned(requestOf("ref-1"))
		e.orders = orderOne
		require.NoError(e.t, e.cancel(toCancel))
	}
	work := func(e *engine, _ *failingStore, row *durable.Row) error {
		_, err := e.Work(e.t.Context(), row, 10)
		return err
	}
	run := func(e *engine, store *failingStore, _ *durable.Row) error {
		ctx, cancel := context.WithTimeout(e.t.Context(), time.Second/2)
		defer cancel()
		return e.Run(ctx, store)
	}
	for name, tc := range map[string]struct {
		kind    durable.Kind
		prepare func(e *engine)
		act     func(e *engine, store *failingStore, row *durable.Row) error
	}{
		"BeginTx": {"", func(*engine) {}, func(e *engine, _ *failingStore, _ *durable.Row) error { return e.beginTx(requestOf("ref-1")) }},
		"InTx": {"", func(*engine) {}, func(e *engine, _ *failingStore, _ *durable.Row) error {
			return e.InTx(e.t.Context(), func(_ context.Context, tx *memstore.Tx) error { assert.True(e.t, tx.Guarded); return nil })
		}},
		"BeginTx again": {"", again, func(e *engine, _ *failingStore, _ *durable.Row) error { return e.beginTx(requestOf("ref-1")) }},
		"Book": {"", again, func(e *engine, _ *failingStore, _ *durable.Row) error {
			_, err := e.Engine.Book(e.t.Context(), requestOf("ref-1"))
			return err
		}},
		"CancelTx": {"", booked, func(e *engine, _ *failingStore, _ *durable.Row) error { return e.cancel(toCancel) }},
		"Wake":     {"", again, func(e *engine, _ *failingStore, _ *durable.Row) error { return e.Wake(e.t.Context(), "ref-1") }},
		"Retry":    {"", again, func(e *engine, _ *failingStore, _ *durable.Row) error { return e.Retry(e.t.Context(), "ref-1") }},
		"Abandon":  {"", (*engine).lose, func(e *engine, _ *failingStore, _ *durable.Row) error { return e.Abandon(e.t.Context(), "ref-1") }},
		"Unfollow": {"", booked, func(e *engine, _ *failingStore, _ *durable.Row) error { return e.Unfollow(e.t.Context(), "ref-1") }},
		"Cancellations": {"", again, func(e *engine, _ *failingStore, _ *durable.Row) (err error) {
			for _, err = range e.Cancellations(e.t.Context()) {
			}
			return err
		}},
		"a worker sends": {durable.KindBooking, func(e *engine) { e.book = found; e.begin("ref-1") }, work},
		"a worker polls": {durable.KindBooking, func(e *engine) { e.lose(); e.step = polled(hotelstays.BookingOpen, nil) },
			work},
		"a worker finds the order": {durable.KindBooking, func(e *engine) { e.lose(); e.step = polled(hotelstays.BookingFound, nil) },
			work},
		"a worker cancels": {durable.KindCancel, cancels, work},
		"a cancellation waits for its booking": {durable.KindCancel, func(e *engine) { e.lose(); require.NoError(e.t, e.cancel(toCancel)) },
			work},
		"a worker reads a changed order": {durable.KindOrder, func(e *engine) {
			booked(e)
			e.orders = func(of []string) ([]types.Order, error) {
				o := orderUnder("ref-1", "order-1")
				o.HotelConfirmNo = "H-1"
				return []types.Order{o}, nil
			}
		}, work},
		"another process may call a function that hangs": {durable.KindBooking, func(e *engine) {
			e.lose()
			e.step = polled(hotelstays.BookingFound, nil)
			e.options.OnOutcome = func(context.Context, *memstore.Tx, *hotelstays.BookingOutcome) error {
				time.Sleep(time.Minute)
				return nil
			}
		}, func(e *engine, _ *failingStore, row *durable.Row) error {
			ctx, cancel := context.WithTimeout(e.t.Context(), time.Second)
			defer cancel()
			_, err := e.Work(ctx, row, 10)
			return err
		}},
		"Run": {"", again, run},
		"Run of a single process": {"", func(e *engine) {
			e.interrupted(time.Minute)
			e.options.SingleProcess = true
		}, run},
		"Run polls for two bookings": {"", func(e *engine) {
			e.loseAll("ref-1", "ref-2")
			e.orders = func([]string) ([]types.Order, error) { return nil, nil }
			time.Sleep(time.Second)
		}, run},
	} {
		t.Run(name, func(t *testing.T) {
			for failing, more := int32(1), true; more; failing++ {
				require.Less(t, failing, int32(30))
				synctest.Test(t, func(t *testing.T) {
					e := newEngine(t)
					tc.prepare(e)
					var row *durable.Row
					if tc.kind != "" {
						row = e.row(tc.kind, "ref-1")
					}
					e.log.Reset()
					store := &failingStore{Store: e.store, failing: failing}
					var err error
					e.Engine, err = durable.NewEngine(store, e.options)
					require.NoError(t, err)
					err = tc.act(e, store, row)
					more = store.operation.Load() >= failing
					if call, _, _ := strings.Cut(name, " "); more && err != nil && tc.kind == "" {
						assert.ErrorContains(t, err, call, "operation %d", failing)
						assert.NotContains(t, err.Error(), "%!")
					}
					if more && !errors.Is(err, errDisk) {
						assert.Contains(t, e.log.String(), errDisk.Error(), "operation %d: %v", failing, err)
					}
				})
			}
		})
	}
}
