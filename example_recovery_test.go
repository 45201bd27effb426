// Examples of finding out what became of a booking.

package hotelstays_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// The service makes the order, and its answer is lost. The order is found by its
// reference; nothing is booked twice.
func ExampleClient_BookAndRecover() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})

	outcome, err := client.BookAndRecover(ctx, booking)
	if err != nil {
		fmt.Println(err) // refused, or ctx ended: then outcome.Recovery goes on
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
	fmt.Println("Book was sent", srv.Ledger().Count(hotelstaystest.OpBook), "time")
	// Output:
	// booked: PO000000001
	// Book was sent 1 time
}

// What it takes to find a booking again is stored before Book is sent, so that the end
// of the process loses nothing. Whoever reads it finds out what became of the booking:
// this process after an unknown outcome, or another one when this one died.
func ExampleClient_NewBookingRecovery() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")

	stored, err := json.Marshal(client.NewBookingRecovery(booking))
	if err != nil {
		fmt.Println(err)
		return
	}
	// Write stored to the database here. Then:
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
	booked, err := client.Book(ctx, booking)
	var unknown *hotelstays.OutcomeUnknownError
	switch {
	case err == nil:
		fmt.Println("booked", booked.HotelOrder.PlatformReferenceNo)
		return
	case !errors.As(err, &unknown):
		fmt.Println("not booked:", err)
		return
	}
	var recovery hotelstays.BookingRecovery
	if err := json.Unmarshal(stored, &recovery); err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := client.RecoverBooking(ctx, &recovery)
	if err != nil {
		fmt.Println(err)
		return
	}
	switch outcome.State {
	case hotelstays.BookingFound:
		fmt.Println("booked after all:", outcome.Order.PlatformReferenceNo)
	default:
		fmt.Println("the booking is", outcome.State)
	}
	// Output: booked after all: PO000000001
}

// A new process goes on with a recovery that it finds stored.
func ExampleClient_RecoverBooking() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")
	recovery := client.NewBookingRecovery(booking) // read from the database
	recovery.EndedAt = time.Now().Add(-time.Hour)  // and an hour old

	outcome, err := client.RecoverBooking(ctx, recovery)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outcome.State, "after", srv.Ledger().Count(hotelstaystest.OpQueryOrders), "look")
	// Output: absent after 1 look
}

// A job queue takes one step at a time. What is known lies in the database as JSON
// between the steps, and any process of the account can take the next one.
func ExampleClient_StepRecovery() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	booking := prepareBooking(ctx, srv, client, "ref-1")
	stored, err := json.Marshal(client.NewBookingRecovery(booking))
	if err != nil {
		fmt.Println(err)
		return
	}
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 502, Commit: true})
	if _, err := client.Book(ctx, booking); err == nil {
		fmt.Println("the outcome should be unknown")
		return
	}

	// A worker, in a process with a client of its own.
	worker, err := hotelstays.New(srv.URL, sandboxCredential(srv), hotelstays.WithHTTPClient(srv.Client()))
	if err != nil {
		fmt.Println(err)
		return
	}
	var recovery hotelstays.BookingRecovery
	if err := json.Unmarshal(stored, &recovery); err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := worker.StepRecovery(ctx, &recovery)
	if err != nil {
		fmt.Println(err)
		return
	}
	switch outcome.State {
	case hotelstays.BookingOpen:
		fmt.Println("store outcome.Recovery, and come back at", outcome.Recovery.NextPoll)
	case hotelstays.BookingFound:
		fmt.Println("found", outcome.Order.PlatformReferenceNo)
	default:
		fmt.Println(outcome.State, outcome.Err)
	}
	// Output: found PO000000001
}
