// HotelList, HotelListPages and HotelListBatches.

package hotelstays_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// If basic names no session, the client takes the session from the header of the answer. An answer with neither a readable
// basic nor this header is an error.
func TestSessionMayComeInTheHeader(t *testing.T) {
	for data, want := range map[string][2]string{ // the session with the header Session-Id, and the session without this header
		`{"list":[],"basic":{"sessionId":"of basic"}}`:                   {"of basic", "of basic"},
		`{"list":[],"basic":{"statusRemark":"none"}}`:                    {"of the header", ""},
		`{"list":[],"basic":null}`:                                       {"of the header", "unreadable"},
		`{"list":[]}`:                                                    {"of the header", "unreadable"},
		`{"list":[],"basic":{"sessionId":true,"statusRemark":"none"}}`:   {"of the header", "unreadable"},
		`{"list":[],"basic":{"sessionId":{"id":"of"},"destination":{}}}`: {"of the header", "unreadable"},
		`{"list":[],"basic":{"sessionId":7}}`:                            {"7", "7"},
	} {
		for i, header := range [][]string{{"Session-Id", "of the header"}, nil} {
			resp, err := clientThrough(t, answering(200, `{"code":0,"data":`+data+`}`, header...)).HotelList(t.Context(), anySearch())
			if want[i] == "unreadable" {
				assert.ErrorAs(t, err, new(*hotelstays.DecodeError), data)
				continue
			}
			require.NoError(t, err, data)
			assert.Equal(t, want[i], resp.Basic.SessionID, data)
		}
	}
}

// If the service announces more items than it delivers, the listing fails, because a list that ends early would look
// complete. If no page has hasMore, the total says whether the list is complete. Without a total, an empty or a repeated page
// ends the listing.
func TestIncompleteListingIsAnError(t *testing.T) {
	a, b, c, last, none := []string{"1", "2"}, []string{"3", "4"}, []string{"5"}, []string{"5", "6"}, make([][]string, 10)
	metadata := func(parallelism int) func(context.Context, *hotelstays.Client, int) iter.Seq2[any, error] {
		return func(ctx context.Context, client *hotelstays.Client, first int) iter.Seq2[any, error] {
			return untyped(client.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: "place",
				Page: &types.PageReq{PageNum: first, PageSize: 2}}, hotelstays.WithParallelism(parallelism)))
		}
	}
	const inSessions = "HotelListPages"
	for listing, start := range map[string]func(context.Context, *hotelstays.Client, int) iter.Seq2[any, error]{
		"HotelsMetadataAll": metadata(1), "HotelsMetadataAll, three at a time": metadata(3),
		inSessions: func(ctx context.Context, client *hotelstays.Client, first int) iter.Seq2[any, error] {
			return untyped(client.HotelListPages(ctx, &hotelstays.HotelListRequest{SessionID: "session-0", DestinationID: "place", CheckIn: checkIn,
				CheckOut: checkOut, RoomOccupancies: twoAdults(), PageNum: first, PageSize: 2}))
		},
	} {
		for _, tc := range []struct {
			name      string
			first     int
			pages     [][]string
			calls     int
			repeats   bool
			fails     bool
			noHasMore bool
			total     int
		}{
			{"no hasMore, and a total", 0, [][]string{a, b, c}, 3, false, false, true, 5},
			{"a total, from the second page on", 2, [][]string{a, b, last, {}}, 2, false, false, true, 6},
			{"a total, with an empty page", 0, [][]string{a, {}, b, c}, 4, false, false, true, 5},
			{"no hasMore, and a total that is not reached", 0, [][]string{a}, 12, false, true, true, 250},
			{"a total, with an item that was left out", 0, [][]string{a, {"3", "!"}, {}}, 3, false, false, true, 5},
			{"a total that is reached without an item that was left out", 0, [][]string{a, {"3", "!"}, b}, 3, false, false, true, 5},
			{"neither hasMore nor a total", 0, [][]string{a, b, c}, 4, false, false, true, 0},
			{"neither hasMore nor a total, and the same page for every number", 0, [][]string{a, a}, 2, false, false, true, 0},
			{"neither hasMore nor a total, and an empty first page", 0, [][]string{{}}, 1, false, false, true, 0},
			{"hasMore is false, and a larger total", 0, [][]string{a, b, c}, 3, false, false, false, 250},
			{"a last page that repeats", 0, [][]string{a, b, a}, 3, false, false, false, 0},
			{"ten empty pages, twice", 0, slices.Concat(none, [][]string{a}, none, [][]string{c}), 22, false, false, false, 0},
			{"eleven empty pages", 0, slices.Concat([][]string{a, {}}, none, [][]string{c}), 12, false, true, false, 0},
			{"eleven empty pages at the end", 0, slices.Concat([][]string{a}, none, [][]string{{}}), 12, false, false, false, 0},
			{"a page that repeats", 0, [][]string{a, a, c}, 2, true, true, false, 0},
			{"pages that repeat in a circle", 0, [][]string{a, b, a, b, c}, 3, true, true, false, 0},
			{"the same items in another order", 0, [][]string{a, {"2", "1"}, c}, 3, false, false, false, 0},
			{"pages with ids, and pages with only platform ids", 0, [][]string{a, b, {"/3", "/4"}, {"/5", "/6"}, c}, 5, false, false, false, 0},
			{"ids that are equal only when joined", 0, [][]string{{"1/2", "3"}, {"1", "23"}, c}, 3, false, false, false, 0},
		} {
			t.Run(listing+": "+tc.name, func(t *testing.T) {
				script := &pageScript{pages: tc.pages, noHasMore: tc.noHasMore, total: tc.total}
				_, errs := collect(start(t.Context(), clientThrough(t, script), tc.first))
				if !strings.Contains(listing, "three") { // with three fetches at a time, the client may ask for more pages
					assert.Len(t, script.asked, tc.calls)
				}
				for i, session := range script.sessions {
					assert.Equal(t, listing == inSessions, session == fmt.Sprint("session-", append([]int{0}, script.asked...)[i]),
						"HotelListPages sends the session of the previous answer")
				}
				if !tc.fails {
					assert.Empty(t, errs)
					return
				}
				require.Len(t, errs, 1)
				broken := errorAs[*hotelstays.PageError](t, errs[0])
				assert.Equal(t, tc.calls, broken.PageNum)
				assert.Equal(t, tc.repeats, broken.Repeats)
				assert.Contains(t, listing, string(broken.Operation))
				assert.ErrorContains(t, broken, "incomplete")
				assert.Equal(t, fmt.Sprint("request-", tc.calls), broken.RequestID)
			})
		}
	}
}

// batchWorld starts a sandbox whose hotels have one rate each, and returns a search of many hotels.
func batchWorld(t *testing.T, ids int, config ...hotelstaystest.Config) (*hotelstaystest.Server, *hotelstays.Client,
	*hotelstays.HotelListRequest) {
	c := append(config, hotelstaystest.Config{})[0]
	c.Catalog = hotelstaystest.Catalog{HotelsPerCity: 100, EmptyEvery: -1, UnmatchedEvery: -1, RoomsPerHotel: 1, RatesPerRoom: 1}
	srv, client := newSandbox(t, c)
	search := &hotelstays.HotelListRequest{HotelIDs: srv.HotelIDs(ids), CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
	require.Len(t, search.HotelIDs, ids)
	return srv, client, search
}

// pricedIDs returns the sorted ids of the hotels on pages, and asserts that each hotel has a price.
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

func failedIDs(t *testing.T, errs []error) (ids []string) {
	t.Helper()
	for _, err := range errs {
		batch := errorAs[*hotelstays.BatchError](t, err)
		ids = append(ids, batch.HotelIDs...)
	}
	return ids
}

func TestHotelListBatchesReturnsEachHotelOnce(t *testing.T) {
	for _, tc := range []struct {
		name     string
		ids      int
		opts     []hotelstays.CallOption
		band     bool
		batches  int
		requests int
		pageSize int
	}{
		{"a sandbox with a visibility band", 250, nil, true, 2, 2, 0},
		{"batches of 300, which take two pages", 350, []hotelstays.CallOption{hotelstays.WithBatchSize(300)}, false, 2, 3, 0},
		{"the caller's page size", 150, []hotelstays.CallOption{hotelstays.WithBatchSize(100)}, false, 2, 8, 20},
		{"one hotel", 1, nil, false, 1, 1, 0},
		{"a batch for each hotel, above the rate limit", 130,
			[]hotelstays.CallOption{hotelstays.WithBatchSize(1), hotelstays.WithParallelism(130)}, false, 130, 130, 0},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			srv, client, search := batchWorld(t, tc.ids, hotelstaystest.Config{VisibilityBand: tc.band})
			search.PageSize = tc.pageSize
			given := *search
			given.HotelIDs = slices.Clone(search.HotelIDs)
			seq := client.HotelListBatches(t.Context(), search, tc.opts...)
			assert.Zero(t, srv.Ledger().Count(""), "no request is sent before the loop")
			pages, errs := collect(seq)
			assert.Empty(t, errs)
			assert.Equal(t, given.HotelIDs, pricedIDs(t, pages), "each hotel is priced once")
			assert.Equal(t, given, *search, "the caller's request is not changed")
			assert.Equal(t, tc.requests, srv.Ledger().Count(hotelstays.OpHotelList))
			assert.Zero(t, srv.Ledger().RateLimited(""))

			sessions := map[string]bool{}
			for _, page := range pages {
				sessions[page.Basic.SessionID] = true
			}
			assert.Len(t, sessions, tc.batches, "every batch has its own session")
		})
	}
}

func TestFailedBatchNamesItsHotels(t *testing.T) {
	for _, tc := range []struct {
		name     string
		fault    hotelstaystest.Fault
		opts     []hotelstays.CallOption
		lost     []int // the first and the last index of the ids in the failed batch; nil: any batch
		kept     int   // the number of pages of the failed batch that came before the error
		requests int
	}{
		{"refused", hotelstaystest.Fault{Status: 400, Skip: 2}, nil, nil, 0, 13},
		{"a batch that fails at each attempt", hotelstaystest.Fault{Status: 503, Skip: 2, Times: 4},
			[]hotelstays.CallOption{hotelstays.WithParallelism(1)}, []int{20, 30}, 0, 16},
		{"a batch whose third page is refused", hotelstaystest.Fault{Status: 400, Skip: 7},
			[]hotelstays.CallOption{hotelstays.WithParallelism(1), hotelstays.WithBatchSize(50)}, []int{50, 100}, 2, 11},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			srv, client, search := batchWorld(t, 125)
			search.PageSize = 10
			opts := append([]hotelstays.CallOption{hotelstays.WithBatchSize(10)}, tc.opts...)
			tc.fault.Operation, tc.fault.Kind = hotelstays.OpHotelList, hotelstaystest.FaultStatus
			srv.Inject(tc.fault)
			pages, errs := collect(client.HotelListBatches(t.Context(), search, opts...))
			require.Len(t, errs, 1)
			api := errorAs[*hotelstays.APIError](t, errs[0])
			assert.Equal(t, tc.fault.Status, api.HTTPStatus)
			assert.Equal(t, tc.requests, srv.Ledger().Count(hotelstays.OpHotelList))

			failed := failedIDs(t, errs)
			if tc.lost != nil {
				assert.Equal(t, search.HotelIDs[tc.lost[0]:tc.lost[1]], failed)
			}
			at := slices.Index(search.HotelIDs, failed[0])
			assert.Equal(t, search.HotelIDs[at:at+len(failed)], failed, "the ids of one whole batch, in order")
			priced := pricedIDs(t, pages)
			missing := slices.DeleteFunc(slices.Clone(search.HotelIDs), func(id string) bool {
				_, found := slices.BinarySearch(priced, id)
				return found
			})
			assert.Equal(t, failed[tc.kept*search.PageSize:], missing, "all other hotels are priced")
			assert.Len(t, priced, len(search.HotelIDs)-len(missing))
		})
	}
}

// synctest.Test fails if a goroutine still runs at the end.
func TestBreakStopsAllBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client, search := batchWorld(t, 125)
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultDelay, Skip: 1, Delay: time.Minute,
			Times: -1})
		start := time.Now()
		for _, err := range client.HotelListBatches(t.Context(), search, hotelstays.WithBatchSize(10)) {
			require.NoError(t, err)
			break
		}
		assert.Zero(t, time.Since(start), "leaving the loop waits for no call")
		synctest.Wait() // wait until the requests that were already sent arrive
		sent := srv.Ledger().Count(hotelstays.OpHotelList)
		assert.LessOrEqual(t, sent, 9, "eight at first, and one more after the first answer")
		time.Sleep(time.Hour)
		assert.Equal(t, sent, srv.Ledger().Count(hotelstays.OpHotelList))
	})
}

// Each hotel is either in a page or in the error of its batch.
func TestErrorsOfCancelledBatchesNameTheirHotels(t *testing.T) {
	for _, after := range []time.Duration{0, 1500 * time.Millisecond, time.Minute} {
		inBubble(t, after.String(), func(t *testing.T) {
			srv, client, search := batchWorld(t, 125)
			_, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{}) // a token request at the end could outlive the test
			require.NoError(t, err)
			srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultDelay, Delay: time.Second, Times: -1})
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(after, cancel).Stop()
			pages, errs := collect(client.HotelListBatches(ctx, search, hotelstays.WithParallelism(2), hotelstays.WithBatchSize(10)))
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
	}
}

func TestTextOfABatchErrorHasEachPartOnce(t *testing.T) {
	cause := &hotelstays.APIError{Operation: hotelstays.OpHotelList, HTTPStatus: 429, Code: types.CodeRateLimited, Msg: "slow down",
		RequestID: "r-1"}
	err := &hotelstays.BatchError{HotelIDs: []string{"1", "2"}, Err: cause}
	assert.EqualError(t, err, "hotelstays: a batch of 2 hotels failed: "+strings.TrimPrefix(cause.Error(), "hotelstays: "))
	for _, part := range []string{"hotelstays: ", "HotelList", "slow down", "r-1"} {
		assert.Equal(t, 1, strings.Count(err.Error(), part), part)
	}
}
