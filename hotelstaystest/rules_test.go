// The rules that every operation has in common: bodies, headers, methods and paths,
// and options that cannot be.

package hotelstaystest

import (
	"math"
	"net/http"
	"testing"
)

func TestBodiesAreDecodedStrictly(t *testing.T) {
	u := login(t, start(t, WithoutRateLimits()))
	for name, tc := range map[string]struct{ path, body, says string }{
		"unknown field":        {"/api/search/destinations", `{"countrycode":"AE"}`, "unknown field countrycode"},
		"unknown nested field": {"/api/search/hotelsMetadata", `{"destinationId":"x","page":{"pagesize":1}}`, "unknown field page.pagesize"},
		"unknown in a list":    {"/api/search/hotelList", `{"roomOccupancies":[{"adults":2}]}`, "unknown field roomOccupancies[0].adults"},
		"string for integer":   {"/api/search/destinations", `{"minHotelCount":"1"}`, "minHotelCount must be integer, not string"},
		"fraction":             {"/api/search/destinations", `{"minHotelCount":1.5}`, "minHotelCount must be integer"},
		"number for string":    {"/api/search/hotelStaticDetail", `{"hotelId":5}`, "hotelId must be string, not number"},
		"array for string":     {"/api/search/destinations", `{"countryCode":["AE"]}`, "countryCode must be string, not array"},
		"scalar for object":    {"/api/search/hotelsMetadata", `{"page":1}`, "page must be object"},
		"null":                 {"/api/search/destinations", `{"countryCode":null}`, "countryCode is null"},
		"twice":                {"/api/search/destinations", `{"countryCode":"AE","countryCode":"FR"}`, "countryCode appears twice"},
		"two values":           {"/api/search/destinations", `{}{}`, "data after its JSON object"},
		"array":                {"/api/search/destinations", `[]`, "the body must be object"},
		"empty":                {"/api/search/destinations", ``, "empty"},
		"cut off":              {"/api/search/destinations", `{"countryCode":"A`, "not valid JSON"},
		"old order query":      {"/api/trade/queryOrders", `{"orderIds":["1"]}`, "unknown field orderIds"},
	} {
		t.Run(name, func(t *testing.T) {
			u.refused(tc.path, tc.body, 400, CodeParam, tc.says)
		})
	}
}

func TestHeaders(t *testing.T) {
	s := start(t, WithoutRateLimits())
	u := login(t, s)
	const content, list = "/api/search/destinations", "/api/search/hotelList"
	for _, tc := range []struct{ path, name, value, says string }{
		{content, "Session-Id", "x", "Destinations takes no header Session-Id;"},
		{content, "Currency", "USD", "Destinations takes no header Currency;"},
		{content, "Test", "a=b", "Destinations takes no header Test;"},
		{content, "Timeout-Milliseconds", "5", "Destinations takes no header Timeout-Milliseconds;"},
		{"/api/trade/queryOrders", "Session-Id", "x", "QueryOrders takes no header"},
		{"/api/auth/ticket", "Market", "AE", "Ticket takes no header Market"},
		{"/api/auth/ticket", "User-Ref", "u", "Ticket takes no header User-Ref"},
		{content, "Content-Type", "text/plain", "Content-Type must be application/json"},
		{content, "Client-Request-Timestamp", "now", "Client-Request-Timestamp has a malformed"},
		{content, "IP", "300.1.1.1", "IP has a malformed"},
		{content, "Language", "en_US", "Language has a malformed"},
		{content, "Market", "Emirates", "Market has a malformed"},
		{list, "Currency", "dollars", "Currency has a malformed"},
		{list, "Timeout-Milliseconds", "0", "Timeout-Milliseconds has a malformed"},
		{list, "Session-Id", "made-up", "not a session of this account"},
	} {
		u.header(tc.name, tc.value).refused(tc.path, "{}", 400, CodeParam, tc.says)
	}
	all := u.header("Client-Request-Timestamp", "1700000000").header("IP", "2001:db8::1").header("Language", "zh-Hans-CN").
		header("Market", "AE").header("User-Ref", "someone").header("Content-Type", "application/json; charset=utf-8")
	all.must(content, "{}")
	u.header("Language", "x-house-style").must(content, "{}")
	u.header("Test", "what=ever&x").header("Timeout-Milliseconds", "2500").header("Currency", "JPY").must(list, search(s, nil))
}

func TestAnswersCarryTheirHeaders(t *testing.T) {
	s := start(t)
	u := login(t, s)
	r := u.header("Request-Id", "r-1").header("Trace-Id", "t-1").must("/api/search/hotelList", search(s, nil))
	for name, want := range map[string]string{
		"Request-Id": "r-1", "Trace-Id": "t-1", "Server-Cost-Milliseconds": r.header.Get("Server-Cost-Milliseconds"),
		"Session-Id": r.str("basic", "sessionId"), "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "99", "X-RateLimit-Reset": "1",
		"Retry-After": "", "Content-Type": "application/json; charset=utf-8",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if r.header.Get("Server-Cost-Milliseconds") == "" {
		t.Error("no Server-Cost-Milliseconds")
	}
	made := u.must("/api/search/destinations", "{}")
	if made.header.Get("Request-Id") == "" || made.header.Get("Trace-Id") == "" {
		t.Error("no ids were made")
	}
	again := u.header("Request-Id", "r-1").refused("/api/search/destinations", "{}", 400, CodeParam, "was used before")
	if again.header.Get("Request-Id") != "r-1" {
		t.Error("a refusal does not echo the Request-Id")
	}
}

func TestRequestIDMemoryIsBounded(t *testing.T) {
	ids := newSeenIDs()
	for i := range maxSeenIDs + 10 {
		ids.repeated(base36(int64(i)))
	}
	if len(ids.set) != maxSeenIDs || len(ids.ring) != maxSeenIDs {
		t.Errorf("%d ids are kept", len(ids.set))
	}
	if ids.repeated("0") || !ids.repeated(base36(maxSeenIDs)) {
		t.Error("the wrong ids were forgotten")
	}
}

func TestMethodsAndPaths(t *testing.T) {
	s := start(t)
	u := login(t, s)
	u.refused("/api/search/nothing", "{}", 404, CodeNoSuchOperation, "/api/search/nothing")
	resp, err := s.Client().Get(s.URL + "/api/search/destinations")
	if err != nil {
		t.Fatal(err)
	}
	r, _ := read(t, resp)
	if r.status != http.StatusMethodNotAllowed || r.code != CodeNoSuchOperation {
		t.Errorf("GET gives HTTP %d: %s", r.status, r.body)
	}
}

func TestImpossibleOptions(t *testing.T) {
	for name, opt := range map[string]Option{
		"public address":   WithAddr("0.0.0.0:0"),
		"every address":    WithAddr(":8080"),
		"foreign address":  WithAddr("192.0.2.1:8080"),
		"host name":        WithAddr("example.com:80"),
		"no port":          WithAddr("127.0.0.1"),
		"nil":              nil,
		"rate limit":       WithRateLimit(OpBook, 0),
		"endless limit":    WithRateLimit(OpBook, math.MaxInt),
		"unknown":          WithRateLimit("Nothing", 5),
		"same states":      WithOrderStatusNumbers(OrderStatusNumbers{Confirmed: 3}),
		"known state":      WithOrderStatusNumbers(OrderStatusNumbers{Confirmed: 1}),
		"availability":     WithAvailabilityNumbers(1, 1),
		"http1 alone":      WithHTTP1Only(),
		"too many":         WithCatalog(Catalog{Countries: 1000}),
		"negative":         WithCatalog(Catalog{HotelsPerCity: -1}),
		"life":             WithTokenLifetime(0),
		"credentials":      WithAccount("", ""),
		"guest field":      WithRequiredGuestFields("shoeSize"),
		"business failure": WithBusinessFailureStatus(500),
		"cancel rule":      WithCancelRule(99),
	} {
		if s, err := StartServer(opt); err == nil {
			s.Close()
			t.Errorf("%s: accepted", name)
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("NewServer does not panic")
			}
		}()
		NewServer(WithAddr("0.0.0.0:0"))
	}()
	for _, addr := range []string{"127.0.0.1:0", "localhost:0"} {
		s, err := StartServer(WithAddr(addr))
		if err != nil {
			t.Fatalf("%s: %v", addr, err)
		}
		s.Close()
	}
}
