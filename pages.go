// Pages: the one walk behind every iterator over pages.

package hotelstays

import (
	"fmt"
	"hash/maphash"
	"iter"
)

// PageError reports a listing that cannot be followed to its end: a page that is
// empty or that came before while the service promises more. What was yielded is
// good, and it is not all.
type PageError struct {
	Operation Operation
	PageNum   int
	// Repeats tells a page that came before from an empty one.
	Repeats   bool
	RequestID string
}

// Error says which page, and that the listing is not complete.
func (e *PageError) Error() string {
	what := "is empty"
	if e.Repeats {
		what = "repeats an earlier one"
	}
	return fmt.Sprintf("hotelstays: %s: page %d %s although more was promised (request id %s): the listing is incomplete; start it again from page 1",
		e.Operation, e.PageNum, what, e.RequestID)
}

// page is a response that is one page of a listing.
type page interface {
	hasMore() bool
	ids() []string // of its items, to tell pages apart
	requestID() string
}

func (r *HotelsMetadataResponse) requestID() string { return r.Meta.RequestID }
func (r *HotelListResponse) requestID() string      { return r.Meta.RequestID }

// pageWalk is where a walk begins.
type pageWalk struct {
	op      Operation
	cursor  *int64
	pageNum int
}

// pages yields page after page by number, from the first on, for no response is
// shown to carry a cursor. An error is yielded once and ends the walk.
func pages[P page](w pageWalk, fetch func(num int) (P, error)) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		var none P
		if w.cursor != nil {
			yield(none, &ValidationError{Operation: w.op, Fields: faults{{"cursor", "is set; an iterator advances by page number"}}})
			return
		}
		seed := maphash.MakeSeed()
		seen := make(map[uint64]bool)
		for num := max(1, w.pageNum); ; num++ {
			resp, err := fetch(num)
			if err != nil {
				yield(none, err)
				return
			}
			ids := resp.ids()
			print := fingerprint(seed, ids)
			if resp.hasMore() && (len(ids) == 0 || seen[print]) {
				yield(none, &PageError{Operation: w.op, PageNum: num, Repeats: len(ids) > 0, RequestID: resp.requestID()})
				return
			}
			seen[print] = true
			if !yield(resp, nil) || !resp.hasMore() {
				return
			}
		}
	}
}

func fingerprint(seed maphash.Seed, ids []string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, id := range ids {
		h.WriteString(id)
		h.WriteByte(0)
	}
	return h.Sum64()
}

func nilRequest(op Operation) error {
	return &ValidationError{Operation: op, Fields: faults{{"request", "is nil"}}}
}
