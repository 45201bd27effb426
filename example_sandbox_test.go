// What the examples share: a sandbox with a client of it, a stay, and a booking to
// start from. A program has its own base URL and credential in place of the sandbox.

package hotelstays_test

import (
	"context"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The stay of the examples lies far ahead, so that it can be booked and cancelled.
const (
	arrival   types.Date = "2040-03-12"
	departure types.Date = "2040-03-15"
)

// startSandbox returns a sandbox and a client of it. Closing the sandbox closes the
// client's connections, too.
func startSandbox(opts ...hotelstaystest.Option) (*hotelstaystest.Server, *hotelstays.Client) {
	srv := hotelstaystest.NewServer(opts...)
	client, err := hotelstays.New(srv.URL, sandboxCredential(srv), hotelstays.WithHTTPClient(srv.Client()))
	if err != nil {
		panic(err)
	}
	return srv, client
}

func sandboxCredential(srv *hotelstaystest.Server) hotelstays.TicketCredential {
	return hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)}
}

// prepareBooking searches the sandbox's first city and returns a request that books a
// fully refundable offer of its cheapest hotel under a reference.
func prepareBooking(ctx context.Context, srv *hotelstaystest.Server, client *hotelstays.Client, reference string) *hotelstays.BookRequest {
	found, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
		DestinationID: srv.CityID(0), CheckIn: arrival, CheckOut: departure,
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}, SortBy: hotelstays.SortPriceAsc,
	})
	if err != nil {
		panic(err)
	}
	for _, room := range found.List[0].Rooms {
		for _, rate := range room.Rates {
			if rate.RefundableMode != types.RefundableFull {
				continue
			}
			return &hotelstays.BookRequest{
				SessionID: found.Basic.SessionID, RatePkgID: rate.RatePkgID, CustomerReferenceNo: reference,
				Holder: types.Holder{FirstName: "Guest", LastName: "One"},
				Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}},
				Expect: &rate,
			}
		}
	}
	panic("no offer of the cheapest hotel is fully refundable")
}

// bookRoom books what prepareBooking found. The session belongs to the order: Cancel
// needs it.
func bookRoom(ctx context.Context, srv *hotelstaystest.Server, client *hotelstays.Client, reference string) (session string, order *types.Order) {
	req := prepareBooking(ctx, srv, client, reference)
	booked, err := client.Book(ctx, req)
	if err != nil {
		panic(err)
	}
	return req.SessionID, booked.HotelOrder
}
