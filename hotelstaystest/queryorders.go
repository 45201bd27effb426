// The QueryOrders operation.

package hotelstaystest

import (
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

type timeWindow struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

type queryOrdersRequest struct {
	CustomerReferenceNos []string            `json:"customerReferenceNos"`
	SupplierReferenceNos []string            `json:"supplierReferenceNos"`
	CheckInTimeWindow    *timeWindow         `json:"checkInTimeWindow"`
	CheckOutTimeWindow   *timeWindow         `json:"checkOutTimeWindow"`
	BookingTimeWindow    *timeWindow         `json:"bookingTimeWindow"`
	FreeCancelTimeWindow *timeWindow         `json:"freeCancelTimeWindow"`
	CancelledTimeWindow  *timeWindow         `json:"cancelledTimeWindow"`
	StatusList           []types.OrderStatus `json:"statusList"`
}

type queryOrdersResponse struct {
	Orders []*orderBody `json:"orders"`
}

func runQueryOrders(s *Server, c *call, req *queryOrdersRequest) (*queryOrdersResponse, error) {
	keep, err := orderFilter(req)
	if err != nil {
		return nil, err
	}
	now := s.lock()
	defer s.unlock()
	resp := new(queryOrdersResponse)
	if !s.cfg.Variants.NullOrders {
		resp.Orders = []*orderBody{}
	}
	for _, o := range s.orders.candidates(c.account, req.CustomerReferenceNos) {
		if o.account != c.account || now.Before(o.visible) || !keep(o) {
			continue
		}
		b := s.orderBody(o)
		if b.Holder.Phone != nil { // the API document allows an order without countryNumber, so a client must accept its absence
			p := *b.Holder.Phone
			p.CountryNumber = 0
			b.Holder.Phone = &p
		}
		resp.Orders = append(resp.Orders, b)
	}
	return resp, nil
}

// candidates returns the orders that the filters still have to check, oldest first: the orders with these customer
// references, or all orders.
func (st *orderStore) candidates(account string, customerRefs []string) []*order {
	if len(customerRefs) == 0 {
		return st.list
	}
	var out []*order
	for _, ref := range customerRefs {
		if o := st.byReference(account, ref); o != nil && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	// The orders are sorted by number, because under testing/synctest several orders may have the same time.
	slices.SortFunc(out, func(a, b *order) int { return strings.Compare(a.platformRef, b.platformRef) })
	return out
}

func orderFilter(req *queryOrdersRequest) (func(*order) bool, error) {
	for i, status := range req.StatusList {
		if status < 0 || status > 5 {
			return nil, badRequest("statusList[%d] must be between 0 and 5, not %d", i, status)
		}
	}
	windows := []struct {
		field string
		w     *timeWindow
		value func(*order) time.Time
	}{
		{"checkInTimeWindow", req.CheckInTimeWindow, func(o *order) time.Time { return o.offer.checkIn }},
		{"checkOutTimeWindow", req.CheckOutTimeWindow, func(o *order) time.Time { return o.offer.checkOut() }},
		{"bookingTimeWindow", req.BookingTimeWindow, func(o *order) time.Time { return o.created }},
		{"freeCancelTimeWindow", req.FreeCancelTimeWindow, func(o *order) time.Time { return o.freeUntil() }},
		{"cancelledTimeWindow", req.CancelledTimeWindow, func(o *order) time.Time { return o.cancelled }},
	}
	var tests []func(*order) bool
	for _, w := range windows {
		if w.w == nil {
			continue
		}
		inside, err := w.w.contains(w.field)
		if err != nil {
			return nil, err
		}
		tests = append(tests, func(o *order) bool { return inside(w.value(o)) })
	}
	return func(o *order) bool {
		return (len(req.CustomerReferenceNos) == 0 || slices.Contains(req.CustomerReferenceNos, o.customerRef)) &&
			(len(req.SupplierReferenceNos) == 0 || slices.Contains(req.SupplierReferenceNos, o.supplierRef)) &&
			(len(req.StatusList) == 0 || slices.Contains(req.StatusList, o.status())) &&
			!slices.ContainsFunc(tests, func(test func(*order) bool) bool { return !test(o) })
	}, nil
}

// freeUntil returns the end of free cancellation, or the zero time.
func (o *order) freeUntil() time.Time {
	if o.offer.refundMode() != "full" {
		return time.Time{}
	}
	return o.offer.deadline()
}

// contains returns a function that reports whether a time is inside the window. A zero time is outside every window.
func (w *timeWindow) contains(field string) (func(time.Time) bool, error) {
	start, _, err := readBound(field+".start", w.Start)
	if err != nil {
		return nil, err
	}
	end, wholeDay, err := readBound(field+".end", w.End)
	if err != nil {
		return nil, err
	}
	if wholeDay {
		end = end.AddDate(0, 0, 1).Add(-1)
	}
	return func(t time.Time) bool {
		return !t.IsZero() && (w.Start == "" || !t.Before(start)) && (w.End == "" || !t.After(end))
	}, nil
}

func readBound(field, text string) (t time.Time, date bool, err error) {
	if text == "" {
		return time.Time{}, false, nil
	}
	if t, err = time.Parse(dateForm, text); err == nil {
		return t, true, nil
	}
	if t, err = time.Parse(time.RFC3339, text); err == nil {
		return t, false, nil
	}
	return time.Time{}, false, badRequest("%s must be YYYY-MM-DD or an RFC 3339 time, not %q", field, text)
}
