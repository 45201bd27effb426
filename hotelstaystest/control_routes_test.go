package hotelstaystest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestControlAPIInjectsFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := controlled(t)
		u := login(t, s)
		sent := `{"operation":"QueryOrders","kind":"status","status":502,"code":7,"msg":"away","skip":1,"times":2,"delay":"2s",` +
			`"retryAfter":"3","header":{"X-One":["1","2"]},"body":"<html>"}`
		var added, left waitingFault
		c.must("POST", "/_sandbox/faults", sent, &added)
		list := func() []waitingFault {
			var got struct{ Faults []waitingFault }
			c.must("GET", "/_sandbox/faults", nil, &got)
			return got.Faults
		}
		u.must(queryPath, "{}")
		before := time.Now()
		r := u.post(queryPath, "{}")
		failIf(t, r.status != 502 || string(r.body) != "<html>" || time.Since(before) != 2*time.Second || r.header.Get("Retry-After") != "3" ||
			!slices.Equal(r.header["X-One"], []string{"1", "2"}), "HTTP %d %s, %v", r.status, r.body, r.header)
		left = list()[0]
		failIf(t, added.ID != 1 || added.Skip != 1 || added.Times != 2 || left.ID != 1 || left.Skip != 0 || left.Times != 1 ||
			time.Duration(left.Delay) != 2*time.Second, "%+v became %+v", added, left)
		c.must("POST", "/_sandbox/faults", `{"kind":"empty-body","status":204}`, nil)
		c.must("DELETE", "/_sandbox/faults/1", nil, nil)
		c.refused("DELETE", "/_sandbox/faults/1", nil, 404, "id", "no fault")
		c.refused("DELETE", "/_sandbox/faults/one", nil, 404, "id", "no fault")
		if got := list(); len(got) != 1 || got[0].ID != 2 {
			t.Errorf("%+v", got)
		}
		c.must("DELETE", "/_sandbox/faults", nil, nil)
		if got := c.call("GET", "/_sandbox/faults", nil); string(got.body) != `{"faults":[]}` {
			t.Errorf("%s", got.body)
		}
		for body, field := range map[string]string{
			`{}`: "kind", `{"kind":"cuts"}`: "kind", `{"kind":"cut","operation":"Bok"}`: "operation", `{"kind":"drop"}`: "operation",
			`{"kind":"cut","operation":"Webhook"}`:                "kind",
			`{"kind":"drop","operation":"Webhook","commit":true}`: "commit", `{"kind":"cut-before-read","commit":true}`: "commit",
			`{"kind":"cut","skip":-1}`: "skip", `{"kind":"cut","times":-2}`: "times", `{"kind":"cut","delay":"-1s"}`: "delay",
			`{"kind":"cut","bytesPerSecond":1}`: "bytesPerSecond", `{"kind":"slow-body","bytesPerSecond":1,"delay":"1s"}`: "bytesPerSecond",
			`{"kind":"cut","probability":1.1}`: "probability", `{"kind":"cut","status":100}`: "status",
			`{"kind":"cut","reference":"r"}`:                                "reference",
			`{"kind":"cut-before-read","operation":"Book","reference":"r"}`: "reference", `{"kind":"cut","field":1}`: "field",
		} {
			c.refused("POST", "/_sandbox/faults", body, 400, field, "")
		}
		s.ClearFaults()
		for range maxFaults {
			s.Inject(Fault{Kind: FaultCut})
		}
		c.refused("POST", "/_sandbox/faults", `{"kind":"cut"}`, 409, "", "remove some")
	})
}

// A redelivery is retried like a first delivery. If an event was delivered before, its state stays delivered even if a
// redelivery of the event fails.
func TestRedeliverySendsTheSameEventAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := answering(500, 500, 200, 500, 500, 200)
		s, c := controlled(t, Config{
			Webhooks: WebhookConfig{CallbackHandler: rc, RetryDelays: []time.Duration{time.Second}}, ConfirmAfter: Never,
		})
		login(t, s).bookWithCallback("ref", hook)
		time.Sleep(time.Minute)
		list := func(query string) []Webhook {
			var got struct{ Webhooks []Webhook }
			c.must("GET", "/_sandbox/webhooks"+query, nil, &got)
			return got.Webhooks
		}
		id := list("")[0].EventID
		same(t, list("")[0].State, WebhookGivenUp)
		s.RedeliverWebhook(id)
		time.Sleep(time.Minute)
		got := rc.all()
		stopIf(t, len(got) != 3 || !bytes.Equal(got[2].body, got[0].body) || got[2].eventID() != id, "%d deliveries", len(got))
		for _, kind := range []FaultKind{"", FaultBadSignature, FaultAlteredBody, FaultDuplicate, FaultDrop} {
			same(t, list("")[0].State, WebhookDelivered, kind)
			if kind != "" {
				s.Inject(Fault{Operation: OpWebhook, Kind: kind})
			}
			c.must("POST", "/_sandbox/webhooks/"+id+"/redeliver", nil, nil)
			time.Sleep(time.Minute)
		}
		w := list("?reference=PO000000001")[0]
		var attempts []string
		for _, a := range w.Attempts {
			attempts = append(attempts, fmt.Sprintf("%s %d", a.Signed, a.Status))
		}
		same(t, strings.Join(attempts, ", "), "valid 500, valid 500, valid 200, valid 500, valid 500, "+
			"invalid 200, invalid 200, valid 200, valid 200, none 0")
		failIf(t, w.State != WebhookDelivered || w.CustomerReferenceNo != "ref" || !strings.Contains(string(w.Body), "order_created"), "%+v", w)
		s.SendWebhook("ref", "last")
		synctest.Wait()
		last := list("?limit=1")
		failIf(t, len(last) != 1 || last[0].Event != "last" || len(list("?reference=other")) != 0, "%+v", last)
		c.refused("POST", "/_sandbox/webhooks/evt_none/redeliver", nil, 404, "eventId", "no event")
		panics(t, "no event", func() { s.RedeliverWebhook("evt_none") })
		s.Close()
		s.RedeliverWebhook(id) // does nothing after Close
	})
}

func TestControlAPIAdvancesTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := controlled(t, Config{Variants: Variants{OrderStatusNumbers: OrderStatusNumbers{Confirmed: 5}}})
		login(t, s).book("ref", 0)
		var clock controlClock
		c.must("POST", "/_sandbox/clock", `{"advance":"10m"}`, &clock)
		failIf(t, !clock.Now.Equal(time.Now().Add(10*time.Minute)) || time.Duration(clock.Offset) != 10*time.Minute, "%+v", clock)
		same(t, s.Ledger().Orders()[0].Status, 5)
		c.must("POST", "/_sandbox/clock", `{"advance":"0s"}`, nil)
		c.refused("POST", "/_sandbox/clock", `{"advance":"-1s"}`, 400, "advance", "cannot go back")
		c.refused("POST", "/_sandbox/clock", `{"advance":"87600h"}`, 400, "advance", "too far")
		c.refused("POST", "/_sandbox/clock", `{"advance":"2540400h"}`, 400, "advance", "too far")
		c.refused("POST", "/_sandbox/clock", nil, 400, "advance", "required")
		c.must("POST", "/_sandbox/clock", `{"advance":"87599h50m"}`, nil)
		c.refused("POST", "/_sandbox/clock", `{"advance":"1ns"}`, 400, "advance", "too far")
		c.must("GET", "/_sandbox/clock", nil, &clock)
		failIf(t, time.Duration(clock.Offset) != maxAhead, "%+v", clock)
		c.must("POST", "/_sandbox/reset", nil, nil)
		c.must("GET", "/_sandbox/clock", nil, &clock)
		failIf(t, clock.Offset != 0 || len(s.Ledger().Orders()) != 0, "%+v", clock)
	})
}

// Module internal/openapi calls each route that the file lists.
func TestOpenAPIListsEveryControlRouteAndFault(t *testing.T) {
	var file struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
		Components struct {
			Schemas struct {
				FaultKind struct {
					OneOf []struct{ Enum []FaultKind }
				}
			}
		}
	}
	err := json.Unmarshal(must(json.Marshal(must(getOpenAPI(nil)))), &file)
	stopIf(t, err != nil, "%v", err)
	for _, route := range controlRoutes {
		operation, listed := file.Paths[route.path][strings.ToLower(route.method)]
		var query []string
		for _, p := range operation.Parameters {
			if p.In == "query" {
				query = append(query, p.Name)
			}
		}
		failIf(t, !listed || !slices.Equal(query, route.query), "%s %s with %q: %+v", route.method, route.path, route.query, operation)
	}
	var described []FaultKind
	for _, kind := range file.Components.Schemas.FaultKind.OneOf {
		described = append(described, kind.Enum...)
	}
	failIf(t, !slices.Equal(described, faultKinds), "described %q, known %q", described, faultKinds)
}

func TestControlAPIListsOrdersCitiesAndCounts(t *testing.T) {
	s, c := controlled(t, Config{RateLimits: map[Operation]int{"Destinations": 2}})
	u := login(t, s).plain()
	in, ids := u.find(nil)
	var last *reply
	for i := range 3 {
		last = in.must(bookPath, booking(fmt.Sprint(i), ids[0], guests("Guest", fmt.Sprint(i))))
	}
	in.must(cancelPath, cancellation("2", last))
	for range 5 {
		u.post(destinationsPath, "{}")
	}
	u.post("/unknown", "{}")
	for query, want := range map[string]string{"": "[0 1 2] 3", "?limit=2": "[1 2] 3"} {
		var got struct {
			Orders []orderDetails
			Total  int
		}
		c.must("GET", "/_sandbox/orders"+query, nil, &got)
		refs := []string{}
		for _, o := range got.Orders {
			refs = append(refs, o.CustomerReferenceNo)
		}
		same(t, fmt.Sprint(refs, got.Total), want, query)
	}
	var ledger struct {
		Requests      int
		Counts        map[Operation]int
		RateLimited   map[Operation]int
		TicketsIssued int
		Orders        int
		Cancellations []LedgerCancellation
	}
	c.must("GET", "/_sandbox/ledger", nil, &ledger)
	failIf(t, ledger.Requests != 12 || ledger.Counts["Destinations"] != 5 || ledger.Counts[""] != 1 ||
		ledger.RateLimited["Destinations"] != 3 || ledger.TicketsIssued != 1 || ledger.Orders != 3 ||
		ledger.Cancellations[0].CustomerReferenceNo != "2", "%+v", ledger)
	var catalog struct {
		CityCount, HotelCount int
		Cities                []controlCity
		HotelIDs              []string
	}
	c.must("GET", "/_sandbox/catalog?limit=5", nil, &catalog)
	failIf(t, catalog.CityCount != 30 || catalog.HotelCount != s.HotelCount() || len(catalog.Cities) != 5 ||
		catalog.Cities[0].ID != s.CityID(0) || len(catalog.HotelIDs) != 5, "%+v", catalog)
	c.refused("GET", "/_sandbox/orders?limit=1001", nil, 400, "limit", "1000")
	c.refused("GET", "/_sandbox/requests?after=9223372036854775808", nil, 400, "after", "integer")
}
