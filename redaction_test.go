// Proves that no secret, token or passport number reaches a text: not by printing
// a value, not in an error, not in a log, and not when the service itself sends
// the secret back.

package hotelstays_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
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
	"github.com/hotelstays/hotelstays-go/types"
)

// Every secret of these tests begins with the canary, so that a part of one is
// found, too.
const (
	redactCanary   = "CANARY"
	redactSecret   = redactCanary + "-app-secret-0001"
	redactClient   = redactCanary + "-client-secret-0002"
	redactToken    = redactCanary + ".token.0003"
	redactPassport = redactCanary + "P0000004"
	redactRefresh  = redactCanary + "-refresh-0005"
)

// redactLeaks tells whether text shows a canary: as it is, in hexadecimal, as
// numbers, in base64, or escaped.
func redactLeaks(text string) bool {
	canary := []byte(redactCanary)
	forms := []string{
		redactCanary,
		fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprintf("% x", canary), fmt.Sprintf("% X", canary), fmt.Sprintf("%#v", canary)[len("[]byte{"):30],
		strings.Trim(fmt.Sprint(canary), "[]"),
		strings.Trim(fmt.Sprintf("%U", canary), "[]"),
		`\u0043\u0041`,
	}
	for pad := range 3 { // the canary may begin at any place of a base64 group
		encoded := base64.StdEncoding.EncodeToString(append(make([]byte, pad), canary...))
		forms = append(forms, encoded[4:8])
	}
	for _, form := range forms {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

func TestRedactionDetectsLeaks(t *testing.T) {
	type plain struct{ Value string }
	for _, verb := range redactVerbs {
		assert.True(t, redactLeaks(fmt.Sprintf(verb, plain{redactSecret})), verb)
		if verb != "%p" && verb != "%t" { // of a slice: its address, and each byte as a fault
			assert.True(t, redactLeaks(fmt.Sprintf(verb, json.RawMessage(`{"a":"`+redactSecret+`"}`))), verb)
		}
	}
	for _, before := range []string{"", "a", "ab", "abc"} {
		assert.True(t, redactLeaks(base64.StdEncoding.EncodeToString([]byte(before+redactSecret))), before)
	}
	assert.False(t, redactLeaks("a text without it"))
}

var redactVerbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t", "%w", "%p"}

// redactDump prints v in every way that a program may.
func redactDump(v any) map[string]string {
	texts := map[string]string{}
	for _, verb := range redactVerbs {
		texts["fmt "+verb] = fmt.Sprintf(verb, v)
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
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

// redactCheck fails when v shows a canary anywhere. Errors are checked with all
// that they wrap.
func redactCheck(t *testing.T, what string, v any) {
	t.Helper()
	texts := redactDump(v)
	for _, how := range slices.Sorted(maps.Keys(texts)) {
		if text := texts[how]; redactLeaks(text) {
			t.Errorf("%s: %s shows a secret: %.400q", what, how, text)
			break
		}
	}
	if err, ok := v.(error); ok {
		if inner := errors.Unwrap(err); inner != nil {
			redactCheck(t, what+", wrapped", inner)
		}
	}
}

func redactBook() *hotelstays.BookRequest {
	return &hotelstays.BookRequest{SessionID: "s", CustomerReferenceNo: "ref-1", RatePkgID: "pkg", Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One", PassportNumber: types.NewSecret(redactPassport)}}}
}

// Printing a value, whatever it is.
func TestRedactionOfValues(t *testing.T) {
	ticket := hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret(redactSecret), TTL: time.Hour}
	oauth := hotelstays.OAuthCredential{ClientID: "id", ClientSecret: types.NewSecret(redactClient), Scopes: []hotelstays.Scope{hotelstays.ScopeSearchRead}}
	token := hotelstays.Token{Value: types.NewSecret(redactToken), Expiry: time.Unix(1_800_000_000, 0)}
	client := func(cred hotelstays.Credential) *hotelstays.Client {
		c, err := hotelstays.New("https://api.example.test", cred, hotelstays.WithHTTPClient(&http.Client{Transport: &decodeAnswer{status: 200, body: `{"code":0,"data":{"access_token":"` + redactToken + `"}}`}}))
		require.NoError(t, err)
		_, err = c.Destinations(t.Context(), &hotelstays.DestinationsRequest{}) // so that a token is held
		require.NoError(t, err)
		return c
	}
	static, withOAuth := client(hotelstays.TokenCredential{Token: types.NewSecret(redactToken)}), client(oauth)

	for what, v := range map[string]any{
		"types.Secret":               types.NewSecret(redactSecret),
		"*types.Secret":              new(types.NewSecret(redactSecret)),
		"[]types.Secret":             []types.Secret{types.NewSecret(redactSecret)},
		"TicketCredential":           ticket,
		"*TicketCredential":          &ticket,
		"OAuthCredential":            oauth,
		"*OAuthCredential":           &oauth,
		"TokenCredential":            hotelstays.TokenCredential{Token: types.NewSecret(redactToken)},
		"*TokenCredential":           new(hotelstays.TokenCredential{Token: types.NewSecret(redactToken)}),
		"TicketRequest":              hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret(redactSecret)},
		"*TicketRequest":             &hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret(redactSecret)},
		"TicketResponse":             hotelstays.TicketResponse{Ticket: types.NewSecret(redactToken)},
		"*TicketResponse":            &hotelstays.TicketResponse{Ticket: types.NewSecret(redactToken)},
		"OAuthTokenRequest":          hotelstays.OAuthTokenRequest{ClientID: "id", ClientSecret: types.NewSecret(redactClient)},
		"*OAuthTokenRequest":         &hotelstays.OAuthTokenRequest{ClientID: "id", ClientSecret: types.NewSecret(redactClient)},
		"OAuthTokenResponse":         hotelstays.OAuthTokenResponse{AccessToken: types.NewSecret(redactToken)},
		"*OAuthTokenResponse":        &hotelstays.OAuthTokenResponse{AccessToken: types.NewSecret(redactToken)},
		"types.Guest":                redactBook().Guests[0],
		"*types.Guest":               &redactBook().Guests[0],
		"[]types.Guest":              redactBook().Guests,
		"BookRequest":                *redactBook(),
		"*BookRequest":               redactBook(),
		"Token":                      token,
		"*Token":                     &token,
		"map of Tokens":              map[string]hotelstays.Token{"key": token},
		"*Client with a token":       static,
		"*Client with OAuth":         withOAuth,
		"Client by value":            *withOAuth,
		"Client with a token, value": *static,
	} {
		t.Run(what, func(t *testing.T) {
			redactCheck(t, what, v)
			if !strings.Contains(what, "Client") { // a diff of one shows its transport
				redactCheck(t, what+", unexported", struct{ v any }{v})
				var diff redactDiff
				assert.Equal(&diff, v, reflect.Zero(reflect.TypeOf(v)).Interface())
				assert.Equal(&diff, struct{ v any }{v}, struct{ v any }{})
				assert.False(t, redactLeaks(diff.text), "a diff shows a secret: %.400s", diff.text)
				assert.NotEmpty(t, diff.text)
			}
		})
	}
}

// redactDiff collects what testify reports.
type redactDiff struct{ text string }

func (d *redactDiff) Errorf(format string, args ...any) { d.text += fmt.Sprintf(format, args...) }

// A verb that does not suit a pointer makes package fmt print what lies behind it
// with no regard to its methods.
func TestRedactionOfPointersInside(t *testing.T) {
	for what, v := range map[string]any{
		"*TicketCredential":   &hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret(redactSecret)},
		"*OAuthCredential":    &hotelstays.OAuthCredential{ClientID: "id", ClientSecret: types.NewSecret(redactClient)},
		"*TicketRequest":      &hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret(redactSecret)},
		"*TicketResponse":     &hotelstays.TicketResponse{Ticket: types.NewSecret(redactToken)},
		"*OAuthTokenRequest":  &hotelstays.OAuthTokenRequest{ClientID: "id", ClientSecret: types.NewSecret(redactClient)},
		"*OAuthTokenResponse": &hotelstays.OAuthTokenResponse{AccessToken: types.NewSecret(redactToken)},
		"*BookRequest":        redactBook(),
		"*types.Guest":        &redactBook().Guests[0],
		"*Token":              &hotelstays.Token{Value: types.NewSecret(redactToken)},
	} {
		t.Run(what, func(t *testing.T) {
			for _, verb := range []string{"%s", "%q"} {
				text := fmt.Sprintf(verb, []any{v})
				assert.False(t, redactLeaks(text), "%s of a slice: %.200s", verb, text)
				text = fmt.Sprintf(verb, struct{ V any }{v})
				assert.False(t, redactLeaks(text), "%s of a struct: %.200s", verb, text)
			}
		})
	}
}

// Package fmt does not ask a value in an unexported field how it prints, and callers
// keep clients and handlers in such fields.
func TestRedactionInUnexportedFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := transportFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/api/auth/ticket" {
				return reply(200, `{"code":0,"data":{"ticket":"`+redactToken+`"}}`), nil
			}
			return reply(401, `{"code":100000401,"msg":"no"}`), nil
		})
		ticket := hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret(redactSecret)}
		c, err := hotelstays.New("https://api.example.test", ticket, hotelstays.WithHTTPClient(&http.Client{Transport: answers}))
		require.NoError(t, err)
		require.Error(t, operationCalls[hotelstays.OpDestinations](t.Context(), c)) // one token is held, and one was refused
		synctest.Wait()
		hookOpts := hotelstays.WebhookOptions{Secrets: []types.Secret{types.NewSecret(redactSecret)}}
		hook := newHookHandler(t, hookOpts, nil)

		for what, v := range map[string]any{
			"webhook handler":           hook,
			"webhook handler of server": &http.Server{Handler: hook},
			"webhook handler, kept":     struct{ hook http.Handler }{hook},
			"webhook options, kept":     struct{ opts hotelstays.WebhookOptions }{hookOpts},
			"*Client, kept":             struct{ client *hotelstays.Client }{c},
			"Client, kept":              struct{ client hotelstays.Client }{*c},
		} {
			for _, verb := range redactVerbs {
				for _, text := range []string{fmt.Sprintf(verb, v), fmt.Sprintf(verb, &v), fmt.Sprintf(verb, []any{v})} {
					assert.False(t, redactLeaks(text), "%s of %s: %.300s", verb, what, text)
				}
			}
			redactCheck(t, what, v)
		}
	})
}

// The marker itself, word for word.
func TestRedactionTexts(t *testing.T) {
	ticket := hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret(redactSecret), TTL: time.Hour}
	assert.Equal(t, "{key [redacted] 1h0m0s}", fmt.Sprintf("%v", ticket))
	assert.Equal(t, "{AppKey:key AppSecret:[redacted] TTL:1h0m0s}", fmt.Sprintf("%+v", ticket))
	assert.Equal(t, "hotelstays.TicketCredential{AppKey:\"key\", AppSecret:[redacted], TTL:3600000000000}", fmt.Sprintf("%#v", ticket))
	assert.Equal(t, "[redacted] [redacted] [redacted] [redacted]", fmt.Sprintf("%s %q %x %d", ticket.AppSecret, ticket.AppSecret, ticket.AppSecret, ticket.AppSecret))
	assert.Equal(t, "{Token:[redacted]}", fmt.Sprintf("%+v", hotelstays.TokenCredential{Token: types.NewSecret(redactToken)}))
	assert.Equal(t, "{ }", fmt.Sprintf("%v", struct{ A, B types.Secret }{}), "an empty secret shows that it is empty")

	c, err := hotelstays.New("https://api.example.test/env", ticket)
	require.NoError(t, err)
	for _, verb := range redactVerbs[:len(redactVerbs)-2] { // fmt asks no value about %w and %p
		assert.Equal(t, "hotelstays.Client(https://api.example.test/env)", fmt.Sprintf(verb, c))
	}

	encoded, err := json.Marshal(redactBook())
	require.NoError(t, err)
	assert.Equal(t, `{"customerReferenceNo":"ref-1","ratePkgId":"pkg","holder":{"firstName":"Guest","lastName":"One"},`+
		`"guests":[{"roomIndex":1,"firstName":"Guest","lastName":"One","passportNumber":"[redacted]"}]}`, string(encoded))

	// A request that went through JSON has lost its secrets, and is not sent so.
	var copied hotelstays.BookRequest
	require.NoError(t, json.Unmarshal(encoded, &copied))
	copied.SessionID = "s"
	_, err = c.Book(t.Context(), &copied)
	assert.EqualError(t, err, `hotelstays: Book: nothing was sent: guests[0].passportNumber: holds the text "[redacted]": `+
		`the request was copied through JSON or a log, which do not keep secrets`)

	rt := &decodeAnswer{status: 401, body: `{"code":100000401,"msg":"no pair key/` + redactSecret + `"}`, header: map[string]string{"Request-Id": "service-1"}}
	_, err = decodeClient(t, rt).Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret(redactSecret)}, hotelstays.WithTraceID("trace-1"))
	assert.EqualError(t, err, `hotelstays: Ticket: credential refused (HTTP 401, code 100000401, "no pair key/[redacted]"), request id service-1; `+
		`check that the credential is active and belongs to this environment`)
}

// Validation names what is wrong and shows no secret.
func TestRedactionOfValidation(t *testing.T) {
	c := decodeClient(t, validNoSend{t})
	long := types.NewSecret(strings.Repeat(redactPassport, 5))
	book := redactBook()
	book.Guests[0].PassportNumber = long
	_, err := c.Book(t.Context(), book)
	require.Error(t, err)
	redactCheck(t, "Book", err)

	_, err = c.Ticket(t.Context(), &hotelstays.TicketRequest{AppSecret: types.NewSecret(redactSecret), TTL: -1})
	require.Error(t, err)
	redactCheck(t, "Ticket", err)

	_, err = hotelstays.New("https://user:"+redactSecret+"@api.example.test", hotelstays.TokenCredential{Token: types.NewSecret(redactToken + "\n")}, hotelstays.WithMaxAttempts(0))
	require.Error(t, err)
	redactCheck(t, "New", err)
}

// redactEcho answers with what it was sent: the body and the token.
type redactEcho struct {
	status int
	// answer makes the body of the answer out of each secret that was sent.
	answer func(secrets []string) string
}

func (e redactEcho) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var secrets []string
	for _, secret := range []string{redactSecret, redactClient, redactPassport} {
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
	return &http.Response{StatusCode: e.status, Header: http.Header{"Content-Type": {"text/html"}}, Body: io.NopCloser(strings.NewReader(e.answer(secrets))), ContentLength: -1, Request: r}, nil
}

// redactEchoes are the ways in which an answer may hold what was sent.
var redactEchoes = map[string]func([]string) string{
	"in msg": func(s []string) string { return `{"code":100000400,"msg":"refused: ` + strings.Join(s, ", ") + `"}` },
	"in msg of a success": func(s []string) string {
		return `{"code":0,"msg":"for ` + strings.Join(s, ", ") + `","data":{"ticket":"CANARY-new","access_token":"CANARY-new","hotelOrder":{"status":1}}}`
	},
	"in msg that is an object": func(s []string) string {
		return `{"code":7,"msg":{"appSecret":"` + strings.Join(s, `","b":"`) + `"}}`
	},
	"on a page": func(s []string) string {
		return "<html><pre>POST /x\nAuthorization: Bearer " + strings.Join(s, "\n") + "</pre></html>"
	},
	"on a page, at the cut": func(s []string) string {
		return strings.Repeat("x", 250) + strings.Join(s, " ") + strings.Repeat("y", 300)
	},
	"on a page, before and at the end of what is looked at": func(s []string) string {
		return strings.Repeat(strings.Join(s, " ")+" ", 100)
	},
	"in half an envelope":     func(s []string) string { return `{"code":0,"data":{"note":"` + strings.Join(s, " ") },
	"in a secret's own field": func(s []string) string { return `{"ticket":"` + strings.Join(s, `","passportNumber":"`) },
	"in fields of the wrong type": func(s []string) string {
		x := `"` + strings.Join(s, " ") + `"`
		return `{"code":0,"data":{"status":` + x + `,"ticket":[` + x + `],"access_token":[` + x + `],"orders":[{"status":` + x + `,"netRate":{"amount":` + x + `}}],` +
			`"hotelOrder":{"status":` + x + `,"netRate":{"amount":` + x + `}},"destinations":` + x + `,"serviceFee":{"amount":` + x + `}}}`
	},
	"in an OAuth error": func(s []string) string {
		return `{"error":"invalid_client","error_description":"` + strings.Join(s, " ") + `"}`
	},
	"in an OAuth error object": func(s []string) string { return `{"error":{"message":"` + strings.Join(s, " ") + `"}}` },
	"as code":                  func(s []string) string { return `{"code":"` + strings.Join(s, " ") + `","data":{}}` },
	"alone":                    func(s []string) string { return strings.Join(s, "") },
	"as an array":              func(s []string) string { return `["` + strings.Join(s, `","`) + `"]` },
}

// The service, or something in front of it, sends back what it got.
func TestRedactionOfEchoes(t *testing.T) {
	t.Parallel()
	calls := map[string]wireCall{
		"Ticket":       wireOf((*hotelstays.Client).Ticket, &hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret(redactSecret)}),
		"OAuthToken":   wireOf((*hotelstays.Client).OAuthToken, &hotelstays.OAuthTokenRequest{ClientID: "id", ClientSecret: types.NewSecret(redactClient)}),
		"Book":         wireOf((*hotelstays.Client).Book, redactBook()),
		"Cancel":       wireOf((*hotelstays.Client).Cancel, &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "ref-1", SupplierReferenceNo: "sup-1"}),
		"QueryOrders":  wireOf((*hotelstays.Client).QueryOrders, &hotelstays.QueryOrdersRequest{}),
		"CheckAvail":   wireOf((*hotelstays.Client).CheckAvail, &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "pkg"}),
		"Destinations": wireOf((*hotelstays.Client).Destinations, &hotelstays.DestinationsRequest{}),
	}
	for how, answer := range redactEchoes {
		t.Run(how, func(t *testing.T) {
			for name, call := range calls {
				for _, status := range []int{200, 302, 401, 403, 502} {
					log := &redactLog{}
					c, err := hotelstays.New("https://api.example.test", hotelstays.TokenCredential{Token: types.NewSecret(redactToken)}, hotelstays.WithMaxAttempts(1), log.option(),
						hotelstays.WithHTTPClient(&http.Client{Transport: redactEcho{status, answer}}))
					require.NoError(t, err)
					what := fmt.Sprintf("%s, %d", name, status)

					resp, err := call.send(t.Context(), c)

					if err != nil {
						require.NotContains(t, err.Error(), "this test is wrong")
						redactCheck(t, what, err)
					} else {
						redactCheck(t, what, resp)
					}
					redactCheck(t, what+", logged", log.String())
				}
			}
		})
	}
}

// The ids of an answer are quoted everywhere, whatever they hold.
func TestRedactionOfEchoedIDs(t *testing.T) {
	for _, status := range []int{200, 502} {
		log := &redactLog{}
		rt := &decodeAnswer{status: status, body: `{"code":0,"data":{"list":[],"basic":{"sessionId":"s"}}}`, header: map[string]string{"Request-Id": "for-" + redactToken, "Trace-Id": redactToken}}
		c, err := hotelstays.New("https://api.example.test", hotelstays.TokenCredential{Token: types.NewSecret(redactToken)}, hotelstays.WithMaxAttempts(1), log.option(),
			hotelstays.WithHTTPClient(&http.Client{Transport: rt}), hotelstays.WithObserver(redactObserver{log}.observer()))
		require.NoError(t, err)
		resp, err := c.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
		if status == 200 {
			require.NoError(t, err)
			assert.Equal(t, "for-[redacted]", resp.Meta.RequestID)
			redactCheck(t, "response", resp)
		} else {
			redactCheck(t, "error", err)
		}
		assert.Contains(t, log.String(), "observed")
		redactCheck(t, "log", log.String())
	}
}

// Secrets look different once something has escaped them.
func TestRedactionOfEscapedEchoes(t *testing.T) {
	secret := redactCanary + `/+="&<é0001`
	escaped, err := json.Marshal(secret)
	require.NoError(t, err)
	for how, text := range map[string]string{
		"JSON":                strings.Trim(string(escaped), `"`),
		"JSON, HTML left":     strings.ReplaceAll(secret, `"`, `\"`),
		"JSON, slash escaped": strings.ReplaceAll(strings.ReplaceAll(secret, `"`, `\"`), "/", `\/`),
		"HTML":                html.EscapeString(secret),
		"URL":                 url.QueryEscape(secret),
	} {
		for where, body := range map[string]string{
			"on a page":      "<html>" + text + "</html>",
			"in half a JSON": `{"code":0,"data":{"note":"` + text,
		} {
			t.Run(how+", "+where, func(t *testing.T) {
				_, err := decodeClient(t, &decodeAnswer{status: 403, body: body}).Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "key", AppSecret: types.NewSecret(secret)})
				require.Error(t, err)
				redactCheck(t, "Ticket", err)
			})
		}
	}
}

// An answer that breaks off may break off within a secret.
func TestRedactionOfACutSecret(t *testing.T) {
	for _, length := range []int{8, 15, len(redactPassport) - 1} {
		rt := &decodeAnswer{status: 200, body: `{"code":0,"data":{"note":"` + redactPassport[:min(length, len(redactPassport)-1)]}
		_, err := decodeClient(t, rt).Book(t.Context(), redactBook())
		require.Error(t, err)
		redactCheck(t, fmt.Sprint(length, " characters"), err)
	}
}

// A service may write passport numbers in capitals or without.
func TestRedactionInAnotherLetterCase(t *testing.T) {
	for _, echoed := range []string{strings.ToLower(redactPassport), strings.ToUpper(redactPassport)} {
		_, err := decodeClient(t, &decodeAnswer{status: 400, body: `{"code":100000400,"msg":"passport ` + echoed + ` is refused"}`}).Book(t.Context(), redactBook())
		require.ErrorContains(t, err, "passport [redacted] is refused")
		assert.NotContains(t, fmt.Sprintf("%+v", err), echoed)
	}
}

// A token may be longer than the piece of an answer that is looked at.
func TestRedactionOfALongToken(t *testing.T) {
	for _, length := range []int{100, 256, 900, 1000, 1024, 1025, 1500, 5000} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			token := strings.Repeat(redactCanary, length/len(redactCanary)+1)[:length]
			c, err := hotelstays.New("https://api.example.test", hotelstays.TokenCredential{Token: types.NewSecret(token)}, hotelstays.WithMaxAttempts(1),
				hotelstays.WithHTTPClient(&http.Client{Transport: &decodeAnswer{status: 502, body: "<pre>Authorization: Bearer " + token + "</pre>"}}))
			require.NoError(t, err)
			_, err = c.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
			require.Error(t, err)
			redactCheck(t, "Destinations", err)
		})
	}
}

// The answers that bring tokens, kept as they came: the tokens are masked, the
// rest is not.
func TestRedactionOfRawData(t *testing.T) {
	t.Run("Ticket", func(t *testing.T) {
		rt := &decodeAnswer{status: 200, body: `{"code":0,"msg":"success","data":{"ticket":"` + redactToken + `","later":1}}`}
		resp, err := decodeClient(t, rt).Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret(redactSecret)}, hotelstays.WithRawData())
		require.NoError(t, err)
		assert.Equal(t, redactToken, resp.Ticket.Reveal())
		assert.Equal(t, `{"ticket":"[redacted]","later":1}`, string(resp.Meta.RawData))
		redactCheck(t, "response", resp)
		redactCheck(t, "meta", resp.Meta)
	})
	for name, body := range map[string]string{
		"enveloped": `{"code":0,"data":%s}`,
		"bare":      `%s`,
	} {
		t.Run("OAuthToken, "+name, func(t *testing.T) {
			data := `{"access_token":"` + redactToken + `","refresh_token" : "` + redactRefresh + `\"x","id_token":"` + redactRefresh + `","token":"` + redactRefresh + `","expires_in":3600}`
			rt := &decodeAnswer{status: 200, body: fmt.Sprintf(body, data)}
			resp, err := decodeClient(t, rt).OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret(redactClient)}, hotelstays.WithRawData())
			require.NoError(t, err)
			assert.Equal(t, redactToken, resp.AccessToken.Reveal())
			assert.JSONEq(t, `{"access_token":"[redacted]","refresh_token":"[redacted]","id_token":"[redacted]","token":"[redacted]","expires_in":3600}`, string(resp.Meta.RawData))
			redactCheck(t, "response", resp)
		})
	}
	t.Run("keys of requests, in any case", func(t *testing.T) {
		rt := &decodeAnswer{status: 502, body: `proxy: {"appSecret":"` + redactRefresh + `","client_secret":"` + redactRefresh + `","Refresh_Token":"` + redactRefresh + `"}`}
		_, err := decodeClient(t, rt).Destinations(t.Context(), &hotelstays.DestinationsRequest{})
		assert.ErrorContains(t, err, "proxy: ")
		redactCheck(t, "error", err)
	})
	t.Run("values that are no text", func(t *testing.T) {
		data := `{"access_token":"` + redactToken + `","token":["` + redactRefresh + `"],"id_token":{"jwt":"` + redactRefresh + `"},"refresh_token":null,"expires_in":3600}`
		rt := &decodeAnswer{status: 200, body: data}
		resp, err := decodeClient(t, rt).OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret(redactClient)}, hotelstays.WithRawData())
		require.NoError(t, err)
		redactCheck(t, "response", resp)
		assert.True(t, json.Valid(resp.Meta.RawData), "%s", resp.Meta.RawData)
	})
}

// A token in an answer that is not as expected is a token all the same.
func TestRedactionOfTokensInOddAnswers(t *testing.T) {
	bodies := []string{
		`{"code":0,"data":{"ticket":"` + redactToken,
		`{"code":0,"data":{"ticket":["` + redactToken + `"]}}`,
		`{"code":0,"data":{"ticket":{"value":"` + redactToken + `"}}}`,
		`{"code":0,"data":{"accessToken":"` + redactToken + `"}}`,
		`{"data":{"ticket":"` + redactToken + `"}}`,
		`{"ticket":["` + redactToken + `"]}`,
		`{"result":"` + redactToken + `"}`,
		`{"access_token":["` + redactToken + `"]}`,
		`["` + redactToken + `"]`,
		`"` + redactToken + `"`,
	}
	for _, body := range bodies {
		for _, status := range []int{200, 201, 302, 400, 500} {
			c := decodeClient(t, &decodeAnswer{status: status, body: body})
			what := fmt.Sprintf("%d %s", status, body)
			_, err := c.Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("another secret")})
			require.Error(t, err, what)
			redactCheck(t, "Ticket: "+what, err)
			if _, err = c.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("another secret")}); err != nil {
				redactCheck(t, "OAuthToken: "+what, err)
			}
		}
	}
}

// What the operations that fetch tokens show of a failure. Of an answer that is no
// envelope it is that it is none; a message ends where a token may begin.
func TestRedactionOfTokensInFailures(t *testing.T) {
	const jwt = "eyJLEAK"
	for _, row := range []struct {
		status       int
		body         string
		msg, excerpt string
	}{
		{502, "ticket=" + jwt, "", "[redacted]"},
		{502, `upstream: {\"ticket\":\"` + jwt + `\"}`, "", "[redacted]"},
		{502, "<pre>{&quot;ticket&quot;:&quot;" + jwt + "&quot;}</pre>", "", "[redacted]"},
		{502, "<html>Bad gateway</html>", "", "[redacted]"},
		{502, "", "", ""},
		{400, `{"code":1,"msg":"{\"ticket\":\"` + jwt + `\"}"}`, "", ""},
		{400, `{"code":1,"msg":{"ticket":"` + jwt + `"}}`, "", ""},
		{400, `{"code":1,"msg":["` + jwt + `"]}`, "", ""},
		{400, `{"code":1,"msg":"upstream: {\"jwt\":\"` + jwt + `\"}"}`, "upstream: [redacted]", ""},
		{400, `{"code":1,"msg":"upstream: \\\"ticket\\\":\\\"opaque\\\""}`, `upstream: \"ticket\":[redacted]`, ""},
		{400, `{"code":1,"msg":"upstream: &quot;access_token&quot; : &quot;opaque&quot;"}`, "upstream: &quot;access_token&quot; :[redacted]", ""},
		{400, `{"code":1,"msg":"accessToken=opaque"}`, "accessToken=[redacted]", ""},
		{400, `{"code":1,"msg":"ticket ` + jwt + ` is left"}`, "ticket [redacted]", ""},
		{400, `{"code":1,"msg":"[ERR.PARAM] the ticket's ttl: not a number"}`, "[ERR.PARAM] the ticket's ttl: not a number", ""},
	} {
		c := decodeClient(t, &decodeAnswer{status: row.status, body: row.body})
		_, ofTicket := c.Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("another secret")})
		_, ofOAuth := c.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("another secret")})
		for _, err := range []error{ofTicket, ofOAuth} {
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api, row.body)
			assert.Equal(t, row.msg, api.Msg, "%s: %s", api.Operation, row.body)
			assert.Equal(t, row.excerpt, api.Excerpt, "%s: %s", api.Operation, row.body)
		}
	}
}

// OAuth's own error is a word. Anything else there is not shown.
func TestRedactionOfAnOAuthErrorThatIsNoText(t *testing.T) {
	c := decodeClient(t, &decodeAnswer{status: 400, body: `{"error":{"access_token":"eyJLEAK"}}`})
	_, err := c.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("another secret")}, hotelstays.WithTraceID("trace-1"))
	var api *hotelstays.APIError
	require.ErrorAs(t, err, &api)
	assert.Empty(t, api.Msg)
	assert.Equal(t, "[redacted]", api.Excerpt)
	assert.NotContains(t, fmt.Sprintf("%v %+v", err, api), "LEAK")
}

// A token that was just read is as secret as one that was sent.
func TestRedactionOfATokenInItsOwnAnswer(t *testing.T) {
	c := decodeClient(t, &decodeAnswer{status: 200, body: `{"code":0,"msg":"ticket opaque-LEAK","data":{"ticket":"opaque-LEAK","access_token":"opaque-LEAK"}}`,
		header: map[string]string{"Session-Id": "of opaque-LEAK"}})
	ticket, err := c.Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("another secret")})
	require.NoError(t, err)
	token, err := c.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("another secret")})
	require.NoError(t, err)
	for _, meta := range []hotelstays.ResponseMeta{ticket.Meta, token.Meta} {
		assert.Equal(t, "ticket [redacted]", meta.Msg)
		assert.Equal(t, "of [redacted]", meta.SessionID)
	}
	assert.NotContains(t, fmt.Sprintf("%+v %+v", ticket, token), "LEAK")
}

// The credential's secret is sent by one operation, and secret in the answers of all.
func TestRedactionOfTheCredentialsSecret(t *testing.T) {
	for name, cred := range map[string]hotelstays.Credential{
		"ticket": hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("supersecretvalue")},
		"OAuth":  hotelstays.OAuthCredential{ClientID: "k", ClientSecret: types.NewSecret("supersecretvalue")},
		"static": hotelstays.TokenCredential{Token: types.NewSecret("supersecretvalue")},
	} {
		t.Run(name, func(t *testing.T) {
			log := &redactLog{}
			answers := transportFunc(func(r *http.Request) (*http.Response, error) {
				if strings.Contains(r.URL.Path, "ticket") || strings.Contains(r.URL.Path, "oauth") {
					return reply(200, `{"code":0,"data":{"ticket":"`+redactToken+`","access_token":"`+redactToken+`"}}`), nil
				}
				return reply(401, `{"code":7,"msg":"key k with secret supersecretvalue is off"}`), nil
			})
			c, err := hotelstays.New("https://api.example.test", cred, hotelstays.WithHTTPClient(&http.Client{Transport: answers}), log.option())
			require.NoError(t, err)
			_, err = c.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api)
			assert.Equal(t, "key k with secret [redacted] is off", api.Msg)
			assert.NotContains(t, log.String(), "supersecretvalue")
		})
	}
	t.Run("in an error of net/http", func(t *testing.T) {
		answers := transportFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/api/auth/ticket" {
				return reply(200, `{"code":0,"data":{"ticket":"`+redactToken+`"}}`), nil
			}
			return nil, errors.New("malformed answer of supersecretvalue")
		})
		log := &redactLog{}
		c, err := hotelstays.New("https://api.example.test", hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("supersecretvalue")},
			hotelstays.WithHTTPClient(&http.Client{Transport: answers}), hotelstays.WithMaxAttempts(1), log.option())
		require.NoError(t, err)
		_, err = c.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
		require.ErrorContains(t, err, "malformed answer of [redacted]")
		assert.Contains(t, log.String(), "malformed answer of [redacted]")
		assert.NotContains(t, log.String(), "supersecretvalue")
	})
}

// A session id is sent again, and so kept to the letter: also where it ends as a secret
// begins, or is a JWT like the token. One that holds a secret is none.
func TestRedactionOfSessionIDs(t *testing.T) {
	const token = "eyJhbGciOiJIUzI1NiJ9.token"
	for id, want := range map[string]string{
		"Bearer " + token:               "Bearer [redacted]",
		"session-eyJ":                   "session-eyJ",
		"eyJhbGciOiJIUzI1NiJ9.session":  "eyJhbGciOiJIUzI1NiJ9.session",
		strings.Repeat("session", 3000): strings.Repeat("session", 3000),
	} {
		rt := &decodeAnswer{status: 200, body: `{"code":0,"data":{"list":[]}}`, header: map[string]string{"Session-Id": id}}
		c, err := hotelstays.New("https://api.example.test", hotelstays.TokenCredential{Token: types.NewSecret(token)}, hotelstays.WithHTTPClient(&http.Client{Transport: rt}))
		require.NoError(t, err)
		resp, err := c.HotelList(t.Context(), new(validHotelList()))
		require.NoError(t, err)
		assert.Equal(t, want, resp.Meta.SessionID)
		assert.Equal(t, want, resp.Basic.SessionID)
		assert.NotContains(t, fmt.Sprintf("%+v", resp), token)
	}
}

// An answer of 200 to Ticket or OAuthToken that is a text may be the token itself.
func TestRedactionOfTokensAsText(t *testing.T) {
	for _, body := range []string{redactToken, "token=" + redactToken, "<html>" + redactToken + "</html>"} {
		c := decodeClient(t, &decodeAnswer{status: 200, body: body})
		_, err := c.Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: "k", AppSecret: types.NewSecret("another secret")})
		require.Error(t, err, body)
		redactCheck(t, "Ticket: "+body, err)
		_, err = c.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "i", ClientSecret: types.NewSecret("another secret")})
		require.Error(t, err, body)
		redactCheck(t, "OAuthToken: "+body, err)
	}
}

// redactLog collects what a client logs at debug level, as text and as JSON.
type redactLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *redactLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *redactLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *redactLog) option() hotelstays.Option {
	level := &slog.HandlerOptions{Level: slog.LevelDebug}
	return hotelstays.WithLogger(slog.New(slog.NewMultiHandler(slog.NewTextHandler(l, level), slog.NewJSONHandler(l, level))))
}

// redactObserver writes down what it is told.
type redactObserver struct{ log *redactLog }

func (o redactObserver) observer() hotelstays.Observer {
	return hotelstays.Observer{CallStart: o.CallStart, CallEnd: o.CallEnd}
}

func (o redactObserver) CallStart(ctx context.Context, _ hotelstays.CallStart) context.Context {
	return ctx
}
func (o redactObserver) CallEnd(_ context.Context, info hotelstays.CallInfo) {
	fmt.Fprintf(o.log, "observed %v %+v %#v %q\n", info, info, info, info.Err)
}

// A store that fails may quote the command with the token in it.
func TestRedactionOfATokenStoresErrors(t *testing.T) {
	log := &redactLog{}
	answers := transportFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/api/auth/ticket" {
			return reply(200, `{"code":0,"data":{"ticket":"`+redactToken+`"}}`), nil
		}
		return reply(401, `{"code":100000401,"msg":"no"}`), nil
	})
	c, err := hotelstays.New("https://api.example.test", hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret(redactSecret)},
		hotelstays.WithHTTPClient(&http.Client{Transport: answers}), hotelstays.WithTokenStore(quotingStore{}), log.option())
	require.NoError(t, err)
	require.Error(t, operationCalls[hotelstays.OpDestinations](t.Context(), c))
	for _, call := range []string{"Store", "CompareAndDelete"} {
		assert.Contains(t, log.String(), "continuing without it\" call="+call+` error="unknown command, beginning with: '[redacted]'"`)
	}
	redactCheck(t, "log", log.String())
}

// quotingStore refuses every token, and says which.
type quotingStore struct{}

func (quotingStore) Load(context.Context, string) (hotelstays.Token, error) {
	return hotelstays.Token{}, nil
}
func (s quotingStore) Store(_ context.Context, _ string, token hotelstays.Token) error {
	return fmt.Errorf("unknown command, beginning with: '%s'", token.Value.Reveal())
}
func (s quotingStore) CompareAndDelete(ctx context.Context, key string, token hotelstays.Token) error {
	return s.Store(ctx, key, token)
}

// redactService plays a whole flow: two tickets, a search, an offer, a booking
// whose answer is odd, one that is refused, one that is lost, and a cancellation.
type redactService struct{ sent map[string]int }

func (s redactService) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	s.sent[r.URL.Path]++
	echo := strings.NewReplacer(`"`, "", `\`, "").Replace(string(body)) + " " + r.Header.Get("Authorization")
	status, answer := 200, `{"code":0,"msg":"`+echo+`","data":{"list":[],"basic":{"sessionId":"s"}}}`
	switch n := s.sent[r.URL.Path]; r.URL.Path {
	case "/api/auth/ticket":
		answer = fmt.Sprintf(`{"code":0,"msg":"success","data":{"ticket":"%s%d"}}`, redactToken, n)
	case "/api/search/hotelList":
		if n == 1 {
			status, answer = 401, `{"code":100000401,"msg":"`+echo+`"}`
		}
	case "/api/search/destinations":
		status, answer = 502, "<html>"+echo+"</html>"
	case "/api/trade/book":
		switch n {
		case 1:
			answer = `{"code":0,"msg":"` + echo + `","data":{"hotelOrder":{"platformReferenceNo":"plat-0","status":"` + echo + `"}}}`
		case 2:
			answer = `{"code":100001111,"msg":"` + echo + `"}`
		case 3:
			status, answer = 504, "<html>"+echo+"</html>"
		default:
			answer = `{"code":0,"data":{"hotelOrder":{"note":"` + echo
		}
	case "/api/trade/cancel":
		return nil, errors.New("connection reset")
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), ContentLength: -1, Request: r}, nil
}

func TestRedactionOfAFlow(t *testing.T) {
	log := &redactLog{}
	service := redactService{map[string]int{}}
	c, err := hotelstays.New("https://api.example.test", hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret(redactSecret)}, hotelstays.WithMaxAttempts(1),
		hotelstays.WithHTTPClient(&http.Client{Transport: service}), log.option(), hotelstays.WithObserver(redactObserver{log}.observer()))
	require.NoError(t, err)

	list, err := c.HotelList(t.Context(), new(validHotelList()))
	require.NoError(t, err)
	redactCheck(t, "HotelList", list)
	_, err = c.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
	require.Error(t, err)
	redactCheck(t, "Destinations", err)
	odd, err := c.Book(t.Context(), redactBook())
	require.NoError(t, err)
	require.NotZero(t, odd.Meta.MismatchCount)
	redactCheck(t, "Book, odd", odd)
	for range 3 {
		_, err = c.Book(t.Context(), redactBook())
		require.Error(t, err)
		redactCheck(t, "Book", err)
	}
	_, err = c.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "ref-1", SupplierReferenceNo: "sup-1"})
	require.Error(t, err)
	redactCheck(t, "Cancel", err)

	assert.Equal(t, map[string]int{"/api/auth/ticket": 2, "/api/search/hotelList": 2, "/api/search/destinations": 1, "/api/trade/book": 4, "/api/trade/cancel": 1}, service.sent)
	text := log.String()
	for _, expected := range []string{"msg=attempt", `"msg":"attempt"`, "token fetched", "outcome unknown", "does not match", "observed"} {
		assert.Contains(t, text, expected, "the log is worth searching")
	}
	for line := range strings.Lines(text) {
		if redactLeaks(line) {
			t.Errorf("logged: %.400s", line)
		}
	}
}

// bookAnswered books a guest with this passport number, and is answered.
func bookAnswered(t *testing.T, passport string, status int, body string) (*hotelstays.BookResponse, error) {
	req := redactBook()
	req.Guests[0].PassportNumber = types.NewSecret(passport)
	return decodeClient(t, &decodeAnswer{status: status, body: body}).Book(t.Context(), req)
}

// refusedWith is the message of the error of a Book that is refused with this message.
func refusedWith(t *testing.T, passport, msg string) string {
	_, err := bookAnswered(t, passport, 400, `{"code":100000400,"msg":"`+msg+`"}`)
	var refused *hotelstays.APIError
	require.ErrorAs(t, err, &refused)
	return refused.Msg
}

// Three bytes are a secret. Two would tear words apart, and hide nothing.
func TestShortestSecret(t *testing.T) {
	assert.Equal(t, "passport [redacted] is refused", refusedWith(t, "7Z4", "passport 7Z4 is refused"))
	assert.Equal(t, "passport 7Z is refused", refusedWith(t, "7Z", "passport 7Z is refused"))
	assert.Equal(t, "passport [redacted]", refusedWith(t, "7Z4X", "passport 7Z4"), "nor is a piece of three at the end shown")
	assert.Equal(t, "passport 7Z", refusedWith(t, "7Z4X", "passport 7Z"))
}

// A message may end inside a secret: because the service cut it off, or because it is cut
// off here. The secret is looked for before that.
func TestMessageThatEndsInsideASecret(t *testing.T) {
	const passport = "K4R9Q2W7"
	for length := 3; length < len(passport); length++ {
		assert.Equal(t, "passport [redacted]", refusedWith(t, passport, "passport "+passport[:length]))
	}
	for _, limit := range []int{256, 1024, 16 << 10} { // of an excerpt, of a message, of what is looked at
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
