// Examples of webhooks: events of orders.

package hotelstays_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The body of a delivery, as the service posts it.
var eventBody = []byte(`{"customerReferenceNo":"ref-1","hotelConfirmNo":"HC-1","event":"order_modified","eventTime":1700000000000}`)

// A handler answers a duplicate without calling the function again.
func ExampleNewWebhookHandler() {
	handler, err := hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{
		Secrets: []types.Secret{types.NewSecret("signing-secret")}, // the signing secret, which is not the appSecret
		OnError: func(_ *http.Request, err error) { fmt.Println("rejected:", hotelstays.KindOf(err)) },
	}, func(_ context.Context, event *hotelstays.WebhookEvent) error {
		fmt.Println(event.Kind, event.CustomerReferenceNo, event.HotelConfirmNo)
		return nil // nil: the event is handled; after an error the service delivers the event again
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /hotel-events", handler)

	deliver := func(secret string) int {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, hotelstaystest.NewWebhookRequest("https://hooks.example.com/hotel-events", secret, time.Now(), "evt-1", eventBody))
		return answer.Code
	}
	fmt.Println(deliver("signing-secret"))
	fmt.Println(deliver("signing-secret")) // a duplicate
	fmt.Println(deliver("another secret"))
	// Output:
	// order_modified ref-1 HC-1
	// 200
	// 200
	// rejected: webhook
	// 401
}

// With Watch, AwaitOrder polls immediately when an event of the order comes. Call Watch before Book, so that AwaitOrder
// misses no event.
func ExampleWakeHub_Watch() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()
	var hub hotelstays.WakeHub // one hub for the whole process

	wakeup, stop := hub.Watch("ref-1")
	defer stop()
	bookRoom(ctx, srv, client, "ref-1")
	go func() {
		srv.ConfirmOrder("ref-1")
		hub.Wake("ref-1") // in your service, the webhook handler calls Wake
	}()
	order, err := client.AwaitOrder(ctx, "ref-1", hotelstays.WithWakeup(wakeup))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("confirmed:", order.HotelConfirmNo)
	// Output: confirmed: HC-000000001
}

// VerifyWebhook serves receivers that are not an http.Handler, such as a queue behind a gateway. Pass the raw
// body. VerifyWebhook does not detect duplicates: compare the keys of two events, because duplicates have a key in common.
func ExampleVerifyWebhook() {
	delivery := hotelstaystest.NewWebhookRequest("https://hooks.example.com/", "old-secret", time.Now(), "evt-1", eventBody)

	event, err := hotelstays.VerifyWebhook(eventBody, delivery.Header, hotelstays.VerifyWebhookOptions{
		Secrets: []types.Secret{types.NewSecret("new-secret"), types.NewSecret("old-secret")}, // during a rotation both secrets are valid
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(event.Signed, event.ID, event.Kind, event.Time().UTC().Format(time.RFC3339), len(event.Keys()), "keys")

	changed := append([]byte(nil), eventBody...)
	changed[len(changed)-2] = '1'
	_, err = hotelstays.VerifyWebhook(changed, delivery.Header,
		hotelstays.VerifyWebhookOptions{Secrets: []types.Secret{types.NewSecret("old-secret")}})
	fmt.Println("altered:", errors.Is(err, hotelstays.ErrWebhookSignature))
	// Output:
	// true evt-1 order_modified 2023-11-14T22:13:20Z 2 keys
	// altered: true
}

// Check a callback URL when it is configured, before the first booking.
func ExampleValidateCallbackURL() {
	for _, address := range []string{
		"https://hooks.example.com/hotel-events",
		"http://hooks.example.com/hotel-events",
		"https://10.0.0.7/hotel-events",
	} {
		fmt.Println(hotelstays.ValidateCallbackURL(address))
	}
	// Output:
	// <nil>
	// hotelstays: ValidateCallbackURL: callbackUrl: must be https
	// hotelstays: ValidateCallbackURL: callbackUrl: its host is not a public address
}
