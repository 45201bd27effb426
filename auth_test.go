// Credentials: how long their tokens are used, and what happens when they are refused.

package hotelstays_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// authWorld is a sandbox and a client of it inside one bubble. No ceiling stands
// between the callers and the token.
type authWorld struct {
	*hotelstaystest.Server
	client *hotelstays.Client
	cred   hotelstays.TicketCredential
}

func newAuthWorld(t *testing.T, ttl time.Duration, opts ...hotelstays.Option) *authWorld {
	w := &authWorld{Server: hotelstaystest.NewServer(hotelstaystest.WithInMemory(), hotelstaystest.WithoutRateLimits(), hotelstaystest.WithLedgerLimit(100))}
	w.cred = hotelstays.TicketCredential{AppKey: w.AppKey, AppSecret: types.NewSecret(w.AppSecret), TTL: ttl}
	w.client = w.connect(t, w.cred, opts...)
	return w
}

// connect returns a client that shares 64 connections among its callers.
func (w *authWorld) connect(t *testing.T, cred hotelstays.Credential, opts ...hotelstays.Option) *hotelstays.Client {
	tr := w.Client().Transport.(*http.Transport).Clone()
	tr.MaxConnsPerHost, tr.MaxIdleConnsPerHost = 64, 64
	opts = append([]hotelstays.Option{hotelstays.WithHTTPClient(&http.Client{Transport: tr}), hotelstays.WithRateLimiter(noCeilings{})}, opts...)
	client, err := hotelstays.New(w.URL, cred, opts...)
	require.NoError(t, err)
	return client
}

func (w *authWorld) end(clients ...*hotelstays.Client) {
	for _, c := range append(clients, w.client) {
		c.CloseIdleConnections()
	}
	w.Close()
}

// callAll makes n calls at once and returns their errors.
func callAll(ctx context.Context, c *hotelstays.Client, n int) (failed []error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			_, err := c.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, err)
			}
		})
	}
	wg.Wait()
	return failed
}

type noCeilings struct{}

func (noCeilings) Acquire(context.Context, hotelstays.Operation) (hotelstays.Permit, error) {
	return noPermit{}, nil
}
func (noCeilings) Pause(hotelstays.Operation, time.Time) {}

type noPermit struct{}

func (noPermit) Sent()                        {}
func (noPermit) Done(hotelstays.PermitResult) {}

// A definite refusal is shared by all who wait, and remembered for ten seconds.
func TestRefusedCredentialIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, 0)
		wrong := w.connect(t, hotelstays.TicketCredential{AppKey: w.AppKey, AppSecret: types.NewSecret("wrong")})
		defer w.end(wrong)
		for range 5 {
			failed := callAll(t.Context(), wrong, 100)
			require.Len(t, failed, 100)
			for _, err := range failed {
				var api *hotelstays.APIError
				require.ErrorAs(t, err, &api)
				assert.ErrorIs(t, err, hotelstays.ErrUnauthorized)
				assert.Equal(t, hotelstays.OpTicket, api.Operation)
			}
			time.Sleep(time.Second)
		}
		assert.Equal(t, 1, w.Ledger().Count(hotelstaystest.OpTicket))
		time.Sleep(5 * time.Second)
		callAll(t.Context(), wrong, 100)
		assert.Equal(t, 2, w.Ledger().Count(hotelstaystest.OpTicket))
		assert.Zero(t, w.Ledger().Count(hotelstaystest.OpQueryOrders))
	})
}

// These answers do not refuse the credential: the next caller asks again.
func TestFailureOfTheServiceIsNotRemembered(t *testing.T) {
	for status, body := range map[int]string{
		500: `{"code":100000500,"msg":"failed"}`,
		429: `{"code":100000429,"msg":"too many requests"}`,
		403: "<html>a proxy's page</html>",
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			cred := hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("secret")}
			client, err := hotelstays.New("http://127.0.0.1", cred, hotelstays.WithMaxAttempts(1),
				hotelstays.WithHTTPClient(&http.Client{Transport: transportFunc(func(*http.Request) (*http.Response, error) {
					asked++
					return reply(status, body), nil
				})}))
			require.NoError(t, err)
			for range 2 {
				_, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
				require.Error(t, err)
			}
			assert.Equal(t, 2, asked, "HTTP %d", status)
		})
	}
}

func TestRefusedScopeIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, 0)
		c := w.connect(t, hotelstays.OAuthCredential{ClientID: w.ClientID, ClientSecret: types.NewSecret(w.ClientSecret), Scopes: []hotelstays.Scope{"booking:read"}})
		defer w.end(c)
		w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpOAuthToken, Kind: hotelstaystest.FaultStatus, Status: 400,
			Body: []byte(`{"error":"invalid_scope"}`), Times: -1})
		failed := callAll(t.Context(), c, 100)
		require.Len(t, failed, 100)
		assert.ErrorIs(t, failed[0], hotelstays.ErrInvalidScope)
		callAll(t.Context(), c, 100)
		assert.Equal(t, 1, w.Ledger().Count(hotelstaystest.OpOAuthToken))
	})
}

// How long an access token lives is not shown: without Lifetime it is used until
// it is refused, with it as long as that says.
func TestOAuthLifetime(t *testing.T) {
	for _, lifetime := range []time.Duration{0, 30 * time.Minute} {
		t.Run(lifetime.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newAuthWorld(t, 0)
				c := w.connect(t, hotelstays.OAuthCredential{ClientID: w.ClientID, ClientSecret: types.NewSecret(w.ClientSecret),
					Scopes: []hotelstays.Scope{hotelstays.ScopeBookingRead}, Lifetime: lifetime})
				defer w.end(c)
				callAll(t.Context(), c, 10)
				time.Sleep(40 * time.Minute)
				failed := callAll(t.Context(), c, 10)
				assert.Empty(t, failed)
				want := 1
				if lifetime > 0 {
					want = 2
				}
				assert.Equal(t, want, w.Ledger().Count(hotelstaystest.OpOAuthToken))
				time.Sleep(time.Hour) // the sandbox's token life ends: it refuses
				failed = callAll(t.Context(), c, 10)
				assert.Empty(t, failed)
				assert.Equal(t, want+1, w.Ledger().Count(hotelstaystest.OpOAuthToken))
			})
		})
	}
}

func TestTokenCredentialIsNeverRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, 0)
		ticket, err := w.client.Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: w.AppKey, AppSecret: types.NewSecret(w.AppSecret), TTL: time.Hour})
		require.NoError(t, err)
		c := w.connect(t, hotelstays.TokenCredential{Token: ticket.Ticket})
		defer w.end(c)
		failed := callAll(t.Context(), c, 10)
		assert.Empty(t, failed)
		time.Sleep(time.Hour)
		failed = callAll(t.Context(), c, 1)
		require.Len(t, failed, 1)
		assert.ErrorIs(t, failed[0], hotelstays.ErrUnauthorized)
		assert.Equal(t, 1, w.Ledger().Count(hotelstaystest.OpTicket))
		assert.Equal(t, 11, w.Ledger().Count(hotelstaystest.OpQueryOrders))
	})
}
