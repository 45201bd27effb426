//go:build postgres

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

func TestAnOutcomeThatIsKnownAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.enqueue(w.request("ref-1"))
	outcome, err := w.Book(t.Context(), w.request("ref-1"))
	require.NoError(t, err)
	require.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
	assert.Equal(t, w.offers[0].SessionID, outcome.Recovery.SessionID, "Cancel needs it")
	assert.Equal(t, row{"found", w.Ledger().Orders()[0].PlatformReferenceNo, 1}, w.row("ref-1"))
	assert.Equal(t, "completed", w.job("ref-1").State)

	w.enqueue(w.request("ref-2"))
	w.Inject(bookRefused)
	outcome, err = w.Book(t.Context(), w.request("ref-2"))
	require.NoError(t, err)
	assert.Equal(t, durable.EndingFailed, durable.EndingOf(outcome))
	assert.ErrorIs(t, outcome.Err, hotelstays.ErrRateChanged)
	assert.Equal(t, "ref-2", outcome.Recovery.CustomerReferenceNo)
	assert.Equal(t, row{"failed", "", 1}, w.row("ref-2"))
	assert.Equal(t, "completed", w.job("ref-2").State)

	w.enqueue(w.request("ref-3"))
	invalid := w.request("ref-3")
	invalid.Guests = nil
	outcome, err = w.Book(t.Context(), invalid)
	require.NoError(t, err)
	assert.Equal(t, durable.EndingFailed, durable.EndingOf(outcome), "nothing was sent")
	assert.Equal(t, row{"failed", "", 1}, w.row("ref-3"))
	assert.Zero(t, w.Ledger().Count(hotelstaystest.OpQueryOrders), "nobody had to poll")
}

func TestAbsentAndBookedAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookLost)
	w.workers()
	w.hasState("ref-1", durable.EndingAbsent, 10*time.Second)
	assert.Empty(t, w.Ledger().Orders())
	ended := w.job("ref-1")
	assert.Equal(t, "completed", ended.State)
	assert.Equal(t, 0, ended.Errors)
	assert.GreaterOrEqual(t, w.Ledger().Count(hotelstaystest.OpQueryOrders), 3)

	offer, err := w.client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: w.offers[0].SessionID,
		RatePkgID: w.offers[0].RatePkgID})
	require.NoError(t, err)
	require.True(t, offer.Available())
	w.enqueue(w.request("ref-1"))
	outcome, err := w.Book(t.Context(), w.request("ref-1"))
	require.NoError(t, err)
	assert.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
	assert.Equal(t, row{"found", outcome.Order.PlatformReferenceNo, 2}, w.row("ref-1"))
	assert.Len(t, w.Ledger().Orders(), 1)
}

func TestAnotherOrderUnderTheReference(t *testing.T) {
	w := newWorld(t, nil)
	w.enqueue(w.request("ref-1"))
	_, err := w.Book(t.Context(), w.request("ref-1"))
	require.NoError(t, err)

	other, stay := w.request("ref-1"), *w.offers[0].Expect
	stay.CheckIn, stay.CheckOut = "2099-01-01", "2099-01-03"
	other.Expect = &stay
	w.enqueue(other)
	outcome, err := w.Book(t.Context(), other)
	require.NoError(t, err)
	var reused *hotelstays.ReferenceReusedError
	require.ErrorAs(t, outcome.Err, &reused)
	assert.Equal(t, durable.EndingReused, durable.EndingOf(outcome))
	assert.Equal(t, "reused", w.row("ref-1").State)
}

// With synchronous_commit off, a crash loses the last commits, but not those before a Book.
func TestPostgreSQLCrashesInBook(t *testing.T) {
	w := newWorld(t, nil)
	w.reconnect(func(cfg *pgxpool.Config) { cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off" })
	w.enqueue(w.request("ref-1"))
	_, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
	require.NoError(t, err)
	require.NoError(t, crash(t.Context()))
	w.eventually("the database is back", func() bool { return w.pool.Ping(t.Context()) == nil })
	assert.Equal(t, "pending", w.row("ref-1").State)
	assert.NotZero(t, w.job("ref-1").Args.BookBy)
}

// A process that dies in Book leaves a marked job. The schedule starts when Book has
// certainly ended.
func TestDiesInBook(t *testing.T) {
	w := newWorld(t, func(cfg *Config) { cfg.BookTimeout = time.Minute })
	w.enqueue(w.request("ref-1"))
	w.pass(30 * time.Second)
	_, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
	require.NoError(t, err)
	_, err = w.client.Book(t.Context(), w.request("ref-1")) // the process dies before the answer
	require.NoError(t, err)

	w.workers()
	_, err = w.Book(t.Context(), w.request("ref-1"))
	require.ErrorIs(t, err, ErrAlreadyStarted, "it is sent once")
	w.pass(50 * time.Second)
	assert.True(t, w.asleep(), "Book may still be under way")
	w.pass(10 * time.Second)
	w.hasState("ref-1", durable.EndingFound, 0)
	assert.Equal(t, 1, w.Ledger().Count(hotelstaystest.OpBook))
}

// BookTimeout also bounds the wait for the lock of the job.
func TestBookDoesNotWaitForALockForEver(t *testing.T) {
	w := newWorld(t, nil)
	w.enqueue(w.request("ref-1"))
	require.NoError(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `SELECT FROM river_job FOR UPDATE`)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		outcome, err := w.Book(ctx, w.request("ref-1"))
		assert.NoError(t, ctx.Err(), "it ends by itself")
		assert.Nil(t, outcome)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "nothing was sent")
		return nil
	}))
	assert.Zero(t, w.Ledger().Count(hotelstaystest.OpBook))
}

// A process is frozen in Book until its booking is stored as absent. Then Book returns its
// order with ErrConflictingOutcome.
func TestFrozenInBook(t *testing.T) {
	w := newWorld(t, func(cfg *Config) { cfg.BookTimeout = patience })
	w.enqueue(w.request("ref-1"))
	w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second})
	w.workers()
	var outcome *hotelstays.BookingOutcome
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		outcome, err = w.Book(t.Context(), w.request("ref-1"))
	}()
	w.eventually("Book is under way", func() bool { return w.Ledger().Count(hotelstaystest.OpBook) == 1 })
	w.hasState("ref-1", durable.EndingAbsent, 5*time.Minute)
	<-done
	require.ErrorIs(t, err, ErrConflictingOutcome)
	require.NotNil(t, outcome)
	assert.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
	assert.NotNil(t, outcome.Order)
}

// The same without an answer: the order may exist now, so the booking is enqueued again.
func TestFrozenInBookWithoutAnAnswer(t *testing.T) {
	w := newWorld(t, func(cfg *Config) { cfg.BookTimeout = patience })
	w.enqueue(w.request("ref-1"))
	w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultDelay, Delay: patience})
	w.workers()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var outcome *hotelstays.BookingOutcome
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		outcome, err = w.Book(ctx, w.request("ref-1"))
	}()
	w.eventually("Book is under way", func() bool { return w.Ledger().Count(hotelstaystest.OpBook) == 1 })
	w.hasState("ref-1", durable.EndingAbsent, 5*time.Minute)
	cancel()
	<-done
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(t, err, &unknown, "a worker finds out")
	assert.Nil(t, outcome)

	_, err = w.client.Book(t.Context(), w.request("ref-1")) // the service carries it out late
	require.NoError(t, err)
	w.hasState("ref-1", durable.EndingFound, time.Minute)
	assert.Equal(t, 2, w.row("ref-1").Ended)
}

// If its booking has been enqueued again, the new round's job polls for it.
func TestFrozenInBookWhileAnotherRoundIsUnderWay(t *testing.T) {
	w := newWorld(t, nil)
	w.enqueue(w.request("ref-1"))
	job, err := w.start(t.Context(), "ref-1", time.Now())
	require.NoError(t, err)
	require.NoError(t, w.finish(t.Context(), job.ID, finalFor("ref-1", hotelstays.BookingAbsent)))
	w.enqueue(w.request("ref-1"))
	before := w.job("ref-1")

	recovery := w.client.NewBookingRecovery(w.request("ref-1"))
	recovery.EndedAt = time.Now()
	err = w.handOver(t.Context(), job, &hotelstays.BookingOutcome{Recovery: recovery}, nil)

	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, before, w.job("ref-1"), "the new round's job is as it was")
}

// If a worker has found its order meanwhile, nothing is left to do.
func TestFrozenInBookUntilItsOrderIsFound(t *testing.T) {
	w := newWorld(t, nil)
	w.enqueue(w.request("ref-1"))
	job, err := w.start(t.Context(), "ref-1", time.Now())
	require.NoError(t, err)
	require.NoError(t, w.finish(t.Context(), job.ID, finalFor("ref-1", hotelstays.BookingFound)))
	recovery := w.client.NewBookingRecovery(w.request("ref-1"))
	recovery.EndedAt = time.Now()
	require.Error(t, w.handOver(t.Context(), job, &hotelstays.BookingOutcome{Recovery: recovery}, nil))
	assert.Equal(t, "completed", w.job("ref-1").State, "and no other job")
}

// Many concurrent bookings end once each.
func TestConcurrentBookings(t *testing.T) {
	w := newWorld(t, nil)
	w.workers()
	var wg sync.WaitGroup
	for i := range 20 {
		reference := fmt.Sprintf("ref-%d", i%10)
		wg.Go(func() { // two callers for each reference
			err := pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
				if err := w.EnqueueTx(t.Context(), tx, w.client.NewBookingRecovery(w.request(reference))); err != nil {
					return err
				}
				_, err := tx.Exec(t.Context(), `INSERT INTO bookings (reference) VALUES ($1)`, reference)
				return err
			})
			var taken *pgconn.PgError
			if errors.Is(err, ErrAlreadyEnqueued) || errors.As(err, &taken) && taken.ConstraintName == "bookings_pkey" {
				return // the other caller has it
			}
			if assert.NoError(t, err) {
				outcome, err := w.Book(t.Context(), w.request(reference))
				assert.NoError(t, err)
				assert.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
			}
		})
	}
	wg.Wait()
	assert.Len(t, w.Ledger().Orders(), 10)
	for i := range 10 {
		assert.Equal(t, 1, w.row(fmt.Sprintf("ref-%d", i)).Ended)
	}
}
