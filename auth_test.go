// Credentials under load: one token for all, renewed before it ends, dropped
// when it is refused, and fetched no more often than that takes.

package hotelstays_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
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
	w := &authWorld{Server: hotelstaystest.NewServer(hotelstaystest.InMemory(), hotelstaystest.WithoutCeilings(), hotelstaystest.WithLedgerLimit(100))}
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

// callAll makes n calls at once and returns their errors and the longest wait.
func callAll(ctx context.Context, c *hotelstays.Client, n int) (failed []error, longest time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			start := time.Now()
			_, err := c.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{})
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, time.Since(start))
			if err != nil {
				failed = append(failed, err)
			}
		})
	}
	wg.Wait()
	return failed, longest
}

type noCeilings struct{}

func (noCeilings) Acquire(context.Context, hotelstays.Operation) (hotelstays.Permit, error) {
	return noPermit{}, nil
}
func (noCeilings) Pause(hotelstays.Operation, time.Time) {}

type noPermit struct{}

func (noPermit) Sent()                        {}
func (noPermit) Done(hotelstays.PermitResult) {}

// herd is how many callers come at once.
func herd(t *testing.T) int { return howMany(t, "callers", 10_000, 3000, 500) }

func TestExpiredTicketCostsTheHerdOneCall(t *testing.T) {
	t.Parallel()
	herd := herd(t)
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, time.Hour)
		defer w.end()
		failed, _ := callAll(t.Context(), w.client, 1)
		require.Empty(t, failed)
		time.Sleep(2 * time.Hour)
		w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultDelay, Delay: time.Second})

		failed, longest := callAll(t.Context(), w.client, herd)

		assert.Empty(t, failed)
		assert.Equal(t, time.Second, longest, "everybody waits for the one call")
		assert.Equal(t, 2, w.Ledger().Count(hotelstaystest.OpTicket))
		assert.Equal(t, herd+1, w.Ledger().Count(hotelstaystest.OpQueryOrders))
	})
}

func TestInsideTheMarginNobodyWaits(t *testing.T) {
	t.Parallel()
	herd := herd(t)
	cases := []struct{ ttl, margin time.Duration }{
		{24 * time.Hour, 5 * time.Minute},
		{10 * time.Minute, time.Minute}, // a tenth of a short life
	}
	for _, c := range cases {
		t.Run(c.ttl.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newAuthWorld(t, c.ttl)
				defer w.end()
				callAll(t.Context(), w.client, 1)
				w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultDelay, Delay: 10 * time.Second})

				time.Sleep(c.ttl - c.margin - time.Second)
				callAll(t.Context(), w.client, 1)
				assert.Equal(t, 1, w.Ledger().TicketsIssued(), "not in the margin yet")

				time.Sleep(2 * time.Second)
				failed, longest := callAll(t.Context(), w.client, herd)
				assert.Empty(t, failed)
				assert.Zero(t, longest, "the old token serves while the new one is fetched")
				time.Sleep(11 * time.Second)
				assert.Equal(t, 2, w.Ledger().TicketsIssued())

				time.Sleep(c.margin)
				failed, longest = callAll(t.Context(), w.client, 100)
				assert.Empty(t, failed)
				assert.Zero(t, longest, "the new token is in use")
				assert.Equal(t, 2, w.Ledger().TicketsIssued())
			})
		})
	}
}

func TestRevokedTicketCostsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, 0)
		defer w.end()
		callAll(t.Context(), w.client, 1)

		w.RevokeTokens()
		failed, _ := callAll(t.Context(), w.client, 1)
		assert.Empty(t, failed)
		assert.Equal(t, 2, w.Ledger().Count(hotelstaystest.OpTicket))
		assert.Equal(t, 3, w.Ledger().Count(hotelstaystest.OpQueryOrders), "the refused call is sent once more")

		time.Sleep(11 * time.Second)
		w.RevokeTokens()
		failed, _ = callAll(t.Context(), w.client, 1000)
		assert.Empty(t, failed)
		assert.Equal(t, 3, w.Ledger().Count(hotelstaystest.OpTicket), "all 401s together cost one ticket")
	})
}

// A service that has forgotten its tokens may issue the same text again. A 401 that comes
// late is then still of the token before.
func TestRefusedTokenMayBeIssuedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tickets, refusals atomic.Int64
		var issued atomic.Bool
		rt := transportFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/api/auth/ticket" {
				issued.Store(tickets.Add(1) > 1)
				return reply(200, `{"code":0,"data":{"ticket":"the same"}}`), nil
			}
			known := issued.Load()
			time.Sleep(time.Duration(1+rand.IntN(1000)) * time.Millisecond)
			if !known {
				refusals.Add(1)
				return reply(401, `{"code":100000401,"msg":"unknown token"}`), nil
			}
			return reply(200, `{"code":0,"data":{"orders":[]}}`), nil
		})
		client, err := hotelstays.New("http://127.0.0.1", hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret")},
			hotelstays.WithHTTPClient(&http.Client{Transport: rt}), hotelstays.WithRateLimiter(noCeilings{}))
		require.NoError(t, err)
		failed, _ := callAll(t.Context(), client, 200)
		assert.Empty(t, failed)
		assert.EqualValues(t, 200, refusals.Load())
		assert.EqualValues(t, 2, tickets.Load())
	})
}

// A 401 that a new token does not cure costs a ticket in ten seconds, and not one
// for each call: the other callers keep the token.
func TestUncuredRefusalDoesNotStormTheTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, 0)
		defer w.end()
		callAll(t.Context(), w.client, 1)
		w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 401, Times: -1})
		for range 100 {
			failed, _ := callAll(t.Context(), w.client, 5)
			require.Len(t, failed, 5)
			require.ErrorIs(t, failed[0], hotelstays.ErrUnauthorized)
			time.Sleep(100 * time.Millisecond)
		}
		assert.LessOrEqual(t, w.Ledger().Count(hotelstaystest.OpTicket), 3)
		_, err := w.client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
		assert.NoError(t, err)
	})
}

// A store that hangs is done without, too.
func TestHangingTokenStoreIsDoneWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, time.Hour, hotelstays.WithTokenStore(hangingStore{}))
		defer w.end()
		failed, longest := callAll(t.Context(), w.client, 100)
		assert.Empty(t, failed)
		assert.LessOrEqual(t, longest, 5*time.Second)
	})
}

type hangingStore struct{}

func (hangingStore) Load(ctx context.Context, _ string) (hotelstays.Token, error) {
	<-ctx.Done()
	return hotelstays.Token{}, ctx.Err()
}

func (hangingStore) Store(ctx context.Context, _ string, _ hotelstays.Token) error {
	<-ctx.Done()
	return ctx.Err()
}

func (hangingStore) Drop(ctx context.Context, _ string, _ hotelstays.Token) error {
	<-ctx.Done()
	return ctx.Err()
}

// A renewal that fails does no harm while the old token lives, and is tried with
// growing pauses.
func TestFailingRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, time.Hour, hotelstays.WithMaxAttempts(1))
		defer w.end()
		callAll(t.Context(), w.client, 1)
		time.Sleep(55*time.Minute + time.Second)
		w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultStatus, Status: 503, Times: -1})
		for range 240 { // a call every second of four minutes
			failed, longest := callAll(t.Context(), w.client, 1)
			require.Empty(t, failed)
			require.Zero(t, longest)
			time.Sleep(time.Second)
		}
		tries := w.Ledger().Count(hotelstaystest.OpTicket) - 1
		assert.Greater(t, tries, 5, "it is tried again")
		assert.Less(t, tries, 20, "and not hammered")

		w.ClearFaults()
		time.Sleep(30 * time.Second)
		callAll(t.Context(), w.client, 1)
		synctest.Wait()
		assert.Equal(t, 2, w.Ledger().TicketsIssued())
	})
}

// A renewal that is refused for good is tried and logged with growing pauses, too,
// however many calls go on using the old token.
func TestRefusedRenewalIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := newAuthWorld(t, time.Hour, hotelstays.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		defer w.end()
		callAll(t.Context(), w.client, 1)
		time.Sleep(55*time.Minute + time.Second)
		w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultStatus, Status: 401, Times: -1})
		for range 600 { // ten calls a second of a minute
			failed, longest := callAll(t.Context(), w.client, 1)
			require.Empty(t, failed)
			require.Zero(t, longest)
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
		}
		tries := w.Ledger().Count(hotelstaystest.OpTicket) - 1
		assert.Greater(t, tries, 3)
		assert.Less(t, tries, 10)
		assert.Equal(t, tries, strings.Count(log.String(), "token renewal failed"))
	})
}

// A definite refusal is shared by all who wait, and remembered for ten seconds.
func TestRefusedCredentialIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, 0)
		wrong := w.connect(t, hotelstays.TicketCredential{AppKey: w.AppKey, AppSecret: types.NewSecret("wrong")})
		defer w.end(wrong)
		for range 5 {
			failed, _ := callAll(t.Context(), wrong, 100)
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

// A failure of the service, even one with a code, says nothing of the credential: the
// next caller asks again.
func TestFailureOfTheServiceIsNotRemembered(t *testing.T) {
	asked := 0
	client, err := hotelstays.New("http://127.0.0.1", hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("secret")}, hotelstays.WithMaxAttempts(1),
		hotelstays.WithHTTPClient(&http.Client{Transport: transportFunc(func(*http.Request) (*http.Response, error) {
			asked++
			return reply(500, `{"code":100000500,"msg":"failed"}`), nil
		})}))
	require.NoError(t, err)
	for range 2 {
		_, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
		require.Error(t, err)
	}
	assert.Equal(t, 2, asked)
}

func TestRefusedScopeIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, 0)
		c := w.connect(t, hotelstays.OAuthCredential{ClientID: w.ClientID, ClientSecret: types.NewSecret(w.ClientSecret), Scopes: []hotelstays.Scope{"booking:read"}})
		defer w.end(c)
		w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpOAuthToken, Kind: hotelstaystest.FaultStatus, Status: 400,
			Body: []byte(`{"error":"invalid_scope"}`), Times: -1})
		failed, _ := callAll(t.Context(), c, 100)
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
				failed, _ := callAll(t.Context(), c, 10)
				assert.Empty(t, failed)
				want := 1
				if lifetime > 0 {
					want = 2
				}
				assert.Equal(t, want, w.Ledger().Count(hotelstaystest.OpOAuthToken))
				time.Sleep(time.Hour) // the sandbox's token life ends: it refuses
				failed, _ = callAll(t.Context(), c, 10)
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
		failed, _ := callAll(t.Context(), c, 10)
		assert.Empty(t, failed)
		time.Sleep(time.Hour)
		failed, _ = callAll(t.Context(), c, 1)
		require.Len(t, failed, 1)
		assert.ErrorIs(t, failed[0], hotelstays.ErrUnauthorized)
		assert.Equal(t, 1, w.Ledger().Count(hotelstaystest.OpTicket))
		assert.Equal(t, 11, w.Ledger().Count(hotelstaystest.OpQueryOrders))
	})
}

// Clients that share a store share the ticket, its renewal and its end.
func TestTokenStoreIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memoryStore{tokens: map[string]hotelstays.Token{}}
		w := newAuthWorld(t, time.Hour, hotelstays.WithTokenStore(store))
		other := w.connect(t, w.cred, hotelstays.WithTokenStore(store))
		defer w.end(other)
		both := func() {
			for _, c := range []*hotelstays.Client{w.client, other} {
				failed, _ := callAll(t.Context(), c, 10)
				require.Empty(t, failed)
				synctest.Wait() // a renewal in the background ends
			}
		}
		both()
		assert.Equal(t, 1, w.Ledger().TicketsIssued())
		time.Sleep(56 * time.Minute)
		both()
		assert.Equal(t, 2, w.Ledger().TicketsIssued(), "the first to renew renews for both")
		w.RevokeTokens()
		both()
		assert.Equal(t, 3, w.Ledger().TicketsIssued(), "the first to be refused drops it for both")
		for key, token := range store.tokens {
			assert.NotContains(t, key, w.AppSecret)
			assert.WithinDuration(t, time.Now().Add(time.Hour), token.Expiry, time.Second)
		}
		assert.Len(t, store.tokens, 1)
	})
}

// A token that a store has spoiled is done without: it is not sent.
func TestTokenStoreThatSpoilsTokens(t *testing.T) {
	for name, spoil := range map[string]func(hotelstays.Token) hotelstays.Token{
		"kept as JSON": func(token hotelstays.Token) (kept hotelstays.Token) {
			text, _ := json.Marshal(token)
			_ = json.Unmarshal(text, &kept)
			return kept
		},
		"kept with a line break": func(token hotelstays.Token) hotelstays.Token {
			token.Value = types.NewSecret(token.Value.Reveal() + "\n")
			return token
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &redactLog{}
				store := &spoilingStore{&memoryStore{tokens: map[string]hotelstays.Token{}}, spoil}
				w := newAuthWorld(t, time.Hour, hotelstays.WithTokenStore(store))
				other := w.connect(t, w.cred, hotelstays.WithTokenStore(store), log.option())
				defer w.end(other)
				for _, c := range []*hotelstays.Client{w.client, other} {
					failed, _ := callAll(t.Context(), c, 1)
					require.Empty(t, failed)
				}
				assert.Equal(t, 2, w.Ledger().TicketsIssued())
				assert.Equal(t, 2, w.Ledger().Count(hotelstaystest.OpQueryOrders), "no call is refused for its token")
				assert.Contains(t, log.String(), "token store failed")
			})
		})
	}
}

type spoilingStore struct {
	*memoryStore
	spoil func(hotelstays.Token) hotelstays.Token
}

func (s *spoilingStore) Store(ctx context.Context, key string, token hotelstays.Token) error {
	return s.memoryStore.Store(ctx, key, s.spoil(token))
}

// fleet is a number of clients that share a store, each as in a process of its own.
func (w *authWorld) fleet(t *testing.T, n int, store hotelstays.TokenStore) []*hotelstays.Client {
	clients := make([]*hotelstays.Client, n)
	for i := range clients {
		clients[i] = w.connect(t, w.cred, hotelstays.WithTokenStore(store), hotelstays.WithMaxAttempts(1))
	}
	return clients
}

// callFrom makes one call from each client at once and returns how many failed.
func callFrom(ctx context.Context, clients []*hotelstays.Client) (failed int) {
	errs := make(chan error, len(clients))
	for _, c := range clients {
		go func() {
			_, err := c.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{})
			errs <- err
		}()
	}
	for range clients {
		if <-errs != nil {
			failed++
		}
	}
	return failed
}

// Of a fleet that shares a leasing store one client fetches, however long it takes.
func TestLeasedTokenIsFetchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, time.Hour)
		clients := w.fleet(t, 50, newLeasingStore())
		defer w.end(clients...)
		slow := hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultDelay, Delay: 5 * time.Second}

		w.Inject(slow)
		assert.Zero(t, callFrom(t.Context(), clients))
		assert.Equal(t, 1, w.Ledger().Count(hotelstaystest.OpTicket), "at the start")

		time.Sleep(55 * time.Minute)
		w.Inject(slow)
		for range 8 { // while one client renews, the others neither wait nor renew
			start := time.Now()
			assert.Zero(t, callFrom(t.Context(), clients))
			assert.Less(t, time.Since(start), time.Second)
			time.Sleep(time.Second)
		}
		assert.Equal(t, 2, w.Ledger().Count(hotelstaystest.OpTicket), "inside the margin")

		w.RevokeTokens()
		w.Inject(slow)
		assert.Zero(t, callFrom(t.Context(), clients))
		assert.Equal(t, 3, w.Ledger().Count(hotelstaystest.OpTicket), "after a refusal")
	})
}

// A lease whose holder failed goes to the next in need.
func TestLeaseOfAFailedFetchIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, time.Hour)
		clients := w.fleet(t, 10, newLeasingStore())
		defer w.end(clients...)
		w.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultStatus})
		start := time.Now()
		assert.Equal(t, 1, callFrom(t.Context(), clients))
		assert.Less(t, time.Since(start), time.Second)
		assert.Equal(t, 2, w.Ledger().Count(hotelstaystest.OpTicket))
	})
}

// A lease that never comes free is waited for as long as a fetch can take.
func TestLeaseThatNeverEndsIsDoneWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newLeasingStore()
		w := newAuthWorld(t, time.Hour)
		clients := w.fleet(t, 1, store)
		defer w.end(clients...)
		store.leased = true
		start := time.Now()
		assert.Zero(t, callFrom(t.Context(), clients))
		assert.Greater(t, time.Since(start), 20*time.Second)
		assert.Equal(t, 1, w.Ledger().TicketsIssued())
	})
}

// A token that is stored between the look and the lease is found.
func TestLeaseIsFollowedByAnotherLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newLeasingStore()
		w := newAuthWorld(t, time.Hour)
		clients := w.fleet(t, 2, store)
		defer w.end(clients...)
		store.onLease = func() {
			store.onLease = nil
			assert.Zero(t, callFrom(t.Context(), clients[1:]))
		}
		assert.Zero(t, callFrom(t.Context(), clients[:1]))
		assert.Equal(t, 1, w.Ledger().TicketsIssued())
		assert.False(t, store.leased)
	})
}

// leasingStore is a TokenLeaser in memory.
type leasingStore struct {
	memoryStore
	leased  bool
	onLease func()
}

func newLeasingStore() *leasingStore {
	return &leasingStore{memoryStore: memoryStore{tokens: map[string]hotelstays.Token{}}}
}

func (s *leasingStore) Lease(context.Context, string) (release func(), err error) {
	if s.onLease != nil {
		s.onLease()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leased {
		return nil, nil
	}
	s.leased = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leased = false
	}, nil
}

func TestBrokenTokenStoreIsDoneWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memoryStore{err: errors.New("store is down")}
		w := newAuthWorld(t, time.Hour, hotelstays.WithTokenStore(store))
		defer w.end()
		failed, _ := callAll(t.Context(), w.client, 10)
		assert.Empty(t, failed)
		w.RevokeTokens()
		failed, _ = callAll(t.Context(), w.client, 10)
		assert.Empty(t, failed)
		assert.Equal(t, 2, w.Ledger().TicketsIssued())
	})
}

// A store that gives a refused token back is not believed.
func TestStoreThatKeepsARefusedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memoryStore{tokens: map[string]hotelstays.Token{}, keeps: true}
		w := newAuthWorld(t, time.Hour, hotelstays.WithTokenStore(store))
		defer w.end()
		callAll(t.Context(), w.client, 1)
		w.RevokeTokens()
		failed, _ := callAll(t.Context(), w.client, 1)
		assert.Empty(t, failed)
		assert.Equal(t, 2, w.Ledger().TicketsIssued())
	})
}

// memoryStore is a TokenStore in memory.
type memoryStore struct {
	mu     sync.Mutex
	tokens map[string]hotelstays.Token
	keeps  bool // Drop does nothing
	err    error
}

func (s *memoryStore) Load(_ context.Context, key string) (hotelstays.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens[key], s.err
}

func (s *memoryStore) Store(_ context.Context, key string, t hotelstays.Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.tokens[key] = t
	}
	return s.err
}

func (s *memoryStore) Drop(_ context.Context, key string, refused hotelstays.Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.keeps && s.tokens[key].Value.Equal(refused.Value) {
		delete(s.tokens, key)
	}
	return s.err
}
