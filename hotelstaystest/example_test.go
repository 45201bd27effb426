// Examples of the sandbox: a server, a fault, no sockets, and a delivery of one's own.

package hotelstaystest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// A server is started with options, used over HTTP, and tells afterwards what it did.
func Example() {
	srv := hotelstaystest.NewServer(hotelstaystest.WithCredentials("key", "secret"))
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
	fmt.Println(srv.Ledger().Count(hotelstaystest.OpTicket), srv.Ledger().TicketsIssued())
	// Output:
	// 200 0 2
	// 1 1
}

// A fault makes an operation fail in a chosen way; the ledger shows which request met
// it.
func ExampleServer_Inject() {
	srv := hotelstaystest.NewServer()
	defer srv.Close()
	srv.Inject(hotelstaystest.Fault{
		Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultStatus, Status: http.StatusTooManyRequests, RetryAfter: "2",
	})

	resp, err := srv.Client().Post(srv.URL+"/api/auth/ticket", "application/json", strings.NewReader(`{}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode, resp.Header.Get("Retry-After"))
	fmt.Println(srv.Ledger().Requests(hotelstaystest.OpTicket)[0].Fault)
	// Output:
	// 429 2
	// status
}

// Under testing/synctest the server is in memory and time is virtual: an hour passes
// at once.
func ExampleInMemory() {
	test := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv := hotelstaystest.NewServer(hotelstaystest.InMemory())
			defer srv.Close()
			srv.Inject(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Hour})
			resp, err := srv.Client().Post(srv.URL+"/api/auth/ticket", "application/json", strings.NewReader(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		})
	}
	_ = test // a test function of its own
}

// A receiver is tested with deliveries that are made for it.
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
