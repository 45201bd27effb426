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

func TestProbeFindsTheServicesChoiceAtOpenPoints(t *testing.T) {
	variants := func(v hotelstaystest.Variants) hotelstaystest.Config { return hotelstaystest.Config{Variants: v} }
	for name, test := range map[string]struct {
		sandbox hotelstaystest.Config
		fault   fault
		found   map[string]string
	}{
		"the sandbox": {found: map[string]string{
			"orders/empty":        "orders: []",
			"orders/unfiltered":   `{"orders":[]}`,
			"destinations/empty":  `{"destinations":[]}`,
			"list/pages":          "totals: true; the pages share a session: true",
			"list/first-page":     "it is: true",
			"list/ids-limit":      "1000 ids, no visibility band",
			"rates/hotel-id":      "its own id is accepted: true",
			"oauth/token":         "the token is in the envelope; members: access_token expires_in scope token_type",
			"oauth/invalid-scope": "HTTP 400 with code 100000400; invalid_scope is in msg",
			"oauth/guards": "search:read: HotelList HotelRates CheckAvail; content:read: Destinations HotelsMetadata; " +
				"booking:read: QueryOrders OrderVoucher",
			"orders/status-list": `HTTP 200 with code 0: [1]; HTTP 400 with code 100000400: ["1"], ["CONFIRMED"]`,
			"headers/timestamp":  "HTTP 200 with code 0",
			"ticket/lifetime":    "an expired ticket gets code 100000401",
			"limits/refused":     "they do: false",
			"session/life":       "at least 1h0m0s",
		}},
		"orders are null instead of empty": {sandbox: variants(hotelstaystest.Variants{NullOrders: true}),
			found: map[string]string{"orders/empty": "orders: null"}},
		"answers without totals": {sandbox: variants(hotelstaystest.Variants{NoTotals: true}),
			found: map[string]string{"list/pages": "totals: false; the pages share a session: true",
				"metadata/pages": "totals: false; the pages share a session: true"}},
		"a token outside the envelope": {sandbox: variants(hotelstaystest.Variants{OAuthTopLevel: true}),
			found: map[string]string{"oauth/token": "the token is at the top level; members: access_token expires_in scope token_type"}},
		"a visibility band": {sandbox: hotelstaystest.Config{VisibilityBand: true},
			found: map[string]string{"list/ids-limit": "200 ids, a visibility band"}},
		"sessions of twelve minutes": {sandbox: hotelstaystest.Config{SessionLifetime: 12 * time.Minute}, found: map[string]string{
			"session/life": "between 10m0s and 15m0s; then HTTP 400 with code 100000400, status absent"}},
		"timestamps in seconds": {fault: fault{opQueryOrders, nil, on("Client-Request-Timestamp", sized(12, 13), denied), ""},
			found: map[string]string{"headers/timestamp": "HTTP 200 with code 0: seconds; HTTP 400 with code 100000400: milliseconds"}},
		"page 2 is the default page": {fault: fault{opHotelList, takes("pageNum", nil, 2), nil, ""},
			found: map[string]string{"list/first-page": "it is: false"}},
		"refused requests count towards the rate limit": {fault: fault{opTicket, nil, lately(5, opTicket), ""},
			found: map[string]string{"limits/refused": "they do: true"}},
		"a sample has the last element of each list, and English texts": {fault: fault{opQueryOrders, nil, on("customerReferenceNos", nil,
			granted(obj{"cursor": 7, "orders": []any{obj{"nights": 1}, obj{"guests": []any{"a"}, "hotel": obj{"ar": "x", "en": "Inn"}}}})), ""},
			found: map[string]string{"orders/unfiltered": `{"cursor":7,"orders":[{"guests":["[masked]"],"hotel":"Inn"}]}`}},
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
