// Examples of orders: reading, awaiting and cancelling them.

package hotelstays_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// FindOrder reads one order. An *OrderNotFoundError means that the answer was complete, and that
// there is no such order.
func ExampleClient_FindOrder() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	bookRoom(ctx, srv, client, "ref-1")

	for _, reference := range []string{"ref-1", "ref-2"} {
		order, err := client.FindOrder(ctx, reference)
		var absent *hotelstays.OrderNotFoundError
		switch {
		case errors.As(err, &absent):
			fmt.Println("there is no order", absent.CustomerReferenceNo)
		case err != nil:
			fmt.Println("unknown:", err)
		default:
			fmt.Println(order.CustomerReferenceNo, "is", order.PlatformReferenceNo)
		}
	}
	// Output:
	// ref-1 is PO000000001
	// there is no order ref-2
}

// Complete says whether the list is complete. Only a complete list without an order proves that the order does not exist.
func ExampleQueryOrdersResponse_Complete() {
	srv, client := startSandbox(hotelstaystest.Config{})
	defer srv.Close()
	resp, err := client.QueryOrders(context.Background(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-1"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(resp.Orders), resp.Complete())
	// Output: 0 true
}

// AwaitOrder polls until the status of the order is final. With a WakeHub, a webhook makes AwaitOrder poll immediately.
func ExampleClient_AwaitOrder() {
	ctx := context.Background()
	srv, client := startSandbox(hotelstaystest.Config{ConfirmAfter: hotelstaystest.AtOnce})
	defer srv.Close()
	bookRoom(ctx, srv, client, "ref-1")

	order, err := client.AwaitOrder(ctx, "ref-1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("decided, the hotel's number is", order.HotelConfirmNo)
	// Output: decided, the hotel's number is HC-000000001
}

// You may know facts that the document leaves open, such as the numbers of confirmed and cancelled orders. Keep them in
// a file.
func ExampleWithServiceFacts() {
	ctx := context.Background()
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{Variants: hotelstaystest.Variants{
		OrderStatusNumbers: hotelstaystest.OrderStatusNumbers{Confirmed: 2, Pending: 4, Cancelled: 3},
	}})
	defer srv.Close()
	file := `{"statusMeanings": {"confirmed": [2], "pending": [4], "cancelled": [3]}, "refusalCodes": {"Book": [100001200]}}`
	var facts hotelstays.ServiceFacts
	if err := json.Unmarshal([]byte(file), &facts); err != nil {
		log.Fatal(err)
	}
	client := clientOf(srv, hotelstays.WithServiceFacts(facts))
	session, order := bookRoom(ctx, srv, client, "ref-1")

	outcome, err := client.CancelAndRead(ctx, &hotelstays.CancelRequest{
		SessionID: session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: order.SupplierReferenceNo,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the order is", outcome.State, "as an order in status 3 is", client.StatusMeanings().StateOf(3))
	if outcome.Response != nil { // Response is nil if the answer to Cancel was lost
		fmt.Println("the supplier keeps", outcome.Response.ServiceFee)
	}
	// Output:
	// the order is cancelled as an order in status 3 is cancelled
	// the supplier keeps 0.00 USD
}

// Cancel needs the session in which the order was booked.
func ExampleClient_Cancel() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	session, order := bookRoom(ctx, srv, client, "ref-1") // store the session and the order

	cancelled, err := client.Cancel(ctx, &hotelstays.CancelRequest{
		SessionID:           session,
		CustomerReferenceNo: order.CustomerReferenceNo,
		SupplierReferenceNo: order.SupplierReferenceNo,
		Reason:              "plans changed",
	})
	var unknown *hotelstays.OutcomeUnknownError
	switch {
	case errors.As(err, &unknown):
		fmt.Println("may be cancelled: read it back")
	case errors.Is(err, hotelstays.ErrCancelRefused):
		fmt.Println("cannot be cancelled online:", err)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println("cancelled, the supplier keeps", cancelled.ServiceFee)
	}
	// Output: cancelled, the supplier keeps 0.00 USD
}

// Here the answer to Cancel is lost, so CancelAndRead reads the order. The client knows only from WithServiceFacts whether
// the order's status means cancelled.
func ExampleClient_CancelAndRead() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	session, order := bookRoom(ctx, srv, client, "ref-1")
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpCancel, Kind: hotelstaystest.FaultCut, Commit: true})

	outcome, err := client.CancelAndRead(ctx, &hotelstays.CancelRequest{
		SessionID: session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: order.SupplierReferenceNo,
	})
	var unknown *hotelstays.OutcomeUnknownError
	switch {
	case errors.As(err, &unknown) && outcome.Order != nil:
		fmt.Println("unknown, read back with status", outcome.Order.Status)
	case errors.As(err, &unknown):
		fmt.Println("unknown, and not read back: ask again later")
	case err != nil:
		fmt.Println("refused:", err)
	default:
		fmt.Println("the order is", outcome.State)
	}
	// Output: unknown, read back with status 3
}
