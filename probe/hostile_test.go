package probe

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// Whatever comes, a run goes on: no rule breaks that is not about it, and what cannot be judged is not tried.
func TestSurprisesBreakNoRule(t *testing.T) {
	portion := testkit.PortionOf(t, 1, 4)
	n := 0
	emptyPage := func(list string) func(*reply) {
		return on("pageNum", 1, func(a *reply) {
			a.data[list], a.data["hasMore"], a.data["page"] = []any{}, true, obj{"hasMore": true}
		})
	}
	scopes := func(names ...types.Scope) hotelstaystest.Config { return hotelstaystest.Config{TicketScopes: names} }
	for name, test := range map[string]struct {
		sandbox hotelstaystest.Config
		fault   fault
		only    string // names or sections, by commas; "": all
		untried string // names, by spaces, or the beginning of names
	}{
		"an empty first page of hotels":    {fault: fault{op: opHotelList, told: emptyPage("list")}, only: "list/pages"},
		"an empty first page of catalogue": {fault: fault{op: opHotelsMetadata, told: emptyPage("hotelsMetadata")}, only: "metadata/pages"},
		"no offers": {fault: fault{op: opHotelList, told: sets("list[].rooms", nil)},
			only: "list/dates,list/one-room,list/room-hotel,list/max-rates", untried: "list/"},
		"an account that may do nothing": {sandbox: scopes("none"), untried: "voucher/unknown list/ check/ rates/"},
		"an account that may search":     {sandbox: scopes(types.ScopeSearchRead, types.ScopeContentRead), untried: "voucher/unknown orders/"},
		"a body that ends early":         {fault: fault{op: opOrderVoucher, told: cutOff}, only: "voucher/unknown", untried: "voucher/"},
		"a network that ends": {fault: fault{told: func(a *reply) {
			if n++; n > 3 {
				cutOff(a)
				a.status = 0
			}
		}}, only: "limits", untried: "limits/ oauth/limit list/stay-limits"},
		"destinations in any order": {fault: fault{op: opDestinations, told: func(a *reply) {
			if places, _ := a.data["destinations"].([]any); len(places) > 1 && n%2 == 0 {
				slices.Reverse(places)
			}
			n++
		}}},
		"parents by region codes": {fault: fault{told: sets("destinations[].parentDestinationId", "GB-ENG")}},
		"empty coordinates":       {fault: fault{told: sets("destinations[].coordinates", obj{})}},
		"an unavailable offer for an unknown session": {fault: fault{op: opCheckAvail,
			told: on("Session-Id", noSession, granted(obj{"status": 2}))}},
		"rates for an unknown session": {fault: fault{op: opHotelRates,
			told: on("Session-Id", noSession, granted(obj{"rooms": []any{}}))}},
		"another Request-Id": {fault: fault{told: headed("Request-Id", "r-1")}},
		"a ticket of some seconds less": {fault: fault{op: opTicket, told: sets("ticket", func(obj) any {
			return "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"iat":1,"exp":86399}`)) + ".x"
		})}, only: "ticket/default-ttl"},
	} {
		if !portion.Next() {
			continue
		}
		n = 0
		report, err := probed(t, test.sandbox, test.fault, only(strings.FieldsFunc(test.only, func(c rune) bool { return c == ',' })...))
		require.NoError(t, err, name)
		for _, result := range report.Results {
			assert.NotEqual(t, Broken, result.State, "%s: %s: %s", name, result.Name, result.Reason)
			untried := slices.ContainsFunc(strings.Fields(test.untried), func(rule string) bool { return strings.HasPrefix(result.Name, rule) })
			if untried || test.only != "" {
				assert.Equal(t, untried, result.State == NotTried, "%s: %s: %s", name, result.Name, result.Reason)
			}
		}
	}
}

func cutOff(a *reply) { a.err = errors.New("the connection was reset") }

// A mistake of a rule is neither hidden nor the end of a run.
func TestPanicOfARuleIsItsResult(t *testing.T) {
	s := &session{masker: &masker{}}
	result := s.try(t.Context(), Rule{Name: "x/y", try: func(*run) { var list []int; _ = list[0] }})
	assert.Equal(t, Broken, result.State)
	assert.Contains(t, result.Reason, "a fault of this program, not of the service")
	assert.Contains(t, result.Reason, "index out of range")
}

// A Retry-After of a day makes rules untried, and does not hold up the others.
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

// The command is that of the answer that broke the rule, not of a later one.
func TestCurlIsThatOfTheAnswerThatBrokeTheRule(t *testing.T) {
	for name, part := range map[string]string{"an operation without a token": paths[opDestinations], "a ttl of 0": `"ttl":0`} {
		f := faults[name]
		report, err := probed(t, hotelstaystest.Config{}, f, func(c *Config) { c.Only = strings.Fields(f.breaks) })
		require.NoError(t, err)
		assert.Contains(t, report.Results[0].Curl, part, name)
	}
}
