// The promises of a durable.Bookings.

package bookingstest

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// promise is a sentence of the documentation, and the case that proves it.
type promise[Tx any] struct {
	says     string // the name of the subtest
	test     func(*World[Tx])
	database bool // statements that databases execute differently prove it
	config   hotelstaystest.Config
}

// lateOrders hides new orders for longer than a recovery takes.
var lateOrders = hotelstaystest.Config{LateVisibility: 2 * time.Hour}

func promises[Tx any]() []promise[Tx] {
	return []promise[Tx]{
		{says: "Send stores an outcome that is known at once", test: knownAtOnce[Tx]},
		{says: "Send stores nothing if it refuses an option", test: optionsRefused[Tx]},
		{says: "after a lost answer the order is found; a lost request is absent, and booked again", test: lostAnswers[Tx], database: true},
		{says: "an order of another stay ends a booking as reused", test: orderOfAnotherStay[Tx]},
		{says: "InTx commits booking and row or neither, and repeats what the database undid", test: inTx[Tx], database: true},
		{says: "a reference begins once", test: beginsOnce[Tx], database: true},
		{says: "one of many Sends sends", test: sentOnce[Tx], database: true},
		{says: "a worker sends a booking if nobody calls Send", test: workersSend[Tx], database: true},
		{says: "BeginTx keeps request and options", test: requestInFull[Tx]},
		{says: "Send needs the key of BeginTx", test: keyOfBeginTx[Tx]},
		{says: "an unverified booking does not end", test: unverified[Tx]},
		{says: "Wake makes a worker poll", test: wake[Tx], config: lateOrders},
		{says: "while Book is under way a poll finds the order, and Abandon is refused", test: foundWhileBooking[Tx]},
		{says: "while Book is under way a poll proves nothing", test: nothingProvenWhileBooking[Tx],
			config: hotelstaystest.Config{LateVisibility: time.Hour}},
		{says: "a Book that thaws after its booking was absent finds the order", test: frozenFindsOrder[Tx], config: lateOrders},
		{says: "a Book that thaws after its booking was absent, and gets no answer, begins the polls again",
			test: frozenGetsNoAnswer[Tx], config: lateOrders},
		{says: "a Book that thaws in the next round finds the order", test: untilNextRound[Tx]((*sending).findsOrder), config: lateOrders},
		{says: "a Book that thaws in the next round and is refused changes nothing",
			test: frozenUntilNextRoundIsRefused[Tx], config: lateOrders},
		{says: "a Book that thaws in the next round, and gets no answer, delays the proof of absence",
			test: untilNextRound[Tx]((*sending).loseAnswer), config: lateOrders},
		{says: "a process that thaws after a later round was refused does not reopen the booking",
			test: frozenUntilNextRoundWasRefused[Tx], config: lateOrders},
		{says: "a round after an abandoned one finds the order", test: roundAfterGivenUp[Tx], config: lateOrders},
		{says: "a worker that is stopped in a poll returns its booking", test: stoppedInPoll[Tx]},
		{says: "Abandon ends a booking, and Retry opens it again", test: abandonAndRetry[Tx]},
		{says: "the cause of a ctx is not an answer", test: causeOfCtx[Tx]},
		{says: "OnOutcome is called until it succeeds", test: onOutcomeFails[Tx], database: true},
		{says: "accounts share a database and references", test: accountsShareReferences[Tx], database: true, config: twoAccounts},
		{says: "rows of an unknown account wait", test: unknownAccountWaits[Tx], database: true, config: twoAccounts},
		{says: "an account with many bookings does not delay other accounts",
			test: loudAccountDelaysNoOther[Tx], database: true, config: twoAccounts},
		{says: "an order is cancelled once", test: cancelledOnce[Tx], database: true},
		{says: "a refused cancellation says why, and another one begins", test: cancelRefused[Tx], database: true},
		{says: "MaxFee refuses before anything is sent", test: cancelTooDear[Tx]},
		{says: "after a lost answer to Cancel the order is read, and Cancel is not sent again", test: cancelAnswersLost[Tx], database: true},
		{says: "a Cancel that provably did nothing is sent again", test: cancelNotExecuted[Tx]},
		{says: "a cancellation waits for its order", test: cancelWaits[Tx]},
		{says: "a cancellation waits while its booking is open", test: cancelWaitsForOpenBooking[Tx]},
		{says: "a booking without an order of its own has nothing to cancel", test: nothingToCancel[Tx], database: true},
		{says: "a cancellation leaves the order of the next round alone", test: cancelOfAnEarlierRound[Tx], database: true},
		{says: "a booking begins again after its Cancel has ended", test: beginsAfterItsCancel[Tx], database: true},
		{says: "a cancellation cancels the order of its booking alone", test: cancelsOneOrder[Tx]},
		{says: "an order without a supplierReferenceNo is not reported as missing", test: cancelWithoutSupplierNo[Tx]},
		{says: "after an accepted Cancel the order is read until it is cancelled", test: cancelAccepted[Tx]},
		{says: "a worker that stops before or during a Cancel leaves the cancellation to others", test: stoppedInCancel[Tx]},
		{says: "each change of an order is delivered once, until it is settled", test: followed[Tx], database: true},
		{says: "OnOrder is called until it succeeds", test: onOrderFails[Tx]},
		{says: "another order under the reference is never delivered", test: followsOneOrder[Tx]},
		{says: "an order that has disappeared is followed until its stay is over", test: followsUntilTheStayIsOver[Tx]},
		{says: "nothing is read after Unfollow", test: unfollowed[Tx]},
		{says: "Watch wakes a page after the commit", test: watched[Tx]},
		{says: "OnCancel is called until it succeeds, with the answer that came", test: onCancelFails[Tx], database: true},
	}
}

// Test tests an implementation. start starts a fleet with a database for one case; cases run in
// parallel.
func Test[Tx any](t *testing.T, start func(t *testing.T) Fleet[Tx]) { run(t, start, promises[Tx]()) }

// TestDatabase tests a further database: what its statements may do otherwise.
func TestDatabase[Tx any](t *testing.T, start func(t *testing.T) Fleet[Tx]) {
	run(t, start, slices.DeleteFunc(promises[Tx](), func(p promise[Tx]) bool { return !p.database }))
}

func run[Tx any](t *testing.T, start func(t *testing.T) Fleet[Tx], promises []promise[Tx]) {
	t.Helper()
	for _, p := range promises {
		t.Run(p.says, func(t *testing.T) {
			t.Parallel()
			p.test(New(t, start(t), p.config))
		})
	}
}

func knownAtOnce[Tx any](w *World[Tx]) {
	w.Begin("found")
	outcome := w.MustSend("found")
	require.Equal(w, durable.EndingFound, durable.EndingOf(outcome))
	assert.Equal(w, w.Offer.SessionID, outcome.Recovery.SessionID, "Cancel needs it")
	assert.Equal(w, Row{"found", w.Ledger().Orders()[0].PlatformReferenceNo, 1}, w.Row("found"))

	w.AddRow("found by Book")
	outcome, err := w.Book(w.Context(), w.Request("found by Book"))
	require.NoError(w, err)
	assert.Equal(w, Row{"found", outcome.Order.PlatformReferenceNo, 1}, w.Row("found by Book"))

	w.Begin("refused")
	w.Inject(BookRefused)
	assert.ErrorIs(w, w.MustSend("refused").Err, hotelstays.ErrRateChanged)
	assert.Equal(w, Row{"failed", "", 1}, w.Row("refused"))
	_, err = w.Send(w.Context(), "refused")
	require.ErrorIs(w, err, durable.ErrNotBegun)

	w.Begin("refused by the service's own code")
	refusal := BookRefused
	refusal.Code = 100001200
	w.Inject(refusal)
	outcome = w.MustSend("refused by the service's own code", hotelstays.WithServiceFacts(hotelstays.ServiceFacts{
		RefusalCodes: map[hotelstays.Operation][]int{hotelstays.OpBook: {100001200}}}))
	assert.Equal(w, hotelstays.KindRefused, hotelstays.KindOf(outcome.Err))

	w.Begin("too late")
	books := w.books()
	outcome, err = w.Send(overslept{w.Context()}, "too late")
	require.NoError(w, err)
	assert.ErrorIs(w, outcome.Err, context.DeadlineExceeded)
	assert.Equal(w, books, w.books())
	assert.Zero(w, w.polls(), "nobody had to poll")
}

// overslept is a ctx whose deadline has passed while the machine was suspended.
type overslept struct{ context.Context }

func (overslept) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

func optionsRefused[Tx any](w *World[Tx]) {
	w.Begin("ref-1")
	for _, opt := range []hotelstays.CallOption{
		hotelstays.WithRawData(), hotelstays.WithMarket("no country"), hotelstays.WithUserRef("another"),
	} {
		_, err := w.Send(w.Context(), "ref-1", opt)
		var invalid *hotelstays.ValidationError
		require.ErrorAs(w, err, &invalid)
		require.Len(w, invalid.Fields, 1)
	}
	assert.NotNil(w, w.MustSend("ref-1").Order, "it has waited")
}

func lostAnswers[Tx any](w *World[Tx]) {
	w.SendUnknown("made", BookMade)
	w.SendUnknown("lost", BookLost)
	w.Work()
	w.HasState("made", durable.EndingFound, time.Minute)
	w.HasState("lost", durable.EndingAbsent, time.Minute)
	assert.Equal(w, map[string]int{"made": 1}, w.OrdersMade())
	assert.GreaterOrEqual(w, w.polls(), 4)

	require.NoError(w, w.BeginAlone(w.Request("lost")))
	outcome := w.MustSend("lost")
	assert.Equal(w, Row{"found", outcome.Order.PlatformReferenceNo, 2}, w.Row("lost"))
	assert.Equal(w, map[string]int{"made": 1, "lost": 1}, w.OrdersMade())
}

func orderOfAnotherStay[Tx any](w *World[Tx]) {
	w.BookElsewhere("ref-1")
	w.AddRow("ref-1")
	other, stay := w.Request("ref-1"), *w.Offer.Expect
	stay.CheckIn, stay.CheckOut = "2099-01-01", "2099-01-03"
	other.Expect = &stay
	require.NoError(w, w.BeginAlone(other))
	var reused *hotelstays.ReferenceReusedError
	require.ErrorAs(w, w.MustSend("ref-1").Err, &reused)
	assert.Equal(w, "reused", w.Row("ref-1").State)
	_, err := w.Send(w.Context(), "ref-1")
	require.ErrorIs(w, err, durable.ErrAlreadyBooked)
}

func beginsOnce[Tx any](w *World[Tx]) {
	failure := errors.New("rolled back")
	require.ErrorIs(w, w.Fleet.InTx(w.Context(), func(tx Tx) error {
		require.NoError(w, w.BeginTx(w.Context(), tx, w.Request("ref-1")))
		return failure
	}), failure)
	_, err := w.Send(w.Context(), "ref-1")
	require.ErrorIs(w, err, durable.ErrNotBegun)
	assert.ErrorContains(w, err, `"ref-1": nothing was sent`)
	refused := func(want error) {
		w.Helper()
		require.ErrorIs(w, w.BeginAlone(w.Request("ref-1")), want)
		_, err := w.Book(w.Context(), w.Request("ref-1"))
		require.ErrorIs(w, err, want)
	}
	w.Begin("ref-1")
	refused(durable.ErrAlreadyBegun)
	assert.Zero(w, w.books())
	w.MustSend("ref-1")
	refused(durable.ErrAlreadyBooked) // another round would send Book again
	_, err = w.Send(w.Context(), "ref-1")
	require.ErrorIs(w, err, durable.ErrAlreadyBooked)
	assert.Equal(w, 1, w.books())
	assert.Equal(w, 1, w.Row("ref-1").Ended)
}

func sentOnce[Tx any](w *World[Tx]) {
	w.Begin("ref-1")
	var wg sync.WaitGroup
	var sent atomic.Int32
	for range 8 {
		process := w.Another(nil)
		wg.Go(func() {
			_, err := process.Send(w.Context(), "ref-1")
			if err == nil {
				sent.Add(1)
			} else if !errors.Is(err, durable.ErrAlreadyStarted) {
				assert.ErrorIs(w, err, durable.ErrAlreadyBooked)
			}
		})
	}
	wg.Wait()
	assert.EqualValues(w, 1, sent.Load())
	assert.Equal(w, 1, w.books())
	assert.Equal(w, 1, w.Row("ref-1").Ended)
}

func workersSend[Tx any](w *World[Tx]) {
	references := []string{"booked", "refused", "made", "lost"}
	endings := []durable.Ending{durable.EndingFound, durable.EndingFailed, durable.EndingFound, durable.EndingAbsent}
	for _, reference := range references {
		w.Begin(reference)
	}
	for i, fault := range []hotelstaystest.Fault{BookRefused, BookMade, BookLost} {
		fault.Reference = references[i+1]
		w.Inject(fault)
	}
	w.Work()
	w.Another(nil).Work()
	time.Sleep(100 * time.Millisecond)
	require.NoError(w, w.Wake(w.Context(), "booked"))
	assert.Zero(w, w.books(), "Send may still come")
	w.Fleet.Pass(w.Options.BookTimeout + durable.ClockMargin)
	for i, reference := range references {
		step := time.Duration(0)
		if reference == "lost" { // the others are not under way any more
			step = time.Minute
		}
		w.HasState(reference, endings[i], step)
		assert.Equal(w, 1, w.Row(reference).Ended, reference)
		_, err := w.Send(w.Context(), reference)
		require.ErrorIs(w, err, map[bool]error{true: durable.ErrAlreadyBooked, false: durable.ErrNotBegun}[endings[i] == durable.EndingFound])
	}
	assert.Equal(w, len(references), w.books())
}

func requestInFull[Tx any](w *World[Tx]) {
	age, child := 7, true
	req := w.Request("ref-1")
	req.Holder = types.Holder{FirstName: "Ada", LastName: "Smith", Email: "ada@example.com"}
	req.CallbackURL = w.URL + "/events"
	req.Guests = append(req.Guests, types.Guest{RoomIndex: 1, FirstName: "Bo", LastName: "Smith", NationalityCode: "FR", Age: &age,
		IsChild: &child, Gender: types.GenderOther, DateOfBirth: "2019-02-03", PassportNumber: types.NewSecret("X7654321")})
	opts := []hotelstays.CallOption{hotelstays.WithMarket("FR"), hotelstays.WithUserRef("user-7"), hotelstays.WithCurrency("EUR"),
		hotelstays.WithTestFlags(map[string]string{"flag": "on"})}
	w.AddRow("ref-1")
	require.NoError(w, w.BeginAlone(req, opts...))
	_, err := w.Another(nil).Send(w.Context(), "ref-1")
	require.NoError(w, err)
	_, err = w.Options.Client.Book(w.Context(), req, opts...)
	require.NoError(w, err)
	books := w.Ledger().Requests(hotelstays.OpBook)
	require.Len(w, books, 2)
	assert.Equal(w, books[1].BodySHA256, books[0].BodySHA256)
	for _, name := range []string{"Session-Id", "Market", "User-Ref", "Currency", "Test"} {
		assert.NotEmpty(w, books[0].Header.Values(name), name)
		assert.Equal(w, books[1].Header.Values(name), books[0].Header.Values(name))
	}
}

func keyOfBeginTx[Tx any](w *World[Tx]) {
	w.Begin("ref-1")
	other := types.NewSecret(strings.Repeat("x", 32))
	stranger := w.Another(func(o *Options[Tx]) { o.Keys = []types.Secret{other} })
	_, err := stranger.Send(w.Context(), "ref-1")
	require.ErrorContains(w, err, "which is not in Keys; give all processes the same Keys")
	assert.ErrorContains(w, err, "nothing was sent")
	rotated := w.Another(func(o *Options[Tx]) { o.Keys = []types.Secret{other, Key} })
	assert.NotNil(w, rotated.MustSend("ref-1").Order, "nothing is lost")
}

func unverified[Tx any](w *World[Tx]) {
	w.SendUnknown("ref-1", BookMade)
	w.Inject(NoPoll)
	w.Work()
	w.PassUntil("three polls have shown nothing", 10*time.Minute, func() bool { return w.Fleet.Stored("ref-1").Unverified >= 3 })
	assert.Equal(w, Row{State: "pending"}, w.Row("ref-1"))
	w.ClearFaults()
	w.HasState("ref-1", durable.EndingFound, time.Hour)
	assert.Equal(w, 1, w.Row("ref-1").Ended)
}

func wake[Tx any](w *World[Tx]) {
	require.NoError(w, w.Wake(w.Context(), "unknown"))
	w.Begin("waiting")
	before := w.Fleet.Stored("waiting")
	require.NoError(w, w.Wake(w.Context(), "waiting"))
	assert.Equal(w, before, w.Fleet.Stored("waiting"))

	w.SendUnknown("ref-1", BookMade)
	w.Work()
	w.Eventually("the next poll is half a minute away", func() bool {
		return time.Until(w.Fleet.Stored("ref-1").Recovery.NextPoll) > 10*time.Second
	})
	w.Advance(3 * time.Hour)
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.HasState("ref-1", durable.EndingFound, 0)
	require.NoError(w, w.Wake(w.Context(), "ref-1"), "it has ended")
	assert.Equal(w, durable.EndingFound, w.Fleet.Stored("ref-1").Ending)
	assert.NotNil(w, w.MustSend("waiting").Order)
}

func stoppedInPoll[Tx any](w *World[Tx]) {
	w.SendUnknown("ref-1", BookMade)
	w.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: Patience})
	polls := w.polls()
	w.Fleet.Pass(time.Minute)
	stop := w.Work()
	w.Eventually("a worker polls", func() bool { return w.polls() > polls })
	stop()
	w.ClearFaults()
	w.Work()
	w.HasState("ref-1", durable.EndingFound, 0)
}

func abandonAndRetry[Tx any](w *World[Tx]) {
	for _, command := range []func(context.Context, string) error{w.Abandon, w.Retry} {
		assert.ErrorIs(w, command(w.Context(), "unknown"), durable.ErrNotBegun)
	}
	w.SendUnknown("ref-1", BookMade)
	require.NoError(w, w.Abandon(w.Context(), "ref-1"))
	assert.Equal(w, durable.EndingAbandoned, w.Fleet.Stored("ref-1").Ending)
	assert.ErrorIs(w, w.Abandon(w.Context(), "ref-1"), durable.ErrNotBegun)
	w.Work()
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	assert.Equal(w, Row{State: "pending"}, w.Row("ref-1"), "OnOutcome is not called")
	require.NoError(w, w.Retry(w.Context(), "ref-1"))
	w.HasState("ref-1", durable.EndingFound, 0)
	assert.ErrorIs(w, w.Retry(w.Context(), "ref-1"), durable.ErrNotBegun)

	w.Begin("never sent")
	books := w.books()
	assert.ErrorContains(w, w.Retry(w.Context(), "never sent"), "nothing was sent yet; call Send, or wait until a worker does at 2")
	require.NoError(w, w.Abandon(w.Context(), "never sent"))
	_, err := w.Send(w.Context(), "never sent")
	require.ErrorIs(w, err, durable.ErrNotBegun)
	require.NoError(w, w.Retry(w.Context(), "never sent"))
	w.HasState("never sent", durable.EndingAbsent, time.Minute)
	assert.Equal(w, books, w.books())
}

// Whoever ends a ctx may give any error as the cause. It says nothing about the booking.
func causeOfCtx[Tx any](w *World[Tx]) {
	for name, cause := range map[string]error{
		"refused":     &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 200, Code: types.CodeRateChanged},
		"reused":      &hotelstays.ReferenceReusedError{Order: &types.Order{PlatformReferenceNo: "of another booking"}},
		"not begun":   durable.ErrNotBegun,
		"conflicting": durable.ErrConflictingOutcome,
		"not dialled": &net.OpError{Op: "dial", Err: errors.New("refused")},
	} {
		for _, sent := range []bool{false, true} {
			reference := map[bool]string{false: name, true: name + ", sent"}[sent]
			ctx, cancel := context.WithCancelCause(w.Context())
			w.Begin(reference)
			if sent {
				w.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: Patience})
				books := w.books()
				go func() {
					assert.Eventually(w, func() bool { return w.books() > books }, Patience, time.Millisecond)
					cancel(cause)
				}()
			} else {
				cancel(cause)
			}
			_, err := w.Send(ctx, reference)
			cancel(nil)
			require.ErrorIs(w, err, context.Canceled, reference)
			assert.Equal(w, sent, hotelstays.KindOf(err) == hotelstays.KindOutcomeUnknown, reference)
			assert.NotErrorIs(w, err, cause, reference)
			assert.Equal(w, Row{State: "pending"}, w.Row(reference))
		}
	}
}

// failing counts the calls of a function, of which the first ones fail, and the next one panics.
type failing struct {
	atomic.Int32
	failures []error
}

// after returns what a call returns after it has stored something.
func (f *failing) after(err error) error {
	if err != nil {
		return err
	}
	switch n := int(f.Add(1)); {
	case n <= len(f.failures):
		return f.failures[n-1]
	case n == len(f.failures)+1:
		panic("the function panicked")
	}
	return nil
}

// Also after an error of this SDK, which is no outcome.
func onOutcomeFails[Tx any](w *World[Tx]) {
	calls := failing{failures: []error{
		errors.New("customer 40001 is in a deadlock"), // words of an error that repeats a transaction
		durable.ErrConflictingOutcome,
		&hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: errors.New("unknown")},
	}}
	w.Options.OnOutcome = func(ctx context.Context, tx Tx, outcome *hotelstays.BookingOutcome) error {
		return calls.after(w.Fleet.StoreRow(ctx, tx, outcome))
	}
	w = w.Another(nil)
	w.Begin("ref-1")
	outcome, err := w.Send(w.Context(), "ref-1")
	require.ErrorIs(w, err, calls.failures[0])
	require.Equal(w, durable.EndingFound, durable.EndingOf(outcome))
	assert.Equal(w, Row{State: "pending"}, w.Row("ref-1"))
	assert.EqualValues(w, 1, calls.Load())
	w.Work()
	w.HasState("ref-1", durable.EndingFound, time.Minute)
	assert.Equal(w, 1, w.Row("ref-1").Ended)
	assert.EqualValues(w, len(calls.failures)+2, calls.Load())
}
