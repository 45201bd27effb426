//go:build postgres

package hotelstaysriver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

func TestBookingBeginsWithItsTransaction(t *testing.T) {
	w := newWorld(t, nil)
	boom := errors.New("rolled back")
	err := pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		require.NoError(t, w.BeginTx(t.Context(), tx, w.request("ref-1")))
		return boom
	})
	require.ErrorIs(t, err, boom)
	_, err = w.Send(t.Context(), "ref-1")
	require.ErrorIs(t, err, durable.ErrNotBegun)
	assert.Zero(t, w.Ledger().Count(hotelstays.OpBook))

	w.begin(w.request("ref-1"))
	for _, opt := range []hotelstays.CallOption{hotelstays.WithRawData(), hotelstays.WithUserRef("another")} {
		var invalid *hotelstays.ValidationError
		_, err = w.Send(t.Context(), "ref-1", opt)
		require.ErrorAs(t, err, &invalid)
		require.Len(t, invalid.Fields, 1)
	}
	outcome, err := w.Send(t.Context(), "ref-1")
	require.NoError(t, err)
	assert.Equal(t, durable.EndingFound, durable.EndingOf(outcome), "it has waited")
}

// jsonb cannot hold the character NUL, but a hotel's text can.
func TestNULInAnOffer(t *testing.T) {
	w := newWorld(t, nil)
	req := w.request("ref-1")
	offer := *req.Expect
	offer.RateComment = `a\u0000b` + "\x00c"
	req.Expect = &offer
	w.begin(req)
	assert.Equal(t, `a\u0000bc`, w.job("ref-1").Args.Recovery.Expect.RateComment)
	w.Inject(bookMade)
	w.Inject(noPoll)
	_, err := w.Send(t.Context(), "ref-1")
	require.Error(t, err)
	w.ClearFaults()
	assert.Equal(t, 1, w.job("ref-1").Args.Recovery.Polls, "handed over")
	w.workers()
	w.hasState("ref-1", durable.EndingFound, 10*time.Second)

	require.ErrorContains(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		return w.BeginTx(t.Context(), tx, w.request("ref-1\x00"))
	}), "NUL")
}

func TestReferenceBeginsOnce(t *testing.T) {
	w := newWorld(t, func(cfg *Config) { cfg.Schema = "" }) // the search_path has it
	again := func() error {
		return pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
			return w.BeginTx(t.Context(), tx, w.request("ref-1"))
		})
	}
	w.begin(w.request("ref-1"))
	require.ErrorIs(t, again(), durable.ErrAlreadyBegun)
	w.Inject(bookRefused)
	_, err := w.Send(t.Context(), "ref-1")
	require.NoError(t, err)
	_, err = w.Send(t.Context(), "ref-1")
	require.ErrorIs(t, err, durable.ErrNotBegun, "it has ended without an order")
	require.NoError(t, again())
	_, err = w.pool.Exec(t.Context(), `INSERT INTO bookings (reference) VALUES ('ref-2')`)
	require.NoError(t, err)
	outcome, err := w.Send(t.Context(), "ref-1")
	require.NoError(t, err)
	require.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
	require.ErrorIs(t, again(), durable.ErrAlreadyBooked)
	_, err = w.Send(t.Context(), "ref-1")
	require.ErrorIs(t, err, durable.ErrAlreadyBooked)
	_, err = w.Book(t.Context(), w.request("ref-1"))
	require.ErrorIs(t, err, durable.ErrAlreadyBooked)

	outcome, err = w.Book(t.Context(), w.request("ref-2"))
	require.NoError(t, err)
	assert.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
	assert.Equal(t, row{"found", outcome.Order.PlatformReferenceNo, 1}, w.row("ref-2"))
}

// An order may still appear after its job was cancelled. The next round knows that, also in a
// transaction that does not see the cancellation.
func TestRoundAfterOneThatWasGivenUpFindsItsOrder(t *testing.T) {
	for _, isolation := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		t.Run(string(isolation), func(t *testing.T) {
			w := newWorld(t, nil, hotelstaystest.Config{LateVisibility: 8 * time.Minute})
			w.bookUnknown("ref-1", bookMade)
			require.NoError(t, pgx.BeginTxFunc(t.Context(), w.pool, pgx.TxOptions{IsoLevel: isolation}, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), `SELECT FROM river_job`)
				require.NoError(t, err)
				_, err = w.pool.Exec(t.Context(), `UPDATE river_job SET state = 'cancelled', finalized_at = now()`)
				require.NoError(t, err)
				return w.BeginTx(t.Context(), tx, w.request("ref-1")) // and its process dies
			}))
			w.staysOpen("ref-1")
		})
	}
}

// insertions counts the calls of River's extensions.
type insertions struct {
	river.HookDefaults
	river.MiddlewareDefaults
	hook, middleware int
}

func (i *insertions) IsPlugin() bool { return true }

func (i *insertions) InsertBegin(_ context.Context, params *rivertype.JobInsertParams) error {
	i.hook++
	params.Metadata = []byte(`{"tenant":"one"}`)
	return nil
}

func (i *insertions) InsertMany(ctx context.Context, _ []*rivertype.JobInsertParams,
	insert func(context.Context) ([]*rivertype.JobInsertResult, error)) ([]*rivertype.JobInsertResult, error) {
	i.middleware++
	return insert(ctx)
}

// The caller's extensions of River run for these jobs, and their metadata is kept.
func TestRiversExtensions(t *testing.T) {
	hook, middleware, plugin := &insertions{}, &insertions{}, &insertions{}
	w := newWorld(t, func(cfg *Config) {
		cfg.Hooks, cfg.Middleware, cfg.Plugins = []rivertype.Hook{hook}, []rivertype.Middleware{middleware}, []rivertype.Plugin{plugin}
	})
	w.begin(w.request("ref-1"))
	assert.Equal(t, []int{1, 0, 0, 1, 1, 1}, []int{hook.hook, hook.middleware, middleware.hook, middleware.middleware, plugin.hook,
		plugin.middleware})
	outcome, err := w.Send(t.Context(), "ref-1")
	require.NoError(t, err)
	assert.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
	var tenant string
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT metadata ->> 'tenant' FROM river_job WHERE state = 'completed'`).Scan(&tenant))
	assert.Equal(t, "one", tenant)
}
