// Package paging follows a listing page by page, and a tree level by level.
package paging

import (
	"context"
	"fmt"
	"hash/maphash"
	"iter"
	"sync"
)

// Info is what Pages must know about a fetched page.
type Info struct {
	IDs       []string
	More      *bool // whether another page follows; nil: the service did not say
	Total     int   // number of items of the whole listing; 0 if unknown
	LeftOut   bool  // whether IDs may lack some items of the service's page
	RequestID string
}

// maxEmpty is the maximum number of empty pages in a row.
const maxEmpty = 10

// EndlessError reports that a listing does not end: the service announces another page, but this page repeats an earlier
// page, or is the eleventh empty page in a row.
type EndlessError struct {
	Num       int
	Repeats   bool // true: the page repeats an earlier page; false: the page is the eleventh empty page in a row
	RequestID string
}

func (e *EndlessError) Error() string {
	return fmt.Sprintf("page %d is empty or repeats an earlier page (repeats: %t)", e.Num, e.Repeats)
}

// Fetch returns page number num.
type Fetch[P any] func(num int) (P, Info, error)

// Pages yields the pages of a listing from page number first on. A full page has size items. Pages fetches each page
// when the loop needs it. An error is yielded once and ends the iteration.
//
// Info.More decides whether another page follows. If Info.More is nil, Info.Total decides. Without More and Total, a
// page that is empty or repeats an earlier page ends the listing.
func Pages[P any](first, size int, fetch Fetch[P]) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		var none P
		seed := maphash.MakeSeed()
		seen := make(map[uint64]bool)
		empty := 0
		num := max(1, first)
		read, leftOut := (num-1)*size, false
		for ; ; num++ {
			page, info, err := fetch(num)
			print, repeats := fingerprint(seed, info.IDs), false
			if len(info.IDs) == 0 {
				empty++
			} else {
				empty, repeats, seen[print] = 0, seen[print], true
			}
			read, leftOut = read+len(info.IDs), leftOut || info.LeftOut
			var promised, more bool
			switch {
			case info.More != nil:
				promised, more = *info.More, *info.More
			case info.Total > 0 && (read >= info.Total || !leftOut):
				promised, more = read < info.Total, read < info.Total
			case repeats:
				return
			default:
				more = empty == 0
			}
			if err == nil && promised && (repeats || empty > maxEmpty) {
				err = &EndlessError{Num: num, Repeats: repeats, RequestID: info.RequestID}
			}
			if err != nil {
				yield(none, err)
				return
			}
			if !yield(page, nil) || !more {
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

// PagesAhead is like Pages, but fetches up to parallelism pages before the loop needs them. A page is fetched early
// only if it exists according to the Info.Total of an earlier page. PagesAhead returns once every fetch has ended.
func PagesAhead[P any](ctx context.Context, first, size, parallelism int,
	fetch func(context.Context, int) (P, Info, error)) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		a := ahead[P]{parallelism: parallelism, size: size, fetch: func(num int) (P, Info, error) { return fetch(ctx, num) }}
		defer a.calls.Wait()
		defer cancel()
		Pages(first, size, a.next)(yield)
	}
}

type ahead[P any] struct {
	parallelism int
	size        int
	fetch       Fetch[P]

	last   int               // number of the last page according to Total
	coming []chan fetched[P] // results of the next pages, in order
	calls  sync.WaitGroup
}

type fetched[P any] struct {
	page P
	info Info
	err  error
}

func (a *ahead[P]) next(num int) (P, Info, error) {
	for len(a.coming) == 0 || len(a.coming) < a.parallelism && num+len(a.coming) <= a.last {
		a.start(num + len(a.coming))
	}
	f := <-a.coming[0]
	a.coming = a.coming[1:]
	if f.err == nil {
		a.last = (f.info.Total + a.size - 1) / a.size
	}
	return f.page, f.info, f.err
}

func (a *ahead[P]) start(num int) {
	result := make(chan fetched[P], 1) // the buffer lets the fetch end before anybody reads the result
	a.coming = append(a.coming, result)
	a.calls.Go(func() {
		var f fetched[P]
		f.page, f.info, f.err = a.fetch(num)
		result <- f
	})
}
