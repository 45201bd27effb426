//go:build postgres

package hotelstaysriver

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

// jsonb cannot hold the character NUL, but a hotel's text can.
func TestJobStoresTheTextsOfAnOfferWithoutNUL(t *testing.T) {
	w := newWorld(t, nil)
	w.Accounts[0].Offer.RateComment = `a\u0000b` + "\x00c"
	w.SendUnknown("ref-1", bookingstest.BookMade)
	handedOver := w.job("ref-1").Args.Recovery
	assert.Equal(t, `a\u0000bc`, handedOver.Expect.RateComment)
	assert.NotZero(t, handedOver.EndedAt)
	w.Work()
	w.HasState("ref-1", durable.EndingFound, 10*time.Second)
	require.ErrorContains(t, w.BeginAlone(w.Request("ref-1\x00")), "NUL")
}

// The order of a cancelled job may still appear, so the new job stores when the earlier Book ended. In the second case,
// the transaction of the next round still sees the earlier job as live.
func TestNextRoundStoresTheEndOfTheBookOfACancelledJob(t *testing.T) {
	for _, isolation := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		t.Run(string(isolation), func(t *testing.T) {
			w := newWorld(t, nil)
			w.SendUnknown("ref-1", bookingstest.BookMade)
			ended := w.job("ref-1").Args.Recovery.EndedAt
			require.NoError(t, pgx.BeginTxFunc(t.Context(), w.pool, pgx.TxOptions{IsoLevel: isolation}, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), `SELECT FROM river_job`)
				require.NoError(t, err)
				w.exec(`UPDATE river_job SET state = 'cancelled', finalized_at = now()`)
				return w.Engine.BeginTx(t.Context(), tx, w.Request("ref-1"))
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

func TestRiverCallsHooksMiddlewareAndPlugins(t *testing.T) {
	hook, middleware, plugin := &insertions{}, &insertions{}, &insertions{}
	w := newWorld(t, func(cfg *Options) {
		cfg.Schema = "" // the schema is in the search_path
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

// With synchronous_commit off, a crash of the server could lose the mark that Book was sent.
func TestInTxIsReadCommittedWithAnyDefault(t *testing.T) {
	w := newWorld(t, nil)
	w = w.reconnect(func(cfg *pgxpool.Config) {
		cfg.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
		cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	})
	require.NoError(t, w.Engine.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		for setting, want := range map[string]string{
			"transaction_isolation": "read committed", "synchronous_commit": "on", "idle_in_transaction_session_timeout": "1min",
		} {
			var value string
			require.NoError(t, tx.QueryRow(ctx, `SELECT current_setting($1)`, setting).Scan(&value))
			assert.Equal(t, want, value, setting)
		}
		return nil
	}))
}
