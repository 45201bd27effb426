// The iterators: everything once, nothing before it is asked for, nothing after
// the loop is left, and no end that is none.

package hotelstays_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/types"
)

// collect ranges to the end and returns all values and all errors.
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

func TestWalkDestinations(t *testing.T) {
	for _, tc := range []struct {
		name    string
		catalog hotelstaystest.Catalog
		req     hotelstays.DestinationsRequest
		places  int
	}{
		{"the whole tree", hotelstaystest.Catalog{}, hotelstays.DestinationsRequest{}, 3 + 6 + 24},
		{"with its empty cities", hotelstaystest.Catalog{}, hotelstays.DestinationsRequest{FilterEmptyCities: new(false), MinHotelCount: new(0)}, 3 + 6 + 30},
		{"a country", hotelstaystest.Catalog{}, hotelstays.DestinationsRequest{CountryCode: "CN"}, 2 + 8},
		{"a country without cities", hotelstaystest.Catalog{EmptyEvery: 1}, hotelstays.DestinationsRequest{CountryCode: "CN"}, 2},
		{"a country that is unknown", hotelstaystest.Catalog{}, hotelstays.DestinationsRequest{CountryCode: "BR"}, 0},
		{"a country and the parent that it overrides", hotelstaystest.Catalog{}, hotelstays.DestinationsRequest{CountryCode: "CN", ParentDestinationID: "x"}, 2 + 8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.WithCatalog(tc.catalog))
				given := tc.req
				walk := client.WalkDestinations(t.Context(), &given)
				assert.Zero(t, srv.Ledger().Count(""), "nothing is called before the loop")
				places, errs := collect(walk)
				assert.Empty(t, errs)
				assert.Len(t, places, tc.places)
				assert.Equal(t, tc.req, given, "the caller's request stays as it is")
				assert.Equal(t, tc.places+1, srv.Ledger().Count(hotelstaystest.OpDestinations), "one call for each place, and the first")

				seen := map[string]bool{}
				for _, place := range places {
					assert.False(t, seen[place.ID], "each place once")
					seen[place.ID] = true
					if tc.req.CountryCode != "" {
						assert.Equal(t, tc.req.CountryCode, place.CountryCode)
					}
					if place.Type == types.DestinationCity {
						assert.True(t, seen[place.ParentDestinationID], "parents come first")
					}
				}
				again, _ := collect(walk)
				assert.Equal(t, places, again, "ranging again walks again")
			})
		})
	}
}

// placeScript answers Destinations with the places below each parent.
type placeScript struct {
	below map[string][]string
	calls atomic.Int32
}

func (s *placeScript) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	s.calls.Add(1)
	var asked struct {
		ParentDestinationID string `json:"parentDestinationId"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, err
	}
	places := []map[string]string{}
	for _, id := range s.below[asked.ParentDestinationID] {
		places = append(places, map[string]string{"id": id})
	}
	return scripted(r, map[string]any{"destinations": places})
}

// scripted is an answer of a service that is not the sandbox.
func scripted(r *http.Request, data any) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{"code": 0, "data": data})
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
}

// A place that lies below several others, or below itself, is visited once all
// the same, and the walk ends.
func TestWalkOfATreeThatIsNone(t *testing.T) {
	for _, parallelism := range []int{1, 4} {
		script := &placeScript{below: map[string][]string{"": {"a", "b", "a"}, "a": {"c"}, "b": {"c", "a", "b"}, "c": {"a", "d"}}}
		client, err := hotelstays.New("http://127.0.0.1", hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithHTTPClient(&http.Client{Transport: script}))
		require.NoError(t, err)
		places, errs := collect(client.WalkDestinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithParallelism(parallelism)))
		assert.Empty(t, errs)
		var ids []string
		for _, place := range places {
			ids = append(ids, place.ID)
		}
		assert.ElementsMatch(t, []string{"a", "b", "c", "d"}, ids)
		assert.EqualValues(t, 5, script.calls.Load())
	}
}

// An error comes once and ends the loop; leaving the loop ends the calls.
func TestIteratorsEnd(t *testing.T) {
	for _, tc := range []struct {
		name string
		op   hotelstaystest.Operation
		seq  func(*testing.T, *hotelstaystest.Server, *hotelstays.Client) iter.Seq2[any, error]
	}{
		{"WalkDestinations", hotelstaystest.OpDestinations, func(t *testing.T, _ *hotelstaystest.Server, c *hotelstays.Client) iter.Seq2[any, error] {
			return untyped(c.WalkDestinations(t.Context(), &hotelstays.DestinationsRequest{}))
		}},
		{"HotelsMetadataAll", hotelstaystest.OpHotelsMetadata, func(t *testing.T, srv *hotelstaystest.Server, c *hotelstays.Client) iter.Seq2[any, error] {
			return untyped(c.HotelsMetadataAll(t.Context(), &hotelstays.HotelsMetadataRequest{DestinationID: srv.CityID(0), Page: &types.PageReq{PageSize: 4}}))
		}},
		{"HotelListPages", hotelstaystest.OpHotelList, func(t *testing.T, srv *hotelstaystest.Server, c *hotelstays.Client) iter.Seq2[any, error] {
			search := searchCity(srv)
			search.PageSize = 4
			return untyped(c.HotelListPages(t.Context(), search))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t)
				seq := tc.seq(t, srv, client)
				assert.Zero(t, srv.Ledger().Count(""), "nothing is called before the loop")

				for _, err := range seq {
					require.NoError(t, err)
					break
				}
				assert.Equal(t, 1, srv.Ledger().Count(tc.op), "nothing is called after the loop")

				srv.Inject(hotelstaystest.Fault{Operation: tc.op, Kind: hotelstaystest.FaultStatus, Status: 400, Skip: 1})
				before := srv.Ledger().Count(tc.op)
				values, errs := collect(seq)
				assert.NotEmpty(t, values, "what came before the error is yielded")
				require.Len(t, errs, 1)
				assert.ErrorIs(t, errs[0], hotelstays.ErrParam)
				assert.Equal(t, 2, srv.Ledger().Count(tc.op)-before, "nothing is called after the error")
			})
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

func TestHotelsMetadataAll(t *testing.T) {
	for _, tc := range []struct {
		name   string
		page   *types.PageReq
		hotels int
		calls  int
	}{
		{"the largest pages", nil, 250, 3},
		{"the largest pages, from the second on", &types.PageReq{PageNum: 2}, 150, 2},
		{"the caller's page size", &types.PageReq{PageSize: 20}, 250, 13},
		{"a page size that divides the hotels", &types.PageReq{PageSize: 50}, 250, 5},
		{"a page past the end", &types.PageReq{PageNum: 9}, 0, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.WithoutTotals(), // hasMore alone must do
					hotelstaystest.WithCatalog(hotelstaystest.Catalog{HotelsPerCity: 250, UnmatchedEvery: -1}))
				given := hotelstays.HotelsMetadataRequest{DestinationID: srv.CityID(0), CountryCode: "AE"}
				var page types.PageReq
				if tc.page != nil {
					page = *tc.page
					given.Page = &page
				}
				want := given
				hotels, errs := collect(client.HotelsMetadataAll(t.Context(), &given))
				assert.Empty(t, errs)
				assert.Equal(t, want, given, "the caller's request stays as it is")
				if tc.page != nil {
					assert.Equal(t, *tc.page, page, "and so does its page")
				}
				assert.Equal(t, tc.calls, srv.Ledger().Count(hotelstaystest.OpHotelsMetadata))

				var got []string
				for _, hotel := range hotels {
					got = append(got, hotel.PlatformHotelID)
				}
				all := srv.HotelIDs(250)
				assert.Equal(t, all[250-tc.hotels:], append([]string{}, got...))
			})
		})
	}
}

func TestHotelListPages(t *testing.T) {
	for _, tc := range []struct {
		name      string
		num, size int
		session   bool // the caller gives one
		hotels    int
		calls     int
	}{
		{"the service's page size", 0, 0, false, 210, 5},
		{"the caller's page size", 0, 100, false, 210, 3},
		{"from the second page on", 2, 100, false, 110, 2},
		{"in the caller's session", 0, 100, true, 210, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.WithCatalog(
					hotelstaystest.Catalog{HotelsPerCity: 210, RoomsPerHotel: 1, RatesPerRoom: 1, UnmatchedEvery: -1}))
				given := searchCity(srv)
				given.PageNum, given.PageSize = tc.num, tc.size
				if tc.session {
					given.SessionID = findOffer(t, srv, client, 0).session
				}
				want, before := *given, srv.Ledger().Count(hotelstaystest.OpHotelList)
				pages, errs := collect(client.HotelListPages(t.Context(), given))
				assert.Empty(t, errs)
				require.Len(t, pages, tc.calls)
				assert.Equal(t, want, *given, "the caller's request stays as it is")

				var got []string
				for _, page := range pages {
					for _, hotel := range page.List {
						got = append(got, hotel.PlatformHotelID)
					}
				}
				assert.Equal(t, srv.HotelIDs(210)[210-tc.hotels:], got)
				requests := srv.Ledger().Requests(hotelstaystest.OpHotelList)[before:]
				require.Len(t, requests, tc.calls)
				assert.Equal(t, given.SessionID, requests[0].Header.Get("Session-Id"))
				for _, r := range requests[1:] {
					assert.Equal(t, pages[0].Basic.SessionID, r.Header.Get("Session-Id"), "all pages share the first one's session")
				}
			})
		})
	}
}

// pageScript answers listings with fixed pages: each item is a hotel's id, and
// every page but the last promises more.
type pageScript struct {
	pages [][]string
	calls int
}

func (s *pageScript) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body.Close()
	ids := s.pages[min(s.calls, len(s.pages)-1)]
	s.calls++
	hotels := []map[string]string{}
	for _, id := range ids {
		id, platform, _ := strings.Cut(id, "/")
		hotels = append(hotels, map[string]string{"id": id, "hotelId": id, "platformHotelId": platform})
	}
	more := s.calls < len(s.pages)
	return scripted(r, map[string]any{
		"list": hotels, "basic": map[string]any{"sessionId": "session"}, "hasMore": more,
		"hotelsMetadata": hotels, "page": map[string]any{"hasMore": more},
	})
}

// A service that promises more and does not deliver it is an error, never an
// end: a list that stops early would look complete.
func TestPagesThatLeadNowhere(t *testing.T) {
	a, b, c := []string{"1", "2"}, []string{"3", "4"}, []string{"5"}
	listings := map[string]func(context.Context, *hotelstays.Client) iter.Seq2[any, error]{
		"HotelsMetadataAll": func(ctx context.Context, client *hotelstays.Client) iter.Seq2[any, error] {
			return untyped(client.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: "place"}))
		},
		"HotelListPages": func(ctx context.Context, client *hotelstays.Client) iter.Seq2[any, error] {
			return untyped(client.HotelListPages(ctx, &hotelstays.HotelListRequest{DestinationID: "place", CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}))
		},
	}
	for listing, start := range listings {
		for _, tc := range []struct {
			name    string
			pages   [][]string
			calls   int
			repeats bool
			fails   bool
		}{
			{"an honest listing", [][]string{a, b, c}, 3, false, false},
			{"an honest listing whose last page is empty", [][]string{a, b, {}}, 3, false, false},
			{"an empty page in the middle", [][]string{a, {}, c}, 2, false, true},
			{"a first page that is empty", [][]string{{}, a}, 1, false, true},
			{"a page that repeats", [][]string{a, a, c}, 2, true, true},
			{"pages in a circle", [][]string{a, b, a, b, c}, 3, true, true},
			{"items in another order", [][]string{a, {"2", "1"}, c}, 3, false, false},
			{"items that read alike in a row", [][]string{{"1/2", "3"}, {"1", "23"}, c}, 3, false, false},
		} {
			t.Run(listing+": "+tc.name, func(t *testing.T) {
				script := &pageScript{pages: tc.pages}
				client, err := hotelstays.New("http://127.0.0.1", hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithHTTPClient(&http.Client{Transport: script}))
				require.NoError(t, err)
				_, errs := collect(start(t.Context(), client))
				assert.Equal(t, tc.calls, script.calls)
				if !tc.fails {
					assert.Empty(t, errs)
					return
				}
				require.Len(t, errs, 1)
				var broken *hotelstays.PageError
				require.ErrorAs(t, errs[0], &broken)
				assert.Equal(t, tc.calls, broken.PageNum)
				assert.Equal(t, tc.repeats, broken.Repeats)
				assert.Contains(t, listing, string(broken.Operation))
				assert.ErrorContains(t, broken, "incomplete")
			})
		}
	}
}

// What cannot be walked is refused before anything is sent.
func TestIteratorsRefuse(t *testing.T) {
	script := &pageScript{pages: [][]string{{}}}
	client, err := hotelstays.New("http://127.0.0.1", hotelstays.TokenCredential{Token: types.NewSecret("token")}, hotelstays.WithHTTPClient(&http.Client{Transport: script}))
	require.NoError(t, err)
	search := func(change func(*hotelstays.HotelListRequest)) *hotelstays.HotelListRequest {
		req := &hotelstays.HotelListRequest{HotelIDs: []string{"1"}, CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
		change(req)
		return req
	}
	ctx, cursor := t.Context(), new(int64(7))
	for name, seq := range map[string]iter.Seq2[any, error]{
		"no request to walk":               untyped(client.WalkDestinations(ctx, nil)),
		"no request for metadata":          untyped(client.HotelsMetadataAll(ctx, nil)),
		"no request for pages":             untyped(client.HotelListPages(ctx, nil)),
		"no request for batches":           untyped(client.HotelListBatches(ctx, nil)),
		"a cursor for metadata":            untyped(client.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &types.PageReq{Cursor: cursor}})),
		"a cursor for pages":               untyped(client.HotelListPages(ctx, search(func(r *hotelstays.HotelListRequest) { r.Cursor = cursor }))),
		"a page below 1":                   untyped(client.HotelListPages(ctx, search(func(r *hotelstays.HotelListRequest) { r.PageNum = -1 }))),
		"too large a page":                 untyped(client.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &types.PageReq{PageSize: 101}})),
		"batches of nothing":               untyped(client.HotelListBatches(ctx, search(func(r *hotelstays.HotelListRequest) { r.HotelIDs = nil }))),
		"batches with an empty id":         untyped(client.HotelListBatches(ctx, search(func(r *hotelstays.HotelListRequest) { r.HotelIDs = []string{"1", ""} }))),
		"batches from a page on":           untyped(client.HotelListBatches(ctx, search(func(r *hotelstays.HotelListRequest) { r.PageNum = 2 }))),
		"batches with a cursor":            untyped(client.HotelListBatches(ctx, search(func(r *hotelstays.HotelListRequest) { r.Cursor = cursor }))),
		"batches without a date":           untyped(client.HotelListBatches(ctx, search(func(r *hotelstays.HotelListRequest) { r.CheckIn = "" }))),
		"batches that are too large":       untyped(client.HotelListBatches(ctx, search(func(*hotelstays.HotelListRequest) {}), hotelstays.WithBatchSize(1001))),
		"batches of no size":               untyped(client.HotelListBatches(ctx, search(func(*hotelstays.HotelListRequest) {}), hotelstays.WithBatchSize(0))),
		"batches without any under way":    untyped(client.HotelListBatches(ctx, search(func(*hotelstays.HotelListRequest) {}), hotelstays.WithParallelism(0))),
		"a walk without a call under way":  untyped(client.WalkDestinations(ctx, &hotelstays.DestinationsRequest{}, hotelstays.WithParallelism(0))),
		"a walk in batches":                untyped(client.WalkDestinations(ctx, &hotelstays.DestinationsRequest{}, hotelstays.WithBatchSize(2))),
		"metadata with too much under way": untyped(client.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: "d"}, hotelstays.WithParallelism(1025))),
		"metadata in batches":              untyped(client.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: "d"}, hotelstays.WithBatchSize(2))),
		"pages in parallel":                untyped(client.HotelListPages(ctx, search(func(*hotelstays.HotelListRequest) {}), hotelstays.WithParallelism(2))),
		"batches with a wrong call option": untyped(client.HotelListBatches(ctx, search(func(*hotelstays.HotelListRequest) {}), hotelstays.WithCurrency("euro"))),
	} {
		_, errs := collect(seq)
		if assert.Len(t, errs, 1, name) {
			var invalid *hotelstays.ValidationError
			assert.ErrorAs(t, errs[0], &invalid, name)
		}
	}
	assert.Zero(t, script.calls)
}

// batchWorld is a sandbox whose hotels have one rate each, and a search of many
// of them.
func batchWorld(t *testing.T, ids int, opts ...hotelstaystest.Option) (*hotelstaystest.Server, *hotelstays.Client, *hotelstays.HotelListRequest) {
	opts = append(opts, hotelstaystest.WithCatalog(hotelstaystest.Catalog{HotelsPerCity: 100, EmptyEvery: -1, UnmatchedEvery: -1, RoomsPerHotel: 1, RatesPerRoom: 1}))
	srv, client := newSandbox(t, opts...)
	search := &hotelstays.HotelListRequest{HotelIDs: srv.HotelIDs(ids), CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
	require.Len(t, search.HotelIDs, ids)
	return srv, client, search
}

// pricedIDs are the hotels of pages, sorted; each must have a price.
func pricedIDs(t *testing.T, pages []*hotelstays.HotelListResponse) []string {
	t.Helper()
	ids := []string{}
	for _, page := range pages {
		for _, hotel := range page.List {
			assert.NotNil(t, hotel.MinPrice)
			ids = append(ids, hotel.PlatformHotelID)
		}
	}
	slices.Sort(ids)
	return ids
}

// failedIDs are the hotels of batch errors.
func failedIDs(t *testing.T, errs []error) (ids []string) {
	t.Helper()
	for _, err := range errs {
		var batch *hotelstays.BatchError
		require.ErrorAs(t, err, &batch)
		ids = append(ids, batch.HotelIDs...)
	}
	return ids
}

func TestHotelListBatches(t *testing.T) {
	for _, tc := range []struct {
		name     string
		ids      int
		opts     []hotelstays.CallOption
		band     bool
		batches  int
		requests int
		pageSize int
	}{
		{"2,500 hotels", 2500, nil, false, 13, 13, 0},
		{"with a visibility band", 2500, nil, true, 13, 13, 0},
		{"in batches of 1,000, which take five pages", 2500, []hotelstays.CallOption{hotelstays.WithBatchSize(1000)}, false, 3, 13, 0},
		{"in the caller's page size", 500, []hotelstays.CallOption{hotelstays.WithBatchSize(100)}, false, 5, 25, 20},
		{"one after the other", 500, []hotelstays.CallOption{hotelstays.WithParallelism(1)}, false, 3, 3, 0},
		{"one hotel", 1, nil, false, 1, 1, 0},
		{"a batch for each hotel, three times the ceiling", 300, []hotelstays.CallOption{hotelstays.WithBatchSize(1), hotelstays.WithParallelism(300)}, false, 300, 300, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sandbox []hotelstaystest.Option
				if tc.band {
					sandbox = append(sandbox, hotelstaystest.WithVisibilityBand())
				}
				srv, client, search := batchWorld(t, tc.ids, sandbox...)
				search.PageSize = tc.pageSize
				given := *search
				given.HotelIDs = slices.Clone(search.HotelIDs)
				seq := client.HotelListBatches(t.Context(), search, tc.opts...)
				assert.Zero(t, srv.Ledger().Count(""), "nothing is called before the loop")
				pages, errs := collect(seq)
				assert.Empty(t, errs)
				assert.Equal(t, given.HotelIDs, pricedIDs(t, pages), "each hotel is priced once")
				assert.Equal(t, given, *search, "the caller's request stays as it is")
				assert.Equal(t, tc.requests, srv.Ledger().Count(hotelstaystest.OpHotelList))
				assert.Zero(t, srv.Ledger().RateLimited(""))

				sessions := map[string]bool{}
				for _, page := range pages {
					sessions[page.Basic.SessionID] = true
				}
				assert.Len(t, sessions, tc.batches, "every batch has a session of its own")
			})
		})
	}
}

func TestHotelListBatchesParallelism(t *testing.T) {
	for parallelism, opts := range map[int][]hotelstays.CallOption{
		8: nil,
		1: {hotelstays.WithParallelism(1)},
		3: {hotelstays.WithParallelism(3)},
	} {
		t.Run(fmt.Sprint(parallelism), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client, search := batchWorld(t, 200)
				srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpHotelList, Kind: hotelstaystest.FaultDelay, Delay: time.Second, Times: -1})
				_, errs := collect(client.HotelListBatches(t.Context(), search, append(opts, hotelstays.WithBatchSize(10))...))
				assert.Empty(t, errs)
				assert.Equal(t, parallelism, mostAtOnce(srv, hotelstaystest.OpHotelList))
			})
		})
	}
}

// A ceiling of five a second, kept by the limiter of the caller: no 429. Known to
// the service alone: 429s, and every hotel in the end.
func TestHotelListBatchesUnderALowCeiling(t *testing.T) {
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprint("the client knows it: ", known), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client, search := batchWorld(t, 20, hotelstaystest.WithCeiling(hotelstaystest.OpHotelList, 5))
				if known {
					client = newClient(t, srv, ticketOf(srv), hotelstays.WithRateLimiter(fivePerSecond{ratelimit.NewWindow(5, time.Second, 0)}))
				}
				_, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}) // fetches the token
				require.NoError(t, err)
				time.Sleep(time.Second)
				start := time.Now()
				pages, errs := collect(client.HotelListBatches(t.Context(), search, hotelstays.WithBatchSize(1), hotelstays.WithParallelism(10)))
				assert.Empty(t, errs)
				assert.Equal(t, search.HotelIDs, pricedIDs(t, pages))
				assert.Equal(t, known, srv.Ledger().RateLimited("") == 0)
				if known {
					assert.Equal(t, 3*time.Second, time.Since(start), "four windows, the last of which ends at once")
				}
			})
		})
	}
}

// fivePerSecond has one budget for all operations.
type fivePerSecond struct{ window *ratelimit.Window }

func (l fivePerSecond) Acquire(ctx context.Context, _ hotelstays.Operation) (hotelstays.Permit, error) {
	permit, err := l.window.Acquire(ctx)
	return (*windowPermit)(permit), err
}

type windowPermit ratelimit.Permit

func (p *windowPermit) Sent() { (*ratelimit.Permit)(p).Sent() }
func (p *windowPermit) Done(r hotelstays.PermitResult) {
	(*ratelimit.Permit)(p).Done(ratelimit.Result(r))
}

func (l fivePerSecond) Pause(_ hotelstays.Operation, until time.Time) { l.window.Pause(until) }

// A batch that fails is an error with its own hotels, and the others go on.
func TestHotelListBatchesFailure(t *testing.T) {
	for _, tc := range []struct {
		name     string
		fault    hotelstaystest.Fault
		opts     []hotelstays.CallOption
		lost     []int // the ids of the failed batch, from and to; nil: any whole batch
		kept     int   // pages of it that came before
		requests int
	}{
		{"refused", hotelstaystest.Fault{Status: 400, Skip: 2}, nil, nil, 0, 13},
		{"down for as long as it is tried", hotelstaystest.Fault{Status: 503, Skip: 2, Times: 4}, []hotelstays.CallOption{hotelstays.WithParallelism(1)}, []int{400, 600}, 0, 16},
		{"refused at its third page", hotelstaystest.Fault{Status: 400, Skip: 7}, []hotelstays.CallOption{hotelstays.WithParallelism(1), hotelstays.WithBatchSize(1000)}, []int{1000, 2000}, 2, 11},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client, search := batchWorld(t, 2500)
				tc.fault.Operation, tc.fault.Kind = hotelstaystest.OpHotelList, hotelstaystest.FaultStatus
				srv.Inject(tc.fault)
				pages, errs := collect(client.HotelListBatches(t.Context(), search, tc.opts...))
				require.Len(t, errs, 1)
				var api *hotelstays.APIError
				require.ErrorAs(t, errs[0], &api)
				assert.Equal(t, tc.fault.Status, api.HTTPStatus)
				assert.Equal(t, tc.requests, srv.Ledger().Count(hotelstaystest.OpHotelList))

				failed := failedIDs(t, errs)
				if tc.lost != nil {
					assert.Equal(t, search.HotelIDs[tc.lost[0]:tc.lost[1]], failed)
				}
				at := slices.Index(search.HotelIDs, failed[0])
				assert.Equal(t, search.HotelIDs[at:at+len(failed)], failed, "one batch, whole and in order")
				priced := pricedIDs(t, pages)
				missing := slices.DeleteFunc(slices.Clone(search.HotelIDs), func(id string) bool {
					_, found := slices.BinarySearch(priced, id)
					return found
				})
				assert.Equal(t, failed[tc.kept*hotelstays.MaxListPageSize:], missing, "all other hotels are priced")
				assert.Len(t, priced, len(search.HotelIDs)-len(missing))
			})
		})
	}
}

// Leaving the loop stops what is under way and what is to come. Goroutines that
// stayed behind would hang the bubble.
func TestHotelListBatchesBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client, search := batchWorld(t, 2500)
		srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpHotelList, Kind: hotelstaystest.FaultDelay, Skip: 1, Delay: time.Minute, Times: -1})
		start := time.Now()
		for _, err := range client.HotelListBatches(t.Context(), search) {
			require.NoError(t, err)
			break
		}
		assert.Zero(t, time.Since(start), "what is under way is not waited for")
		synctest.Wait() // what had left by then arrives
		sent := srv.Ledger().Count(hotelstaystest.OpHotelList)
		assert.LessOrEqual(t, sent, 9, "eight at first, and one in the place of the first")
		time.Sleep(time.Hour)
		assert.Equal(t, sent, srv.Ledger().Count(hotelstaystest.OpHotelList))
	})
}

// However it ends, each hotel is either priced or in an error.
func TestHotelListBatchesCancelled(t *testing.T) {
	for _, after := range []time.Duration{0, 1500 * time.Millisecond, 2500 * time.Millisecond, time.Minute} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client, search := batchWorld(t, 2500)
				_, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}) // a token that is under way would outlive the test
				require.NoError(t, err)
				srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpHotelList, Kind: hotelstaystest.FaultDelay, Delay: time.Second, Times: -1})
				ctx, cancel := context.WithCancel(t.Context())
				defer time.AfterFunc(after, cancel).Stop()
				pages, errs := collect(client.HotelListBatches(ctx, search, hotelstays.WithParallelism(2)))
				priced, failed := pricedIDs(t, pages), failedIDs(t, errs)
				all := slices.Concat(priced, failed)
				slices.Sort(all)
				assert.Equal(t, search.HotelIDs, all)
				for _, err := range errs {
					assert.ErrorIs(t, err, context.Canceled)
				}
				assert.Equal(t, after == time.Minute, len(failed) == 0)
				assert.Equal(t, after < time.Second, len(priced) == 0)
			})
		})
	}
}
