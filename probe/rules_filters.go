// Rules of the filters of QueryOrders: an order comes when it is in a filter, and does not when it is not.

package probe

import (
	"fmt"
	"time"
)

// filter is a member of QueryOrders.
type filter struct {
	name, member, promise string
	// values are those that an order is in, and those that it is not in. Which form they have is open: there is one for each.
	values func(*run) (of *booked, in []any, out [][]any)
}

// unfit is a window in which no order can be, in all forms of its bounds.
var unfit = bounds(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC))

// window is a filter by a time. A zero time is not known.
func window(of *booked, t time.Time) (_ *booked, in []any, out [][]any) {
	for i, early := range bounds(t.Add(-36 * time.Hour)) {
		late := bounds(t.Add(36 * time.Hour))[i]
		in, out = append(in, obj{"start": early, "end": late}), append(out, []any{obj{"start": unfit[i], "end": unfit[i]}})
		if t.IsZero() {
			in[i] = nil
		} else {
			out[i] = append(out[i], obj{"end": early}, obj{"start": late})
		}
	}
	return of, in, out
}

// referenced is a filter by references.
func referenced(of *booked, name string) (_ *booked, in []any, out [][]any) {
	return of, []any{[]string{unknownReference, name}}, [][]any{{[]string{unknownReference}}}
}

var filterRules = func() (all []Rule) {
	for _, f := range []filter{
		{"order/references", "customerReferenceNos", "each of customerReferenceNos finds its order, and no other", func(r *run) (*booked,
			[]any, [][]any) {
			return referenced(r.order(), r.order().entry.reference())
		}},
		{"order/supplier-references", "supplierReferenceNos", "each of supplierReferenceNos finds its order, and no other",
			func(r *run) (*booked, []any, [][]any) {
				name := r.known(r.order()).SupplierReferenceNo
				skip(name == "", "the order has no supplierReferenceNo yet")
				return referenced(r.order(), name)
			}},
		{"order/check-in", "checkInTimeWindow", "checkInTimeWindow has the orders of its range", func(r *run) (*booked, []any, [][]any) {
			t, _ := r.known(r.order()).CheckIn.Time() // what cannot be read is zero
			return window(r.order(), t)
		}},
		{"order/check-out", "checkOutTimeWindow", "checkOutTimeWindow has the orders of its range", func(r *run) (*booked, []any, [][]any) {
			t, _ := r.known(r.order()).CheckOut.Time()
			return window(r.order(), t)
		}},
		{"order/booking-time", "bookingTimeWindow", "bookingTimeWindow has the orders of its range", func(r *run) (*booked, []any, [][]any) {
			return window(r.order(), r.order().entry.Made)
		}},
		{"order/free-cancel", "freeCancelTimeWindow", "freeCancelTimeWindow leaves out an order outside its range", func(r *run) (*booked,
			[]any, [][]any) {
			return window(r.order(), time.Time{})
		}},
		{"order/status-list", "statusList", "statusList has the orders of its statuses", func(r *run) (*booked, []any, [][]any) {
			is := r.known(r.order()).Status
			other := (is + 1) % 6
			return r.order(), []any{[]any{is}, []any{fmt.Sprint(is)}}, [][]any{{[]any{other}}, {[]any{fmt.Sprint(other)}}}
		}},
		{"order/cancel-time", "cancelledTimeWindow", "cancelledTimeWindow has the cancelled orders of its range", func(r *run) (*booked,
			[]any, [][]any) {
			return window(r.ended().booked, r.ended().at)
		}},
	} {
		all = append(all, Rule{f.name, "QueryOrders", f.promise, "-book", f.try})
	}
	return all
}()

func (f filter) try(r *run) {
	of, in, out := f.values(r)
	// finds reports whether an answer has the order.
	finds := func(body obj) (there, taken bool) {
		a := r.get(opQueryOrders, body)
		if a.allowed(); !a.succeeded() {
			return false, false
		}
		return of.among(a) != nil, true
	}
	reference := obj{"customerReferenceNos": []string{of.entry.reference()}}
	ignored := any(nil)
	for i := range out {
		there, taken := finds(obj{f.member: out[i][0]})
		if there {
			ignored = out[i][0]
		}
		if there || !taken {
			continue // of this form
		}
		r.find("accepted: %v", out[i][0])
		for _, other := range out[i][1:] {
			there, _ = finds(obj{f.member: other})
			breaks(there, "%s %v returns an order outside it", f.member, other)
		}
		beside := obj{"customerReferenceNos": reference["customerReferenceNos"], f.member: in[i]}
		if in[i] != nil {
			there, taken = finds(beside)
			breaks(taken && !there, "%s %v leaves out an order inside it", f.member, in[i])
		}
		if beside[f.member] = out[i][0]; f.member != "customerReferenceNos" {
			there, _ = finds(beside)
			r.suffers(there, "beside customerReferenceNos an order comes that is outside %s", f.member)
		}
		return
	}
	skip(ignored == nil, "the service accepts no form of %s that is tried", f.member)
	breaks(true, "%s %v returns an order outside it", f.member, ignored)
}
