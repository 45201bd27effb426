//go:build postgres

package hotelstaysriver

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

// jsonb cannot hold the character NUL, but a hotel's text can.
func TestNULInAnOffer(t *testing.T) {
	w := newWorld(t, nil)
	offer := *w.Offer.Expect
	offer.RateComment = `a\u0000b` + "\x00c"
	w.Offer.Expect = &offer
	w.SendUnknown("ref-1", bookingstest.BookMade)
	handedOver := w.job("ref-1").Args.Recovery
	assert.Equal(t, `a\u0000bc`, handedOver.Expect.RateComment)
	assert.NotZero(t, handedOver.EndedAt)
	w.Work()
	w.HasState("ref-1", durable.EndingFound, 10*time.Second)
	require.ErrorContains(t, w.BeginAlone(w.Request("ref-1\x00")), "NUL")
}

// An order may still appear after its job was cancelled. The next round knows that, also in a
// transaction that does not see the cancellation.
func TestNextRoundKnowsTheBookOfOneThatWasCancelled(t *testing.T) {
	for _, isolation := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		t.Run(string(isolation), func(t *testing.T) {
			w := newWorld(t, nil)
			w.SendUnknown("ref-1", bookingstest.BookMade)
			ended := w.job("ref-1").Args.Recovery.EndedAt
			require.NoError(t, pgx.BeginTxFunc(t.Context(), w.pool, pgx.TxOptions{IsoLevel: isolation}, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), `SELECT FROM river_job`)
				require.NoError(t, err)
				w.exec(`UPDATE river_job SET state = 'cancelled', finalized_at = now()`)
				return w.BeginTx(t.Context(), tx, w.Request("ref-1"))
			}))
			assert.Equal(t, ended, w.job("ref-1").Args.Earlier)
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
		cfg.Schema = "" // the search_path has it
		cfg.Hooks, cfg.Middleware, cfg.Plugins = []rivertype.Hook{hook}, []rivertype.Middleware{middleware}, []rivertype.Plugin{plugin}
	})
	w.Begin("ref-1")
	assert.Equal(t, []int{1, 0, 0, 1, 1, 1}, []int{hook.hook, hook.middleware, middleware.hook, middleware.middleware, plugin.hook,
		plugin.middleware})
	w.MustSend("ref-1")
	var tenant string
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT metadata ->> 'tenant' FROM river_job WHERE state = 'completed'`).Scan(&tenant))
	assert.Equal(t, "one", tenant)
}
