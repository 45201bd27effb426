// HotelListBatches: searching any number of hotels, in parallel batches.

package hotelstays

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/hotelstays/hotelstays-go/internal/clone"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// defaultBatchSize is the default of WithBatchSize. A batch of this size fits into one page, and the service accepts
	// it also from an account with a visibility band.
	defaultBatchSize        = types.MaxHotelIDsBand
	defaultBatchParallelism = 8
)

// BatchError reports a batch that failed. The other batches continue.
type BatchError struct {
	// HotelIDs are the ids of the batch. The pages that this batch got before the error were yielded.
	HotelIDs []string
	Err      error
}

// Error returns the number of hotels and the cause.
func (e *BatchError) Error() string {
	return fmt.Sprintf("hotelstays: a batch of %d hotels failed: %s", len(e.HotelIDs), strings.TrimPrefix(fmt.Sprint(e.Err), "hotelstays: "))
}

// Unwrap returns Err.
func (e *BatchError) Unwrap() error { return e.Err }

func (*BatchError) kind() ErrorKind  { return KindBatch }
func (*BatchError) details() details { return details{} } // Err has the details

// LogValue returns attributes for slog: the kind, the text, and the details of Err.
func (e *BatchError) LogValue() slog.Value { return logValue(e) }

// HotelListBatches searches any number of req.HotelIDs in parallel batches, and yields the pages as they arrive. The offers
// of a page belong to the session of that page. PageNum and Cursor must not be set. By default a page holds a whole batch, at
// most types.MaxListPageSize hotels.
//
// A batch that fails yields a *BatchError with its ids. The other batches continue until ctx ends, or you leave the loop.
func (c *Client) HotelListBatches(ctx context.Context, req *HotelListRequest, opts ...CallOption) iter.Seq2[*HotelListResponse, error] {
	set := c.collect("HotelListBatches", operations[OpHotelList], opts)
	set.BatchSize = cmp.Or(set.BatchSize, defaultBatchSize)
	set.Parallelism = cmp.Or(set.Parallelism, defaultBatchParallelism)
	var ids []string
	if req = clone.Of(req); req != nil {
		ids = req.HotelIDs
		if len(ids) == 0 {
			set.faults.add("hotelIds", "is required by HotelListBatches")
		}
		set.faults.hotelIDs(ids)
		if req.PageNum != 0 || req.Cursor != nil {
			set.faults.add("pageNum", "and cursor must not be set, because every batch has its own pages")
		}
		req.HotelIDs = []string{"any"} // any valid id, because the real ids are checked above
		req.PageSize = cmp.Or(req.PageSize, types.MaxListPageSize)
	}
	if err := checkCall(ctx, c, OpHotelList, req, set); err != nil {
		return failedSeq[*HotelListResponse](err)
	}
	return helpedAll(ctx, c, "HotelListBatches", func(ctx context.Context) iter.Seq2[*HotelListResponse, error] {
		return c.batches(ctx, *req, ids, set)
	})
}

type batchPage struct {
	resp *HotelListResponse
	err  error
}

func (c *Client) batches(ctx context.Context, req HotelListRequest, ids []string, set settings) iter.Seq2[*HotelListResponse, error] {
	return func(yield func(*HotelListResponse, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		pages := make(chan batchPage)
		go func() {
			defer close(pages)
			var batches sync.WaitGroup
			defer batches.Wait()
			underWay := make(chan struct{}, set.Parallelism)
			for batch := range slices.Chunk(ids, set.BatchSize) {
				underWay <- struct{}{}
				batches.Go(func() {
					if err := c.batch(ctx, req, batch, set, pages); err != nil {
						pages <- batchPage{nil, &BatchError{HotelIDs: batch, Err: err}}
					}
					<-underWay
				})
			}
		}()
		defer func() { // runs even if the caller leaves the loop
			cancel()
			for range pages {
			}
		}()
		for p := range pages {
			if !yield(p.resp, p.err) {
				return
			}
		}
	}
}

// batch searches one batch. An error ends only this batch.
func (c *Client) batch(ctx context.Context, req HotelListRequest, ids []string, set settings, pages chan<- batchPage) (err error) {
	defer transport.Recovered(&err, c.log, string(OpHotelList))
	req.HotelIDs = ids
	for resp, err := range c.pages(ctx, req, set) {
		if err != nil {
			return err
		}
		pages <- batchPage{resp: resp}
	}
	return nil
}
