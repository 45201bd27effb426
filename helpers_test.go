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

// operationCall makes one call of an operation and returns its error.
type operationCall func(context.Context, *hotelstays.Client, ...hotelstays.CallOption) error

// operationCalls has a well-formed call of every operation. Its sessions and
// references are made up: it is for tests of what surrounds an operation.
var operationCalls = map[hotelstays.Operation]operationCall{
	hotelstays.OpTicket: calling((*hotelstays.Client).Ticket,
		&hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret("secret")}),
	hotelstays.OpOAuthToken: calling((*hotelstays.Client).OAuthToken,
		&hotelstays.OAuthTokenRequest{ClientID: "id", ClientSecret: types.NewSecret("secret")}),
	hotelstays.OpDestinations:      calling((*hotelstays.Client).Destinations, &hotelstays.DestinationsRequest{}),
	hotelstays.OpHotelsMetadata:    calling((*hotelstays.Client).HotelsMetadata, &hotelstays.HotelsMetadataRequest{DestinationID: "place"}),
	hotelstays.OpHotelStaticDetail: calling((*hotelstays.Client).HotelStaticDetail, &hotelstays.HotelStaticDetailRequest{HotelID: "hotel"}),
	hotelstays.OpHotelIDList:       calling((*hotelstays.Client).HotelIDList, &hotelstays.HotelIDListRequest{RegionCode: 1}),
	hotelstays.OpHotelList: calling((*hotelstays.Client).HotelList, &hotelstays.HotelListRequest{
		DestinationID: "place", CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}),
	hotelstays.OpHotelRates: calling((*hotelstays.Client).HotelRates, &hotelstays.HotelRatesRequest{
		SessionID: "session", HotelID: "hotel", CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}),
	hotelstays.OpCheckAvail: calling((*hotelstays.Client).CheckAvail,
		&hotelstays.CheckAvailRequest{SessionID: "session", RatePkgID: "offer"}),
	hotelstays.OpBook: calling((*hotelstays.Client).Book,
		offer{RoomRatePkg: types.RoomRatePkg{RatePkgID: "offer"}, Session: "session"}.Request("ref-1")),
	hotelstays.OpQueryOrders:  calling((*hotelstays.Client).QueryOrders, &hotelstays.QueryOrdersRequest{}),
	hotelstays.OpOrderVoucher: calling((*hotelstays.Client).OrderVoucher, &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"}),
	hotelstays.OpCancel: calling((*hotelstays.Client).Cancel, &hotelstays.CancelRequest{
		SessionID: "session", CustomerReferenceNo: "ref-1", SupplierReferenceNo: "supplier-1"}),
}

func calling[Req, Resp any](method func(*hotelstays.Client, context.Context, Req, ...hotelstays.CallOption) (Resp, error),
	req Req) operationCall {
	return func(ctx context.Context, client *hotelstays.Client, opts ...hotelstays.CallOption) error {
		_, err := method(client, ctx, req, opts...)
		return err
	}
}

// inTheFlow reports whether op is one of the five operations of the booking flow, which alone
// take the headers Session-Id, Currency, Test and Timeout-Milliseconds.
func inTheFlow(op hotelstays.Operation) bool {
	switch op {
	case hotelstays.OpHotelList, hotelstays.OpHotelRates, hotelstays.OpCheckAvail, hotelstays.OpBook, hotelstays.OpCancel:
		return true
	}
	return false
}
