// Quickstart finds a hotel, checks an offer, books it, reads the order back, gets its voucher
// and cancels it.
//
//	go run ./examples/quickstart
//
// It runs against a sandbox in this process. With HOTELSTAYS_BASE_URL, HOTELSTAYS_APP_KEY and HOTELSTAYS_APP_SECRET it
// runs against that service. It then books only if HOTELSTAYS_ALLOW_BOOKING=1 is set, because a booking costs money. It
// books only fully refundable offers.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func main() {
	city := flag.String("destination", "", "the `name` of a city")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unexpected argument %q: name the city with -destination\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *city); err != nil {
		fmt.Fprintln(os.Stderr, "\nstopped:", err)
		os.Exit(1)
	}
}

// run makes all calls, from the search to the cancellation.
func run(ctx context.Context, city string) error {
	mayBook := os.Getenv("HOTELSTAYS_ALLOW_BOOKING") == "1"
	if os.Getenv("HOTELSTAYS_BASE_URL")+os.Getenv("HOTELSTAYS_APP_KEY")+os.Getenv("HOTELSTAYS_APP_SECRET") == "" {
		srv := hotelstaystest.NewServer(&hotelstaystest.Config{ConfirmAfter: time.Second, VoucherDelay: time.Second})
		defer srv.Close()
		os.Setenv("HOTELSTAYS_BASE_URL", srv.URL)
		os.Setenv("HOTELSTAYS_APP_KEY", srv.AppKey)
		os.Setenv("HOTELSTAYS_APP_SECRET", srv.AppSecret)
		city, mayBook = cmp.Or(city, srv.CityName(0)), true
		if !slices.ContainsFunc(cities(srv), func(name string) bool { return strings.EqualFold(name, city) }) {
			return fmt.Errorf("the sandbox has no city %q; it has %s and others", city, strings.Join(cities(srv)[:3], ", "))
		}
	}
	if city == "" {
		return errors.New("set -destination to the name of a city")
	}
	fmt.Println("Service:", os.Getenv("HOTELSTAYS_BASE_URL"))
	client, err := hotelstays.NewFromEnv(hotelstays.WithCurrency("EUR"))
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()

	search := &hotelstays.HotelListRequest{
		DestinationName: city,
		CheckIn:         types.DateOf(time.Now().AddDate(0, 2, 0)),
		CheckOut:        types.DateOf(time.Now().AddDate(0, 2, 3)),
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}, MaxRatesPerHotel: 1, SortBy: types.SortPriceAsc,
	}
	step("HotelList: hotels in %s from %s to %s", city, search.CheckIn, search.CheckOut)
	list, err := client.HotelList(ctx, search)
	if err != nil {
		return err
	}
	if len(list.List) == 0 {
		return fmt.Errorf("no hotel was found in %q; check the name of the city", city)
	}
	for _, h := range list.List[:min(3, len(list.List))] {
		show("%s from %s", h.Name, h.MinPrice)
	}
	search.SessionID = list.Basic.SessionID // the offers belong to this session
	for _, hotel := range list.List {
		offer, err := findOffer(ctx, client, search, hotel)
		switch {
		case err != nil:
			return err
		case offer == nil:
			show("no fully refundable offer; trying the next hotel")
		case mayBook:
			return book(ctx, client, search.SessionID, offer)
		default:
			fmt.Println("\nStopping here: booking on a real service costs money. HOTELSTAYS_ALLOW_BOOKING=1 allows it.")
			return nil
		}
	}
	return errors.New("no hotel has a fully refundable offer")
}

func cities(srv *hotelstaystest.Server) (names []string) {
	for i := range srv.CityCount() {
		names = append(names, srv.CityName(i))
	}
	return names
}

// findOffer returns an offer of a hotel, as CheckAvail returned it. It returns nil if no offer can be cancelled free of
// charge for at least 24 more hours.
func findOffer(
	ctx context.Context, client *hotelstays.Client, search *hotelstays.HotelListRequest, hotel types.Hotel,
) (*types.RoomRatePkg, error) {
	step("HotelRates: all offers of %s", hotel.Name)
	rates, err := client.HotelRates(ctx, &hotelstays.HotelRatesRequest{
		SessionID: search.SessionID, HotelID: cmp.Or(hotel.PlatformHotelID, hotel.ID),
		CheckIn: search.CheckIn, CheckOut: search.CheckOut, RoomOccupancies: search.RoomOccupancies,
	})
	if err != nil {
		return nil, err
	}
	for _, room := range rates.Rooms {
		for _, seen := range room.Rates {
			until, err := seen.RefundableUntil.Time()
			if err != nil || time.Until(until) < 24*time.Hour || seen.RefundableMode != types.RefundableFull || seen.IncludesPackaging {
				continue
			}
			show("fully refundable: %s until %s", seen.TotalRate.NetRate, seen.RefundableUntil)

			step("CheckAvail: is it still there, at this price?")
			now, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: search.SessionID, RatePkgID: seen.RatePkgID})
			if err != nil || !now.Available() {
				return nil, err
			}
			// Book only the offer that the traveller saw, or a cheaper offer.
			if diff := hotelstays.CompareOffer(&seen, now.RoomRatePkg); !diff.Within(hotelstays.Tolerance{}) {
				return nil, fmt.Errorf("the offer has changed: %s", diff)
			}
			show("yes, at %s", now.RoomRatePkg.TotalRate.NetRate)
			return now.RoomRatePkg, nil
		}
	}
	return nil, nil
}

// book books the offer, waits for the supplier and the voucher, and cancels the order.
func book(ctx context.Context, client *hotelstays.Client, session string, offer *types.RoomRatePkg) (err error) {
	// The reference is the idempotency key. A real program stores the reference and the session before Book.
	reference := uuid.NewString()
	step("Book: reference %s", reference)
	booked, err := client.Book(ctx, &hotelstays.BookRequest{
		SessionID: session, CustomerReferenceNo: reference, RatePkgID: offer.RatePkgID,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{
			{RoomIndex: 1, FirstName: "Guest", LastName: "One"},
			{RoomIndex: 1, FirstName: "Guest", LastName: "Two"},
		},
		Expect: offer, // Book returns an error if the order has other dates than the offer
	})
	if err != nil {
		return err // an *OutcomeUnknownError names the reference to look for
	}
	number := booked.HotelOrder.PlatformReferenceNo
	show("order %s, %s", number, booked.HotelOrder.NetRate)
	defer func() {
		if err != nil {
			err = fmt.Errorf("order %s is not cancelled (reference %s): %w", number, reference, err)
		}
	}()

	step("AwaitOrder: until the supplier has decided")
	order, err := client.AwaitOrder(ctx, reference)
	if err != nil {
		return err
	}
	show("status %d, hotel confirmation %q", order.Status, order.HotelConfirmNo)

	step("AwaitVoucher, OpenVoucher: until the document is ready and verified")
	ask := &hotelstays.OrderVoucherRequest{PlatformReferenceNo: number}
	voucher, err := client.AwaitVoucher(ctx, ask)
	if err != nil {
		return err
	}
	show("%s", voucher.Status)
	if voucher.Status == types.VoucherGenerated {
		document, err := client.OpenVoucher(ctx, ask) // SaveVoucher would write the document to a file
		if err != nil {
			return err
		}
		defer document.Close()
		size, _ := io.Copy(io.Discard, document)
		show("voucher %s: %d bytes, verified", document.Voucher.VoucherNumber, size)
	}

	step("Cancel")
	cancelled, err := client.Cancel(ctx, &hotelstays.CancelRequest{
		SessionID: session, CustomerReferenceNo: reference, SupplierReferenceNo: order.SupplierReferenceNo, Reason: "plans changed",
	})
	if err != nil {
		return err
	}
	show("the supplier keeps %s", cancelled.ServiceFee)
	return nil
}

func step(format string, args ...any) { fmt.Printf("\n"+format+"\n", args...) }
func show(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }
