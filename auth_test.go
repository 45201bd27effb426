// Tickets and OAuth tokens: how long the client uses them, and who shares them.

package hotelstays_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestNewFromEnvNamesEachFaultyVariable(t *testing.T) {
	const base, key, secret = "HOTELSTAYS_BASE_URL", "HOTELSTAYS_APP_KEY", "HOTELSTAYS_APP_SECRET"
	const host = "https://api.example.test"
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
		"no variable":                       {values: []string{"", "", ""}, faults: []string{key, secret, base}},
		"no secret":                         {values: []string{host, "key-1", ""}, faults: []string{secret}},
		"no base URL":                       {values: []string{"", "key-1", "secret-1"}, faults: []string{base}},
		"a base URL that is no URL":         {values: []string{"secret-1", "key-1", "secret-1"}, faults: []string{base}},
		"a masked secret":                   {values: []string{host, "key-1", "[redacted]"}, faults: []string{secret}},
		"blank values":                      {values: []string{" ", "\t", "  "}, faults: []string{key, secret, base}},
		"values that end with a line break": {values: []string{host + "\r\n", "key-1\n", "secret-1\n"}, faults: []string{key, secret, base}},
		"a secret of two lines":             {values: []string{host, "key-1", "secret-1\nsecret-2"}, faults: []string{secret}},
		"an invalid option": {values: []string{host, "key-1", "secret-1"},
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

// If the service refuses a token request, each call that waits for the token fails with this refusal.
func TestRefusedCredentialIsRetriedAfterGrowingPauses(t *testing.T) {
	for _, tc := range []struct {
		cred   hotelstays.Credential
		body   string
		kind   hotelstays.ErrorKind
		advice string
	}{
		{hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("wrong")}, `{"code":100000401,"msg":"m"}`,
			hotelstays.KindUnauthorized, "check that the credential is right"},
		{hotelstays.OAuthCredential{ClientID: "c", ClientSecret: types.NewSecret("secret"), Scopes: []types.Scope{"booking:read"}},
			`{"error":"invalid_scope"}`, hotelstays.KindInvalidScope, "request only scopes"},
	} {
		synctest.Test(t, func(t *testing.T) {
			service := &fixedAnswer{Status: 400, Body: tc.body}
			client := clientWith(t, service, tc.cred)
			var failed []error
			for range 60 {
				failed = callAll(t.Context(), slices.Repeat([]*hotelstays.Client{client}, 5)...)
				require.Len(t, failed, 5)
				for _, err := range failed {
					require.Equal(t, tc.kind, hotelstays.KindOf(err))
				}
				time.Sleep(time.Second)
			}
			assert.Len(t, service.Sent, 6, "requests in a minute")
			assert.Regexp(t, tc.advice+".*; the client asks for a token again in [2-4]s$", failed[0].Error())
		})
	}
}

func TestNextCallRequestsATokenAgainUnlessTheCredentialWasRefused(t *testing.T) {
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

// WithRawData redacts the token in an answer even after ctx has ended. The redaction of a longer answer would delay the end of the call.
func TestTokenAnswersAreAtMostOneMiB(t *testing.T) {
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
			assert.NotContains(t, err.Error(), "raise WithMaxResponseBytes")
		}
	}
}

// A token that no header can carry is unusable. Without a usable token the client does not send Book, so the outcome is known.
func TestBookIsNotSentWithoutAUsableToken(t *testing.T) {
	ticket := hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("secret-1")}
	oauth := hotelstays.OAuthCredential{ClientID: "c", ClientSecret: types.NewSecret("secret-1")}
	page := "<html>" + strings.Repeat("x", 2<<20)
	ok := func(body string) fixedAnswer { return fixedAnswer{Status: 200, Body: body} }
	for name, tc := range map[string]struct {
		cred   hotelstays.Credential
		answer fixedAnswer
	}{
		"a large page":                           {ticket, fixedAnswer{Status: 200, Body: page}},
		"a large page instead of an OAuth token": {oauth, fixedAnswer{Status: 200, Body: page}},
		"a ticket with a line break":             {ticket, ok(`{"code":0,"data":{"ticket":"tok-one-111\r\nX-More: 1"}}`)},
		"a ticket with a NUL":                    {ticket, ok(`{"code":0,"data":{"ticket":"\u0000tok-one-111"}}`)},
		"a ticket that ends with a space":        {ticket, ok(`{"code":0,"data":{"ticket":"tok-one-111 "}}`)},
		"an OAuth token with a line break":       {oauth, ok(`{"code":0,"data":{"access_token":"tok-one-111\n"}}`)},
		"two OAuth tokens": {oauth,
			ok(`{"code":0,"access_token":"tok-one-111","data":{"access_token":"tok-two-222"}}`)},
		"two OAuth tokens, one of them blank": {oauth, ok(`{"code":0,"access_token":"tok-one-111","data":{"access_token":" "}}`)},
	} {
		inBubble(t, name, func(t *testing.T) {
			client := clientWith(t, &tc.answer, tc.cred)
			begun := time.Now()
			for name, call := range map[string]testkit.Call{
				"Book":           operationCalls[hotelstays.OpBook],
				"QueryOrders":    operationCalls[hotelstays.OpQueryOrders],
				"BookAndRecover": testkit.Helpers("")["BookAndRecover"],
			} {
				err := call(t.Context(), client)
				transport := errorAs[*hotelstays.TransportError](t, err, name)
				assert.True(t, transport.NoToken && !transport.Sent, name)
				unusable := errorAs[*hotelstays.DecodeError](t, err, name)
				assert.Contains(t, []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpOAuthToken}, unusable.Operation, name)
				assert.Equal(t, hotelstays.KindDecode, hotelstays.KindOf(err), name)
				assert.NotContains(t, err.Error(), "tok-", name)
			}
			assert.Zero(t, time.Since(begun), "BookAndRecover does not poll for an order")
			for _, sent := range tc.answer.Sent {
				assert.Regexp(t, "^/api/(auth|v1/oauth)/", sent.URL.Path)
			}
		})
	}
	client := clientWith(t, saying(`{"code":0,"access_token":"tok-one-111","data":{"access_token":"tok-one-111"}}`), oauth)
	resp, err := client.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "c", ClientSecret: types.NewSecret("secret-1")})
	require.NoError(t, err, "an answer may have the same token twice")
	assert.Equal(t, "tok-one-111", resp.AccessToken.Reveal())
}

func TestClientsShareATokenThroughTheirTokenStore(t *testing.T) {
	for ttl, life := range map[time.Duration]time.Duration{0: 24 * time.Hour, time.Hour: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := newMemoryStore()
			w := newAuthWorld(t, ttl, hotelstays.WithTokenStore(store))
			other := w.connect(t, w.cred, hotelstays.WithTokenStore(store))
			both := func() {
				for _, c := range []*hotelstays.Client{w.client, other} {
					require.Empty(t, callAll(t.Context(), slices.Repeat([]*hotelstays.Client{c}, 10)...))
					synctest.Wait() // wait for a renewal of the token, which runs in the background
				}
			}
			both()
			assert.Equal(t, 1, w.Ledger().TicketsIssued())
			time.Sleep(life - 4*time.Minute)
			both()
			assert.Equal(t, 2, w.Ledger().TicketsIssued(), "the first client to renew renews for the other client, too")
			w.RevokeTokens()
			both()
			assert.Equal(t, 3, w.Ledger().TicketsIssued(), "the first refused client deletes the token for the other client, too")
			require.Len(t, store.held, 1)
			for _, token := range store.held {
				assert.WithinDuration(t, time.Now().Add(life), token.Expiry, time.Second)
			}
		})
	}
}

// Credentials with equal ids but different secrets share no token. A static token is never in the token store.
func TestOnlyEqualCredentialsShareAToken(t *testing.T) {
	const url = "https://api.example.test"
	ticket := func(key, secret string) hotelstays.Credential {
		return hotelstays.TicketCredential{AppKey: key, AppSecret: types.NewSecret(secret)}
	}
	oauth := func(id, secret string, scopes ...types.Scope) hotelstays.Credential {
		return hotelstays.OAuthCredential{ClientID: id, ClientSecret: types.NewSecret(secret), Scopes: scopes}
	}
	service := &fixedAnswer{Status: 200, Body: `{"code":0,"data":{"ticket":"t","access_token":"t","orders":[]}}`}
	used := map[string]bool{}
	keyOf := func(base string, cred hotelstays.Credential) string {
		store := newMemoryStore()
		client := clientAt(t, base, cred, service, hotelstays.WithTokenStore(store))
		require.NoError(t, operationCalls[hotelstays.OpQueryOrders](t.Context(), client))
		return strings.Join(slices.Collect(maps.Keys(store.held)), "|")
	}
	for i, same := range [][]hotelstays.Credential{
		{ticket("acme", "secret-1"), ticket("acme", "secret-1")},
		{ticket("acme", "secret-2")},
		{ticket("acmes", "ecret-1")},
		{oauth("acme", "secret-1")},
		{oauth("acme", "secret-1", "content:read")},
		{oauth("acme", "secret-2", "content:read")},
		{oauth("acme:content", "secret-1", "read")},
		{oauth("acme", "secret-1", "content:read", "search:read"), oauth("acme", "secret-1", "search:read", "content:read")},
	} {
		key := keyOf(url, same[0])
		assert.NotContains(t, used, key, "%d", i)
		assert.NotContains(t, key, "secret-")
		used[key] = true
		for _, cred := range same[1:] {
			assert.Equal(t, key, keyOf(url, cred), "%d", i)
		}
	}
	assert.NotContains(t, used, keyOf(url+"/test", ticket("acme", "secret-1")))
	assert.Empty(t, keyOf(url, bearerToken("token-1")))
}

// After a refusal the client calls the function once more, because the secret may have been rotated.
func TestClientCallsTheSecretFunctionForEachTokenAndAfterARefusal(t *testing.T) {
	var asked, fetched int
	var vault func() (string, error)
	from := func(ctx context.Context) (types.Secret, error) {
		asked++
		_, bounded := ctx.Deadline()
		assert.True(t, bounded)
		secret, err := vault()
		return types.NewSecret(secret), err
	}
	for name, cred := range map[string]hotelstays.Credential{
		"ticket": hotelstays.TicketCredential{AppKey: "key", AppSecretFrom: from, TTL: time.Hour},
		"oauth":  hotelstays.OAuthCredential{ClientID: "key", ClientSecretFrom: from, Lifetime: time.Hour},
	} {
		inBubble(t, name, func(t *testing.T) {
			accepted, issued := "secret-1-uvwxyz", 0
			service := transportFunc(func(r *http.Request) (*http.Response, error) {
				if token := fmt.Sprintf("Bearer issued-%d", issued); r.Header.Get("Authorization") == token {
					return reply(200, `{"code":0,"data":{"orders":[]}}`), nil
				}
				fetched++
				if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), accepted) {
					return reply(401, fmt.Sprintf(`{"code":100000401,"msg":%q}`, body)), nil
				}
				issued++
				return reply(200, fmt.Sprintf(`{"code":0,"data":{"ticket":"issued-%[1]d","access_token":"issued-%[1]d"}}`, issued)), nil
			})
			log, written, _ := logOf(t, slog.LevelDebug)
			store := newMemoryStore()
			client := clientWith(t, service, cred, hotelstays.WithLogger(log), hotelstays.WithTokenStore(store))
			errVault := errors.New("the vault is sealed")
			for _, step := range []struct {
				name     string
				accepted string
				answers  []any // the secrets and errors that the function returns
				fetches  int
				fails    error
			}{
				{"the first token", "secret-1-uvwxyz", []any{"secret-1-uvwxyz"}, 1, nil},
				{"a renewed token", "secret-1-uvwxyz", []any{"secret-1-uvwxyz"}, 1, nil},
				{"a secret that is rotated", "secret-2-uvwxyz", []any{"secret-1-uvwxyz", "secret-2-uvwxyz"}, 2, nil},
				{"a secret that is refused", "secret-3-uvwxyz", []any{"secret-2-uvwxyz", "secret-2-uvwxyz"}, 1, hotelstays.ErrUnauthorized},
				{"a refused secret, then a function that fails", "secret-3-uvwxyz", []any{"secret-2-uvwxyz", errVault}, 1, hotelstays.ErrUnauthorized},
				{"a function that fails", "secret-3-uvwxyz", []any{errVault}, 0, errVault},
				{"an accepted secret after the failures", "secret-3-uvwxyz", []any{"secret-3-uvwxyz"}, 1, nil},
			} {
				answers := step.answers
				vault = func() (string, error) {
					require.NotEmpty(t, answers, step.name)
					answer := answers[0]
					answers = answers[1:]
					if err, failed := answer.(error); failed {
						return "", err
					}
					return answer.(string), nil
				}
				accepted, asked, fetched = step.accepted, 0, 0
				time.Sleep(2 * time.Hour)
				err := operationCalls[hotelstays.OpQueryOrders](t.Context(), client)
				assert.Equal(t, len(step.answers), asked, step.name)
				assert.Equal(t, step.fetches, fetched, step.name)
				assert.ErrorIs(t, err, step.fails, step.name)
				if step.fails != nil {
					assert.True(t, errorAs[*hotelstays.TransportError](t, err).NoToken, step.name)
					assert.NotContains(t, err.Error(), "uvwxyz", step.name)
				}
			}
			assert.NotContains(t, written.String(), "uvwxyz")
			keys := strings.Join(slices.Collect(maps.Keys(store.held)), " ")
			assert.Len(t, store.held, 3, "a token for each secret")
			assert.NotContains(t, keys, "uvwxyz")

			vault = func() (string, error) { return "", nil }
			time.Sleep(2 * time.Hour)
			err := operationCalls[hotelstays.OpBook](t.Context(), client)
			assert.ErrorContains(t, err, "SecretFrom returned an invalid secret: it is required")
			assert.Equal(t, hotelstays.KindTransport, hotelstays.KindOf(err), "the caller's request is not at fault")
		})
	}
	_, err := hotelstays.New("https://host.example",
		hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("s"), AppSecretFrom: from})
	assert.Equal(t, []string{"AppSecretFrom"}, faultPaths(t, err))
}

func TestCallWaitsAtMost20SecondsForTheSecretFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context) (types.Secret, error) {
			<-ctx.Done()
			return types.Secret{}, ctx.Err()
		}
		client := clientWith(t, noSend{t}, hotelstays.TicketCredential{AppKey: "key", AppSecretFrom: hangs})
		start := time.Now()
		err := operationCalls[hotelstays.OpQueryOrders](within(t, time.Minute), client)
		assert.Equal(t, 20*time.Second, time.Since(start))
		assert.Equal(t, hotelstays.KindTimeout, hotelstays.KindOf(err))
	})
}

func TestTokenDamagedByItsStoreIsNotSent(t *testing.T) {
	for name, damage := range map[string]func(hotelstays.Token) hotelstays.Token{
		"stored as JSON, which masks the token": func(token hotelstays.Token) (kept hotelstays.Token) {
			text, _ := json.Marshal(token)
			_ = json.Unmarshal(text, &kept)
			return kept
		},
		"stored with a line break": func(token hotelstays.Token) hotelstays.Token {
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
			assert.Equal(t, 2, w.Ledger().Count(hotelstays.OpQueryOrders), "no damaged token is sent")
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

func TestClientsWithATokenLeaserFetchOneTicket(t *testing.T) {
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
