// What surrounds the program and the recipes of the README, and what they must achieve. A test
// of the module puts the program beside this file, and the recipes as functions.

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The names that the recipes leave to the reader.
var (
	session, baseURL string
	key              string
	secret           types.Secret
	credential       hotelstays.Credential
	seen, offer      *types.RoomRatePkg
	order            *types.Order
	saved            []byte
	told             string
	mux              = http.NewServeMux()
	events           []hotelstays.WebhookKind
	tokens           = oneToken{}
	limiter          = countingLimiter{}
	searching        *hotelstays.Client
)

const reference = "ref-1"

var signingSecret = types.NewSecret("signing-secret")

// save keeps what is saved before Book, as if the process crashed in it.
func save(_ context.Context, recovery *hotelstays.BookingRecovery) (err error) {
	if saved == nil {
		saved, err = json.Marshal(recovery)
	}
	return err
}

func tell(_ string, changes hotelstays.OfferDiff) { told += changes.String() }

func handle(_ context.Context, event *hotelstays.WebhookEvent) error {
	events = append(events, event.Kind)
	return nil
}

func searchPage(client *hotelstays.Client) http.Handler {
	searching = client
	return http.NotFoundHandler()
}

type oneToken map[string]hotelstays.Token

func (m oneToken) Load(_ context.Context, key string) (hotelstays.Token, error) { return m[key], nil }

func (m oneToken) Store(_ context.Context, key string, t hotelstays.Token) error {
	m[key] = t
	return nil
}

func (m oneToken) CompareAndDelete(context.Context, string, hotelstays.Token) error { return nil }

type countingLimiter map[hotelstays.Operation]int

func (m countingLimiter) Acquire(_ context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	m[key.Operation]++
	return nil, nil
}

func (countingLimiter) Pause(hotelstays.RateLimitKey, time.Time) {}

// TestProgram prints what the program finds; the test of the module looks for it.
func TestProgram(t *testing.T) {
	srv := hotelstaystest.NewServer()
	defer srv.Close()
	t.Setenv("HOTELSTAYS_BASE_URL", srv.URL)
	t.Setenv("HOTELSTAYS_APP_KEY", srv.AppKey)
	t.Setenv("HOTELSTAYS_APP_SECRET", srv.AppSecret)
	os.Args = []string{"program", srv.CityName(0)}
	main()
}

func TestRecipes(t *testing.T) {
	srv := hotelstaystest.NewServer()
	defer srv.Close()
	baseURL = srv.URL
	key, secret = srv.AppKey, types.NewSecret(srv.AppSecret)
	credential = hotelstays.TicketCredential{AppKey: key, AppSecret: secret}
	client, err := hotelstays.New(baseURL, credential, hotelstays.WithHTTPClient(srv.Client()))
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	check(t, pickOffer(ctx, client, srv.CityName(0)))
	srv.MoveRate(seen.RatePkgID, -2) // cheaper: within the tolerance, and the new price is booked
	check(t, recipe1(ctx, client))
	want(t, offer.TotalRate.NetRate != seen.TotalRate.NetRate, "another price")

	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
	check(t, recipe2(ctx, client))
	want(t, len(srv.Ledger().OrdersFor(reference)) == 1 && order != nil && told == "", "one order, as agreed")
	offer.TotalRate.NetRate.Amount = "1.00"
	check(t, recipe2(ctx, client))
	want(t, strings.Contains(told, "was 1.00"), "what the order has otherwise")
	check(t, recipe3(ctx, client))

	check(t, recipe4(ctx, client))
	body := []byte(`{"customerReferenceNo":"ref-1","hotelConfirmNo":"","event":"order_created","eventTime":1700000000000}`)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, hotelstaystest.NewWebhookRequest("https://hooks.example.com/hotel-events", signingSecret.Reveal(), time.Now(), "evt-1", body))
	want(t, answer.Code == http.StatusOK && len(events) == 1, "one event")

	check(t, recipe5(ctx, client))
	_, err = searching.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{reference}})
	check(t, err)
	want(t, srv.Ledger().TicketsIssued() == 2, "a token for each account")

	check(t, recipe6(ctx, client))
	_, err = searching.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{reference}})
	check(t, err)
	want(t, len(tokens) == 1 && limiter[hotelstays.OpQueryOrders] == 1, "one token in the store, one slot of the limiter")
}

// yourBooking is the code that the test of the README tests.
func yourBooking(client *hotelstays.Client, city string) error {
	ctx := context.Background()
	if err := pickOffer(ctx, client, city); err != nil {
		return err
	}
	if err := recipe1(ctx, client); err != nil {
		return err
	}
	return recipe2(ctx, client)
}

// pickOffer searches, and picks the first offer.
func pickOffer(ctx context.Context, client *hotelstays.Client, city string) error {
	found, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
		DestinationName: city, CheckIn: "2040-03-12", CheckOut: "2040-03-15", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}},
	})
	if err != nil {
		return err
	}
	session, seen = found.Basic.SessionID, &found.List[0].Rooms[0].Rates[0]
	return nil
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, ok bool, what string) {
	t.Helper()
	if !ok {
		t.Fatalf("there should be %s", what)
	}
}
