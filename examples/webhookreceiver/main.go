// Webhookreceiver books a hotel with a callback, receives the order's webhooks, and prints them.
//
//	go run ./examples/webhookreceiver
//
// The program runs a sandbox, which confirms the order after a second, amends the order, and delivers one event twice.
// Then the program cancels the order. The deliveries are signed, and each event is handled once. After a webhook the
// program reads the order immediately.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unexpected argument %q: this program takes no arguments\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "stopped:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{ConfirmAfter: time.Second})
	defer srv.Close()
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()

	events := make(chan *hotelstays.WebhookEvent, 16)
	var hub hotelstays.WakeHub
	handler, err := hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{
		Secrets: []types.Secret{types.NewSecret(srv.WebhookSecret)},
		OnError: func(_ *http.Request, err error) { fmt.Fprintln(os.Stderr, "rejected or failed:", err) },
	}, func(_ context.Context, e *hotelstays.WebhookEvent) error {
		events <- e // a real handler stores the event
		hub.Wake(e.CustomerReferenceNo)
		return nil
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	http.Handle("/hotel-events", handler)
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second}
	defer server.Close()
	go server.Serve(listener)
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpWebhook, Kind: hotelstaystest.FaultDuplicate})

	req, err := findOffer(ctx, client, srv.CityName(0))
	if err != nil {
		return err
	}
	req.CallbackURL = "http://" + listener.Addr().String() + "/hotel-events"
	wakeup, stopWatching := hub.Watch(req.CustomerReferenceNo)
	defer stopWatching()
	booked, err := client.Book(ctx, req)
	if err != nil {
		return err
	}
	fmt.Println("booked    ", booked.HotelOrder.PlatformReferenceNo, "status", booked.HotelOrder.Status)

	start := time.Now()
	order, err := client.AwaitOrder(ctx, req.CustomerReferenceNo, hotelstays.WithWakeup(wakeup))
	if err != nil {
		return err
	}
	fmt.Printf("decided    status %d, known after %s because of a webhook\n", order.Status, time.Since(start).Round(100*time.Millisecond))

	srv.AmendOrder(req.CustomerReferenceNo)
	if _, err := client.Cancel(ctx, &hotelstays.CancelRequest{SessionID: req.SessionID, CustomerReferenceNo: req.CustomerReferenceNo,
		SupplierReferenceNo: order.SupplierReferenceNo, Reason: "plans changed"}); err != nil {
		return err
	}
	return show(ctx, events)
}

// show prints the events until the order is cancelled.
func show(ctx context.Context, events <-chan *hotelstays.WebhookEvent) error {
	for {
		select {
		case e := <-events:
			fmt.Printf("event      %-16s at %s  %s\n", e.Kind, e.Time().Format("15:04:05.000"), e.HotelConfirmNo)
			if e.Kind == types.EventOrderCancelled {
				return nil
			}
		case <-time.After(10 * time.Second):
			return errors.New("no event for ten seconds")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// findOffer returns a request that books the city's first offer.
func findOffer(ctx context.Context, client *hotelstays.Client, city string) (*hotelstays.BookRequest, error) {
	list, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
		DestinationName: city,
		CheckIn:         types.DateOf(time.Now().AddDate(0, 2, 0)),
		CheckOut:        types.DateOf(time.Now().AddDate(0, 2, 2)),
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
	})
	if err != nil {
		return nil, err
	}
	return &hotelstays.BookRequest{
		SessionID: list.Basic.SessionID, CustomerReferenceNo: uuid.NewString(), RatePkgID: list.List[0].Rooms[0].Rates[0].RatePkgID,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}},
	}, nil
}
