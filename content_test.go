// The iterators over destinations and hotel metadata, and rules of all iterators.

package hotelstays_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func collect[V any](seq iter.Seq2[V, error]) (values []V, errs []error) {
	for v, err := range seq {
		if err != nil {
			errs = append(errs, err)
		} else {
			values = append(values, v)
		}
	}
	return values, errs
}

func TestWalkDestinationsYieldsEachPlaceOnce(t *testing.T) {
	for _, tc := range []struct {
		name    string
		catalog hotelstaystest.Catalog
		req     hotelstays.DestinationsRequest
		places  int
	}{
		{"the whole tree", hotelstaystest.Catalog{}, hotelstays.DestinationsRequest{}, 3 + 6 + 24},
		{"with empty cities", hotelstaystest.Catalog{}, hotelstays.DestinationsRequest{FilterEmptyCities: new(false), MinHotelCount: new(0)},
			3 + 6 + 30},
		{"a country", hotelstaystest.Catalog{}, hotelstays.DestinationsRequest{CountryCode: "CN"}, 2 + 8},
		{"a country and the parent that it overrides", hotelstaystest.Catalog{},
			hotelstays.DestinationsRequest{CountryCode: "CN", ParentDestinationID: "x"}, 2 + 8},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			srv, client := newSandbox(t, hotelstaystest.Config{Catalog: tc.catalog})
			given := tc.req
			walk := client.WalkDestinations(t.Context(), &given)
			assert.Zero(t, srv.Ledger().Count(""), "no request is sent before the loop")
			places, errs := collect(walk)
			assert.Empty(t, errs)
			assert.Len(t, places, tc.places)
			assert.Equal(t, tc.req, given, "the caller's request is not changed")
			assert.Equal(t, tc.places+1, srv.Ledger().Count(hotelstays.OpDestinations), "one call for the root and one for each place")

			seen := map[string]bool{}
			for _, place := range places {
				assert.False(t, seen[place.ID], "the place comes only once")
				seen[place.ID] = true
				if tc.req.CountryCode != "" {
					assert.Equal(t, tc.req.CountryCode, place.CountryCode)
				}
				if place.Type == types.DestinationCity {
					assert.True(t, seen[place.ParentDestinationID], "parents come first")
				}
			}
			again, _ := collect(walk)
			assert.Equal(t, places, again, "a second loop walks again")

			parallel, errs := collect(client.WalkDestinations(t.Context(), &given, hotelstays.WithParallelism(7)))
			assert.Empty(t, errs)
			assert.ElementsMatch(t, places, parallel)
		})
	}
}

var lists = map[hotelstays.Operation]func(context.Context, *hotelstaystest.Server, *hotelstays.Client) iter.Seq2[any, error]{
	hotelstays.OpDestinations: func(ctx context.Context, _ *hotelstaystest.Server, c *hotelstays.Client) iter.Seq2[any, error] {
		return untyped(c.WalkDestinations(ctx, &hotelstays.DestinationsRequest{}))
	},
	hotelstays.OpHotelsMetadata: func(ctx context.Context, srv *hotelstaystest.Server, c *hotelstays.Client) iter.Seq2[any, error] {
		return untyped(c.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{
			DestinationID: srv.CityID(0), Page: &types.PageReq{PageSize: 4}}))
	},
	hotelstays.OpHotelList: func(ctx context.Context, srv *hotelstaystest.Server, c *hotelstays.Client) iter.Seq2[any, error] {
		search := searchCity(srv)
		search.PageSize = 4
		return untyped(c.HotelListPages(ctx, search))
	},
}

// An iterator yields an error once, and then ends the loop. After a break, no request is sent.
func TestIteratorsEndAfterAnErrorOrABreak(t *testing.T) {
	for op, list := range lists {
		inBubble(t, string(op), func(t *testing.T) {
			srv, client := newSandbox(t)
			seq := list(t.Context(), srv, client)
			assert.Zero(t, srv.Ledger().Count(""), "no request is sent before the loop")

			for _, err := range seq {
				require.NoError(t, err)
				break
			}
			assert.Equal(t, 1, srv.Ledger().Count(op), "no request is sent after the loop")

			srv.Inject(hotelstaystest.Fault{Operation: op, Kind: hotelstaystest.FaultStatus, Status: 400, Skip: 1})
			before := srv.Ledger().Count(op)
			values, errs := collect(seq)
			assert.NotEmpty(t, values, "the values before the error are yielded")
			require.Len(t, errs, 1)
			assert.ErrorIs(t, errs[0], hotelstays.ErrParam)
			assert.Equal(t, 2, srv.Ledger().Count(op)-before, "no request is sent after the error")
		})
	}
}

func untyped[V any](seq iter.Seq2[V, error]) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for v, err := range seq {
			if !yield(v, err) {
				return
			}
		}
	}
}

// metadataAhead lists 23 hotels on twelve pages. Each page takes a second.
func metadataAhead(t *testing.T, script *pageScript, parallelism int) iter.Seq2[*types.HotelMetadata, error] {
	for i := range 12 {
		script.pages = append(script.pages, []string{fmt.Sprint(2 * i), fmt.Sprint(2*i + 1)})
	}
	script.pages[11] = script.pages[11][:1]
	script.delay = time.Second
	return clientThrough(t, script).HotelsMetadataAll(t.Context(), &hotelstays.HotelsMetadataRequest{DestinationID: "place",
		Page: &types.PageReq{PageSize: 2}}, hotelstays.WithParallelism(parallelism))
}

// If an answer has a total, the client fetches further pages ahead, up to WithParallelism at a time.
func TestMetadataPagesThatAreFetchedAheadComeInOrder(t *testing.T) {
	for _, tc := range []struct {
		total, parallelism int
		duration           time.Duration
		maxRunning         int
	}{
		{23, 1, 12 * time.Second, 1},
		{23, 4, 4 * time.Second, 4}, // 1 s for the first page, and 3 s for the other 11 pages, four at a time
		{0, 4, 12 * time.Second, 1}, // no answer has a total, so pages are fetched one by one
		{13, 4, 8 * time.Second, 4}, // the total is too small: the client fetches the pages beyond the total one by one
		{99, 4, 4 * time.Second, 4}, // the total is too large: hasMore says which page is the last
	} {
		synctest.Test(t, func(t *testing.T) {
			script, start := &pageScript{total: tc.total}, time.Now()
			hotels, errs := collect(metadataAhead(t, script, tc.parallelism))
			assert.Empty(t, errs)
			require.Len(t, hotels, 23)
			for i, hotel := range hotels {
				assert.Equal(t, fmt.Sprint(i), hotel.HotelID)
			}
			assert.Equal(t, tc.duration, time.Since(start), "%+v", tc)
			assert.Equal(t, tc.maxRunning, script.maxRunning, "%+v", tc)
		})
	}
}

// If a page fails, the iterator yields the hotels of the pages before it, and then one error.
func TestMetadataIsNotFetchedAheadAfterTheLoopHasEnded(t *testing.T) {
	for _, parallelism := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			script := &pageScript{total: 23, failsAt: 6}
			hotels, errs := collect(metadataAhead(t, script, parallelism))
			assert.Len(t, hotels, 10)
			assert.Len(t, errs, 1)
			assert.Zero(t, script.running)
			assert.Less(t, slices.Max(script.asked), 6+parallelism)
		})
		synctest.Test(t, func(t *testing.T) {
			script, start := &pageScript{total: 23}, time.Now()
			for _, err := range metadataAhead(t, script, parallelism) {
				require.NoError(t, err)
				if time.Since(start) >= 2*time.Second {
					time.Sleep(time.Second / 2)
					break
				}
			}
			assert.Equal(t, 2500*time.Millisecond, time.Since(start), "leaving the loop waits for no fetch")
			assert.Zero(t, script.running)
			asked := len(script.asked)
			time.Sleep(time.Minute)
			assert.Len(t, script.asked, asked)
		})
	}
}

// forest is a transport that answers Destinations with the places below the requested parent. A place "-" has no id.
type forest struct {
	busy
	below   map[string][]string
	delay   func(call int) time.Duration
	failsAt string
	asked   []string
}

func (f *forest) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	var req struct{ ParentDestinationID string }
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.asked = append(f.asked, req.ParentDestinationID)
	delay := f.delay(len(f.asked))
	f.mu.Unlock()
	if err := f.wait(r.Context(), delay); err != nil {
		return nil, err
	}
	if f.failsAt != "" && req.ParentDestinationID == f.failsAt {
		return reply(400, `{"code":7}`), nil
	}
	places := []map[string]string{}
	for _, id := range f.below[req.ParentDestinationID] {
		places = append(places, map[string]string{"id": strings.Trim(id, "-")})
	}
	body, err := json.Marshal(map[string]any{"code": 0, "data": map[string]any{"destinations": places}})
	return reply(200, string(body)), err
}

func (f *forest) walk(t *testing.T, parallelism int) iter.Seq2[*types.Destination, error] {
	return clientThrough(t, f, hotelstays.WithRateLimiter(noRateLimits{})).WalkDestinations(t.Context(), &hotelstays.DestinationsRequest{},
		hotelstays.WithParallelism(parallelism))
}

func (f *forest) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// wide returns a forest of n places, with n places below each of them.
func wide(n int, delay func(call int) time.Duration) *forest {
	f := &forest{below: map[string][]string{}, delay: delay}
	for i := range n {
		parent := fmt.Sprint(i)
		f.below[""] = append(f.below[""], parent)
		for j := range n {
			f.below[parent] = append(f.below[parent], fmt.Sprint(i, ".", j))
		}
	}
	return f
}

// The walk yields a place once, even if the place is listed below several places or below itself. It yields a place
// without an id each time, and does not ask for the children of this place.
func TestWalkDestinationsEndsIfPlacesFormACycle(t *testing.T) {
	for _, parallelism := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			f := &forest{below: map[string][]string{"": {"a", "b", "a", "-"}, "a": {"c", "-"}, "b": {"c", "a", "b"}, "c": {"a", "d"}},
				delay: func(call int) time.Duration { return time.Duration(call/50) * time.Hour }} // hours in an endless walk, so the walk fails
			var ids []string
			for place, err := range f.walk(t, parallelism) {
				if !assert.NoError(t, err) {
					break
				}
				ids = append(ids, place.ID)
			}
			assert.ElementsMatch(t, []string{"a", "b", "c", "d", "", ""}, ids)
			assert.ElementsMatch(t, []string{"", "a", "b", "c", "d"}, f.asked)
		})
	}
}

// The order of the places does not depend on the order of the answers. WithParallelism limits the calls in progress.
func TestWalkDestinationsYieldsParentsBeforeChildren(t *testing.T) {
	for _, parallelism := range []int{1, 2, 7} {
		synctest.Test(t, func(t *testing.T) {
			f := wide(9, func(call int) time.Duration { return time.Duration(1+7*call%5) * time.Second })
			seen := map[string]bool{}
			for place, err := range f.walk(t, parallelism) {
				require.NoError(t, err)
				if len(place.ID) > 1 {
					assert.True(t, seen[place.ID[:1]], "the parent of %s came first", place.ID)
				}
				seen[place.ID] = true
				time.Sleep(time.Second / 3)
			}
			assert.Len(t, seen, 9+81)
			assert.Equal(t, parallelism, f.maxRunning)
		})
	}
}

// If the body of the loop is slow, the walk makes only a few calls ahead. A break or an error ends all calls.
func TestWalkDestinationsStopsWhenTheLoopEnds(t *testing.T) {
	second := func(int) time.Duration { return time.Second }
	for _, parallelism := range []int{1, 4} {
		for _, places := range []int{1, 61} {
			synctest.Test(t, func(t *testing.T) {
				f, n := wide(30, second), 0
				var left time.Time
				for range f.walk(t, parallelism) {
					if n++; n == 20 {
						time.Sleep(time.Hour)
						assert.LessOrEqual(t, f.calls(), 1+2*parallelism)
					}
					if n == places {
						time.Sleep(time.Second / 2)
						left = time.Now()
						break
					}
				}
				assert.Zero(t, time.Since(left), "leaving the loop waits for no call")
				assert.Zero(t, f.running)
				asked := len(f.asked)
				time.Sleep(time.Minute)
				assert.Len(t, f.asked, asked)
			})
		}
		synctest.Test(t, func(t *testing.T) {
			f := wide(30, second)
			f.failsAt = "29"
			places, errs := collect(f.walk(t, parallelism))
			assert.NotEmpty(t, places)
			assert.Len(t, errs, 1)
			assert.Zero(t, f.running)
			assert.LessOrEqual(t, len(f.asked), 1+parallelism+3)
		})
	}
}

func TestIteratorsYieldInvalidInputAsOneValidationError(t *testing.T) {
	client, ctx, cursor := clientThrough(t, noSend{t}), t.Context(), new(int64(7))
	metadata := func(page types.PageReq, opts ...hotelstays.CallOption) iter.Seq2[any, error] {
		return untyped(client.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &page}, opts...))
	}
	pages := func(change func(*listReq)) iter.Seq2[any, error] {
		return untyped(client.HotelListPages(ctx, list(change)))
	}
	batches := func(change func(*listReq), opts ...hotelstays.CallOption) iter.Seq2[any, error] {
		req := list(change)
		req.HotelIDs = []string{"1"}
		return untyped(client.HotelListBatches(ctx, req, opts...))
	}
	unchanged := func(*listReq) {}
	for name, seq := range map[string]iter.Seq2[any, error]{
		"no request to walk":                    untyped(client.WalkDestinations(ctx, nil)),
		"no request for metadata":               untyped(client.HotelsMetadataAll(ctx, nil)),
		"no request for pages":                  untyped(client.HotelListPages(ctx, nil)),
		"no request for batches":                untyped(client.HotelListBatches(ctx, nil)),
		"a cursor for metadata":                 metadata(types.PageReq{Cursor: cursor}),
		"metadata with too large a page":        metadata(types.PageReq{PageSize: 101}),
		"metadata with too many parallel calls": metadata(types.PageReq{}, hotelstays.WithParallelism(1025)),
		"a walk with zero parallel calls": untyped(client.WalkDestinations(ctx, &hotelstays.DestinationsRequest{},
			hotelstays.WithParallelism(0))),
		"a cursor for pages":               pages(func(r *listReq) { r.Cursor = cursor }),
		"a page below 1":                   pages(func(r *listReq) { r.PageNum = -1 }),
		"batches without a date":           batches(func(r *listReq) { r.CheckIn = "" }),
		"batches of too many ids":          batches(unchanged, hotelstays.WithBatchSize(1001)),
		"batches from the second page on":  batches(func(r *listReq) { r.PageNum = 2 }),
		"batches with a cursor":            batches(func(r *listReq) { r.Cursor = cursor }),
		"batches with a wrong call option": batches(unchanged, hotelstays.WithCurrency("euro")),
	} {
		_, errs := collect(seq)
		if assert.Len(t, errs, 1, name) {
			assert.ErrorAs(t, errs[0], new(*hotelstays.ValidationError), name)
			assert.NotErrorAs(t, errs[0], new(*hotelstays.BatchError), name)
		}
	}
}

// busy counts requests in progress, and answers after a delay.
type busy struct {
	mu                  sync.Mutex
	running, maxRunning int
}

func (b *busy) wait(ctx context.Context, delay time.Duration) error {
	b.mu.Lock()
	b.running++
	b.maxRunning = max(b.maxRunning, b.running)
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.running--
	}()
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pageScript answers HotelList and HotelsMetadata with fixed pages.
type pageScript struct {
	busy
	pages     [][]string // each hotel is "id/platform id", or "!" for a hotel whose id cannot be read
	noHasMore bool       // false: each answer says in hasMore whether a page follows
	total     int        // 0: the answers have no total
	delay     time.Duration
	failsAt   int // the number of the page that is refused; 0 for none

	asked    []int
	sessions []string // the sessions that were sent; each answer has a new session
}

func (s *pageScript) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	var req struct {
		PageNum int
		Page    struct{ PageNum int }
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		return nil, err
	}
	num := max(req.PageNum, req.Page.PageNum)
	s.mu.Lock()
	s.asked, s.sessions = append(s.asked, num), append(s.sessions, r.Header.Get("Session-Id"))
	s.mu.Unlock()
	if err := s.wait(r.Context(), s.delay); err != nil {
		return nil, err
	}
	if num == s.failsAt {
		return reply(400, `{"code":7}`), nil
	}
	hotels := []map[string]any{}
	if num <= len(s.pages) {
		for _, hotel := range s.pages[num-1] {
			id, platform, _ := strings.Cut(hotel, "/")
			hotels = append(hotels, map[string]any{"id": id, "hotelId": id, "platformHotelId": platform})
			if hotel == "!" { // a hotel that the client leaves out
				hotels[len(hotels)-1] = map[string]any{"id": []int{}, "hotelId": []int{}}
			}
		}
	}
	page := map[string]any{}
	if !s.noHasMore {
		page["hasMore"] = num < len(s.pages)
	}
	if s.total > 0 {
		page["total"] = s.total
	}
	data := map[string]any{"list": hotels, "basic": map[string]any{"sessionId": fmt.Sprint("session-", num)},
		"hotelsMetadata": hotels, "page": page}
	maps.Copy(data, page) // an answer of HotelList has these fields in data itself
	body, err := json.Marshal(map[string]any{"code": 0, "data": data})
	return reply(200, string(body), "Request-Id", fmt.Sprint("request-", num)), err
}
