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

// ofGuest changes the guest of a Book whose request has a given value.
func ofGuest(name string, is, as any) func(*question) {
	return func(q *question) {
		if guests, _ := q.body["guests"].([]any); len(guests) > 0 {
			g := question{body: guests[0].(obj)}
			takes(name, is, as)(&g)
		}
	}
}

// remembers changes a Book depending on the earlier Books.
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

// booksTwice makes a second order for a reference whose first order is old enough.
func booksTwice(after time.Duration, breaks string) fault {
	second, used := map[any]bool{}, map[any]time.Time{}
	return fault{asked: func(q *question) {
		reference := q.body["customerReferenceNo"]
		switch q.path {
		case opBook.Path():
			if at, known := used[reference]; known && time.Since(at) >= after {
				q.body["customerReferenceNo"] = reference.(string) + "-2"
				ofGuest("lastName", present, "Twice")(q)
			} else if !known {
				used[reference] = time.Now()
			}
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

// booksAgain accepts a second booking with the same content, if the first booking is old enough.
func booksAgain(after time.Duration) func(*question) {
	used := map[string]time.Time{}
	return func(q *question) {
		guests, _ := json.Marshal(q.body["guests"])
		reference, _ := q.body["customerReferenceNo"].(string)
		if at, known := used[string(guests)]; known && time.Since(at) >= after && !used[reference].Equal(at) {
			ofGuest("lastName", present, "Again")(q)
		} else if !known {
			used[string(guests)], used[reference] = time.Now(), time.Now()
		}
	}
}

// refusesTwice is booksTwice, but the answer to the second Book is a refusal.
func refusesTwice() fault {
	f := booksTwice(0, "book/again book/again-later book/again-cancelled book/other-content cancel/foreign")
	told := f.told
	f.told = func(a *reply) {
		reference, _ := a.asked.body["customerReferenceNo"].(string)
		if told(a); a.asked.path == opBook.Path() && strings.HasSuffix(reference, "-2") {
			a.refuse(http.StatusBadRequest, types.CodeParam)
		}
	}
	return f
}

// kept refuses a Book with the content of a cancelled booking.
func kept() fault {
	first, cancelled := map[string]any{}, map[any]bool{}
	return fault{asked: func(q *question) {
		guests, _ := json.Marshal(q.body["guests"])
		reference := q.body["customerReferenceNo"]
		switch of := first[string(guests)]; {
		case q.path == opCancel.Path() && q.body["supplierReferenceNo"] != unknownReference && q.header.Get("Session-Id") != "":
			cancelled[reference] = true
		case q.path == opBook.Path() && of == nil:
			first[string(guests)] = reference
		case q.path == opBook.Path() && of != reference && cancelled[of]:
			q.body["ratePkgId"] = "kept"
		}
	}, told: func(a *reply) {
		if a.asked.body["ratePkgId"] == "kept" {
			a.refuse(http.StatusBadRequest, types.CodeDuplicateBooking)
		}
	}, breaks: "book/duplicate-cancelled"}
}

// elsewhere books the last hotel of a search instead of the requested hotel.
func elsewhere() func(*reply) {
	other := ""
	return func(a *reply) {
		if list, _ := a.data["list"].([]any); len(list) > 0 {
			other, _ = list[len(list)-1].(obj)["platformHotelId"].(string)
		}
		sets("hotelOrder.hotel.hotelId", other)(a)
	}
}

// status changes one status of all orders.
func status(is, as string) func(*reply) {
	return sets("orders.status", func(o obj) any {
		if o["status"] == json.Number(is) {
			return json.Number(as)
		}
		return o["status"]
	})
}

// event is a fault of webhooks: it changes the deliveries before they are signed. A delivery without a path never
// arrives, and a delivery that is already signed keeps its signature.
func event(change func(*question), breaks string) fault {
	return fault{op: hotelstaystest.OpWebhook, asked: change, breaks: breaks}
}

// beforeCallback puts the fault in front of a receiver, if it is a fault of webhooks.
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
		"an order without a status":     {opBook, nil, sets("hotelOrder.status", nil), "book/status book/form"},
		"a new order that is confirmed": {opBook, nil, sets("hotelOrder.status", 2), "book/status"},
		"a voucher before the confirmation": {opOrderVoucher, nil, voucherIs("NOT_GENERATED", issued),
			"voucher/before voucher/form voucher/signed"},
		"an order for other dates": {opBook, nil, sets("hotelOrder.checkIn", "2000-12-24"),
			"book/stay book/read order/nights order/room-dates"},
		"an order for another last day": {opBook, nil, sets("hotelOrder.checkOut", "2000-12-31"),
			"book/stay book/read order/nights order/room-dates"},
		"an order that costs more": {opBook, nil, sets("hotelOrder.netRate.amount", 1990), "book/read"},
		"an order that is hidden for too long": during(opBook, 11*time.Minute, fault{told: sets("orders", []any{}),
			breaks: "book/visible order/references order/booking-time"}),
		"an order whose price differs when it is read": {opQueryOrders, nil, sets("orders.netRate.amount", 1), "book/read"},
		"a supplierReferenceNo that finds no order": {opQueryOrders, nil, on("supplierReferenceNos", present, sets("orders", []any{})),
			"order/supplier-references"},
		"a reference that books twice": booksTwice(0,
			"book/again book/again-later book/again-cancelled book/other-content cancel/foreign"),
		"a refusal that books twice": refusesTwice(),
		"a reference that books twice minutes later": booksTwice(3*time.Minute,
			"book/again book/again-later book/again-cancelled cancel/foreign"),
		"a duplicate that is booked":                   {opBook, booksAgain(0), nil, "book/duplicate book/duplicate-later"},
		"a duplicate that is booked minutes later":     {opBook, booksAgain(3 * time.Minute), nil, "book/duplicate-later"},
		"a duplicate that is refused after its Cancel": kept(),
		"a duplicate refusal that names no booking": {opBook, nil, answers(types.CodeDuplicateBooking,
			func(a *reply) { a.body["msg"] = "no" }), "book/duplicate book/duplicate-later"},
		"refusals without a msg": {opBook, nil, answers(0, func(a *reply) { delete(a.body, "msg") }),
			"book/duplicate book/duplicate-later book/callback envelope/failure"},
		"an order of another hotel": {"", nil, elsewhere(), "book/hotel"},
		"an order of another day": {opBook, nil, sets("hotelOrder.bookingTime", "2000-01-01T23:00:00Z"),
			"order/created"},
		"a Book in another session": {opBook, remembers(func(q *question, seen map[string]string) {
			if own := seen["session"]; strings.HasPrefix(q.header.Get("Session-Id"), "ses-") && q.body["ratePkgId"] == seen["offer"] {
				q.header.Set("Session-Id", own)
			}
		}), nil, "book/other-session"},
		"a voucher without a reference": {opOrderVoucher, nil, on("customerReferenceNo", nil, on("supplierReferenceNo", nil,
			on("platformReferenceNo", nil,
				granted(obj{"status": "NOT_GENERATED", "platformReferenceNo": "x"})))), "voucher/reference voucher/no-reference"},
		"a verifyUrl without a page": {opOrderVoucher, nil, sets("voucher.verifyUrl", func(v obj) any {
			before, _, _ := strings.Cut(v["downloadUrl"].(string), "/vouchers")
			return before + "/none"
		}), "voucher/verify"},
		"only the first of customerReferenceNos": {opQueryOrders, func(q *question) {
			if list, _ := q.body["customerReferenceNos"].([]any); len(list) == 2 {
				q.body["customerReferenceNos"] = list[:1]
			}
		}, nil, "order/references"},
		"checkInTimeWindow that is ignored":  {opQueryOrders, takes("checkInTimeWindow", present, nil), nil, "order/check-in"},
		"checkOutTimeWindow that is ignored": {opQueryOrders, takes("checkOutTimeWindow", present, nil), nil, "order/check-out"},
		"checkOutTimeWindow of the first day": {opQueryOrders, func(q *question) {
			takes("checkInTimeWindow", nil, q.body["checkOutTimeWindow"])(q)
			takes("checkOutTimeWindow", present, nil)(q)
		}, nil, "order/check-out"},
		"bookingTimeWindow that is ignored": {opQueryOrders, takes("bookingTimeWindow", present, nil), nil, "order/booking-time"},
		"bookingTimeWindow without an end": {opQueryOrders, func(q *question) {
			if window, _ := q.body["bookingTimeWindow"].(obj); window["start"] == nil {
				delete(q.body, "bookingTimeWindow")
			}
		}, nil, "order/booking-time"},
		"freeCancelTimeWindow that is ignored": {opQueryOrders, takes("freeCancelTimeWindow", present, nil), nil, "order/free-cancel"},
		"cancelledTimeWindow that is ignored":  {opQueryOrders, takes("cancelledTimeWindow", present, nil), nil, "order/cancel-time"},
		"statusList that is ignored":           {opQueryOrders, takes("statusList", present, nil), nil, "order/status-list"},
		"a cancelled order that is hidden": {opQueryOrders, nil, sets("orders", func(o obj) any {
			return slices.DeleteFunc(o["orders"].([]any), func(order any) bool { return order.(obj)["status"] == json.Number("3") })
		}), "cancel/status voucher/cancelled"},
		"a callbackUrl with an access token that is accepted": {opBook, remembers(func(q *question, seen map[string]string) {
			if seen["token"] == "" {
				seen["token"] = q.header.Get("Authorization")
			}
			if q.header.Get("Authorization") != "" {
				q.header.Set("Authorization", seen["token"])
			}
		}), nil, "webhook/oauth"},
		"a callbackUrl that no Book has set": {opBook, takes("callbackUrl", nil, "https://callback.example.com/events"), nil, "webhook/unasked"},
		"an event by PUT":                    event(func(q *question) { q.path = "put" }, "webhook/delivered"),
		"one id for all events":              event(func(q *question) { q.header.Set(idHeader, "e-1") }, "webhook/id"),
		"a Book in any session": {opBook, remembers(func(q *question, seen map[string]string) {
			if !strings.HasPrefix(q.header.Get("Session-Id"), "ses-") {
				q.header.Set("Session-Id", seen["session"])
			}
		}), nil, "book/session"},
		"a Book of any offer": {opBook, remembers(func(q *question, seen map[string]string) {
			takes("ratePkgId", "probe-no-offer", seen["offer"])(q)
		}), nil, "book/unknown-offer"},
		"a Book without a holder": {opBook, takes("holder", nil, obj{"firstName": "Guest", "lastName": "None"}), nil,
			"book/required book/holder"},
		"a guest without a name": {opBook, ofGuest("lastName", nil, "None"), nil, "book/guest"},
		"any gender":             {opBook, ofGuest("gender", "PROBE", nil), nil, "book/gender"},
		"references that are ignored": {opQueryOrders, takes("customerReferenceNos", func(v any) bool {
			return fmt.Sprint(v) == "["+unknownReference+"]"
		}, nil), nil, "order/references order/others"},
		"a supplier's reference that is ignored": {opQueryOrders, takes("supplierReferenceNos", present, nil), nil,
			"order/supplier-references order/others"},
		"a refusal that books": {opBook, ofGuest("gender", "PROBE", "OTHER"), func(a *reply) {
			if guests, _ := json.Marshal(a.asked.body["guests"]); strings.Contains(string(guests), "OTHER") {
				a.refuse(400, types.CodeParam)
			}
		}, "book/gender book/refused"},
		"a passport number of 51 characters": {opBook, ofGuest("passportNumber", longestPassport+"1", longestPassport), nil,
			"book/passport-above book/passport-shown"},
		"a passport number of 49 at most": {opBook, ofGuest("passportNumber", longestPassport, longestPassport+"1"), nil,
			"book/passport-largest"},
		"a passport number that is shown": {opQueryOrders, nil, sets("orders.rooms.guests", []any{obj{"no": longestPassport}}),
			"book/passport-shown"},
		"a callback without TLS": {opBook, takes("callbackUrl", "http://callback.example.com/", "https://callback.example.com/"), nil,
			"book/callback"},
		"an unknown order is HTTP 409": {opCancel, nil, answers(types.CodeNotFound, refused(409, types.CodeNotFound)), "cancel/unknown"},
		"a Cancel without a reference": {opCancel, nil, on("supplierReferenceNo", nil, cancelled), "cancel/required cancel/foreign"},
		"a Cancel without a session": {opCancel, nil, func(a *reply) {
			if a.asked.header.Get("Session-Id") == "" {
				cancelled(a)
			}
		}, "cancel/session"},
		"a Book without a token": {opBook, remembers(func(q *question, seen map[string]string) {
			if token := q.header.Get("Authorization"); token != "" {
				seen["token"] = token
			}
			q.header.Set("Authorization", seen["token"])
		}), nil, "book/token auth/anonymous"},
		"any supplierReferenceNo": {opCancel, nil, answers(types.CodeNotFound, cancelled), "cancel/unknown cancel/mixed cancel/foreign"},
		"gender in full alone":    {opBook, ofGuest("gender", "f", "PROBE"), nil, "book/gender-forms"},
		"no fee":                  {opCancel, nil, sets("serviceFee", nil), "cancel/form"},
		"a cancelled order that is still confirmed": {opQueryOrders, nil, status("3", "2"), "cancel/status"},
		"a cancelled order that never changes":      {opCancel, nil, sets("status", 2), "cancel/status"},
		"a cancelled order that says that it is not": {"", nil, func(a *reply) {
			if status("3", "2")(a); a.asked.path == opCancel.Path() {
				sets("status", 2)(a)
			}
		}, "cancel/status"},
		"a second Cancel that is HTTP 200": {opCancel, nil, answers(100002001, refused(200, 100002001)), "cancel/twice"},
		"a second Cancel without a cause":  {opCancel, nil, answers(100002001, func(a *reply) { a.body["msg"] = "" }), "cancel/twice"},
		"a voucher of a cancelled order":   {opOrderVoucher, nil, voucherIs("CANCELLED", sets("status", "FAILED")), "voucher/cancelled"},
		"a voucher without a signature":    {opOrderVoucher, nil, sets("voucher.signature", nil), "voucher/signed"},
		"a voucher whose version is text":  {opOrderVoucher, nil, sets("voucher.version", "1"), "voucher/form"},
		"a voucher's status of its own": {opOrderVoucher, nil, voucherIs("GENERATED", sets("status", "ISSUED")),
			"voucher/form voucher/generated"},
		"a document that nobody asked for": {opOrderVoucher, nil, sets("voucher.content", obj{"contentType": "x", "byteSize": 1,
			"base64": "MQ=="}), "voucher/inline voucher/content-unasked"},
		"a digest of other bytes": {opOrderVoucher, nil, sets("voucher.signature.digest", strings.Repeat("0", 64)),
			"voucher/inline voucher/download"},
		"an inline document of other bytes": {opOrderVoucher, nil, sets("voucher.content.base64", "MTIz"), "voucher/inline"},
		"a reference of no voucher": {opOrderVoucher, nil, on("supplierReferenceNo", present, refused(404, types.CodeNotFound)),
			"voucher/references"},
		"a link that outlives its life": {opOrderVoucher, nil, sets("voucher.expiresIn", 60), "voucher/link"},
		"no event of a cancellation": event(func(q *question) {
			if q.body["event"] == "order_cancelled" {
				q.path = "lost"
			}
		}, "webhook/delivered"),
		"an event of no documented kind": event(takes("event", "order_paid", "paid"), "webhook/form"),
		"an event's time in seconds": event(func(q *question) {
			ms, _ := q.body["eventTime"].(json.Number).Int64()
			q.body["eventTime"] = ms / 1000
		}, "webhook/form"),
		"another agent": event(func(q *question) { q.header.Set("User-Agent", "curl") }, "webhook/agent"),
		"a webhook signed over another encoding of its body": event(func(q *question) { q.path = "signed" }, "webhook/signature"),
		"an event without an id":                             event(func(q *question) { q.header.Del(idHeader) }, "webhook/signature"),
		"a link that ends early":                             {opOrderVoucher, nil, sets("voucher.expiresIn", 1800), "voucher/link"},
	}
}

func TestFaultsOfBookingsAreFoundAndLeaveNoOrder(t *testing.T) {
	eachBreaksItsRules(t, bookFaults(), func(t *testing.T, f fault) (*Report, error) {
		return bookingRun{fault: f, after: noneIsLeft}.run(t)
	})
}

// The first event after a Cancel may belong to an earlier change.
func TestEventOfACancellationIsAwaited(t *testing.T) {
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

// A service breaks no rule if it refuses an ordinary booking, moves its rate, or answers each Book with a timeout.
func TestRefusedBookingBreaksNoRule(t *testing.T) {
	for code, status := range map[int]int{types.CodeParam: 400, types.CodeRateChanged: 400, 100000504: 504} {
		report, err := bookingRun{fault: fault{op: opBook, asked: takes("holder", present, nil), told: refused(status, code)}}.run(t)
		require.NoError(t, err)
		assert.Empty(t, report.broken())
		assert.Equal(t, NotTried, report.result(t, "book/guest").State)
		for _, rule := range []string{"book/status", "book/gender-forms"} {
			assert.Equal(t, map[int]State{400: NotTried, 504: Weak}[status], report.result(t, rule).State, rule)
		}
	}
}
