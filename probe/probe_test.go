package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/judge"
	"github.com/hotelstays/hotelstays-go/types"
)

// The report of all rules contains no secret, no token, no cookie and no key that Config.HTTPClient adds.
func TestEveryRuleHoldsAgainstTheSandbox(t *testing.T) {
	secrets := []string{"cookie-of-the-service", "key-of-the-gateway"}
	watch := fault{told: func(a *reply) {
		for _, name := range []string{"ticket", "access_token"} {
			if token, ok := a.data[name].(string); ok {
				secrets = append(secrets, token)
			}
		}
		a.header.Set("Set-Cookie", "sid=cookie-of-the-service")
	}}
	report, err := probed(t, hotelstaystest.Config{}, watch, func(c *Config) {
		secrets = append(secrets, c.Credential.AppSecret.Reveal(), c.OAuth.ClientSecret.Reveal())
		service := c.HTTPClient.Transport
		c.HTTPClient.Transport = testkit.Transport(func(req *http.Request) (*http.Response, error) {
			req.Header.Set("X-Gateway", "key-of-the-gateway")
			return service.RoundTrip(req)
		})
	})
	require.NoError(t, err)
	require.Len(t, report.Results, len(Rules()))
	for _, result := range report.Results {
		if result.Needs == "-book" || result.Needs == "-callback" || result.State == NotTried && isJudged(result) {
			continue
		}
		assert.Contains(t, []State{Held, Found}, result.State, "%s: %s", result.Name, result.Reason)
		assert.NotEmpty(t, result.Evidence, result.Name)
	}
	assert.Empty(t, report.Notes)
	text, err := json.Marshal(report)
	require.NoError(t, err)
	require.Greater(t, len(secrets), 14)
	for _, secret := range secrets {
		assert.NotContains(t, string(text), secret)
	}
}

func TestReasonOfAnUntriedRuleNamesTheMissingPermission(t *testing.T) {
	needing := slices.DeleteFunc(Rules(), func(r Rule) bool { return r.Needs == "" })
	report, err := probed(t, hotelstaystest.Config{}, fault{}, func(c *Config) {
		c.OAuth, c.Burst, c.Patience, c.Only = nil, false, 0, ids(needing, func(r Rule) string { return r.Name })
	})
	require.NoError(t, err)
	for i, rule := range needing {
		rule.try = nil
		assert.Equal(t, Result{Rule: rule, State: NotTried, Reason: "needs " + rule.Needs}, report.Results[i])
	}
}

func TestRulesAreSelectedByNameAndSection(t *testing.T) {
	for name, is := range map[string]func(Rule) bool{
		"ticket/ttl-above": func(r Rule) bool { return r.Name == "ticket/ttl-above" },
		"TICKET":           func(r Rule) bool { return strings.HasPrefix(r.Name, "ticket/") },
		"Limits":           func(r Rule) bool { return strings.HasPrefix(r.Name, "limits/") || r.Section == "Limits" },
		"CheckAvail":       func(r Rule) bool { return r.Section == "CheckAvail" },
	} {
		report, err := probed(t, hotelstaystest.Config{}, fault{}, only(name))
		require.NoError(t, err)
		rules := slices.DeleteFunc(Rules(), func(r Rule) bool { return !is(r) })
		assert.Len(t, report.Results, len(rules), name)
		for i, result := range report.Results {
			assert.Equal(t, rules[i].Name, result.Name)
		}
	}
	_, err := probed(t, hotelstaystest.Config{}, fault{}, only("nothing"))
	assert.ErrorContains(t, err, "no rule is named nothing")
}

// No rule finds the fact of this test, so the report has it only if the run keeps it.
func TestFactOfTheConfigStaysUnlessTheServiceContradictsIt(t *testing.T) {
	states := hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}}
	for null, broken := range map[bool][]string{false: nil, true: {"orders/empty"}} {
		report, err := probed(t, hotelstaystest.Config{}, fault{}, func(c *Config) {
			c.Facts, c.Only = &hotelstays.ServiceFacts{StatusMeanings: states, NullOrders: null}, []string{"orders"}
		})
		require.NoError(t, err)
		assert.Equal(t, broken, report.broken())
		assert.Equal(t, hotelstays.ServiceFacts{StatusMeanings: states}, report.Facts)
		assert.Equal(t, null, report.result(t, "orders/empty").Reason ==
			"ServiceFacts.NullOrders is configured as true, and the list is []")
	}
}

func TestMaskHidesSecretsAndGuests(t *testing.T) {
	m := &masker{}
	for _, value := range []string{"$(id)", "tick-$(id)-top", `a/b&"secret`, "47110815", unknownTicket} {
		m.add(value)
	}
	for body, want := range map[string]string{
		`{"a": 1, "ticket" : "x.y.z", "b":[1.50,null,"xtick-$(id)-top"]}`: `{"a":1,"ticket":"[masked]","b":[1.50,null,"x[masked]"]}`,
		`{"phone":{"no":"1","more":[2,true]}}`:                            `{"phone":{"no":"[masked]","more":["[masked]","[masked]"]}}`,
		`[{"firstName":"A","Email":"b","name":"Inn"}]`:                    `[{"firstName":"[masked]","Email":"[masked]","name":"Inn"}]`,
		`{"refreshToken":"r","access_token":"a"}`:                         `{"refreshToken":"[masked]","access_token":"[masked]"}`,
		`{"msg":"a\/b\u0026\"secret"}`:                                    `{"msg":"[masked]"}`,
		`{"$(id)":47110815}`:                                              `{"[masked]":[masked]}`,
		`{"appSecret":"not-the-secret"}`:                                  `{"appSecret":"not-the-secret"}`,
		`{"msg":"\u001b[2J\u009bA"}`:                                      `{"msg":"\uFFFD[2J\uFFFDA"}`,
		`<html>tick-$(id)-top</html>`:                                     `[27 bytes that are not JSON]`,
		"\xef\xbb\xbf" + `{"firstName":"An"}`:                             `[21 bytes that are not JSON]`,
		`{"firstName":"An`:                                                `[16 bytes that are not JSON]`,
		`{} {"firstName":"An"}`:                                           `[21 bytes that are not JSON]`,
		``:                                                                ``,
	} {
		assert.Equal(t, strings.ReplaceAll(want, `\uFFFD`, "\uFFFD"), m.body([]byte(body), false))
	}
	assert.Equal(t, `{"code":0,"msg":"ok","data":{"jwt":"[masked]"},"error":{"type":"x"},"other":"[masked]"}`,
		m.body([]byte(`{"code":0,"msg":"ok","data":{"jwt":"x"},"error":{"type":"x"},"other":1}`), true))
	assert.Equal(t, "["+strings.Repeat("[1],", maxExcerpt/4)[:maxExcerpt-1]+"…",
		m.body([]byte("["+strings.Repeat("[1],", maxExcerpt)+"[1]]"), false))
	const secret = "12345678901234567890" // masking shortens the text, so text after the excerpt could move into the excerpt
	m.add(secret)
	for n := maxExcerpt/len(secret) - 20; n < maxExcerpt/len(secret); n++ {
		body := `{"a":{"b":{"c":{"n":[` + strings.Repeat(secret+",", n) + `1],"lastName":"Janet"},"email":"Janet"},"phone":"Janet"},"d":1}`
		assert.NotContains(t, m.body([]byte(body), false), "Janet")
	}
	assert.Equal(t, map[string]string{"Authorization": "Bearer [masked]"}, m.header(http.Header{"Authorization": {"Bearer tick-$(id)"}}))
	ex := m.exchange(&exchange{Exchange: judge.Exchange{URL: "https://tick-$(id)-top" + opTicket.Path(), Body: []byte(`{"data":"x"}`)},
		err: errors.New("tick-$(id)-top")})
	assert.Equal(t, []string{"https://[masked]" + opTicket.Path(), `{"data":"[masked]"}`, mask}, []string{ex.URL, ex.Body, ex.Error})
	assert.Equal(t, "x \uFFFD[31m", m.short("x \x1b[31m"))
	assert.Len(t, m.short(strings.Repeat("x", 1<<20)), maxText+len("…"))
}

// The evidence contains the wrong list element even if the body is cut off before this element.
func TestReasonNamesEachWrongPlaceWithTheExpectedAndTheActualValue(t *testing.T) {
	b := newBench(&masker{})
	list := `{"id":"A"},` + strings.Repeat(`{"id":"B"},`, maxExcerpt/10)
	b.judges(&exchange{Exchange: judge.Exchange{URL: opHotelList.Path(), Status: 200, Header: http.Header{"X-Ratelimit-Limit": {"7"}},
		Body: []byte(`{"code":0,"msg":"","data":{"basic":{"sessionId":"s"},"list":[` + list + `{"id":"C","rating":9,"rooms":[{"roomTypeId":"D",` +
			`"roomTypeName":{},"hotelId":"C","rates":[]},{"guests":[{"firstName":"Janet"}]}],"isAvailable":"yes"},{"rating":6}]}}`)}})
	b.judges(&exchange{Exchange: judge.Exchange{URL: opHotelStaticDetail.Path(), Status: 503}})
	for rule, want := range map[string]string{
		"list/form": "HotelList: data.list[410].rating (id C): expected rating, got 9, and 1 more; " +
			"data.list[410].rooms[1].roomTypeId (id C): expected name, got nothing; ",
		"limits/limit":    `HotelList: X-RateLimit-Limit: expected the documented limit, got "7"`,
		"errors/unlisted": "HotelStaticDetail: HTTP status: expected a documented HTTP status, got 503",
	} {
		assert.Contains(t, b.result(Rule{Name: rule}).Reason, want)
	}
	evidence := b.result(Rule{Name: "list/form"}).Evidence[0]
	assert.NotContains(t, evidence.Body, `"id":"C"`)
	assert.Contains(t, evidence.Element, `{"guests":[{"firstName":"[masked]"}]}`)
	assert.Equal(t, "a text of 8 bytes", place{at: "data.orders[0].guests[1].documents", v: "P1234567"}.shown())
}

// A rule may send more requests after the request that broke it.
func TestCurlRepeatsTheRequestThatBrokeTheRule(t *testing.T) {
	report, err := probed(t, hotelstaystest.Config{}, faults["Ticket accepts a ttl of 0"], only("ticket/ttl-positive"))
	require.NoError(t, err)
	assert.Equal(t, `curl -sS -i -X POST -H 'Content-Type: application/json' -d '{"appKey":"sandbox-app-key","appSecret":"'"$SECRET"'",`+
		`"ttl":0}' '`+report.BaseURL+`/api/auth/ticket'`, report.Results[0].Curl)
	ex := Exchange{Method: "POST", URL: "https://h/p", RequestBody: `{"a":"it's"}`,
		RequestHeader: map[string]string{"Authorization": "Bearer " + mask, "Session-Id": "s", "Request-Id": "r", "User-Ref": mask}}
	assert.Equal(t, `curl -sS -i -X POST -H "Authorization: Bearer $TOKEN" -H 'Session-Id: s' -H "User-Ref: $USER_REF" `+
		`-d '{"a":"it'\''s"}' 'https://h/p'`, ex.curl())
	ex.RequestHeader = map[string]string{"Authorization": "Bearer " + unknownTicket}
	assert.Contains(t, ex.curl(), `-H 'Authorization: Bearer `+unknownTicket+`'`)
}

func TestBaseURLOutsideATestEnvironmentMustBeConfirmed(t *testing.T) {
	for base, test := range map[string]bool{
		"https://api.example.com": false, "https://latest.example.com": false, "https://hotels.example": false,
		"https://test.example.com": true, "https://api-uat2.example.com": true, "http://127.0.0.1:80": true, "https://SANDBOX.example": true,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		cfg := Config{BaseURL: base, Credential: hotelstays.TicketCredential{AppKey: "k", AppSecret: types.NewSecret("secret")}}
		_, err := Run(ctx, cfg)
		assert.Equal(t, !test, strings.Contains(err.Error(), ErrNotTestEnvironment.Error()), "%s: %v", base, err)
		cfg.ConfirmHost = strings.TrimPrefix(base, "https://")
		_, err = Run(ctx, cfg)
		assert.NotErrorIs(t, err, ErrNotTestEnvironment)
	}
}

// If Run cannot probe the service, it returns a one-line error that names the problem.
func TestRunReturnsOneErrorIfTheServiceCannotBeProbed(t *testing.T) {
	page := func(a *reply) {
		a.header.Set("Content-Type", "text/html")
		a.status, a.body = 403, obj{"html": "log in"}
	}
	silent := func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	down := func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }
	for name, test := range map[string]struct {
		fault   fault
		through testkit.Transport
		says    string
	}{
		"a login page":         {fault{told: page}, nil, "HTTP 403"},
		"another API":          {fault{told: func(a *reply) { a.status, a.body = 404, obj{"error": "no route"} }}, nil, "HTTP 404"},
		"a refused credential": {fault{told: refused(401, unauthorized)}, nil, "100000401"},
		"no answer":            {fault{}, silent, "deadline exceeded"},
		"no service":           {fault{}, down, "connection refused"},
	} {
		report, err := probed(t, hotelstaystest.Config{}, test.fault, func(c *Config) {
			if test.through != nil {
				c.HTTPClient.Transport = test.through
			}
		})
		assert.Nil(t, report, name)
		assert.ErrorContains(t, err, "the service gave no ticket, so nothing was tried", name)
		assert.ErrorContains(t, err, test.says, name)
		assert.NotContains(t, fmt.Sprint(err), "\n", name)
	}
}

// If Run can probe the service although something is wrong, a note of one line names the problem.
func TestReportNotesProblemsOfTheWholeRun(t *testing.T) {
	late := func(a *reply) { a.header.Set("Date", time.Now().Add(-10*time.Minute).UTC().Format(http.TimeFormat)) }
	for want, test := range map[string]struct {
		sandbox hotelstaystest.Config
		fault   fault
	}{
		"this machine's clock and the service's differ by 10m0s":        {fault: fault{told: late}},
		"no rule could be tried: the account may not call OrderVoucher": {sandbox: hotelstaystest.Config{TicketScopes: []types.Scope{"none"}}},
	} {
		report, err := probed(t, test.sandbox, test.fault, only("voucher"))
		require.NoError(t, err)
		assert.Empty(t, report.broken())
		require.Len(t, report.Notes, 1, want)
		assert.Contains(t, report.Notes[0], want)
	}
}

func TestRunUsesAShareOfTheRateLimitAndWaitsForRetryAfter(t *testing.T) {
	for share, most := range map[float64]int{0: hotelstays.OpQueryOrders.RateLimit() / 10, 0.18: hotelstays.OpQueryOrders.RateLimit() / 6} {
		var times []time.Time
		watch := fault{op: opQueryOrders, told: func(a *reply) {
			if times = append(times, time.Now()); len(times) == 1 {
				a.tooMany()
				a.header.Set("Retry-After", "40")
			}
		}}
		report, err := probed(t, hotelstaystest.Config{}, watch, func(c *Config) { c.Only, c.Share = []string{"orders"}, share })
		require.NoError(t, err)
		for _, result := range report.Results {
			assert.Contains(t, []State{Found, Held}, result.State, "%s: %s", result.Name, result.Reason)
		}
		assert.GreaterOrEqual(t, times[1].Sub(times[0]), 40*time.Second)
		for i, at := range times[most:] {
			assert.GreaterOrEqual(t, at.Sub(times[i]), time.Second, "more than %d in a second", most)
		}
	}
}

func TestEndOfContextEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		cfg, _ := sandboxed(t, hotelstaystest.Config{}, fault{})
		cfg.Progress = func(Result) {
			if n++; n == 3 {
				cancel()
			}
		}
		report, err := Run(ctx, cfg)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Len(t, report.Results, len(Rules()))
		assert.Equal(t, report.Count(Held)+report.Count(Found), n, "Progress is not called for rules that were not tried")
		assert.Equal(t, 3, slices.IndexFunc(report.Results, func(r Result) bool { return r.State == NotTried }))
	})
}

// fakeT is a testing.T that records the failed subtests.
type fakeT struct {
	*testing.T
	failed *[]string
	name   string
}

func (f fakeT) Run(name string, fn func(fakeT)) bool { fn(fakeT{f.T, f.failed, name}); return true }
func (f fakeT) Errorf(string, ...any)                { *f.failed = append(*f.failed, f.name) }
func (f fakeT) Skip(...any)                          {}
func (f fakeT) Fatal(args ...any)                    { *f.failed = append(*f.failed, fmt.Sprint(args...)) }

func TestFunctionTestFailsForABrokenRuleAnOpenOrderOrAnInvalidConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed []string
		cfg, _ := sandboxed(t, hotelstaystest.Config{}, faults["Ticket accepts a ttl above the limit"])
		cfg.Only = []string{"ticket"}
		Test(fakeT{t, &failed, ""}, cfg)
		assert.Equal(t, []string{"ticket/ttl-above"}, failed)
		failed = nil
		cfg, _ = sandboxed(t, hotelstaystest.Config{CancelRule: hotelstaystest.CancelForbiddenByContract}, fault{})
		cfg.Only, cfg.Booking = []string{"book/price"}, &Booking{MaxTotal: eur("2000"), Journal: filepath.Join(t.TempDir(), "journal")}
		Test(fakeT{t, &failed, ""}, cfg)
		assert.Equal(t, []string{""}, failed, "an order is left")
		failed = nil
		Test(fakeT{t, &failed, ""}, Config{BaseURL: "https://hotels.example"})
		assert.Len(t, failed, 1)
	})
}

func TestFactsGoReturnsTheFactsAsGoCode(t *testing.T) {
	report := &Report{}
	assert.Equal(t, "hotelstays.ServiceFacts{}", report.FactsGo())
	report.Facts = hotelstays.ServiceFacts{NullOrders: true, RefusalCodes: map[hotelstays.Operation][]int{hotelstays.OpBook: {7, 8}},
		StatusMeanings: hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3, 5}}}
	assert.Equal(t, `hotelstays.ServiceFacts{
	StatusMeanings: hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3, 5}},
	RefusalCodes:   map[types.Operation][]int{"Book": []int{7, 8}},
	NullOrders:     true,
}`, report.FactsGo())
}
