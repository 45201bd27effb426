package durable_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/types"
)

var errDisk = errors.New("the disk is full")

// failingStore is a store whose transactions, too, call Before first.
type failingStore struct{ *memstore.Store }

func (s failingStore) InTx(ctx context.Context, guarded bool, f func(context.Context, *memstore.Tx) error) error {
	if err := s.Before(); err != nil {
		return err
	}
	return s.Store.InTx(ctx, guarded, f)
}

// A failure of the store is returned or logged. It never looks like success or like a missing row.
func TestErrorOfTheStoreIsReturnedOrLogged(t *testing.T) {
	cancels := func(e *engine) { e.booked(); e.orders = orderOne; require.NoError(e.t, e.cancel(toCancel)) }
	again := func(e *engine) {
		e.abandoned(requestOf("ref-1"))
		e.orders = orderOne
		require.NoError(e.t, e.cancel(toCancel))
	}
	work := func(e *engine, row *durable.Row) error {
		_, err := e.Work(e.t.Context(), row, 10)
		return err
	}
	run := func(e *engine, _ *durable.Row) error {
		ctx, cancel := context.WithTimeout(e.t.Context(), time.Second/2)
		defer cancel()
		return e.Run(ctx, e.store)
	}
	for name, tc := range map[string]struct {
		kind    durable.Kind
		prepare func(e *engine)
		act     func(e *engine, row *durable.Row) error
	}{
		"BeginTx": {"", func(*engine) {}, func(e *engine, _ *durable.Row) error { return e.beginTx(requestOf("ref-1")) }},
		"InTx": {"", func(*engine) {}, func(e *engine, _ *durable.Row) error {
			return e.InTx(e.t.Context(), func(_ context.Context, tx *memstore.Tx) error { assert.True(e.t, tx.Guarded); return nil })
		}},
		"BeginTx again": {"", again, func(e *engine, _ *durable.Row) error { return e.beginTx(requestOf("ref-1")) }},
		"Book": {"", again, func(e *engine, _ *durable.Row) error {
			_, err := e.Engine.Book(e.t.Context(), requestOf("ref-1"))
			return err
		}},
		"CancelTx": {"", (*engine).booked, func(e *engine, _ *durable.Row) error { return e.cancel(toCancel) }},
		"Wake":     {"", again, func(e *engine, _ *durable.Row) error { return e.Wake(e.t.Context(), "ref-1") }},
		"Retry":    {"", again, func(e *engine, _ *durable.Row) error { return e.Retry(e.t.Context(), "ref-1") }},
		"Abandon":  {"", (*engine).lose, func(e *engine, _ *durable.Row) error { return e.Abandon(e.t.Context(), "ref-1") }},
		"Unfollow": {"", (*engine).booked, func(e *engine, _ *durable.Row) error { return e.Unfollow(e.t.Context(), "ref-1") }},
		"Cancellations": {"", again, func(e *engine, _ *durable.Row) (err error) {
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
			e.booked()
			e.orders = confirmedOrder
		}, work},
		"another process may call a function that hangs": {durable.KindBooking, func(e *engine) {
			e.lose()
			e.step = polled(hotelstays.BookingFound, nil)
			e.options.OnOutcome = func(context.Context, *memstore.Tx, *hotelstays.BookingOutcome) error {
				time.Sleep(time.Minute)
				return nil
			}
		}, func(e *engine, row *durable.Row) error {
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
				inBubble(t, func(t *testing.T, e *engine) {
					tc.prepare(e)
					var row *durable.Row
					if tc.kind != "" {
						row = e.row(tc.kind, "ref-1")
					}
					e.log.Reset()
					var operation atomic.Int32
					e.store.Before = func() error {
						if operation.Add(1) == failing {
							return errDisk
						}
						return nil
					}
					var err error
					e.Engine, err = durable.NewEngine(failingStore{e.store}, e.options)
					require.NoError(t, err)
					err = tc.act(e, row)
					more = operation.Load() >= failing
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
