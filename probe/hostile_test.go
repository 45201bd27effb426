package probe

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// What a service answers is never the end of a run.
func TestAnswersThatNoServiceShouldGive(t *testing.T) {
	empty := func(list string) func(*reply) {
		return on("pageNum", 1, func(a *reply) {
			a.data[list], a.data["hasMore"], a.data["page"] = []any{}, true, obj{"hasMore": true}
		})
	}
	for name, test := range map[string]struct {
		fault fault
		rule  string
		state State
	}{
		"an empty first page of hotels":    {fault{op: opHotelList, told: empty("list")}, "list/pages", Found},
		"an empty first page of catalogue": {fault{op: opHotelsMetadata, told: empty("hotelsMetadata")}, "metadata/pages", Held},
		"places of no country": {fault{op: opDestinations, told: sets("destinations[].countryCode", "")},
			"destinations/form", Broken},
	} {
		report, err := probed(t, hotelstaystest.Config{}, test.fault, only(test.rule))
		require.NoError(t, err, name)
		result := report.result(t, test.rule)
		assert.Equal(t, test.state, result.State, "%s: %s", name, result.Reason)
	}
}

func TestNetworkThatEndsLeavesRulesUntried(t *testing.T) {
	var sent atomic.Int32
	report, err := probed(t, hotelstaystest.Config{}, fault{}, func(c *Config) {
		through := c.HTTPClient.Transport
		c.HTTPClient.Transport = testkit.Transport(func(req *http.Request) (*http.Response, error) {
			if sent.Add(1) > 3 {
				return nil, errors.New("no route")
			}
			return through.RoundTrip(req)
		})
		c.Only = []string{"limits"}
	})
	require.NoError(t, err)
	assert.Equal(t, len(report.Results), report.Count(NotTried))
}

// A mistake of a rule is neither hidden nor the end of a run.
func TestPanicOfARuleIsItsResult(t *testing.T) {
	s := &session{masker: &masker{}}
	result := s.try(t.Context(), Rule{Name: "x/y", try: func(*run) { var list []int; _ = list[0] }})
	assert.Equal(t, Broken, result.State)
	assert.Contains(t, result.Reason, "a fault of this program, not of the service")
	assert.Contains(t, result.Reason, "index out of range")
}

// The report has no more of an answer than the evidence says.
func TestReportKeepsNoBodies(t *testing.T) {
	report, err := probed(t, hotelstaystest.Config{}, fault{}, only("QueryOrders"))
	require.NoError(t, err)
	for _, result := range report.Results {
		for _, ex := range result.Evidence {
			assert.Nil(t, ex.raw, result.Rule)
		}
	}
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
	}}, only("QueryOrders", "OrderVoucher"))
	require.NoError(t, err)
	assert.Less(t, report.Ended.Sub(report.Began), time.Minute)
	for _, result := range report.Results {
		assert.Equal(t, strings.HasPrefix(result.Name, "orders/"), result.State == NotTried, "%s: %s", result.Name, result.Reason)
	}
}

// A body that ends early is no answer.
func TestBodyThatEndsEarlyIsNotJudged(t *testing.T) {
	report, err := probed(t, hotelstaystest.Config{}, fault{}, func(c *Config) {
		through := c.HTTPClient.Transport
		c.HTTPClient.Transport = testkit.Transport(func(req *http.Request) (*http.Response, error) {
			resp, err := through.RoundTrip(req)
			if err == nil && strings.HasSuffix(req.URL.Path, paths[opOrderVoucher]) {
				resp.Body.Close()
				resp.Body = io.NopCloser(iotest.ErrReader(errors.New("the connection was reset")))
			}
			return resp, err
		})
		c.Only = []string{"voucher/unknown"}
	})
	require.NoError(t, err)
	assert.Equal(t, NotTried, report.Results[0].State, report.Results[0].Reason)
}

// An account that may do nothing, or not all, is no fault of the service.
func TestAccountsThatMayNotDoAllBreakNoRule(t *testing.T) {
	for _, scopes := range [][]types.Scope{{"none"}, {types.ScopeSearchRead, types.ScopeContentRead}} {
		report, err := probed(t, hotelstaystest.Config{TicketScopes: scopes}, fault{}, all)
		require.NoError(t, err)
		assert.Empty(t, report.broken(), scopes)
		assert.Equal(t, NotTried, report.result(t, "voucher/unknown").State)
	}
}

// Whatever order lists have, whatever code an unknown session gets, and whatever is optional: no rule breaks.
func TestChoicesThatTheDocumentLeavesBreakNoRule(t *testing.T) {
	n := 0
	for name, told := range map[string]func(*reply){
		"destinations in any order": func(a *reply) {
			if places, _ := a.data["destinations"].([]any); len(places) > 1 && n%2 == 0 {
				slices.Reverse(places)
			}
			n++
		},
		"parents by region codes":                     sets("destinations[].parentDestinationId", "GB-ENG"),
		"empty coordinates":                           sets("destinations[].coordinates", obj{}),
		"an unavailable offer for an unknown session": on("ratePkgId", present, on("Session-Id", noSession, granted(obj{"status": 2}))),
		"rates for an unknown session":                on("hotelId", present, on("Session-Id", noSession, granted(obj{"rooms": []any{}}))),
		"another Request-Id":                          headed("Request-Id", "r-1"),
		"a ticket of some seconds less": sets("ticket", func(obj) any {
			return "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"iat":1,"exp":86399}`)) + ".x"
		}),
	} {
		report, err := probed(t, hotelstaystest.Config{}, fault{told: told}, func(c *Config) {
			if strings.HasPrefix(name, "a ticket") {
				c.Only = []string{"ticket/default-ttl"}
			}
		})
		require.NoError(t, err, name)
		for _, rule := range report.broken() {
			assert.Fail(t, "broken", "%s: %s: %s", name, rule, report.result(t, rule).Reason)
		}
	}
}

// Rules that have seen no offer say so.
func TestRulesThatHaveSeenNothingAreNotTried(t *testing.T) {
	none := fault{op: opHotelList, told: sets("list[].rooms", nil)}
	report, err := probed(t, hotelstaystest.Config{}, none, func(c *Config) {
		c.Only = []string{"HotelList", "RoomRatePkg (a priced offer)", "Room"}
	})
	require.NoError(t, err)
	assert.Empty(t, report.broken())
	for _, rule := range []string{"list/dates", "list/one-room", "list/room-hotel", "list/max-rates"} {
		assert.Equal(t, NotTried, report.result(t, rule).State, rule)
	}
	report, err = probed(t, hotelstaystest.Config{}, fault{}, func(c *Config) { c.Only, c.Patience = []string{"session/life"}, time.Minute })
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
