// Examples of booking: checking an offer, comparing it, booking it, and finding out the outcome.

package hotelstays_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/shopspring/decimal"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// CheckAvail returns the current price and availability of an offer. Call it immediately before Book.
func ExampleClient_CheckAvail() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")

	check, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: booking.SessionID, RatePkgID: booking.RatePkgID})
	if err != nil {
		log.Fatal(err)
	}
	if !check.Available() {
		fmt.Println("no longer available")
		return
	}
	fmt.Println("now", check.RoomRatePkg.TotalRate.NetRate, "until", check.RoomRatePkg.RefundableUntil, "for free")
	// Output: now 247.51 USD until 2040-03-09T18:00:00Z for free
}

// Compare what the traveller saw with the offer that CheckAvail returns.
func ExampleCompareOffer() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")
	seen := booking.Expect
	srv.MoveRate(seen.RatePkgID, 2) // the price rises by two percent

	check, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: booking.SessionID, RatePkgID: booking.RatePkgID})
	if err != nil {
		log.Fatal(err)
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

// A Tolerance says how much more an offer may cost, and which other parts may differ, before the traveller is asked
// again. A lower price is always accepted.
func ExampleOfferDiff_Within() {
	seen := &types.RoomRatePkg{
		TotalRate: types.Rate{NetRate: types.Money{Currency: "EUR", Amount: "240.00"}},
		Board:     &types.Board{BoardID: types.BoardRO},
	}
	now := &types.RoomRatePkg{
		TotalRate: types.Rate{NetRate: types.Money{Currency: "EUR", Amount: "243.50"}},
		Board:     &types.Board{BoardID: types.BoardBB}, // breakfast is now included
	}
	diff := hotelstays.CompareOffer(seen, now)
	fmt.Println(diff)
	fmt.Println(diff.Within(hotelstays.Tolerance{}))
	fmt.Println(diff.Within(hotelstays.Tolerance{
		NetRisePercent: decimal.NewFromInt(2),
		NetRise:        types.Money{Currency: "EUR", Amount: "5.00"}, // the rise is at most this amount
		Accept:         []types.OfferField{types.OfferBoard},
	}))
	// Output:
	// netTotal: 243.50 EUR, was 240.00 EUR; board: BB, was RO
	// false
	// true
}

// ValidateBook checks a booking that you store now and send later.
func ExampleClient_ValidateBook() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")
	booking.Guests[0].LastName = ""

	err := client.ValidateBook(booking)
	if invalid, ok := errors.AsType[*hotelstays.ValidationError](err); ok {
		for _, f := range invalid.Fields {
			fmt.Println(f.Path, f.Problem)
		}
	}
	// Output: guests[0].lastName is required
}

// Book ends with an order, a refusal or an unknown outcome. Check for the unknown outcome first.
func ExampleClient_Book() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	offer := prepareBooking(ctx, srv, client, "ref-1")

	// Store the reference and the session before this call.
	booked, err := client.Book(ctx, &hotelstays.BookRequest{
		SessionID:           offer.SessionID,
		RatePkgID:           offer.RatePkgID,
		CustomerReferenceNo: "ref-1",
		Holder:              types.Holder{FirstName: "Guest", LastName: "One", Email: "guest@example.com"},
		Guests: []types.Guest{
			{RoomIndex: 1, FirstName: "Guest", LastName: "One"},
			{RoomIndex: 1, FirstName: "Guest", LastName: "Two", PassportNumber: types.NewSecret("X1234567")}, // a log never shows the number
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

// An order that differs from its offer is not an error. If you have promised the offer's terms, compare the order
// with the offer.
func ExampleCompareOrder() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	req := prepareBooking(ctx, srv, client, "ref-1")
	booked, err := client.Book(ctx, req)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(hotelstays.CompareOrder(req.Expect, booked.HotelOrder))

	promised := *req.Expect
	promised.TotalRate.NetRate.Amount = "240.00"
	fmt.Println(hotelstays.CompareOrder(&promised, booked.HotelOrder))
	// Output:
	// no change
	// netTotal: 247.51 USD, was 240.00 USD
}

// Here the service makes the order, but the answer to Book is lost. BookAndRecover finds the order by its reference, and
// does not send Book again.
func ExampleClient_BookAndRecover() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})

	outcome, err := client.BookAndRecover(ctx, booking)
	if err != nil {
		fmt.Println(err) // Book was refused, or ctx ended; after the end of ctx continue with outcome.Recovery
		return
	}
	switch outcome.State {
	case hotelstays.BookingFound:
		fmt.Println("booked:", outcome.Order.PlatformReferenceNo)
	case hotelstays.BookingAbsent:
		fmt.Println("not booked: check the offer, then book again under the same reference")
	default:
		fmt.Println("not known: keep asking, do not book again")
	}
	fmt.Println("Book was sent", srv.Ledger().Count(hotelstays.OpBook), "time")
	// Output:
	// booked: PO000000001
	// Book was sent 1 time
}

// Here the service makes the order, but the answer to Book is lost. RecoverBooking finds the order with the stored recovery,
// also in a new process.
func ExampleClient_RecoverBooking() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")
	recovery := client.NewBookingRecovery(booking) // store the recovery before Book
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
	_, err := client.Book(ctx, booking)
	var unknown *hotelstays.OutcomeUnknownError
	if !errors.As(err, &unknown) {
		fmt.Println("unexpected:", err)
		return
	}

	outcome, err := client.RecoverBooking(ctx, recovery)
	if err != nil {
		log.Fatal(err)
	}
	if outcome.State == hotelstays.BookingFound {
		fmt.Println("booked after all:", outcome.Order.PlatformReferenceNo)
	}
	// Output: booked after all: PO000000001
}

// StepRecovery makes one poll, for example in a job queue. Between the polls you store the recovery as JSON. Any process
// of the account can make the next poll.
func ExampleClient_StepRecovery() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	recovery := client.NewBookingRecovery(prepareBooking(ctx, srv, client, "ref-1"))
	recovery.EndedAt = time.Now().Add(-time.Hour) // as if the process had died an hour ago, before it sent Book

	outcome, err := client.StepRecovery(ctx, recovery)
	if err != nil {
		log.Fatal(err)
	}
	switch outcome.State {
	case hotelstays.BookingOpen, hotelstays.BookingUnverified:
		fmt.Println("store outcome.Recovery, and continue at", outcome.Recovery.NextPoll)
	case hotelstays.BookingFound:
		fmt.Println("found", outcome.Order.PlatformReferenceNo)
	case hotelstays.BookingAbsent:
		fmt.Println("not booked: check the offer, then book again under the same reference")
	}
	// Output: not booked: check the offer, then book again under the same reference
}

// The stay of the examples is far in the future, so that it can be booked and cancelled.
const (
	arrival   types.Date = "2040-03-12"
	departure types.Date = "2040-03-15"
)

// startSandbox returns a sandbox and a client of it. Closing the sandbox closes the
// client's connections, too.
func startSandbox(config ...hotelstaystest.Config) (*hotelstaystest.Server, *hotelstays.Client) {
	srv := hotelstaystest.NewServer(&append(config, hotelstaystest.Config{})[0])
	return srv, clientOf(srv)
}

// clientOf returns a client of a sandbox's first account.
func clientOf(srv *hotelstaystest.Server, opts ...hotelstays.Option) *hotelstays.Client {
	client, err := hotelstays.New(srv.URL, ticketOf(srv), append(opts, hotelstays.WithHTTPClient(srv.Client()))...)
	if err != nil {
		panic(err)
	}
	return client
}

// prepareBooking returns a request that books a fully refundable offer of the cheapest hotel in the sandbox's first city.
func prepareBooking(ctx context.Context, srv *hotelstaystest.Server, client *hotelstays.Client, reference string) *hotelstays.BookRequest {
	found, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
		DestinationID: srv.CityID(0), CheckIn: arrival, CheckOut: departure,
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}, SortBy: types.SortPriceAsc,
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

// bookRoom books the offer of prepareBooking, and returns the order with its session, which Cancel needs.
func bookRoom(ctx context.Context, srv *hotelstaystest.Server, client *hotelstays.Client, reference string) (session string,
	order *types.Order) {
	req := prepareBooking(ctx, srv, client, reference)
	booked, err := client.Book(ctx, req)
	if err != nil {
		panic(err)
	}
	return req.SessionID, booked.HotelOrder
}
