// Walks over pages.

package probe

import (
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go"
)

// walk is a walk over pages. The judge has the order, and what hasMore and total say.
type walk struct {
	name, section, promise string
	op                     operation
	size, other            int // sizes of pages: a walk in each; 0: none
	by                     string
}

// longest is how many pages a walk has at most.
const longest = 12

var walks = func() (all []Rule) {
	for _, w := range []walk{
		{"metadata/pages", "HotelsMetadata",
			"pages do not repeat each other, hasMore says whether one follows, and pages of another size have the same hotels",
			opHotelsMetadata, 7, 20, ""},
		{"list/pages", "HotelList", "pages do not repeat each other, and hasMore says whether one follows", opHotelList, 7, 20, ""},
		{"list/price-asc", "HotelList", "the cheapest hotel comes first, on all pages", opHotelList, 20, 0, "price-asc"},
		{"list/price-desc", "HotelList", "the cheapest hotel comes last, on all pages", opHotelList, 20, 0, "price-desc"},
		{"list/rating-desc", "HotelList", "the best rating comes first, on all pages", opHotelList, 20, 0, "rating-desc"},
	} {
		all = append(all, Rule{w.name, w.section, w.promise, "", w.try})
	}
	return all
}()

func (w walk) try(r *run) {
	one, whole := w.pages(r, w.size)
	if w.other == 0 {
		return
	}
	other, same := w.pages(r, w.other)
	if slices.Sort(one); whole && same {
		slices.Sort(other)
		breaks(w.op == opHotelsMetadata && !slices.Equal(one, other), "pages of %d have %d hotels, and pages of %d have %d, or others", w.size,
			len(one), w.other, len(other))
	}
	skip(len(one) <= w.size, "there is one page")
}

// pages returns the hotels of all pages of a size, and whether these are all, because no page but the last had room.
func (w walk) pages(r *run, size int) (all []string, whole bool) {
	before, session, full := map[string]int{}, "", true
	for num := 1; num <= longest; num++ {
		p := r.page(w, size, num, &session)
		for _, id := range p.ids {
			breaks(before[id] > 0 && w.by == "" && strings.TrimSpace(id) != "", "page %d repeats hotel %s of page %d", num, id, before[id])
			before[id] = num
		}
		r.suffers(w.by == "" && num > 1 && len(p.ids) == 0, "hasMore of page %d is set, and page %d is empty", num-1, num)
		all = append(all, p.ids...)
		r.find("totals: %t; the pages share a session: %t", p.total != 0, p.shared)
		r.log = r.log[max(0, len(r.log)-4):] // the others are no evidence
		if !p.hasMore {
			n := len(r.page(w, size, num+1, &session).ids)
			breaks(n > 0, "hasMore of page %d is not set, and page %d has %d hotels", num, num+1, n)
			breaks(full && w.by == "" && p.total > len(all), "total is %d, and all pages together have %d hotels", p.total, len(all))
			return all, full
		}
		full = full && len(p.ids) == size
	}
	return all, false
}

// page is one of a search or of the catalogue.
type page struct {
	total           int
	hasMore, shared bool // shared: its session is that of the page before
	ids             []string
}

func (r *run) page(w walk, size, num int, session *string) page {
	body := obj{"pageSize": size, "pageNum": num}
	if w.op == opHotelsMetadata {
		a := r.metadata(body)
		is := read[hotelstays.HotelsMetadataResponse](a).Page
		return page{is.Total, said(is.HasMore), true, hotelIDs(a)}
	}
	c := call{op: opHotelList, session: *session, body: r.stayIn(body)}
	if r.apply(&c, obj{"maxRatesPerHotel": 1}); w.by != "" {
		r.apply(&c, obj{"sortBy": w.by})
	}
	a := r.do(c)
	resp, before := read[hotelstays.HotelListResponse](a), *session
	*session = resp.Basic.SessionID
	return page{resp.Total, said(resp.HasMore), before == *session, ids(resp.List, hotelID)}
}

// said reports whether a page says that another one follows.
func said(hasMore *bool) bool { return hasMore != nil && *hasMore }
