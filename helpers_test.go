// What the tests of this package share. Most run in testing/synctest bubbles and reach the
// sandbox over in-memory connections; their clock is virtual and starts at 2000-01-01, two
// months before the stay.

package hotelstays_test

import (
	"context"
	"flag"
	"net/http"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	checkIn  types.Date = "2000-03-10"
	checkOut types.Date = "2000-03-13"
)

var allScopes = []types.Scope{
	types.ScopeSearchRead, types.ScopeContentRead, types.ScopeBookingRead, types.ScopeBookingWrite, types.ScopeBookingCancel,
}

// newSandbox starts a sandbox with a client of its first account, until the test ends.
func newSandbox(t *testing.T, config ...hotelstaystest.Config) (*hotelstaystest.Server, *hotelstays.Client) {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.InMemory = true
	srv := hotelstaystest.NewServer(&c)
	t.Cleanup(srv.Close)
	return srv, newClient(t, srv, ticketOf(srv))
}

// newClient returns another client of the sandbox.
func newClient(t *testing.T, srv *hotelstaystest.Server, cred hotelstays.Credential, opts ...hotelstays.Option) *hotelstays.Client {
	t.Helper()
	opts = append([]hotelstays.Option{hotelstays.WithHTTPClient(srv.Client())}, opts...)
	client, err := hotelstays.New(srv.URL, cred, opts...)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// ticketOf returns the credential of the sandbox's first account.
func ticketOf(srv *hotelstaystest.Server) hotelstays.TicketCredential {
	return hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)}
}

func twoAdults() []types.GuestPerRoom { return []types.GuestPerRoom{{AdultCount: 2}} }

// searchCity searches the sandbox's first city.
func searchCity(srv *hotelstaystest.Server) *hotelstays.HotelListRequest {
	return &hotelstays.HotelListRequest{DestinationID: srv.CityID(0), CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
}

// offer is a priced offer and the session that it is valid in.
type offer struct {
	types.RoomRatePkg
	session string
}

// findOffer searches the first city and picks the cheapest offer of one of its
// hotels, counted from 0; with modes, the cheapest that is refundable so. Offers
// of two hotels differ in content, so that both can be booked.
func findOffer(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client, hotel int, modes ...types.RefundableMode) offer {
	t.Helper()
	search := searchCity(srv)
	search.PageSize, search.MaxRatesPerHotel = hotel+1, 1
	list, err := client.HotelList(t.Context(), search)
	require.NoError(t, err)
	require.Greater(t, len(list.List), hotel)
	rates, err := client.HotelRates(t.Context(), &hotelstays.HotelRatesRequest{SessionID: list.Basic.SessionID,
		HotelID: list.List[hotel].ID, CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()})
	require.NoError(t, err)
	for _, room := range rates.Rooms {
		for _, rate := range room.Rates {
			if len(modes) == 0 || rate.RefundableMode == modes[0] {
				return offer{rate, list.Basic.SessionID}
			}
		}
	}
	require.FailNow(t, "no such offer")
	return offer{}
}

func (o offer) request(reference string) *hotelstays.BookRequest {
	return &hotelstays.BookRequest{
		SessionID: o.session, RatePkgID: o.RatePkgID, CustomerReferenceNo: reference,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}},
	}
}

func (o offer) book(t *testing.T, client *hotelstays.Client, reference string) *types.Order {
	t.Helper()
	resp, err := client.Book(t.Context(), o.request(reference))
	require.NoError(t, err)
	return resp.HotelOrder
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
	hotelstays.OpBook:         calling((*hotelstays.Client).Book, offer{types.RoomRatePkg{RatePkgID: "offer"}, "session"}.request("ref-1")),
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

const longVariable = "HOTELSTAYS_LONG"

// howMany returns how many of something a test takes: in all, typically, or with -short.
func howMany(t *testing.T, what string, all, typical, short int) int {
	t.Helper()
	n := typical
	switch {
	case os.Getenv(longVariable) != "":
		return all
	case testing.Short():
		n = short
	}
	if n < all {
		t.Logf("%d %s; %s=1 takes %d", n, what, longVariable, all)
	}
	return n
}

// portion picks one of so many cases, evenly.
type portion struct{ every, seen int }

// portionOf returns the portion to take: one case in so many typically, or with -short.
// Numbers that are prime make loops in loops take other cases each time.
func portionOf(t *testing.T, typical, short int) *portion {
	t.Helper()
	p := &portion{every: typical}
	switch {
	case os.Getenv(longVariable) != "":
		p.every = 1
	case testing.Short():
		p.every = short
	}
	if p.every > 1 {
		t.Logf("one case in %d; %s=1 takes all", p.every, longVariable)
	}
	return p
}

func (p *portion) next() bool {
	p.seen++
	return p.seen%p.every == 0
}

// Tests allocate much and keep little, so with -short the heap may grow, for fewer collections.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		debug.SetGCPercent(400)
	}
	goleak.VerifyTestMain(m)
}

// status is an answer with body, or with an envelope if body is empty.
func status(status int, body string) hotelstaystest.Fault {
	fault := hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: status, Header: http.Header{"Location": {"/elsewhere"}}}
	if body != "" {
		fault.Body = []byte(body)
	}
	return fault
}

type noRateLimits struct{}

func (noRateLimits) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	return noPermit{}, nil
}

func (noRateLimits) Pause(hotelstays.RateLimitKey, time.Time) {}

type noPermit struct{}

func (noPermit) Sent() {}

func (noPermit) Done(hotelstays.PermitResult) {}
