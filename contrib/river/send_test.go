//go:build postgres

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	"github.com/hotelstays/hotelstays-go/types"
)

func TestOutcomeKnownAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.begin(w.request("ref-1"))
	outcome, err := w.Send(t.Context(), "ref-1")
	require.NoError(t, err)
	require.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
	assert.Equal(t, w.offers[0].SessionID, outcome.Recovery.SessionID, "Cancel needs it")
	assert.Equal(t, row{"found", w.Ledger().Orders()[0].PlatformReferenceNo, 1}, w.row("ref-1"))
	assert.Equal(t, "completed", w.job("ref-1").State)

	w.begin(w.request("ref-2"))
	w.Inject(bookRefused)
	outcome, err = w.Send(t.Context(), "ref-2")
	require.NoError(t, err)
	assert.Equal(t, durable.EndingFailed, durable.EndingOf(outcome))
	assert.ErrorIs(t, outcome.Err, hotelstays.ErrRateChanged)
	assert.Equal(t, "ref-2", outcome.Recovery.CustomerReferenceNo)
	assert.Equal(t, row{"failed", "", 1}, w.row("ref-2"))
	assert.Equal(t, "completed", w.job("ref-2").State)

	w.begin(w.request("ref-3"))
	refusal := bookRefused
	refusal.Code = 100001112
	w.Inject(refusal)
	outcome, err = w.Send(t.Context(), "ref-3", hotelstays.WithServiceFacts(hotelstays.ServiceFacts{
		RefusalCodes: map[hotelstays.Operation][]int{hotelstays.OpBook: {100001112}}}))
	require.NoError(t, err)
	assert.Equal(t, hotelstays.KindRefused, hotelstays.KindOf(outcome.Err))
	assert.Equal(t, row{"failed", "", 1}, w.row("ref-3"))
	assert.Zero(t, w.Ledger().Count(hotelstays.OpQueryOrders), "nobody had to poll")
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
	assert.GreaterOrEqual(t, w.Ledger().Count(hotelstays.OpQueryOrders), 3)

	offer, err := w.client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: w.offers[0].SessionID,
		RatePkgID: w.offers[0].RatePkgID})
	require.NoError(t, err)
	require.True(t, offer.Available())
	w.begin(w.request("ref-1"))
	outcome, err := w.Send(t.Context(), "ref-1")
	require.NoError(t, err)
	assert.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
	assert.Equal(t, row{"found", outcome.Order.PlatformReferenceNo, 2}, w.row("ref-1"))
	assert.Len(t, w.Ledger().Orders(), 1)
}

func TestReferenceOfAnotherOrder(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.client.Book(t.Context(), w.request("ref-1"))
	require.NoError(t, err)
	other, stay := w.request("ref-1"), *w.offers[0].Expect
	stay.CheckIn, stay.CheckOut = "2099-01-01", "2099-01-03"
	other.Expect = &stay
	w.begin(other)
	outcome, err := w.Send(t.Context(), "ref-1")
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
	w.begin(w.request("ref-1"))
	_, _, _, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
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
	w.begin(w.request("ref-1"))
	w.pass(30 * time.Second)
	_, _, _, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
	require.NoError(t, err)
	assert.Empty(t, w.job("ref-1").Args.Request, "nobody needs it any more")
	_, err = w.client.Book(t.Context(), w.request("ref-1")) // the process dies before the answer
	require.NoError(t, err)

	w.workers()
	_, err = w.Send(t.Context(), "ref-1")
	require.ErrorIs(t, err, durable.ErrAlreadyStarted, "it is sent once")
	w.pass(50 * time.Second)
	assert.True(t, w.asleep(), "Book may still be under way")
	w.pass(10 * time.Second)
	w.hasState("ref-1", durable.EndingFound, 0)
	assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpBook))
}

// BookTimeout also bounds the wait for the lock of the job.
func TestBookDoesNotWaitForALockForEver(t *testing.T) {
	w := newWorld(t, nil)
	w.begin(w.request("ref-1"))
	require.NoError(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `SELECT FROM river_job FOR UPDATE`)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		outcome, err := w.Send(ctx, "ref-1")
		assert.NoError(t, ctx.Err(), "it ends by itself")
		assert.Nil(t, outcome)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "nothing was sent")
		return nil
	}))
	assert.Zero(t, w.Ledger().Count(hotelstays.OpBook))
}

// A process is frozen in Book until its booking is stored as absent. With an answer, Send returns
// its order with durable.ErrConflictingOutcome. Without one, the order may exist now, so the
// booking gets a new job.
func TestSendFrozenUntilItsBookingIsAbsent(t *testing.T) {
	for _, answered := range []bool{true, false} {
		t.Run(fmt.Sprintf("answered %t", answered), func(t *testing.T) {
			w := newWorld(t, func(cfg *Config) { cfg.BookTimeout = patience })
			w.begin(w.request("ref-1"))
			slow := hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: patience}
			if answered {
				slow.Delay = 3 * time.Second
			}
			w.Inject(slow)
			w.workers()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var outcome *hotelstays.BookingOutcome
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				outcome, err = w.Send(ctx, "ref-1")
			}()
			w.eventually("Book is under way", func() bool { return w.Ledger().Count(hotelstays.OpBook) == 1 })
			w.hasState("ref-1", durable.EndingAbsent, 5*time.Minute)
			if answered {
				<-done
				require.ErrorIs(t, err, durable.ErrConflictingOutcome)
				require.NotNil(t, outcome)
				assert.Equal(t, durable.EndingFound, durable.EndingOf(outcome))
				assert.NotNil(t, outcome.Order)
				return
			}
			cancel()
			<-done
			require.Equal(t, hotelstays.KindOutcomeUnknown, hotelstays.KindOf(err), "a worker finds out")
			assert.Nil(t, outcome)
			_, err = w.client.Book(t.Context(), w.request("ref-1")) // the service carries it out late
			require.NoError(t, err)
			w.hasState("ref-1", durable.EndingFound, time.Minute)
			assert.Equal(t, 2, w.row("ref-1").Ended)
		})
	}
}

// A later round polls for the order of a frozen Book as well: no absence before ten minutes after
// that Book.
func TestSendFrozenUntilAnotherRoundHasBegun(t *testing.T) {
	for name, before := range map[string]func(w *world, id int64){
		"it waits": func(*world, int64) {},
		"a worker has it": func(w *world, id int64) {
			_, _, _, err := w.start(t.Context(), "ref-1", time.Now().Add(-time.Minute))
			require.NoError(t, err)
		},
		"it has ended now": func(w *world, id int64) { require.NoError(t, w.end(id, "ref-1", hotelstays.BookingAbsent)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, hotelstaystest.Config{LateVisibility: 8 * time.Minute})
			w.begin(w.request("ref-1"))
			frozen, _, _, err := w.start(t.Context(), "ref-1", time.Now())
			require.NoError(t, err)
			require.NoError(t, w.end(frozen.ID, "ref-1", hotelstays.BookingAbsent))
			w.begin(w.request("ref-1")) // and its process dies
			before(w, w.fetch("ref-1").ID)
			_, err = w.client.Book(t.Context(), w.request("ref-1"))
			require.NoError(t, err)
			w.handedOver(frozen, w.ended("ref-1", 0))
			w.staysOpen("ref-1")
		})
	}
}

// A refusal is no outcome while the order of a frozen Book may appear.
func TestRefusedAfterAFrozenBook(t *testing.T) {
	w := newWorld(t, func(cfg *Config) { cfg.BookTimeout = patience })
	w.begin(w.request("ref-1"))
	frozen, _, _, err := w.start(t.Context(), "ref-1", time.Now())
	require.NoError(t, err)
	require.NoError(t, w.end(frozen.ID, "ref-1", hotelstays.BookingAbsent))
	w.begin(w.request("ref-1"))
	slow := bookRefused
	slow.Delay = time.Second
	w.Inject(slow)
	done := make(chan error)
	go func() { _, err := w.Send(t.Context(), "ref-1"); done <- err }()
	w.eventually("Book is under way", func() bool { return w.Ledger().Count(hotelstays.OpBook) == 1 })
	w.handedOver(frozen, w.ended("ref-1", 0))
	err = <-done
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(t, err, &unknown)
	assert.ErrorIs(t, err, hotelstays.ErrRateChanged)
	assert.Equal(t, "pending", w.row("ref-1").State)
}

// Whoever ends ctx may give any error as the cause. It says nothing about the booking.
func TestCauseOfCtxIsNoAnswer(t *testing.T) {
	w := newWorld(t, nil)
	order := &types.Order{PlatformReferenceNo: "of another booking"}
	for name, cause := range map[string]error{
		"refused":     &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 200, Code: types.CodeRateChanged},
		"reused":      &hotelstays.ReferenceReusedError{Order: order},
		"not begun":   durable.ErrNotBegun,
		"conflicting": durable.ErrConflictingOutcome,
		"not dialled": &net.OpError{Op: "dial", Err: errors.New("refused")},
	} {
		for _, sent := range []bool{false, true} {
			reference := fmt.Sprintf("%s, %t", name, sent)
			ctx, cancel := context.WithCancelCause(t.Context())
			w.begin(w.request(reference))
			if sent {
				w.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: patience})
				books := w.Ledger().Count(hotelstays.OpBook)
				go func() {
					assert.Eventually(t, func() bool { return w.Ledger().Count(hotelstays.OpBook) > books }, patience, time.Millisecond)
					cancel(cause)
				}()
			} else {
				cancel(cause)
			}
			_, err := w.Send(ctx, reference)
			cancel(nil)
			require.ErrorIs(t, err, context.Canceled, reference)
			var unknown *hotelstays.OutcomeUnknownError
			assert.Equal(t, sent, errors.As(err, &unknown), reference)
			assert.NotErrorIs(t, err, cause, reference)
			assert.Equal(t, row{State: "pending"}, w.row(reference))
		}
	}
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
				if err := w.BeginTx(t.Context(), tx, w.request(reference)); err != nil {
					return err
				}
				_, err := tx.Exec(t.Context(), `INSERT INTO bookings (reference) VALUES ($1)`, reference)
				return err
			})
			var taken *pgconn.PgError
			if errors.Is(err, durable.ErrAlreadyBegun) || errors.Is(err, durable.ErrAlreadyBooked) ||
				errors.As(err, &taken) && taken.ConstraintName == "bookings_pkey" {
				return // the other caller has it
			}
			if assert.NoError(t, err) {
				outcome, err := w.Send(t.Context(), reference)
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
