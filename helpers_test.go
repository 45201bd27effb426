// What the tests of this package share. Most run in testing/synctest bubbles and reach the
// sandbox over in-memory connections; their clock is virtual and starts at 2000-01-01, two
// months before the stay.

package hotelstays_test

import (
	"context"
	"testing"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// What this package's tests share with those of others.
const checkIn, checkOut = testkit.CheckIn, testkit.CheckOut

type (
	offer         = testkit.Offer
	transportFunc = testkit.Transport
	noRateLimits  = testkit.NoRateLimits
	operationCall = testkit.Call
)

var (
	newSandbox, newClient, ticketOf, bearerToken = testkit.NewSandbox, testkit.NewClient, testkit.TicketOf, testkit.BearerToken
	clientThrough, clientWith, reply, saying     = testkit.ClientThrough, testkit.ClientWith, testkit.Reply, testkit.Saying
	twoAdults, findOffer, status, members        = testkit.TwoAdults, testkit.FindOffer, testkit.Status, testkit.Members
	howMany, portionOf                           = testkit.HowMany, testkit.PortionOf
)

func TestMain(m *testing.M) { testkit.Main(m) }

var allScopes = []types.Scope{
	types.ScopeSearchRead, types.ScopeContentRead, types.ScopeBookingRead, types.ScopeBookingWrite, types.ScopeBookingCancel,
}

// searchCity searches the sandbox's first city.
func searchCity(srv *hotelstaystest.Server) *hotelstays.HotelListRequest {
	return &hotelstays.HotelListRequest{DestinationID: srv.CityID(0), CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
}

var operationCalls = testkit.Calls()

func calling[Req, Resp any](method func(*hotelstays.Client, context.Context, Req, ...hotelstays.CallOption) (Resp, error),
	req Req) operationCall {
	return func(ctx context.Context, client *hotelstays.Client, opts ...hotelstays.CallOption) error {
		_, err := method(client, ctx, req, opts...)
		return err
	}
}
