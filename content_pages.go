// All hotels of a destination, page by page, with pages under way ahead of the
// one that is read.

package hotelstays

import (
	"context"
	"iter"
	"sync"

	"github.com/hotelstays/hotelstays-go/types"
)

// HotelsMetadataAll yields every hotel of a destination in the order of the
// service, from req's page on. Without a page size it takes the largest. An error
// is yielded once and ends it; a page that is empty or repeats while more are
// promised is a *PageError.
//
// By default it asks for a page when the loop has read the one before.
// WithParallelism(n) keeps up to n pages under way or unread, in the same order,
// once an answer's total has told that they exist; a service that does not tell
// totals is still asked page by page. Whether there is a next page is decided by
// the page before, never by the total. Leaving the loop stops the calls that are
// under way.
func (c *Client) HotelsMetadataAll(ctx context.Context, req *HotelsMetadataRequest, opts ...CallOption) iter.Seq2[*types.HotelMetadata, error] {
	if req == nil {
		return func(yield func(*types.HotelMetadata, error) bool) { yield(nil, nilRequest(OpHotelsMetadata)) }
	}
	request, first := *req, types.PageReq{}
	if req.Page != nil {
		first = *req.Page
	}
	if first.PageSize == 0 {
		first.PageSize = MaxMetadataPageSize
	}
	parallelism, opts := takeParallelism(opts)
	return func(yield func(*types.HotelMetadata, error) bool) {
		if err := c.usable(ctx, OpHotelsMetadata); err != nil {
			yield(nil, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		ahead := &pagesAhead{parallelism: parallelism, size: first.PageSize, fetch: func(num int) (p metadataPage) {
			defer recovered(&p.err, string(OpHotelsMetadata))
			page, next := first, request
			page.PageNum, next.Page = num, &page
			p.resp, p.err = c.HotelsMetadata(ctx, &next, opts...)
			return p
		}}
		defer ahead.calls.Wait()
		defer cancel()
		walk := pageWalk{op: OpHotelsMetadata, cursor: first.Cursor, pageNum: first.PageNum}
		for resp, err := range pages(walk, ahead.page) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range resp.HotelsMetadata {
				if !yield(&resp.HotelsMetadata[i], nil) {
					return
				}
			}
		}
	}
}

func (r *HotelsMetadataResponse) hasMore() bool { return r.Page.HasMore }

func (r *HotelsMetadataResponse) ids() []string {
	ids := make([]string, len(r.HotelsMetadata))
	for i, h := range r.HotelsMetadata {
		ids[i] = h.HotelID + "\x00" + h.PlatformHotelID
	}
	return ids
}

// metadataPage is a page, or the error in its place.
type metadataPage struct {
	resp *HotelsMetadataResponse
	err  error
}

// pagesAhead fetches pages that are asked for one after the other, some of them
// before they are asked for.
type pagesAhead struct {
	parallelism int
	size        int // of a page
	fetch       func(num int) metadataPage

	last   int                 // the last page by the total of the page before
	coming []chan metadataPage // under way or unread: the next page, and those after it
	calls  sync.WaitGroup
}

// page returns the next page, whose number is num.
func (a *pagesAhead) page(num int) (*HotelsMetadataResponse, error) {
	for len(a.coming) == 0 || len(a.coming) < a.parallelism && num+len(a.coming) <= a.last {
		a.start(num + len(a.coming))
	}
	p := <-a.coming[0]
	a.coming = a.coming[1:]
	if p.err == nil {
		a.last = (p.resp.Page.Total + a.size - 1) / a.size
	}
	return p.resp, p.err
}

func (a *pagesAhead) start(num int) {
	p := make(chan metadataPage, 1) // the call does not wait for the page to be read
	a.coming = append(a.coming, p)
	a.calls.Go(func() { p <- a.fetch(num) })
}
