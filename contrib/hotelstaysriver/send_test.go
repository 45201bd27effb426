//go:build postgres

package hotelstaysriver

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
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

// synchronous_commit is off, so a crash of the server may lose the last commits.
func TestDatabaseCrashDoesNotLoseTheMarkOfBookOrCancel(t *testing.T) {
	for in, mark := range map[string]func(w, other *world){
		"Book": func(_, other *world) { other.marked("ref-1") },
		"Cancel": func(w, other *world) {
			w.marked("ref-1")
			require.NoError(w, w.CancelAlone("ref-1", nil))
			require.NoError(w, other.store.InTx(w.Context(), false, func(ctx context.Context, tx pgx.Tx) error {
				row, err := other.store.Lock(ctx, tx, other.id(durable.KindCancel, "ref-1"))
				require.NoError(w, err)
				var cancellation map[string]any
				require.NoError(w, json.Unmarshal(row.State, &cancellation))
				cancellation["sendBy"] = time.Now()
				row.State, err = json.Marshal(cancellation)
				require.NoError(w, err)
				return other.store.Save(ctx, tx, row)
			}))
		},
	} {
		t.Run("the mark of "+in, func(t *testing.T) {
			w := newLonelyWorld(t, nil)
			mark(w, w.reconnect(func(cfg *pgxpool.Config) { cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off" }))
			require.NoError(t, crash(t.Context()))
			w.Eventually("the database is back", func() bool { return w.pool.Ping(t.Context()) == nil })
			assert.Equal(t, "pending", w.Row("ref-1").State)
			assert.NotZero(t, w.Fleet.Stored("ref-1").BookBy)
			if in == "Cancel" {
				assert.NotZero(t, w.Fleet.Cancellation("ref-1").SendBy)
			}
		})
	}
}

func TestInTxIsReadCommittedWithAnyDefault(t *testing.T) {
	w := newWorld(t, nil)
	w = w.reconnect(func(cfg *pgxpool.Config) {
		cfg.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	})
	require.NoError(t, w.Engine.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		var isolation string
		require.NoError(t, tx.QueryRow(ctx, `SHOW transaction_isolation`).Scan(&isolation))
		assert.Equal(t, "read committed", isolation)
		return nil
	}))
}

func TestSendWaitsForALockAtMostBookTimeout(t *testing.T) {
	w := newWorld(t, func(cfg *Options) { cfg.BookTimeout = time.Second })
	w.Begin("ref-1")
	require.NoError(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `SELECT FROM river_job FOR UPDATE`)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		outcome, err := w.Engine.Send(ctx, "ref-1")
		assert.NoError(t, ctx.Err(), "Book returns before the caller's ctx ends")
		assert.Nil(t, outcome)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "nothing was sent")
		return nil
	}))
	assert.Zero(t, w.Ledger().Count(hotelstays.OpBook))
}

// A frozen Book ends after its booking has begun again. The job of the new round stores the end of Book, even while a
// worker has that job. If that job has ended, it becomes live again.
func TestNextRoundLearnsWhenTheFrozenBookOfTheRoundBeforeHasEnded(t *testing.T) {
	for name, ended := range map[string]bool{"a worker has the new job": false, "the new job has ended": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			thaw := w.frozen("ref-1")
			w.ends("ref-1", durable.EndingAbsent)
			require.NoError(t, w.BeginAlone(w.Request("ref-1")))
			w.change("ref-1", sentUntil(time.Now().Add(-time.Minute)))
			fetch(w, durable.KindBooking, "ref-1")
			if ended {
				w.ends("ref-1", durable.EndingAbsent)
			}
			thaw()
			stored := w.job("ref-1")
			if ended {
				assert.Equal(t, "available", stored.State)
				assert.WithinDuration(t, time.Now(), stored.Args.Recovery.EndedAt, patience)
				w.exec(`UPDATE river_job SET state = 'cancelled', finalized_at = now()`)
				assert.Equal(t, durable.EndingAbandoned, w.Fleet.Stored("ref-1").Ending, "its absence is no longer proven")
			} else {
				assert.Equal(t, "running", stored.State, "no second worker gets the job")
				assert.WithinDuration(t, time.Now(), stored.Args.Earlier, patience)
			}
		})
	}
}

// Two runs find the same order at the same time. One run delivers it, and the other run waits for the first.
func TestTwoRunsThatFindTheSameOrderDeliverItOnce(t *testing.T) {
	var once sync.Once
	w := newWorld(t, func(cfg *Options) {
		cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
			once.Do(func() {
				for waiting := 0; waiting == 0 && ctx.Err() == nil; { // until the other run waits for the lock
					assert.NoError(t, tx.QueryRow(ctx, `SELECT count(*) FROM pg_stat_clear_snapshot(), pg_stat_activity
						WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))`).Scan(&waiting))
				}
			})
			return caller(cfg.Pool).StoreRow(ctx, tx, o)
		}
	})
	w.SendUnknown("ref-1", bookingstest.BookMade)
	w.Fleet.Pass(time.Minute)
	var wg sync.WaitGroup
	for _, process := range []*world{w, w.another(func(*Options) {})} {
		job := fetch(w, durable.KindBooking, "ref-1")
		wg.Go(func() { assert.NoError(t, process.run(t.Context(), job)) })
	}
	wg.Wait()
	assert.Equal(t, 1, w.Row("ref-1").Ended)
	assert.Equal(t, "completed", w.job("ref-1").State)
}

// A hanging OnOutcome blocks one worker of its process, and no worker of another process. The job stays locked until
// PostgreSQL ends the transaction, and this lock also blocks River's rescuer. Then another process stores the outcome.
func TestHangingOnOutcomeBlocksOneWorker(t *testing.T) {
	hung, release := make(chan struct{}, 1), make(chan struct{})
	w := newWorld(t, nil)
	hanging := w.another(func(cfg *Options) {
		cfg.MaxWorkers = 2
		cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
			if err := w.Fleet.StoreRow(ctx, tx, o); err != nil || o.Recovery.CustomerReferenceNo != "ref-1" {
				return err
			}
			hung <- struct{}{}
			<-release // OnOutcome ignores the end of ctx
			return nil
		}
	})
	hanging.store.idle = time.Second
	defer close(release)
	w.SendUnknown("ref-1", bookingstest.BookMade)
	startWorkers(t, hanging.Bookings, func(cfg *river.Config) { cfg.LeaderElectionDisabled = true })
	w.Fleet.Pass(time.Minute)
	<-hung
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := w.pool.Exec(ctx, `UPDATE river_job SET state = 'available', scheduled_at = now()`)
		cancel()
		require.NoError(t, err)
		w.Eventually("another worker has released the job", w.asleep)
	}
	w.SendUnknown("ref-2", bookingstest.BookMade)
	w.HasState("ref-2", durable.EndingFound, time.Minute)

	w.exec(`UPDATE river_job SET state = 'running', attempted_at = now() - $1::interval
		WHERE args ->> 'reference' = 'ref-1'`, defaultRescueAfter+time.Second)
	w.Work()
	w.HasState("ref-1", durable.EndingFound, time.Minute)
	assert.Equal(t, 1, w.Row("ref-1").Ended)
}

// A process that dies during Book leaves a marked job. The schedule of polls starts when Book has certainly ended.
func TestBookingOfADeadProcessIsPolledAfterBookTimeout(t *testing.T) {
	w := newWorld(t, func(cfg *Options) { cfg.BookTimeout = time.Minute })
	w.marked("ref-1")
	assert.Empty(t, w.job("ref-1").Args.Request, "the request is erased when it is sent")
	w.BookElsewhere("ref-1") // the process dies before the answer, but the order exists

	w.Work()
	_, err := w.Engine.Send(t.Context(), "ref-1")
	require.ErrorIs(t, err, durable.ErrAlreadyStarted, "a booking is sent once")
	w.Fleet.Pass(50 * time.Second)
	assert.True(t, w.asleep(), "Book may still be in progress")
	w.Fleet.Pass(15 * time.Second)
	w.HasState("ref-1", durable.EndingFound, 0)
	assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpBook))
}
