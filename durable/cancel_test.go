package durable

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// The statuses of the orders: 2 is confirmed, 3 is cancelled, and 5 is in no list.
var states = hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3}}

var toCancel = CancelOrder{CustomerReferenceNo: "ref-1", SessionID: "session", Reason: "illness"}

// in returns a booking that has ended, in a given round.
func in(round int, ending Ending) *booking {
	b := ended(ending)
	b.Round = round
	return &b
}

// foundIn returns a booking that has ended with order-1, in a given round.
func foundIn(round int) *booking {
	b := in(round, EndingFound)
	b.OrderNo = "order-1"
	return b
}

// waitingCancel returns a cancellation that begins at start. If maxFee is empty, it has no MaxFee.
func waitingCancel(t *testing.T, maxFee string) cancellation {
	req := toCancel
	if maxFee != "" {
		req.MaxFee = &types.Money{Currency: "EUR", Amount: json.Number(maxFee)}
	}
	c, err := newCancellation(req, foundIn(1), "account", start)
	require.NoError(t, err)
	return c
}

// orderIn returns an order. Cancelling one of its rooms is free for a minute, costs 10 for an hour, and 50 later.
func orderIn(status types.OrderStatus, rooms int) *types.Order {
	step := func(until time.Time, fee string) types.CancelFee {
		return types.CancelFee{Until: types.Timestamp(until.Format(time.RFC3339)), Fee: types.Money{Currency: "EUR", Amount: json.Number(fee)}}
	}
	o := &types.Order{Status: status, SupplierReferenceNo: "supplier", PlatformReferenceNo: "order-1",
		CustomerReferenceNo: "ref-1", CheckOut: "2026-07-01"}
	for range rooms {
		o.Rooms = append(o.Rooms, types.OrderRoom{CancelFees: []types.CancelFee{
			step(after(time.Minute), "0"), step(after(time.Hour), "10"), step(after(24*time.Hour), "50")}})
	}
	return o
}

// sendingCancel returns a cancellation that is marked at start. Its Cancel may last two minutes.
func sendingCancel(t *testing.T) cancellation {
	c := waitingCancel(t, "").start(start, after(2*time.Minute), orderIn(2, 1), states)
	require.Equal(t, phaseSending, c.phase(start))
	return c
}

var cancelBy = 2*time.Minute + ClockMargin

func TestCancelIsNotSentIfTheFeeExceedsMaxFee(t *testing.T) {
	noSupplier := orderIn(2, 1)
	noSupplier.SupplierReferenceNo = ""
	inDinars := orderIn(2, 1)
	for i := range inDinars.Rooms[0].CancelFees {
		inDinars.Rooms[0].CancelFees[i].Fee.Currency = "KWD"
	}
	const send, wait = phaseSending, PhaseWaiting
	for name, tc := range map[string]struct {
		maxFee string
		at     time.Duration
		order  *types.Order
		phase  Phase
		due    time.Duration // the time from at until Due
		err    error
	}{
		"no MaxFee":         {"", 0, orderIn(2, 1), send, cancelBy, nil},
		"the fee is MaxFee": {"10", 2 * time.Minute, orderIn(2, 1), send, cancelBy, nil},
		"the fee has another currency than MaxFee":     {"100", 2 * time.Minute, inDinars, "", 0, ErrCancelCost},
		"the fee exceeds MaxFee":                       {"9.99", 2 * time.Minute, orderIn(2, 1), "", 0, ErrCancelCost},
		"the fee may exceed MaxFee during Cancel":      {"0", 0, orderIn(2, 1), "", 0, ErrCancelCost},
		"the fees of two rooms together exceed MaxFee": {"10", 2 * time.Minute, orderIn(2, 2), "", 0, ErrCancelCost},
		"the fee is unknown":                           {"100", 0, orderIn(2, 0), "", 0, ErrCancelCost},
		"the fee is unknown, and there is no MaxFee":   {"", 0, orderIn(2, 0), send, cancelBy, nil},
		"the fee is unknown from the next minute on":   {"100", 24*time.Hour - 30*time.Second, orderIn(2, 1), "", 0, ErrCancelCost},
		"no order":                                     {"", time.Second, nil, wait, 5 * time.Second, nil},
		"no order for ten seconds":                     {"", 10 * time.Second, nil, wait, 10 * time.Second, nil},
		"no order for almost 15 minutes":               {"", 15*time.Minute - 1, nil, wait, 30 * time.Second, nil},
		"no order for 15 minutes":                      {"", 15 * time.Minute, nil, "", 0, hotelstays.ErrNotFound},
		"no SupplierReferenceNo for 15 minutes":        {"", 15 * time.Minute, noSupplier, "", 0, errors.ErrUnsupported},
		"an order that has no SupplierReferenceNo yet": {"", 0, noSupplier, wait, 5 * time.Second, nil},
		"a cancelled order":                            {"0", 0, orderIn(3, 1), "", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			at := after(tc.at)
			c := waitingCancel(t, tc.maxFee).start(at, at.Add(2*time.Minute), tc.order, states)
			if tc.phase == "" {
				require.Equal(t, phaseEnded, c.phase(at))
				if tc.order == noSupplier {
					assert.NotErrorIs(t, c.err(), hotelstays.ErrNotFound, "there is an order")
					assert.NotErrorIs(t, c.err(), ErrCancelCost)
				} else {
					assert.ErrorIs(t, c.err(), tc.err)
				}
				assert.Equal(t, tc.err == nil, c.Ending == CancelDone)
				assert.Zero(t, c.SendBy)
				return
			}
			assert.Equal(t, tc.phase, c.phase(at))
			assert.Equal(t, at.Add(tc.due), c.Due)
			assert.NoError(t, c.err())
		})
	}
}

func TestCancelCostIsTheSumOfAllRoomsOfTheBookedStay(t *testing.T) {
	dearer := orderIn(2, 1)
	dearer.CheckIn, dearer.NetRate = "2026-06-30", types.Money{Currency: "EUR", Amount: "2"}
	given := waitingCancel(t, "")
	given.PlatformReferenceNo = "" // after an abandoned booking, the number of its order is unknown
	given.expect = &types.RoomRatePkg{CheckIn: "2026-06-30", CheckOut: "2026-07-01",
		TotalRate: types.Rate{NetRate: types.Money{Currency: "EUR", Amount: "1"}}}
	c := given.start(start, after(time.Minute), dearer, states)
	assert.Equal(t, phaseSending, c.phase(start), "an order with another price is the same stay")
	for _, dates := range [][2]types.Date{{"2026-06-29", "2026-07-01"}, {"2026-06-30", "2026-07-02"}} {
		given.expect = &types.RoomRatePkg{CheckIn: dates[0], CheckOut: dates[1]}
		c = given.start(start, after(time.Minute), dearer, states)
		assert.ErrorIs(t, c.err(), ErrNothingToCancel, "an order with other dates is another stay")
		known := given
		known.PlatformReferenceNo = dearer.PlatformReferenceNo
		c = known.start(start, after(time.Minute), dearer, states)
		assert.Equal(t, phaseSending, c.phase(start), "an order whose number is known may have changed its dates")
	}
	noDates := *dearer
	noDates.CheckIn, noDates.CheckOut = "", ""
	assert.Equal(t, phaseSending, given.start(start, after(time.Minute), &noDates, states).phase(start), "they may be the dates of the stay")
	tooDear := waitingCancel(t, "9.99").start(after(2*time.Minute), after(4*time.Minute), orderIn(2, 1), states)
	assert.ErrorContains(t, tooDear.err(), "it costs 10 EUR, and MaxFee is 9.99 EUR")
	for rooms, want := range []*types.Money{nil, {Currency: "EUR", Amount: "10"}, {Currency: "EUR", Amount: "20"}} {
		c := waitingCancel(t, "").start(after(2*time.Minute), after(3*time.Minute), orderIn(2, rooms), states)
		assert.Equal(t, want, c.Cost)
	}
}

func TestCancelSendsTheStoredRequest(t *testing.T) {
	req, opts := sendingCancel(t).request()
	assert.Equal(t, &hotelstays.CancelRequest{SessionID: "session", CustomerReferenceNo: "ref-1", SupplierReferenceNo: "supplier",
		Reason: toCancel.Reason}, req)
	assert.Empty(t, opts)
}

func TestAnswerToCancelDecidesTheNextPhase(t *testing.T) {
	answer := func(op hotelstays.Operation, status, code int) *hotelstays.APIError {
		return &hotelstays.APIError{Operation: op, HTTPStatus: status, Code: code, Msg: "why", RequestID: "request", TraceID: "trace"}
	}
	lost := &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpCancel, Err: answer(hotelstays.OpCancel, 504, 0)}
	fee := &types.Money{Currency: "EUR", Amount: "10"}
	status := func(s types.OrderStatus) *hotelstays.CancelResponse {
		return &hotelstays.CancelResponse{ServiceFee: fee, Status: &s}
	}
	const done, refused, wait, poll = "cancelled", "refused", PhaseWaiting, PhasePolling
	at := after(time.Minute)
	for name, tc := range map[string]struct {
		resp *hotelstays.CancelResponse
		err  error
		want any // the expected ending or phase
	}{
		"an answer without a status":          {&hotelstays.CancelResponse{ServiceFee: fee}, nil, done},
		"the order is cancelled":              {status(3), nil, done},
		"an unknown status":                   {status(5), nil, poll},
		"the order is still confirmed":        {status(2), nil, poll},
		"the order is still open":             {status(1), nil, poll},
		"Cancel is refused":                   {nil, answer(hotelstays.OpCancel, 400, 7), refused},
		"the order is unknown":                {nil, answer(hotelstays.OpCancel, 404, 7), refused},
		"the request is invalid":              {nil, &hotelstays.ValidationError{Func: "Cancel"}, refused},
		"no answer":                           {nil, lost, poll},
		"no answer, and the error is wrapped": {nil, errors.Join(context.Canceled, lost), poll},
		"Cancel is refused by the rate limit": {nil, answer(hotelstays.OpCancel, 429, types.CodeRateLimited), wait},
		"no token could be fetched":           {nil, answer(hotelstays.OpTicket, 401, 0), wait},
		"the request was not sent":            {nil, &hotelstays.TransportError{Operation: hotelstays.OpCancel, Err: context.Canceled}, wait},
	} {
		t.Run(name, func(t *testing.T) {
			c := sendingCancel(t).answered(at, tc.resp, tc.err, states)
			if phase, ok := tc.want.(Phase); ok {
				assert.Equal(t, phase, c.phase(at))
				assert.NoError(t, c.err())
			} else {
				assert.EqualValues(t, tc.want, c.Ending)
				assert.Equal(t, tc.want == refused, c.err() != nil)
			}
			assert.NotErrorIs(t, c.err(), ErrCancelCost)
			if _, refusal := tc.err.(*hotelstays.APIError); tc.want == refused && refusal {
				assert.Equal(t, tc.err, c.err())
			}
			if tc.resp != nil {
				assert.Equal(t, []*types.Money{{Currency: "EUR", Amount: "0"}, fee}, []*types.Money{c.result().Cost, c.result().ServiceFee})
			}
			switch tc.want {
			case poll:
				assert.Equal(t, at, c.Due)
			case wait:
				assert.Equal(t, at.Add(30*time.Second), c.Due)
				assert.Nil(t, c.Cost, "the next attempt calculates it again")
			}
			stored := roundTrip(t, c)
			assert.Equal(t, hotelstays.KindOf(c.err()), hotelstays.KindOf(stored.err()))
		})
	}
	confirmed := hotelstays.StatusMeanings{Confirmed: states.Confirmed} // without Cancelled, no status means cancelled
	assert.Equal(t, poll, sendingCancel(t).answered(at, status(2), nil, confirmed).phase(at))
	assert.Equal(t, CancelDone, sendingCancel(t).answered(at, status(5), nil, confirmed).Ending)
	for _, c := range []cancellation{waitingCancel(t, ""), sendingCancel(t).answered(at, status(3), nil, states)} {
		assert.Equal(t, c, c.answered(at, nil, lost, states), "a cancellation that has ended, or was not sent, does not change")
	}
}

func roundTrip(t *testing.T, c cancellation) (stored cancellation) {
	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &stored))
	stored.Due = c.Due
	assert.Equal(t, c, stored)
	return stored
}

func TestOrderOfAnUnansweredCancelIsReadForTenMinutes(t *testing.T) {
	const standing, done, unknown = CancelStanding, CancelDone, CancelUnknown
	over := time.Date(2026, 7, 3, 0, 0, 1, 0, time.UTC).Sub(after(cancelBy))
	for name, tc := range map[string]struct {
		since  time.Duration // the time from the end of Cancel until the read
		order  *types.Order
		ending CancelEnding
		due    time.Duration // the time from the end of Cancel until Due
	}{
		"the order is cancelled":                               {0, orderIn(3, 1), done, 0},
		"the order is not cancelled immediately":               {0, orderIn(2, 1), "", 30 * time.Second},
		"the order is not cancelled after half a minute":       {30 * time.Second, orderIn(2, 1), "", 90 * time.Second},
		"the order is not cancelled after almost ten minutes":  {proven - 1, orderIn(2, 1), "", proven},
		"the order is not cancelled after ten minutes":         {proven, orderIn(2, 1), standing, 0},
		"the order is open after ten minutes":                  {proven, orderIn(1, 1), standing, 0},
		"the order is in an unknown state after ten minutes":   {proven, orderIn(5, 1), "", 2 * proven},
		"the order is in an unknown state for days":            {48 * time.Hour, orderIn(5, 1), "", 49 * time.Hour},
		"the order is missing in the answer after ten minutes": {proven, nil, "", 2 * proven},
		"the order is in an unknown state, the stay is over":   {over, orderIn(5, 1), unknown, 0},
		"the order is missing in the answer, the stay is over": {over, nil, unknown, 0},
		"the order is cancelled, the stay is over":             {over, orderIn(3, 1), done, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ended := after(cancelBy)
			c := sendingCancel(t).polled(ended.Add(tc.since), tc.order, states)
			assert.Equal(t, tc.ending, c.Ending)
			if tc.ending == "" {
				assert.Equal(t, ended.Add(tc.due), c.Due)
			}
			if assert.Equal(t, tc.ending == standing || tc.ending == unknown, c.err() != nil); c.err() != nil {
				assert.NotEmpty(t, c.err().Error())
				assert.NotErrorIs(t, c.err(), hotelstays.ErrNotFound)
			}
		})
	}
	sameUnknown := waitingCancel(t, "").start(start, after(2*time.Minute), orderIn(5, 1), states)
	assert.Equal(t, standing, sameUnknown.polled(after(cancelBy+proven), orderIn(5, 1), states).Ending, "the unknown status has not changed")
	c := sendingCancel(t)
	assert.Equal(t, c, c.polled(after(time.Minute), orderIn(3, 1), states), "Cancel may be in progress")
	for since, due := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Hour: time.Hour + 5*time.Minute} {
		assert.Equal(t, after(cancelBy+due), c.readFailed(after(cancelBy+since)).Due)
	}
}

// The service has accepted Cancel, but the order is not cancelled yet.
func TestOrderOfAnAcceptedCancelIsReadForADay(t *testing.T) {
	open := types.OrderStatus(2)
	at := after(time.Minute)
	c := sendingCancel(t).answered(at, &hotelstays.CancelResponse{Status: &open}, nil, states)
	for name, tc := range map[string]struct {
		since  time.Duration
		order  *types.Order
		ending CancelEnding
	}{
		"the order is not cancelled immediately, although Cancel was accepted":       {0, orderIn(2, 1), ""},
		"the order is not cancelled after ten minutes, although Cancel was accepted": {proven, orderIn(2, 1), ""},
		"the order is cancelled":                         {proven, orderIn(3, 1), CancelDone},
		"the order is not cancelled after almost a day":  {24*time.Hour - 1, orderIn(2, 1), ""},
		"the order is not cancelled after a day":         {24 * time.Hour, orderIn(2, 1), CancelAccepted},
		"the order is missing in the answer after a day": {24 * time.Hour, nil, ""},
	} {
		next := c.polled(at.Add(tc.since), tc.order, states)
		assert.Equal(t, tc.ending, next.Ending, name)
		assert.Equal(t, tc.ending == CancelAccepted, next.err() != nil, name)
		if assert.True(t, next.result().Accepted); tc.ending == CancelAccepted {
			assert.NotEmpty(t, next.err().Error())
			assert.NotErrorIs(t, next.err(), hotelstays.ErrNotFound)
			assert.ErrorIs(t, next.again(), ErrAlreadyCancelling, "it may still be cancelled")
		}
	}
}

func TestCancellationCancelsOnlyTheOrderOfItsRound(t *testing.T) {
	open, none := polling, (*booking)(nil)
	older, unsent := *foundIn(0), waiting // older: an older version stored the booking; unsent: only an earlier Book may have made an order
	unsent.Ending, unsent.Earlier = EndingAbandoned, start
	named := toCancel
	named.PlatformReferenceNo = "order-9"
	const refused = CancelRefused
	for name, tc := range map[string]struct {
		booking *booking // the booking when CancelTx is called
		later   *booking // the booking when a worker acts
		req     CancelOrder
		begins  bool
		ending  CancelEnding
		waits   bool
		order   string
	}{
		"nothing was booked":                              {none, none, toCancel, false, "", false, ""},
		"not booked here, and the caller names the order": {none, none, named, true, "", false, "order-9"},
		"the booking is reused, and the caller names the order": {in(1, EndingReused), in(1, EndingReused), named, true, "",
			false, "order-9"},
		"the booking is open, and the caller names another order": {&open, &open, named, true, "", false, "order-9"},
		"the booking is absent":                                   {in(1, EndingAbsent), none, toCancel, false, "", false, ""},
		"the booking is refused":                                  {in(1, EndingFailed), none, toCancel, false, "", false, ""},
		"the booking is reused":                                   {in(1, EndingReused), none, toCancel, false, "", false, ""},
		"the booking is found":                                    {foundIn(1), foundIn(1), toCancel, true, "", false, "order-1"},
		"the booking is abandoned": {in(1, EndingAbandoned), in(1, EndingAbandoned), toCancel,
			true, "", false, ""},
		"the booking is found, and its row is deleted":                     {foundIn(1), none, toCancel, true, "", false, "order-1"},
		"the booking is open, and its row is deleted":                      {&open, none, toCancel, true, refused, false, ""},
		"the booking is found by an older version":                         {&older, foundIn(1), toCancel, true, "", false, "order-1"},
		"the booking is found, then its row is stored by an older version": {foundIn(1), &older, toCancel, true, "", false, "order-1"},
		"the booking is abandoned by an older version, then begun again": {in(0, EndingAbandoned), foundIn(2), toCancel, true, refused,
			false, ""},
		"the booking is abandoned before Send, but an earlier round was sent": {&unsent, &unsent, toCancel, true, "", false, ""},
		"the booking is open":               {&open, &open, toCancel, true, "", true, ""},
		"the booking is open, then found":   {&open, foundIn(1), toCancel, true, "", false, "order-1"},
		"the booking is open, then absent":  {&open, in(1, EndingAbsent), toCancel, true, refused, false, ""},
		"the booking is open, then refused": {&open, in(1, EndingFailed), toCancel, true, refused, false, ""},
		"the booking is open, then reused":  {&open, in(1, EndingReused), toCancel, true, refused, false, ""},
		"the booking is abandoned, then begun again and open": {in(1, EndingAbandoned), &booking{Round: 2}, toCancel, true, refused,
			false, ""},
		"the booking is open, then begun again and found":            {&open, foundIn(2), toCancel, true, refused, false, ""},
		"the booking is found, its row is deleted, then begun again": {foundIn(1), foundIn(2), toCancel, true, refused, false, "order-1"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := newCancellation(tc.req, tc.booking, "account", start)
			if !tc.begins {
				require.ErrorIs(t, err, ErrNothingToCancel)
				return
			}
			require.NoError(t, err)
			at := after(time.Second)
			bound, waits := c.bind(at, tc.later)
			assert.Equal(t, []any{tc.ending, tc.waits, tc.order}, []any{bound.Ending, waits, bound.PlatformReferenceNo})
			assert.Equal(t, tc.ending == refused, errors.Is(bound.err(), ErrNothingToCancel))
			if waits {
				assert.Equal(t, at.Add(5*time.Second), bound.Due)
				late, _ := c.bind(after(time.Hour), tc.later)
				assert.Equal(t, after(time.Hour+30*time.Second), late.Due, "nothing else wakes it when the booking ends")
			}
		})
	}
	unbound := waitingCancel(t, "")
	unbound.Round, unbound.PlatformReferenceNo = 0, ""
	bound, _ := unbound.bind(start, foundIn(3))
	assert.Equal(t, []any{3, "order-1"}, []any{bound.Round, bound.PlatformReferenceNo}, "an older version has stored it")
}

func TestNextRoundEndsAnUnsentCancellation(t *testing.T) {
	at, hasEnded := after(time.Hour), waitingCancel(t, "")
	hasEnded.Ending = CancelDone
	for name, tc := range map[string]struct {
		c    cancellation
		ends bool
		err  error
	}{
		"the cancellation waits":        {waitingCancel(t, ""), true, nil},
		"the cancellation sends Cancel": {sendingCancel(t), false, ErrAlreadyCancelling},
		"the cancellation has ended":    {hasEnded, false, nil},
	} {
		next, err := tc.c.bookingBegins(at)
		assert.Equal(t, tc.err, err, name)
		if !tc.ends {
			assert.Equal(t, tc.c, next, name)
			continue
		}
		assert.Equal(t, []any{CancelRefused, at}, []any{next.Ending, next.Due}, name)
		assert.ErrorIs(t, next.err(), ErrNothingToCancel, name)
	}
}

func TestLaterCancellationIsNotMistakenForAnEarlierCancellation(t *testing.T) {
	first := waitingCancel(t, "")
	later, older, second := first, first, first
	later.Begun, older.Round, older.PlatformReferenceNo, second.Round = after(1), 0, "", 2
	assert.True(t, first.same(first))
	assert.True(t, older.same(first), "an older version has stored it")
	assert.False(t, later.same(first))
	assert.False(t, second.same(first))
	named := first
	named.Round = 0
	assert.False(t, named.same(first), "the later cancellation names its order")
	second.PlatformReferenceNo = "" // the booking was abandoned, so its order is unknown
	assert.False(t, second.same(first))
	another := first
	another.PlatformReferenceNo = "order-2"
	assert.True(t, another.namesOtherOrder(first))
	assert.False(t, first.namesOtherOrder(first))
	assert.False(t, another.namesOtherOrder(older), "the order of the older cancellation is unknown")
	assert.False(t, older.namesOtherOrder(another))
}

func TestWakeMakesOnlyAnOpenCancellationDue(t *testing.T) {
	for ending, again := range map[CancelEnding]error{"": ErrAlreadyCancelling,
		CancelUnknown: ErrAlreadyCancelling,
		CancelDone:    ErrAlreadyCancelled, CancelRefused: nil, CancelStanding: nil} {
		c := sendingCancel(t)
		c.Ending = ending
		assert.Equal(t, again, c.again(), ending)
		at := after(time.Hour)
		next, ok := c.wake(at)
		assert.Equal(t, ending == "", ok)
		assert.Equal(t, ok, next.Due.Equal(at))
	}
	_, ok := sendingCancel(t).wake(after(time.Minute))
	assert.False(t, ok, "its Cancel may be in progress")
	next, ok := waitingCancel(t, "").wake(after(time.Minute))
	assert.True(t, ok)
	assert.Equal(t, after(time.Minute), next.Due)
}

func TestNewCancellationRefusesOptionsThatItCannotStore(t *testing.T) {
	_, err := newCancellation(CancelOrder{MaxFee: &types.Money{Currency: "EUR"}}, nil, "account", start)
	assert.ErrorContains(t, err, "customerReferenceNo: is required")
	assert.ErrorContains(t, err, "sessionId: is required")
	assert.ErrorContains(t, err, "maxFee.amount: is not a number")
	for name, opt := range refusedOptions {
		_, err := newCancellation(toCancel, foundIn(1), "account", start, opt)
		assert.ErrorContains(t, err, name)
	}
	c, err := newCancellation(toCancel, foundIn(1), "account", start,
		hotelstays.WithMarket("FR"), hotelstays.WithUserRef("u"), hotelstays.WithLanguage("fr"))
	require.NoError(t, err)
	stored := roundTrip(t, c)
	_, opts := stored.request()
	got, err := hotelstays.CallOptionsOf(opts...)
	require.NoError(t, err)
	assert.Equal(t, []string{"FR", "u", "fr"}, []string{got.Market, got.UserRef, got.Language})
}
