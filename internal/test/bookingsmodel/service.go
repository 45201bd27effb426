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
	another   = "ref-2" // the reference of the other due row, if World.Many is set
)

// The order that somebody else has made under the reference is the last one of a view.
const (
	foreign = 2
	slots   = 3
)

// look is the version of an order: 0 means no order, and each change adds to it. If it is odd, the order is not
// cancelled.
type look uint8

func (l look) cancelled() bool { return l > 0 && l%2 == 0 }

// view is what QueryOrders returns under the reference.
type view [slots]look

// The states of orders.
var orderStates = hotelstays.StatusMeanings{Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{9}}

// orderOf returns an order. Orders of Book differ from the foreign order in their dates.
func orderOf(slot int, l look) types.Order {
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

// looks returns the slot and the look of an order.
func looks(o *types.Order) (slot int8, l look) {
	for slot := range slots {
		for l := look(1); l < 20; l++ {
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

// code is the result of an operation.
type code uint8

const (
	succeeds code = iota // a transaction is committed, or a read answered
	fails
	spoils   // a read is refused because of its request
	made     // Book returns an order, or Cancel is carried out
	accepted // Cancel is answered before it is carried out
	refused
	lost
	unsent // the request was not sent, because it was too late
	polled // Book has polled by itself, and has an outcome
	gaveUp // Book has polled by itself, without an outcome
)

// Client returns a client whose service knows the states of the model's orders.
func Client(transport http.RoundTripper) *hotelstays.Client {
	client, err := hotelstays.New("https://service.example.com",
		hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret")},
		hotelstays.WithHTTPClient(&http.Client{Transport: transport}), hotelstays.WithRateLimiter(testkit.NoRateLimits{}),
		hotelstays.WithServiceFacts(hotelstays.ServiceFacts{StatusMeanings: orderStates}))
	if err != nil {
		panic(err)
	}
	return client
}

// roundTrip returns the HTTP response of a reply.
func (r reply) roundTrip(req *http.Request) (*http.Response, error) {
	status, data := http.StatusOK, any(map[string]any{"orders": append([]types.Order{}, r.view.orders()...)})
	cancels := strings.HasSuffix(req.URL.Path, "/cancel")
	switch {
	case strings.Contains(req.URL.Path, "ticket"):
		data = map[string]any{"ticket": "ticket", "ttl": 31536000}
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

// Request returns the request of each Book.
func (w World) Request() *hotelstays.BookRequest { return request(w.Foreign) }

// request returns the request of each Book. If expect is true, Expect has the stay of the order.
func request(expect bool) *hotelstays.BookRequest {
	req := &hotelstays.BookRequest{SessionID: "session", RatePkgID: "offer", CustomerReferenceNo: reference,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}}}
	if own := orderOf(0, 1); expect {
		req.Expect = &types.RoomRatePkg{CheckIn: own.CheckIn, CheckOut: own.CheckOut}
	}
	return req
}
