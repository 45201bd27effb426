// The promises about transactions.

package bookingstest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// TestRowLocks tests an implementation whose database locks single rows. SQLite locks the whole database, so it cannot pass.
func TestRowLocks[Tx any](t *testing.T, start func(t *testing.T) Fleet[Tx]) {
	run(t, start, []promise[Tx]{
		{rule: "CancelTx does not wait while OnOutcome of its booking runs", test: cancelTxDuringOnOutcome[Tx]},
		{rule: "a slow OnOrder delays no other order", test: slowOnOrder[Tx]},
	})
}

// cancelTxDuringOnOutcome checks that OnOutcome may call CancelTx in another transaction. If CancelTx waited for the
// lock of the booking's row, OnOutcome would never end.
func cancelTxDuringOnOutcome[Tx any](w *World[Tx]) {
	w.Options.OnOutcome = func(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error {
		return errors.Join(w.CancelAlone("ref-1", nil), w.Fleet.StoreRow(ctx, tx, outcome))
	}
	w.Begin("ref-1")
	w.Another(nil).MustSend("ref-1")
	w.Work()
	w.CancelEnds("ref-1", durable.CancelDone, 1, 0)
}

// slowOnOrder checks that OnOrder receives the changes of the other orders of a request while it hangs for one order.
func slowOnOrder[Tx any](w *World[Tx]) {
	const orders = 6
	w = w.following(func(ctx context.Context, tx Tx, change *durable.OrderChange) error {
		if change.After.CustomerReferenceNo == "ref-1" {
			<-ctx.Done()
			return ctx.Err()
		}
		return w.Fleet.StoreOrder(ctx, tx, change)
	})
	for i := range orders {
		w.Booked(fmt.Sprint("ref-", i))
		w.ConfirmOrder(fmt.Sprint("ref-", i))
	}
	w.Fleet.Pass(2 * time.Minute)
	w.Work()
	w.Eventually("OnOrder has received the other orders", func() bool {
		var changes int
		require.NoError(w, w.Fleet.QueryRow(w.Context(), `SELECT SUM(changes) FROM bookings`).Scan(&changes))
		return changes == orders-1
	})
}

// undone is the error of a transaction that the database rolled back because of concurrent transactions.
type undone struct{}

func (undone) Error() string { return "could not serialize access" }

func (undone) SQLState() string { return "40001" }

func inTx[Tx any](w *World[Tx]) {
	failures := []error{errors.New("failed"), undone{}, undone{}, nil}
	calls := 0
	begin := func(ctx context.Context, tx Tx) error {
		if err := w.BeginTx(ctx, tx, w.Request("ref-1")); err != nil {
			return err
		}
		calls++
		return errors.Join(w.addRow(ctx, tx, "ref-1"), failures[calls-1])
	}
	require.ErrorIs(w, w.InTx(w.Context(), begin), failures[0])
	require.NoError(w, w.InTx(w.Context(), begin))
	assert.Equal(w, len(failures), calls)
	require.Equal(w, durable.EndingFound, durable.EndingOf(w.MustSend("ref-1")))
	require.NoError(w, w.InTx(w.Context(), func(ctx context.Context, tx Tx) error {
		return w.CancelTx(ctx, tx, durable.CancelOrder{CustomerReferenceNo: "ref-1", SessionID: w.Accounts[0].Session})
	}))
	canceled, cancel := context.WithCancel(w.Context())
	cancel()
	require.ErrorIs(w, w.InTx(canceled, func(context.Context, Tx) error { return nil }), context.Canceled)
}

func onOutcomeBeginsAgain[Tx any](w *World[Tx]) {
	w.Options.OnOutcome = func(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error {
		if durable.EndingOf(outcome) != durable.EndingFailed {
			return w.Fleet.StoreRow(ctx, tx, outcome)
		}
		return w.BeginTx(ctx, tx, w.Request(outcome.Recovery.CustomerReferenceNo))
	}
	w = w.Another(nil)
	w.Begin("ref-1")
	w.Inject(BookRefused)
	for _, want := range []durable.Ending{durable.EndingFailed, durable.EndingFound} {
		assert.Equal(w, want, durable.EndingOf(w.MustSend("ref-1")))
	}
	assert.Equal(w, 1, w.Row("ref-1").Ended)
}
