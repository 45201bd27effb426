// The promises about a Book that is still under way while a worker polls.

package bookingstest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// sending is a Send whose answer is held back.
type sending struct {
	*Held
	cancel  context.CancelFunc
	outcome *hotelstays.BookingOutcome
	err     error
	done    chan struct{}
}

// sendHeld begins a booking, and sends it until its answer is held back.
func (w *World[Tx]) sendHeld(reference string) *sending {
	w.Helper()
	w.Begin(reference)
	w.Options.BookTimeout = Patience
	s := &sending{Held: w.Hold("/book"), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(w.Context())
	s.cancel = cancel
	go func() { defer close(s.done); s.outcome, s.err = w.Send(ctx, reference) }()
	s.Wait()
	return s
}

// end lets the answer pass.
func (s *sending) end() (*hotelstays.BookingOutcome, error) {
	s.Release()
	<-s.done
	s.cancel()
	return s.outcome, s.err
}

// findsOrder ends the call with an order that its booking, which has ended, cannot have.
func (s *sending) findsOrder(t testing.TB) {
	t.Helper()
	outcome, err := s.end()
	require.ErrorIs(t, err, durable.ErrConflictingOutcome)
	require.NotNil(t, outcome)
	assert.NotNil(t, outcome.Order)
}

// loseAnswer ends the call without its answer, and wants its outcome to be unknown.
func (s *sending) loseAnswer(t testing.TB) {
	t.Helper()
	s.lose = true
	s.cancel()
	_, err := s.end()
	require.Equal(t, hotelstays.KindOutcomeUnknown, hotelstays.KindOf(err))
}

// A webhook may come before the answer of Book.
func foundWhileBooking[Tx any](w *World[Tx]) {
	sending := w.sendHeld("ref-1")
	assert.ErrorContains(w, w.Abandon(w.Context(), "ref-1"), "may still be under way, until 2")
	w.Work()
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.HasState("ref-1", durable.EndingFound, 0)
	_, err := sending.end()
	require.NoError(w, err)
	assert.Equal(w, 1, w.Row("ref-1").Ended)
}

// The times of a recovery count from the end of Book.
func nothingProvenWhileBooking[Tx any](w *World[Tx]) {
	sending := w.sendHeld("ref-1")
	w.Work()
	require.NoError(w, w.Wake(w.Context(), "ref-1"))
	w.Eventually("it was polled for", func() bool {
		stored := w.Fleet.Stored("ref-1")
		return w.polls() == 1 && stored.Due.Sub(stored.BookBy).Abs() < 10*time.Second
	})
	assert.Zero(w, w.Fleet.Stored("ref-1").Recovery.EndedAt)
	_, err := sending.end()
	require.NoError(w, err)
	assert.Equal(w, "found", w.Row("ref-1").State)
	assert.Equal(w, 1, w.Row("ref-1").Ended)
}

// frozenUntilAbsent freezes a Send until its booking is stored as absent.
func (w *World[Tx]) frozenUntilAbsent(reference string) *sending {
	w.Helper()
	sending := w.sendHeld(reference)
	stop := w.Work()
	w.HasState(reference, durable.EndingAbsent, 5*time.Minute)
	stop()
	return sending
}

func frozenFindsOrder[Tx any](w *World[Tx]) {
	w.frozenUntilAbsent("ref-1").findsOrder(w)
	assert.Equal(w, Row{"absent", "", 1}, w.Row("ref-1"))
}

// The order may exist now, so the polls start again.
func frozenGetsNoAnswer[Tx any](w *World[Tx]) {
	w.frozenUntilAbsent("ref-1").loseAnswer(w)
	assert.Equal(w, durable.PhasePolling, w.Fleet.Stored("ref-1").Phase(time.Now()))
	w.Advance(3 * time.Hour)
	w.Work()
	w.HasState("ref-1", durable.EndingFound, time.Minute)
	assert.Equal(w, 2, w.Row("ref-1").Ended)
}

// untilNextRound freezes a Send until its booking has begun again, lets it end, and wants the new
// round to remember only when that Book has ended.
func untilNextRound[Tx any](end func(*sending, testing.TB)) func(*World[Tx]) {
	return func(w *World[Tx]) {
		sending := w.frozenUntilAbsent("ref-1")
		require.NoError(w, w.BeginAlone(w.Request("ref-1")))
		before := w.Fleet.Stored("ref-1")
		end(sending, w)
		after := w.Fleet.Stored("ref-1")
		assert.Equal(w, 1, w.Row("ref-1").Ended)
		assert.WithinDuration(w, time.Now(), after.Earlier, 10*time.Second)
		after.Earlier, after.Due = time.Time{}, before.Due
		assert.Equal(w, before, after)
		w.nextRoundFinds("ref-1")
	}
}

func frozenUntilNextRoundIsRefused[Tx any](w *World[Tx]) {
	w.Inject(BookRefused)
	sending := w.frozenUntilAbsent("ref-1")
	require.NoError(w, w.BeginAlone(w.Request("ref-1")))
	before := w.Fleet.Stored("ref-1")
	_, err := sending.end()
	require.NoError(w, err)
	assert.Equal(w, before, w.Fleet.Stored("ref-1"))
	assert.Equal(w, 1, w.Row("ref-1").Ended)
}

// Its Book has ended in its time, so the next round began after its absence was proven.
func frozenUntilNextRoundWasRefused[Tx any](w *World[Tx]) {
	sending := w.frozenUntilAbsent("ref-1")
	require.NoError(w, w.BeginAlone(w.Request("ref-1")))
	w.SendThrough(w.Server.Client().Transport)
	w.Inject(BookRefused)
	require.ErrorIs(w, w.MustSend("ref-1").Err, hotelstays.ErrRateChanged)
	sending.loseAnswer(w)
	assert.Equal(w, durable.EndingFailed, w.Fleet.Stored("ref-1").Ending)
	assert.Equal(w, Row{"failed", "", 2}, w.Row("ref-1"))
}

// nextRoundFinds expects that a booking has begun again while its last Book may have made an
// order. Then a refusal proves nothing, and the order is found when it appears.
func (w *World[Tx]) nextRoundFinds(reference string) {
	w.Helper()
	ended := w.Row(reference).Ended
	w.Inject(BookRefused)
	_, err := w.Another(func(o *Options[Tx]) { o.BookTimeout = 10 * time.Second }).Send(w.Context(), reference)
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(w, err, &unknown)
	require.ErrorIs(w, unknown.Err, hotelstays.ErrRateChanged)
	polls := w.polls()
	w.Fleet.Pass(20 * time.Second) // its BookTimeout, and the margin
	w.Work()
	w.Eventually("it is polled for", func() bool { return w.polls() > polls })
	require.Equal(w, ended, w.Row(reference).Ended)
	w.Advance(3 * time.Hour)
	w.HasState(reference, durable.EndingFound, time.Minute)
	assert.Equal(w, ended+1, w.Row(reference).Ended)
}

func roundAfterGivenUp[Tx any](w *World[Tx]) {
	w.SendUnknown("ref-1", BookMade)
	w.Fleet.Pass(2 * time.Minute)
	require.NoError(w, w.Abandon(w.Context(), "ref-1"))
	require.NoError(w, w.BeginAlone(w.Request("ref-1")))
	w.nextRoundFinds("ref-1")
}
