// The blocks of README and guides as functions, and tests of these functions.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/h2non/gock.v1"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The variables that the reader of the blocks declares.
var (
	session, baseURL string
	key              string
	secret           types.Secret
	credential       hotelstays.Credential
	seen, offer      *types.RoomRatePkg
	order            *types.Order
	saved            []byte
	told             string
	mux              *http.ServeMux
	events           []types.EventKind
	tokens           oneToken
	limiter          countingLimiter
	searching        *hotelstays.Client
)

const reference = "ref-1"

var signingSecret = types.NewSecret("signing-secret")

// save stores only the first recovery, as if the process had crashed during Book.
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

func (m countingLimiter) Acquire(_ context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	m[req.Key.Operation]++
	return nil, nil
}

func (countingLimiter) Pause(hotelstays.RateLimitKey, time.Time) {}

func checkOffer(ctx context.Context, client *hotelstays.Client) error {
	check, err := client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: session, RatePkgID: seen.RatePkgID})
	if err != nil {
		return err
	}
	if !check.Available() {
		return errors.New("sold out")
	}
	if diff := hotelstays.CompareOffer(seen, check.RoomRatePkg); !diff.Within(hotelstays.Tolerance{}) {
		return fmt.Errorf("ask the traveller first: %s", diff)
	}
	offer = check.RoomRatePkg // book this offer
	return nil
}

func bookAndRecover(ctx context.Context, client *hotelstays.Client) error {
	outcome, err := client.BookAndRecover(ctx, &hotelstays.BookRequest{
		SessionID: session, RatePkgID: offer.RatePkgID, CustomerReferenceNo: reference, Expect: offer,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{
			{RoomIndex: 1, FirstName: "Guest", LastName: "One"}, {RoomIndex: 1, FirstName: "Guest", LastName: "Two"},
		},
	}, hotelstays.WithSaveRecovery(save))
	if err != nil {
		return err // if outcome is not nil, the order may exist: see outcome.State
	}
	if outcome.State != hotelstays.BookingFound { // the table below says what to do
		return fmt.Errorf("the booking is %s", outcome.State)
	}
	order = outcome.Order
	if !outcome.Changes.Within(hotelstays.Tolerance{}) { // booked, but at another price or with other terms
		tell(reference, outcome.Changes) // your function: it tells the traveller
	}
	return nil
}

func afterTheBooking(ctx context.Context, client *hotelstays.Client, path string) error {
	order, err := client.AwaitOrder(ctx, reference) // waits while the status is 0 or 1, so ctx needs a deadline
	if err != nil {
		return err
	}
	voucher := &hotelstays.OrderVoucherRequest{PlatformReferenceNo: order.PlatformReferenceNo}
	if _, err := client.AwaitVoucher(ctx, voucher); err != nil { // the document is made after the confirmation
		return err
	}
	if _, err := client.SaveVoucher(ctx, voucher, path); err != nil { // writes only a verified document
		return err
	}
	fee, err := order.CancelFeeAt(time.Now())
	if err != nil {
		return err
	}
	fmt.Println("cancelling costs", fee)
	return nil
}

func continueBooking(ctx context.Context, client *hotelstays.Client) error {
	var recovery hotelstays.BookingRecovery
	if err := json.Unmarshal(saved, &recovery); err != nil {
		return err
	}
	outcome, err := client.RecoverBooking(ctx, &recovery)
	if err != nil {
		return err
	}
	fmt.Println("the booking is", outcome.State, outcome.Changes)
	return nil
}

func receiveWebhooks() error {
	webhooks, err := hotelstays.NewWebhookHandler(
		hotelstays.WebhookOptions{
			Secrets: []types.Secret{signingSecret},
			OnError: func(r *http.Request, err error) { // without OnError nobody notices a wrong secret
				slog.WarnContext(r.Context(), "webhook refused", "err", err)
			},
		},
		func(ctx context.Context, event *hotelstays.WebhookEvent) error {
			return handle(ctx, event) // after an error the service may deliver the event again
		})
	if err != nil {
		return err
	}
	mux.Handle("POST /hotel-events", webhooks)
	return nil
}

func serveAccounts(client *hotelstays.Client) error {
	branch, err := client.WithCredential(hotelstays.TicketCredential{AppKey: key, AppSecret: secret},
		hotelstays.WithMarket("DE"))
	if err != nil {
		return err
	}
	mux.Handle("/branch/search", searchPage(branch))
	return nil
}

func runFleet() error {
	client, err := hotelstays.New(baseURL, credential,
		hotelstays.WithTokenStore(tokens), hotelstays.WithRateLimiter(limiter))
	if err != nil {
		return err
	}
	mux.Handle("/search", searchPage(client))
	return nil
}

func TestProgramPrintsHotelsOrThatThereAreNone(t *testing.T) {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	t.Setenv("HOTELSTAYS_BASE_URL", srv.URL)
	t.Setenv("HOTELSTAYS_APP_KEY", srv.AppKey)
	t.Setenv("HOTELSTAYS_APP_SECRET", srv.AppSecret)
	printed, err := os.Create(filepath.Join(t.TempDir(), "printed"))
	require.NoError(t, err)
	defer func(stdout *os.File) { os.Stdout = stdout }(os.Stdout)
	os.Stdout = printed
	for _, city := range []string{srv.CityName(0), "Nowhere"} {
		os.Args = []string{"program", city}
		main()
	}
	found, err := os.ReadFile(printed.Name())
	require.NoError(t, err)
	require.Contains(t, string(found), "Upper White Gate Suites 10 from 208.82 EUR\n", "a hotel and its price")
	require.Contains(t, string(found), "0 hotels in [Nowhere]\n")
	require.NoError(t, printed.Close())
}

func TestRecipesBookOneOrder(t *testing.T) {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	baseURL = srv.URL
	key, secret = srv.AppKey, types.NewSecret(srv.AppSecret)
	credential = hotelstays.TicketCredential{AppKey: key, AppSecret: secret}
	client, err := hotelstays.New(baseURL, credential, hotelstays.WithHTTPClient(srv.Client()))
	require.NoError(t, err)
	ctx := t.Context()
	// With -count this test runs several times, so it resets the variables first.
	saved, told, events, mux, tokens, limiter = nil, "", nil, http.NewServeMux(), oneToken{}, countingLimiter{}

	require.NoError(t, pickOffer(ctx, client, srv.CityName(0)))
	srv.MoveRate(seen.RatePkgID, -2) // cheaper: within the tolerance, and the new price is booked
	require.NoError(t, checkOffer(ctx, client))
	require.NotEqual(t, seen.TotalRate.NetRate, offer.TotalRate.NetRate, "another price")

	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
	require.NoError(t, bookAndRecover(ctx, client))
	require.True(t, len(srv.Ledger().OrdersFor(reference)) == 1 && order != nil && told == "", "one order, as agreed")
	offer.TotalRate.NetRate.Amount = "1.00"
	require.NoError(t, bookAndRecover(ctx, client))
	require.Contains(t, told, "was 1.00", "the changed price")
	require.NoError(t, continueBooking(ctx, client))
	path := filepath.Join(t.TempDir(), "voucher.pdf")
	srv.Advance(time.Hour) // the hotel has confirmed, and the voucher is made
	require.NoError(t, afterTheBooking(ctx, client, path))
	require.FileExists(t, path)

	require.NoError(t, receiveWebhooks())
	body := []byte(`{"customerReferenceNo":"ref-1","hotelConfirmNo":"","event":"order_created","eventTime":1700000000000}`)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, hotelstaystest.NewWebhookRequest("https://hooks.example.com/hotel-events",
		signingSecret.Reveal(), time.Now(), "evt-1", body))
	require.True(t, answer.Code == http.StatusOK && len(events) == 1, "one event")

	require.NoError(t, serveAccounts(client))
	_, err = searching.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{reference}})
	require.NoError(t, err)
	require.Equal(t, 2, srv.Ledger().TicketsIssued(), "a token for each account")

	require.NoError(t, runFleet())
	_, err = searching.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{reference}})
	require.NoError(t, err)
	require.True(t, len(tokens) == 1 && limiter[hotelstays.OpQueryOrders] == 1, "one token in the store, one slot of the limiter")
}

// yourBooking is the code that TestNoBookingIsLost tests.
func yourBooking(client *hotelstays.Client, city string) error {
	ctx := context.Background()
	if err := pickOffer(ctx, client, city); err != nil {
		return err
	}
	if err := checkOffer(ctx, client); err != nil {
		return err
	}
	return bookAndRecover(ctx, client)
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

func TestNoBookingIsLost(t *testing.T) {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{
		AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret),
	}, hotelstays.WithHTTPClient(srv.Client()))
	if err != nil {
		t.Fatal(err)
	}
	srv.Inject(hotelstaystest.Fault{ // the service makes the order, and its answer is lost
		Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true,
	})
	if err := yourBooking(client, srv.CityName(0)); err != nil {
		t.Fatal(err)
	}
	if orders := srv.Ledger().Orders(); len(orders) != 1 {
		t.Fatalf("%d orders instead of one", len(orders))
	}
}

func TestClientGetsTheAnswerOfTheMock(t *testing.T) {
	mocked := &http.Client{Transport: new(http.Transport)}
	gock.InterceptClient(mocked)
	defer gock.OffAll()
	gock.New("https://host.example").Post("/api/search/destinations").
		Reply(200).BodyString(`{"code":0,"data":{"destinations":[]}}`)

	client, err := hotelstays.New("https://host.example", hotelstays.TokenCredential{
		Token: types.NewSecret("any token"),
	}, hotelstays.WithHTTPClient(mocked))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}); err != nil {
		t.Fatal(err)
	}
}
