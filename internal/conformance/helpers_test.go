// What the tests of this package share: clients, fixed answers, a sandbox, and one call of
// every operation.

package conformance_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func bearerToken(token string) hotelstays.TokenCredential {
	return hotelstays.TokenCredential{Token: types.NewSecret(token)}
}

func ticketPair(secret string) hotelstays.TicketCredential {
	return hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret(secret)}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newClient(t testing.TB, cred hotelstays.Credential, rt http.RoundTripper, opts ...hotelstays.Option) *hotelstays.Client {
	t.Helper()
	opts = append([]hotelstays.Option{hotelstays.WithHTTPClient(&http.Client{Transport: rt}), hotelstays.WithMaxAttempts(1)}, opts...)
	client, err := hotelstays.New("https://api.example.test", cred, opts...)
	require.NoError(t, err)
	return client
}

func clientThrough(t testing.TB, rt http.RoundTripper, opts ...hotelstays.Option) *hotelstays.Client {
	t.Helper()
	return newClient(t, bearerToken("token-0001"), rt, opts...)
}

func reply(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
}

// saying answers every request with one body.
func saying(body string) transportFunc {
	return func(*http.Request) (*http.Response, error) { return reply(200, body), nil }
}

// fixedAnswer answers every request alike. It echoes the Request-Id, as the service does.
type fixedAnswer struct {
	status int
	body   string
	header map[string]string

	sent int
}

func (a *fixedAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	a.sent++
	resp := reply(a.status, a.body)
	resp.Request = r
	resp.Header.Set("Request-Id", r.Header.Get("Request-Id"))
	for name, value := range a.header {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

// noLimits is a rate limiter that grants everything at once.
type noLimits struct{}

func (noLimits) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	return nil, nil
}
func (noLimits) Pause(hotelstays.RateLimitKey, time.Time) {}

const (
	checkIn  types.Date = "2000-03-10"
	checkOut types.Date = "2000-03-13"
)

func twoAdults() []types.GuestPerRoom { return []types.GuestPerRoom{{AdultCount: 2}} }

func hotelList() *hotelstays.HotelListRequest {
	return &hotelstays.HotelListRequest{DestinationID: "d", CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
}

// newSandbox starts a sandbox with a client of its first account. Both end with the test.
func newSandbox(t *testing.T, config ...hotelstaystest.Config) (*hotelstaystest.Server, *hotelstays.Client) {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.InMemory = true
	srv := hotelstaystest.NewServer(&c)
	t.Cleanup(srv.Close)
	return srv, sandboxClient(t, srv, srv.Client())
}

func sandboxClient(t *testing.T, srv *hotelstaystest.Server, through *http.Client) *hotelstays.Client {
	t.Helper()
	cred := hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)}
	client, err := hotelstays.New(srv.URL, cred, hotelstays.WithHTTPClient(through))
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// operationCall makes one call of an operation and returns its error.
type operationCall func(context.Context, *hotelstays.Client, ...hotelstays.CallOption) error

// operationCalls has the minimal call of every operation.
var operationCalls = func() map[hotelstays.Operation]operationCall {
	calls := map[hotelstays.Operation]operationCall{}
	for _, op := range operations() {
		calls[hotelstays.Operation(op.name)] = op.minimal.err
	}
	return calls
}()

func mutates(op hotelstays.Operation) bool {
	return op == hotelstays.OpBook || op == hotelstays.OpCancel
}
