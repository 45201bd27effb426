// The promises about bookings.

package bookingstest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

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
	refused(durable.ErrAlreadyBooked) // a second begin would send a second Book
	_, err = w.Send(w.Context(), "ref-1")
	require.ErrorIs(w, err, durable.ErrAlreadyBooked)
	assert.Equal(w, 1, w.books())
	assert.Equal(w, 1, w.Row("ref-1").Ended)
}

func knownAtOnce[Tx any](w *World[Tx]) {
	w.Begin("found")
	outcome := w.MustSend("found")
	require.Equal(w, durable.EndingFound, durable.EndingOf(outcome))
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
	endings := map[string]durable.Ending{"booked": durable.EndingFound, "refused": durable.EndingFailed, "made": durable.EndingFound}
	for reference := range endings {
		w.Begin(reference)
	}
	for reference, fault := range map[string]hotelstaystest.Fault{"refused": BookRefused, "made": BookMade} {
		fault.Reference = reference
		w.Inject(fault)
	}
	w.Work()
	w.Another(nil).Work()
	time.Sleep(100 * time.Millisecond)
	require.NoError(w, w.Wake(w.Context(), "booked"))
	assert.Zero(w, w.books(), "workers do not send before BookTimeout")
	w.Fleet.Pass(w.Options.BookTimeout + durable.ClockMargin)
	for reference, ending := range endings {
		w.HasState(reference, ending, 0)
		assert.Equal(w, 1, w.Row(reference).Ended, reference)
		_, err := w.Send(w.Context(), reference)
		require.ErrorIs(w, err, map[bool]error{true: durable.ErrAlreadyBooked, false: durable.ErrNotBegun}[ending == durable.EndingFound])
	}
	assert.Equal(w, len(endings), w.books())
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

func wake[Tx any](w *World[Tx]) {
	require.NoError(w, w.Wake(w.Context(), "unknown"))
	w.Begin("waiting")
	before := w.Fleet.Stored("waiting")
	require.NoError(w, w.Wake(w.Context(), "waiting"))
	assert.Equal(w, before, w.Fleet.Stored("waiting"))

	w.SendUnknown("ref-1", BookMade)
	w.Work()
	w.Eventually("the next poll is more than ten seconds away", func() bool {
		return time.Until(w.Fleet.Stored("ref-1").Recovery.NextPoll) > 10*time.Second
	})
	w.Advance(3 * time.Hour)
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.HasState("ref-1", durable.EndingFound, 0)
	require.NoError(w, w.Wake(w.Context(), "ref-1"), "Wake of an ended booking does nothing")
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
	assert.Equal(w, Row{State: "pending"}, w.Row("ref-1"), "Abandon does not call OnOutcome")
	require.NoError(w, w.Retry(w.Context(), "ref-1"))
	w.HasState("ref-1", durable.EndingFound, 0)
	assert.ErrorIs(w, w.Retry(w.Context(), "ref-1"), durable.ErrNotBegun)

	w.Begin("never sent")
	books := w.books()
	assert.ErrorContains(w, w.Retry(w.Context(), "never sent"),
		"the booking was not sent yet; call Send, or wait until a worker sends the booking at 2")
	require.NoError(w, w.Abandon(w.Context(), "never sent"))
	_, err := w.Send(w.Context(), "never sent")
	require.ErrorIs(w, err, durable.ErrNotBegun)
	require.NoError(w, w.Retry(w.Context(), "never sent"))
	w.HasState("never sent", durable.EndingAbsent, time.Minute)
	assert.Equal(w, books, w.books())
}

// failing makes a function such as OnOutcome fail. The first calls return the errors in failures, one per call. The
// next call panics. All later calls succeed.
type failing struct {
	atomic.Int32
	failures []error
}

// after returns the result of one call of the function. The parameter err is the error with which the function failed to
// store its row. If err is not nil, after returns err and does not count the call.
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

// onOutcomeFails checks that OnOutcome is called again after any error, including an error of this SDK.
func onOutcomeFails[Tx any](w *World[Tx]) {
	calls := failing{failures: []error{
		errors.New("customer 40001 is in a deadlock"), // contains 40001, but is not an error of the database
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
