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
	"github.com/hotelstays/hotelstays-go/types"
)

func double(money obj) any {
	n, _ := money["amount"].(json.Number).Float64()
	return 2 * n
}

// stale makes an expired token work: it replaces the refusal by the last successful answer to a request with this token.
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

// roams lets op accept an unknown session: it replaces the session by the session of the last HotelRates.
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

// anySession lets CheckAvail accept an offer in any session: it replaces the session by the session of the offer.
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

// lately refuses requests of op if n requests of any operation arrived in the last second.
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

func (a *reply) tooMany() {
	a.refuse(429, types.CodeRateLimited)
	a.header.Set("Retry-After", "1")
}

const (
	unauthorized = types.CodeUnauthorized
	offers       = "list.rooms.rates."
)

var faults = map[string]fault{
	"the envelope has no msg": {"", nil, func(a *reply) { delete(a.body, "msg") },
		"oauth/invalid-scope envelope/success envelope/failure"},
	"Ticket refuses a wrong secret with another code than a wrong key": {opTicket, nil,
		on("appKey", "sandbox-app-key", answers(unauthorized, refused(401, 100000402))),
		"ticket/wrong-secret ticket/refused"},
	"Ticket refuses an unknown key with HTTP 404": {opTicket, nil,
		on("appKey", "a-key-of-nobody", answers(unauthorized, refused(404, types.CodeNotFound))),
		"ticket/unknown-key"},
	"Ticket accepts a ttl above the limit":      {opTicket, takes("ttl", maxTTL+1, maxTTL), nil, "ticket/ttl-above"},
	"Ticket refuses the largest documented ttl": {opTicket, nil, on("ttl", maxTTL, denied), "ticket/ttl-largest"},
	"Ticket accepts a ttl of 0":                 {opTicket, takes("ttl", 0, 1), nil, "ticket/ttl-positive"},
	"an expired ticket still works":             {opQueryOrders, nil, stale(), "ticket/lifetime"},
	"a ticket expires before its ttl":           {opTicket, takes("ttl", 16, 8), nil, "ticket/lifetime ticket/ttl ticket/kept"},
	"Destinations needs no token": {opDestinations, nil, on("Authorization", nil, answers(0, granted(obj{"destinations": []any{}}))),
		"auth/missing-token auth/anonymous"},
	"HotelsMetadata accepts any token": {opHotelsMetadata, nil, on("Authorization", "Bearer "+unknownTicket,
		answers(0, granted(obj{"hotelsMetadata": []any{}}))), "auth/unknown-token"},
	"a token without scopes may call every operation": {"", nil, scopeless(),
		"oauth/no-scopes check/form headers/session-id list/form voucher/form"},
	"OAuthToken accepts a wrong secret": {opOAuthToken, takes("client_secret", wrongSecret, "sandbox-client-secret"), nil,
		"oauth/wrong-secret"},
	"OAuthToken accepts an unknown scope": {opOAuthToken, takes("scope", "probe:none", "search:read"), nil,
		"oauth/invalid-scope"},
	"the refusal of an unknown scope does not say invalid_scope": {opOAuthToken, nil, func(a *reply) { a.body["msg"] = "no" },
		"oauth/invalid-scope"},
	"OAuthToken returns no access_token": {opOAuthToken, nil, sets("access_token", nil), "oauth/token"},
	"OrderVoucher refuses a missing scope with HTTP 401": {opOrderVoucher, nil, answers(100000403, refused(401, unauthorized)),
		"oauth/voucher-scope"},
	"HotelList refuses the Test header": {opHotelList, nil, on("Test", present, denied), "headers/test-flags"},
	"an empty page in another currency has an undocumented reason": {opHotelList, nil, on("Currency", "JPY", func(a *reply) {
		sets("list", []any{})(a)
		sets("total", 0)(a)
		sets("hasMore", false)(a)
		sets("basic.emptyReason", obj{"code": "NO_CURRENCY"})(a)
	}), "list/form"},
	"HotelList ignores the Currency header": {opHotelList, func(q *question) { q.header.Del("Currency") }, nil, "headers/currency"},
	"X-RateLimit-Remaining does not fall":   {opQueryOrders, nil, headed("X-RateLimit-Remaining", "49"), "limits/counts"},
	"parentDestinationId takes precedence over countryCode": {opDestinations, func(q *question) {
		if q.body["parentDestinationId"] != nil {
			delete(q.body, "countryCode")
		}
	}, nil, "destinations/country-first"},
	"Destinations returns empty cities by default": {opDestinations, func(q *question) {
		if q.body["filterEmptyCities"] == nil && q.body["minHotelCount"] == nil {
			q.body["filterEmptyCities"], q.body["minHotelCount"] = false, 0
		}
	}, nil, "destinations/defaults"},
	"Destinations ignores minHotelCount": {opDestinations, takes("minHotelCount", present, nil), nil,
		"destinations/min-hotels"},
	"Destinations ignores include":             {opDestinations, takes("include", present, nil), nil, "destinations/details"},
	"HotelsMetadata accepts a pageSize of 101": {opHotelsMetadata, takes("pageSize", 101, 100), nil, "metadata/size-above"},
	"HotelsMetadata refuses a pageSize of 100": {opHotelsMetadata, nil, on("pageSize", 100, denied), "metadata/size-largest"},
	"HotelsMetadata refuses page 0":            {opHotelsMetadata, nil, on("pageNum", 0, denied), "metadata/page-below-1"},
	"HotelsMetadata says that no page follows the first": {opHotelsMetadata, nil, sets("page.hasMore", false),
		"metadata/pages metadata/has-more"},
	"HotelsMetadata needs no destinationId": {opHotelsMetadata, nil, on("destinationId", nil,
		answers(0, granted(obj{"hotelsMetadata": []any{}, "page": obj{}}))), "metadata/destination"},
	"a hotel's rating is 9": {opHotelList, nil, sets("list.rating", 9), "list/form"},
	"HotelList needs neither destinationId nor hotelIds": {opHotelList, nil,
		on("checkIn", present, on("destinationId", nil, on("hotelIds", nil,
			answers(0, granted(obj{"list": []any{}, "basic": obj{"sessionId": "s"}}))))), "list/selector headers/session-id"},
	"HotelList accepts a search without rooms": {opHotelList, takes("roomOccupancies", sized(0, 0), []any{obj{"adultCount": 1}}), nil,
		"list/rooms"},
	"HotelList returns page 1 for pageNum 0": {opHotelList, takes("pageNum", 0, 1), nil, "list/page-num"},
	"HotelList accepts a pageSize of 201":    {opHotelList, takes("pageSize", 201, 200), nil, "list/size-above"},
	"HotelList refuses a pageSize of 200":    {opHotelList, nil, on("pageSize", 200, denied), "list/size-largest"},
	"hasMore is always true in a search by hotelIds": {opHotelList, nil, on("hotelIds", present, sets("hasMore", true)),
		"list/foreign-ids list/has-more"},
	"HotelList accepts 1001 hotelIds":          {opHotelList, takes("hotelIds", sized(1001, 1001), []any{"x"}), nil, "list/ids-above"},
	"HotelList refuses more than 500 hotelIds": {opHotelList, nil, on("hotelIds", sized(501, 2000), denied), "list/ids-limit"},
	"HotelList finds no hotel by its platform id": {opHotelList, takes("hotelIds", func(v any) bool {
		return sized(1, 1)(v) && !strings.HasPrefix(fmt.Sprint(v), "[S")
	}, []any{"x"}), nil, "list/both-ids"},
	"page 3 of HotelList repeats page 2": {opHotelList, takes("pageNum", 3, 2), nil,
		"list/pages"},
	"malformed requests do not count towards the rate limit": {opTicket, nil, on("appKey", nil, answers(types.CodeRateLimited, denied)),
		"limits/above limits/retry-after"},
	"HotelList finds nothing by destinationName": {opHotelList, takes("destinationName", present, "x"), nil,
		"list/by-name"},
	"HotelList ignores maxRatesPerHotel": {opHotelList, takes("maxRatesPerHotel", 1, 0), nil,
		"list/max-rates"},
	"HotelList ignores sortBy price-asc": {opHotelList, takes("sortBy", "price-asc", "x"), nil,
		"list/price-asc"},
	"HotelList sorts price-desc by rising price": {opHotelList, takes("sortBy", "price-desc", "price-asc"), nil,
		"list/price-desc"},
	"HotelList ignores sortBy rating-desc": {opHotelList, takes("sortBy", "rating-desc", "x"), nil,
		"list/rating-desc"},
	"HotelRates returns the price of one of two rooms": {opHotelRates, nil, on("roomOccupancies", sized(2, 2),
		sets("rooms.rates.totalRate", func(o obj) any { return o["rate"] })), "offer/total check/same"},
	"HotelRates accepts any session": {"", roams(opHotelRates), nil, "rates/session"},
	"CheckAvail needs no ratePkgId": {opCheckAvail, nil,
		on("Session-Id", present, on("ratePkgId", nil, answers(0, granted(obj{"status": 2})))),
		"check/required"},
	"CheckAvail says that an unknown offer is available": {opCheckAvail, nil, on("ratePkgId", "probe-no-offer",
		answers(0, granted(obj{"status": 1, "roomRatePkg": obj{"ratePkgId": "x"}}))), "check/form check/unknown"},
	"CheckAvail accepts any session":                                         {"", roams(opCheckAvail), nil, "check/session"},
	"CheckAvail accepts an offer of another session":                         anySession(),
	"Ticket allows only four requests a second":                              {opTicket, nil, lately(4, opTicket), "limits/at limits/above"},
	"requests of all operations count towards the rate limit of QueryOrders": {"", nil, lately(10, opQueryOrders), "limits/each"},
	"QueryOrders returns an order for an unknown reference": {opQueryOrders, nil, sets("orders", []any{obj{}}),
		"orders/empty"},
	"OrderVoucher accepts an unknown order": {opOrderVoucher, nil, answers(types.CodeNotFound, granted(obj{"status": "NOT_GENERATED"})),
		"voucher/unknown voucher/form"},
	"HotelList accepts an invalid countryCode": {opHotelList, takes("countryCode", "ZZ1", nil), nil, "list/country-code"},
	"countryCode changes the prices of HotelList": {opHotelList, nil, on("countryCode", present, func(a *reply) {
		sets(offers+"totalRate.netRate.amount", double)(a)
		sets(offers+"rate.netRate.amount", double)(a)
	}), "list/country"},
	"maxRatesPerHotel does not return the cheapest rate": {opHotelList, nil, on("maxRatesPerHotel", 1, func(a *reply) {
		sets(offers+"totalRate.netRate.amount", double)(a)
		sets(offers+"rate.netRate.amount", double)(a)
	}), "list/cheapest"},
	"HotelList returns one rate per hotel by default": {opHotelList, takes("maxRatesPerHotel", nil, 1), nil, "list/uncapped"},
	"HotelList uses only the first of two hotelIds": {opHotelList, func(q *question) {
		if list, _ := q.body["hotelIds"].([]any); len(list) == 2 {
			q.body["hotelIds"] = list[:1]
		}
	}, nil, "list/each-id"},
	"HotelRates returns only the first rate of a room": {opHotelRates, nil,
		sets("rooms.rates", func(room obj) any { return room["rates"].([]any)[:1] }),
		"rates/all"},
	"HotelRates finds no hotel by its platform id": {opHotelRates, takes("hotelId", func(v any) bool {
		return v != nil &&
			!strings.HasPrefix(fmt.Sprint(v), "S")
	}, "x"), nil,
		"rates/hotel-id"},
	"OAuthToken grants only the first of several scopes": {opOAuthToken, func(q *question) {
		scope, _ := q.body["scope"].(string)
		q.body["scope"], _, _ = strings.Cut(scope, " ")
	}, nil, "oauth/guards"},
	"HotelList and HotelRates share a rate limit":              {"", nil, shared(), "limits/own"},
	"Ticket refuses requests for three seconds after HTTP 429": {opTicket, nil, blocked(), "limits/window"},
	"Ticket needs no appKey":                                   {opTicket, takes("appKey", nil, "sandbox-app-key"), nil, "ticket/required"},
	"HotelRates needs no hotelId": {opHotelRates, nil, on("Session-Id", present, on("hotelId", nil, answers(0,
		granted(obj{"rooms": []any{}})))), "rates/required"},
	"HotelList says that no page follows, and has no total": {opHotelList, nil, on("hotelIds", nil, func(a *reply) {
		sets("hasMore", false)(a)
		sets("total", nil)(a)
	}), "list/pages"},
	"the total of HotelList is above the number of all hotels": {opHotelList, nil, on("hotelIds", nil, sets("total", 61)),
		"list/pages list/has-more"},
	"OrderVoucher needs no reference": {opOrderVoucher, nil, answers(types.CodeParam, granted(obj{"status": "NOT_GENERATED"})),
		"voucher/reference voucher/form"},
}

func TestEachFaultBreaksItsRules(t *testing.T) {
	eachBreaksItsRules(t, faults, func(t *testing.T, f fault) (*Report, error) {
		return probed(t, hotelstaystest.Config{}, f, func(c *Config) { c.Patience = 5 * time.Minute })
	})
}

// eachBreaksItsRules requires that each fault breaks exactly the rules in its field breaks.
func eachBreaksItsRules(t *testing.T, all map[string]fault, run func(*testing.T, fault) (*Report, error)) {
	portion := testsize.PortionOf(t, 29, 53)
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

// shared makes a request of HotelList count towards the rate limit of HotelRates.
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

// blocked refuses requests for three seconds after an HTTP 429.
func blocked() func(*reply) {
	var until time.Time
	return func(a *reply) {
		// A request in the first half second was sent at the same time as the request that got HTTP 429, and is not refused.
		if left := time.Until(until); left > 0 && left < 2500*time.Millisecond {
			a.tooMany()
		} else if a.status == http.StatusTooManyRequests {
			until = time.Now().Add(3 * time.Second)
		}
	}
}

// Without such a fault, a rule might hold for every service. Rules that only answer an open question are exempt.
func TestEachRuleIsBrokenByAFault(t *testing.T) {
	broken := []string{"cancel/kept"} // TestNoOrderIsLeftOpen breaks it
	for _, f := range slices.Concat(slices.Collect(maps.Values(faults)), slices.Collect(maps.Values(bookFaults()))) {
		broken = append(broken, strings.Fields(f.breaks)...)
	}
	for _, rule := range Rules() {
		if rule.try == nil {
			continue // package judge tests these rules
		}
		word, _, _ := strings.Cut(rule.Promise, " ")
		open := slices.Contains([]string{"what", "where", "which", "how", "whether"}, word)
		assert.True(t, open || slices.Contains(broken, rule.Name), rule.Name)
	}
}

func cutOff(a *reply) { a.err = errors.New("the connection was reset") }

// A bug in a rule must not end the run.
func TestRuleThatPanicsIsReportedAsBroken(t *testing.T) {
	s := &session{masker: &masker{}, bench: newBench(&masker{})}
	result := s.try(t.Context(), Rule{Name: "x/y", try: func(*run) { var list []int; _ = list[0] }})
	assert.Equal(t, Broken, result.State)
	assert.Contains(t, result.Reason, "a fault of this program, not of the service")
	assert.Contains(t, result.Reason, "index out of range")
}

// If an operation answers with a Retry-After of a day, its rules are not tried. Other rules are not delayed.
func TestRunDoesNotWaitForARetryAfterOfADay(t *testing.T) {
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
		untried := strings.HasPrefix(result.Name, "orders/") && !isJudged(result)
		assert.Equal(t, untried, result.State == NotTried, "%s: %s", result.Name, result.Reason)
	}
}

func TestReasonOfAnUntriedRuleNamesTheLeastPatienceThatTheRuleNeeds(t *testing.T) {
	report, err := probed(t, hotelstaystest.Config{}, fault{}, func(c *Config) { c.Only, c.Patience = []string{"session/life"}, time.Minute })
	require.NoError(t, err)
	assert.Equal(t, "the session is first tried after 5m0s; -patience must be at least that long", report.Results[0].Reason)
}
