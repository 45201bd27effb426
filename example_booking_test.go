// Examples of booking: checking an offer, comparing it, and booking it.

package hotelstays_test

import (
	"context"
	"errors"
	"fmt"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// Right before an offer is booked, its price and availability are asked for again.
func ExampleClient_CheckAvail() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")

	check, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: booking.SessionID, RatePkgID: booking.RatePkgID})
	if err != nil {
		fmt.Println(err)
		return
	}
	if !check.Available() {
		fmt.Println("gone")
		return
	}
	fmt.Println("now", check.RoomRatePkg.TotalRate.NetRate, "until", check.RoomRatePkg.RefundableUntil, "for free")
	// Output: now 247.51 USD until 2040-03-09T18:00:00Z for free
}

// An offer that is gone is an answer, and not an error.
func ExampleCheckAvailResponse_Available() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")
	srv.CloseRate(booking.RatePkgID) // somebody else took the last room

	check, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: booking.SessionID, RatePkgID: booking.RatePkgID})
	if err != nil {
		fmt.Println(err)
		return
	}
	if !check.Available() {
		fmt.Println("gone: search again")
	}
	// Output: gone: search again
}

// What the traveller saw is compared with what CheckAvail says now.
func ExampleCompareOffer() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")
	seen := booking.Expect
	srv.MoveRate(seen.RatePkgID, 2) // two percent dearer

	check, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: booking.SessionID, RatePkgID: booking.RatePkgID})
	if err != nil {
		fmt.Println(err)
		return
	}
	diff := hotelstays.CompareOffer(seen, check.RoomRatePkg)
	for _, change := range diff.Changes {
		fmt.Println("changed:", change.Field)
	}
	fmt.Println("total:", diff.Changes[0].Now, "instead of", diff.Changes[0].Seen)
	fmt.Println("ask the traveller:", !diff.Within(hotelstays.Tolerance{}))
	// Output:
	// changed: netTotal
	// changed: grossTotal
	// changed: tax
	// changed: cancelFees
	// total: 252.46 USD instead of 247.51 USD
	// ask the traveller: true
}

// A tolerance says how much dearer an offer may get, and which other parts may differ,
// before the traveller is asked again. Cheaper is always fine.
func ExampleOfferDiff_Within() {
	seen := &types.RoomRatePkg{
		TotalRate: types.Rate{NetRate: types.Money{Currency: "EUR", Amount: "240.00"}},
		Board:     &types.Board{BoardID: types.BoardRO},
	}
	now := &types.RoomRatePkg{
		TotalRate: types.Rate{NetRate: types.Money{Currency: "EUR", Amount: "243.50"}},
		Board:     &types.Board{BoardID: types.BoardBB}, // breakfast on top
	}
	diff := hotelstays.CompareOffer(seen, now)
	fmt.Println(diff)
	fmt.Println(diff.Within(hotelstays.Tolerance{}))
	fmt.Println(diff.Within(hotelstays.Tolerance{
		NetRise: types.Money{Currency: "EUR", Amount: "5.00"},
		Accept:  []hotelstays.OfferField{hotelstays.OfferBoard},
	}))
	// Output:
	// netTotal: 243.5 EUR, was 240 EUR; board: BB, was RO
	// false
	// true
}

// Book ends in an order, in a refusal, or in an unknown outcome, which is to be looked
// for first.
func ExampleClient_Book() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	offer := prepareBooking(ctx, srv, client, "ref-1")

	// Reference and session are stored before this call.
	booked, err := client.Book(ctx, &hotelstays.BookRequest{
		SessionID:           offer.SessionID,
		RatePkgID:           offer.RatePkgID,
		CustomerReferenceNo: "ref-1",
		Holder:              types.Holder{FirstName: "Guest", LastName: "One", Email: "guest@example.com"},
		Guests: []types.Guest{
			{RoomIndex: 1, FirstName: "Guest", LastName: "One"},
			{RoomIndex: 1, FirstName: "Guest", LastName: "Two", PassportNumber: types.NewSecret("X1234567")}, // never printed
		},
		Expect: offer.Expect,
	})
	var unknown *hotelstays.OutcomeUnknownError
	switch {
	case errors.As(err, &unknown):
		fmt.Println("may be booked: ask QueryOrders for", unknown.CustomerReferenceNo)
	case err != nil:
		fmt.Println("not booked:", err)
	default:
		order := booked.HotelOrder
		fmt.Println(order.PlatformReferenceNo, "status", order.Status, order.NetRate)
	}
	// Output: PO000000001 status 1 247.51 USD
}

// The price moved after CheckAvail: nothing was booked, and the offer is checked again.
func ExampleClient_Book_rateChanged() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")
	srv.MoveRate(booking.RatePkgID, 2)

	_, err := client.Book(ctx, booking)
	if !errors.Is(err, hotelstays.ErrRateChanged) {
		fmt.Println("unexpected:", err)
		return
	}
	check, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: booking.SessionID, RatePkgID: booking.RatePkgID})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ask the traveller:", check.RoomRatePkg.TotalRate.NetRate, "instead of", booking.Expect.TotalRate.NetRate)
	booking.RatePkgID, booking.Expect = check.RoomRatePkg.RatePkgID, check.RoomRatePkg
	booked, err := client.Book(ctx, booking) // the same reference: the refused Book made no order
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("booked for", booked.HotelOrder.NetRate)
	// Output:
	// ask the traveller: 252.46 USD instead of 247.51 USD
	// booked for 252.46 USD
}

// A reference that was used before returns the order that it made. Expect makes that an
// error when the order is of another stay.
func ExampleReferenceReusedError() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	if _, err := client.Book(ctx, prepareBooking(ctx, srv, client, "ref-1")); err != nil {
		fmt.Println(err)
		return
	}

	other := prepareBooking(ctx, srv, client, "ref-1")
	longer := *other.Expect
	longer.CheckOut = "2040-03-20" // what the traveller wants now
	other.Expect = &longer
	_, err := client.Book(ctx, other)
	var reused *hotelstays.ReferenceReusedError
	if errors.As(err, &reused) {
		fmt.Println("the reference has order", reused.Order.PlatformReferenceNo, "already")
	}
	fmt.Println("orders:", len(srv.Ledger().Orders()))
	// Output:
	// the reference has order PO000000001 already
	// orders: 1
}

// What the order says otherwise than the offer is no error. A seller who promised the
// offer's terms looks at it.
func ExampleCompareOrder() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	req := prepareBooking(ctx, srv, client, "ref-1")
	booked, err := client.Book(ctx, req)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hotelstays.CompareOrder(req.Expect, booked.HotelOrder))

	promised := *req.Expect
	promised.TotalRate.NetRate.Amount = "240.00"
	fmt.Println(hotelstays.CompareOrder(&promised, booked.HotelOrder))
	// Output:
	// no change
	// netTotal: 247.51 USD, was 240 USD
}

// The same guests in the same room of the same stay, under another reference: the
// service takes it for a mistake.
func ExampleClient_Book_duplicate() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	bookRoom(ctx, srv, client, "ref-1")

	_, err := client.Book(ctx, prepareBooking(ctx, srv, client, "ref-2"))
	fmt.Println("a duplicate:", errors.Is(err, hotelstays.ErrDuplicateBooking))
	fmt.Println("orders:", len(srv.Ledger().Orders()))
	// Output:
	// a duplicate: true
	// orders: 1
}

// Booked, but the connection broke before the answer came: the error names the
// reference, and is no refusal.
func ExampleOutcomeUnknownError() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})

	_, err := client.Book(ctx, booking)
	var unknown *hotelstays.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		fmt.Println("unexpected:", err)
		return
	}
	found, err := client.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{unknown.CustomerReferenceNo}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("sent once:", srv.Ledger().Count(hotelstaystest.OpBook) == 1)
	for _, order := range found.Orders {
		fmt.Println("and booked:", order.PlatformReferenceNo)
	}
	// Output:
	// sent once: true
	// and booked: PO000000001
}
