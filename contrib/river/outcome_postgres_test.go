//go:build postgres

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

// An OnOutcome that fails or panics rolls back the completion of the job, and is tried again
// without end.
func TestOnOutcomeFails(t *testing.T) {
	for name, attempt := range map[string]int{"counted": 0, "no longer counted": countedFailures - 1} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			w := newWorld(t, func(cfg *Config) {
				cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
					switch calls.Add(1) {
					case 1:
						return errors.New("OnOutcome failed")
					case 2:
						panic("OnOutcome panicked")
					case 3:
						_, err := tx.Exec(ctx, "SELECT 1/0")
						return err
					}
					return caller(cfg.Pool).StoreRow(ctx, tx, o)
				}
			})
			w.SendUnknown("ref-1", bookingstest.BookMade)
			w.exec(`UPDATE river_job SET attempt = $1`, attempt)
			w.Work()
			w.HasState("ref-1", durable.EndingFound, time.Minute)
			assert.Equal(t, 1, w.Row("ref-1").Ended)
			j := w.job("ref-1")
			assert.Equal(t, "completed", j.State)
			var quoted bool
			require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT
				coalesce(errors::text, '') LIKE '%OnOutcome panicked%' FROM river_job`).Scan(&quoted))
			assert.False(t, quoted, "a panic's text may quote anything")
			if attempt == 0 {
				assert.Equal(t, 3, j.Errors, "River keeps a record")
			} else {
				assert.Equal(t, 0, j.Errors)
				assert.Equal(t, countedFailures, j.Attempt, "failures use no attempt up any more")
			}
		})
	}
}

// What the order has otherwise than the expected offer is part of the outcome, whoever finds the
// order, and stays in the job.
func TestChangesOfAnOrderThatCostsMore(t *testing.T) {
	var received hotelstays.OfferDiff
	w := newWorld(t, func(cfg *Config) {
		cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
			received = o.Changes
			return caller(cfg.Pool).StoreRow(ctx, tx, o)
		}
	})
	expected := *w.Offer.Expect
	expected.TotalRate.NetRate.Amount = "0.01"
	w.Offer.Expect = &expected
	for _, answered := range []bool{true, false} {
		reference := fmt.Sprint("ref-", answered)
		if answered {
			w.Begin(reference)
			outcome, err := w.Send(t.Context(), reference)
			require.NoError(t, err)
			assert.NotEmpty(t, outcome.Changes.Changes)
		} else {
			w.SendUnknown(reference, bookingstest.BookMade)
			w.Work()
			w.HasState(reference, durable.EndingFound, time.Minute)
		}
		assert.NotEmpty(t, received.Changes)
		assert.Equal(t, received.String(), w.job(reference).Args.Changes.String())
		received = hotelstays.OfferDiff{}
	}
}

// The first outcome counts; others change nothing.
func TestEndedOnce(t *testing.T) {
	w := newWorld(t, nil)
	id := w.marked("ref-1").ID
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			assert.NoError(t, w.end(id, "ref-1", hotelstays.BookingAbsent))
		})
	}
	wg.Wait()
	assert.Equal(t, bookingstest.Row{State: "absent", Ended: 1}, w.Row("ref-1"))
	err := w.end(id, "ref-1", hotelstays.BookingFound)
	require.ErrorIs(t, err, durable.ErrConflictingOutcome)
	assert.Equal(t, bookingstest.Row{State: "absent", Ended: 1}, w.Row("ref-1"))
}

// A hanging OnOutcome keeps one worker of its process, not those that River gives the job to
// next. It keeps its job locked, which blocks River's rescuer, until PostgreSQL ends the
// transaction. Then another process stores the outcome.
func TestOnOutcomeThatHangsHasOneWorker(t *testing.T) {
	hung, release := make(chan struct{}, 1), make(chan struct{})
	w := newWorld(t, nil)
	hanging := w.another(func(cfg *Config) {
		cfg.MaxWorkers = 2
		cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
			if err := w.Fleet.StoreRow(ctx, tx, o); err != nil || o.Recovery.CustomerReferenceNo != "ref-1" {
				return err
			}
			hung <- struct{}{}
			<-release // whatever ctx says
			return nil
		}
	})
	hanging.idle = time.Second
	defer close(release)
	w.SendUnknown("ref-1", bookingstest.BookMade)
	hanging.workers(func(cfg *river.Config) { cfg.LeaderElectionDisabled = true })
	w.Fleet.Pass(time.Minute)
	<-hung
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := w.pool.Exec(ctx, `UPDATE river_job SET state = 'available', scheduled_at = now()`)
		cancel()
		require.NoError(t, err)
		w.Eventually("a worker has had it", w.asleep)
	}
	w.SendUnknown("ref-2", bookingstest.BookMade)
	w.HasState("ref-2", durable.EndingFound, time.Minute)

	w.exec(`UPDATE river_job SET state = 'running', attempted_at = now() - $1::interval
		WHERE args ->> 'reference' = 'ref-1'`, defaultRescueAfter+time.Second)
	w.Work()
	w.HasState("ref-1", durable.EndingFound, time.Minute)
	assert.Equal(t, 1, w.Row("ref-1").Ended)
}

// OnOutcome may begin the reference again.
func TestOnOutcomeBeginsAgain(t *testing.T) {
	var w *world
	w = newWorld(t, func(cfg *Config) {
		cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
			if durable.EndingOf(o) != durable.EndingFailed {
				return caller(cfg.Pool).StoreRow(ctx, tx, o)
			}
			return w.BeginTx(ctx, tx, w.Request(o.Recovery.CustomerReferenceNo))
		}
	})
	w.Begin("ref-1")
	w.Inject(bookingstest.BookRefused)
	for _, want := range []durable.Ending{durable.EndingFailed, durable.EndingFound} {
		outcome, err := w.Send(t.Context(), "ref-1")
		require.NoError(t, err)
		assert.Equal(t, want, durable.EndingOf(outcome))
	}
	assert.Equal(t, 1, w.Row("ref-1").Ended)
}
