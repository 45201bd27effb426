// Helpers of this package's tests: clients, fixed answers, and one call of every operation.

package conformance_test

import (
	"testing"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

const checkIn, checkOut = testkit.CheckIn, testkit.CheckOut

type (
	transportFunc = testkit.Transport
	noLimits      = testkit.NoRateLimits
	fixedAnswer   = testkit.Answer
	readerFunc    = testkit.Reader
)

var (
	bearerToken, clientThrough, clientWith = testkit.BearerToken, testkit.ClientThrough, testkit.ClientWith
	reply, saying, twoAdults               = testkit.Reply, testkit.Saying, testkit.TwoAdults
)

func TestMain(m *testing.M) { testkit.Main(m) }

func ticketPair(secret string) hotelstays.TicketCredential {
	return hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret(secret)}
}

func hotelList() *hotelstays.HotelListRequest {
	return &hotelstays.HotelListRequest{DestinationID: "d", CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
}

// operationCalls has the minimal call of every operation. mutating has the operations that change something.
var operationCalls, mutating = func() (map[hotelstays.Operation]testkit.Call, map[hotelstays.Operation]bool) {
	calls, mutating := map[hotelstays.Operation]testkit.Call{}, map[hotelstays.Operation]bool{}
	for _, op := range operations() {
		calls[hotelstays.Operation(op.name)] = op.minimal.err
		mutating[hotelstays.Operation(op.name)] = op.mutates
	}
	return calls, mutating
}()
