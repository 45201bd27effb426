//go:build postgres

// The life of a booking, and what may happen in it.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

var (
	bookLost    = hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut}
	bookMade    = hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true}
	bookRefused = hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 200, Code: hotelstays.CodeRateChanged}
	noPoll      = hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 200, Code: 100009999, Times: -1}
)

// bookUnknown makes a booking whose outcome its own process does not learn: it gets no
// answer, and its polls fail.
func (w *world) bookUnknown(reference string, fault hotelstaystest.Fault) {
	w.t.Helper()
	w.enqueue(w.request(reference))
	w.Inject(fault)
	w.Inject(noPoll)
	defer w.ClearFaults()
	outcome, err := w.Book(w.t.Context(), w.request(reference))
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(w.t, err, &unknown)
	require.Nil(w.t, outcome)
	require.Equal(w.t, reference, unknown.CustomerReferenceNo)
	require.Equal(w.t, row{State: "pending"}, w.row(reference))
}

func TestAnEndThatIsKnownAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.enqueue(w.request("ref-1"))
	outcome, err := w.Book(t.Context(), w.request("ref-1"))
	require.NoError(t, err)
	require.Equal(t, endingFound, endingOf(outcome))
	assert.Equal(t, w.offers[0].SessionID, outcome.Recovery.SessionID, "Cancel needs it")
	assert.Equal(t, row{"found", w.Ledger().Orders()[0].PlatformReferenceNo, 1}, w.row("ref-1"))
	assert.Equal(t, "completed", w.job("ref-1").State)

	w.enqueue(w.request("ref-2"))
	w.Inject(bookRefused)
	outcome, err = w.Book(t.Context(), w.request("ref-2"))
	require.NoError(t, err)
	assert.Equal(t, endingFailed, endingOf(outcome))
	assert.ErrorIs(t, outcome.Err, hotelstays.ErrRateChanged)
	assert.Equal(t, "ref-2", outcome.Recovery.CustomerReferenceNo)
	assert.Equal(t, row{"failed", "", 1}, w.row("ref-2"))
	assert.Equal(t, "completed", w.job("ref-2").State)

	w.enqueue(w.request("ref-3"))
	invalid := w.request("ref-3")
	invalid.Guests = nil
	outcome, err = w.Book(t.Context(), invalid)
	require.NoError(t, err)
	assert.Equal(t, endingFailed, endingOf(outcome), "nothing was sent")
	assert.Equal(t, row{"failed", "", 1}, w.row("ref-3"))
	assert.Zero(t, w.Ledger().Count(hotelstaystest.OpQueryOrders), "nobody had to ask")
}

func TestAWorkerFindsTheOrder(t *testing.T) {
	w := newWorld(t, nil, hotelstaystest.WithLateVisibility(2*time.Second))
	w.bookUnknown("ref-1", bookMade)
	before := w.job("ref-1").Args.Recovery
	assert.Equal(t, 1, before.Polls, "the poll of the booking's own process is not made again")

	w.workers()
	w.hasState("ref-1", endingFound, 10*time.Second)
	made := w.Ledger().Orders()
	require.Len(t, made, 1)
	assert.Equal(t, row{"found", made[0].PlatformReferenceNo, 1}, w.row("ref-1"))
	assert.Equal(t, "completed", w.job("ref-1").State)
	assert.Equal(t, 1, w.Ledger().Count(hotelstaystest.OpBook))
}

func TestAbsentAndBookedAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookLost)
	w.workers()
	w.hasState("ref-1", endingAbsent, 10*time.Second)
	assert.Empty(t, w.Ledger().Orders())
	ended := w.job("ref-1")
	assert.Equal(t, "completed", ended.State)
	assert.Equal(t, 0, ended.Errors)
	assert.GreaterOrEqual(t, w.Ledger().Count(hotelstaystest.OpQueryOrders), 3)

	offer, err := w.client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: w.offers[0].SessionID, RatePkgID: w.offers[0].RatePkgID})
	require.NoError(t, err)
	require.True(t, offer.Available())
	w.enqueue(w.request("ref-1"))
	outcome, err := w.Book(t.Context(), w.request("ref-1"))
	require.NoError(t, err)
	assert.Equal(t, endingFound, endingOf(outcome))
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
	assert.Equal(t, endingReused, endingOf(outcome))
	assert.Equal(t, "reused", w.row("ref-1").State)
}

// A process that dies between its commit and its Book never sends. A worker that takes
// its job over proves that: nothing was sent, and nothing will be. The first poll that is
// answered decides. A Book that comes too late is not sent.
func TestABookThatNeverBegan(t *testing.T) {
	t.Run("the first poll is answered", func(t *testing.T) {
		w := newWorld(t, nil)
		w.enqueue(w.request("ref-1"))
		assert.True(t, w.asleep(), "Book has its time")
		w.workers()
		w.hasState("ref-1", endingAbsent, time.Second)
		assert.Equal(t, 1, w.Ledger().Count(hotelstaystest.OpQueryOrders))
		_, err := w.Book(t.Context(), w.request("ref-1"))
		require.ErrorIs(t, err, ErrNotEnqueued)
		assert.Zero(t, w.Ledger().Count(hotelstaystest.OpBook))
	})
	t.Run("the first poll fails", func(t *testing.T) {
		w := newWorld(t, nil)
		w.enqueue(w.request("ref-1"))
		w.Inject(noPoll)
		w.workers()
		w.eventually("a poll has failed", func() bool { w.pass(time.Second); return w.job("ref-1").Args.Unverified > 0 })
		_, err := w.Book(t.Context(), w.request("ref-1"))
		require.ErrorIs(t, err, ErrAlreadyStarted)
		assert.ErrorContains(t, err, "nothing was sent")
		assert.Equal(t, row{State: "pending"}, w.row("ref-1"), "a poll that fails proves nothing")
		w.ClearFaults()
		w.hasState("ref-1", endingAbsent, time.Minute)
		assert.Zero(t, w.Ledger().Count(hotelstaystest.OpBook))
	})
	t.Run("there is an order of an earlier attempt", func(t *testing.T) {
		w := newWorld(t, nil)
		_, err := w.client.Book(t.Context(), w.request("ref-1"))
		require.NoError(t, err)
		w.enqueue(w.request("ref-1"))
		w.workers()
		w.hasState("ref-1", endingFound, time.Second)
	})
}

// A server that acknowledges commits before they are on disk forgets the last ones in a
// crash. Those that a Book rests on are not among them.
func TestPostgreSQLCrashesInBook(t *testing.T) {
	w := newWorld(t, nil)
	w.reconnect(func(cfg *pgxpool.Config) { cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off" })
	w.enqueue(w.request("ref-1"))
	_, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
	require.NoError(t, err)
	w.crash()
	w.eventually("the database is back", func() bool { return w.pool.Ping(t.Context()) == nil })
	assert.Equal(t, "pending", w.row("ref-1").State)
	assert.NotZero(t, w.job("ref-1").Args.BookBy)
}

// A process that dies in Book leaves a marked job. The schedule begins only when Book
// has ended for certain.
func TestDiesInBook(t *testing.T) {
	w := newWorld(t, func(cfg *Config) { cfg.BookTimeout = time.Minute })
	w.enqueue(w.request("ref-1"))
	w.pass(30 * time.Second)
	_, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
	require.NoError(t, err)
	_, err = w.client.Book(t.Context(), w.request("ref-1")) // nobody lives to hear the answer
	require.NoError(t, err)

	w.workers()
	_, err = w.Book(t.Context(), w.request("ref-1"))
	require.ErrorIs(t, err, ErrAlreadyStarted, "it is sent once")
	w.pass(50 * time.Second)
	assert.True(t, w.asleep(), "Book may still be under way")
	w.pass(10 * time.Second)
	w.hasState("ref-1", endingFound, 0)
	assert.Equal(t, 1, w.Ledger().Count(hotelstaystest.OpBook))
}

// Somebody else holds the job: BookTimeout bounds that wait, too.
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

func TestEnqueueingIsPartOfTheTransaction(t *testing.T) {
	w := newWorld(t, nil)
	boom := errors.New("rolled back")
	err := pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		require.NoError(t, w.EnqueueTx(t.Context(), tx, w.client.NewBookingRecovery(w.request("ref-1"))))
		return boom
	})
	require.ErrorIs(t, err, boom)
	_, err = w.Book(t.Context(), w.request("ref-1"))
	require.ErrorIs(t, err, ErrNotEnqueued)
	assert.Zero(t, w.Ledger().Count(hotelstaystest.OpBook))
}

// PostgreSQL's jsonb cannot hold the character NUL, and a hotel's text may.
func TestNULInAnOffer(t *testing.T) {
	w := newWorld(t, nil)
	req := w.request("ref-1")
	offer := *req.Expect
	offer.RateComment = `a\u0000b` + "\x00c"
	req.Expect = &offer
	w.enqueue(req)
	assert.Equal(t, `a\u0000bc`, w.job("ref-1").Args.Recovery.Expect.RateComment)
	w.Inject(bookMade)
	w.Inject(noPoll)
	_, err := w.Book(t.Context(), req)
	require.Error(t, err)
	w.ClearFaults()
	assert.Equal(t, 1, w.job("ref-1").Args.Recovery.Polls, "handed over")
	w.workers()
	w.hasState("ref-1", endingFound, 10*time.Second)

	require.ErrorContains(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		return w.EnqueueTx(t.Context(), tx, w.client.NewBookingRecovery(w.request("ref-1\x00")))
	}), "NUL")
}

func TestAReferenceIsEnqueuedOnce(t *testing.T) {
	w := newWorld(t, func(cfg *Config) { cfg.Schema = "" }) // the search_path has it
	again := func() error {
		return pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
			return w.EnqueueTx(t.Context(), tx, w.client.NewBookingRecovery(w.request("ref-1")))
		})
	}
	w.enqueue(w.request("ref-1"))
	require.ErrorIs(t, again(), ErrAlreadyEnqueued)
	w.Inject(bookRefused)
	_, err := w.Book(t.Context(), w.request("ref-1"))
	require.NoError(t, err)
	require.NoError(t, again(), "it has ended")
}

// A recovery whose Book ended before it was enqueued is asked for at its own times.
func TestARecoveryIsTakenOver(t *testing.T) {
	w := newWorld(t, nil)
	w.Inject(bookMade)
	w.Inject(noPoll)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	outcome, err := w.client.BookAndRecover(ctx, w.request("ref-1"))
	require.Error(t, err)
	w.ClearFaults()
	require.NoError(t, pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO bookings (reference) VALUES ('ref-1')`)
		return errors.Join(err, w.EnqueueTx(t.Context(), tx, outcome.Recovery))
	}))
	_, err = w.Book(t.Context(), w.request("ref-1"))
	require.ErrorIs(t, err, ErrAlreadyStarted)
	w.workers()
	w.hasState("ref-1", endingFound, 10*time.Second)
}

// An OnOutcome that fails undoes the job's completion with it, is tried again, and is never
// given up: not by errors, not by panics, and not after more of them than River counts.
func TestOnOutcomeFails(t *testing.T) {
	for name, attempt := range map[string]int{"counted": 0, "no longer counted": countedFailures - 1} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			w := newWorld(t, func(cfg *Config) {
				cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
					if err := storeRow(ctx, tx, o); err != nil {
						return err
					}
					switch calls.Add(1) {
					case 1:
						return errors.New("OnOutcome failed")
					case 2:
						panic("OnOutcome panicked")
					case 3:
						_, err := tx.Exec(ctx, "SELECT 1/0")
						return err
					}
					return nil
				}
			})
			w.bookUnknown("ref-1", bookMade)
			_, err := w.pool.Exec(t.Context(), `UPDATE river_job SET attempt = $1`, attempt)
			require.NoError(t, err)
			w.workers()
			w.eventually("three failures", func() bool {
				if calls.Load() < 3 {
					w.pass(time.Minute)
					assert.Equal(t, row{State: "pending"}, w.row("ref-1"))
				}
				return calls.Load() >= 3
			})
			w.hasState("ref-1", endingFound, time.Minute)
			assert.Equal(t, 1, w.row("ref-1").Ended)
			j := w.job("ref-1")
			assert.Equal(t, "completed", j.State)
			if attempt == 0 {
				assert.Equal(t, 3, j.Errors, "River keeps a record")
			} else {
				assert.Equal(t, 0, j.Errors)
				assert.Equal(t, countedFailures, j.Attempt, "failures use no attempt up any more")
			}
		})
	}
}

// An error of OnOutcome is a failure whatever it wraps, the package's own errors included.
func TestOnOutcomeFailsWithAnErrorOfThePackage(t *testing.T) {
	for name, failure := range map[string]error{
		"ended otherwise": fmt.Errorf("the row is absent: %w", ErrConflictingOutcome),
		"unknown":         &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: errors.New("unknown")},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			w := newWorld(t, func(cfg *Config) {
				cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
					if calls.Add(1) == 1 {
						return failure
					}
					return storeRow(ctx, tx, o)
				}
			})
			w.bookUnknown("ref-1", bookMade)
			w.workers()
			w.hasState("ref-1", endingFound, time.Minute)
			assert.Equal(t, 1, w.job("ref-1").Errors)
		})
	}
}

// Nothing but failing polls end nothing: OnOutcome is not called, and the job goes on until it
// is known what there is.
func TestUnverifiedIsNoEnd(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookMade)
	w.Inject(noPoll)
	w.workers()
	w.eventually("unverified three times", func() bool { w.pass(10 * time.Minute); return w.job("ref-1").Args.Unverified >= 3 })
	assert.Equal(t, row{State: "pending"}, w.row("ref-1"))
	assert.Zero(t, w.job("ref-1").Errors, "a poll that fails is no failure of the job")

	w.ClearFaults()
	w.hasState("ref-1", endingFound, time.Hour)
	assert.Equal(t, 1, w.row("ref-1").Ended)
	assert.Equal(t, "completed", w.job("ref-1").State)
}

// A worker of another account cannot ask. The job fails, and waits for the right one.
func TestAnotherAccountsWorker(t *testing.T) {
	w := newWorld(t, nil, hotelstaystest.WithAccount("key-1", "secret-1"), hotelstaystest.WithAccount("key-2", "secret-2"))
	w.bookUnknown("ref-1", bookMade)
	client, err := hotelstays.New(w.URL, hotelstays.TicketCredential{AppKey: "key-2", AppSecret: types.NewSecret("secret-2")}, hotelstays.WithHTTPClient(w.Client()))
	require.NoError(t, err)
	cfg := w.cfg
	cfg.Client = client
	other := *w
	other.Bookings, err = New(cfg)
	require.NoError(t, err)
	stranger := other.workers()
	w.eventually("it fails", func() bool { w.pass(time.Minute); return w.job("ref-1").Errors > 1 })
	assert.Equal(t, row{State: "pending"}, w.row("ref-1"))
	require.NoError(t, stranger.Stop(t.Context()))
	w.workers()
	w.hasState("ref-1", endingFound, time.Minute)
}

// Whoever ends a booking first does; the others change nothing.
func TestEndedOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookLost)
	var id int64
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT id FROM river_job`).Scan(&id))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			assert.NoError(t, w.finish(t.Context(), id, finalFor("ref-1", hotelstays.BookingAbsent)))
		})
	}
	wg.Wait()
	assert.Equal(t, row{"absent", "", 1}, w.row("ref-1"))
	err := w.finish(t.Context(), id, finalFor("ref-1", hotelstays.BookingFound))
	require.ErrorIs(t, err, ErrConflictingOutcome)
	assert.Equal(t, row{"absent", "", 1}, w.row("ref-1"))
}

// A process is frozen in the middle of Book until its booking has been stored as
// absent. It is told that it now has an order that the table does not know.
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
	w.hasState("ref-1", endingAbsent, 5*time.Minute)
	<-done
	require.ErrorIs(t, err, ErrConflictingOutcome)
	require.NotNil(t, outcome)
	assert.Equal(t, endingFound, endingOf(outcome))
	assert.NotNil(t, outcome.Order)
}

// It may get no answer either. Its booking, which has ended as absent, may have been made
// since: it is asked for again.
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
	w.hasState("ref-1", endingAbsent, 5*time.Minute)
	cancel()
	<-done
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(t, err, &unknown, "a worker finds out")
	assert.Nil(t, outcome)

	_, err = w.client.Book(t.Context(), w.request("ref-1")) // the service carries it out late
	require.NoError(t, err)
	w.hasState("ref-1", endingFound, time.Minute)
	assert.Equal(t, 2, w.row("ref-1").Ended)
}

// Where its booking has been enqueued anew, the new round's job asks for it.
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

// Where a worker has found its order meanwhile, nothing is left to ask for.
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

// The database is away when the end is known. It is returned, and a worker stores it.
func TestTheEndCannotBeStored(t *testing.T) {
	boom := errors.New("the disk is full")
	var calls atomic.Int32
	w := newWorld(t, func(cfg *Config) {
		cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
			if calls.Add(1) == 1 {
				return boom
			}
			return storeRow(ctx, tx, o)
		}
	})
	w.enqueue(w.request("ref-1"))
	outcome, err := w.Book(t.Context(), w.request("ref-1"))
	require.ErrorIs(t, err, boom)
	require.Equal(t, endingFound, endingOf(outcome))
	assert.Equal(t, row{State: "pending"}, w.row("ref-1"))
	w.workers()
	w.hasState("ref-1", endingFound, time.Second)
}

func TestWake(t *testing.T) {
	w := newWorld(t, nil, hotelstaystest.WithLateVisibility(2*time.Second))
	require.NoError(t, w.Wake(t.Context(), "unknown"), "nothing to do")

	w.enqueue(w.request("waiting"))
	before := w.job("waiting")
	require.NoError(t, w.Wake(t.Context(), "waiting"))
	assert.Equal(t, before, w.job("waiting"), "nobody has sent anything")

	w.bookUnknown("ref-1", bookMade) // polled at once; the next poll is half a minute away
	made := w.Ledger().Orders()[0].CreatedAt
	w.workers()
	w.eventually("the order is visible", func() bool { return time.Since(made) > 2*time.Second })
	require.Equal(t, "pending", w.row("ref-1").State)
	nextPoll := w.job("ref-1").Args.Recovery.NextPoll
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	w.hasState("ref-1", endingFound, 0)
	assert.True(t, time.Now().Before(nextPoll), "off the schedule")
	require.NoError(t, w.Wake(t.Context(), "ref-1"), "it has ended")
	assert.Equal(t, "completed", w.job("ref-1").State, "and stays so")
	assert.Equal(t, 1, w.row("ref-1").Ended)
}

// A webhook may come before Book has answered. The order is found, or the recovery's
// times stay as they are: they count from the end of Book.
func TestWakeWhileBookIsUnderWay(t *testing.T) {
	w := newWorld(t, func(cfg *Config) { cfg.BookTimeout = time.Minute })
	w.enqueue(w.request("ref-1"))
	_, err := w.start(t.Context(), "ref-1", time.Now().Add(time.Minute))
	require.NoError(t, err)
	w.workers()
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	w.eventually("asked", func() bool { return w.Ledger().Count(hotelstaystest.OpQueryOrders) == 1 })
	w.eventually("asleep again", func() bool { return w.job("ref-1").State == "scheduled" })
	assert.Zero(t, w.job("ref-1").Args.Recovery.EndedAt)

	_, err = w.client.Book(t.Context(), w.request("ref-1"))
	require.NoError(t, err)
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	w.hasState("ref-1", endingFound, 0)
}

// A wake-up that comes while a poll is under way is not lost: the poll may have looked
// too early.
func TestWakeWhileAWorkerAsks(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookMade)
	w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 403, Delay: time.Second})
	asked := w.Ledger().Count(hotelstaystest.OpQueryOrders)
	w.workers()
	w.pass(time.Minute)
	w.eventually("a worker asks", func() bool { return w.Ledger().Count(hotelstaystest.OpQueryOrders) > asked })
	require.NoError(t, w.Wake(t.Context(), "ref-1"))
	w.hasState("ref-1", endingFound, 0)
}

func TestWakeGivesUpWaiting(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookLost)
	_, err := w.pool.Exec(t.Context(), `UPDATE river_job SET state = 'running', attempted_at = now()`)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.Wake(ctx, "ref-1"), context.DeadlineExceeded)
}

// The job of a process that died in the middle of a run goes to another one.
func TestRescue(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookMade)
	_, err := w.pool.Exec(t.Context(), `UPDATE river_job SET state = 'running', attempt = 1, attempted_by = '{dead}', attempted_at = now() - $1::interval`,
		defaultRescueAfter+time.Second)
	require.NoError(t, err)
	w.workers()
	w.hasState("ref-1", endingFound, 10*time.Second)
	assert.Equal(t, 1, w.row("ref-1").Ended)
}

// An OnOutcome that hangs has its job locked. PostgreSQL ends such a transaction, or River
// could not rescue any other job of the schema.
func TestAnOnOutcomeThatHangs(t *testing.T) {
	hung, release := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	w := newWorld(t, func(cfg *Config) {
		cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
			if err := storeRow(ctx, tx, o); err != nil || calls.Add(1) > 1 {
				return err
			}
			close(hung)
			<-release // whatever ctx says
			return nil
		}
	})
	w.idle = time.Second
	defer close(release)
	stuck := func(reference string) { // for long enough to be rescued
		_, err := w.pool.Exec(t.Context(), `UPDATE river_job SET state = 'running', attempted_at = now() - $1::interval
			WHERE args ->> 'reference' = $2`, defaultRescueAfter+time.Second, reference)
		require.NoError(t, err)
	}
	w.bookUnknown("ref-1", bookMade)
	w.bookUnknown("ref-2", bookMade)
	require.NoError(t, passTime(t.Context(), w.pool, time.Minute, `args ->> 'reference' = 'ref-1'`))
	w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: time.Second})
	asked := w.Ledger().Count(hotelstaystest.OpQueryOrders)
	w.workers(func(cfg *river.Config) { cfg.LeaderElectionDisabled = true })
	w.eventually("a worker asks", func() bool { return w.Ledger().Count(hotelstaystest.OpQueryOrders) > asked })
	stuck("ref-1")
	<-hung
	stuck("ref-2")
	w.workers()
	w.hasState("ref-1", endingFound, time.Minute)
	w.hasState("ref-2", endingFound, time.Minute)
	assert.Equal(t, 1, w.row("ref-1").Ended)
}

// A worker that is stopped in the middle of a poll gives its job back, at once and
// without a failure.
func TestStoppedInAPoll(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookMade)
	w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: patience})
	asked := w.Ledger().Count(hotelstaystest.OpQueryOrders)
	client := w.workers()
	w.pass(time.Minute)
	w.eventually("a worker asks", func() bool { return w.Ledger().Count(hotelstaystest.OpQueryOrders) > asked })
	require.NoError(t, client.StopAndCancel(t.Context()))
	j := w.job("ref-1")
	assert.Equal(t, "available", j.State)
	assert.Zero(t, j.Attempt)
	assert.Zero(t, j.Errors)
	w.workers()
	w.hasState("ref-1", endingFound, 0)
}

// OnOutcome may put the reference into the queue again, for another process to book.
func TestOnOutcomeEnqueuesAnew(t *testing.T) {
	var w *world
	w = newWorld(t, func(cfg *Config) {
		cfg.OnOutcome = func(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
			if endingOf(o) != endingFailed {
				return storeRow(ctx, tx, o)
			}
			return w.EnqueueTx(ctx, tx, w.client.NewBookingRecovery(w.request(o.Recovery.CustomerReferenceNo)))
		}
	})
	w.enqueue(w.request("ref-1"))
	w.Inject(bookRefused)
	for _, want := range []ending{endingFailed, endingFound} {
		outcome, err := w.Book(t.Context(), w.request("ref-1"))
		require.NoError(t, err)
		assert.Equal(t, want, endingOf(outcome))
	}
	assert.Equal(t, 1, w.row("ref-1").Ended)
}

// A run that lost its job while it was frozen changes nothing of what has been stored
// since.
func TestAFrozenRunStoresNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.bookUnknown("ref-1", bookLost)
	w.pass(time.Minute)
	var id int64
	require.NoError(t, w.pool.QueryRow(t.Context(), `UPDATE river_job SET state = 'running', attempted_at = now() RETURNING id`).Scan(&id))
	before := w.job("ref-1")
	frozen := time.Now().Add(-time.Hour)
	run := &river.Job[jobArgs]{JobRow: &rivertype.JobRow{ID: id, Attempt: 1, AttemptedAt: &frozen}, Args: before.Args}
	var snooze *river.JobSnoozeError
	require.ErrorAs(t, (&worker{b: w.Bookings}).Work(t.Context(), run), &snooze)
	assert.Equal(t, before, w.job("ref-1"))
}

// River asks NextRetry, and not its own policy, by which the ninth failure costs two hours.
func TestAFailedJobIsTriedAgainByNextRetry(t *testing.T) {
	w := newWorld(t, func(cfg *Config) {
		cfg.OnOutcome = func(context.Context, pgx.Tx, *hotelstays.BookingOutcome) error { return errors.New("OnOutcome failed") }
	})
	w.bookUnknown("ref-1", bookMade)
	_, err := w.pool.Exec(t.Context(), `UPDATE river_job SET attempt = 8,
		errors = array_fill('{"attempt":1,"at":"2000-01-01T00:00:00Z","error":"failed","trace":""}'::jsonb, ARRAY[8])`)
	require.NoError(t, err)
	w.workers()
	w.eventually("the ninth failure", func() bool {
		j := w.job("ref-1")
		if j.Errors == 8 && j.State != "running" {
			w.pass(time.Minute)
		}
		return j.Errors == 9
	})
	var pause time.Duration
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT scheduled_at - attempted_at FROM river_job WHERE attempt = 9`).Scan(&pause))
	assert.Less(t, pause, 10*time.Minute)
}

// insertions counts what River tells its extensions of insertions.
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

func (i *insertions) InsertMany(ctx context.Context, _ []*rivertype.JobInsertParams, insert func(context.Context) ([]*rivertype.JobInsertResult, error)) ([]*rivertype.JobInsertResult, error) {
	i.middleware++
	return insert(ctx)
}

// The caller's extensions of River see the jobs' insertion as they see that of all others,
// and what they add is kept.
func TestRiversExtensions(t *testing.T) {
	hook, middleware, plugin := &insertions{}, &insertions{}, &insertions{}
	w := newWorld(t, func(cfg *Config) {
		cfg.Hooks, cfg.Middleware, cfg.Plugins = []rivertype.Hook{hook}, []rivertype.Middleware{middleware}, []rivertype.Plugin{plugin}
	})
	w.enqueue(w.request("ref-1"))
	assert.Equal(t, []int{1, 0, 0, 1, 1, 1}, []int{hook.hook, hook.middleware, middleware.hook, middleware.middleware, plugin.hook, plugin.middleware})
	outcome, err := w.Book(t.Context(), w.request("ref-1"))
	require.NoError(t, err)
	assert.Equal(t, endingFound, endingOf(outcome))
	var tenant string
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT metadata ->> 'tenant' FROM river_job WHERE state = 'completed'`).Scan(&tenant))
	assert.Equal(t, "one", tenant)
}

// Pools behind a PgBouncer run queries in other ways than pgx does by default. River takes
// them all.
func TestQueryExecModes(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			w := newWorld(t, nil)
			w.reconnect(func(cfg *pgxpool.Config) { cfg.ConnConfig.DefaultQueryExecMode = mode })
			w.bookUnknown("ref-1", bookLost)
			w.workers()
			require.NoError(t, w.Wake(t.Context(), "ref-1"))
			w.hasState("ref-1", endingAbsent, time.Minute)
		})
	}
}

// Many bookings of many callers at once, each ended once.
func TestConcurrentBookings(t *testing.T) {
	w := newWorld(t, nil)
	w.workers()
	var wg sync.WaitGroup
	for i := range 20 {
		reference := fmt.Sprintf("ref-%d", i%10)
		wg.Go(func() { // each reference is wanted twice
			err := pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
				if err := w.EnqueueTx(t.Context(), tx, w.client.NewBookingRecovery(w.request(reference))); err != nil {
					return err
				}
				_, err := tx.Exec(t.Context(), `INSERT INTO bookings (reference) VALUES ($1)`, reference)
				return err
			})
			var taken *pgconn.PgError
			if errors.Is(err, ErrAlreadyEnqueued) || errors.As(err, &taken) && taken.ConstraintName == "bookings_pkey" {
				return // the other one is at work, or was
			}
			if assert.NoError(t, err) {
				outcome, err := w.Book(t.Context(), w.request(reference))
				assert.NoError(t, err)
				assert.Equal(t, endingFound, endingOf(outcome))
			}
		})
	}
	wg.Wait()
	assert.Len(t, w.Ledger().Orders(), 10)
	for i := range 10 {
		assert.Equal(t, 1, w.row(fmt.Sprintf("ref-%d", i)).Ended)
	}
}

// The README's queries find what they say.
func TestAlerts(t *testing.T) {
	w := newWorld(t, nil)
	var queries []string
	for _, query := range strings.Split(readme(t, "sql")[0], ";") {
		if strings.TrimSpace(query) != "" {
			queries = append(queries, query)
		}
	}
	found := func() (numbers []int) {
		for _, query := range queries {
			tag, err := w.pool.Exec(t.Context(), query)
			require.NoError(t, err)
			numbers = append(numbers, int(tag.RowsAffected()))
		}
		return numbers
	}
	w.enqueue(w.request("ref-1"))
	assert.Equal(t, []int{0, 0, 0, 0, 0}, found())
	w.pass(time.Hour)
	assert.Equal(t, []int{0, 0, 1, 0, 0}, found())
	_, err := w.pool.Exec(t.Context(), `UPDATE river_job SET attempt = 6, scheduled_at = now(), errors = ARRAY['{"error":"broken"}'::jsonb]`)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 0, 0, 0}, found())
	_, err = w.pool.Exec(t.Context(), `UPDATE river_job SET attempt = 1, args = args || '{"doubts":2}'`)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 0, 0, 1, 0}, found())
	_, err = w.pool.Exec(t.Context(), `UPDATE river_job SET attempt = 1, state = 'discarded', finalized_at = now()`)
	require.NoError(t, err)
	assert.Equal(t, []int{1, 0, 0, 0, 1}, found())
}
