// Examples of settings: of a client, of one call, and of both.

package hotelstays_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// A change of the transport begins with the tuned one, and is given by WithHTTPClient.
// Here it trusts a certificate that the machine does not know.
func ExampleNewTransport() {
	srv := hotelstaystest.NewServer(hotelstaystest.WithTLS())
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())

	transport := hotelstays.NewTransport()
	transport.TLSClientConfig.RootCAs = roots
	client, err := hotelstays.New(srv.URL, sandboxCredential(srv), hotelstays.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.CloseIdleConnections()
	resp, err := client.Destinations(context.Background(), &hotelstays.DestinationsRequest{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Meta.HTTPStatus, srv.Ledger().Requests(hotelstaystest.OpDestinations)[0].Proto)
	// Output: 200 HTTP/2.0
}

// A setting of one call wins over the client's. Here it is the currency.
func ExampleSharedOption() {
	ctx := context.Background()
	srv := hotelstaystest.NewServer()
	defer srv.Close()
	client, err := hotelstays.New(srv.URL, sandboxCredential(srv), hotelstays.WithHTTPClient(srv.Client()), hotelstays.WithCurrency("EUR"))
	if err != nil {
		fmt.Println(err)
		return
	}
	search := &hotelstays.HotelListRequest{
		DestinationID: srv.CityID(0), CheckIn: arrival, CheckOut: departure,
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}, PageSize: 1, MaxRatesPerHotel: 1,
	}
	for _, opts := range [][]hotelstays.CallOption{nil, {hotelstays.WithCurrency("KWD")}} {
		found, err := client.HotelList(ctx, search, opts...)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, hotel := range found.List {
			fmt.Println(hotel.MinPrice)
		}
	}
	// Output:
	// 763.75 EUR
	// 254.984 KWD
}

// An account with a market restriction refuses calls without a market, and one with
// named users calls without a user.
func ExampleWithMarket() {
	srv := hotelstaystest.NewServer(hotelstaystest.WithMarkets("AE"))
	defer srv.Close()
	for _, opts := range [][]hotelstays.Option{nil, {hotelstays.WithMarket("AE"), hotelstays.WithUserRef("agent-7")}} {
		client, err := hotelstays.New(srv.URL, sandboxCredential(srv), append(opts, hotelstays.WithHTTPClient(srv.Client()))...)
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = client.QueryOrders(context.Background(), &hotelstays.QueryOrdersRequest{})
		fmt.Println("refused:", errors.Is(err, hotelstays.ErrForbidden))
	}
	// Output:
	// refused: true
	// refused: false
}

// WithTimeout bounds a call with all its attempts and waits. A ctx that ends earlier
// still wins.
func ExampleWithTimeout() {
	srv, client := startSandbox()
	defer srv.Close()
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpDestinations, Kind: hotelstaystest.FaultDelay, Delay: time.Hour})

	_, err := client.Destinations(context.Background(), &hotelstays.DestinationsRequest{}, hotelstays.WithTimeout(100*time.Millisecond))
	fmt.Println("too late:", errors.Is(err, context.DeadlineExceeded))
	// Output: too late: true
}

// One trace id for the calls of a flow. Every attempt has a request id of its own.
func ExampleWithTraceID() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()

	for range 2 {
		resp, err := client.Destinations(ctx, &hotelstays.DestinationsRequest{}, hotelstays.WithTraceID("checkout-4711"))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(resp.Meta.TraceID)
	}
	requests := srv.Ledger().Requests(hotelstaystest.OpDestinations)
	fmt.Println("request ids differ:", requests[0].RequestID != requests[1].RequestID)
	// Output:
	// checkout-4711
	// checkout-4711
	// request ids differ: true
}

// What an answer says about itself. A read that fails is tried again by itself.
func ExampleResponseMeta() {
	srv, client := startSandbox()
	defer srv.Close()
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 503})

	resp, err := client.Destinations(context.Background(), &hotelstays.DestinationsRequest{}, hotelstays.WithRawData())
	if err != nil {
		fmt.Println(err)
		return
	}
	meta := resp.Meta
	fmt.Println("status", meta.HTTPStatus, "after", meta.Attempts, "attempts")
	if meta.RateLimit != nil { // the service need not say
		fmt.Println("ceiling:", meta.RateLimit.Limit, "a second")
	}
	fmt.Println("the answer as it was:", string(meta.RawData[:17]))
	// Output:
	// status 200 after 2 attempts
	// ceiling: 100 a second
	// the answer as it was: {"destinations":[
}

// Attempts are logged as debug, retries and renewals as info, and what needs a look as
// a warning. No secret is ever logged.
func ExampleWithLogger() {
	srv := hotelstaystest.NewServer()
	defer srv.Close()
	onlyThese := map[string]bool{slog.LevelKey: true, slog.MessageKey: true, "operation": true, "status": true}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if !onlyThese[a.Key] {
				return slog.Attr{}
			}
			return a
		},
	}))
	client, err := hotelstays.New(srv.URL, sandboxCredential(srv), hotelstays.WithHTTPClient(srv.Client()), hotelstays.WithLogger(logger))
	if err != nil {
		fmt.Println(err)
		return
	}
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpDestinations, Kind: hotelstaystest.FaultStatus, Status: 503})
	if _, err := client.Destinations(context.Background(), &hotelstays.DestinationsRequest{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// level=INFO msg="token fetched"
	// level=INFO msg="trying again" operation=Destinations status=503
}

// A limiter of your own needs the rate limit of each operation.
func ExampleOperation_RateLimit() {
	for _, op := range []hotelstays.Operation{hotelstays.OpHotelList, hotelstays.OpBook, hotelstays.OpHotelIDList} {
		switch n := op.RateLimit(); n {
		case 0:
			fmt.Println(op, "has no figure")
		default:
			fmt.Println(op, n, "a second")
		}
	}
	// Output:
	// HotelList 100 a second
	// Book 10 a second
	// HotelIDList has no figure
}
