package probe

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// fault is a service that differs from the document in one thing, and the rules that say so.
type fault struct {
	op     operation
	asked  func(*question)
	told   func(*reply)
	breaks string // names, by spaces
}

func (f fault) proxy() *proxy { return &proxy{op: f.op, asked: f.asked, told: f.told} }

// takes makes a limit higher: a value that is refused is sent as one that is not.
func takes(name string, is, as any) func(*question) {
	return func(q *question) {
		at := q.body
		if page, ok := at["page"].(obj); ok && name == "pageSize" {
			at = page
		}
		if fmt.Sprint(at[name]) == fmt.Sprint(is) {
			at[name] = as
		}
	}
}

// turnsDown makes a limit lower: what has a value is refused.
func turnsDown(name string, value any) func(*reply) {
	return func(a *reply) {
		at := a.asked.body
		if page, ok := at["page"].(obj); ok {
			at = page
		}
		if fmt.Sprint(at[name]) == fmt.Sprint(value) {
			a.refuse(400, types.CodeParam)
		}
	}
}

// answers changes refusals with a code.
func answers(code int, change func(*reply)) func(*reply) {
	return func(a *reply) {
		if fmt.Sprint(a.body["code"]) == strconv.Itoa(code) {
			change(a)
		}
	}
}

// headed sets a header of answers that have it.
func headed(name string, value func(string) string) func(*reply) {
	return func(a *reply) {
		if old := a.header.Get(name); old != "" {
			a.header.Del(name)
			if text := value(old); text != "" {
				a.header.Set(name, text)
			}
		}
	}
}

func is(text string) func(string) string { return func(string) string { return text } }

// inData changes the data of successes.
func inData(change func(data obj)) func(*reply) {
	return func(a *reply) {
		if a.data != nil {
			change(a.data)
		}
	}
}

// hotelsOf calls change for each hotel of a search.
func hotelsOf(change func(hotel obj)) func(*reply) {
	return inData(func(data obj) {
		for _, h := range data["list"].([]any) {
			change(h.(obj))
		}
	})
}

// offersOf calls change for each offer of a search.
func offersOf(change func(offer obj)) func(*reply) {
	return hotelsOf(func(hotel obj) { eachOffer(hotel["rooms"], change) })
}

func eachOffer(rooms any, change func(offer obj)) {
	for _, room := range rooms.([]any) {
		for _, offer := range room.(obj)["rates"].([]any) {
			change(offer.(obj))
		}
	}
}

// money multiplies an amount by two.
func double(rate obj) {
	amount := rate["netRate"].(obj)
	n, _ := amount["amount"].(json.Number).Float64()
	amount["amount"] = 2 * n
}

// stale remembers an answer for a token, so that it outlives its life.
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

// lends sends a HotelRates without a session of the service in the first one that a search made.
func lends() fault {
	session := ""
	return fault{told: func(a *reply) {
		if basic, ok := a.data["basic"].(obj); ok && session == "" {
			session = basic["sessionId"].(string)
		}
	}, asked: func(q *question) {
		if q.path == paths[opHotelRates] && session != "" && !strings.HasPrefix(q.header.Get("Session-Id"), "ses-") {
			q.header.Set("Session-Id", session)
		}
	}}
}

// finds sends CheckAvail in the session of its offer, whatever session of the service it names, or
// whatever else.
func finds(other bool) fault {
	sessions := map[any]string{}
	return fault{told: func(a *reply) {
		if a.asked.path == paths[opHotelRates] && a.data != nil {
			eachOffer(a.data["rooms"], func(offer obj) { sessions[offer["ratePkgId"]] = a.asked.header.Get("Session-Id") })
		}
	}, asked: func(q *question) {
		session := sessions[q.body["ratePkgId"]]
		if session != "" && strings.HasPrefix(q.header.Get("Session-Id"), "ses-") == other {
			q.header.Set("Session-Id", session)
		}
	}}
}

// lately counts how many of the last second's requests a fault has met.
func lately(meet func(a *reply, before int)) func(*reply) {
	var times []time.Time
	return func(a *reply) {
		times = slices.DeleteFunc(times, func(at time.Time) bool { return time.Since(at) >= time.Second })
		meet(a, len(times))
		times = append(times, time.Now())
	}
}

// tooMany is a 429.
func (a *reply) tooMany() {
	a.refuse(429, types.CodeRateLimited)
	a.header.Set("Retry-After", "1")
}

// breaking is a fault and what it breaks.
func (f fault) breaking(rules string) fault { f.breaks = rules; return f }

var unauthorized = types.CodeUnauthorized

var faults = map[string]fault{
	"a ticket without the form of a JWT": {opTicket, nil, inData(func(data obj) { data["extra"] = "x" }), "ticket/jwt"},
	"an envelope without msg": {"", nil, func(a *reply) { delete(a.body, "msg") },
		"oauth/invalid-scope envelope/success envelope/failure"},
	"a wrong secret has its own code": {opTicket, nil, answers(unauthorized, func(a *reply) {
		if a.asked.body["appKey"] == "sandbox-app-key" {
			a.refuse(401, 100000402)
		}
	}), "ticket/wrong-secret"},
	"an unknown key is HTTP 404": {opTicket, nil, answers(unauthorized, func(a *reply) {
		if a.asked.body["appKey"] != "sandbox-app-key" {
			a.refuse(404, types.CodeNotFound)
		}
	}), "ticket/unknown-key"},
	"a ttl above the limit":           {opTicket, takes("ttl", maxTTL+1, maxTTL), nil, "ticket/ttl-above"},
	"a lower limit of ttl":            {opTicket, nil, turnsDown("ttl", maxTTL), "ticket/ttl-largest"},
	"a ttl of 0":                      {opTicket, takes("ttl", 0, 1), nil, "ticket/ttl-positive"},
	"a default ttl of an hour":        {opTicket, takes("ttl", nil, 3600), nil, "ticket/default-ttl"},
	"a ticket that outlives its life": {opQueryOrders, nil, stale(), "ticket/lifetime"},
	"a ticket that ends early":        {opTicket, takes("ttl", 8, 4), nil, "ticket/lifetime"},
	"an operation without a token": {opDestinations, nil, func(a *reply) {
		if a.asked.header.Get("Authorization") == "" {
			a.succeed(obj{"destinations": []any{}})
		}
	}, "auth/missing-token"},
	"an operation that takes any token": {opHotelsMetadata, nil, func(a *reply) {
		if strings.HasSuffix(a.asked.header.Get("Authorization"), nobody) {
			a.succeed(obj{"hotelsMetadata": []any{}})
		}
	}, "auth/unknown-token"},
	"a ticket call that checks its token": {opTicket, nil, func(a *reply) {
		if a.asked.header.Get("Authorization") != "" {
			a.refuse(401, unauthorized)
		}
	}, "auth/ticket-needs-none"},
	"an access token for a wrong secret": {opOAuthToken, takes("client_secret", wrongSecret, "sandbox-client-secret"), nil,
		"oauth/wrong-secret"},
	"an access token for an unknown scope": {opOAuthToken, takes("scope", "probe:none", "search:read"), nil, "oauth/invalid-scope"},
	"invalid_scope without the word":       {opOAuthToken, nil, func(a *reply) { a.body["msg"] = "no" }, "oauth/invalid-scope"},
	"an empty access token":                {opOAuthToken, nil, inData(func(data obj) { delete(data, "access_token") }), "oauth/token"},
	"a missing scope is HTTP 401": {opOrderVoucher, nil, func(a *reply) {
		if a.status == http.StatusForbidden {
			a.status = 401
		}
	}, "oauth/voucher-scope"},
	"a success of another media type": {opDestinations, nil, func(a *reply) { a.header.Set("Content-Type", "text/html") }, "envelope/success"},
	"a failure with data":             {opOrderVoucher, nil, func(a *reply) { a.body["data"] = obj{"status": "FAILED"} }, "envelope/failure"},
	"no Request-Id":                   {"", nil, headed("Request-Id", is("")), "headers/request-id"},
	"no Trace-Id":                     {"", nil, headed("Trace-Id", is("")), "headers/trace-id"},
	"a server cost above the time":    {"", nil, headed("Server-Cost-Milliseconds", is("4000")), "headers/server-cost"},
	"a search without Session-Id":     {opHotelList, nil, headed("Session-Id", is("")), "headers/session-id"},
	"a test flag that is refused": {opHotelList, nil, func(a *reply) {
		if a.asked.header.Get("Test") != "" {
			a.refuse(400, types.CodeParam)
		}
	}, "headers/test-flags"},
	"a Currency that is ignored":    {opHotelList, func(q *question) { q.header.Del("Currency") }, nil, "headers/currency"},
	"another limit in the header":   {opQueryOrders, nil, headed("X-RateLimit-Limit", is("100")), "limits/limit"},
	"more remaining than the limit": {opCheckAvail, nil, headed("X-RateLimit-Remaining", is("10")), "limits/remaining"},
	"remaining that does not fall":  {opQueryOrders, nil, headed("X-RateLimit-Remaining", is("49")), "limits/counts"},
	"a reset in milliseconds":       {"", nil, headed("X-RateLimit-Reset", is("1000")), "limits/reset"},
	"Retry-After with a success":    {opHotelsMetadata, nil, func(a *reply) { a.header.Set("Retry-After", "0") }, "limits/retry-after"},
	"a 429 without Retry-After": {opTicket, nil, answers(types.CodeRateLimited, func(a *reply) { a.header.Del("Retry-After") }),
		"limits/refusal"},
	"a type of place in quotes": {opDestinations, nil, inData(func(data obj) {
		for _, place := range data["destinations"].([]any) {
			place.(obj)["type"] = "6"
		}
	}), "destinations/form"},
	"a parent that goes before the country": {opDestinations, func(q *question) {
		if q.body["parentDestinationId"] != nil {
			delete(q.body, "countryCode")
		}
	}, nil, "destinations/country-first"},
	"empty cities by default": {opDestinations, func(q *question) {
		if q.body["filterEmptyCities"] == nil && q.body["minHotelCount"] == nil {
			q.body["filterEmptyCities"], q.body["minHotelCount"] = false, 0
		}
	}, nil, "destinations/defaults"},
	"minHotelCount that is ignored": {opDestinations, func(q *question) { delete(q.body, "minHotelCount") }, nil, "destinations/min-hotels"},
	"details without coordinates":   {opDestinations, func(q *question) { delete(q.body, "include") }, nil, "destinations/details"},
	"a catalogue page of 25":        {opHotelsMetadata, takes("page", nil, obj{"pageSize": 25}), nil, "metadata/default-size"},
	"a catalogue page of 101":       {opHotelsMetadata, takes("pageSize", 101, 100), nil, "metadata/size-above"},
	"a catalogue limit of 99":       {opHotelsMetadata, nil, turnsDown("pageSize", 100), "metadata/size-largest"},
	"page 0 that is refused":        {opHotelsMetadata, nil, turnsDown("pageNum", 0), "metadata/page-below-1"},
	"a catalogue of one page": {opHotelsMetadata, nil, inData(func(data obj) { field(data, "page")["hasMore"] = false }),
		"metadata/pages"},
	"no destinationId needed": {opHotelsMetadata, nil, func(a *reply) {
		if a.asked.body["destinationId"] == nil && a.status == 400 {
			a.succeed(obj{"hotelsMetadata": []any{}, "page": obj{}})
		}
	}, "metadata/destination envelope/failure"},
	"a rating of text": {opHotelsMetadata, nil, inData(func(data obj) { field(data, "hotelsMetadata")["rating"] = "4.5" }),
		"metadata/form"},
	"an offer without its mode":    {opHotelList, nil, offersOf(func(offer obj) { delete(offer, "refundableMode") }), "list/form"},
	"a rating of 9":                {opHotelList, nil, hotelsOf(func(h obj) { h["rating"] = 9 }), "list/rating"},
	"a room of another hotel":      {opHotelList, nil, hotelsOf(func(h obj) { field(h, "rooms")["hotelId"] = "x" }), "list/room-hotel"},
	"offers for other dates":       {opHotelList, nil, offersOf(func(offer obj) { offer["checkOut"] = "2000-12-24" }), "list/dates"},
	"a total that is not the rate": {opHotelList, nil, offersOf(func(offer obj) { double(field(offer, "totalRate")) }), "list/one-room"},
	"a search of everything": {opHotelList, nil, func(a *reply) {
		if a.asked.body["destinationId"] == nil && a.asked.body["destinationName"] == nil && a.asked.body["hotelIds"] == nil &&
			a.asked.body["checkIn"] != nil {
			a.succeed(obj{"list": []any{}, "basic": obj{"sessionId": "s"}})
		}
	}, "list/selector"},
	"a search without rooms": {opHotelList, func(q *question) {
		if rooms, _ := q.body["roomOccupancies"].([]any); len(rooms) == 0 && q.body["checkIn"] != nil {
			q.body["roomOccupancies"] = []any{obj{"adultCount": 1}}
		}
	}, nil, "list/rooms"},
	"pageNum 0 is page 1":        {opHotelList, takes("pageNum", 0, 1), nil, "list/page-num"},
	"a page of 201":              {opHotelList, takes("pageSize", 201, 200), nil, "list/size-above"},
	"a limit of 199":             {opHotelList, nil, turnsDown("pageSize", 200), "list/size-largest"},
	"a default page of 20":       {opHotelList, takes("pageSize", nil, 20), nil, "list/default-size"},
	"a pageSize that is ignored": {opHotelList, takes("pageSize", 2, 3), nil, "list/size"},
	"page 2 that repeats page 1": {opHotelList, takes("pageNum", 2, 1), nil, "list/pages"},
	"hasMore that is always set": {opHotelList, nil, func(a *reply) {
		if a.asked.body["hotelIds"] != nil && a.data != nil {
			a.data["hasMore"] = true
		}
	}, "list/foreign-ids"},
	"1001 ids": {opHotelList, func(q *question) {
		if ids, _ := q.body["hotelIds"].([]any); len(ids) == 1001 {
			q.body["hotelIds"] = ids[:1000]
		}
	}, nil, "list/ids-above"},
	"an undocumented limit of ids": {opHotelList, nil, func(a *reply) {
		if ids, _ := a.asked.body["hotelIds"].([]any); len(ids) > 500 {
			a.refuse(400, types.CodeParam)
		}
	}, "list/ids-limit"},
	"an emptyReason of its own": {opHotelList, nil, func(a *reply) {
		if list, _ := a.data["list"].([]any); a.data != nil && len(list) == 0 {
			field(a.data, "basic")["emptyReason"] = obj{"code": "NONE"}
		}
	}, "list/foreign-ids"},
	"notices with an emptyReason": {opHotelList, nil, func(a *reply) {
		if list, _ := a.data["list"].([]any); a.data != nil && len(list) == 0 {
			field(a.data, "basic")["emptyReason"] = obj{"code": "NO_SUPPLIER_ENABLED"}
			field(a.data, "basic")["notices"] = []any{"x"}
		}
	}, "list/reasons"},
	"a platform id that is not accepted": {opHotelList, func(q *question) {
		if ids, _ := q.body["hotelIds"].([]any); len(ids) == 1 {
			q.body["hotelIds"] = []any{"x"}
		}
	}, nil, "list/by-id"},
	"a destinationName that finds nothing": {opHotelList, func(q *question) {
		if q.body["destinationName"] != nil {
			q.body["destinationName"] = "x"
		}
	}, nil, "list/by-name"},
	"maxRatesPerHotel that is ignored": {opHotelList, takes("maxRatesPerHotel", 1, 0), nil, "list/max-rates"},
	"price-asc that is ignored":        {opHotelList, takes("sortBy", "price-asc", "x"), nil, "list/price-asc"},
	"price-desc that is reversed":      {opHotelList, takes("sortBy", "price-desc", "price-asc"), nil, "list/price-desc"},
	"rating-desc that is ignored":      {opHotelList, takes("sortBy", "rating-desc", "x"), nil, "list/rating-desc"},
	"a total below the page": {opHotelList, nil, inData(func(data obj) {
		if list := data["list"].([]any); len(list) > 0 {
			data["total"] = len(list) - 1
		}
	}), "list/total"},
	"rates without dates": {opHotelRates, nil, inData(func(data obj) { eachOffer(data["rooms"], func(o obj) { delete(o, "checkIn") }) }),
		"rates/form rates/dates"},
	"rates for other dates": {opHotelRates, nil, inData(func(data obj) {
		eachOffer(data["rooms"], func(o obj) { o["checkIn"] = "2000-01-09" })
	}),
		"rates/dates"},
	"a total of one room of two": {opHotelRates, nil, func(a *reply) {
		if rooms, _ := a.asked.body["roomOccupancies"].([]any); len(rooms) == 2 && a.data != nil {
			eachOffer(a.data["rooms"], func(o obj) { o["totalRate"] = o["rate"] })
		}
	}, "rates/two-rooms"},
	"a price that moves silently": {opCheckAvail, nil, inData(func(data obj) { double(field(data, "roomRatePkg", "totalRate")) }),
		"check/same"},
	"an availability of 0": {opCheckAvail, nil, inData(func(data obj) { data["status"] = 0 }), "check/form"},
	"no ratePkgId needed": {opCheckAvail, nil, func(a *reply) {
		if a.asked.body["ratePkgId"] == nil && a.status == 400 && a.asked.header.Get("Session-Id") != "" {
			a.succeed(obj{"status": 2})
		}
	}, "check/required"},
	"four tickets in a second": {opTicket, nil, lately(func(a *reply, before int) {
		if before >= 4 {
			a.tooMany()
		}
	}), "limits/at limits/above"},
	"no limit of tickets": {opTicket, nil, answers(types.CodeRateLimited, func(a *reply) { a.refuse(401, unauthorized) }), "limits/above"},
	"one limit for all": {"", nil, lately(func(a *reply, before int) {
		if before >= 10 && a.asked.path == paths[opQueryOrders] {
			a.tooMany()
		}
	}), "limits/each"},
	"rates in any session":      lends().breaking("rates/session"),
	"checks in any session":     finds(false).breaking("check/session"),
	"offers of another session": finds(true).breaking("check/other-session"),
	"a Gaode point without lat": {opHotelsMetadata, nil, inData(func(data obj) {
		field(data, "hotelsMetadata", "latlngCoordinator")["gaode"] = obj{"lng": 1}
	}), "metadata/gaode"},
	"a catalogue total below the page": {opHotelsMetadata, nil, inData(func(data obj) { field(data, "page")["total"] = 1 }), "metadata/total"},
	"an offer that never was": {opCheckAvail, nil, func(a *reply) {
		if a.asked.body["ratePkgId"] == "probe-no-offer" {
			a.succeed(obj{"status": 1, "roomRatePkg": obj{"ratePkgId": "x"}})
		}
	}, "check/unknown"},
	"a full list for an unknown reference": {opQueryOrders, nil, inData(func(data obj) { data["orders"] = []any{obj{}} }), "orders/empty"},
	"a voucher of nobody is a success": {opOrderVoucher, nil, answers(types.CodeNotFound, func(a *reply) {
		a.succeed(obj{"status": "NOT_GENERATED"})
	}), "voucher/unknown"},
	"a voucher without a reference": {opOrderVoucher, nil, answers(types.CodeParam, func(a *reply) {
		a.succeed(obj{"status": "NOT_GENERATED"})
	}), "voucher/reference envelope/failure"},
}

// Each fault of a service breaks the rules that are about it, and no other.
func TestFaultsAreFound(t *testing.T) {
	portion := testkit.PortionOf(t, 1, 5)
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		if !portion.Next() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			f := faults[name]
			report, err := probed(t, hotelstaystest.Config{}, f.proxy(), func(c *Config) { c.Patience = 5 * time.Minute })
			require.NoError(t, err)
			want := strings.Fields(f.breaks)
			assert.ElementsMatch(t, want, report.broken())
			for _, rule := range report.broken() {
				result := report.result(t, rule)
				assert.NotEmpty(t, result.Reason)
				assert.NotEmpty(t, result.Curl)
			}
		})
	}
}

// A rule that no fault breaks says nothing, unless it finds out what the document leaves open.
func TestEveryRuleCanBreak(t *testing.T) {
	var broken []string
	for _, f := range faults {
		broken = append(broken, strings.Fields(f.breaks)...)
	}
	for _, rule := range Rules() {
		word, _, _ := strings.Cut(rule.Promise, " ")
		open := slices.Contains([]string{"what", "which", "how", "whether"}, word)
		assert.True(t, open || slices.Contains(broken, rule.Name), rule.Name)
	}
}
