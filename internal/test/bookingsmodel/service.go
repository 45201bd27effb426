// The service: its orders, and its answers.

package bookingsmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	reference = "ref-1"
	another   = "ref-2" // the reference of another due row, if World.Many is set
)

// Orders are in slots. Slots 0 and 1 are for the orders of Book, and slot foreign is for the order that somebody else
// makes under the reference.
const (
	foreign = 2
	slots   = 3
)

// revision identifies a version of an order. 0 means that there is no order, and 1 is a new order. Each change adds
// 2, and a cancellation adds 1, so that the revision of a cancelled order is even.
type revision uint8

func (l revision) cancelled() bool { return l > 0 && l%2 == 0 }

// view holds, for each slot, the revision of the order that QueryOrders returns.
type view [slots]revision

var orderStates = hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{9}}

// orderOf returns the order in a slot, in revision l. The foreign order has other dates of stay than the orders of
// Book.
func orderOf(slot int, l revision) types.Order {
	o := types.Order{CustomerReferenceNo: reference, PlatformReferenceNo: fmt.Sprint("p-", slot), SupplierReferenceNo: fmt.Sprint("s-", slot),
		CheckIn: "2900-01-01", CheckOut: "2900-01-03", Status: 2, HotelConfirmNo: fmt.Sprint("H-", (l-1)/2),
		NetRate: types.Money{Currency: "EUR", Amount: "100"}}
	if slot == foreign {
		o.CheckIn, o.CheckOut = "2900-02-01", "2900-02-03"
	}
	if l.cancelled() {
		o.Status = 9
	}
	return o
}

// slotAndRevision is the inverse of orderOf.
func slotAndRevision(o *types.Order) (slot int8, l revision) {
	for slot := range slots {
		for l := revision(1); l < 20; l++ {
			is := orderOf(slot, l)
			if is.PlatformReferenceNo == o.PlatformReferenceNo && is.HotelConfirmNo == o.HotelConfirmNo && is.Status == o.Status {
				return int8(slot), l
			}
		}
	}
	panic("an unknown order: " + o.PlatformReferenceNo)
}

func (v view) orders() (orders []types.Order) {
	for slot, l := range v {
		if l > 0 {
			orders = append(orders, orderOf(slot, l))
		}
	}
	return orders
}

// code is the kind of a reply to an operation.
type code uint8

const (
	succeeds code = iota // a transaction is committed, or a read is answered
	fails
	spoils   // the service refuses a read because of a reference in it
	made     // Book returns an order, or the answer to Cancel has the status cancelled
	accepted // the answer to Cancel has another status than cancelled
	refused
	lost
	unsent // the request was not sent
	polled // BookAndRecover has polled after Book, and has an outcome
	gaveUp // BookAndRecover has polled after Book, and has no outcome
)

// Client returns a client that knows which statuses of the model's orders mean confirmed and cancelled.
func Client(transport http.RoundTripper) *hotelstays.Client {
	client, err := hotelstays.New("https://service.example.com",
		hotelstays.TokenCredential{Token: types.NewSecret("token")}, // a ticket would expire, because a long search takes years of virtual time
		hotelstays.WithHTTPClient(&http.Client{Transport: transport}), hotelstays.WithRateLimiter(testkit.NoRateLimits{}),
		hotelstays.WithServiceFacts(hotelstays.ServiceFacts{StatusMeanings: orderStates}))
	if err != nil {
		panic(err)
	}
	return client
}

// roundTrip returns the HTTP response for a reply, or the error of a request without a response.
func (r reply) roundTrip(req *http.Request) (*http.Response, error) {
	status, data := http.StatusOK, any(map[string]any{"orders": append([]types.Order{}, r.view.orders()...)})
	cancels := strings.HasSuffix(req.URL.Path, "/cancel")
	switch {
	case r.code == fails:
		return testkit.Reply(status, `{"code": 100009999, "msg": "failed", "data": null}`), nil
	case r.code == spoils:
		return testkit.Reply(http.StatusBadRequest, `{"code": 100000400, "msg": "a bad reference", "data": null}`), nil
	case r.code == made && cancels:
		data = map[string]any{"status": 9}
	case r.code == accepted:
		data = map[string]any{"status": 2}
	case r.code == made:
		data = map[string]any{"hotelOrder": r.view.orders()[0]}
	case r.code == refused && cancels:
		return testkit.Reply(http.StatusBadRequest, `{"code": 100000400, "msg": "the cutoff has passed", "data": null}`), nil
	case r.code == refused:
		return testkit.Reply(status, `{"code": 100001111, "msg": "the rate has moved", "data": null}`), nil
	case r.code == lost:
		return nil, errors.New("the connection is lost")
	case r.code == unsent:
		return nil, hotelstays.ErrNotSent
	}
	text, err := json.Marshal(map[string]any{"code": 0, "data": data})
	return testkit.Reply(status, string(text)), err
}

func (w World) Request() *hotelstays.BookRequest { return request(w.Foreign) }

// request returns the request that each Book sends. If expect is true, its Expect contains dates of stay, which a
// foreign order does not have.
func request(expect bool) *hotelstays.BookRequest {
	req := &hotelstays.BookRequest{SessionID: "session", RatePkgID: "offer", CustomerReferenceNo: reference,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}}}
	if own := orderOf(0, 1); expect {
		req.Expect = &types.RoomRatePkg{CheckIn: own.CheckIn, CheckOut: own.CheckOut}
	}
	return req
}
