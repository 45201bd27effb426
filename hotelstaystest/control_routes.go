// The routes of the control API.

package hotelstaystest

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

var controlRoutes = []controlRoute{
	{"GET", healthPath, nil, getHealth},
	{"GET", "/_sandbox/openapi.json", nil, getOpenAPI},
	{"GET", "/_sandbox/catalog", []string{"limit"}, getCatalog},
	{"GET", "/_sandbox/ledger", nil, getLedger},

	{"GET", "/_sandbox/events", []string{"after"}, getEvents},
	{"GET", "/_sandbox/requests", []string{"operation", "traceId", "reference", "after", "limit"}, getRequests},

	{"GET", "/_sandbox/faults", nil, getFaults},
	{"POST", "/_sandbox/faults", nil, input(postFault)},
	{"DELETE", "/_sandbox/faults", nil, do((*Server).ClearFaults)},
	{"DELETE", "/_sandbox/faults/{id}", nil, action(deleteFault)},

	{"GET", "/_sandbox/orders", []string{"limit"}, getOrders},
	{"GET", "/_sandbox/orders/{reference}", nil, getOrder},
	{"POST", "/_sandbox/orders/{reference}/status", nil, input(postStatus)},
	{"POST", "/_sandbox/orders/{reference}/confirm", nil, onOrder((*Server).confirmOrder)},
	{"POST", "/_sandbox/orders/{reference}/cancel", nil, onOrder((*Server).cancelOrder)},
	{"POST", "/_sandbox/orders/{reference}/amend", nil, onOrder((*Server).amendOrder)},
	{"POST", "/_sandbox/orders/{reference}/cancel-rule", nil, input(postCancelRule)},
	{"POST", "/_sandbox/orders/{reference}/voucher/fail", nil, onOrder((*Server).failVoucher)},
	{"POST", "/_sandbox/orders/{reference}/voucher/regenerate", nil, onOrder((*Server).regenerateVoucher)},
	{"POST", "/_sandbox/orders/{reference}/webhooks", nil, input(postWebhook)},

	{"POST", "/_sandbox/offers/price", nil, input(postPrice)},
	{"POST", "/_sandbox/offers/close", nil, input(postClose)},
	{"POST", "/_sandbox/sessions/expire", nil, do((*Server).ExpireSessions)},
	{"POST", "/_sandbox/tokens/revoke", nil, do((*Server).RevokeTokens)},

	{"GET", "/_sandbox/webhooks", []string{"reference", "limit"}, getWebhooks},
	{"POST", "/_sandbox/webhooks/{eventId}/redeliver", nil, action(redeliver)},

	{"GET", "/_sandbox/clock", nil, getClock},
	{"POST", "/_sandbox/clock", nil, input(postClock)},
	{"POST", "/_sandbox/reset", nil, do((*Server).Reset)},
}

func getHealth(*controlCall) (any, error) { return map[string]string{"status": "ok"}, nil }

type controlCity struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func getCatalog(c *controlCall) (any, error) {
	count, limit := c.s.CityCount(), c.numbers["limit"]
	cities := []controlCity{}
	for i := range min(count, limit) {
		cities = append(cities, controlCity{c.s.CityID(i), c.s.CityName(i)})
	}
	return map[string]any{
		"cityCount": count, "hotelCount": c.s.HotelCount(), "cities": cities, "hotelIds": c.s.HotelIDs(limit),
	}, nil
}

func getLedger(c *controlCall) (any, error) {
	l := c.s.ledger
	counts, limited := l.counted()
	return map[string]any{
		"requests": l.Count(""), "counts": counts, "rateLimited": limited, // in counts, the key "" is for unknown paths
		"ticketsIssued": l.TicketsIssued(), "tokensIssued": l.TokensIssued(), "orders": c.s.orders.count(),
		"bookingsReused": l.BookingsReused(), "duplicatesRefused": l.DuplicatesRefused(),
		"cancellations": append([]LedgerCancellation{}, l.Cancellations()...), "dropped": l.Dropped(),
	}, nil
}

// getRequests returns the requests whose numbers are above the query parameter "after". Without this parameter it
// returns the last requests.
func getRequests(c *controlCall) (any, error) {
	after, limit := int64(c.numbers["after"]), c.numbers["limit"]
	found := slices.DeleteFunc(c.s.ledger.kept(), func(r *Request) bool { return r.Seq <= after || !c.wants(r) })
	if after < 0 {
		found = found[max(0, len(found)-limit):]
	}
	out := []journalRequest{}
	for _, r := range found[:min(limit, len(found))] {
		out = append(out, journalRequest{*r, r.Header, r.Body, r.Answer})
	}
	return map[string]any{"requests": out, "dropped": c.s.ledger.Dropped()}, nil
}

func (c *controlCall) wants(r *Request) bool {
	operation, traceID, reference := c.query["operation"], c.query["traceId"], c.query["reference"]
	return (operation == "" || string(r.Operation) == operation) && (traceID == "" || r.TraceID == traceID) &&
		(reference == "" || slices.Contains(r.References, reference))
}

func getFaults(c *controlCall) (any, error) {
	out := []waitingFault{}
	for _, f := range c.s.faults.all() {
		out = append(out, waitingFault{f.id, newControlFault(f.Fault)})
	}
	return map[string]any{"faults": out}, nil
}

func postFault(c *controlCall, req *controlFault) (any, error) {
	added, err := c.s.inject(req.fault())
	if err != nil {
		return nil, err
	}
	return waitingFault{added.id, newControlFault(added.Fault)}, nil
}

func deleteFault(c *controlCall) (any, error) {
	id, err := strconv.Atoi(c.PathValue("id"))
	if err != nil || c.s.removeFaults(func(f injectedFault) bool { return f.id == id }) == 0 {
		return nil, refuse(http.StatusNotFound, "id", "no fault %q is waiting; it was unknown, removed or used up", c.PathValue("id"))
	}
	return nil, nil
}

// getOrders returns the last orders, oldest first.
func getOrders(c *controlCall) (any, error) {
	now := c.s.lock()
	defer c.s.unlock()
	list := c.s.orders.list
	out := []orderDetails{}
	for _, o := range list[max(0, len(list)-c.numbers["limit"]):] {
		out = append(out, c.s.orderDetails(o, now))
	}
	return map[string]any{"orders": out, "total": len(list)}, nil
}

func getOrder(c *controlCall) (any, error) {
	var out orderDetails
	err := c.s.withOrder(c.PathValue("reference"), func(o *order, now time.Time) error {
		out = c.s.orderDetails(o, now)
		return nil
	})
	return out, err
}

// changed returns the order after a change, or the error of the change.
func (c *controlCall) changed(err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return getOrder(c)
}

// onOrder returns a route's function. This function calls change with the reference in the path, and returns the changed
// order.
func onOrder(change func(s *Server, reference string) error) func(*controlCall) (any, error) {
	return action(func(c *controlCall) (any, error) { return c.changed(change(c.s, c.PathValue("reference"))) })
}

func postStatus(c *controlCall, req *struct {
	Status *types.OrderStatus `json:"status"`
}) (any, error) {
	if req.Status == nil {
		return nil, badField("status", "status is required")
	}
	return c.changed(c.s.setOrderStatus(c.PathValue("reference"), *req.Status))
}

func (s *Server) confirmOrder(reference string) error {
	return s.setOrderStatus(reference, s.cfg.Variants.OrderStatusNumbers.Confirmed)
}

func (s *Server) cancelOrder(reference string) error {
	return s.setOrderStatus(reference, s.cfg.Variants.OrderStatusNumbers.Cancelled)
}

func postCancelRule(c *controlCall, req *struct {
	Rule CancelRule `json:"rule"`
}) (any, error) {
	return c.changed(c.s.setCancelRule(c.PathValue("reference"), req.Rule))
}

func postWebhook(c *controlCall, req *struct {
	Event types.EventKind `json:"event"`
}) (any, error) {
	return nil, c.s.sendWebhook(c.PathValue("reference"), req.Event)
}

func postPrice(c *controlCall, req *struct {
	RatePkgID string `json:"ratePkgId"`
	Percent   *int   `json:"percent"`
}) (any, error) {
	if req.Percent == nil {
		return nil, badField("percent", "percent is required")
	}
	return nil, c.s.moveRate(req.RatePkgID, *req.Percent)
}

func postClose(c *controlCall, req *struct {
	RatePkgID string `json:"ratePkgId"`
}) (any, error) {
	return nil, c.s.closeRate(req.RatePkgID)
}

// getWebhooks returns the last webhooks, oldest first.
func getWebhooks(c *controlCall) (any, error) {
	reference := c.query["reference"]
	found := c.s.ledger.webhooksOf(func(w *Webhook) bool {
		return reference == "" || w.CustomerReferenceNo == reference || w.PlatformReferenceNo == reference
	})
	last := found[max(0, len(found)-c.numbers["limit"]):]
	return map[string]any{"webhooks": append([]Webhook{}, last...), "total": len(found)}, nil
}

func redeliver(c *controlCall) (any, error) { return nil, c.s.redeliverWebhook(c.PathValue("eventId")) }

func getClock(c *controlCall) (any, error) {
	return controlClock{Now: c.s.Now(), Offset: duration(c.s.clock.offset.Load())}, nil
}

func postClock(c *controlCall, req *struct {
	Advance *duration `json:"advance"`
}) (any, error) {
	if req.Advance == nil {
		return nil, badField("advance", "advance is required; send a duration such as 10m")
	}
	if err := c.s.advance(time.Duration(*req.Advance)); err != nil {
		return nil, err
	}
	return getClock(c)
}

func getEvents(c *controlCall) (any, error) {
	after := int64(c.numbers["after"])
	if id := c.Header.Get("Last-Event-ID"); id != "" {
		var err error
		if after, err = strconv.ParseInt(id, 10, 64); err != nil || after < 0 {
			return nil, badField("Last-Event-ID", "Last-Event-ID must be the id of an event, not %q", id)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.s.stream(w, r, after) }), nil
}
