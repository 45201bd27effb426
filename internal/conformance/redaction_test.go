// No secret, token or passport number is in a printed value, an error or a log, even if the service echoes it.

package conformance_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

// Every secret of these tests begins with the canary, so that the tests also find a part of a secret.
const (
	canary         = "CANARY"
	canarySecret   = canary + "-app-secret-0001"
	canaryClient   = canary + "-client-secret-0002"
	canaryToken    = canary + ".token.0003"
	canaryPassport = canary + "P0000004"
	canaryRefresh  = canary + "-refresh-0005"
)

// canaryForms has the canary as plain text, in hexadecimal, as numbers, in base64 and with JSON escapes.
var canaryForms = func() []string {
	raw := []byte(canary)
	forms := []string{
		canary,
		fmt.Sprintf("%x", raw), fmt.Sprintf("%X", raw), fmt.Sprintf("% x", raw), fmt.Sprintf("% X", raw),
		fmt.Sprintf("%#v", raw)[len("[]byte{"):30],
		strings.Trim(fmt.Sprint(raw), "[]"),
		strings.Trim(fmt.Sprintf("%U", raw), "[]"),
		`\u0043\u0041`,
	}
	for pad := range 3 { // the canary may begin at any place of a base64 group
		encoded := base64.StdEncoding.EncodeToString(append(make([]byte, pad), raw...))
		forms = append(forms, encoded[4:8])
	}
	return forms
}()

func leaks(text string) bool {
	return slices.ContainsFunc(canaryForms, func(form string) bool { return strings.Contains(text, form) })
}

func TestFunctionLeaksFindsEachFormOfASecret(t *testing.T) {
	type plain struct{ Value string }
	for _, verb := range verbs {
		assert.True(t, leaks(fmt.Sprintf(verb, plain{canarySecret})), verb)
		if verb != "%p" && verb != "%t" { // %p prints an address, and %t an error for each byte
			assert.True(t, leaks(fmt.Sprintf(verb, json.RawMessage(`{"a":"`+canarySecret+`"}`))), verb)
		}
	}
	for _, before := range []string{"", "a", "ab", "abc"} {
		assert.True(t, leaks(base64.StdEncoding.EncodeToString([]byte(before+canarySecret))), before)
	}
	assert.False(t, leaks("a text without it"))
}

var verbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t", "%w", "%p"}

// printed returns the texts of v from package fmt, JSON and slog.
func printed(v any) map[string]string {
	texts := map[string]string{}
	for _, verb := range verbs {
		texts["fmt "+verb] = fmt.Sprintf(verb, v)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} { // fmt must also hide the secrets of a value inside another value
		texts["fmt "+verb+" inside"] = fmt.Sprintf(verb, []any{v, map[string]any{"v": v}, struct{ V any }{v}})
	}
	if encoded, err := json.Marshal(v); err == nil {
		texts["json"] = string(encoded)
	} else {
		texts["json"] = err.Error()
	}
	for name, handler := range map[string]func(io.Writer) slog.Handler{
		"slog text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"slog JSON": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	} {
		var b strings.Builder
		slog.New(handler(&b)).With("with", v).WithGroup("group").Info("message", "v", v, "any", slog.AnyValue(v), slog.Group("g", "v", v))
		texts[name] = b.String()
	}
	return texts
}

// checkNoLeak fails the test if a text of v has a canary. It also checks each error that an error wraps.
func checkNoLeak(t *testing.T, what string, v any) {
	t.Helper()
	texts := printed(v)
	for _, how := range slices.Sorted(maps.Keys(texts)) {
		if text := texts[how]; leaks(text) {
			t.Errorf("%s: %s shows a secret: %.400q", what, how, text)
			break
		}
	}
	if err, ok := v.(error); ok {
		if inner := errors.Unwrap(err); inner != nil {
			checkNoLeak(t, what+", wrapped", inner)
		}
	}
}

func bookWithPassport() *hotelstays.BookRequest {
	return &hotelstays.BookRequest{SessionID: "s", CustomerReferenceNo: "ref-1", RatePkgID: "pkg",
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One", PassportNumber: types.NewSecret(canaryPassport)}}}
}

func TestPrintedValuesHideSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		values := secretValues(t)
		synctest.Wait() // waits until no token is being fetched, because fmt reads all fields of a client
		for what, v := range values {
			checkValue(t, what, v)
		}
	})
}

func secretValues(t *testing.T) map[string]any {
	ticket := hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret(canarySecret), TTL: time.Hour}
	oauth := hotelstays.OAuthCredential{ClientID: "id", ClientSecret: types.NewSecret(canaryClient),
		Scopes: []types.Scope{types.ScopeSearchRead}}
	token := hotelstays.Token{Value: types.NewSecret(canaryToken), Expiry: time.Unix(1_800_000_000, 0)}
	client := func(cred hotelstays.Credential) *hotelstays.Client {
		c := clientWith(t, saying(`{"code":0,"data":{"access_token":"`+canaryToken+`"}}`), cred)
		_, err := c.Destinations(t.Context(), &hotelstays.DestinationsRequest{}) // after this call, the client holds a token
		require.NoError(t, err)
		return c
	}
	static, withOAuth := client(bearerToken(canaryToken)), client(oauth)
	refused := clientWith(t, tokenThen(`{"code":100000401,"msg":"no"}`), ticketPair(canarySecret))
	require.Error(t, operationCalls[hotelstays.OpDestinations](t.Context(), refused)) // now the client remembers a refused token
	hookOpts := hotelstays.WebhookOptions{Secrets: []types.Secret{types.NewSecret(canarySecret)}}
	hook, err := hotelstays.NewWebhookHandler(hookOpts, func(context.Context, *hotelstays.WebhookEvent) error { return nil })
	require.NoError(t, err)

	return map[string]any{
		"types.Secret":               types.NewSecret(canarySecret),
		"[]types.Secret":             []types.Secret{types.NewSecret(canarySecret)},
		"TicketCredential":           ticket,
		"OAuthCredential":            oauth,
		"TokenCredential":            bearerToken(canaryToken),
		"TicketRequest":              hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret(canarySecret)},
		"TicketResponse":             hotelstays.TicketResponse{Ticket: types.NewSecret(canaryToken)},
		"OAuthTokenRequest":          hotelstays.OAuthTokenRequest{ClientID: "id", ClientSecret: types.NewSecret(canaryClient)},
		"*OAuthTokenRequest":         &hotelstays.OAuthTokenRequest{ClientID: "id", ClientSecret: types.NewSecret(canaryClient)},
		"OAuthTokenResponse":         hotelstays.OAuthTokenResponse{AccessToken: types.NewSecret(canaryToken)},
		"types.Guest":                bookWithPassport().Guests[0],
		"[]types.Guest":              bookWithPassport().Guests,
		"BookRequest":                *bookWithPassport(),
		"Token":                      token,
		"map of Tokens":              map[string]hotelstays.Token{"key": token},
		"*Client with a token":       static,
		"*Client with OAuth":         withOAuth,
		"Client by value":            *withOAuth,
		"Client with a token, value": *static,
		"*Client that was refused":   refused,
		"*WebhookHandler":            hook,
		"*http.Server with a hook":   &http.Server{Handler: hook},
		"WebhookOptions":             hookOpts,
	}
}

// checkValue prints a value in all ways, and also as an unexported field of a struct. For such a field, fmt does not
// call the value's methods. Callers keep clients and handlers in unexported fields.
func checkValue(t *testing.T, what string, v any) {
	checkNoLeak(t, what, v)
	checkNoLeak(t, what+", unexported", struct{ v any }{v})
	var diff collectedDiff
	assert.Equal(&diff, v, reflect.Zero(reflect.TypeOf(v)).Interface())
	assert.Equal(&diff, struct{ v any }{v}, struct{ v any }{})
	assert.False(t, leaks(diff.text), "a diff of %s shows a secret: %.400s", what, diff.text)
	assert.NotEmpty(t, diff.text)
	pointer := reflect.New(reflect.TypeOf(v))
	pointer.Elem().Set(reflect.ValueOf(v))
	checkNoLeak(t, "*"+what, pointer.Interface())
	checkNoLeak(t, "*"+what+", unexported", struct{ v any }{pointer.Interface()})
}

type collectedDiff struct{ text string }

func (d *collectedDiff) Errorf(format string, args ...any) { d.text += fmt.Sprintf(format, args...) }

// tokenThen answers a token request with a token, and any other request with a refusal. If refusal is empty, the other
// requests fail.
func tokenThen(refusal string) transportFunc {
	return func(r *http.Request) (*http.Response, error) {
		switch {
		case strings.Contains(r.URL.Path, "ticket") || strings.Contains(r.URL.Path, "oauth"):
			return reply(200, `{"code":0,"data":{"ticket":"`+canaryToken+`","access_token":"`+canaryToken+`"}}`), nil
		case refusal == "":
			return nil, errors.New("malformed answer of supersecretvalue")
		}
		return reply(401, refusal), nil
	}
}

func TestPrintedValuesShowAMaskInPlaceOfSecrets(t *testing.T) {
	ticket := hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret(canarySecret), TTL: time.Hour}
	request := hotelstays.TicketRequest{AppKey: ticket.AppKey, AppSecret: ticket.AppSecret, TTL: ticket.TTL}
	assert.Equal(t, "{key [redacted] 1h0m0s}", fmt.Sprintf("%v", request))
	assert.Equal(t, "{AppKey:key AppSecret:[redacted] TTL:1h0m0s}", fmt.Sprintf("%+v", request))
	assert.Equal(t, "hotelstays.TicketRequest{AppKey:\"key\", AppSecret:[redacted], TTL:3600000000000}", fmt.Sprintf("%#v", request))
	assert.Equal(t, "{Token:[redacted]}", fmt.Sprintf("%+v", bearerToken(canaryToken)))

	c, err := hotelstays.New("https://api.example.test/env", ticket)
	require.NoError(t, err)
	for _, verb := range verbs[:len(verbs)-2] { // for %w and %p, fmt does not call the value's methods
		assert.Equal(t, "hotelstays.Client(https://api.example.test/env)", fmt.Sprintf(verb, c))
	}

	encoded, err := json.Marshal(bookWithPassport())
	require.NoError(t, err)
	assert.Equal(t, `{"sessionId":"s","customerReferenceNo":"ref-1","ratePkgId":"pkg","holder":{"firstName":"Guest","lastName":"One"},`+
		`"guests":[{"roomIndex":1,"firstName":"Guest","lastName":"One","passportNumber":"[redacted]"}]}`, string(encoded))

	rt := &fixedAnswer{Status: 401, Body: `{"code":100000401,"msg":"no pair key/` + canarySecret + `"}`,
		Header: map[string]string{"Request-Id": "service-1"}}
	_, err = clientThrough(t, rt).Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret(canarySecret)},
		hotelstays.WithTraceID("trace-1"))
	assert.EqualError(t, err, `hotelstays: Ticket: credential refused (HTTP 401, code 100000401,`+
		` "no pair key/[redacted]"), request id service-1; `+
		`check that the credential is right, and that it belongs to this base URL`)
}

// The key of a gateway may be in a header of WithHeader, and the gateway may echo this key.
func TestErrorsHideTheKeyInAHeaderOfWithHeader(t *testing.T) {
	log := &debugLog{}
	client := clientThrough(t, &fixedAnswer{Status: 403, Body: "no such key: " + canarySecret + " of agency/2.0"}, log.option(),
		hotelstays.WithHeader("X-Api-Key", canarySecret), hotelstays.WithHeader("User-Agent", "agency/2.0"))
	err := operationCalls[hotelstays.OpQueryOrders](t.Context(), client)
	assert.ErrorContains(t, err, "no such key: [redacted] of agency/2.0")
	checkNoLeak(t, "a gateway's key", err)
	assert.NotContains(t, log.String(), canarySecret)
}

func TestValidationErrorsHideSecrets(t *testing.T) {
	c := clientThrough(t, nil)
	long := types.NewSecret(strings.Repeat(canaryPassport, 5))
	book := bookWithPassport()
	book.Guests[0].PassportNumber = long
	_, err := c.Book(t.Context(), book)
	require.Error(t, err)
	checkNoLeak(t, "Book", err)

	_, err = c.Ticket(t.Context(), &hotelstays.TicketRequest{AppSecret: types.NewSecret(canarySecret), TTL: -1})
	require.Error(t, err)
	checkNoLeak(t, "Ticket", err)

	_, err = hotelstays.New("https://user:"+canarySecret+"@api.example.test",
		hotelstays.TokenCredential{Token: types.NewSecret(canaryToken + "\n")}, hotelstays.WithMaxAttempts(0))
	require.Error(t, err)
	checkNoLeak(t, "New", err)
}

// echo is a transport that answers with the secrets of the request, also in the ids. Errors and logs quote these ids.
type echo struct {
	status int
	answer func(secrets []string) string
}

func (e echo) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var secrets []string
	for _, secret := range []string{canarySecret, canaryClient, canaryPassport} {
		if bytes.Contains(body, []byte(secret)) {
			secrets = append(secrets, secret)
		}
	}
	if token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); token != "" {
		secrets = append(secrets, token)
	}
	if len(secrets) == 0 {
		return nil, errors.New("the request holds no secret: this test is wrong")
	}
	header := http.Header{"Content-Type": {"text/html"}, "Request-Id": {"for-" + secrets[0]}, "Trace-Id": {secrets[0]}, "Set-Cookie": secrets}
	return &http.Response{StatusCode: e.status, Header: header,
		Body: io.NopCloser(strings.NewReader(e.answer(secrets))), ContentLength: -1, Request: r}, nil
}

var echoes = map[string]func([]string) string{
	"in msg": func(s []string) string { return `{"code":100000400,"msg":"refused: ` + strings.Join(s, ", ") + `"}` },
	"in msg of a success": func(s []string) string {
		return `{"code":0,"msg":"for ` + strings.Join(s, ", ") + `","data":{"ticket":"CANARY-new",` +
			`"access_token":"CANARY-new","hotelOrder":{"status":1}}}`
	},
	"in msg that is an object": func(s []string) string {
		return `{"code":7,"msg":{"appSecret":"` + strings.Join(s, `","b":"`) + `"}}`
	},
	"on a page": func(s []string) string {
		return "<html><pre>POST /x\nAuthorization: Bearer " + strings.Join(s, "\n") + "</pre></html>"
	},
	"on a page, across the end of the excerpt": func(s []string) string {
		return strings.Repeat("x", 250) + strings.Join(s, " ") + strings.Repeat("y", 300)
	},
	"on a page, before and at the end of the searched text": func(s []string) string {
		return strings.Repeat(strings.Join(s, " ")+" ", 100)
	},
	"in half an envelope":     func(s []string) string { return `{"code":0,"data":{"note":"` + strings.Join(s, " ") },
	"in a secret's own field": func(s []string) string { return `{"ticket":"` + strings.Join(s, `","passportNumber":"`) },
	"in fields of the wrong type": func(s []string) string {
		x := `"` + strings.Join(s, " ") + `"`
		return `{"code":0,"data":{"status":` + x + `,"ticket":[` + x + `],"access_token":[` + x + `],"orders":[{"status":` + x +
			`,"netRate":{"amount":` + x + `}}],` +
			`"hotelOrder":{"status":` + x + `,"netRate":{"amount":` + x + `}},"destinations":` + x + `,"serviceFee":{"amount":` + x + `}}}`
	},
	"in an OAuth error": func(s []string) string {
		return `{"error":"invalid_client","error_description":"` + strings.Join(s, " ") + `"}`
	},
	"in an OAuth error object": func(s []string) string { return `{"error":{"message":"` + strings.Join(s, " ") + `"}}` },
	"as code":                  func(s []string) string { return `{"code":"` + strings.Join(s, " ") + `","data":{}}` },
	"only the secrets":         func(s []string) string { return strings.Join(s, "") },
	"as an array":              func(s []string) string { return `["` + strings.Join(s, `","`) + `"]` },
}

// The service or a proxy may echo the request.
func TestErrorsHideEchoedSecrets(t *testing.T) {
	t.Parallel()
	calls := map[string]apiCall{
		"Ticket": callOf((*hotelstays.Client).Ticket, &hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret(canarySecret)}),
		"OAuthToken": callOf((*hotelstays.Client).OAuthToken, &hotelstays.OAuthTokenRequest{ClientID: "id",
			ClientSecret: types.NewSecret(canaryClient)}),
		"Book": callOf((*hotelstays.Client).Book, bookWithPassport()),
		"Cancel": callOf((*hotelstays.Client).Cancel, &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "ref-1",
			SupplierReferenceNo: "sup-1"}),
		"QueryOrders":  callOf((*hotelstays.Client).QueryOrders, &hotelstays.QueryOrdersRequest{}),
		"CheckAvail":   callOf((*hotelstays.Client).CheckAvail, &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "pkg"}),
		"Destinations": callOf((*hotelstays.Client).Destinations, &hotelstays.DestinationsRequest{}),
	}
	portion := testsize.PortionOf(t, 3, 11)
	for how, answer := range echoes {
		t.Run(how, func(t *testing.T) {
			for name, call := range calls {
				for status := range testsize.SomeOf(portion, []int{200, 302, 401, 403, 502}) {
					log := &debugLog{}
					c := clientWith(t, echo{status, answer}, bearerToken(canaryToken), log.option(), log.observer())
					what := fmt.Sprintf("%s, %d", name, status)

					resp, err := call.send(t.Context(), c)

					if err != nil {
						require.NotContains(t, err.Error(), "this test is wrong")
						checkNoLeak(t, what, err)
					} else {
						checkNoLeak(t, what, resp)
					}
					checkNoLeak(t, what+", logged", log.String())
				}
			}
		})
	}
}

// RawData is the data of an answer in which only the tokens are masked. Msg and SessionID also hide the new token.
func TestRawDataHidesTokens(t *testing.T) {
	t.Run("Ticket", func(t *testing.T) {
		rt := &fixedAnswer{Status: 200, Body: `{"code":0,"msg":"ticket ` + canaryToken + `","data":{"ticket":"` + canaryToken + `","later":1}}`,
			Header: map[string]string{"Session-Id": "of " + canaryToken}}
		resp, err := clientThrough(t, rt).Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret(canarySecret)},
			hotelstays.WithRawData())
		require.NoError(t, err)
		assert.Equal(t, canaryToken, resp.Ticket.Reveal())
		assert.Equal(t, `{"ticket":"[redacted]","later":1}`, string(resp.Meta.RawData))
		assert.Equal(t, "ticket [redacted] of [redacted]", resp.Meta.Msg+" "+resp.Meta.SessionID)
		checkNoLeak(t, "response", resp)
		checkNoLeak(t, "meta", resp.Meta)
	})
	for name, body := range map[string]string{
		"enveloped": `{"code":0,"data":%s}`,
		"bare":      `%s`,
	} {
		t.Run("OAuthToken, "+name, func(t *testing.T) {
			data := `{"access_token":"` + canaryToken + `","refresh_token" : "` + canaryRefresh + `\"x","id_token":"` + canaryRefresh +
				`","token":"` + canaryRefresh + `","expires_in":3600}`
			rt := &fixedAnswer{Status: 200, Body: fmt.Sprintf(body, data)}
			resp, err := clientThrough(t, rt).OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "i",
				ClientSecret: types.NewSecret(canaryClient)}, hotelstays.WithRawData())
			require.NoError(t, err)
			assert.Equal(t, canaryToken, resp.AccessToken.Reveal())
			assert.JSONEq(t, `{"access_token":"[redacted]","refresh_token":"[redacted]","id_token":"[redacted]",`+
				`"token":"[redacted]","expires_in":3600}`, string(resp.Meta.RawData))
			checkNoLeak(t, "response", resp)
		})
	}
}

// If a proxy's page has a key such as appSecret, the error hides the value of the key. The client need not have sent
// this value.
func TestErrorsHideValuesOfSecretKeys(t *testing.T) {
	_, err := clientThrough(t, &fixedAnswer{Status: 502, Body: `proxy: "appSecret":"` + canaryRefresh + `",` +
		`"Refresh_Token":"` + canaryRefresh + `"`}).
		Destinations(t.Context(), &hotelstays.DestinationsRequest{})
	assert.ErrorContains(t, err, "proxy: ")
	checkNoLeak(t, "error", err)
}

// fetchTokens calls Ticket and OAuthToken with a secret that has no canary.
func fetchTokens(t *testing.T, c *hotelstays.Client) (*hotelstays.TicketResponse, *hotelstays.OAuthTokenResponse, error, error) {
	ticket, ofTicket := c.Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("another secret")})
	token, ofOAuth := c.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("another secret")})
	return ticket, token, ofTicket, ofOAuth
}

func TestErrorsHideTokensInMalformedAnswers(t *testing.T) {
	bodies := []string{
		`{"code":0,"data":{"ticket":"` + canaryToken,
		`{"code":0,"data":{"ticket":{"value":"` + canaryToken + `"}}}`,
		`{"code":0,"data":{"accessToken":"` + canaryToken + `"}}`,
		`{"data":{"ticket":"` + canaryToken + `"}}`,
		`{"result":"` + canaryToken + `"}`,
		`{"access_token":["` + canaryToken + `"]}`,
		`{"error":{"access_token":"` + canaryToken + `"}}`,
		`"` + canaryToken + `"`,
		canaryToken, "token=" + canaryToken, "<html>" + canaryToken + "</html>",
	}
	for _, body := range bodies {
		for _, status := range []int{200, 302, 500} {
			c := clientThrough(t, &fixedAnswer{Status: status, Body: body})
			what := fmt.Sprintf("%d %s", status, body)
			_, _, ofTicket, ofOAuth := fetchTokens(t, c)
			require.Error(t, ofTicket, what)
			checkNoLeak(t, "Ticket: "+what, ofTicket)
			if ofOAuth != nil {
				checkNoLeak(t, "OAuthToken: "+what, ofOAuth)
			}
		}
	}
}

// Errors of token requests quote nothing of an answer that is not enveloped. Of an enveloped answer, the errors quote
// msg only up to the place where a token may begin.
func TestFailedTokenRequestsHideTokens(t *testing.T) {
	const jwt = "eyJLEAK"
	for _, row := range []struct {
		status       int
		body         string
		msg, excerpt string
	}{
		{502, "ticket=" + jwt, "", "[redacted]"},
		{502, "", "", ""},
		{400, `{"code":1,"msg":"{\"ticket\":\"` + jwt + `\"}"}`, "", ""},
		{400, `{"code":1,"msg":{"ticket":"` + jwt + `"}}`, "[redacted]", ""},
		{400, `{"code":1,"msg":["` + jwt + `"]}`, "[string]", ""},
		{400, `{"code":1,"msg":"upstream: {\"jwt\":\"` + jwt + `\"}"}`, "upstream: [redacted]", ""},
		{400, `{"code":1,"msg":"upstream: &quot;access_token&quot; : &quot;opaque&quot;"}`, "upstream: &quot;access_token&quot; :[redacted]", ""},
		{400, `{"code":1,"msg":"ticket ` + jwt + ` is left"}`, "ticket [redacted]", ""},
		{400, `{"code":1,"msg":"[ERR.PARAM] the ticket's ttl: not a number"}`, "[ERR.PARAM] the ticket's ttl: not a number", ""},
	} {
		_, _, ofTicket, ofOAuth := fetchTokens(t, clientThrough(t, &fixedAnswer{Status: row.status, Body: row.body}))
		for _, err := range []error{ofTicket, ofOAuth} {
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api, row.body)
			assert.Equal(t, row.msg, api.Msg, "%s: %s", api.Operation, row.body)
			assert.Equal(t, row.excerpt, api.Excerpt, "%s: %s", api.Operation, row.body)
		}
	}
}

// The values of an answer may name guests, so no error and no log line quotes a value. Of an answer in JSON, errors
// show only names and types. Of any other answer, errors quote at most the first 256 bytes.
func TestErrorsHideValuesOfUnusableAnswers(t *testing.T) {
	const holder = `"holder":{"firstName":"CANARY","email":"CANARY@private.example","phone":{"number":"555019955501","countryNumber":555019955501}}`
	const link = `"voucher":{"downloadUrl":"https://files.example/1.pdf?sig=CANARY","expiresIn":"CANARY"}`
	const order = `{` + holder + `,"status":1,"guests":[{"dateOfBirth":"CANARY"}]}`
	bodies := []string{
		`{"code":0,"data":{"hotelOrder":` + order + `,"orders":[` + order + `],"status":"GENERATED",` + link + `}}`,
		`{"code":0,"data":{"orders":[` + order + `],"list":[{"name":"CANARY"},{"name":"CANARY"}],"x":`,
		`{"code":0,"data":{"orders":["CANARY"],"list":"CANARY","hotelsMetadata":"CANARY","rooms":"CANARY",` +
			`"destinations":"CANARY","hotel":"CANARY","hotelIdList":"CANARY","ticket":["CANARY"]}}`,
		`{"code":0,"data":{"orders":[` + order + `,` + order[:len(order)-1] + `,` + holder + `}],"hotelOrder":"CANARY","hotelOrder":"CANARY"}}`,
		`{"data":` + order + `}`, `{"message":"CANARY","555019955501":"CANARY"}`, `[` + order + `]`, `"CANARY"`,
		"\ufeff{" + holder + "}", `)]}'` + order,
		`{"code":"CANARY","data":` + order + `}`, `{"code":0,"data":"CANARY"}`, `{"code":0,"data":{"orders":[` + order + `],` +
			`"Orders":["CANARY"]}}`,
	}
	calls := maps.Clone(operationCalls)
	calls["stream"] = func(ctx context.Context, c *hotelstays.Client, opts ...hotelstays.CallOption) (err error) {
		for _, err = range c.HotelListStream(ctx, hotelList(), opts...).Hotels() {
		}
		return err
	}
	portion := testsize.PortionOf(t, 3, 11)
	tried, failed := 0, 0
	for op, call := range calls {
		for _, body := range bodies {
			for status := range testsize.SomeOf(portion, []int{200, 302, 400, 404, 500}) {
				tried++
				log := &debugLog{}
				client := clientThrough(t, &fixedAnswer{Status: status, Body: body}, log.option(), log.observer())
				err := call(t.Context(), client)
				if err == nil {
					continue
				}
				failed++
				checkNoLeak(t, string(op), err)
				for _, text := range []string{"CANARY", "555019955501", "private.example", "files.example"} {
					assert.NotContains(t, err.Error()+log.String(), text, "%s: HTTP %d with %s", op, status, body)
				}
				assert.Less(t, len(err.Error()), 1000)
			}
		}
	}
	assert.Greater(t, failed, tried*4/5)
	_, err := bookAnswered(t, "K4R9Q2W7", 200, bodies[0])
	assert.ErrorContains(t, err, "{code:number,data:{hotelOrder:{holder:{firstName:string,email:string,"+
		"phone:{number:string,countryNumber:number}},status:number")
	_, err = bookAnswered(t, "K4R9Q2W7", 502, "<html>Bad gateway</html>")
	assert.ErrorContains(t, err, "<html>Bad gateway</html>")
}

// Only a token request sends the credential's secret, but the client redacts it in the answers to all operations.
func TestErrorsHideTheCredentialsSecret(t *testing.T) {
	for name, cred := range map[string]hotelstays.Credential{
		"ticket": ticketPair("supersecretvalue"),
		"OAuth":  hotelstays.OAuthCredential{ClientID: "k", ClientSecret: types.NewSecret("supersecretvalue")},
		"static": bearerToken("supersecretvalue"),
	} {
		t.Run(name, func(t *testing.T) {
			log := &debugLog{}
			c := clientWith(t, tokenThen(`{"code":7,"msg":"key k with secret supersecretvalue is off"}`), cred, log.option())
			_, err := c.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api)
			assert.Equal(t, "key k with secret [redacted] is off", api.Msg)
			assert.NotContains(t, log.String(), "supersecretvalue")
			checkNoLeak(t, "log", log.String())
		})
	}
	t.Run("a fetched token", func(t *testing.T) {
		c := clientWith(t, tokenThen(`{"code":7,"msg":"token `+canaryToken+` is off"}`), ticketPair("supersecretvalue"))
		_, err := c.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
		require.ErrorContains(t, err, "token [redacted] is off")
		checkNoLeak(t, "error", err)
	})
	t.Run("a secret in an error of the transport", func(t *testing.T) {
		log := &debugLog{}
		c := clientWith(t, tokenThen(""), ticketPair("supersecretvalue"), log.option())
		_, err := c.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
		require.ErrorContains(t, err, "malformed answer of [redacted]")
		assert.Contains(t, log.String(), "malformed answer of [redacted]")
		assert.NotContains(t, log.String(), "supersecretvalue")
	})
}

// Later requests send the session id, so the client must not redact a part that only looks like a token. If a session
// id contains the client's own token, the client redacts the token.
func TestSessionIDIsKeptExceptForATokenInIt(t *testing.T) {
	const token = "eyJhbGciOiJIUzI1NiJ9.token"
	for id, want := range map[string]string{
		"Bearer " + token:               "Bearer [redacted]",
		"session-eyJ":                   "session-eyJ",
		"eyJhbGciOiJIUzI1NiJ9.session":  "eyJhbGciOiJIUzI1NiJ9.session",
		strings.Repeat("session", 3000): strings.Repeat("session", 3000),
	} {
		rt := &fixedAnswer{Status: 200, Body: `{"code":0,"data":{"list":[]}}`, Header: map[string]string{"Session-Id": id}}
		c := clientWith(t, rt, bearerToken(token))
		resp, err := c.HotelList(t.Context(), hotelList())
		require.NoError(t, err)
		assert.Equal(t, want, resp.Meta.SessionID)
		assert.Equal(t, want, resp.Basic.SessionID)
		assert.NotContains(t, fmt.Sprintf("%+v", resp), token)
	}
}

type debugLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *debugLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *debugLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *debugLog) option() hotelstays.Option {
	level := &slog.HandlerOptions{Level: slog.LevelDebug}
	return hotelstays.WithLogger(slog.New(slog.NewMultiHandler(slog.NewTextHandler(l, level), slog.NewJSONHandler(l, level))))
}

func (l *debugLog) observer() hotelstays.Option {
	return hotelstays.WithObserver(hotelstays.Observer{CallEnd: func(_ context.Context, info hotelstays.CallInfo) {
		fmt.Fprintf(l, "observed %v %+v %#v %q\n", info, info, info, info.Err)
	}})
}

// An error of a token store may quote the command that failed, and this command contains the token.
func TestErrorsOfATokenStoreHideTheToken(t *testing.T) {
	log := &debugLog{}
	c := clientWith(t, tokenThen(`{"code":100000401,"msg":"no"}`), ticketPair(canarySecret),
		hotelstays.WithTokenStore(quotingStore{}), log.option())
	require.Error(t, operationCalls[hotelstays.OpDestinations](t.Context(), c))
	for _, call := range []string{"Store", "CompareAndDelete"} {
		assert.Contains(t, log.String(), "continues without the store\" account="+c.Account()+" call="+call+` error="unknown command,`+
			` beginning with: '[redacted] of [redacted]'"`)
	}
	checkNoLeak(t, "log", log.String())
}

type quotingStore struct{}

func (quotingStore) Load(context.Context, string) (hotelstays.Token, error) {
	return hotelstays.Token{}, nil
}

func (s quotingStore) Store(_ context.Context, _ string, token hotelstays.Token) error {
	return fmt.Errorf("unknown command, beginning with: '%s of %s'", token.Value.Reveal(), canarySecret)
}

func (s quotingStore) CompareAndDelete(ctx context.Context, key string, token hotelstays.Token) error {
	return s.Store(ctx, key, token)
}

func bookAnswered(t *testing.T, passport string, status int, body string) (*hotelstays.BookResponse, error) {
	req := bookWithPassport()
	req.Guests[0].PassportNumber = types.NewSecret(passport)
	return clientThrough(t, &fixedAnswer{Status: status, Body: body}).Book(t.Context(), req)
}

func refusedWith(t *testing.T, passport, msg string) string {
	_, err := bookAnswered(t, passport, 400, `{"code":100000400,"msg":"`+msg+`"}`)
	var refused *hotelstays.APIError
	require.ErrorAs(t, err, &refused)
	return refused.Msg
}

// The service may echo data of guests in msg. A proxy may echo data of guests on its page.
func TestErrorsHideNamesOfGuests(t *testing.T) {
	for _, status := range []int{200, 400, 502} {
		log := &debugLog{}
		said := "guest Ms CANARY-SMITH (CANARY de la Cruz, 1990-01-31) has no CANARY@private.example, tel. 555019955501"
		for _, body := range []string{`{"code":100000400,"msg":"` + said + `"}`, "<html>" + said} {
			req := bookWithPassport()
			req.Holder = types.Holder{FirstName: "Canary", LastName: "de la Cruz", Email: "canary@private.example",
				Phone: &types.Phone{Number: "555-0199-55501"}}
			req.Guests[0].FirstName, req.Guests[0].LastName, req.Guests[0].DateOfBirth = "Canary", "Smith", "1990-01-31"
			_, err := clientThrough(t, &fixedAnswer{Status: status, Body: body}, log.option()).Book(t.Context(), req)
			require.Error(t, err)
			encoded, _ := json.Marshal(err)
			for _, text := range []string{"canary", "smith", "cruz", "1990-01-", "private.example", "555019955501", "555-0199-55501"} {
				assert.NotContains(t, strings.ToLower(fmt.Sprintf("%+v", err)+string(encoded)+log.String()), text, "HTTP %d %s", status, body)
			}
			assert.Contains(t, err.Error()+" "+string(encoded), "guest Ms ", "%d", status)
		}
	}
}

func TestErrorsHideThePassportNumberOfEachGuest(t *testing.T) {
	req := bookWithPassport()
	req.Guests = append(req.Guests, req.Guests[0])
	req.Guests[1].PassportNumber = types.NewSecret("SECOND0005")
	msg := "passports " + canaryPassport + " and SECOND0005 are refused"
	_, err := clientThrough(t, &fixedAnswer{Status: 400, Body: `{"code":100000400,"msg":"` + msg + `"}`}).Book(t.Context(), req)
	var refused *hotelstays.APIError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "passports [redacted] and [redacted] are refused", refused.Msg)
}

// A message may end inside a secret, because the service or the client cut it off. The client redacts secrets before it
// cuts.
func TestErrorsHideASecretThatIsCutOff(t *testing.T) {
	const passport = "K4R9Q2W7"
	for length := 3; length < len(passport); length++ {
		assert.Equal(t, "passport [redacted]", refusedWith(t, passport, "passport "+passport[:length]))
	}
	for _, limit := range []int{256, 1024, 16 << 10} { // an excerpt ends at 256 bytes, a message at 1024; errors keep nothing beyond 4 KiB
		for before := limit - len(passport) - 1; before < limit; before++ {
			text := strings.Repeat(".", before) + passport + " is refused"
			what := fmt.Sprint(before, " bytes before it")
			assert.NotContains(t, refusedWith(t, passport, text), passport[:1], what)
			_, err := bookAnswered(t, passport, 502, text)
			assert.NotContains(t, err.Error(), passport[:1], what)
			resp, err := bookAnswered(t, passport, 200, `{"code":0,"msg":"`+text+`","data":{"hotelOrder":{"platformReferenceNo":"1"}}}`)
			require.NoError(t, err)
			assert.NotContains(t, resp.Meta.Msg, passport[:1], what)
		}
	}
}
