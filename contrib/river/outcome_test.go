package hotelstaysriver

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestFinalOutcome(t *testing.T) {
	order := &types.Order{PlatformReferenceNo: "order"}
	enqueued, polled := &hotelstays.BookingRecovery{}, &hotelstays.BookingRecovery{Polls: 1}
	in := func(s hotelstays.BookingState) *hotelstays.BookingOutcome {
		return &hotelstays.BookingOutcome{State: s, Err: errors.New("an earlier poll failed"), Recovery: polled}
	}
	found := &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order, Recovery: polled}
	refused := &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 200, Code: hotelstays.CodeRateChanged}
	reused := &hotelstays.ReferenceReusedError{Order: order}
	unknown := &hotelstays.OutcomeUnknownError{Err: refused}
	for name, tc := range map[string]struct {
		outcome *hotelstays.BookingOutcome
		err     error
		want    *hotelstays.BookingOutcome
		ending  ending
	}{
		"found": {found, nil, found, endingFound},
		"absent": {in(hotelstays.BookingAbsent), nil, &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Recovery: polled},
			endingAbsent},
		"refused": {nil, refused,
			&hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Err: refused, Recovery: enqueued}, endingFailed},
		"another order": {found, reused,
			&hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order, Err: reused, Recovery: polled}, endingReused},
		"unknown":               {in(hotelstays.BookingOpen), unknown, nil, ""},
		"unknown, no outcome":   {nil, unknown, nil, ""},
		"unknown, wrapped":      {nil, fmt.Errorf("wrapped: %w", unknown), nil, ""},
		"open":                  {in(hotelstays.BookingOpen), nil, nil, ""},
		"unverified":            {in(hotelstays.BookingUnverified), nil, nil, ""},
		"open, and an error":    {in(hotelstays.BookingOpen), errors.New("some error"), nil, ""},
		"bad input in a worker": {nil, asUnknown(&hotelstays.ValidationError{}), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			final := finalOutcome(enqueued, tc.outcome, tc.err)
			assert.Equal(t, tc.want, final)
			if final != nil {
				assert.Equal(t, tc.ending, endingOf(final))
			}
		})
	}
}
