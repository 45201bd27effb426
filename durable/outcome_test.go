package durable_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

var (
	dearer  = hotelstays.OfferDiff{Changes: []hotelstays.OfferChange{{Field: types.OfferNetTotal, Seen: "1", Now: "2"}}}
	order   = &types.Order{PlatformReferenceNo: "order"}
	refused = &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 200, Code: types.CodeRateChanged}
	reused  = &hotelstays.ReferenceReusedError{Order: order}
	unknown = &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, CustomerReferenceNo: "ref-1", Err: refused}
)

func TestOutcomes(t *testing.T) {
	stored := durable.New(hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1"}, start)
	polled := &hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", Polls: 1}
	in := func(s hotelstays.BookingState) *hotelstays.BookingOutcome {
		return &hotelstays.BookingOutcome{State: s, Err: errors.New("an earlier poll failed"), Recovery: polled}
	}
	found := &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order, Changes: dearer, Recovery: polled}
	absent := &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Recovery: polled}
	another := &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order, Changes: dearer, Err: reused, Recovery: polled}
	failed := func(err error) *hotelstays.BookingOutcome {
		return &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Err: err, Recovery: &stored.Recovery}
	}
	invalid, broken := &hotelstays.ValidationError{}, errors.New("some error")
	for name, tc := range map[string]struct {
		outcome        *hotelstays.BookingOutcome
		err            error
		booked, polled *hotelstays.BookingOutcome
		ending         durable.Ending // of booked
	}{
		"found":                   {found, nil, found, found, durable.EndingFound},
		"absent":                  {in(hotelstays.BookingAbsent), nil, absent, absent, durable.EndingAbsent},
		"refused":                 {nil, refused, failed(refused), nil, durable.EndingFailed},
		"bad input":               {nil, invalid, failed(invalid), nil, durable.EndingFailed},
		"another order":           {found, reused, another, another, durable.EndingReused},
		"unknown":                 {in(hotelstays.BookingOpen), unknown, nil, nil, ""},
		"unknown, no outcome":     {nil, unknown, nil, nil, ""},
		"unknown, wrapped":        {nil, fmt.Errorf("wrapped: %w", unknown), nil, nil, ""},
		"unknown, with an order":  {found, unknown, nil, nil, ""},
		"open":                    {in(hotelstays.BookingOpen), nil, nil, nil, ""},
		"an unknown word":         {in("lost"), nil, nil, nil, ""},
		"unverified":              {in(hotelstays.BookingUnverified), nil, nil, nil, ""},
		"open, and an error":      {in(hotelstays.BookingOpen), broken, nil, nil, ""},
		"absent, and an error":    {in(hotelstays.BookingAbsent), broken, nil, nil, ""},
		"neither outcome nor err": {nil, nil, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			booked := stored.Booked(start, tc.outcome, tc.err)
			assert.Equal(t, tc.booked, booked)
			if booked != nil {
				assert.Equal(t, tc.ending, durable.EndingOf(booked))
			} else if tc.outcome != nil && tc.err == nil {
				assert.Empty(t, durable.EndingOf(tc.outcome))
			}
			_, final := stored.Polled(start, tc.outcome, tc.err)
			assert.Equal(t, tc.polled, final)
		})
	}
}

func TestUnknown(t *testing.T) {
	b := durable.New(hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1"}, start)
	broken := errors.New("the last poll failed")
	open := &hotelstays.BookingOutcome{Err: broken}
	for name, tc := range map[string]struct {
		outcome *hotelstays.BookingOutcome
		err     error
		wraps   error
	}{
		"of Book":      {nil, unknown, refused},
		"of a poll":    {open, nil, broken},
		"both":         {open, refused, refused},
		"without any":  {nil, nil, nil},
		"no last poll": {&hotelstays.BookingOutcome{}, nil, nil},
	} {
		err, ok := errors.AsType[*hotelstays.OutcomeUnknownError](b.Unknown(tc.outcome, tc.err))
		if assert.True(t, ok, name) {
			assert.Equal(t, "ref-1", err.CustomerReferenceNo, name)
			assert.Error(t, err.Err, name)
		}
		if tc.wraps != nil {
			assert.ErrorIs(t, err, tc.wraps, name)
		}
	}
}
