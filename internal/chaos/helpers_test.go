// A sandbox with a client, and faults.

package chaos_test

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	checkIn  types.Date = "2000-03-10"
	checkOut types.Date = "2000-03-13"
)

func twoAdults() []types.GuestPerRoom { return []types.GuestPerRoom{{AdultCount: 2}} }

// howMany returns how many of something a test takes: in all, typically, or with -short.
func howMany(t *testing.T, what string, all, typical, short int) int {
	t.Helper()
	n := typical
	switch {
	case os.Getenv("HOTELSTAYS_LONG") != "":
		return all
	case testing.Short():
		n = short
	}
	if n < all {
		t.Logf("%d %s; HOTELSTAYS_LONG=1 takes %d", n, what, all)
	}
	return n
}

func ticketOf(srv *hotelstaystest.Server) hotelstays.TicketCredential {
	return hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)}
}

// world is a sandbox, a client and an offer in one bubble.
type world struct {
	*hotelstaystest.Server
	client *hotelstays.Client
	offer  offer
}

func newWorld(t *testing.T, config ...hotelstaystest.Config) *world {
	c := append(config, hotelstaystest.Config{})[0]
	c.InMemory = true
	w := &world{Server: hotelstaystest.NewServer(&c)}
	t.Cleanup(w.Close)
	w.client = w.restarted(t)
	w.offer = findOffer(t, w.Server, w.client, 0)
	return w
}

// restarted returns the client of a process that has just started.
func (w *world) restarted(t *testing.T) *hotelstays.Client {
	return newClient(t, w.URL, ticketOf(w.Server), hotelstays.WithHTTPClient(w.Client()))
}

func newClient(t *testing.T, url string, cred hotelstays.Credential, opts ...hotelstays.Option) *hotelstays.Client {
	client, err := hotelstays.New(url, cred, opts...)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// offer is a priced offer and the session that it is valid in.
type offer struct {
	types.RoomRatePkg
	session string
}

// findOffer returns the cheapest offer of a hotel of the first city.
func findOffer(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client, hotel int) offer {
	list, err := client.HotelList(t.Context(), &hotelstays.HotelListRequest{
		DestinationID: srv.CityID(0), CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults(), MaxRatesPerHotel: 1,
		PageSize: hotel + 1,
	})
	require.NoError(t, err)
	return offer{list.List[hotel].Rooms[0].Rates[0], list.Basic.SessionID}
}

func (o offer) request(reference string) *hotelstays.BookRequest {
	return &hotelstays.BookRequest{
		SessionID: o.session, RatePkgID: o.RatePkgID, CustomerReferenceNo: reference,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}},
	}
}

type fault = hotelstaystest.Fault

const (
	cut       = hotelstaystest.FaultCut
	delay     = hotelstaystest.FaultDelay
	wrongType = hotelstaystest.FaultWrongType
)

// status is an answer with body, or with an envelope if body is empty.
func status(status int, body string) fault {
	f := fault{Kind: hotelstaystest.FaultStatus, Status: status, Header: http.Header{"Location": {"/elsewhere"}}}
	if body != "" {
		f.Body = []byte(body)
	}
	return f
}

// unlimited is a RateLimiter that limits nothing.
type unlimited struct{}

func (unlimited) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	return permit{}, nil
}

func (unlimited) Pause(hotelstays.RateLimitKey, time.Time) {}

type permit struct{}

func (permit) Sent() {}

func (permit) Done(hotelstays.PermitResult) {}
