// Quickstart finds a hotel, checks an offer, books it, reads the order back, gets its voucher
// and cancels it.
//
//	go run ./examples/quickstart
//
// It runs against a sandbox in this process. With HOTELSTAYS_BASE_URL, HOTELSTAYS_APP_KEY and
// HOTELSTAYS_APP_SECRET it runs against that service. Then it stops before booking, which costs
// money, unless HOTELSTAYS_ALLOW_BOOKING=1 is set. It books only fully refundable offers.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func main() {
	destination := flag.String("destination", "", "the `name` of a city")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unexpected argument %q: name the city with -destination\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *destination); err != nil {
		fmt.Fprintln(os.Stderr, "\nstopped:", err)
		os.Exit(1)
	}
}

type service struct {
	client      *hotelstays.Client
	destination string
	mayBook     bool
}

func run(ctx context.Context, destination string) error {
	svc, closeSandbox, err := findService(destination)
	if err != nil {
		return err
	}
	defer closeSandbox()

	defer svc.client.CloseIdleConnections()

	session, offer, err := findOffer(ctx, svc.client, svc.destination)
	if err != nil {
		return err
	}
	if !svc.mayBook {
		fmt.Println("\nStopping here: booking on a real service costs money. HOTELSTAYS_ALLOW_BOOKING=1 allows it.")
		return nil
	}
	return bookAndCancel(ctx, svc.client, session, offer)
}

// findOffer searches, lists the rates of one hotel and checks one of them.
func findOffer(ctx context.Context, client *hotelstays.Client, destination string) (session string, offer *types.RoomRatePkg, err error) {
	checkIn := types.DateOf(time.Now().AddDate(0, 2, 0))
	checkOut := types.DateOf(time.Now().AddDate(0, 2, 3))
	rooms := []types.GuestPerRoom{{AdultCount: 2}}

	step("HotelList: hotels in %s from %s to %s", destination, checkIn, checkOut)
	list, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
		DestinationName: destination, CheckIn: checkIn, CheckOut: checkOut,
		RoomOccupancies: rooms, MaxRatesPerHotel: 1, SortBy: types.SortPriceAsc,
	})
	if err != nil {
		return "", nil, err
	}
	if len(list.List) == 0 {
		return "", nil, fmt.Errorf("no hotel found in %q: %s", destination, list.Basic.StatusRemark)
	}
	for _, h := range list.List[:min(3, len(list.List))] {
		show("%s from %s", h.Name, h.MinPrice)
	}
	session = list.Basic.SessionID // the offers belong to this session

	for _, hotel := range list.List {
		step("HotelRates: every offer of %s", hotel.Name)
		rates, err := client.HotelRates(ctx, &hotelstays.HotelRatesRequest{
			SessionID: session, HotelID: cmp.Or(hotel.PlatformHotelID, hotel.ID),
			CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: rooms,
		})
		if err != nil {
			return "", nil, err
		}
		seen := fullyRefundable(rates.Rooms)
		if seen == nil {
			show("no offer is fully refundable; on to the next hotel")
			continue
		}
		show("fully refundable: %s until %s", seen.TotalRate.NetRate, seen.RefundableUntil)

		step("CheckAvail: is it still there, at this price?")
		check, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: session, RatePkgID: seen.RatePkgID})
		if err != nil {
			return "", nil, err
		}
		if !check.Available() {
			show("it is gone; on to the next hotel")
			continue
		}
		// Book what the traveller saw, or something cheaper.
		if diff := hotelstays.CompareOffer(seen, check.RoomRatePkg); !diff.Within(hotelstays.Tolerance{}) {
			return "", nil, fmt.Errorf("the offer has changed: %s", diff)
		}
		show("yes, at %s", check.RoomRatePkg.TotalRate.NetRate)
		return session, check.RoomRatePkg, nil
	}
	return "", nil, errors.New("no hotel has a fully refundable offer")
}

// fullyRefundable returns the first offer that can be cancelled free of charge for another day.
func fullyRefundable(rooms []types.Room) *types.RoomRatePkg {
	for _, room := range rooms {
		for i, rate := range room.Rates {
			until, err := rate.RefundableUntil.Time()
			safe := err == nil && time.Until(until) > 24*time.Hour
			if rate.RefundableMode == types.RefundableFull && safe && !rate.IncludesPackaging {
				return &room.Rates[i]
			}
		}
	}
	return nil
}

// bookAndCancel books the offer, follows the order and cancels it.
func bookAndCancel(ctx context.Context, client *hotelstays.Client, session string, offer *types.RoomRatePkg) error {
	// The reference is the idempotency key. Store it and the session before Book.
	reference := uuid.NewString()
	step("Book: reference %s", reference)
	booked, err := client.Book(ctx, &hotelstays.BookRequest{
		SessionID: session, CustomerReferenceNo: reference, RatePkgID: offer.RatePkgID,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{
			{RoomIndex: 1, FirstName: "Guest", LastName: "One"},
			{RoomIndex: 1, FirstName: "Guest", LastName: "Two"},
		},
		Expect: offer, // an order of other dates is an error
	})
	if err != nil {
		return err // an *OutcomeUnknownError says which reference to look for
	}
	show("order %s, %s", booked.HotelOrder.PlatformReferenceNo, booked.HotelOrder.NetRate)

	if err := followAndCancel(ctx, client, session, reference); err != nil {
		return fmt.Errorf("order %s stays booked under reference %s: %w", booked.HotelOrder.PlatformReferenceNo, reference, err)
	}
	return nil
}

// followAndCancel waits for the supplier and the voucher, then cancels.
func followAndCancel(ctx context.Context, client *hotelstays.Client, session, reference string) error {
	step("AwaitOrder: until the supplier has decided")
	order, err := client.AwaitOrder(ctx, reference)
	if err != nil {
		return err
	}
	show("status %d, hotel confirmation %q", order.Status, order.HotelConfirmNo)

	step("AwaitVoucher, SaveVoucher: until the document is ready and saved")
	ask := &hotelstays.OrderVoucherRequest{PlatformReferenceNo: order.PlatformReferenceNo}
	voucher, err := client.AwaitVoucher(ctx, ask)
	if err != nil {
		return err
	}
	show("%s", voucher.Status)
	if voucher.Status == types.VoucherGenerated {
		dir, err := os.MkdirTemp("", "quickstart")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) // nothing is left behind
		saved, err := client.SaveVoucher(ctx, ask, filepath.Join(dir, "voucher.pdf"))
		if err != nil {
			return err
		}
		show("voucher %s: %d bytes, verified", saved.VoucherNumber, saved.ByteSize)
	}

	step("Cancel")
	cancelled, err := client.Cancel(ctx, &hotelstays.CancelRequest{
		SessionID: session, CustomerReferenceNo: reference,
		SupplierReferenceNo: order.SupplierReferenceNo, Reason: "plans changed",
	})
	if err != nil {
		return err
	}
	show("the supplier keeps %s", cancelled.ServiceFee)
	return nil
}

// findService returns the service of the environment, or starts a sandbox.
func findService(destination string) (svc *service, closeSandbox func(), err error) {
	currency := hotelstays.WithCurrency("EUR")
	if base := os.Getenv("HOTELSTAYS_BASE_URL"); base != "" {
		if destination == "" {
			return nil, nil, errors.New("set -destination to the name of a city")
		}
		fmt.Println("Service:", base)
		client, err := hotelstays.NewFromEnv(currency)
		return &service{client, destination, os.Getenv("HOTELSTAYS_ALLOW_BOOKING") == "1"}, func() {}, err
	}
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{ConfirmAfter: time.Second, VoucherDelay: time.Second})
	fmt.Println("Sandbox:", srv.URL)
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)}, currency)
	return &service{client, cmp.Or(destination, srv.CityName(0)), true}, srv.Close, err
}

func step(format string, args ...any) { fmt.Printf("\n"+format+"\n", args...) }
func show(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }
