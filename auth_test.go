// Tickets, OAuth tokens, and how long the client uses them.

package hotelstays_test

import (
	"context"
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
