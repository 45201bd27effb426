package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// ofGuest replaces a value of the first guest in the requests of Book.
func ofGuest(name string, is, as any) func(*question) {
	return func(q *question) {
		if guests, _ := q.body["guests"].([]any); len(guests) > 0 {
			g := question{body: guests[0].(obj)}
			takes(name, is, as)(&g)
		}
	}
}

// remembers passes each request to change, together with the map seen, which has values of earlier requests. The key
// "session" has the last session, and the key "offer" the last offer. The key of a customer reference has the guests of its
// last request, as JSON. The key of these guests has the customer reference.
func remembers(change func(q *question, seen map[string]string)) func(*question) {
	seen := map[string]string{}
	return func(q *question) {
		change(q, seen)
		guests, _ := json.Marshal(q.body["guests"])
		reference, _ := q.body["customerReferenceNo"].(string)
		seen[reference], seen[string(guests)] = string(guests), reference
		if session := q.header.Get("Session-Id"); strings.HasPrefix(session, "ses-") {
			offer, _ := q.body["ratePkgId"].(string)
			seen["session"], seen["offer"] = session, cmp.Or(offer, seen["offer"])
		}
	}
}

// booksTwice makes a second order if the same reference is booked again.
func booksTwice(breaks string) fault {
	second, used := map[any]bool{}, map[any]bool{}
	return fault{asked: func(q *question) {
		reference := q.body["customerReferenceNo"]
		switch q.path {
		case opBook.Path():
			if used[reference] {
				q.body["customerReferenceNo"] = reference.(string) + "-2"
				ofGuest("lastName", present, "Twice")(q)
			}
			used[reference] = true
		case opCancel.Path():
			if second[q.body["supplierReferenceNo"]] {
				q.body["customerReferenceNo"] = reference.(string) + "-2"
			}
		case opQueryOrders.Path():
			if list, _ := q.body["customerReferenceNos"].([]any); list != nil {
				for _, reference := range slices.Clone(list) {
					list = append(list, reference.(string)+"-2")
				}
				q.body["customerReferenceNos"] = list
			}
		}
	}, told: func(a *reply) {
		same := func(o obj) any {
			reference, again := strings.CutSuffix(o["customerReferenceNo"].(string), "-2")
			if again {
				second[o["supplierReferenceNo"]] = true
			}
			return reference
		}
		sets("hotelOrder.customerReferenceNo", same)(a)
		sets("orders.customerReferenceNo", same)(a)
	}, breaks: breaks}
}

// refusesTwice is like booksTwice, but the service refuses the second Book although it makes an order.
func refusesTwice() fault {
	f := booksTwice("book/again-soon book/again-later book/again-cancelled book/other-content cancel/foreign")
	told := f.told
	f.told = func(a *reply) {
		reference, _ := a.asked.body["customerReferenceNo"].(string)
		if told(a); a.asked.path == opBook.Path() && strings.HasSuffix(reference, "-2") {
			a.refuse(http.StatusBadRequest, types.CodeParam)
		}
	}
	return f
}

// kept refuses each Book under a new reference after the first cancellation.
func kept() fault {
	var first any
	cancelled := false
	return fault{asked: func(q *question) {
		if q.path == opBook.Path() && first == nil {
			first = q.body["customerReferenceNo"]
		} else if q.path == opBook.Path() && cancelled && q.body["customerReferenceNo"] != first {
			q.body["ratePkgId"] = "kept"
		}
	}, told: func(a *reply) {
		if cancelled = cancelled || a.asked.path == opCancel.Path() && a.data != nil; a.asked.body["ratePkgId"] == "kept" {
			a.refuse(http.StatusBadRequest, types.CodeDuplicateBooking)
		}
	}, breaks: "book/duplicate-cancelled"}
}

// elsewhere makes Book return an order of another hotel: the last hotel of the search.
func elsewhere() func(*reply) {
	other := ""
	return func(a *reply) {
		if list, _ := a.data["list"].([]any); len(list) > 0 {
			other, _ = list[len(list)-1].(obj)["platformHotelId"].(string)
		}
		sets("hotelOrder.hotel.hotelId", other)(a)
	}
}

// status replaces one status of orders by another.
func status(is, as string) func(*reply) {
	return sets("orders.status", func(o obj) any {
		if o["status"] == json.Number(is) {
			return json.Number(as)
		}
		return o["status"]
	})
}

// event returns a fault in which change changes each event before the event is signed. The change may set the path:
//   - "lost": the event is not delivered;
//   - "put": the event comes by PUT;
//   - "signed": the event keeps the signature of the unchanged body.
func event(change func(*question), breaks string) fault {
	return fault{op: hotelstaystest.OpWebhook, asked: change, breaks: breaks}
}

// beforeCallback applies a fault of events to each request before the callback receives it.
func (f *fault) beforeCallback(callback http.Handler) http.Handler {
	if f.op != hotelstaystest.OpWebhook {
		return callback
	}
	asked := f.asked
	*f = fault{}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		q := question{header: req.Header, body: numbers(body)}
		if asked(&q); q.path == "lost" {
			return
		} else if q.path == "put" {
			req.Method = http.MethodPut
		}
		body, _ = json.MarshalIndent(q.body, "", " ")
		if q.path != "signed" {
			req.Header.Set(signHeader, hotelstaystest.SignWebhook("a-webhook-secret", time.Now(), body))
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		callback.ServeHTTP(w, req)
	})
}

// bookFaults returns new faults for each test, because some faults keep state.
func bookFaults() map[string]fault {
	issued := func(a *reply) {
		a.succeed(obj{"platformReferenceNo": a.asked.body["platformReferenceNo"], "status": "GENERATED",
			"voucher": obj{"voucherNumber": "V1", "version": 1}})
	}
	cancelled := granted(obj{"status": 3, "serviceFee": obj{"currency": "EUR", "amount": 0}})
	voucherIs := func(is string, change func(*reply)) func(*reply) {
		return func(a *reply) {
			if a.data["status"] == is {
				change(a)
			}
		}
	}
	return map[string]fault{
		"OrderVoucher returns a voucher before the order is confirmed": {opOrderVoucher, nil, voucherIs("NOT_GENERATED", issued),
			"voucher/before voucher/form voucher/signed"},
		"QueryOrders hides a new order for eleven minutes": during(opBook, 11*time.Minute, fault{told: sets("orders", []any{}),
			breaks: "book/visible order/references order/booking-time"}),
		"QueryOrders returns another price than Book": {opQueryOrders, nil, sets("orders.netRate.amount", 1), "book/read"},
		"the same Book makes a second order": booksTwice(
			"book/again book/again-soon book/again-later book/again-cancelled book/other-content cancel/foreign"),
		"the same Book makes a second order and is refused": refusesTwice(),
		"Book accepts the same content under another reference": {opBook, remembers(func(q *question, seen map[string]string) {
			guests, _ := json.Marshal(q.body["guests"])
			if first := seen[string(guests)]; first != "" && first != q.body["customerReferenceNo"] {
				ofGuest("lastName", present, "Again")(q)
			}
		}), nil, "book/duplicate book/duplicate-later"},
		"Book refuses a duplicate of a cancelled booking": kept(),
		"the refusal of a duplicate does not name the booking": {opBook, nil, answers(types.CodeDuplicateBooking,
			func(a *reply) { a.body["msg"] = "no" }), "book/duplicate book/duplicate-later"},
		"refusals of Book have no msg": {opBook, nil, answers(0, func(a *reply) { delete(a.body, "msg") }),
			"book/duplicate book/duplicate-later book/callback envelope/failure"},
		"Book returns an order of another hotel": {"", nil, elsewhere(), "book/hotel"},
		"Book accepts an offer of another session": {opBook, remembers(func(q *question, seen map[string]string) {
			if own := seen["session"]; strings.HasPrefix(q.header.Get("Session-Id"), "ses-") && q.body["ratePkgId"] == seen["offer"] {
				q.header.Set("Session-Id", own)
			}
		}), nil, "book/other-session"},
		"OrderVoucher needs no reference when an order exists": {opOrderVoucher, nil,
			on("customerReferenceNo", nil, on("supplierReferenceNo", nil, on("platformReferenceNo", nil,
				granted(obj{"status": "NOT_GENERATED", "platformReferenceNo": "x"})))), "voucher/reference voucher/no-reference"},
		"verifyUrl leads to no page": {opOrderVoucher, nil, sets("voucher.verifyUrl", func(v obj) any {
			before, _, _ := strings.Cut(v["downloadUrl"].(string), "/vouchers")
			return before + "/none"
		}), "voucher/verify"},
		"QueryOrders uses only the first of two customerReferenceNos": {opQueryOrders, func(q *question) {
			if list, _ := q.body["customerReferenceNos"].([]any); len(list) == 2 {
				q.body["customerReferenceNos"] = list[:1]
			}
		}, nil, "order/references"},
		"QueryOrders ignores checkInTimeWindow":  {opQueryOrders, takes("checkInTimeWindow", present, nil), nil, "order/check-in"},
		"QueryOrders ignores checkOutTimeWindow": {opQueryOrders, takes("checkOutTimeWindow", present, nil), nil, "order/check-out"},
		"QueryOrders compares checkOutTimeWindow with the check-in date": {opQueryOrders, func(q *question) {
			takes("checkInTimeWindow", nil, q.body["checkOutTimeWindow"])(q)
			takes("checkOutTimeWindow", present, nil)(q)
		}, nil, "order/check-out"},
		"QueryOrders ignores bookingTimeWindow": {opQueryOrders, takes("bookingTimeWindow", present, nil), nil, "order/booking-time"},
		"QueryOrders ignores a bookingTimeWindow without a start": {opQueryOrders, func(q *question) {
			if window, _ := q.body["bookingTimeWindow"].(obj); window["start"] == nil {
				delete(q.body, "bookingTimeWindow")
			}
		}, nil, "order/booking-time"},
		"QueryOrders ignores freeCancelTimeWindow": {opQueryOrders, takes("freeCancelTimeWindow", present, nil), nil, "order/free-cancel"},
		"QueryOrders ignores cancelledTimeWindow":  {opQueryOrders, takes("cancelledTimeWindow", present, nil), nil, "order/cancel-time"},
		"QueryOrders ignores statusList":           {opQueryOrders, takes("statusList", present, nil), nil, "order/status-list"},
		"QueryOrders hides cancelled orders": {opQueryOrders, nil, sets("orders", func(o obj) any {
			return slices.DeleteFunc(o["orders"].([]any), func(order any) bool { return order.(obj)["status"] == json.Number("3") })
		}), "cancel/status voucher/cancelled"},
		"Book accepts a callbackUrl with an access token": {opBook, remembers(func(q *question, seen map[string]string) {
			if seen["token"] == "" {
				seen["token"] = q.header.Get("Authorization")
			}
			if q.header.Get("Authorization") != "" {
				q.header.Set("Authorization", seen["token"])
			}
		}), nil, "webhook/oauth"},
		"events come for a Book without a callbackUrl": {opBook, takes("callbackUrl", nil, "https://callback.example.com/events"), nil,
			"webhook/unasked"},
		"events come by PUT": event(func(q *question) { q.path = "put" }, "webhook/delivered"),
		"Book accepts any session": {opBook, remembers(func(q *question, seen map[string]string) {
			if !strings.HasPrefix(q.header.Get("Session-Id"), "ses-") {
				q.header.Set("Session-Id", seen["session"])
			}
		}), nil, "book/session"},
		"Book accepts an unknown offer": {opBook, remembers(func(q *question, seen map[string]string) {
			takes("ratePkgId", "probe-no-offer", seen["offer"])(q)
		}), nil, "book/unknown-offer"},
		"Book needs no holder": {opBook, takes("holder", nil, obj{"firstName": "Guest", "lastName": "None"}), nil,
			"book/required book/holder"},
		"Book accepts a guest without a last name": {opBook, ofGuest("lastName", nil, "None"), nil, "book/guest"},
		"Book accepts an unknown gender":           {opBook, ofGuest("gender", "PROBE", nil), nil, "book/gender"},
		"QueryOrders returns all orders for an unknown customer reference": {opQueryOrders, takes("customerReferenceNos", func(v any) bool {
			return fmt.Sprint(v) == "["+unknownReference+"]"
		}, nil), nil, "order/references order/others"},
		"QueryOrders ignores supplierReferenceNos": {opQueryOrders, takes("supplierReferenceNos", present, nil), nil,
			"order/supplier-references order/others"},
		"Book refuses an unknown gender but makes an order": {opBook, ofGuest("gender", "PROBE", "OTHER"), func(a *reply) {
			if guests, _ := json.Marshal(a.asked.body["guests"]); strings.Contains(string(guests), "OTHER") {
				a.refuse(400, types.CodeParam)
			}
		}, "book/gender book/refused"},
		"Book accepts a passport number of 51 characters": {opBook, ofGuest("passportNumber", longestPassport+"1", longestPassport), nil,
			"book/passport-above book/passport-shown"},
		"Book refuses a passport number of 50 characters": {opBook, ofGuest("passportNumber", longestPassport, longestPassport+"1"), nil,
			"book/passport-largest"},
		"Book accepts an http callbackUrl": {opBook, takes("callbackUrl", "http://callback.example.com/", "https://callback.example.com/"), nil,
			"book/callback"},
		"Cancel refuses an unknown order with HTTP 409": {opCancel, nil, answers(types.CodeNotFound, refused(409, types.CodeNotFound)),
			"cancel/unknown"},
		"Cancel needs no supplierReferenceNo": {opCancel, nil, on("supplierReferenceNo", nil, cancelled), "cancel/required cancel/foreign"},
		"Cancel needs no session": {opCancel, nil, func(a *reply) {
			if a.asked.header.Get("Session-Id") == "" {
				cancelled(a)
			}
		}, "cancel/session"},
		"Book needs no token": {opBook, remembers(func(q *question, seen map[string]string) {
			if token := q.header.Get("Authorization"); token != "" {
				seen["token"] = token
			}
			q.header.Set("Authorization", seen["token"])
		}), nil, "book/token auth/anonymous"},
		"Cancel accepts any supplierReferenceNo": {opCancel, nil, answers(types.CodeNotFound, cancelled),
			"cancel/unknown cancel/mixed cancel/foreign"},
		"Book refuses the gender f":                            {opBook, ofGuest("gender", "f", "PROBE"), nil, "book/gender-forms"},
		"QueryOrders says that a cancelled order is confirmed": {opQueryOrders, nil, status("3", "2"), "cancel/status"},
		"Cancel returns the status of a confirmed order":       {opCancel, nil, sets("status", 2), "cancel/status"},
		"Cancel and QueryOrders say that a cancelled order is confirmed": {"", nil, func(a *reply) {
			if status("3", "2")(a); a.asked.path == opCancel.Path() {
				sets("status", 2)(a)
			}
		}, "cancel/status"},
		"a second Cancel is refused with HTTP 200": {opCancel, nil, answers(100002001, refused(200, 100002001)), "cancel/twice"},
		"the refusal of a second Cancel has an empty msg": {opCancel, nil, answers(100002001, func(a *reply) { a.body["msg"] = "" }),
			"cancel/twice"},
		"the voucher of a cancelled order has status FAILED": {opOrderVoucher, nil, voucherIs("CANCELLED", sets("status", "FAILED")),
			"voucher/cancelled"},
		"OrderVoucher returns a document without a request for it": {opOrderVoucher, nil,
			sets("voucher.content", obj{"contentType": "x", "byteSize": 1, "base64": "MQ=="}), "voucher/inline voucher/content-unasked"},
		"the digest does not match the document": {opOrderVoucher, nil, sets("voucher.signature.digest", strings.Repeat("0", 64)),
			"voucher/inline voucher/download"},
		"OrderVoucher finds no voucher by supplierReferenceNo": {opOrderVoucher, nil,
			on("supplierReferenceNo", present, refused(404, types.CodeNotFound)),
			"voucher/references"},
		"a voucher's link works longer than expiresIn": {opOrderVoucher, nil, sets("voucher.expiresIn", 60), "voucher/link"},
		"no event comes for a cancellation": event(func(q *question) {
			if q.body["event"] == "order_cancelled" {
				q.path = "lost"
			}
		}, "webhook/delivered"),
		"eventTime is in seconds": event(func(q *question) {
			ms, _ := q.body["eventTime"].(json.Number).Int64()
			q.body["eventTime"] = ms / 1000
		}, "webhook/form"),
		"the signature is over another encoding of the body": event(func(q *question) { q.path = "signed" }, "webhook/signature"),
		"an event has no id":                        event(func(q *question) { q.header.Del(idHeader) }, "webhook/signature"),
		"a voucher's link expires before expiresIn": {opOrderVoucher, nil, sets("voucher.expiresIn", 1800), "voucher/link"},
	}
}

func TestEachBookingFaultBreaksItsRulesAndLeavesNoOpenOrder(t *testing.T) {
	eachBreaksItsRules(t, bookFaults(), func(t *testing.T, f fault) (*Report, error) {
		return bookingRun{fault: f, after: noneIsLeft}.run(t)
	})
}

// The first event after Cancel may be about an earlier change of the order.
func TestRunWaitsForTheEventOfTheCancellation(t *testing.T) {
	sandbox := hotelstaystest.Config{Webhooks: hotelstaystest.WebhookConfig{Events: map[hotelstaystest.WebhookTrigger][]types.EventKind{
		hotelstaystest.OnCancel: {types.EventOrderModified, types.EventOrderCancelled}}}}
	report, err := bookingRun{sandbox: sandbox, change: only("webhook/delivered"), fault: event(func(q *question) {
		if q.body["event"] == "order_cancelled" {
			time.Sleep(overtaken - 2*time.Second)
		}
	}, "")}.run(t)
	require.NoError(t, err)
	assert.Contains(t, report.result(t, "webhook/delivered").Found, "order_modified order_cancelled")
}

// A service breaks no rule if it refuses a valid Book, reports a changed price, or answers each Book with HTTP 504.
func TestRefusedBookBreaksNoRule(t *testing.T) {
	for code, status := range map[int]int{types.CodeParam: 400, types.CodeRateChanged: 400, 100000504: 504} {
		report, err := bookingRun{fault: fault{op: opBook, asked: takes("holder", present, nil), told: refused(status, code)}}.run(t)
		require.NoError(t, err)
		assert.Empty(t, report.broken())
		assert.Equal(t, NotTried, report.result(t, "book/guest").State)
		for _, rule := range []string{"voucher/before", "book/gender-forms"} {
			assert.Equal(t, map[int]State{400: NotTried, 504: Weak}[status], report.result(t, rule).State, rule)
		}
	}
}
