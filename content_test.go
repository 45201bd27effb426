// Content: each operation against the sandbox, and the iterators, which return everything once,
// fetch nothing before it is needed and nothing after the loop ends.

package hotelstays_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestDestinations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		list := func(req hotelstays.DestinationsRequest) []types.Destination {
			t.Helper()
			resp, err := client.Destinations(t.Context(), &req)
			require.NoError(t, err)
			return resp.Destinations
		}
		top := list(hotelstays.DestinationsRequest{})
		require.Len(t, top, 3)
		emirates, china := top[0], top[1]
		assert.Equal(t, types.DestinationCountry, emirates.Type)
		assert.Equal(t, "AE", emirates.CountryCode)
		assert.Equal(t, &types.I18N{EN: "United Arab Emirates", ZH: "阿拉伯联合酋长国", AR: "الإمارات العربية المتحدة"}, emirates.Name)

		provinces := list(hotelstays.DestinationsRequest{CountryCode: "AE"})
		require.Len(t, provinces, 2)
		for _, p := range provinces {
			assert.Equal(t, types.DestinationProvinceState, p.Type)
			assert.Equal(t, emirates.ID, p.ParentDestinationID)
		}
		assert.Equal(t, provinces, list(hotelstays.DestinationsRequest{ParentDestinationID: emirates.ID}))
		assert.Equal(t, provinces, list(hotelstays.DestinationsRequest{CountryCode: "AE", ParentDestinationID: china.ID}),
			"the country wins over the parent")
		assert.Empty(t, list(hotelstays.DestinationsRequest{CountryCode: "BR"}))
		assert.Empty(t, list(hotelstays.DestinationsRequest{ParentDestinationID: "an id of another platform"}))

		// The province's cities have 12, 12, 12, 3 and no hotels.
		province := provinces[0].ID
		for _, tc := range []struct {
			filter *bool
			least  *int
			cities int
		}{
			{nil, nil, 4},
			{new(true), new(3), 4},
			{new(true), new(4), 3},
			{nil, new(13), 0},
			{new(true), new(0), 4},
			{new(false), new(0), 5}, // zeros are sent: left out, they would mean true and 1
		} {
			cities := list(hotelstays.DestinationsRequest{ParentDestinationID: province, FilterEmptyCities: tc.filter, MinHotelCount: tc.least})
			assert.Len(t, cities, tc.cities)
		}

		standard := list(hotelstays.DestinationsRequest{ParentDestinationID: province, Include: types.DestinationsIncludeStandard})
		require.NotEmpty(t, standard)
		city := standard[0]
		assert.Equal(t, types.DestinationCity, city.Type)
		assert.Equal(t, srv.CityID(0), city.ID)
		assert.Equal(t, province, city.ParentDestinationID)
		assert.Nil(t, city.Coordinates)
		assert.Nil(t, city.Extra)

		details := list(hotelstays.DestinationsRequest{ParentDestinationID: province, Include: types.DestinationsIncludeDetails,
			FilterEmptyCities: new(false), MinHotelCount: new(0)})
		require.Len(t, details, 5)
		full, empty := details[0], details[4]
		require.NotNil(t, full.Coordinates)
		assert.InDelta(t, 24, full.Coordinates.CenterLat, 3)
		assert.InDelta(t, 54, full.Coordinates.CenterLng, 3)
		assert.True(t, json.Valid(full.Coordinates.BoundingPolygon.Coordinates))
		assert.Equal(t, full.Name, full.Extra.CityName)
		assert.Equal(t, 12, *full.Extra.HotelCount)
		assert.Equal(t, 0, *empty.Extra.HotelCount, "no hotels is not the same as not said")
		assert.Equal(t, provinces[0].Name, full.ParentDestinationName)
	})
}

func TestHotelsMetadataPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.Config{Catalog: hotelstaystest.Catalog{HotelsPerCity: 250}})
		for _, tc := range []struct {
			page  *types.PageReq
			first int // number of the page's first hotel
			count int
			more  bool
		}{
			{nil, 0, 20, true},
			{&types.PageReq{}, 0, 20, true},
			{&types.PageReq{PageNum: -3}, 0, 20, true},
			{&types.PageReq{PageNum: 2}, 20, 20, true},
			{&types.PageReq{PageSize: 100}, 0, 100, true},
			{&types.PageReq{PageNum: 3, PageSize: 100}, 200, 50, false},
			{&types.PageReq{PageNum: 4, PageSize: 100}, 0, 0, false},
			{&types.PageReq{PageNum: 2, PageSize: 20, Cursor: new(int64(0))}, 20, 20, true},
		} {
			resp, err := client.HotelsMetadata(t.Context(), &hotelstays.HotelsMetadataRequest{DestinationID: srv.CityID(0), Page: tc.page})
			require.NoError(t, err)
			require.Len(t, resp.HotelsMetadata, tc.count)
			assert.Equal(t, types.PageResp{Total: 250, HasMore: tc.more}, resp.Page)
			if tc.count > 0 {
				assert.Equal(t, fmt.Sprint("PH", 10_000_000+tc.first), resp.HotelsMetadata[0].PlatformHotelID)
			}
		}
		resp, err := client.HotelsMetadata(t.Context(), &hotelstays.HotelsMetadataRequest{DestinationID: srv.CityID(0), CountryCode: "AE"})
		require.NoError(t, err)
		hotel := resp.HotelsMetadata[0]
		assert.NotEmpty(t, hotel.HotelID)
		assert.Equal(t, srv.CityID(0), hotel.DestinationID)
		assert.NotEmpty(t, hotel.Name.EN)
		assert.NotEmpty(t, hotel.Address.AR)
		assert.NotZero(t, hotel.LatlngCoordinator.Google)
		assert.Empty(t, resp.HotelsMetadata[9].PlatformHotelID, "not every hotel is matched to the master catalogue")

		resp, err = client.HotelsMetadata(t.Context(), &hotelstays.HotelsMetadataRequest{DestinationID: "an id of another platform"})
		require.NoError(t, err)
		assert.Empty(t, resp.HotelsMetadata)
	})
}

func TestHotelsMetadataWithoutTotals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.Config{
			Variants: hotelstaystest.Variants{NoTotals: true}, Catalog: hotelstaystest.Catalog{HotelsPerCity: 30},
		})
		resp, err := client.HotelsMetadata(t.Context(), &hotelstays.HotelsMetadataRequest{DestinationID: srv.CityID(0)})
		require.NoError(t, err)
		assert.Len(t, resp.HotelsMetadata, 20)
		assert.Equal(t, types.PageResp{HasMore: true}, resp.Page)
	})
}

func TestHotelStaticDetail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		id := srv.HotelIDs(1)[0]
		resp, err := client.HotelStaticDetail(t.Context(), &hotelstays.HotelStaticDetailRequest{HotelID: id})
		require.NoError(t, err)
		hotel := resp.Hotel
		require.NotNil(t, hotel)
		assert.Equal(t, id, hotel.PlatformHotelID)
		assert.NotEmpty(t, hotel.Name.EN)
		require.NotNil(t, hotel.Rating)
		assert.InDelta(t, 3.5, *hotel.Rating, 1.5)
		assert.True(t, *hotel.IsAvailable)
		assert.Equal(t, "USD", hotel.MinPrice.Currency)
		assert.Len(t, hotel.MinPricesByCurrency, 3)
		assert.Len(t, hotel.Rooms, 3)

		same, err := client.HotelStaticDetail(t.Context(), &hotelstays.HotelStaticDetailRequest{HotelID: hotel.ID})
		require.NoError(t, err)
		assert.Equal(t, hotel, same.Hotel, "a source's id is accepted back")

		resp, err = client.HotelStaticDetail(t.Context(), &hotelstays.HotelStaticDetailRequest{HotelID: "an id of another platform"})
		require.NoError(t, err)
		assert.Nil(t, resp.Hotel)
	})
}

func TestHotelIDList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		for _, tc := range []struct {
			req   hotelstays.HotelIDListRequest
			count int
		}{
			{hotelstays.HotelIDListRequest{HotelIDs: []int64{10_000_000, 10_000_001, 7}}, 2},
			{hotelstays.HotelIDListRequest{RegionCode: 1}, 12},
			{hotelstays.HotelIDListRequest{RegionName: srv.CityName(0)}, 12},
			{hotelstays.HotelIDListRequest{RegionName: "nowhere"}, 0},
		} {
			resp, err := client.HotelIDList(t.Context(), &tc.req)
			require.NoError(t, err)
			require.Len(t, resp.HotelIDList, tc.count)
			if tc.count > 0 {
				assert.Equal(t, "PH10000000", resp.HotelIDList[0].HotelID)
			}
		}
	})
}

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
		{"with its empty cities", hotelstaystest.Catalog{}, hotelstays.DestinationsRequest{FilterEmptyCities: new(false), MinHotelCount: new(0)},
			3 + 6 + 30},
		{"a country", hotelstaystest.Catalog{}, hotelstays.DestinationsRequest{CountryCode: "CN"}, 2 + 8},
		{"a country without cities", hotelstaystest.Catalog{EmptyEvery: 1}, hotelstays.DestinationsRequest{CountryCode: "CN"}, 2},
		{"a country that is unknown", hotelstaystest.Catalog{}, hotelstays.DestinationsRequest{CountryCode: "BR"}, 0},
		{"a country and the parent that it overrides", hotelstaystest.Catalog{},
			hotelstays.DestinationsRequest{CountryCode: "CN", ParentDestinationID: "x"}, 2 + 8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.Config{Catalog: tc.catalog})
				given := tc.req
				walk := client.WalkDestinations(t.Context(), &given)
				assert.Zero(t, srv.Ledger().Count(""), "nothing is called before the loop")
				places, errs := collect(walk)
				assert.Empty(t, errs)
				assert.Len(t, places, tc.places)
				assert.Equal(t, tc.req, given, "the caller's request stays as it is")
				assert.Equal(t, tc.places+1, srv.Ledger().Count(hotelstays.OpDestinations), "one call for each place, and the first")

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

// scripted is an answer of a service that is not the sandbox.
func scripted(r *http.Request, data any) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{"code": 0, "data": data})
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
}

// An error comes once and ends the loop; leaving the loop ends the calls.
func TestIteratorsEnd(t *testing.T) {
	for _, tc := range []struct {
		name string
		op   hotelstaystest.Operation
		seq  func(*testing.T, *hotelstaystest.Server, *hotelstays.Client) iter.Seq2[any, error]
	}{
		{"WalkDestinations", hotelstays.OpDestinations, func(t *testing.T, _ *hotelstaystest.Server, c *hotelstays.Client) iter.Seq2[any,
			error] {
			return untyped(c.WalkDestinations(t.Context(), &hotelstays.DestinationsRequest{}))
		}},
		{"HotelsMetadataAll", hotelstays.OpHotelsMetadata, func(t *testing.T, srv *hotelstaystest.Server, c *hotelstays.Client) iter.Seq2[any,
			error] {
			return untyped(c.HotelsMetadataAll(t.Context(), &hotelstays.HotelsMetadataRequest{DestinationID: srv.CityID(0),
				Page: &types.PageReq{PageSize: 4}}))
		}},
		{"HotelListPages", hotelstays.OpHotelList, func(t *testing.T, srv *hotelstaystest.Server, c *hotelstays.Client) iter.Seq2[any,
			error] {
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
				srv, client := newSandbox(t, hotelstaystest.Config{
					Variants: hotelstaystest.Variants{NoTotals: true}, Catalog: hotelstaystest.Catalog{HotelsPerCity: 250, UnmatchedEvery: -1},
				})
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
				assert.Equal(t, tc.calls, srv.Ledger().Count(hotelstays.OpHotelsMetadata))

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

// What cannot be walked is refused before anything is sent.
func TestIteratorsRefuse(t *testing.T) {
	script := &pageScript{pages: [][]string{{}}}
	client := clientThrough(t, script)
	search := func(change func(*hotelstays.HotelListRequest)) *hotelstays.HotelListRequest {
		req := &hotelstays.HotelListRequest{HotelIDs: []string{"1"}, CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
		change(req)
		return req
	}
	ctx, cursor := t.Context(), new(int64(7))
	for name, seq := range map[string]iter.Seq2[any, error]{
		"no request to walk":      untyped(client.WalkDestinations(ctx, nil)),
		"no request for metadata": untyped(client.HotelsMetadataAll(ctx, nil)),
		"no request for pages":    untyped(client.HotelListPages(ctx, nil)),
		"no request for batches":  untyped(client.HotelListBatches(ctx, nil)),
		"a cursor for metadata": untyped(client.HotelsMetadataAll(ctx,
			&hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &types.PageReq{Cursor: cursor}})),
		"a cursor for pages": untyped(client.HotelListPages(ctx,
			search(func(r *hotelstays.HotelListRequest) { r.Cursor = cursor }))),
		"a page below 1": untyped(client.HotelListPages(ctx, search(func(r *hotelstays.HotelListRequest) { r.PageNum = -1 }))),
		"too large a page": untyped(client.HotelsMetadataAll(ctx,
			&hotelstays.HotelsMetadataRequest{DestinationID: "d", Page: &types.PageReq{PageSize: 101}})),
		"batches without a date": untyped(client.HotelListBatches(ctx,
			search(func(r *hotelstays.HotelListRequest) { r.CheckIn = "" }))),
		"a walk without a call under way": untyped(client.WalkDestinations(ctx, &hotelstays.DestinationsRequest{},
			hotelstays.WithParallelism(0))),
		"metadata with too much under way": untyped(client.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: "d"},
			hotelstays.WithParallelism(1025))),
		"batches with a wrong call option": untyped(client.HotelListBatches(ctx, search(func(*hotelstays.HotelListRequest) {}),
			hotelstays.WithCurrency("euro"))),
	} {
		_, errs := collect(seq)
		if assert.Len(t, errs, 1, name) {
			var invalid *hotelstays.ValidationError
			assert.ErrorAs(t, errs[0], &invalid, name)
		}
	}
	assert.Zero(t, script.calls)
}

// Whatever the parallelism and whichever answer comes first, each place comes
// once, after its parent.
func TestWalkDestinationsInParallel(t *testing.T) {
	t.Parallel()
	for _, parallelism := range []int{1, 7, 2, 30}[:howMany(t, "parallelisms", 4, 2, 2)] {
		t.Run(fmt.Sprint(parallelism), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.Config{
					Seed: uint64(parallelism), Catalog: hotelstaystest.Catalog{Countries: 5, ProvincesPerCountry: 6, CitiesPerProvince: 7},
				})
				want, errs := collect(client.WalkDestinations(t.Context(), &hotelstays.DestinationsRequest{}))
				require.Empty(t, errs)
				for _, delay := range []time.Duration{100, 700, 1900} {
					srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpDestinations, Kind: hotelstaystest.FaultDelay,
						Delay: delay * time.Millisecond, Probability: 0.3, Times: -1})
				}
				walk := client.WalkDestinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithParallelism(parallelism))
				for range 2 { // ranging again walks again
					before := srv.Ledger().Count(hotelstays.OpDestinations)
					got, errs := collect(walk)
					assert.Empty(t, errs)
					assert.ElementsMatch(t, want, got)
					assert.Equal(t, parallelism == 1, slices.EqualFunc(want, got, func(a, b *types.Destination) bool { return a.ID == b.ID }),
						"one after the other keeps the order")
					assert.Equal(t, 1+len(want), srv.Ledger().Count(hotelstays.OpDestinations)-before)
					seen := map[string]bool{"": true}
					for _, place := range got {
						assert.True(t, seen[place.ParentDestinationID], "parents come first")
						seen[place.ID] = true
					}
				}
				assert.Equal(t, parallelism, mostAtOnce(srv, hotelstays.OpDestinations))
			})
		})
	}
}

// mostAtOnce is how many calls of an operation were under way together at most.
func mostAtOnce(srv *hotelstaystest.Server, op hotelstaystest.Operation) int {
	most := 0
	requests := srv.Ledger().Requests(op)
	for _, r := range requests {
		together := 0
		for _, other := range requests {
			if !other.Arrived.After(r.Arrived) && other.Done.After(r.Arrived) {
				together++
			}
		}
		most = max(most, together)
	}
	return most
}

// Pages come in order, each once, and several of them are under way together as
// soon as the total is known.
func TestHotelsMetadataAllInParallel(t *testing.T) {
	for _, tc := range []struct {
		parallelism int
		noTotals    bool
		elapsed     time.Duration
	}{
		{1, false, 25 * time.Second},
		{2, false, 13 * time.Second},  // the first page, then two at a time
		{5, false, 6 * time.Second},   // the first page, then five at a time
		{100, false, 2 * time.Second}, // the first page, then all
		{5, true, 25 * time.Second},
	} {
		t.Run(fmt.Sprint(tc.parallelism, tc.noTotals), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.Config{
					Variants: hotelstaystest.Variants{NoTotals: tc.noTotals}, Catalog: hotelstaystest.Catalog{HotelsPerCity: 245, UnmatchedEvery: -1},
				})
				srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelsMetadata, Kind: hotelstaystest.FaultDelay, Delay: time.Second,
					Times: -1})
				req := &hotelstays.HotelsMetadataRequest{DestinationID: srv.CityID(0), Page: &types.PageReq{PageSize: 10}}
				list := client.HotelsMetadataAll(t.Context(), req, hotelstays.WithParallelism(tc.parallelism))
				*req = hotelstays.HotelsMetadataRequest{} // the caller's again
				for range 2 {
					before, start := srv.Ledger().Count(hotelstays.OpHotelsMetadata), time.Now()
					hotels, errs := collect(list)
					assert.Empty(t, errs)
					var ids []string
					for _, hotel := range hotels {
						ids = append(ids, hotel.PlatformHotelID)
					}
					assert.Equal(t, srv.HotelIDs(245), ids)
					assert.Equal(t, 25, srv.Ledger().Count(hotelstays.OpHotelsMetadata)-before)
					assert.Equal(t, tc.elapsed, time.Since(start))
				}
			})
		})
	}
}

// oddListing is a listing whose totals need not be true.
type oddListing struct {
	totals []int      // of each page; 0 where there are no more
	pages  [][]string // the hotels of each; more is promised on all but the last
	after  int        // the status of pages after the last, 0 for an empty one
	broken int        // the page that is refused, 0 for none
}

// metadataScript answers HotelsMetadata with an odd listing.
type metadataScript struct {
	oddListing
	mu    sync.Mutex
	asked []int
}

func (s *metadataScript) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	var asked hotelstays.HotelsMetadataRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, err
	}
	num := asked.Page.PageNum
	s.mu.Lock()
	s.asked = append(s.asked, num)
	s.mu.Unlock()
	if num == s.broken || num > len(s.pages) && s.after != 0 {
		resp, err := scripted(r, nil)
		resp.StatusCode = http.StatusBadRequest
		return resp, err
	}
	hotels, total := []map[string]string{}, 0
	if num <= len(s.totals) {
		total = s.totals[num-1]
	}
	if num <= len(s.pages) {
		for _, id := range s.pages[num-1] {
			hotels = append(hotels, map[string]string{"platformHotelId": id})
		}
	}
	return scripted(r, map[string]any{"hotelsMetadata": hotels, "page": map[string]any{"total": total, "hasMore": num < len(s.pages)}})
}

// A total that turns out different misleads nobody: no page is left out, asked
// for twice or yielded twice, and what was fetched in vain is forgotten.
func TestTotalsThatTurnOutDifferent(t *testing.T) {
	a, b, c, d, e := []string{"1", "2"}, []string{"3", "4"}, []string{"5", "6"}, []string{"7", "8"}, []string{"9"}
	all := [][]string{a, b, c, d, e}
	for _, tc := range []struct {
		name   string
		script oddListing
		hotels int
		broken int  // the page of the *PageError, 0 for none
		failed bool // another error
	}{
		{"true", oddListing{totals: []int{9, 9, 9, 9, 9}, pages: all}, 9, 0, false},
		{"none", oddListing{pages: all}, 9, 0, false},
		{"only on the first page", oddListing{totals: []int{9}, pages: all}, 9, 0, false},
		{"only on a later page", oddListing{totals: []int{0, 0, 9}, pages: all}, 9, 0, false},
		{"too low", oddListing{totals: []int{3, 3, 3, 3, 3}, pages: all}, 9, 0, false},
		{"too high, and empty pages after the end", oddListing{totals: []int{99, 99, 99, 99, 99}, pages: all}, 9, 0, false},
		{"too high, and errors after the end", oddListing{totals: []int{99, 99, 99, 99, 99}, pages: all, after: 400}, 9, 0, false},
		{"beyond all numbers", oddListing{totals: []int{math.MaxInt, math.MaxInt}, pages: all, after: 400}, 9, 0, false},
		{"below all numbers", oddListing{totals: []int{-9, math.MinInt}, pages: all}, 9, 0, false},
		{"growing", oddListing{totals: []int{4, 6, 8, 9, 9}, pages: all}, 9, 0, false},
		{"shrinking", oddListing{totals: []int{99, 40, 9, 4, 1}, pages: all, after: 400}, 9, 0, false},
		{"of one page alone", oddListing{totals: []int{99}, pages: all[:1], after: 400}, 2, 0, false},
		{"true, with an empty page in the middle", oddListing{totals: []int{9, 9, 9, 9, 9, 9}, pages: [][]string{a, b, {}, c, d, e}}, 9, 0, false},
		{"true, with a page that repeats", oddListing{totals: []int{9, 9, 9, 9, 9}, pages: [][]string{a, b, c, b, e}}, 6, 4, false},
		{"true, with a page that is refused", oddListing{totals: []int{9, 9, 9, 9, 9}, pages: all, broken: 3}, 4, 0, true},
	} {
		for _, parallelism := range []int{1, 2, 3, 100} {
			t.Run(fmt.Sprint(tc.name, " ", parallelism), func(t *testing.T) {
				script := &metadataScript{oddListing: tc.script}
				client := clientThrough(t, script)
				req := &hotelstays.HotelsMetadataRequest{DestinationID: "place", Page: &types.PageReq{PageSize: 2}}
				hotels, errs := collect(client.HotelsMetadataAll(t.Context(), req, hotelstays.WithParallelism(parallelism)))
				require.Len(t, hotels, tc.hotels)
				for i, hotel := range hotels {
					assert.Equal(t, strconv.Itoa(i+1), hotel.PlatformHotelID)
				}
				switch {
				case tc.broken != 0:
					require.Len(t, errs, 1)
					var broken *hotelstays.PageError
					require.ErrorAs(t, errs[0], &broken)
					assert.Equal(t, tc.broken, broken.PageNum)
				case tc.failed:
					require.Len(t, errs, 1)
					var refused *hotelstays.APIError
					require.ErrorAs(t, errs[0], &refused)
				default:
					assert.Empty(t, errs)
				}
				slices.Sort(script.asked)
				assert.Len(t, slices.Compact(slices.Clone(script.asked)), len(script.asked), "no page twice")
				if parallelism == 1 {
					assert.LessOrEqual(t, len(script.asked), len(script.pages), "no page in vain")
				}
			})
		}
	}
}

// parallelLists are the iterators with four calls under way, against a sandbox of
// which every call takes a second.
var parallelLists = []struct {
	name string
	op   hotelstaystest.Operation
	list func(context.Context, *hotelstaystest.Server, *hotelstays.Client) iter.Seq2[any, error]
}{
	{"WalkDestinations", hotelstays.OpDestinations, func(ctx context.Context, _ *hotelstaystest.Server,
		c *hotelstays.Client) iter.Seq2[any, error] {
		return untyped(c.WalkDestinations(ctx, &hotelstays.DestinationsRequest{}, hotelstays.WithParallelism(4)))
	}},
	{"HotelsMetadataAll", hotelstays.OpHotelsMetadata, func(ctx context.Context, srv *hotelstaystest.Server,
		c *hotelstays.Client) iter.Seq2[any, error] {
		return untyped(c.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: srv.CityID(0),
			Page: &types.PageReq{PageSize: 50}}, hotelstays.WithParallelism(4)))
	}},
}

// parallelList is one of them in a bubble of its own.
type parallelList struct {
	srv  *hotelstaystest.Server
	op   hotelstaystest.Operation
	list func(context.Context) iter.Seq2[any, error]

	started, ended atomic.Int32 // calls of op
}

func (l *parallelList) CallStart(ctx context.Context, start hotelstays.CallStart) context.Context {
	if string(start.Operation) == string(l.op) {
		l.started.Add(1)
	}
	return ctx
}

func (l *parallelList) CallEnd(_ context.Context, info hotelstays.CallInfo) {
	if string(info.Operation) == string(l.op) {
		l.ended.Add(1)
	}
}

func forParallelLists(t *testing.T, test func(*testing.T, *parallelList)) {
	for _, tc := range parallelLists {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, _ := newSandbox(t, hotelstaystest.Config{Catalog: hotelstaystest.Catalog{
					Countries: 12, ProvincesPerCountry: 50, CitiesPerProvince: 1, HotelsPerCity: 500}})
				l := &parallelList{srv: srv, op: tc.op}
				client := newClient(t, srv, ticketOf(srv), hotelstays.WithObserver(hotelstays.Observer{CallStart: l.CallStart, CallEnd: l.CallEnd}))
				l.list = func(ctx context.Context) iter.Seq2[any, error] { return tc.list(ctx, srv, client) }
				require.NoError(t, operationCalls[hotelstays.OpHotelIDList](t.Context(), client)) // fetches the token
				srv.Inject(hotelstaystest.Fault{Operation: tc.op, Kind: hotelstaystest.FaultDelay, Delay: time.Second, Times: -1})
				test(t, l)
			})
		})
	}
}

// Nothing is called before the loop. Leaving it stops what is under way without
// waiting for the service, and leaves no call behind.
func TestParallelIteratorsBrokenOff(t *testing.T) {
	forParallelLists(t, func(t *testing.T, l *parallelList) {
		for _, values := range []int{1, 60, 260} {
			seq, before := l.list(t.Context()), l.started.Load()
			synctest.Wait()
			require.Equal(t, before, l.started.Load())
			var left time.Time
			var made int32
			n := 0
			for _, err := range seq {
				require.NoError(t, err)
				if n++; n == values {
					time.Sleep(500 * time.Millisecond) // in the middle of the calls that are under way
					left, made = time.Now(), l.started.Load()
					break
				}
			}
			assert.Zero(t, time.Since(left))
			assert.Equal(t, made, l.started.Load(), "no call is made any more")
			assert.Equal(t, made, l.ended.Load(), "and none is left")
		}
	})
}

// A loop that does not go on holds the calls up.
func TestParallelIteratorsWaitForTheLoop(t *testing.T) {
	forParallelLists(t, func(t *testing.T, l *parallelList) {
		n, sent := 0, 0
		for _, err := range l.list(t.Context()) {
			require.NoError(t, err)
			if n++; n == 60 {
				time.Sleep(time.Hour)
				sent = l.srv.Ledger().Count(l.op)
			}
		}
		assert.GreaterOrEqual(t, n, 500)
		assert.GreaterOrEqual(t, sent, 1+4, "while the loop is busy the calls go on")
		assert.LessOrEqual(t, sent, 1+2*4, "and not for ever: four answers wait, and four more were under way")
	})
}

// An error comes once, after what was read before it, and ends the loop; the calls
// beside it are stopped, and no more are made.
func TestParallelIteratorsFail(t *testing.T) {
	forParallelLists(t, func(t *testing.T, l *parallelList) {
		l.srv.ClearFaults()
		l.srv.Inject(hotelstaystest.Fault{Operation: l.op, Kind: hotelstaystest.FaultStatus, Status: 400, Skip: 6})
		l.srv.Inject(hotelstaystest.Fault{Operation: l.op, Kind: hotelstaystest.FaultDelay, Delay: 30 * time.Second, Skip: 6, Times: -1})
		start := time.Now()
		values, errs := collect(l.list(t.Context()))
		assert.NotEmpty(t, values)
		require.Len(t, errs, 1)
		assert.ErrorIs(t, errs[0], hotelstays.ErrParam)
		assert.LessOrEqual(t, time.Since(start), 30*time.Second, "at most a page before the error was waited for")
		most := int32(6 + 1 + 3) // three at most were under way beside it
		if l.op == hotelstays.OpHotelsMetadata {
			most += 3 // the pages before it were waited for, and others were begun meanwhile
		}
		assert.LessOrEqual(t, l.started.Load(), most)
		assert.Equal(t, l.started.Load(), l.ended.Load())
	})
}

// ctx ending ends the loop with one error, at once.
func TestParallelIteratorsCancelled(t *testing.T) {
	forParallelLists(t, func(t *testing.T, l *parallelList) {
		for _, after := range []time.Duration{0, 500 * time.Millisecond, 2500 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			start := time.Now()
			values, errs := collect(l.list(ctx))
			cancel()
			assert.Equal(t, after, time.Since(start))
			assert.Equal(t, after < time.Second, len(values) == 0)
			if assert.Len(t, errs, 1) {
				assert.ErrorIs(t, errs[0], context.DeadlineExceeded)
			}
			assert.Equal(t, l.started.Load(), l.ended.Load())
		}
	})
}
