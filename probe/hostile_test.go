package probe

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// emptyPage is a search or a catalogue whose first page is empty, and not the last one.
func emptyPage(list string) func(*reply) {
	return inData(func(data obj) {
		data[list], data["hasMore"], data["page"] = []any{}, true, obj{"hasMore": true}
	})
}

// What a service answers is never the end of a run.
func TestAnswersThatNoServiceShouldGive(t *testing.T) {
	first := func(told func(*reply)) func(*reply) {
		return func(a *reply) {
			page, _ := a.asked.body["page"].(obj)
			if fmt.Sprint(a.asked.body["pageNum"]) == "1" || fmt.Sprint(page["pageNum"]) == "1" {
				told(a)
			}
		}
	}
	for name, test := range map[string]struct {
		fault *proxy
		rule  string
		state State
	}{
		"an empty first page of hotels":    {&proxy{op: opHotelList, told: first(emptyPage("list"))}, "list/pages", Found},
		"an empty first page of catalogue": {&proxy{op: opHotelsMetadata, told: first(emptyPage("hotelsMetadata"))}, "metadata/pages", Held},
		"places of no country": {&proxy{op: opDestinations, told: inData(func(data obj) {
			for _, place := range data["destinations"].([]any) {
				place.(obj)["countryCode"] = ""
			}
		})}, "destinations/form", Broken},
	} {
		report, err := probed(t, hotelstaystest.Config{}, test.fault, func(c *Config) { c.Only = []string{test.rule} })
		require.NoError(t, err, name)
		result := report.result(t, test.rule)
		assert.Equal(t, test.state, result.State, "%s: %s", name, result.Reason)
	}
}

// cutOff is a network that ends after a number of requests.
type cutOff struct {
	http.RoundTripper
	left atomic.Int32
}

func (c *cutOff) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.left.Add(-1) < 0 {
		return nil, errors.New("no route")
	}
	return c.RoundTripper.RoundTrip(req)
}

func TestNetworkThatEndsLeavesRulesUntried(t *testing.T) {
	report, err := probed(t, hotelstaystest.Config{}, nil, func(c *Config) {
		cut := &cutOff{RoundTripper: c.HTTPClient.Transport}
		cut.left.Store(3)
		c.HTTPClient.Transport = cut
		c.Only = []string{"limits"}
	})
	require.NoError(t, err)
	assert.Equal(t, len(limitRules), report.Count(NotTried))
}

func TestPanicOfARuleIsItsResult(t *testing.T) {
	s := &session{masker: &masker{}}
	result := s.try(t.Context(), Rule{Name: "x/y", try: func(*run) { var list []int; _ = list[0] }})
	assert.Equal(t, NotTried, result.State)
	assert.Contains(t, result.Reason, "index out of range")
}

// The report has no more of an answer than the evidence says.
func TestReportKeepsNoBodies(t *testing.T) {
	report, err := probed(t, hotelstaystest.Config{}, nil, func(c *Config) { c.Only = []string{"QueryOrders"} })
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
	report, err := probed(t, hotelstaystest.Config{}, &proxy{op: opQueryOrders, told: func(a *reply) {
		if began {
			a.tooMany()
			a.header.Set("Retry-After", "86400")
		}
		began = true
	}}, func(c *Config) { c.Only = []string{"QueryOrders", "OrderVoucher"} })
	require.NoError(t, err)
	assert.Less(t, report.Ended.Sub(report.Began), time.Minute)
	for _, result := range report.Results {
		assert.Equal(t, strings.HasPrefix(result.Rule, "orders/"), result.State == NotTried, "%s: %s", result.Rule, result.Reason)
	}
}

// A body that ends early is no answer.
func TestBodyThatEndsEarlyIsNotJudged(t *testing.T) {
	report, err := probed(t, hotelstaystest.Config{}, nil, func(c *Config) {
		c.HTTPClient.Transport = early{c.HTTPClient.Transport}
		c.Only = []string{"voucher/unknown"}
	})
	require.NoError(t, err)
	assert.Equal(t, NotTried, report.Results[0].State, report.Results[0].Reason)
}

// early ends the bodies of vouchers.
type early struct{ http.RoundTripper }

func (e early) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := e.RoundTripper.RoundTrip(req)
	if err == nil && strings.HasSuffix(req.URL.Path, paths[opOrderVoucher]) {
		resp.Body.Close()
		resp.Body = ended{}
	}
	return resp, err
}

type ended struct{}

func (ended) Read([]byte) (int, error) { return 0, errors.New("the connection was reset") }
func (ended) Close() error             { return nil }

// An account that may do nothing, or not all, is no fault of the service.
func TestAccountsThatMayNotDoAllBreakNoRule(t *testing.T) {
	for _, scopes := range [][]types.Scope{{"none"}, {types.ScopeSearchRead, types.ScopeContentRead}} {
		report, err := probed(t, hotelstaystest.Config{TicketScopes: scopes}, nil, nil)
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
		"parents by region codes": inData(func(data obj) {
			places, _ := data["destinations"].([]any)
			for _, place := range places {
				place.(obj)["parentDestinationId"] = "GB-ENG"
				delete(place.(obj), "coordinates")
				place.(obj)["coordinates"] = obj{}
			}
		}),
		"an unavailable offer for an unknown session": func(a *reply) {
			if strings.HasSuffix(a.asked.path, paths[opCheckAvail]) && a.asked.header.Get("Session-Id") == noSession && a.status == 400 {
				a.succeed(obj{"status": 2})
			}
		},
		"rates for an unknown session": func(a *reply) {
			if strings.HasSuffix(a.asked.path, paths[opHotelRates]) && a.asked.header.Get("Session-Id") == noSession && a.status == 400 {
				a.succeed(obj{"rooms": []any{}})
			}
		},
		"another Request-Id": headed("Request-Id", is("r-1")),
		"a ticket of some seconds less": func(a *reply) {
			if ticket, _ := a.data["ticket"].(string); ticket != "" {
				a.data["ticket"] = "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"iat":1,"exp":86399}`)) + ".x"
			}
		},
	} {
		fault := &proxy{told: told}
		report, err := probed(t, hotelstaystest.Config{}, fault, func(c *Config) {
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
	none := &proxy{op: opHotelList, told: hotelsOf(func(h obj) { delete(h, "rooms") })}
	report, err := probed(t, hotelstaystest.Config{}, none, func(c *Config) {
		c.Only = []string{"HotelList", "RoomRatePkg (a priced offer)", "Room"}
	})
	require.NoError(t, err)
	assert.Empty(t, report.broken())
	for _, rule := range []string{"list/dates", "list/one-room", "list/room-hotel", "list/max-rates"} {
		assert.Equal(t, NotTried, report.result(t, rule).State, rule)
	}
	report, err = probed(t, hotelstaystest.Config{}, nil, func(c *Config) { c.Only, c.Patience = []string{"session/life"}, time.Minute })
	require.NoError(t, err)
	assert.Equal(t, "the first look is after 5m0s", report.Results[0].Reason)
}

// The command is that of the answer that broke the rule, not of a later one.
func TestCurlIsThatOfTheAnswerThatBrokeTheRule(t *testing.T) {
	for name, part := range map[string]string{"an operation without a token": paths[opDestinations], "a ttl of 0": `"ttl":0`} {
		f := faults[name]
		report, err := probed(t, hotelstaystest.Config{}, f.proxy(), func(c *Config) { c.Only = strings.Fields(f.breaks) })
		require.NoError(t, err)
		assert.Contains(t, report.Results[0].Curl, part, name)
	}
}

// silent is a service that does not answer.
type silent struct{}

func (silent) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func TestServiceThatDoesNotAnswerIsOneLine(t *testing.T) {
	report, err := probed(t, hotelstaystest.Config{}, nil, func(c *Config) { c.HTTPClient.Transport = silent{} })
	assert.Nil(t, report)
	assert.ErrorContains(t, err, "the service gave no ticket, so nothing was tried")
	assert.NotContains(t, err.Error(), "\n")
}
