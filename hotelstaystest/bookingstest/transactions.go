// The promises about transactions.

package bookingstest

import (
	"context"
	"errors"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/durable"
)

// undone is the error of a transaction that the database undid because of others.
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
	session := w.Offer.SessionID
	require.NoError(w, w.InTx(w.Context(), func(ctx context.Context, tx Tx) error {
		return w.CancelTx(ctx, tx, durable.CancelOrder{CustomerReferenceNo: "ref-1", SessionID: session})
	}))
	canceled, cancel := context.WithCancel(w.Context())
	cancel()
	require.ErrorIs(w, w.InTx(canceled, func(context.Context, Tx) error { return nil }), context.Canceled)
}
