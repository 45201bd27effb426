// What the README's recipes start from, and what must come of them. The recipes are
// functions beside this file, which a test of the module makes of the README.

package readme

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The names that the recipes use without saying where they come from.
var (
	city, session string
	search        *hotelstays.HotelListRequest
	again         []string
	seen, offer   *types.RoomRatePkg
	order         *types.Order
	stored        []byte
	wakeup        = make(chan struct{}, 1)
	mux           = http.NewServeMux()
	catalogue     = map[string]*types.HotelMetadata{}
	priced        int
	events        []hotelstays.WebhookKind
)

const reference = "ref-1"

var signingSecret = types.NewSecret("signing-secret")

func show(hotels []types.Hotel, _ string) { priced += len(hotels) }

func handle(_ context.Context, event *hotelstays.WebhookEvent) error {
	events = append(events, event.Kind)
	return nil
}

func TestRecipes(t *testing.T) {
	t.Chdir(t.TempDir()) // one recipe saves a file
	srv := hotelstaystest.NewServer(hotelstaystest.WithVoucherDelay(0))
	defer srv.Close()
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		hotelstays.WithHTTPClient(srv.Client()))
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	city = srv.CityName(0)
	check(t, recipe1(ctx, client))
	want(t, session != "", "a session")

	search = &hotelstays.HotelListRequest{HotelIDs: srv.HotelIDs(250), CheckIn: "2040-03-12", CheckOut: "2040-03-15",
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}}
	check(t, recipe2(ctx, client))
	want(t, priced == len(search.HotelIDs) && len(again) == 0, "all hotels")

	seen = pickOffer(t, ctx, client)
	srv.MoveRate(seen.RatePkgID, -2) // cheaper: nobody has to be asked, and it is booked like this
	check(t, recipe3(ctx, client))
	want(t, offer.TotalRate.NetRate != seen.TotalRate.NetRate, "another price")
	stored, err = json.Marshal(client.NewBookingRecovery(&hotelstays.BookRequest{SessionID: session, CustomerReferenceNo: reference, Expect: offer}))
	check(t, err)
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
	check(t, recipe4(ctx, client))
	want(t, len(srv.Ledger().OrdersFor(reference)) == 1, "one order")
	check(t, recipe5(ctx, client))

	srv.ConfirmOrder(reference)
	wakeup <- struct{}{}
	check(t, recipe6(ctx, client))
	check(t, recipe7(ctx, client))
	document, err := os.ReadFile("voucher.pdf")
	check(t, err)
	want(t, bytes.HasPrefix(document, []byte("%PDF")), "a PDF")
	check(t, recipe8(ctx, client))
	want(t, len(srv.Ledger().Cancellations()) == 1, "one cancellation")

	check(t, recipe9(ctx, client))
	body := []byte(`{"customerReferenceNo":"ref-1","hotelConfirmNo":"","event":"order_created","eventTime":1700000000000}`)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, hotelstaystest.NewWebhookRequest("https://hooks.example.com/hotel-events", signingSecret.Reveal(), time.Now(), "evt-1", body))
	want(t, answer.Code == http.StatusOK && len(events) == 1, "one event")

	check(t, recipe10(ctx, client))
	delete(catalogue, "") // hotels that are not matched yet
	want(t, len(catalogue) == len(srv.HotelIDs(srv.HotelCount())), "all hotels of the catalogue")
}

// yourBooking is the code under test in the README's own test: recipes 1, 3 and 4.
func yourBooking(client *hotelstays.Client, where string) error {
	city = where
	if err := recipe1(context.Background(), client); err != nil {
		return err
	}
	found, err := client.HotelList(context.Background(), &hotelstays.HotelListRequest{SessionID: session, DestinationName: where,
		CheckIn: "2040-03-12", CheckOut: "2040-03-15", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}})
	if err != nil {
		return err
	}
	seen = &found.List[0].Rooms[0].Rates[0]
	if err := recipe3(context.Background(), client); err != nil {
		return err
	}
	return recipe4(context.Background(), client)
}

// pickOffer is what the traveller does: an offer that costs nothing to give back.
func pickOffer(t *testing.T, ctx context.Context, client *hotelstays.Client) *types.RoomRatePkg {
	found, err := client.HotelList(ctx, &hotelstays.HotelListRequest{SessionID: session, DestinationName: city,
		CheckIn: "2040-03-12", CheckOut: "2040-03-15", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}})
	check(t, err)
	for _, room := range found.List[0].Rooms {
		for _, rate := range room.Rates {
			if rate.RefundableMode == types.RefundableFull {
				return &rate
			}
		}
	}
	t.Fatal("no offer is fully refundable")
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
