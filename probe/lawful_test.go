package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

// oneRemark changes the price in each answer of CheckAvail. Only the first answer for an offer has a statusRemark.
func oneRemark() func(*reply) {
	seen := map[string]bool{}
	return func(a *reply) {
		sets("roomRatePkg.totalRate.netRate.amount", double)(a)
		sets("roomRatePkg.rate.netRate.amount", double)(a)
		if offer := a.asked.header.Get("Session-Id") + fmt.Sprint(a.asked.body["ratePkgId"]); a.data != nil && !seen[offer] {
			seen[offer] = true
			sets("roomRatePkg.statusRemark", "the price moved")(a)
		}
	}
}

// Unusual answers that the document allows break no rule. Rules that cannot be judged are not tried.
func TestUnusualAnswersBreakNoRule(t *testing.T) {
	portion := testsize.PortionOf(t, 7, 17)
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
		only    string // names or sections, separated by commas; "" selects all rules
		untried string // names of the rules that are not tried, or prefixes of names, separated by spaces
		weak    string // names of the weak rules, separated by spaces
	}{
		"the default page of HotelList has 49 instead of 50 hotels": {fault: fault{op: opHotelList, told: on("pageSize", nil, func(a *reply) {
			if l, _ := a.data["list"].([]any); len(l) == 50 {
				a.data["list"] = l[:49]
			}
		})}, weak: "list/default-size"},
		"the second page of HotelList is empty": {fault: fault{op: opHotelList, told: on("pageNum", 2, func(a *reply) {
			a.data["list"], a.data["hasMore"] = []any{}, true
		})}, weak: "list/pages"},
		"the second page of HotelsMetadata is empty": {fault: fault{op: opHotelsMetadata, told: on("pageNum", 2, func(a *reply) {
			a.data["hotelsMetadata"], a.data["page"] = []any{}, obj{"hasMore": true}
		})}, weak: "metadata/pages"},
		"Server-Cost-Milliseconds is above the time of the call": {fault: fault{told: headed("Server-Cost-Milliseconds", "4000")}},
		"only the first answer of CheckAvail has a statusRemark": {fault: fault{op: opCheckAvail, told: oneRemark()}, weak: "value/gross"},
		"Ticket refuses a wrong Authorization header":            {fault: fault{op: opTicket, told: on("Authorization", present, denied)}},
		"hotels without id": {fault: fault{op: opHotelList, told: sets("list.id", nil)},
			untried: "rates/hotel-id list/both-ids", weak: "value/members value/max-rates"},
		"destinations without type": {fault: fault{op: opDestinations, told: sets("destinations.type", nil)}, untried: "list/by-name"},
		"a hotel that is sold out": {fault: fault{op: opHotelList, told: on("hotelIds", sized(1, 1), func(a *reply) {
			a.data["list"], a.data["total"] = []any{}, 0
		})}, untried: "list/both-ids"},
		"no city with hotels": {fault: fault{op: opHotelsMetadata, told: granted(obj{"hotelsMetadata": []any{}, "page": obj{"total": 0}})},
			only: "metadata,list/answer", untried: "metadata/ list/answer"},
		"the first page of HotelList is empty": {fault: fault{op: opHotelList, told: emptyPage("list")}, only: "list/pages"},
		"the first page of HotelsMetadata is empty": {fault: fault{op: opHotelsMetadata, told: emptyPage("hotelsMetadata")},
			only: "metadata/pages"},
		"an account without permissions": {sandbox: scopes("none"), untried: "voucher/unknown list/ check/ rates/"},
		"an account that may only search": {sandbox: scopes(types.ScopeSearchRead, types.ScopeContentRead),
			untried: "voucher/unknown orders/empty orders/unfiltered"},
		"a body that is cut off": {fault: fault{op: opOrderVoucher, told: cutOff}, only: "voucher/unknown", untried: "voucher/"},
		"a network that fails during the run": {fault: fault{told: func(a *reply) {
			if n++; n > 3 {
				cutOff(a)
				a.status = 0
			}
		}}, only: "limits", untried: "limits/"},
		"an unavailable offer for an unknown session": {fault: fault{op: opCheckAvail,
			told: on("Session-Id", noSession, granted(obj{"status": 2}))}},
		"rates for an unknown session": {fault: fault{op: opHotelRates,
			told: on("Session-Id", noSession, granted(obj{"rooms": []any{}}))}},
	} {
		if !portion.Next() {
			continue
		}
		n = 0
		report, err := probed(t, test.sandbox, test.fault, only(strings.FieldsFunc(test.only, func(c rune) bool { return c == ',' })...))
		require.NoError(t, err, name)
		noneIsBroken(t, name, report, test.weak)
		for _, result := range report.Results {
			if isJudged(result) {
				continue
			}
			untried := slices.ContainsFunc(strings.Fields(test.untried), func(rule string) bool { return strings.HasPrefix(result.Name, rule) })
			if untried || test.only != "" {
				assert.Equal(t, untried, result.State == NotTried, "%s: %s: %s", name, result.Name, result.Reason)
			}
		}
	}
}

func noneIsBroken(t *testing.T, service string, report *Report, weak string) {
	t.Helper()
	for _, result := range report.Results {
		assert.NotEqual(t, Broken, result.State, "%s: %s: %s", service, result.Name, result.Reason)
		isWeak := slices.Contains(strings.Fields(weak), result.Name)
		assert.Equal(t, isWeak, result.State == Weak, "%s: %s: %s", service, result.Name, result.Reason)
	}
}

// cancelling changes answers as if each cancellation were in progress. A cancelled order gets another status (as), and its
// voucher is pending.
func cancelling(as string) func(*reply) {
	return func(a *reply) {
		status("3", as)(a)
		switch a.data["status"] {
		case json.Number("3"):
			a.data["status"] = json.Number(as)
		case "CANCELLED":
			a.data["status"] = "PENDING"
		}
	}
}

// Where the document leaves a choice, a service may differ from the sandbox. The run must then report the facts of that service.
func TestServiceThatKeepsToTheDocumentBreaksNoRule(t *testing.T) {
	portion, adults := testsize.PortionOf(t, 13, 25), map[string]int{}
	for name, test := range map[string]struct {
		sandbox hotelstaystest.Config
		fault   fault
		change  func(*Config)
		pending []types.OrderStatus // expected in ServiceFacts.StatusMeanings.Pending
		untried string              // names of the rules that are not tried, separated by spaces
		weak    string              // names of the weak rules, separated by spaces
	}{
		"byteSize is the size of the base64 text": {fault: fault{op: opOrderVoucher, told: sets("voucher.content.byteSize", 12345)},
			weak: "value/size"},
		"Cancel returns a fee that the offer did not announce": {fault: fault{op: opCancel, told: sets("serviceFee.amount", 10)},
			weak: "cancel/fee value/refund"},
		"an event without eventTime": {fault: event(func(q *question) { delete(q.body, "eventTime") }, ""),
			weak: "value/event"},
		"QueryOrders ignores the other filters beside customerReferenceNos": {fault: fault{op: opQueryOrders, asked: func(q *question) {
			if q.body["customerReferenceNos"] != nil {
				q.body = obj{"customerReferenceNos": q.body["customerReferenceNos"]}
			}
		}}, weak: "order/booking-time order/cancel-time order/check-in order/check-out order/free-cancel order/status-list " +
			"order/supplier-references"},
		"an order that costs more than its offer": {fault: fault{told: func(a *reply) {
			sets("hotelOrder.netRate.amount", 399)(a)
			sets("orders.netRate.amount", 399)(a)
		}}, weak: "book/price book/rooms value/price value/refund"},
		"an order without optional fields": {fault: fault{op: opBook, told: func(a *reply) {
			for n := range strings.FieldsSeq("customerReferenceNo rooms hotel nightCount roomCount hotelConfirmNo supplier grossRate") {
				sets("hotelOrder."+n, nil)(a)
			}
		}}, untried: "book/hotel"},
		"a contract that requires all fields of a guest": {sandbox: hotelstaystest.Config{
			RequiredGuestFields: []string{"gender", "dateOfBirth", "passportNumber"}}},
		"Book requires a guest for each adult": {fault: fault{told: func(a *reply) {
			if rooms, _ := a.asked.body["roomOccupancies"].([]any); len(rooms) > 0 && a.header.Get("Session-Id") != "" {
				n, _ := rooms[0].(obj)["adultCount"].(json.Number).Int64()
				adults[a.header.Get("Session-Id")] = int(n) * len(rooms)
			}
			if guests, _ := a.asked.body["guests"].([]any); len(guests) > 0 && adults[a.asked.header.Get("Session-Id")] != len(guests) {
				denied(a)
			}
		}}},
		"refusals with HTTP 200 and an undocumented code": {fault: fault{op: opBook, told: answers(types.CodeParam, func(a *reply) {
			if msg, _ := a.body["msg"].(string); !strings.Contains(msg, "callbackUrl") {
				a.refuse(200, 100009999)
			}
		})}},
		"Book accepts a guest of room 0": {fault: fault{op: opBook, asked: ofGuest("roomIndex", 0, 1)},
			weak: "book/room-index value/guests"},
		"orders without the optional customerReferenceNo":   {fault: fault{op: opQueryOrders, told: sets("orders.customerReferenceNo", nil)}},
		"Book returns an order without supplierReferenceNo": {fault: fault{op: opBook, told: sets("hotelOrder.supplierReferenceNo", "")}},
		"orders in another currency": {fault: fault{op: opQueryOrders,
			told: sets("orders.netRate", obj{"currency": "USD", "amount": 5})}},
		"an order has another status before its confirmation": {fault: during(opBook, 2*time.Minute, fault{told: status("1", "4")}),
			pending: []types.OrderStatus{4}, untried: "voucher/before"},
		"an order is confirmed minutes after its voucher": {fault: during(opBook, 4*time.Minute, fault{told: status("2", "4")}),
			pending: []types.OrderStatus{4}},
		"a cancellation takes a minute, with another status": {fault: during(opCancel, time.Minute, fault{told: cancelling("4")})},
		"a cancellation takes a minute, with the old status": {fault: during(opCancel, time.Minute, fault{told: cancelling("2")})},
		"the status of a cancelled order changes after its voucher": {change: only("order"),
			fault: during(opCancel, 90*time.Second, fault{told: status("3", "4")})},
		"a second Cancel succeeds": {fault: fault{op: opCancel, told: answers(100002001,
			granted(obj{"status": 3, "serviceFee": obj{"currency": "EUR", "amount": 0}}))}},
		"Cancel refuses an unknown order with HTTP 400": {fault: fault{op: opCancel, told: answers(types.CodeNotFound, denied)}},
		"a cancellation sends order_modified": {sandbox: hotelstaystest.Config{Webhooks: hotelstaystest.WebhookConfig{
			Events: map[hotelstaystest.WebhookTrigger][]types.EventKind{hotelstaystest.OnCancel: {types.EventOrderModified}}}}},
		"an event is delivered again after four hours": {sandbox: hotelstaystest.Config{Webhooks: hotelstaystest.WebhookConfig{
			RetryDelays: []time.Duration{4 * time.Hour}}}, weak: "webhook/redelivery"},
		"the clock of the service is ten minutes ahead": {fault: event(func(q *question) {
			body, _ := json.MarshalIndent(q.body, "", " ")
			q.header.Set(signHeader, hotelstaystest.SignWebhook("a-webhook-secret", time.Now().Add(10*time.Minute), body))
			q.path = "signed"
		}, ""), change: func(c *Config) {
			c.HTTPClient.Transport = fault{told: func(a *reply) {
				a.header.Set("Date", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat))
			}}.before(c.HTTPClient.Transport)
		}, untried: "webhook/signature"},
		"a document of 9 MB": {sandbox: hotelstaystest.Config{VoucherSize: 9 << 20}},
		"the host of vouchers is down": {change: func(c *Config) {
			service := c.HTTPClient.Transport
			c.HTTPClient.Transport = testkit.Transport(func(req *http.Request) (*http.Response, error) {
				if req.Method == http.MethodGet {
					return nil, errors.New("no route to host")
				}
				return service.RoundTrip(req)
			})
		}, untried: "voucher/verify voucher/link"},
	} {
		if !portion.Next() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			report, err := bookingRun{sandbox: test.sandbox, fault: test.fault, change: test.change, after: noneIsLeft}.run(t)
			require.NoError(t, err)
			noneIsBroken(t, name, report, test.weak)
			untried := []string{}
			for _, result := range report.Results {
				if result.State == NotTried && !isJudged(result) {
					untried = append(untried, result.Name)
				}
			}
			assert.Equal(t, strings.Fields(test.untried), untried)
			assert.Equal(t, hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}, Pending: test.pending,
				Cancelled: []types.OrderStatus{3}}, report.Facts.StatusMeanings)
		})
	}
}
