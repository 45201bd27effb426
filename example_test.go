// The example of the package: a booking, cancelled again.

package hotelstays_test

import (
	"context"
	"errors"
	"fmt"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// Find a hotel, check and book an offer, and cancel the order. The service is a sandbox inside this
// program.
func Example() {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{
		AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()
	if err := bookAndCancel(context.Background(), client, srv.CityName(0)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// the cheapest hotel is Upper White Gate Suites 10 from 226.98 USD
	// booked PO000000001 for 247.51 USD
	// cancelled, which costs 0.00 USD
}

func bookAndCancel(ctx context.Context, client *hotelstays.Client, city string) error {
	found, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
		DestinationName: city, CheckIn: "2040-03-12", CheckOut: "2040-03-15",
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}, SortBy: types.SortPriceAsc,
	})
	if err != nil {
		return err
	}
	if len(found.List) == 0 {
		return fmt.Errorf("no hotel in %s: %s", city, found.Basic.StatusRemark)
	}
	session, hotel := found.Basic.SessionID, found.List[0] // offers are valid only in their session
	fmt.Println("the cheapest hotel is", hotel.Name, "from", hotel.MinPrice)

	seen := refundable(hotel)
	if seen == nil {
		return fmt.Errorf("no offer of %s is fully refundable", hotel.Name)
	}
	check, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: session, RatePkgID: seen.RatePkgID})
	if err != nil {
		return err
	}
	if !check.Available() {
		return errors.New("the offer is gone")
	}
	if diff := hotelstays.CompareOffer(seen, check.RoomRatePkg); !diff.Within(hotelstays.Tolerance{}) {
		return fmt.Errorf("the offer has changed: %s", diff)
	}

	// Store the reference and the session before the call. Even after a crash you find the order by the reference, and
	// Cancel needs the session.
	const reference = "booking-4711"
	outcome, err := client.BookAndRecover(ctx, &hotelstays.BookRequest{
		SessionID: session, RatePkgID: check.RoomRatePkg.RatePkgID, CustomerReferenceNo: reference,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}},
		Expect: check.RoomRatePkg,
	})
	if err != nil {
		return err
	}
	if outcome.State != hotelstays.BookingFound {
		return fmt.Errorf("the booking is %s: %w", outcome.State, outcome.Err)
	}
	fmt.Println("booked", outcome.Order.PlatformReferenceNo, "for", outcome.Order.NetRate)

	cancelled, err := client.Cancel(ctx, &hotelstays.CancelRequest{
		SessionID: session, CustomerReferenceNo: reference, SupplierReferenceNo: outcome.Order.SupplierReferenceNo,
	})
	if err != nil {
		return err
	}
	fmt.Println("cancelled, which costs", cancelled.ServiceFee)
	return nil
}

// refundable returns an offer that can be cancelled for free.
func refundable(hotel types.Hotel) *types.RoomRatePkg {
	for _, room := range hotel.Rooms {
		for _, rate := range room.Rates {
			if rate.RefundableMode == types.RefundableFull {
				return &rate
			}
		}
	}
	return nil
}
