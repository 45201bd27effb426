// Tickets and OAuth tokens: how long the client uses them, and who shares them.

package hotelstays_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestNewFromEnv(t *testing.T) {
	const base, key, secret = "HOTELSTAYS_BASE_URL", "HOTELSTAYS_APP_KEY", "HOTELSTAYS_APP_SECRET"
	set := func(t *testing.T, values ...string) {
		for i, name := range []string{base, key, secret} {
			t.Setenv(name, values[i])
		}
	}
	for name, tc := range map[string]struct {
		values []string
		opts   []hotelstays.Option
		faults []string
	}{
		"none":             {values: []string{"", "", ""}, faults: []string{key, secret, base}},
		"no secret":        {values: []string{"https://api.example.test", "key-1", ""}, faults: []string{secret}},
		"no base URL":      {values: []string{"", "key-1", "secret-1"}, faults: []string{base}},
		"a wrong base URL": {values: []string{"secret-1", "key-1", "secret-1"}, faults: []string{base}},
		"a masked secret":  {values: []string{"https://api.example.test", "key-1", "[redacted]"}, faults: []string{secret}},
		"blanks":           {values: []string{" ", "\t", "  "}, faults: []string{key, secret, base}},
		"line ends":        {values: []string{"https://api.example.test\r\n", "key-1\n", "secret-1\n"}, faults: []string{key, secret, base}},
		"two lines":        {values: []string{"https://api.example.test", "key-1", "secret-1\nsecret-2"}, faults: []string{secret}},
		"an invalid option": {values: []string{"https://api.example.test", "key-1", "secret-1"},
			opts: []hotelstays.Option{nil}, faults: []string{"opts"}},
	} {
		t.Run(name, func(t *testing.T) {
			set(t, tc.values...)
			client, err := hotelstays.NewFromEnv(tc.opts...)
			assert.Nil(t, client)
			assert.Equal(t, tc.faults, faultPaths(t, err))
			assert.NotContains(t, err.Error(), "secret-1")
		})
	}
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		set(t, srv.URL, srv.AppKey, srv.AppSecret)
		client, err := hotelstays.NewFromEnv(hotelstays.WithHTTPClient(srv.Client()))
		require.NoError(t, err)
		defer client.CloseIdleConnections()
		_, err = client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
		assert.NoError(t, err)
	})
}

type authWorld struct {
	*hotelstaystest.Server
	client *hotelstays.Client
	cred   hotelstays.TicketCredential
}

func newAuthWorld(t *testing.T, ttl time.Duration, opts ...hotelstays.Option) *authWorld {
	srv, _ := newSandbox(t, hotelstaystest.Config{NoRateLimits: true})
	w := &authWorld{Server: srv, cred: ticketOf(srv)}
	w.cred.TTL = ttl
	w.client = w.connect(t, w.cred, opts...)
	return w
}

func (w *authWorld) connect(t *testing.T, cred hotelstays.Credential, opts ...hotelstays.Option) *hotelstays.Client {
	return newClient(t, w.Server, cred, append(opts, hotelstays.WithRateLimiter(noRateLimits{}))...)
}

// callAll makes a call from each client at once, and returns the errors.
func callAll(ctx context.Context, clients ...*hotelstays.Client) (failed []error) {
	errs := make(chan error, len(clients))
	for _, c := range clients {
		go func() {
			_, err := c.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{})
			errs <- err
		}()
	}
	for range clients {
		if err := <-errs; err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// A definite refusal is shared by all who wait, and the credential is tried ever more rarely.
func TestRefusedCredentialIsNotHammered(t *testing.T) {
	for _, tc := range []struct {
		cred   hotelstays.Credential
		body   string
		kind   hotelstays.ErrorKind
		advice string
	}{
		{hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("wrong")}, `{"code":100000401,"msg":"m"}`,
			hotelstays.KindUnauthorized, "check that the credential is active"},
		{hotelstays.OAuthCredential{ClientID: "c", ClientSecret: types.NewSecret("secret"), Scopes: []types.Scope{"booking:read"}},
			`{"error":"invalid_scope"}`, hotelstays.KindInvalidScope, "ask only for scopes"},
	} {
		synctest.Test(t, func(t *testing.T) {
			service := &fixedAnswer{Status: 400, Body: tc.body}
			client := clientWith(t, service, tc.cred)
			var failed []error
			for range 60 {
				failed = callAll(t.Context(), slices.Repeat([]*hotelstays.Client{client}, 20)...)
				require.Len(t, failed, 20)
				for _, err := range failed {
					require.Equal(t, tc.kind, hotelstays.KindOf(err))
				}
				time.Sleep(time.Second)
			}
			assert.Len(t, service.Sent, 6, "in a minute")
			assert.Regexp(t, tc.advice+" .*; the client tries again in [2-4]s$", failed[0].Error())
		})
	}
}

func TestFailureOfTheServiceIsNotRemembered(t *testing.T) {
	for status, body := range map[int]string{
		500: `{"code":100000500,"msg":"failed"}`,
		429: `{"code":100000429,"msg":"too many requests"}`,
		403: "<html>a proxy's page</html>",
	} {
		for _, cred := range []hotelstays.Credential{
			hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("secret")},
			hotelstays.OAuthCredential{ClientID: "c", ClientSecret: types.NewSecret("secret"), Scopes: []types.Scope{types.ScopeBookingRead}},
		} {
			synctest.Test(t, func(t *testing.T) {
				answer := &fixedAnswer{Status: status, Body: body}
				client := clientWith(t, answer, cred)
				for range 4 {
					require.Error(t, operationCalls[hotelstays.OpDestinations](t.Context(), client))
				}
				assert.Len(t, answer.Sent, 4, "HTTP %d to %T", status, cred)
			})
		}
	}
}

// An answer that holds a token is small. Masking a large one, for WithRawData, would not end
// with ctx.
func TestTokenAnswersAreSmall(t *testing.T) {
	for _, size := range []int{1 << 20, 1<<20 + 1} {
		const head, tail = `{"code":0,"data":{"ticket":"tok-1","access_token":"tok-1","x":"`, `"}}`
		body := head + strings.Repeat("x", size-len(head)-len(tail)) + tail
		client := clientThrough(t, saying(body), hotelstays.WithMaxResponseBytes(1<<30))
		for _, op := range []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpOAuthToken} {
			err := operationCalls[op](t.Context(), client, hotelstays.WithRawData())
			if size == 1<<20 {
				require.NoError(t, err)
				continue
			}
			assert.ErrorContains(t, err, "the answer is larger than the limit of 1048576 bytes")
			assert.NotContains(t, err.Error(), "raise the client's limit")
		}
	}
}

// Tickets that are accepted and do not last are fetched ever more rarely, and the error says when.
func TestTicketsThatDoNotLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, 0)
		for range 3 {
			assert.Empty(t, callAll(t.Context(), w.client))
			w.RevokeTokens()
		}
		failed := callAll(t.Context(), w.client)
		require.Len(t, failed, 1)
		assert.ErrorContains(t, failed[0], "another one is asked for in 2s")
		time.Sleep(2 * time.Second)
		assert.Empty(t, callAll(t.Context(), w.client))
		assert.Equal(t, 4, w.Ledger().TicketsIssued())
	})
}

func TestTokenStoreIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		w := newAuthWorld(t, time.Hour, hotelstays.WithTokenStore(store))
		other := w.connect(t, w.cred, hotelstays.WithTokenStore(store))
		both := func() {
			for _, c := range []*hotelstays.Client{w.client, other} {
				require.Empty(t, callAll(t.Context(), slices.Repeat([]*hotelstays.Client{c}, 10)...))
				synctest.Wait() // for a renewal
			}
		}
		both()
		assert.Equal(t, 1, w.Ledger().TicketsIssued())
		time.Sleep(56 * time.Minute)
		both()
		assert.Equal(t, 2, w.Ledger().TicketsIssued(), "the first to renew renews for both")
		w.RevokeTokens()
		both()
		assert.Equal(t, 3, w.Ledger().TicketsIssued(), "the first to be refused deletes it for both")
		assert.WithinDuration(t, time.Now().Add(time.Hour), store.held[w.URL+" ticket:"+w.AppKey].Expiry, time.Second)
		assert.Len(t, store.held, 1)
	})
}

// Tokens of other environments, credentials and scopes are other tokens. One that the
// caller got elsewhere is not shared.
func TestKeysOfATokenStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		w := newAuthWorld(t, time.Hour, hotelstays.WithTokenStore(store))
		oauth := func(scopes ...types.Scope) hotelstays.Credential {
			return hotelstays.OAuthCredential{ClientID: w.ClientID, ClientSecret: types.NewSecret(w.ClientSecret), Scopes: scopes}
		}
		clients := []*hotelstays.Client{w.client}
		for _, cred := range []hotelstays.Credential{
			oauth(types.ScopeBookingRead),
			oauth(types.ScopeSearchRead, types.ScopeBookingRead), oauth(types.ScopeBookingRead, types.ScopeSearchRead),
			hotelstays.TokenCredential{Token: types.NewSecret("token")},
		} {
			clients = append(clients, w.connect(t, cred, hotelstays.WithTokenStore(store)))
		}
		callAll(t.Context(), clients...)
		assert.ElementsMatch(t, []string{
			w.URL + " ticket:" + w.AppKey,
			w.URL + " oauth:" + w.ClientID + ":booking:read",
			w.URL + " oauth:" + w.ClientID + ":booking:read search:read",
		}, slices.Collect(maps.Keys(store.held)))
	})
}

func TestTokenDamagedByItsStoreIsNotSent(t *testing.T) {
	for name, damage := range map[string]func(hotelstays.Token) hotelstays.Token{
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
		inBubble(t, name, func(t *testing.T) {
			log, written, _ := logOf(t, slog.LevelWarn)
			store := &damagingStore{newMemoryStore(), damage}
			w := newAuthWorld(t, time.Hour, hotelstays.WithTokenStore(store))
			other := w.connect(t, w.cred, hotelstays.WithTokenStore(store), hotelstays.WithLogger(log))
			for _, c := range []*hotelstays.Client{w.client, other} {
				require.Empty(t, callAll(t.Context(), c))
			}
			assert.Equal(t, 2, w.Ledger().TicketsIssued())
			assert.Equal(t, 2, w.Ledger().Count(hotelstays.OpQueryOrders), "no call is refused for its token")
			assert.Contains(t, written.String(), "token store failed")
		})
	}
}

type damagingStore struct {
	*sharedTokens
	damage func(hotelstays.Token) hotelstays.Token
}

func (s *damagingStore) Store(ctx context.Context, key string, token hotelstays.Token) error {
	return s.sharedTokens.Store(ctx, key, s.damage(token))
}

func TestLeasedTicketIsFetchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &leasingStore{sharedTokens: newMemoryStore()}
		w := newAuthWorld(t, time.Hour)
		clients := make([]*hotelstays.Client, 10)
		for i := range clients {
			clients[i] = w.connect(t, w.cred, hotelstays.WithTokenStore(store))
		}
		w.Inject(hotelstaystest.Fault{Operation: hotelstays.OpTicket, Kind: hotelstaystest.FaultDelay, Delay: 5 * time.Second})
		assert.Empty(t, callAll(t.Context(), clients...))
		assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpTicket))
	})
}

func newMemoryStore() *sharedTokens { return &sharedTokens{held: map[string]hotelstays.Token{}} }

type leasingStore struct {
	*sharedTokens
	leased bool
}

func (s *leasingStore) TryLease(context.Context, string) (release func(), ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leased {
		return nil, false, nil
	}
	s.leased = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leased = false
	}, true, nil
}
