package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/judge"
	"github.com/hotelstays/hotelstays-go/types"
)

// double doubles an amount.
func double(money obj) any {
	n, _ := money["amount"].(json.Number).Float64()
	return 2 * n
}

// stale answers from memory, so that an expired token still works.
func stale() func(*reply) {
	tokens := map[string]obj{}
	return func(a *reply) {
		token := a.asked.header.Get("Authorization")
		if a.status == http.StatusOK {
			tokens[token] = a.data
		} else if tokens[token] != nil {
			a.succeed(tokens[token])
		}
	}
}

// roams replaces an unknown session of an operation by the session of the last HotelRates.
func roams(op operation) func(*question) {
	session := ""
	return func(q *question) {
		own := q.header.Get("Session-Id")
		if strings.HasPrefix(own, "ses-") && q.path == opHotelRates.Path() {
			session = own
		}
		if !strings.HasPrefix(own, "ses-") && q.path == op.Path() && session != "" {
			q.header.Set("Session-Id", session)
		}
	}
}

// anySession checks each offer in its own session, whatever session the request names.
func anySession() fault {
	of := map[any]string{}
	return fault{asked: func(q *question) {
		if own := of[q.body["ratePkgId"]]; own != "" && strings.HasPrefix(q.header.Get("Session-Id"), "ses-") {
			q.header.Set("Session-Id", own)
		}
	}, told: func(a *reply) {
		sets("rooms.rates.ratePkgId", func(o obj) any {
			of[o["ratePkgId"]] = a.asked.header.Get("Session-Id")
			return o["ratePkgId"]
		})(a)
	}, breaks: "check/other-session"}
}

// lately refuses an operation if n requests arrived in the last second.
func lately(n int, op operation) func(*reply) {
	var times []time.Time
	return func(a *reply) {
		times = slices.DeleteFunc(times, func(at time.Time) bool { return time.Since(at) >= time.Second })
		if len(times) >= n && a.asked.path == op.Path() {
			a.tooMany()
		}
		times = append(times, time.Now())
	}
}

// scopeless lets a token without scopes call every operation.
func scopeless() func(*reply) {
	token := ""
	return func(a *reply) {
		if value, _ := a.data["access_token"].(string); a.asked.path == opOAuthToken.Path() && a.asked.body["scope"] == "" {
			token = "Bearer " + value
		} else if a.status == http.StatusForbidden && a.asked.header.Get("Authorization") == token {
			a.succeed(obj{})
		}
	}
}

// tooMany answers with a 429.
func (a *reply) tooMany() {
	a.refuse(429, types.CodeRateLimited)
	a.header.Set("Retry-After", "1")
}

const (
	unauthorized = types.CodeUnauthorized
	offers       = "list.rooms.rates."
)

var faults = map[string]fault{
	"a ticket with another member": {opTicket, nil, sets("extra", "x"), "ticket/jwt"},
	"an envelope without msg": {"", nil, func(a *reply) { delete(a.body, "msg") },
		"oauth/invalid-scope envelope/success envelope/failure"},
	"a wrong secret has its own code": {opTicket, nil, on("appKey", "sandbox-app-key", answers(unauthorized, refused(401, 100000402))),
		"ticket/wrong-secret ticket/refused"},
	"an unknown key is HTTP 404": {opTicket, nil, on("appKey", "a-key-of-nobody", answers(unauthorized, refused(404, types.CodeNotFound))),
		"ticket/unknown-key"},
	"a ttl above the limit":           {opTicket, takes("ttl", maxTTL+1, maxTTL), nil, "ticket/ttl-above"},
	"a lower limit of ttl":            {opTicket, nil, on("ttl", maxTTL, denied), "ticket/ttl-largest"},
	"a ttl of 0":                      {opTicket, takes("ttl", 0, 1), nil, "ticket/ttl-positive"},
	"a default ttl of an hour":        {opTicket, takes("ttl", nil, 3600), nil, "ticket/ttl"},
	"a ticket that outlives its life": {opQueryOrders, nil, stale(), "ticket/lifetime"},
	"a ticket that ends early":        {opTicket, takes("ttl", 16, 8), nil, "ticket/lifetime ticket/ttl ticket/kept"},
	"an operation without a token": {opDestinations, nil, on("Authorization", nil, answers(0, granted(obj{"destinations": []any{}}))),
		"auth/missing-token auth/anonymous"},
	"an operation that takes any token": {opHotelsMetadata, nil, on("Authorization", "Bearer "+nobody,
		answers(0, granted(obj{"hotelsMetadata": []any{}}))), "auth/unknown-token"},
	"a token without scopes that may do all": {"", nil, scopeless(), "oauth/no-scopes check/form headers/session-id list/form voucher/form"},
	"an access token for a wrong secret": {opOAuthToken, takes("client_secret", wrongSecret, "sandbox-client-secret"), nil,
		"oauth/wrong-secret"},
	"an access token for an unknown scope": {opOAuthToken, takes("scope", "probe:none", "search:read"), nil, "oauth/invalid-scope"},
	"invalid_scope without the word":       {opOAuthToken, nil, func(a *reply) { a.body["msg"] = "no" }, "oauth/invalid-scope"},
	"an answer without access token":       {opOAuthToken, nil, sets("access_token", nil), "oauth/token"},
	"a missing scope is HTTP 401":          {opOrderVoucher, nil, answers(100000403, refused(401, unauthorized)), "oauth/voucher-scope"},
	"a success of another media type":      {opDestinations, nil, headed("Content-Type", "text/html"), "envelope/success"},
	"a failure with data":                  {opOrderVoucher, nil, func(a *reply) { a.body["data"] = obj{"x": 1} }, "envelope/failure"},
	"no Request-Id":                        {"", nil, headed("Request-Id", ""), "headers/request-id"},
	"no Trace-Id":                          {"", nil, headed("Trace-Id", ""), "headers/trace-id"},
	"no server cost":                       {"", nil, headed("Server-Cost-Milliseconds", ""), "headers/server-cost"},
	"a search without Session-Id":          {opHotelList, nil, headed("Session-Id", ""), "headers/session-id"},
	"a test flag that is refused":          {opHotelList, nil, on("Test", present, denied), "headers/test-flags"},
	"a Currency that is ignored":           {opHotelList, func(q *question) { q.header.Del("Currency") }, nil, "headers/currency"},
	"another limit in the header":          {opQueryOrders, nil, headed("X-RateLimit-Limit", "100"), "limits/limit"},
	"more remaining than the limit":        {opCheckAvail, nil, headed("X-RateLimit-Remaining", "10"), "limits/remaining"},
	"remaining that does not fall":         {opQueryOrders, nil, headed("X-RateLimit-Remaining", "49"), "limits/counts"},
	"a reset in milliseconds":              {"", nil, headed("X-RateLimit-Reset", "1000"), "limits/reset"},
	"Retry-After with a success":           {opHotelsMetadata, nil, func(a *reply) { a.header.Set("Retry-After", "0") }, "limits/retry-after"},
	"a 429 without Retry-After":            {opTicket, nil, headed("Retry-After", ""), "limits/refusal"},
	"places without a country": {opDestinations, nil, sets("destinations.countryCode", ""),
		"destinations/form destinations/country"},
	"a type of a place as a string": {opDestinations, nil, sets("destinations.type", "6"), "destinations/form"},
	"a parent that takes precedence over the country": {opDestinations, func(q *question) {
		if q.body["parentDestinationId"] != nil {
			delete(q.body, "countryCode")
		}
	}, nil, "destinations/country-first"},
	"empty cities by default": {opDestinations, func(q *question) {
		if q.body["filterEmptyCities"] == nil && q.body["minHotelCount"] == nil {
			q.body["filterEmptyCities"], q.body["minHotelCount"] = false, 0
		}
	}, nil, "destinations/defaults"},
	"minHotelCount that is ignored": {opDestinations, takes("minHotelCount", present, nil), nil, "destinations/min-hotels"},
	"details without coordinates":   {opDestinations, takes("include", present, nil), nil, "destinations/details"},
	"a catalogue page of 25":        {opHotelsMetadata, takes("page", nil, obj{"pageSize": 25}), nil, "metadata/size"},
	"a catalogue page of 101":       {opHotelsMetadata, takes("pageSize", 101, 100), nil, "metadata/size-above"},
	"a catalogue limit of 99":       {opHotelsMetadata, nil, on("pageSize", 100, denied), "metadata/size-largest"},
	"page 0 that is refused":        {opHotelsMetadata, nil, on("pageNum", 0, denied), "metadata/page-below-1"},
	"a catalogue of one page":       {opHotelsMetadata, nil, sets("page.hasMore", false), "metadata/pages metadata/has-more"},
	"no destinationId needed": {opHotelsMetadata, nil, on("destinationId", nil,
		answers(0, granted(obj{"hotelsMetadata": []any{}, "page": obj{}}))), "metadata/destination"},
	"a rating that is text": {opHotelsMetadata, nil, sets("hotelsMetadata.rating", "4.5"), "metadata/form"},
	"a Gaode point without lat": {opHotelsMetadata, nil, sets("hotelsMetadata.latlngCoordinator.gaode", obj{"lng": 1}),
		"metadata/form"},
	"a catalogue total below the page": {opHotelsMetadata, nil, sets("page.total", 1), "metadata/total metadata/has-more"},
	"an offer without its mode":        {opHotelList, nil, sets(offers+"refundableMode", nil), "list/form"},
	"a rating of 9":                    {opHotelList, nil, sets("list.rating", 9), "list/form"},
	"a room of another hotel":          {opHotelList, nil, sets("list.rooms.hotelId", "x"), "list/room-hotel"},
	"offers for other dates":           {opHotelList, nil, sets(offers+"checkOut", "2000-12-24"), "list/dates"},
	"a total that is not the rate":     {opHotelList, nil, sets(offers+"totalRate.netRate.amount", double), "offer/total check/same"},
	"a search without a place or hotels": {opHotelList, nil, on("checkIn", present, on("destinationId", nil, on("hotelIds", nil,
		answers(0, granted(obj{"list": []any{}, "basic": obj{"sessionId": "s"}}))))), "list/selector headers/session-id"},
	"a search without rooms":       {opHotelList, takes("roomOccupancies", sized(0, 0), []any{obj{"adultCount": 1}}), nil, "list/rooms"},
	"pageNum 0 is page 1":          {opHotelList, takes("pageNum", 0, 1), nil, "list/page-num"},
	"a page of 201":                {opHotelList, takes("pageSize", 201, 200), nil, "list/size-above"},
	"a limit of 199":               {opHotelList, nil, on("pageSize", 200, denied), "list/size-largest"},
	"a default page of 60":         {opHotelList, takes("pageSize", nil, 60), nil, "list/size"},
	"a pageSize that is ignored":   {opHotelList, takes("pageSize", 2, 3), nil, "list/size"},
	"page 2 that repeats page 1":   {opHotelList, takes("pageNum", 2, 1), nil, "list/pages list/price-asc list/price-desc list/rating-desc"},
	"hasMore that is always set":   {opHotelList, nil, on("hotelIds", present, sets("hasMore", true)), "list/foreign-ids list/has-more"},
	"1001 ids":                     {opHotelList, takes("hotelIds", sized(1001, 1001), []any{"x"}), nil, "list/ids-above"},
	"an undocumented limit of ids": {opHotelList, nil, on("hotelIds", sized(501, 2000), denied), "list/ids-limit"},
	"an undocumented emptyReason": {opHotelList, nil, on("hotelIds", present, sets("basic.emptyReason", obj{"code": "NONE"})),
		"list/form"},
	"notices with an emptyReason": {opHotelList, nil, on("hotelIds", present, sets("basic",
		obj{"sessionId": "s", "emptyReason": obj{"code": "NO_SUPPLIER_ENABLED"}, "notices": []any{"x"}})), "list/reasons"},
	"a platform id that is not accepted": {opHotelList, takes("hotelIds", func(v any) bool {
		return sized(1, 1)(v) && !strings.HasPrefix(fmt.Sprint(v), "[S")
	}, []any{"x"}), nil, "list/by-id"},
	"page 3 that repeats page 2": {opHotelList, takes("pageNum", 3, 2), nil,
		"list/pages list/price-asc list/price-desc list/rating-desc"},
	"malformed requests that do not count": {opTicket, nil, on("appKey", nil, answers(types.CodeRateLimited, denied)),
		"limits/above limits/retry-after"},
	"a destinationName that finds nothing": {opHotelList, takes("destinationName", present, "x"), nil, "list/by-name"},
	"maxRatesPerHotel that is ignored":     {opHotelList, takes("maxRatesPerHotel", 1, 0), nil, "list/max-rates list/cheapest"},
	"price-asc that is ignored":            {opHotelList, takes("sortBy", "price-asc", "x"), nil, "list/price-asc"},
	"price-desc that is reversed":          {opHotelList, takes("sortBy", "price-desc", "price-asc"), nil, "list/price-desc"},
	"rating-desc that is ignored":          {opHotelList, takes("sortBy", "rating-desc", "x"), nil, "list/rating-desc"},
	"a total below the page":               {opHotelList, nil, on("hotelIds", nil, sets("total", 1)), "list/total list/has-more"},
	"rates without dates":                  {opHotelRates, nil, sets("rooms.rates.checkIn", nil), "rates/form"},
	"rates for other dates":                {opHotelRates, nil, sets("rooms.rates.checkIn", "2000-01-09"), "rates/dates"},
	"a total for one of two rooms": {opHotelRates, nil, on("roomOccupancies", sized(2, 2),
		sets("rooms.rates.totalRate", func(o obj) any { return o["rate"] })), "offer/total check/same"},
	"rates in any session":        {"", roams(opHotelRates), nil, "rates/session"},
	"a price that moves silently": {opCheckAvail, nil, sets("roomRatePkg.totalRate.netRate.amount", double), "offer/total check/same"},
	"an availability of 0":        {opCheckAvail, nil, sets("status", 0), "check/form"},
	"no ratePkgId needed": {opCheckAvail, nil, on("Session-Id", present, on("ratePkgId", nil, answers(0, granted(obj{"status": 2})))),
		"check/required"},
	"an unknown offer that is available": {opCheckAvail, nil, on("ratePkgId", "probe-no-offer",
		answers(0, granted(obj{"status": 1, "roomRatePkg": obj{"ratePkgId": "x"}}))), "check/form check/unknown"},
	"checks in any session":     {"", roams(opCheckAvail), nil, "check/session"},
	"offers of another session": anySession(),
	"four tickets in a second":  {opTicket, nil, lately(4, opTicket), "limits/at limits/above"},
	"no rate limit for Ticket": {opTicket, nil, answers(types.CodeRateLimited, refused(401, unauthorized)),
		"limits/above limits/retry-after"},
	"one rate limit for all operations":    {"", nil, lately(10, opQueryOrders), "limits/each"},
	"a full list for an unknown reference": {opQueryOrders, nil, sets("orders", []any{obj{}}), "orders/empty"},
	"a voucher of an unknown order is a success": {opOrderVoucher, nil, answers(types.CodeNotFound, granted(obj{"status": "NOT_GENERATED"})),
		"voucher/unknown voucher/form"},
	"a countryCode that is not checked": {opHotelList, takes("countryCode", "ZZ1", nil), nil, "list/country-code"},
	"a countryCode that changes prices": {opHotelList, nil, on("countryCode", present, func(a *reply) {
		sets(offers+"totalRate.netRate.amount", double)(a)
		sets(offers+"rate.netRate.amount", double)(a)
	}), "list/country"},
	"a more expensive rate under maxRatesPerHotel": {opHotelList, nil, on("maxRatesPerHotel", 1, func(a *reply) {
		sets(offers+"totalRate.netRate.amount", double)(a)
		sets(offers+"rate.netRate.amount", double)(a)
	}), "list/cheapest"},
	"one rate by default": {opHotelList, takes("maxRatesPerHotel", nil, 1), nil, "list/uncapped"},
	"only the first of hotelIds": {opHotelList, func(q *question) {
		if list, _ := q.body["hotelIds"].([]any); len(list) == 2 {
			q.body["hotelIds"] = list[:1]
		}
	}, nil, "list/each-id"},
	"HotelRates without all packages": {opHotelRates, nil, sets("rooms.rates", func(room obj) any { return room["rates"].([]any)[:1] }),
		"rates/all"},
	"HotelRates without platform ids": {opHotelRates, takes("hotelId", func(v any) bool {
		return v != nil &&
			!strings.HasPrefix(fmt.Sprint(v), "S")
	}, "x"), nil,
		"rates/hotel-id"},
	"a check that prices one of two rooms": {opCheckAvail, nil, sets("roomRatePkg.totalRate", func(o obj) any { return o["rate"] }),
		"offer/total check/same"},
	"cities outside of their province": {opDestinations, nil, on("countryCode", present, sets("destinations.parentDestinationId", elder())),
		"destinations/levels"},
	"scopes that spaces do not separate": {opOAuthToken, func(q *question) {
		scope, _ := q.body["scope"].(string)
		q.body["scope"], _, _ = strings.Cut(scope, " ")
	}, nil, "oauth/guards"},
	"a limit that two operations share":    {"", nil, shared(), "limits/own"},
	"a client that is blocked for a while": {opTicket, nil, blocked(), "limits/window"},
	"a Ticket without a key":               {opTicket, takes("appKey", nil, "sandbox-app-key"), nil, "ticket/required"},
	"rates without a hotel": {opHotelRates, nil, on("Session-Id", present, on("hotelId", nil, answers(0,
		granted(obj{"rooms": []any{}})))), "rates/required"},
	"a total beyond all pages": {opHotelList, nil, on("hotelIds", nil, sets("total", 61)), "list/pages list/has-more"},
	"a place of another parent": {opDestinations, nil, on("parentDestinationId", present, on("countryCode", nil,
		sets("destinations.parentDestinationId", elder()))), "destinations/children"},
	"a voucher without a reference": {opOrderVoucher, nil, answers(types.CodeParam, granted(obj{"status": "NOT_GENERATED"})),
		"voucher/reference voucher/form"},
}

func TestFaultsAreFound(t *testing.T) {
	eachBreaksItsRules(t, faults, func(t *testing.T, f fault) (*Report, error) {
		return probed(t, hotelstaystest.Config{}, f, func(c *Config) { c.Patience = 5 * time.Minute })
	})
}

// eachBreaksItsRules requires that each fault breaks exactly the rules that are named with it.
func eachBreaksItsRules(t *testing.T, all map[string]fault, run func(*testing.T, fault) (*Report, error)) {
	portion := testsize.PortionOf(t, 20, 41)
	for name := range testsize.SomeOf(portion, slices.Sorted(maps.Keys(all))) {
		t.Run(name, func(t *testing.T) {
			report, err := run(t, all[name])
			require.NoError(t, err)
			assert.ElementsMatch(t, strings.Fields(all[name].breaks), report.broken())
			for _, rule := range report.broken() {
				result := report.result(t, rule)
				assert.NotEmpty(t, result.Reason)
				assert.NotRegexp(t, "/trade/(book|cancel)'", result.Curl)
				assert.True(t, result.Curl != "" || result.Needs == "-book" || result.Needs == "-callback" || result.Evidence[0].curl() == "", rule)
			}
		})
	}
}

// shared counts requests of HotelList against the rate limit of HotelRates.
func shared() func(*reply) {
	var last time.Time
	return func(a *reply) {
		switch {
		case a.asked.path == opHotelList.Path():
			last = time.Now()
		case a.asked.path == opHotelRates.Path() && time.Since(last) < time.Second:
			headed("X-RateLimit-Remaining", "98")(a)
		}
	}
}

// blocked refuses a client for ten seconds after it has exceeded a limit.
func blocked() func(*reply) {
	var until time.Time
	return func(a *reply) {
		if left := time.Until(until); left > 0 && left < 2500*time.Millisecond { // not within one burst
			a.tooMany()
		} else if a.status == http.StatusTooManyRequests {
			until = time.Now().Add(3 * time.Second)
		}
	}
}

// elder returns a parent from another part of the country.
func elder() func(obj) any {
	first := ""
	return func(o obj) any {
		if first == "" {
			first, _ = o["id"].(string)
		}
		return first
	}
}

// A rule is useless if no fault can break it, unless it finds out what the document leaves open.
func TestEveryRuleCanBreak(t *testing.T) {
	broken := []string{"cancel/kept"} // by TestNoOrderIsLeftOpen
	for _, f := range slices.Concat(slices.Collect(maps.Values(faults)), slices.Collect(maps.Values(bookFaults()))) {
		broken = append(broken, strings.Fields(f.breaks)...)
	}
	for _, rule := range Rules() {
		if slices.ContainsFunc(judge.Rules(), func(r judge.Rule) bool { return r.Name == rule.Name }) {
			continue // they are tested in package judge
		}
		word, _, _ := strings.Cut(rule.Promise, " ")
		open := slices.Contains([]string{"what", "where", "which", "how", "whether"}, word)
		assert.True(t, open || slices.Contains(broken, rule.Name), rule.Name)
	}
}

func cutOff(a *reply) { a.err = errors.New("the connection was reset") }

// A bug in a rule is reported, and does not end the run.
func TestPanicOfARuleIsItsResult(t *testing.T) {
	s := &session{masker: &masker{}, bench: newBench(&masker{})}
	result := s.try(t.Context(), Rule{Name: "x/y", try: func(*run) { var list []int; _ = list[0] }})
	assert.Equal(t, Broken, result.State)
	assert.Contains(t, result.Reason, "a fault of this program, not of the service")
	assert.Contains(t, result.Reason, "index out of range")
}

// A Retry-After of a day leaves the rules of its operation untried, and does not delay other rules.
func TestRetryAfterOfADayIsNotAwaited(t *testing.T) {
	began := false
	report, err := probed(t, hotelstaystest.Config{}, fault{op: opQueryOrders, told: func(a *reply) {
		if began {
			a.tooMany()
			a.header.Set("Retry-After", "86400")
		}
		began = true
	}}, only("orders", "voucher/unknown"))
	require.NoError(t, err)
	assert.Less(t, report.Ended.Sub(report.Began), time.Minute)
	for _, result := range report.Results {
		assert.Equal(t, strings.HasPrefix(result.Name, "orders/"), result.State == NotTried, "%s: %s", result.Name, result.Reason)
	}
}

func TestPatienceThatIsTooShortIsSaid(t *testing.T) {
	report, err := probed(t, hotelstaystest.Config{}, fault{}, func(c *Config) { c.Only, c.Patience = []string{"session/life"}, time.Minute })
	require.NoError(t, err)
	assert.Equal(t, "the first look is after 5m0s", report.Results[0].Reason)
}

func TestFindingOfAStatusSaysWhichStatusCame(t *testing.T) {
	report, err := probed(t, hotelstaystest.Config{}, fault{op: "HotelStaticDetail", told: func(a *reply) { a.refuse(503, 100000503) }},
		only("static/members", "errors/unlisted"))
	require.NoError(t, err)
	reasons := ""
	for _, result := range report.Results {
		reasons += result.Reason
	}
	assert.Contains(t, reasons, "HTTP status: expected a documented one, got 503")
}

// A finding about a form lists each wrong member, its first element, and what was expected. The evidence shows this element,
// even if the body is cut off before it.
func TestFindingsNameTheirElement(t *testing.T) {
	report, err := probed(t, hotelstaystest.Config{}, fault{op: opHotelList, told: func(a *reply) {
		if l, _ := a.data["list"].([]any); len(l) > 9 {
			last := reply{data: obj{"list": l[8:]}}
			sets("list.rooms.rates.board", obj{"boardId": "XX"})(&last)
			sets("list.rooms.rates.totalRate.netRate.currency", "")(&last)
		}
	}}, only("list/form"))
	require.NoError(t, err)
	result := report.Results[0]
	const at = `data\.list\[8\]\.rooms\[0\]\.rates\[0\]\.`
	assert.Regexp(t, at+`board\.boardId \(id \S+, \S+, \S+\): expected RO\S+, got "XX", and 3 more; `+
		at+`totalRate\.netRate\.currency \(id \S+, \S+, \S+\): expected currency, got "", and 3 more`, result.Reason)
	last := result.Evidence[len(result.Evidence)-1]
	assert.NotContains(t, last.Body, `"XX"`)
	assert.Contains(t, last.Element, `"XX"`)
	p := place{at: "data.orders[0].guests[1].documents", v: "P1234567"}
	assert.Equal(t, "a text of 8 bytes", p.shown())
}

// A rule may send further requests after the one that broke it.
func TestCurlRepeatsTheRequestThatBrokeTheRule(t *testing.T) {
	for name, part := range map[string]string{"an operation without a token": opDestinations.Path(), "a ttl of 0": `"ttl":0`} {
		f := faults[name]
		report, err := probed(t, hotelstaystest.Config{}, f, func(c *Config) { c.Only = strings.Fields(f.breaks) })
		require.NoError(t, err)
		assert.Contains(t, report.Results[0].Curl, part, name)
	}
}
