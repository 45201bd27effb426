package probe

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// Where the document leaves a choice, the probe finds what the service does.
func TestProbeFindsTheServicesChoiceAtOpenPoints(t *testing.T) {
	variants := func(v hotelstaystest.Variants) hotelstaystest.Config { return hotelstaystest.Config{Variants: v} }
	for name, test := range map[string]struct {
		sandbox hotelstaystest.Config
		fault   fault
		found   map[string]string
	}{
		"the sandbox": {found: map[string]string{
			"orders/empty":        "orders: []",
			"check/form":          "1 is AVAILABLE",
			"list/pages":          "totals: true; the pages share a session: true",
			"oauth/token":         "the token is in the envelope; members: access_token expires_in scope token_type",
			"oauth/invalid-scope": "HTTP 400 with code 100000400; invalid_scope is in msg",
			"list/ids-limit":      "1000 ids, no visibility band",
			"session/life":        "at least 1h0m0s",
			"oauth/guards": "search:read: HotelList HotelRates CheckAvail; content:read: Destinations HotelsMetadata; " +
				"booking:read: QueryOrders OrderVoucher",
			"orders/windows": `accepted: {"end":"2001-01-01","start":"2001-01-01"}, ` +
				`{"end":"2001-01-01T00:00:00Z","start":"2001-01-01T00:00:00Z"}; ` +
				`HTTP 400 with code 100000400: {"end":"2001-01-01 00:00:00","start":"2001-01-01 00:00:00"}, ` +
				`{"end":"978307200","start":"978307200"}, {"end":"978307200000","start":"978307200000"}`,
			"orders/status-list":   `accepted: [1]; HTTP 400 with code 100000400: ["1"], ["CONFIRMED"]`,
			"orders/unfiltered":    "members: orders; 0 orders; the oldest first: true, the newest first: true",
			"destinations/polygon": "Polygon, 3 arrays deep",
			"ticket/lifetime":      "an expired ticket gets code 100000401",
			"limits/refused":       "they do: false",
			"headers/timestamp":    "HTTP 200 with code 0",
			"headers/timeout":      `HTTP 200 with code 0: "1", "86400000"; HTTP 400 with code 100000400: "0"`,
			"headers/gzip":         "it is: false",
			"destinations/empty":   "destinations: []",
			"metadata/empty":       "hotelsMetadata: []",
			"rates/empty":          "rooms: []",
			"oauth/limit":          `X-RateLimit-Limit is ""`,
			"list/stay-limits":     stayLimits("8 rooms, 9 rooms, 10 rooms, 20 rooms", "a child of 18, a child of 21"),
			"list/first-page":      "it is: true",
			"metadata/first-page":  "it is: true",
			"list/members":         "basic hasMore list total",
			"metadata/members":     "hasMore total",
			"list/sort-values":     "accepted",
			"list/decimals":        `2 decimals: "EUR"; 0 decimals: "JPY"; 3 decimals: "KWD"`,
			"list/deadlines":       `"9999-99-99T99:99:99Z"`,
			"list/boards":          "AI: All inclusive, BB: Bed and breakfast, HB: Half board, LU: Lunch, RO: Room only, TI: Plan TI",
			"rates/hotel-id":       "its own id is accepted: true",
			"rates/rooms":          "HTTP 400 with code 100000400",
			"rates/room-fees":      "1 fees are the price of one room, 1 fees the price of both rooms",
			"check/id":             "it keeps its id: true",
			"check/exchange":       `exchangeRateSnapshot: {"date":"2000-01-01","usd":{"eur":0.920000}}`,
			"headers/market":       "HTTP 200 with code 0",
			"headers/user-ref":     "HTTP 200 with code 0",
			"static/members": "address destinationId id isAvailable latlngCoordinator logoURL minPrice minPricesByCurrency name platformHotelId " +
				"rating rooms",
		}},
		"orders are null instead of empty": {sandbox: variants(hotelstaystest.Variants{NullOrders: true}),
			found: map[string]string{"orders/empty": "orders: null"}},
		"status 2 means available": {sandbox: variants(hotelstaystest.Variants{Available: 2}),
			found: map[string]string{"check/form": "2 is AVAILABLE"}},
		"compressed answers": {sandbox: hotelstaystest.Config{Compression: true}, found: map[string]string{"headers/gzip": "it is: true"}},
		"answers without totals": {sandbox: variants(hotelstaystest.Variants{NoTotals: true}),
			found: map[string]string{"list/pages": "totals: false; the pages share a session: true",
				"metadata/pages": "totals: false; the pages share a session: true"}},
		"a token outside the envelope": {sandbox: variants(hotelstaystest.Variants{OAuthTopLevel: true}),
			found: map[string]string{"oauth/token": "the token is at the top level; members: access_token expires_in scope token_type"}},
		"a visibility band": {sandbox: hotelstaystest.Config{VisibilityBand: true},
			found: map[string]string{"list/ids-limit": "200 ids, a visibility band"}},
		"sessions of twelve minutes": {sandbox: hotelstaystest.Config{SessionLifetime: 12 * time.Minute}, found: map[string]string{
			"session/life": "between 10m0s and 15m0s; then HTTP 400 with code 100000400, status absent"}},
		"a statusRemark in data": {fault: fault{opCheckAvail, nil, sets("statusRemark", "moved"), ""},
			found: map[string]string{"check/same": "statusRemark is in data"}},
		"a statusRemark in data.basic": {fault: fault{opCheckAvail, nil, sets("basic", obj{"statusRemark": "moved"}), ""},
			found: map[string]string{"check/same": "statusRemark is in data.basic"}},
		"Market is required": {fault: fault{opDestinations, nil, on("Market", nil, refused(403, 100000403)), ""},
			found: map[string]string{"headers/market": "HTTP 403 with code 100000403"}},
		"User-Ref is required": {fault: fault{opDestinations, nil, on("User-Ref", nil, refused(403, 100000403)), ""},
			found: map[string]string{"headers/user-ref": "HTTP 403 with code 100000403"}},
		"timestamps in seconds": {fault: fault{opQueryOrders, nil, on("Client-Request-Timestamp", sized(12, 13), denied), ""},
			found: map[string]string{"headers/timestamp": "HTTP 200 with code 0", "headers/milliseconds": "HTTP 400 with code 100000400"}},
		"empty lists are left out": {fault: fault{opDestinations, nil, on("parentDestinationId", nowhere, sets("destinations", nil)), ""},
			found: map[string]string{"destinations/empty": "destinations: absent"}},
		"at most eight rooms": {fault: fault{opHotelList, nil, on("roomOccupancies", sized(9, 99), denied), ""}, found: map[string]string{
			"list/stay-limits": stayLimits("8 rooms", "9 rooms, 10 rooms, 20 rooms, a child of 18, a child of 21")}},
		"page 2 is the default page": {fault: fault{opHotelList, takes("pageNum", nil, 2), nil, ""},
			found: map[string]string{"list/first-page": "it is: false"}},
		"refused requests count towards the rate limit": {fault: fault{opTicket, nil, lately(5, opTicket), ""},
			found: map[string]string{"limits/refused": "they do: true"}},
		"an undocumented cursor": {fault: fault{opHotelList, nil, sets("cursor", 7), ""},
			found: map[string]string{"list/members": "basic cursor hasMore list total"}},
		"sortBy is refused": {fault: fault{opHotelList, nil, on("sortBy", present, denied), ""},
			found: map[string]string{"list/sort-values": "HTTP 400 with code 100000400"}},
		"CheckAvail returns another offer id": {fault: fault{opCheckAvail, nil, sets("roomRatePkg.ratePkgId", "x"), ""},
			found: map[string]string{"check/id": "it keeps its id: false"}},
		"QueryOrders without a filter returns orders": {fault: fault{opQueryOrders, nil, on("customerReferenceNos", nil,
			granted(obj{"hasMore": true,
				"orders": []any{obj{"bookingTime": "2000-01-02"}, obj{"bookingTime": "2000-01-01"}}})), ""}, found: map[string]string{
			"orders/unfiltered": "members: hasMore orders; 2 orders; the oldest first: false, the newest first: true"}},
		"each fee is the price of one room": {fault: fault{opHotelRates, nil, sets("rooms.rates.cancelFees", func(offer obj) any {
			return []any{obj{"until": "2000-01-01T00:00:00Z", "fee": offer["rate"].(obj)["netRate"]}}
		}), ""}, found: map[string]string{"rates/room-fees": "2 fees are the price of one room, 0 fees the price of both rooms"}},
	} {
		report, err := probed(t, test.sandbox, test.fault, only(slices.Collect(maps.Keys(test.found))...))
		require.NoError(t, err)
		assert.Empty(t, report.broken(), name)
		assert.Equal(t, test.sandbox.Variants.NullOrders, report.Facts.NullOrders)
		for rule, found := range test.found {
			result := report.result(t, rule)
			assert.Equal(t, found, result.Found, "%s: %s: %s", name, rule, result.Reason)
		}
	}
}

// stayLimits returns the finding for the last accepted stay and the refused stays.
func stayLimits(rooms, refused string) string {
	return "accepted: 14 nights, 28 nights, 30 nights, 31 nights, 60 nights, 90 nights, 365 nights, 4 rooms, 5 rooms, 6 rooms, " + rooms +
		", 4 adults, 5 adults, 6 adults, 8 adults, 9 adults, 10 adults, 20 adults, 4 children, 5 children, 6 children, 8 children, " +
		"a child of 0, a child of 11, a child of 12, a child of 17; HTTP 400 with code 100000400: " + refused
}

// Each open point in the docs names the rules that answer it, or says why no rule can.
func TestPageOfOpenPointsNamesTheRulesOfEachPoint(t *testing.T) {
	page, err := os.ReadFile("../docs/open-points.md")
	require.NoError(t, err)
	named := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.TrimSpace(cells[0]) == "open" {
			continue
		}
		require.Len(t, cells, 4, line)
		how := strings.TrimSpace(cells[3])
		for name := range strings.SplitSeq(how, ", ") {
			rule := strings.Trim(name, "`")
			named[rule] = true
			known := slices.ContainsFunc(Rules(), func(r Rule) bool { return r.Name == rule })
			assert.True(t, known || strings.HasPrefix(how, "no: "), line)
		}
	}
}
