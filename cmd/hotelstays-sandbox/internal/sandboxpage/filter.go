// The filter that a reader of the page sets, and the pages of a list.

package sandboxpage

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// noOrder is the value of filter.State that selects bookings without an order.
const noOrder = "no order"

// filter holds the search conditions and page numbers from the URL query of the page.
type filter struct {
	Reference          string // text that a reference or the number of an order must contain
	State              string // required state of the order, or noOrder
	Operation          string // required operation of a request
	Bookings, Requests int    // page number in the list of bookings, and page number in the list of requests
}

func newFilter(query url.Values) filter {
	f := filter{Reference: strings.TrimSpace(query.Get("reference")), State: query.Get("state"), Operation: query.Get("operation")}
	f.Bookings, _ = strconv.Atoi(query.Get("bookings"))
	f.Requests, _ = strconv.Atoi(query.Get("requests"))
	return f
}

// Any reports whether the filter has a condition.
func (f filter) Any() bool { return f.Reference != "" || f.State != "" || f.Operation != "" }

// Page returns the URL query that shows one page of a list, which is "bookings" or "requests".
func (f filter) Page(list string, page int) string {
	query := url.Values{list: {strconv.Itoa(page)}}
	for name, value := range map[string]string{"reference": f.Reference, "state": f.State, "operation": f.Operation} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "?" + query.Encode()
}

func (f filter) finds(text string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(f.Reference))
}

func (f filter) passes(b *booking) bool {
	state := noOrder
	found := f.finds(b.Reference)
	for _, o := range b.orders {
		found = found || f.finds(o.PlatformReferenceNo)
	}
	if len(b.orders) > 0 {
		state = b.orders[0].State
	}
	asked := f.Operation == "" || slices.ContainsFunc(b.requests, func(r *hotelstaystest.Request) bool { return string(r.Operation) == f.Operation })
	return found && asked && (f.State == "" || f.State == state)
}

func (f filter) passesRequest(r *hotelstaystest.Request) bool {
	return (f.Operation == "" || f.Operation == string(r.Operation)) &&
		(f.Reference == "" || slices.ContainsFunc(r.References, f.finds))
}

// pages holds the number of the shown page, the number of pages, and the number of all elements.
type pages struct {
	Page, Last, All int
}

// Newer returns the number of the page with newer elements, or 0 if no page is newer.
func (p pages) Newer() int { return p.Page - 1 }

func (p pages) Older() int {
	if p.Page == p.Last {
		return 0
	}
	return p.Page + 1
}

// pageOf returns the elements on one page of a list (all). If the page does not exist, pageOf uses the nearest page.
func pageOf[T any](all []T, page, size int) (shown []T, at pages) {
	at = pages{Last: max(1, (len(all)+size-1)/size), All: len(all)}
	at.Page = min(max(page, 1), at.Last)
	return all[(at.Page-1)*size : min(at.Page*size, len(all))], at
}
