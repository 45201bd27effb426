// Helpers of this package's tests. Most tests run in testing/synctest bubbles, whose virtual clock starts at
// 2000-01-01, two months before the stay. They reach the sandbox over in-memory connections.

package hotelstays_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

const checkIn, checkOut = testkit.CheckIn, testkit.CheckOut

type (
	offer         = testkit.Offer
	transportFunc = testkit.Transport
	fixedAnswer   = testkit.Answer
	noRateLimits  = testkit.NoRateLimits
	operationCall = testkit.Call
	readerFunc    = testkit.Reader
)

var (
	newSandbox, newClient, ticketOf, bearerToken = testkit.NewSandbox, testkit.NewClient, testkit.TicketOf, testkit.BearerToken
	clientThrough, clientWith, saying            = testkit.ClientThrough, testkit.ClientWith, testkit.Saying
	twoAdults, findOffer, status, members        = testkit.TwoAdults, testkit.FindOffer, testkit.Status, testkit.Members
	howMany, portionOf, within, replyOf          = testsize.Of[int], testsize.PortionOf, testkit.Within, testkit.ReplyOf
	assertFile, assertFiles                      = testkit.AssertFile, testkit.AssertFiles
)

func TestMain(m *testing.M) { testkit.Main(m) }

var allScopes = []types.Scope{
	types.ScopeSearchRead, types.ScopeContentRead, types.ScopeBookingRead, types.ScopeBookingWrite, types.ScopeBookingCancel,
}

func searchCity(srv *hotelstaystest.Server) *hotelstays.HotelListRequest {
	return &hotelstays.HotelListRequest{DestinationID: srv.CityID(0), CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
}

var operationCalls = testkit.Calls()

// reply returns an answer. header holds names and values alternately.
func reply(status int, body string, header ...string) *http.Response {
	resp := testkit.Reply(status, body)
	for field := range slices.Chunk(header, 2) {
		resp.Header.Set(field[0], field[1])
	}
	return resp
}

func answering(status int, body string, header ...string) transportFunc {
	return func(*http.Request) (*http.Response, error) { return reply(status, body, header...), nil }
}

func failing(err error) transportFunc {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// clientAt is like clientWith, but for any base URL and with the default number of attempts.
func clientAt(t testing.TB, url string, cred hotelstays.Credential, rt http.RoundTripper, opts ...hotelstays.Option) *hotelstays.Client {
	t.Helper()
	client, err := hotelstays.New(url, cred, append(opts, hotelstays.WithHTTPClient(&http.Client{Transport: rt}))...)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// causeOf returns the Err of an *OutcomeUnknownError. It returns any other error unchanged.
func causeOf(err error) error {
	if unknown, ok := errors.AsType[*hotelstays.OutcomeUnknownError](err); ok {
		return unknown.Err
	}
	return err
}

func errorAs[E error](t testing.TB, err error, what ...any) (found E) {
	t.Helper()
	require.ErrorAs(t, err, &found, what...)
	return found
}
