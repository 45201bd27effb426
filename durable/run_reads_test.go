package durable

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// If the service refuses a request because of its content, Run divides the request. In an outage Run does not divide it.
func TestRunSplitsAReadOfOrdersOnlyIfTheServiceRefusesItsContent(t *testing.T) {
	answer := func(status, code int) error {
		return &hotelstays.APIError{Operation: hotelstays.OpQueryOrders, HTTPStatus: status, Code: code}
	}
	for _, tc := range []struct {
		err error
		is  bool
	}{
		{nil, false}, {errors.New("no connection"), false}, {&hotelstays.DecodeError{}, true},
		{answer(400, 7), true}, {answer(404, 7), true}, {answer(200, types.CodeParam), true},
		{answer(401, 7), false}, {answer(403, 7), false}, {answer(408, 7), false}, {answer(429, 7), false},
		{answer(500, 7), false}, {answer(503, 7), false},
	} {
		assert.Equal(t, tc.is, isOfContent(tc.err), "%v", tc.err)
	}
}

// A worker reads orders with the market and the user of their rows. Reads of followed orders have a low priority,
// because nobody waits for them.
func TestReadUsesTheMarketAndUserOfItsRows(t *testing.T) {
	const market, user = "FR", "user"
	for kind, stored := range map[Kind]any{
		KindBooking: booking{Booking: Booking{Recovery: hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", Market: market, UserRef: user}}},
		KindCancel: cancellation{CancelOrder: CancelOrder{CustomerReferenceNo: "ref-1"},
			Options: storedOptions{Market: market, UserRef: user, Language: "fr"}},
		KindOrder: followed{CustomerReferenceNo: "ref-1", Market: market, UserRef: user},
	} {
		state, err := json.Marshal(stored)
		require.NoError(t, err)
		got, err := hotelstays.CallOptionsOf(readOptions(&Row{ID: ID{"", kind, "ref-1"}, Life: Open, State: state})...)
		require.NoError(t, err)
		priority := hotelstays.PriorityInteractive
		if kind == KindOrder {
			priority = hotelstays.PriorityBackground
		}
		assert.Equal(t, []any{market, user, "", priority}, []any{got.Market, got.UserRef, got.Language, got.Priority}, kind)
	}
}
