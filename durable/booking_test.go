package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// start is the time by which Book must have started. All times of the tests count from it.
var start = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return start.Add(d) }

// The bookings of the tests: one for each phase and ending.
var (
	waiting  = newBooking(hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1"}, start)
	handed   = hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", EndedAt: after(0), Polls: 1, NextPoll: after(30 * time.Second)}
	polling  = handedOver(handed)
	bookings = map[string]booking{"waiting": waiting, "booking": started(), "polling": polling,
		"taken over": takenOver(waiting), "found": ended(EndingFound), "reused": ended(EndingReused),
		"absent": ended(EndingAbsent), "failed": ended(EndingFailed), "abandoned": ended(EndingAbandoned)}
)

func started() booking {
	b, err := waiting.start(after(time.Minute))
	if err != nil {
		panic(err)
	}
	return b
}

// takenOver returns a booking that was abandoned before it was sent, and then retried.
func takenOver(b booking) booking {
	b.Ending = EndingAbandoned
	b, err := b.retry(after(time.Minute))
	if err != nil {
		panic(err)
	}
	return b
}

func ended(as Ending) booking {
	b := polling
	b.Ending = as
	return b
}

// proven is the minimum time between the end of Book and a poll that proves absence.
const proven = 10*time.Minute + ClockMargin

// bookedBy is the maximum time between start and the end of Book, for the booking started().
const bookedBy = time.Minute + ClockMargin

// A process was frozen after its Book had ended. When it hands over, polls of other processes have already proven absence.
func TestLateHandOverReopensAnAbsentBookingOnlyIfBookEndedLater(t *testing.T) {
	absent := started() // the Book of this booking may run until bookedBy
	absent.Recovery.EndedAt, absent.Ending = after(2*time.Minute), EndingAbsent
	for ended, opens := range map[time.Duration]bool{0: false, 2 * time.Minute: false, 2*time.Minute + 1: true} {
		_, ok := absent.handOver(hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", EndedAt: after(ended)})
		assert.Equal(t, opens, ok, ended)
	}
	absent.Recovery.EndedAt = time.Time{} // the process that sent Book proved absence by its own polls
	_, ok := absent.handOver(hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", EndedAt: after(bookedBy)})
	assert.False(t, ok)
}

func TestEachMethodChangesABookingOnlyInCertainPhases(t *testing.T) {
	recovery := hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", EndedAt: after(time.Second), Polls: 2, NextPoll: after(time.Minute)}
	soon, late := after(time.Second), after(time.Hour)
	for name, tc := range map[string]struct {
		of   func(b booking) (booking, bool)
		from string
		want func(b *booking)
	}{
		"start": {func(b booking) (booking, bool) {
			next, err := b.start(after(time.Minute))
			want := ErrAlreadyStarted
			switch {
			case err == nil:
				want = nil
			case b.Ending.hasOrder():
				want = ErrAlreadyBooked
			case b.Ending != "":
				want = ErrNotBegun
			}
			assert.ErrorIs(t, err, want)
			return next, err == nil
		}, "waiting", func(b *booking) { b.BookBy, b.Due = after(bookedBy), after(bookedBy) }},
		"wake": {func(b booking) (booking, bool) { return b.wake(soon) },
			"booking, polling, taken over", func(b *booking) { b.Due, b.Recovery.NextPoll = soon, soon }},
		"abandon": {func(b booking) (booking, bool) {
			next, err := b.abandon(soon)
			assert.Equal(t, b.Ending != "", errors.Is(err, ErrNotBegun))
			return next, err == nil
		}, "waiting, polling, taken over", func(b *booking) { b.Ending = EndingAbandoned }},
		"retry": {func(b booking) (booking, bool) {
			next, err := b.retry(soon)
			assert.Equal(t, err != nil && b.Ending != "", errors.Is(err, ErrNotBegun))
			return next, err == nil
		}, "booking, polling, taken over, abandoned", func(b *booking) { b.Due, b.Recovery.NextPoll, b.Ending = soon, soon, "" }},
		"hand over": {func(b booking) (booking, bool) { return b.handOver(recovery) },
			"waiting, booking, polling, taken over, absent, failed, abandoned",
			func(b *booking) {
				*b = booking{Booking: Booking{Recovery: recovery, BookBy: soon, Due: after(time.Minute)}, Round: 1}
			}},
		"earlier round's Book ends": {func(b booking) (booking, bool) { return b.earlierEnded(late) },
			"waiting, booking, polling, taken over", func(b *booking) {
				if b.Earlier = late; !b.Recovery.EndedAt.IsZero() {
					b.Recovery.EndedAt, b.Recovery.Polls, b.Recovery.NextPoll, b.Due = late, 0, late, late
				}
			}},
	} {
		for phase, b := range bookings {
			t.Run(name+" from "+phase, func(t *testing.T) {
				next, ok := tc.of(b)
				require.Equal(t, slices.Contains(strings.Split(tc.from, ", "), phase), ok)
				if ok {
					tc.want(&b)
				}
				assert.Equal(t, b, next)
			})
		}
	}
}

func TestLaterEndingDoesNotReplaceTheFirstEndingOfABooking(t *testing.T) {
	outcomes := map[Ending]*hotelstays.BookingOutcome{
		EndingFound:  {State: hotelstays.BookingFound, Order: order, Changes: dearer},
		EndingReused: {State: hotelstays.BookingFound, Order: order, Err: reused},
		EndingAbsent: {State: hotelstays.BookingAbsent},
		EndingFailed: {State: hotelstays.BookingAbsent, Err: refused},
	}
	for end, outcome := range outcomes {
		for name, b := range bookings {
			next, first, err := b.end(outcome)
			none := map[Ending]bool{EndingAbsent: true, EndingFailed: true}
			switch {
			case b.Ending == "":
				require.NoError(t, err)
				assert.True(t, first, "%s, %s", name, end)
				assert.Equal(t, end, next.Ending)
				assert.Equal(t, outcome.Changes, next.Changes)
			case b.Ending == end, none[b.Ending] && none[end]:
				require.NoError(t, err)
				assert.False(t, first)
				assert.Equal(t, b, next)
			default:
				require.ErrorIs(t, err, ErrConflictingOutcome, "%s, %s", name, end)
				assert.ErrorContains(t, err, `"ref-1"`)
				assert.False(t, first)
				assert.Equal(t, b, next)
			}
		}
	}
}

// Workers poll with the stored options. They would not find an order that was booked with other options.
func TestSendRefusesOptionsThatPollsWouldLack(t *testing.T) {
	b := newBooking(hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", Market: "DE", UserRef: "u1"}, start)
	_, err := b.start(start, append(b.options(), hotelstays.WithCurrency("EUR"), hotelstays.WithTimeout(time.Minute))...)
	require.NoError(t, err)
	_, err = b.start(start, hotelstays.WithTimeout(time.Minute))
	require.NoError(t, err, "Send need not repeat the stored options")
	next, err := b.start(start, hotelstays.WithMarket("FR"), hotelstays.WithUserRef("u2"), hotelstays.WithHeader("X-Gateway", "key"))
	var invalid *hotelstays.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Fields, 3)
	assert.Equal(t, "Send", invalid.Func)
	for i, option := range []string{"WithMarket", "WithUserRef", "WithHeader"} {
		assert.Equal(t, option, invalid.Fields[i].Path)
		assert.NotEmpty(t, invalid.Fields[i].Problem, option)
	}
	assert.Equal(t, b, next)
	_, err = b.start(start, hotelstays.WithMarket("no country"))
	assert.ErrorAs(t, err, &invalid)
}

// If end accepted an outcome that is not final, the next round could begin although the order of this round may still
// appear.
func TestEndRefusesOutcomesThatAreNotFinal(t *testing.T) {
	for _, outcome := range []*hotelstays.BookingOutcome{nil, {}, {State: hotelstays.BookingOpen, Err: refused},
		{State: hotelstays.BookingUnverified}, {State: hotelstays.BookingUnverified, Err: refused}, {State: "lost"}} {
		assert.Empty(t, EndingOf(outcome))
		for name, b := range bookings {
			next, first, err := b.end(outcome)
			assert.ErrorContains(t, err, "no final outcome", name)
			assert.False(t, first)
			assert.Equal(t, b, next)
		}
	}
}

func TestPollWithoutAnOrderSetsTheNextDueTime(t *testing.T) {
	open := hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", EndedAt: after(0), Polls: 2, NextPoll: after(90 * time.Second)}
	unverifiedTwice := polling
	unverifiedTwice.Unverified = 2
	becomes := func(unverified int, due time.Duration) booking {
		return booking{Booking: Booking{Recovery: open, BookBy: after(0), Unverified: unverified, Due: after(due)}, Round: 1}
	}
	for name, tc := range map[string]struct {
		booking booking
		state   hotelstays.BookingState
		err     error
		want    booking
	}{
		"no order yet":                                {polling, hotelstays.BookingOpen, nil, becomes(0, 90*time.Second)},
		"unverified for the first time":               {polling, hotelstays.BookingUnverified, nil, becomes(1, 180*time.Second)},
		"unverified for the third time":               {unverifiedTwice, hotelstays.BookingUnverified, nil, becomes(3, 630*time.Second)},
		"absent too early by another machine's clock": {polling, hotelstays.BookingAbsent, nil, becomes(0, 90*time.Second)},
		"the poll was interrupted":                    {polling, hotelstays.BookingOpen, unknown, polling},
	} {
		next, final := tc.booking.polled(after(30*time.Second), &hotelstays.BookingOutcome{State: tc.state, Recovery: &open}, tc.err)
		assert.Nil(t, final, name)
		assert.Equal(t, tc.want, next, name)
	}
	later := open
	later.NextPoll = after(7 * time.Minute)
	next, _ := polling.polled(after(30*time.Second), &hotelstays.BookingOutcome{State: hotelstays.BookingUnverified, Recovery: &later}, nil)
	assert.Equal(t, after(7*time.Minute), next.Due, "the next poll of the schedule is later than the pause")
	next, final := polling.polled(after(30*time.Second), nil, &hotelstays.ValidationError{})
	assert.Nil(t, final, "a ValidationError means that the recovery belongs to another account")
	assert.Equal(t, polling, next)
}

func TestPollsForManyReferencesFollowTheScheduleOfARecovery(t *testing.T) {
	b, at := polling, after(0)
	var times []string
	for len(times) < 9 && b.pollTogether(at) {
		recovery := b.Recovery
		b = b.missed(at)
		assert.Equal(t, recovery, b.Recovery)
		at = b.Due
		times = append(times, at.Sub(after(0)).String())
	}
	assert.Equal(t, "30s 1m30s 3m30s 7m30s 10m5s", strings.Join(times, " "))
	for name, b := range bookings {
		assert.Equal(t, name == "polling", b.pollTogether(after(2*time.Minute)), name)
	}
	assert.False(t, polling.pollTogether(after(-time.Second)), "the clock of another machine is slow")
	assert.False(t, started().pollTogether(after(time.Hour)), "the schedule has not begun")
}

func TestPollProvesAbsenceOnlyTenMinutesAndAClockMarginAfterBook(t *testing.T) {
	last := hotelstays.BookingRecovery{EndedAt: after(0), Polls: 5, NextPoll: after(10 * time.Minute)}
	b, final := polling.polled(after(450*time.Second), &hotelstays.BookingOutcome{Recovery: &last}, nil)
	assert.Nil(t, final)
	assert.Equal(t, after(proven), b.Due)
	late := last
	late.NextPoll = after(20 * time.Minute)
	next, _ := polling.polled(after(12*time.Minute), &hotelstays.BookingOutcome{Recovery: &late}, nil)
	assert.Equal(t, after(20*time.Minute), next.Due)
	absent := &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Recovery: &last}
	_, final = b.polled(after(proven-1), absent, nil)
	assert.Nil(t, final)
	_, final = b.polled(after(proven), absent, nil)
	assert.Equal(t, EndingAbsent, EndingOf(final))
}

// An abandoned round, or a Book that ended late, may still make an order.
func TestNextRoundEndsWithoutAnOrderOnlyTenMinutesAfterAnEarlierBook(t *testing.T) {
	given, _ := started().abandon(after(bookedBy))
	answered := ended(EndingAbandoned)
	answered.BookBy = after(bookedBy)
	givenAgain := waiting
	givenAgain.Ending, givenAgain.Earlier = EndingAbandoned, after(time.Second)
	for name, tc := range map[string]struct {
		round booking
		want  time.Time
	}{
		"absent":                                {ended(EndingAbsent), time.Time{}},
		"refused":                               {ended(EndingFailed), time.Time{}},
		"abandoned":                             {ended(EndingAbandoned), after(0)},
		"abandoned before any poll":             {given, after(bookedBy)},
		"abandoned after Book has ended":        {answered, after(0)},
		"a second round, abandoned before Send": {givenAgain, after(time.Second)},
		"a first round, abandoned before Send":  {booking{Ending: EndingAbandoned}, time.Time{}},
	} {
		assert.Equal(t, tc.want, tc.round.lastBook(), name)
	}

	next := waiting
	next.Earlier = after(0)
	assert.Equal(t, after(0), takenOver(next).Recovery.EndedAt)
	sent, err := next.start(after(time.Minute))
	require.NoError(t, err)
	assert.Nil(t, sent.booked(after(proven-1), nil, refused))
	assert.Equal(t, EndingFailed, EndingOf(sent.booked(after(proven), nil, refused)))
	unsent := errors.New("nothing was sent")
	assert.Nil(t, sent.booked(after(time.Hour), nil, unsent), "the earlier Book may have made an order")
	assert.Equal(t, EndingFailed, EndingOf(started().booked(after(0), nil, unsent)))
	assert.Nil(t, sent.booked(after(proven-1), &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent}, nil))
	assert.NotNil(t, sent.booked(after(proven), &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent}, nil))
	assert.NotNil(t, sent.booked(after(0), &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order}, nil))

	late, _ := sent.earlierEnded(after(time.Hour))
	handedOver, ok := late.handOver(handed)
	require.True(t, ok)
	assert.Equal(t, after(time.Hour), handedOver.Recovery.EndedAt, "absence counts from the Book that ended last")
	handedOver.Recovery.Polls = 1
	for _, b := range []booking{late, handedOver} {
		again, _ := b.earlierEnded(after(time.Minute))
		assert.Equal(t, b, again, "the earlier Book ended before")
	}
}

// A poll proves nothing before Book has ended. So the result of such a poll is stored only if the poll has found an order.
func TestPollDuringBookStoresOnlyAnOrder(t *testing.T) {
	woken, ok := started().wake(after(10 * time.Second))
	require.True(t, ok)
	next, final := woken.polled(after(10*time.Second), &hotelstays.BookingOutcome{State: hotelstays.BookingOpen, Recovery: &handed}, nil)
	assert.Nil(t, final)
	assert.Zero(t, next.Recovery.EndedAt)
	assert.Zero(t, next.Recovery.Polls)
	assert.Equal(t, after(bookedBy), next.Due)
	_, final = woken.polled(after(10*time.Second), &hotelstays.BookingOutcome{State: hotelstays.BookingFound,
		Order: order, Recovery: &handed}, nil)
	assert.Equal(t, order, final.Order)
}

func TestPausesAfterUnverifiedPollsDoubleUpToAnHour(t *testing.T) {
	b, at := polling, after(10*time.Minute)
	var pauses []string
	for range 7 {
		recovery := b.Recovery
		recovery.NextPoll = at.Add(150 * time.Second)
		b, _ = b.polled(at, &hotelstays.BookingOutcome{State: hotelstays.BookingUnverified, Err: errors.New("failed"), Recovery: &recovery}, nil)
		pauses = append(pauses, b.Due.Sub(at).String())
		at = b.Due
	}
	assert.Equal(t, "2m30s 5m0s 10m0s 20m0s 40m0s 1h0m0s 1h0m0s", strings.Join(pauses, " "))
	b.Unverified = 1 << 40
	b, _ = b.polled(at, &hotelstays.BookingOutcome{State: hotelstays.BookingUnverified, Recovery: &b.Recovery}, nil)
	assert.Equal(t, time.Hour, b.Due.Sub(at), "no overflow")
}

func TestJSONKeepsAllFieldsOfABookingExceptDue(t *testing.T) {
	for name, b := range bookings {
		text, err := json.Marshal(b)
		require.NoError(t, err)
		back := booking{Booking: Booking{Due: b.Due}}
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, b, back, name)
	}
	text, err := json.Marshal(started())
	require.NoError(t, err)
	assert.JSONEq(t, `{"recovery":{"customerReferenceNo":"ref-1","fingerprint":"","polls":0},"round":1,
		"bookBy":"2026-06-01T12:01:05Z"}`, string(text))
}

// A time with a monotonic reading never equals the same time after it was stored.
func TestStoredTimesHaveNoMonotonicReading(t *testing.T) {
	now := time.Now()
	b := newBooking(hotelstays.BookingRecovery{}, now)
	started, err := b.start(now)
	require.NoError(t, err)
	woken, _ := started.wake(now)
	b.Ending = EndingAbandoned
	retried, err := b.retry(now)
	require.NoError(t, err)
	for _, at := range []time.Time{b.Due, started.BookBy, started.Due, retried.BookBy, retried.Recovery.EndedAt,
		woken.Due, woken.Recovery.NextPoll} {
		assert.Equal(t, at.Round(0).UTC(), at)
		assert.NotContains(t, at.String(), "m=")
	}
}

var (
	dearer  = hotelstays.OfferDiff{Changes: []hotelstays.OfferChange{{Field: types.OfferNetTotal, Seen: "1", Now: "2"}}}
	order   = &types.Order{PlatformReferenceNo: "order"}
	refused = &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 200, Code: types.CodeRateChanged}
	reused  = &hotelstays.ReferenceReusedError{Order: order}
	unknown = &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, CustomerReferenceNo: "ref-1", Err: refused}
)

func TestBookedAndPolledReturnOnlyProvenOutcomes(t *testing.T) {
	stored := newBooking(hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1"}, start)
	polled := &hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", Polls: 1}
	in := func(s hotelstays.BookingState) *hotelstays.BookingOutcome {
		return &hotelstays.BookingOutcome{State: s, Err: errors.New("an earlier poll failed"), Recovery: polled}
	}
	found := &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order, Changes: dearer, Recovery: polled}
	absent := &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Recovery: polled}
	another := &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order, Changes: dearer, Err: reused, Recovery: polled}
	alone := &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order, Err: reused, Recovery: &stored.Recovery}
	failed := func(err error) *hotelstays.BookingOutcome {
		return &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Err: err, Recovery: &stored.Recovery}
	}
	invalid, broken := &hotelstays.ValidationError{}, errors.New("some error")
	for name, tc := range map[string]struct {
		outcome        *hotelstays.BookingOutcome
		err            error
		booked, polled *hotelstays.BookingOutcome
		ending         Ending // the ending of the booking if its outcome is booked
	}{
		"found":                             {found, nil, found, found, EndingFound},
		"absent":                            {in(hotelstays.BookingAbsent), nil, absent, absent, EndingAbsent},
		"refused":                           {nil, refused, failed(refused), nil, EndingFailed},
		"bad input":                         {nil, invalid, failed(invalid), nil, EndingFailed},
		"reused":                            {found, reused, another, another, EndingReused},
		"reused, without an outcome":        {nil, reused, alone, alone, EndingReused},
		"unknown":                           {in(hotelstays.BookingOpen), unknown, nil, nil, ""},
		"unknown, without an outcome":       {nil, unknown, nil, nil, ""},
		"unknown, and the error is wrapped": {nil, fmt.Errorf("wrapped: %w", unknown), nil, nil, ""},
		"unknown, with an order":            {found, unknown, nil, nil, ""},
		"open":                              {in(hotelstays.BookingOpen), nil, nil, nil, ""},
		"an unknown state":                  {in("lost"), nil, nil, nil, ""},
		"unverified":                        {in(hotelstays.BookingUnverified), nil, nil, nil, ""},
		"open, with an error":               {in(hotelstays.BookingOpen), broken, nil, nil, ""},
		"absent, with an error":             {in(hotelstays.BookingAbsent), broken, nil, nil, ""},
		"neither an outcome nor an error":   {nil, nil, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			booked := stored.booked(start, tc.outcome, tc.err)
			assert.Equal(t, tc.booked, booked)
			if booked != nil {
				assert.Equal(t, tc.ending, EndingOf(booked))
			} else if tc.outcome != nil && tc.err == nil {
				assert.Empty(t, EndingOf(tc.outcome))
			}
			_, final := stored.polled(start, tc.outcome, tc.err)
			assert.Equal(t, tc.polled, final)
		})
	}
}

func TestOutcomeUnknownErrorWrapsItsCause(t *testing.T) {
	b := newBooking(hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1"}, start)
	broken := errors.New("the last poll failed")
	open := &hotelstays.BookingOutcome{Err: broken}
	for name, tc := range map[string]struct {
		outcome *hotelstays.BookingOutcome
		err     error
		wraps   error
	}{
		"Book failed":             {nil, unknown, refused},
		"the last poll failed":    {open, nil, broken},
		"Book and a poll failed":  {open, refused, refused},
		"no outcome and no error": {nil, nil, nil},
		"an outcome without Err":  {&hotelstays.BookingOutcome{}, nil, nil},
	} {
		err, ok := errors.AsType[*hotelstays.OutcomeUnknownError](b.unknown(tc.outcome, tc.err))
		if assert.True(t, ok, name) {
			assert.Equal(t, []any{hotelstays.OpBook, "ref-1"}, []any{err.Operation, err.CustomerReferenceNo}, name)
			assert.Error(t, err.Err, name)
		}
		if tc.wraps != nil {
			assert.ErrorIs(t, err.Err, tc.wraps, name)
		}
	}
	_, is := sent{b, start, open, nil}.settle(b)
	assert.Equal(t, settled{}, is, "an outcome without Recovery stores nothing")
}

func TestOnlyABookingWithoutAnOrderBeginsAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		before  booking
		earlier time.Time
		err     error
	}{
		"open":      {polling, time.Time{}, ErrAlreadyBegun},
		"found":     {ended(EndingFound), time.Time{}, ErrAlreadyBooked},
		"reused":    {ended(EndingReused), time.Time{}, ErrAlreadyBooked},
		"absent":    {ended(EndingAbsent), time.Time{}, nil},
		"failed":    {ended(EndingFailed), time.Time{}, nil},
		"abandoned": {ended(EndingAbandoned), after(0), nil},
	} {
		next, err := waiting.after(tc.before)
		assert.Equal(t, tc.err, err, name)
		if err == nil {
			assert.Equal(t, []any{2, tc.earlier}, []any{next.Round, next.Earlier}, name)
		}
		tc.before.Round = 2
		if next, err = waiting.after(tc.before); err == nil {
			assert.Equal(t, 3, next.Round, name)
		}
		tc.before.Round = 0 // an older version of the package has stored the booking
		if next, err = waiting.after(tc.before); err == nil {
			assert.Equal(t, 2, next.Round, name)
		}
	}
}
