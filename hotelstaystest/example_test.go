package hotelstaystest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// Start a server with a configuration, call it over HTTP and read its ledger.
func Example() {
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{Accounts: []hotelstaystest.Account{{AppKey: "key", AppSecret: "secret"}}})
	defer srv.Close()

	resp, err := srv.Client().Post(srv.URL+"/api/auth/ticket", "application/json", strings.NewReader(`{"appKey":"key","appSecret":"secret"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	var answer struct {
		Code int
		Data struct{ Ticket string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.StatusCode, answer.Code, strings.Count(answer.Data.Ticket, "."))
	fmt.Println(srv.Ledger().Count(hotelstays.OpTicket), srv.Ledger().TicketsIssued())
	// Output:
	// 200 0 2
	// 1 1
}

// A fault makes an operation fail. The ledger records on which request the fault has acted.
func ExampleServer_Inject() {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	srv.Inject(hotelstaystest.Fault{
		Operation: hotelstays.OpTicket, Kind: hotelstaystest.FaultStatus, Status: http.StatusTooManyRequests, RetryAfter: "2",
	})

	resp, err := srv.Client().Post(srv.URL+"/api/auth/ticket", "application/json", strings.NewReader(`{}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode, resp.Header.Get("Retry-After"))
	fmt.Println(srv.Ledger().Requests(hotelstays.OpTicket)[0].Fault)
	// Output:
	// 429 2
	// status
}

// Under testing/synctest time is virtual: an hour passes immediately.
func ExampleConfig_inMemory() {
	test := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv := hotelstaystest.NewServer(&hotelstaystest.Config{InMemory: true})
			defer srv.Close()
			srv.Inject(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Hour})
			resp, err := srv.Client().Post(srv.URL+"/api/auth/ticket", "application/json", strings.NewReader(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		})
	}
	_ = test // in your package, test is a Test function
}

// The handler receives the webhooks of an order without a socket. It needs the secret
// before the server exists, so the test chooses the secret.
func ExampleWebhookConfig() {
	events := make(chan types.EventKind, 8)
	receiver, err := hotelstays.NewWebhookHandler(hotelstays.WebhookOptions{Secrets: []types.Secret{types.NewSecret("signing-secret")}},
		func(_ context.Context, event *hotelstays.WebhookEvent) error {
			events <- event.Kind
			return nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{
		Webhooks: hotelstaystest.WebhookConfig{Secret: "signing-secret", CallbackHandler: receiver},
	})
	defer srv.Close()
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		hotelstays.WithHTTPClient(srv.Client()))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	found, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
		DestinationName: srv.CityName(0), CheckIn: "2040-03-12", CheckOut: "2040-03-15", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := client.Book(ctx, &hotelstays.BookRequest{
		SessionID: found.Basic.SessionID, RatePkgID: found.List[0].Rooms[0].Rates[0].RatePkgID, CustomerReferenceNo: "ref-1",
		Holder:      types.Holder{FirstName: "Guest", LastName: "One"},
		Guests:      []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}},
		CallbackURL: "https://hooks.example.com/hotel-events",
	}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-events)
	srv.ConfirmOrder("ref-1")
	fmt.Println(<-events)
	// Output:
	// order_created
	// order_paid
}

// Test a receiver with your own deliveries.
func ExampleNewWebhookRequest() {
	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(r.Header.Get("X-Platform-Signature") == hotelstaystest.SignWebhook("secret", time.Unix(1_700_000_000, 0), body))
	})
	body := []byte(`{"customerReferenceNo":"ref-1","hotelConfirmNo":"","event":"order_created","eventTime":1700000000000}`)
	req := hotelstaystest.NewWebhookRequest("https://hooks.example.com/orders", "secret", time.Unix(1_700_000_000, 0), "evt_1", body)
	receiver.ServeHTTP(nil, req)
	// Output: true
}

// Drive the sandbox as a program in any language does: over HTTP.
func ExampleControlConfig() {
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{Control: hotelstaystest.ControlConfig{Enabled: true}})
	defer srv.Close()

	post := func(path, body string) {
		resp, err := srv.Client().Post(srv.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		fmt.Printf("%d %s %v\n", resp.StatusCode, text, err)
	}
	post("/_sandbox/faults", `{"operation":"Book","kind":"cut","commit":true}`)
	post("/_sandbox/faults", `{"operation":"Book","kind":"cut","delay":"soon"}`)
	post("/_sandbox/reset", "")
	// Output:
	// 200 {"id":1,"operation":"Book","kind":"cut","times":1,"commit":true} <nil>
	// 400 {"error":{"field":"delay","message":"delay: time: invalid duration \"soon\""}} <nil>
	// 204  <nil>
}
