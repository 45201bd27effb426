package judge_test

import (
	"fmt"
	"io"
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
	"github.com/hotelstays/hotelstays-go/judge"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// booking is a booking's life in a sandbox whose answers, if changed, the judge sees otherwise. It returns the rules with findings.
func booking(t *testing.T, j *judge.Judge, change func(path, body string) string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv, _ := testkit.NewSandbox(t, hotelstaystest.Config{ConfirmAfter: hotelstaystest.AtOnce, VoucherDelay: hotelstaystest.AtOnce})
		through := testkit.Transport(func(req *http.Request) (*http.Response, error) {
			resp, err := srv.Client().Transport.RoundTrip(req)
			if err == nil && change != nil {
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				text := change(req.URL.Path, string(body))
				resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
			}
			return resp, err
		})
		client := testkit.NewClient(t, srv, testkit.TicketOf(srv), hotelstays.WithHTTPClient(&http.Client{Transport: j.Transport(through)}))
		list, err := client.HotelList(t.Context(), &hotelstays.HotelListRequest{DestinationID: srv.CityID(0), CheckIn: testkit.CheckIn,
			CheckOut: testkit.CheckOut, RoomOccupancies: testkit.TwoAdults(), PageSize: 1}, hotelstays.WithCurrency("EUR"))
		require.NoError(t, err)
		later, err := client.HotelList(t.Context(), &hotelstays.HotelListRequest{DestinationID: srv.CityID(0), CheckIn: "2000-04-10",
			CheckOut: "2000-04-13", RoomOccupancies: testkit.TwoAdults(), PageSize: 1}, hotelstays.WithCurrency("USD"))
		require.NoError(t, err)
		rate := list.List[0].Rooms[0].Rates[0]
		_, _ = client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: list.Basic.SessionID, RatePkgID: rate.RatePkgID})
		offer := testkit.Offer{RoomRatePkg: rate, Session: list.Basic.SessionID}
		if _, err := client.Book(t.Context(), offer.Request("ref-1")); err == nil {
			another := testkit.Offer{RoomRatePkg: later.List[0].Rooms[0].Rates[0], Session: later.Basic.SessionID}
			_, _ = client.Book(t.Context(), another.Request("ref-1")) // returns the first order
			_, _ = client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-1"}})
			_, _ = client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1", IncludeDocument: true})
			order, err := client.FindOrder(t.Context(), "ref-1")
			if err == nil {
				_, _ = client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: offer.Session, CustomerReferenceNo: "ref-1",
					SupplierReferenceNo: order.SupplierReferenceNo})
			}
		}
		j.Wait()
		assert.Zero(t, j.Dropped())
	})
}

func TestSandboxHasNoFinding(t *testing.T) {
	n := 0
	booking(t, judge.New(&judge.Options{OnFinding: func(f judge.Finding) { t.Errorf("%+v", f) }}), func(_, body string) string { n++; return body })
	assert.Equal(t, 10, n)
	booking(t, judge.Test(t), nil)
}

// Each change of an answer is found, by one rule.
func TestChangedAnswersAreFound(t *testing.T) {
	for name, test := range map[string]struct{ path, old, new, rule, at string }{
		"an amount of text":          {"hotelList", `"amount":`, `"amount":"x","y":`, "list/form", "data.list[0].minPrice.amount"},
		"no sessionId":               {"hotelList", `"sessionId"`, `"session"`, "list/form", "data.basic.sessionId"},
		"a rating of 6":              {"hotelList", `"rating":2.8`, `"rating":6`, "list/form", "data.list[0].rating"},
		"another currency":           {"hotelList", `"netRate":{"currency":"EUR"`, `"netRate":{"currency":"USD"`, "headers/currency", "data.list[0].rooms[0].rates[0].rate.netRate.currency"},
		"other dates":                {"hotelList", `"checkOut":"2000-03-13"`, `"checkOut":"2000-03-14"`, "list/dates", "data.list[0].rooms[0].rates[0].checkOut"},
		"a room of another hotel":    {"hotelList", `"hotelId":"S`, `"hotelId":"T`, "list/room-hotel", "data.list[0].rooms[0].hotelId"},
		"another destination":        {"hotelList", `"destination":{"id":"`, `"destination":{"id":"f`, "list/form", "data.basic.destination.id"},
		"a last page of the first":   {"hotelList", `"hasMore":true`, `"hasMore":false`, "list/has-more", "data.hasMore"},
		"a dear minPrice":            {"hotelList", `"minPrice":{"currency":"EUR","amount":`, `"minPrice":{"currency":"EUR","amount":9`, "list/min-price", "data.list[0].minPrice"},
		"a cheap minPrice":           {"hotelList", `"minPrice":{"currency":"EUR","amount":`, `"minPrice":{"currency":"EUR","amount":0.1,"x":`, "value/min-price", "data.list[0].minPrice"},
		"another session":            {"hotelList", `"sessionId":"`, `"sessionId":"x`, "value/session", "data.basic.sessionId"},
		"no id":                      {"hotelList", `"list":[{"id"`, `"list":[{"hotelId"`, "value/members", "data.list[0].id"},
		"a tax in another currency":  {"hotelList", `"Value added tax","amount":{"currency":"EUR"`, `"Value added tax","amount":{"currency":"USD"`, "value/tax", "data.list[0].rooms[0].rates[0].tax.items[0]"},
		"a fee in another currency":  {"hotelList", `"fee":{"currency":"EUR"`, `"fee":{"currency":"USD"`, "value/currency", "data.list[0].rooms[0].rates[0].cancelFees[0].fee"},
		"a fee above the price":      {"hotelList", `"fee":{"currency":"EUR","amount":`, `"fee":{"currency":"EUR","amount":9`, "value/terms", "data.list[0].rooms[0].rates[0].cancelFees[0].fee"},
		"a free step of no refund":   {"hotelList", `"fee":{"currency":"EUR","amount":`, `"fee":{"currency":"EUR","amount":0,"x":`, "value/terms", "data.list[0].rooms[0].rates[0].cancelFees"},
		"a gross price below net":    {"hotelList", `"grossRate":{"currency":"EUR","amount":`, `"grossRate":{"currency":"EUR","amount":0.1,"x":`, "offer/total", "data.list[0].rooms[0].rates[0].rate.grossRate.amount"},
		"a mode that changed":        {"checkAvail", `"refundableMode":"`, `"refundableMode":"partial","x":"`, "value/terms", "data.roomRatePkg.refundableMode"},
		"rates of nobody":            {"checkAvail", `"usd":{"`, `"usd":{"xxx":1},"x":{"`, "value/exchange", "data.exchangeRateSnapshot.usd"},
		"rates in upper case":        {"checkAvail", `"usd":{"`, `"usd":{"XXX":1,"`, "check/form", "data.exchangeRateSnapshot.usd.XXX"},
		"a dearer order":             {"book", `"netRate":{"currency":"EUR","amount":`, `"netRate":{"currency":"EUR","amount":9`, "value/price", "data.hotelOrder.netRate"},
		"a time of another zone":     {"book", `"bookingTime":"2000-01-01T00`, `"bookingTime":"1999-12-31T16`, "value/time", "data.hotelOrder.bookingTime"},
		"a time that is no ISO 8601": {"book", `"bookingTime":"2000-01-01T`, `"bookingTime":"2000-01-01 `, "book/form", "data.hotelOrder.bookingTime"},
		"another guest":              {"queryOrders", `"guests":[{`, `"guests":[{"firstName":"x","lastName":"y"},{`, "value/guests", "data.orders[0].rooms[0].guests[0]"},
		"no room":                    {"queryOrders", `"roomCount":1`, `"roomCount":2`, "order/rooms", "data.orders[0].roomCount"},
		"a room 0":                   {"queryOrders", `"roomIndex":1`, `"roomIndex":0`, "value/plausible", "data.orders[0].rooms[0].roomIndex"},
		"a size of another document": {"orderVoucher", `"byteSize":`, `"byteSize":9`, "value/size", "data.voucher.byteSize"},
		"no msg":                     {"queryOrders", `"msg":"success",`, ``, "envelope/success", "msg"},
		"an order of another stay":   {"book", `"checkIn":"2000-03-10"`, `"checkIn":"2000-03-09"`, "book/stay", "data.hotelOrder.checkIn"},
		"another reference":          {"queryOrders", `"customerReferenceNo":"ref-1"`, `"customerReferenceNo":"ref-2"`, "order/others", "data.orders[0].customerReferenceNo"},
		"four nights":                {"queryOrders", `"nightCount":3`, `"nightCount":4`, "order/nights", "data.orders[0].nightCount"},
		"another holder":             {"queryOrders", `"holder":{"firstName":"Guest"`, `"holder":{"firstName":"Host"`, "book/holder", "data.orders[0].holder"},
		"a confirmed new order":      {"book", `"status":1`, `"status":2`, "book/status", "data.hotelOrder.status"},
		"a status of 9":              {"cancel", `"status":3`, `"status":9`, "cancel/form", "data.status"},
		"another document":           {"orderVoucher", `"digest":"`, `"digest":"0`, "voucher/form", "data.voucher.signature.digest"},
		"a voucher that is pending":  {"orderVoucher", `"GENERATED"`, `"PENDING"`, "voucher/generated", "data.voucher"},
	} {
		found := map[string]string{}
		booking(t, judge.New(&judge.Options{OnFinding: func(f judge.Finding) {
			if found[f.Name] == "" {
				found[f.Name] = f.Path
			}
			assert.NotContains(t, fmt.Sprintf("%+v", f), "Guest")
		}}), func(path, body string) string {
			if !strings.HasSuffix(path, "/"+test.path) {
				return body
			}
			return strings.Replace(body, test.old, test.new, 1)
		})
		if test.rule == "" {
			assert.Empty(t, found, name)
		} else {
			assert.Equal(t, test.at, found[test.rule], "%s: %v", name, found)
		}
	}
}

// Look judges one exchange, and remembers nothing but what it has to.
func look(url, asked string, status int, body string) judge.Exchange {
	limit := map[bool]string{true: "5", false: "100"}[strings.HasSuffix(url, "ticket")]
	return judge.Exchange{Time: time.Now(), URL: "https://h" + url, Request: http.Header{"Authorization": {"Bearer t"}}, RequestBody: []byte(asked),
		Status: status, Body: []byte(body), Header: http.Header{"Content-Type": {"application/json"}, "Request-Id": {"r"}, "Trace-Id": {"t"},
			"Server-Cost-Milliseconds": {"1"}, "X-Ratelimit-Limit": {limit}, "X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Reset": {"1"}}}
}

func TestFailuresAreJudged(t *testing.T) {
	const places, ticket = "/api/search/destinations", "/api/auth/ticket"
	for name, test := range map[string]struct {
		ex   judge.Exchange
		rule string
	}{
		"a refusal":                     {look(places, "{}", 400, `{"code":7,"msg":"no"}`), ""},
		"a page of HTML":                {look(places, "{}", 400, `<html>`), "envelope/failure"},
		"data in a refusal":             {look(places, "{}", 400, `{"code":7,"msg":"no","data":{"x":1}}`), "envelope/failure"},
		"a 429 without a Retry":         {look(places, "{}", 429, `{"code":100000429,"msg":"no"}`), "limits/refusal limits/shared"},
		"a code that is reserved":       {look(places, "{}", 400, `{"code":100001112,"msg":"no"}`), "errors/codes"},
		"a status that is not known":    {look(places, "{}", 418, `{"code":7,"msg":"no"}`), "errors/unlisted"},
		"another code of Ticket":        {look(ticket, "{}", 401, `{"code":7,"msg":"no"}`), "ticket/refused"},
		"a country of nobody":           {look(places, `{"countryCode":"AE"}`, 200, `{"code":0,"msg":"","data":{"destinations":[{"countryCode":"GB"}]}}`), "destinations/country"},
		"a small city":                  {look(places, `{}`, 200, `{"code":0,"msg":"","data":{"destinations":[{"type":6,"extra":{"hotelCount":0}}]}}`), "destinations/hotels"},
		"a ticket of two parts":         {look(ticket, `{}`, 200, `{"code":0,"msg":"","data":{"ticket":"a.b"}}`), "ticket/form"},
		"a ticket of some seconds less": {look(ticket, `{}`, 200, `{"code":0,"msg":"","data":{"ticket":"e30.eyJpYXQiOjEsImV4cCI6ODYzOTl9.x"}}`), ""},
		"a ticket of an hour":           {look(ticket, `{}`, 200, `{"code":0,"msg":"","data":{"ticket":"e30.eyJpYXQiOjEsImV4cCI6MzYwMX0.x"}}`), "ticket/ttl"},
		"deep JSON":                     {look(places, "{}", 200, strings.Repeat("[", 1000)), "envelope/success"},
	} {
		names := []string{}
		for _, f := range judge.New(nil).Look(test.ex).Findings {
			names = append(names, f.Name)
		}
		assert.Equal(t, strings.Fields(test.rule), slices.Compact(names), name)
	}
}

func TestQueueIsBounded(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{}, 99)
	j := judge.New(&judge.Options{MaxQueued: 100, OnFinding: func(judge.Finding) { held <- struct{}{}; <-hold }})
	through := j.Transport(testkit.Transport(func(*http.Request) (*http.Response, error) {
		return testkit.Reply(400, strings.Repeat("x", 60)), nil
	}))
	call := func(read bool) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/api/trade/queryOrders", strings.NewReader("{}"))
		require.NoError(t, err)
		resp, err := through.RoundTrip(req)
		require.NoError(t, err)
		if read {
			_, _ = io.ReadAll(resp.Body)
		}
		resp.Body.Close()
	}
	call(true)
	<-held
	call(true)
	assert.Zero(t, j.Dropped())
	call(true)
	call(false)
	assert.Equal(t, 2, j.Dropped(), "one is too many, and one was not read")
	close(hold)
	j.Wait()
}

func TestSampleIsOfSessions(t *testing.T) {
	judged := map[string]int{}
	j := judge.New(&judge.Options{Sample: 0.5, OnFinding: func(f judge.Finding) {
		if f.Name == "envelope/failure" && f.Path == "code" {
			judged[string(f.Operation)]++
		}
	}})
	through := j.Transport(testkit.Transport(func(*http.Request) (*http.Response, error) { return testkit.Reply(400, "x"), nil }))
	for n := range 400 {
		for _, path := range []string{"/api/search/hotelRates", "/api/trade/book"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h"+path, strings.NewReader("{}"))
			require.NoError(t, err)
			req.Header.Set("Session-Id", fmt.Sprint(n/2))
			resp, err := through.RoundTrip(req)
			require.NoError(t, err)
			_, _ = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
	}
	j.Wait()
	assert.InDelta(t, 200, judged["HotelRates"], 80)
	assert.Zero(t, judged["HotelRates"]%2, "of each session all or none")
	assert.Equal(t, 400, judged["Book"])
}

func TestEventsAreJudged(t *testing.T) {
	for body, want := range map[string]string{
		fmt.Sprintf(`{"customerReferenceNo":"r","event":"order_paid","eventTime":%d}`, time.Now().UnixMilli()): "",
		fmt.Sprintf(`{"customerReferenceNo":"r","event":"order_paid","eventTime":%d}`, time.Now().Unix()):      "webhook/form",
		`{"customerReferenceNo":"r","event":"paid"}`:                                                           "value/event webhook/form",
	} {
		found := []string{}
		j := judge.New(&judge.Options{OnFinding: func(f judge.Finding) { found = append(found, f.Name) }})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/events", strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("User-Agent", "platform-webhook/1.0")
		passed := ""
		j.Webhook(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			text, _ := io.ReadAll(req.Body)
			passed = string(text)
		})).ServeHTTP(nil, req)
		j.Wait()
		assert.Equal(t, body, passed)
		assert.ElementsMatch(t, strings.Fields(want), found)
	}
}

// recorder is a T that notes what fails.
type recorder struct{ failed []string }

func (*recorder) Helper() {}
func (r *recorder) Errorf(format string, a ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, a...))
}

func TestTestFailsForViolations(t *testing.T) {
	failing := &recorder{}
	through := judge.Test(failing).Transport(testkit.Transport(func(*http.Request) (*http.Response, error) {
		return testkit.Reply(418, `{"code":0}`), nil
	}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://h/api/trade/queryOrders", strings.NewReader("{}"))
	require.NoError(t, err)
	resp, err := through.RoundTrip(req)
	require.NoError(t, err)
	_, _ = io.ReadAll(resp.Body)
	resp.Body.Close()
	assert.Len(t, failing.failed, 2, "%v", failing.failed)
}
