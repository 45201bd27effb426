// Examples of errors: what each kind tells, and what to do about it.

package hotelstays_test

import (
	"context"
	"errors"
	"fmt"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// A refusal of the service. Conditions are told with errors.Is; the rest is for the
// log, the request id above all.
func ExampleAPIError() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()

	_, err := client.OrderVoucher(ctx, &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "no-such-order"})
	fmt.Println("not found:", errors.Is(err, hotelstays.ErrNotFound))
	var refused *hotelstays.APIError
	if errors.As(err, &refused) {
		fmt.Println(refused.Operation, refused.HTTPStatus, refused.Code, "request id:", refused.RequestID != "")
	}
	// Output:
	// not found: true
	// OrderVoucher 404 100000404 request id: true
}

// Bad input is found before anything is sent, all of it at once.
func ExampleValidationError() {
	srv, client := startSandbox()
	defer srv.Close()

	_, err := client.HotelList(context.Background(), &hotelstays.HotelListRequest{
		CheckIn: "12.03.2040", CheckOut: departure, RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}, PageSize: 500,
	})
	var invalid *hotelstays.ValidationError
	if errors.As(err, &invalid) {
		for _, fault := range invalid.Fields {
			fmt.Println(fault.Path, fault.Problem)
		}
	}
	fmt.Println("sent:", srv.Ledger().Count(hotelstaystest.OpHotelList))
	// Output:
	// hotelIds is empty, and so are destinationId and destinationName: one of the three is required
	// checkIn "12.03.2040" is not a date of the form YYYY-MM-DD
	// pageSize is 500; it must lie between 1 and 200, or be 0 for the service's default
	// sent: 0
}

// A call that got no answer. Sent tells whether the request may have arrived.
func ExampleTransportError() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	srv, client := startSandbox()
	defer srv.Close()

	_, err := client.Destinations(ctx, &hotelstays.DestinationsRequest{})
	var failed *hotelstays.TransportError
	if errors.As(err, &failed) {
		fmt.Println(failed.Operation, "sent:", failed.Sent, "cancelled:", errors.Is(err, context.Canceled))
	}
	// Output: Destinations sent: false cancelled: true
}

// An answer that cannot be read: here a proxy's page in the place of the service's.
func ExampleDecodeError() {
	srv, client := startSandbox()
	defer srv.Close()
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpDestinations, Kind: hotelstaystest.FaultGarbage, Body: []byte("<html>Sign in to the network</html>")})

	_, err := client.Destinations(context.Background(), &hotelstays.DestinationsRequest{})
	var unreadable *hotelstays.DecodeError
	if errors.As(err, &unreadable) {
		fmt.Println(unreadable.HTTPStatus, unreadable.Excerpt)
	}
	// Output: 200 <html>Sign in to the network</html>
}
