package hotelstaystest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/judge"
)

const (
	ticketPath       = "/api/auth/ticket"
	oauthPath        = "/api/v1/oauth/token"
	destinationsPath = "/api/search/destinations"
	metadataPath     = "/api/search/hotelsMetadata"
	detailPath       = "/api/search/hotelStaticDetail"
	idListPath       = "/api/search/hotelIdList"
	listPath         = "/api/search/hotelList"
	ratesPath        = "/api/search/hotelRates"
	availPath        = "/api/search/checkAvail"
	bookPath         = "/api/trade/book"
	queryPath        = "/api/trade/queryOrders"
	voucherPath      = "/api/trade/orderVoucher"
	cancelPath       = "/api/trade/cancel"
)

// With -short the heap may grow, so that there are fewer garbage collections.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		debug.SetGCPercent(400)
	}
	goleak.VerifyTestMain(m)
}

func failIf(t testing.TB, wrong bool, format string, args ...any) {
	t.Helper()
	if wrong {
		t.Errorf(format, args...)
	}
}

func stopIf(t testing.TB, wrong bool, format string, args ...any) {
	t.Helper()
	if wrong {
		t.Fatalf(format, args...)
	}
}

// same checks that got equals want. The failure also shows the values of in.
func same[V comparable](t testing.TB, got, want V, in ...any) {
	t.Helper()
	failIf(t, got != want, "got %v, want %v %v", got, want, in)
}

func panics(t *testing.T, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		got := fmt.Sprint(recover())
		failIf(t, !strings.Contains(got, text), "panicked with %s, want %q", got, text)
	}()
	f()
}

func start(t testing.TB, config ...Config) *Server {
	t.Helper()
	c := append(config, Config{})[0]
	c.InMemory = true
	s := NewServer(&c)
	t.Cleanup(s.Close)
	return s
}

// open starts a server without rate limits, and logs in.
func open(t testing.TB, config ...Config) (*Server, *user) {
	t.Helper()
	c := append(config, Config{})[0]
	c.NoRateLimits = true
	s := start(t, c)
	return s, login(t, s)
}

// twoAccounts are accounts for tests in which one account must not see the orders of the other account.
var twoAccounts = []Account{{AppKey: "one", AppSecret: "1"}, {AppKey: "two", AppSecret: "2"}}

// stranger returns a user with a ticket of the second account.
func (u *user) stranger() *user { return u.with(u.ticket("two", "2")) }

// user is a client on net/http and encoding/json, so that the SDK does not test itself.
type user struct {
	t       testing.TB
	s       *Server
	http    *http.Client
	token   string
	headers map[string]string
}

// login makes a user of the first account. Package judge checks each answer that the user receives.
func login(t testing.TB, s *Server) *user {
	t.Helper()
	j := judge.Test(t)
	t.Cleanup(func() { failIf(t, j.Dropped() > 0, "the judge dropped %d answers", j.Dropped()) })
	u := &user{t: t, s: s, http: &http.Client{Transport: j.Transport(s.Client().Transport)}, headers: map[string]string{}}
	u.token = u.ticket(s.AppKey, s.AppSecret)
	return u
}

func (u *user) ticket(key, secret string) string {
	u.t.Helper()
	r := u.with("").must(ticketPath, object{"appKey": key, "appSecret": secret})
	return r.str("ticket")
}

// plain returns the user without a judge, for tests whose answers break the document's rules.
func (u *user) plain() *user {
	c := *u
	c.http = u.s.Client()
	return &c
}

func (u *user) with(token string) *user {
	c := *u
	c.token = token
	return &c
}

func (u *user) header(name, value string) *user {
	c := *u
	c.headers = maps.Clone(u.headers)
	c.headers[name] = value
	return &c
}

func (u *user) session(id string) *user { return u.header("Session-Id", id) }

type object = map[string]any

type reply struct {
	t      testing.TB
	status int
	header http.Header
	proto  string
	body   []byte
	code   int
	msg    string
	data   object
}

func (u *user) send(path string, body any) (*reply, error) {
	return exchange(u.t, u.http, "POST", u.s.URL+path, body, func(r *http.Request) {
		if u.token != "" {
			r.Header.Set("Authorization", "Bearer "+u.token)
		}
		for k, v := range u.headers {
			header(k, v)(r)
		}
	})
}

// exchange makes a request, calls the function change with it, and sends the request. The parameter body is JSON text, or a
// value to encode.
func exchange(t testing.TB, client *http.Client, method, url string, body any, change func(*http.Request)) (*reply, error) {
	text, ok := body.(string)
	if !ok && body != nil {
		text = string(must(json.Marshal(body)))
	}
	req := must(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(text)))
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	change(req)
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	return read(t, resp)
}

func read(t testing.TB, resp *http.Response) (*reply, error) {
	defer resp.Body.Close()
	r := &reply{t: t, status: resp.StatusCode, header: resp.Header, proto: resp.Proto}
	var err error
	if r.body, err = io.ReadAll(resp.Body); err != nil {
		return r, err
	}
	var e struct {
		Code *int
		Msg  string
		Data object
	}
	dec := json.NewDecoder(bytes.NewReader(r.body))
	dec.UseNumber()
	r.code = -1
	if dec.Decode(&e) == nil && e.Code != nil {
		r.code, r.msg, r.data = *e.Code, e.Msg, e.Data
	}
	return r, nil
}

func (u *user) post(path string, body any) *reply {
	u.t.Helper()
	r, err := u.send(path, body)
	stopIf(u.t, err != nil, "%s: %v", path, err)
	return r
}

func (u *user) must(path string, body any) *reply {
	u.t.Helper()
	r := u.post(path, body)
	stopIf(u.t, r.status != 200 || r.code != 0, "%s: HTTP %d, %s", path, r.status, r.body)
	return r
}

// refused requires an answer with the HTTP status and the code, and with text in its msg.
func (u *user) refused(path string, body any, status, code int, text string) *reply {
	u.t.Helper()
	r := u.post(path, body)
	failIf(u.t, r.status != status || r.code != code || !strings.Contains(r.msg, text),
		"%s: got HTTP %d code %d %q, want HTTP %d code %d with %q", path, r.status, r.code, r.msg, status, code, text)
	return r
}

// at returns the value at a path in data: a string is a key, an int an index.
func (r *reply) at(path ...any) any {
	var v any = r.data
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(object)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func (r *reply) str(path ...any) string {
	r.t.Helper()
	v := r.at(path...)
	stopIf(r.t, v == nil, "nothing at %v in %.600s", path, r.body)
	return fmt.Sprint(v)
}

func (r *reply) list(path ...any) []any {
	l, _ := r.at(path...).([]any)
	return l
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func oneRoom() []object { return []object{{"adultCount": 2}} }

// with adds fields to an object. It removes a field whose new value is nil.
func with(o, more object) object {
	maps.Copy(o, more)
	maps.DeleteFunc(o, func(_ string, v any) bool { return v == nil })
	return o
}

// search returns a HotelList body for the first city.
func search(s *Server, more object) object {
	return with(object{"destinationId": s.CityID(0), "checkIn": "2030-12-24", "checkOut": "2030-12-26", "roomOccupancies": oneRoom()}, more)
}

// find searches for one hotel. It returns the user with the session, and the ids of the hotel's offers.
func (u *user) find(more object) (*user, []string) { return u.findRefundable("", more) }

// findRefundable is like find, but returns only offers with this refundableMode. An empty mode means all offers.
func (u *user) findRefundable(mode string, more object) (*user, []string) {
	u.t.Helper()
	body := search(u.s, more)
	body["pageSize"] = 1
	r := u.must(listPath, body)
	var ids []string
	for i := range r.list("list", 0, "rooms") {
		for j := range r.list("list", 0, "rooms", i, "rates") {
			if rate := r.at("list", 0, "rooms", i, "rates", j).(object); mode == "" || rate["refundableMode"] == mode {
				ids = append(ids, rate["ratePkgId"].(string))
			}
		}
	}
	return u.session(r.str("basic", "sessionId")), ids
}

func guests(firstName, lastName string) object {
	return object{"guests": []object{{"roomIndex": 1, "firstName": firstName, "lastName": lastName}}}
}

func cancellation(ref string, order *reply) object {
	return object{"customerReferenceNo": ref, "supplierReferenceNo": order.str("hotelOrder", "supplierReferenceNo")}
}

func booking(ref, ratePkgID string, more object) object {
	return with(object{
		"customerReferenceNo": ref, "ratePkgId": ratePkgID,
		"holder": object{"firstName": "Test", "lastName": "Holder"},
		"guests": []object{{"roomIndex": 1, "firstName": "Test", "lastName": "Guest"}},
	}, more)
}

// book searches and books offer n. It returns the user with the session, and the order.
func (u *user) book(ref string, n int) (*user, *reply) {
	u.t.Helper()
	in, ids := u.find(nil)
	return in, in.must(bookPath, booking(ref, ids[n], nil))
}
