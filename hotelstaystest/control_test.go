package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func controlled(t testing.TB, config ...Config) (*Server, *controller) {
	t.Helper()
	c := append(config, Config{})[0]
	c.Control.Enabled = true
	s := start(t, c)
	return s, &controller{t: t, s: s}
}

type controller struct {
	t      testing.TB
	s      *Server
	change func(*http.Request) // called before a request is sent
}

func (c *controller) call(method, path string, body any) *reply {
	c.t.Helper()
	client := c.s.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a, err := exchange(c.t, client, method, c.s.URL+path, body, func(r *http.Request) {
		if c.change != nil {
			c.change(r)
		}
	})
	stopIf(c.t, err != nil, "%s %s: %v", method, path, err)
	return a
}

func (c *controller) must(method, path string, body, out any) {
	c.t.Helper()
	a := c.call(method, path, body)
	stopIf(c.t, a.status != 200 && a.status != 204, "%s %s: HTTP %d, %s", method, path, a.status, a.body)
	if out != nil {
		if err := json.Unmarshal(a.body, out); err != nil {
			c.t.Fatalf("%s %s: %v in %s", method, path, err, a.body)
		}
	}
}

func (c *controller) refused(method, path string, body any, status int, field, text string) *reply {
	c.t.Helper()
	a := c.call(method, path, body)
	var got struct {
		Error struct{ Field, Message string }
	}
	err := json.Unmarshal(a.body, &got)
	failIf(c.t, a.status != status || err != nil || got.Error.Field != field || !strings.Contains(got.Error.Message, text),
		"%s %s: got HTTP %d %s, want %d for field %q with %q", method, path, a.status, a.body, status, field, text)
	return a
}

// Without the control API, the ledger keeps no bodies.
func TestControlAPIIsOffByDefault(t *testing.T) {
	s := start(t)
	c := &controller{t: t, s: s}
	for _, path := range []string{healthPath, "/_sandbox/", "/_sandbox/clock"} {
		got := c.call("GET", path, nil)
		failIf(t, got.status != 404 || !strings.Contains(string(got.body), `"code"`), "%s: HTTP %d, %s", path, got.status, got.body)
	}
	in, ids := login(t, s).find(nil)
	in.must(bookPath, booking("ref", ids[0], nil))
	kept := s.ledger.kept()
	failIf(t, len(kept) != 3+3, "the ledger has %d requests instead of 6", len(kept))
	for _, r := range kept {
		failIf(t, r.Body+r.Answer != "" || len(r.References) > 0, "%+v", r)
	}
}

func TestLedgerOmitsControlRequests(t *testing.T) {
	s, c := controlled(t, Config{RateLimits: map[Operation]int{opTicket: 1}})
	s.Inject(Fault{Kind: FaultCutBeforeRead, Times: -1})
	before := len(s.Ledger().Entries(0))
	for range 5 {
		c.must("GET", healthPath, nil, nil)
		c.must("GET", "/_sandbox/ledger", nil, nil)
		c.refused("GET", "/_sandbox/nothing", nil, 404, "", "openapi.json")
	}
	got := s.Ledger()
	failIf(t, got.Count("") != 0 || len(got.Entries(0)) != before, "%+v", got.Entries(0))
}

// header also sets the request's host if the name is Host.
func header(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
}

func (c *controller) with(change func(*http.Request)) *controller {
	return &controller{t: c.t, s: c.s, change: change}
}

func TestControlAPIRefusesOtherHostNames(t *testing.T) {
	_, c := controlled(t, Config{Control: ControlConfig{Hosts: []string{"sandbox", "Sandbox.Example"}}})
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8080": 200, "127.0.0.1": 200, "127.9.9.9:1": 200, "[::1]:80": 200, "[::ffff:127.0.0.1]": 200,
		"sandbox": 200, "SANDBOX:443": 200, "sandbox.example.": 200,
		"attacker.example": 403, "attacker.example:80": 403, "127.0.0.1.attacker.example": 403, "localhost.attacker.example": 403,
		"0.0.0.0": 403, "192.0.2.1": 403, "[::]:80": 403, "sandbox.attacker.example": 403, "127.1": 403, "2130706433": 403,
	} {
		a := c.with(header("Host", host)).call("GET", "/_sandbox/clock", nil)
		failIf(t, a.status != want, "%s: HTTP %d %s, want %d", host, a.status, a.body, want)
	}
	c.with(header("Host", "attacker.example")).refused("POST", "/_sandbox/reset", nil, 403, "Host", "attacker.example")
	c.with(header("Host", "attacker.example")).must("GET", healthPath, nil, nil) // the only control path that accepts every host name

	_, remote := controlled(t, Config{AllowRemote: true})
	for host, want := range map[string]int{"192.0.2.1:8080": 200, "[2001:db8::1]:80": 200, "attacker.example": 403, "2130706433": 403} {
		a := remote.with(header("Host", host)).call("GET", "/_sandbox/clock", nil)
		failIf(t, a.status != want, "remote, %s: HTTP %d %s, want %d", host, a.status, a.body, want)
	}
}

// A user's browser may show a page of another site. The page could send these requests to a sandbox on the user's machine.
func TestControlAPIRefusesPagesOfOtherSites(t *testing.T) {
	s, c := controlled(t)
	s.Inject(Fault{Kind: FaultStatus})
	for name, change := range map[string]func(*http.Request){
		"foreign origin":         header("Origin", "https://attacker.example"),
		"null origin":            header("Origin", "null"),
		"origin on another port": header("Origin", "http://127.0.0.1:9"),
		"cross-site fetch":       header("Sec-Fetch-Site", "cross-site"),
		"same-site fetch":        header("Sec-Fetch-Site", "same-site"),
	} {
		for _, call := range [][2]string{{"DELETE", "/_sandbox/faults"}, {"POST", "/_sandbox/reset"}} {
			a := c.with(change).refused(call[0], call[1], nil, 403, "Origin", "another site")
			failIf(t, a.header.Get("Access-Control-Allow-Origin") != "", "%s: %v", name, a.header)
		}
		if a := c.with(change).call("OPTIONS", "/_sandbox/faults", nil); a.status != 405 || a.header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%s: a preflight got HTTP %d, %v", name, a.status, a.header)
		}
	}
	failIf(t, len(s.faults.all()) != 1, "another site removed a fault")
	for _, form := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
		c.with(header("Content-Type", form)).refused("POST", "/_sandbox/faults", `{"kind":"cut"}`, 415, "Content-Type", "application/json")
	}
	c.with(header("Origin", s.URL)).must("DELETE", "/_sandbox/faults", nil, nil)
	c.with(header("Content-Type", "application/json; charset=utf-8")).must("POST", "/_sandbox/faults", `{"kind":"cut"}`, nil)
}

func TestControlAPIRequiresItsToken(t *testing.T) {
	const token = "a-control-token"
	page := func(*Server) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the page") })
	}
	s, c := controlled(t, Config{Control: ControlConfig{Token: token, Page: page}})
	c.must("GET", healthPath, nil, nil)
	for name, change := range map[string]func(*http.Request){
		"no token": nil, "wrong token": header("Authorization", "Bearer a-control-tokem"),
		"token with one more character": header("Authorization", "Bearer a-control-token-"),
		"token cut off":                 header("Authorization", "Bearer a-control-toke"),
		"token with scheme Basic":       header("Authorization", "Basic "+token),
		"token without scheme":          header("Authorization", token),
		"token in the cookie":           header("Cookie", controlCookie+"="+token),
		"ticket of the API":             header("Authorization", "Bearer "+login(t, s).token),
	} {
		for _, path := range []string{"/_sandbox/ledger", "/_sandbox/", "/_sandbox/page/x", "/_sandbox/nothing",
			"/_sandbox/ledger?token=" + token} {
			a := c.with(change).refused("GET", path, nil, 401, "Authorization", "control token")
			failIf(t, a.header.Get("WWW-Authenticate") != "Bearer", "%s: %v", name, a.header)
		}
		c.with(change).refused("POST", "/_sandbox/reset", nil, 401, "Authorization", "control token")
	}
	c.refused("GET", "/_sandbox/?token=wrong", nil, 401, "Authorization", "control token")
	c.refused("GET", "/_sandbox/page/x?token="+token, nil, 401, "Authorization", "control token")
	bearer := c.with(header("Authorization", "Bearer "+token))
	bearer.must("GET", "/_sandbox/ledger", nil, nil)

	in := c.call("GET", "/_sandbox/?token="+token, nil)
	cookies := (&http.Response{Header: in.header}).Cookies()
	stopIf(t, in.status != 303 || in.header.Get("Location") != controlPath || len(cookies) != 1 ||
		in.header.Get("Referrer-Policy") != "no-referrer", "HTTP %d, %v", in.status, in.header)
	cookie := cookies[0]
	failIf(t, !cookie.HttpOnly ||
		cookie.SameSite != http.SameSiteLaxMode || cookie.Path != controlPath || strings.Contains(cookie.Value, token),
		"%+v", cookie)
	browser := c.with(func(r *http.Request) { r.AddCookie(cookie) })
	if a := browser.call("GET", "/_sandbox/", nil); string(a.body) != "the page" || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("HTTP %d %s", a.status, a.body)
	}
	browser.must("POST", "/_sandbox/reset", nil, nil)
	_, c = controlled(t, Config{TLS: true, Control: ControlConfig{Token: token}})
	in = c.call("GET", "/_sandbox/?token="+token, nil)
	got := in.header.Get("Set-Cookie")
	failIf(t, !strings.Contains(got, "Secure"), "over TLS: HTTP %d, cookie %q", in.status, got)
}

func TestControlAPIRefusesUnknownPathsAndMethods(t *testing.T) {
	_, c := controlled(t)
	for _, path := range []string{"/_sandbox", "/_sandbox/", "/_sandbox/page/x", "/_sandbox/ledger/", "/_SANDBOX/ledger", "/healthz/"} {
		same(t, c.call("GET", path, nil).status, 404, path)
	}
	for path, allow := range map[string]string{"/_sandbox/ledger": "GET", "/_sandbox/faults": "GET, POST, DELETE",
		"/_sandbox/orders/x/confirm": "POST", healthPath: "GET"} {
		a := c.call("PATCH", path, nil)
		failIf(t, a.status != 405 || a.header.Get("Allow") != allow, "%s: HTTP %d, Allow %q", path, a.status, a.header.Get("Allow"))
	}
	for _, path := range []string{healthPath, "/_sandbox/ledger", "/_sandbox/events"} {
		a := c.call("HEAD", path, nil)
		failIf(t, a.status != 200 || len(a.body) != 0, "%s: HTTP %d %s", path, a.status, a.body)
	}
}

func TestControlAPIErrorNamesTheInvalidField(t *testing.T) {
	s, c := controlled(t)
	for body, want := range map[string]struct{ field, text string }{
		`null`:                              {"", "null"},
		`{"kind":"cut","Kind":"cut"}`:       {"Kind", "unknown field"},
		`{"kind":"cut","delay":{"s":1}}`:    {"delay", "must be a duration"},
		`{"kind":"cut","header":{"A":[1]}}`: {"header.A[0]", "must be string"},
		`{"header":` + strings.Repeat(`{"a":`, 9000) + `1` + strings.Repeat("}", 9001): {"header.a", "must be array"},
	} {
		c.refused("POST", "/_sandbox/faults", body, 400, want.field, want.text)
	}
	c.refused("POST", "/_sandbox/faults", `{"msg":"`+strings.Repeat("x", maxControlBody)+`"}`, 413, "", "65536")
	c.refused("POST", "/_sandbox/reset", `{"really":true}`, 400, "really", "unknown field")
	c.refused("GET", "/_sandbox/ledger?after=1", nil, 400, "after", "unknown parameter")
	c.refused("GET", "/_sandbox/requests?after=1&after=2", nil, 400, "after", "twice")
	c.refused("GET", "/_sandbox/requests?%zz", nil, 400, "", "malformed")
	failIf(t, len(s.faults.all()) != 0, "a malformed body injected a fault")
}

// Many clients use the control API while other clients book and read the stream of events. Some answers to bookings are cut
// off on purpose. No control call fails, sequence numbers only grow, and no goroutine is left.
func TestConcurrentClientsOfTheControlAPIGetNoErrors(t *testing.T) {
	const clients, users, listeners, calls = 50, 10, 5, 4
	s := NewServer(&Config{
		InMemory:     true,
		Control:      ControlConfig{Enabled: true},
		NoRateLimits: true,
		Webhooks:     WebhookConfig{CallbackHandler: &receiver{}},
		LedgerLimit:  500,
		ConfirmAfter: time.Minute,
	})
	defer s.Close()
	c := &controller{t: t, s: s}
	in, ids := login(t, s).find(nil)
	in.must(bookPath, booking("first", ids[0], object{"callbackUrl": hook}))

	steps := [][3]string{
		{"POST", "/_sandbox/faults", `{"kind":"cut","commit":true,"operation":"Book"}`},
		{"POST", "/_sandbox/faults", `{"kind":"delay","delay":"1ms"}`},
		{"POST", "/_sandbox/faults", `{"kind":"duplicate","operation":"Webhook","reference":"first"}`},
		{"DELETE", "/_sandbox/faults/1"},
		{"DELETE", "/_sandbox/faults"},
		{"GET", "/_sandbox/ledger"},
		{"GET", "/_sandbox/requests?reference=first&limit=20"},
		{"GET", "/_sandbox/orders?limit=10"},
		{"GET", "/_sandbox/webhooks?limit=10"},
		{"POST", "/_sandbox/orders/first/status", `{"status":2}`},
		{"POST", "/_sandbox/orders/first/amend"},
		{"POST", "/_sandbox/orders/first/webhooks", `{"event":"order_modified"}`},
		{"POST", "/_sandbox/offers/price", fmt.Sprintf(`{"ratePkgId":%q,"percent":1}`, ids[1])},
		{"POST", "/_sandbox/clock", `{"advance":"1s"}`},
		{"POST", "/_sandbox/tokens/revoke"},
		{"POST", "/_sandbox/reset"},
	}
	var open []*listening
	var watching, working sync.WaitGroup
	for range listeners {
		l := c.listen("", "")
		open = append(open, l)
		watching.Go(func() { l.follow(t) })
	}
	for i := range users {
		working.Go(func() {
			for n := range calls {
				ref := fmt.Sprintf("%d-%d", i, n)
				user := in.with(s.newToken(token{Account: s.AppKey}, time.Hour)) // a client may have revoked the last token
				s.Inject(Fault{Operation: OpWebhook, Kind: FaultBadSignature, Reference: ref})
				user.send(bookPath, booking(ref, ids[2], with(guests("Guest", ref), object{"callbackUrl": hook})))
				user.send(queryPath, object{"customerReferenceNos": []string{ref}})
			}
		})
	}
	for i := range clients {
		working.Go(func() {
			pick := rand.New(rand.NewPCG(1, uint64(i)))
			for range calls {
				step := steps[pick.IntN(len(steps))]
				a := c.call(step[0], step[1], step[2])
				if a.status >= 400 && a.status != 404 && a.status != 409 { // a reset may have removed the order: 404 or 409
					t.Errorf("%s: HTTP %d %s", step, a.status, a.body)
				}
			}
		})
	}
	working.Wait()
	for _, l := range open {
		l.body.Close()
	}
	watching.Wait()
	c.must("POST", "/_sandbox/reset", nil, nil)
	login(t, s).book("last", 0)
}

// follow reads the stream until it ends, and checks that sequence numbers grow.
func (l *listening) follow(t *testing.T) {
	for last := 0; ; {
		e := l.next()
		if e == (streamed{}) {
			return
		}
		if seq, _ := strconv.Atoi(e.id); e.id != "" && seq <= last {
			t.Errorf("sequence number %d follows %d", seq, last)
		} else if e.id != "" {
			last = seq
		}
	}
}
