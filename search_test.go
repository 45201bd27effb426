// Searches against the sandbox, and HotelListPages.

package hotelstays_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestHotelListSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		provinces, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{CountryCode: "AE"})
		require.NoError(t, err)
		metadata, err := client.HotelsMetadata(t.Context(), &hotelstays.HotelsMetadataRequest{DestinationID: srv.CityID(1)})
		require.NoError(t, err)
		platform, source := srv.HotelIDs(3), []string{metadata.HotelsMetadata[0].HotelID, metadata.HotelsMetadata[1].HotelID}
		for _, tc := range []struct {
			name   string
			req    hotelstays.HotelListRequest
			hotels int
		}{
			{"platform ids", hotelstays.HotelListRequest{HotelIDs: platform}, 3},
			{"source ids", hotelstays.HotelListRequest{HotelIDs: source}, 2},
			{"both", hotelstays.HotelListRequest{HotelIDs: append(source, platform...)}, 5},
			{"a city", hotelstays.HotelListRequest{DestinationID: srv.CityID(0)}, 12},
			{"a province", hotelstays.HotelListRequest{DestinationID: provinces.Destinations[0].ID}, 39},
			{"a city's name", hotelstays.HotelListRequest{DestinationName: srv.CityName(0)}, 12},
			{"ids with a city", hotelstays.HotelListRequest{HotelIDs: append(source, platform...), DestinationID: srv.CityID(1)}, 2},
			{"an empty city", hotelstays.HotelListRequest{DestinationID: srv.CityID(4)}, 0},
			{"ids of another platform", hotelstays.HotelListRequest{HotelIDs: []string{"12345", "PH1"}}, 0},
			{"some ids of another platform", hotelstays.HotelListRequest{HotelIDs: []string{"12345", platform[0]}}, 1},
			{"a destination of another platform", hotelstays.HotelListRequest{DestinationID: "6d8a"}, 0},
			{"a name that no city has", hotelstays.HotelListRequest{DestinationName: "nowhere"}, 0},
		} {
			tc.req.CheckIn, tc.req.CheckOut, tc.req.RoomOccupancies = checkIn, checkOut, twoAdults()
			resp, err := client.HotelList(t.Context(), &tc.req)
			require.NoError(t, err, tc.name)
			assert.Len(t, resp.List, tc.hotels, tc.name)
			assert.Equal(t, tc.hotels, resp.Total, tc.name)
			assert.False(t, resp.HasMore, tc.name)
			assert.NotEmpty(t, resp.Basic.SessionID, tc.name)
			assert.Nil(t, resp.Basic.EmptyReason, tc.name)
			assert.False(t, resp.Basic.EmptyReason.Retryable(), tc.name)
		}
	})
}

func TestHotelListHotel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		resp, err := client.HotelList(t.Context(), searchCity(srv))
		require.NoError(t, err)
		assert.Equal(t, srv.CityID(0), resp.Basic.Destination.ID)
		hotel := resp.List[0]
		assert.Equal(t, srv.HotelIDs(1)[0], hotel.PlatformHotelID)
		assert.NotEqual(t, hotel.PlatformHotelID, hotel.ID)
		assert.True(t, *hotel.IsAvailable)
		assert.Len(t, hotel.MinPricesByCurrency, 3)
		require.Len(t, hotel.Rooms, 3)
		for _, room := range hotel.Rooms {
			assert.Equal(t, hotel.ID, room.HotelID)
			assert.NotEmpty(t, room.RoomTypeID)
			assert.NotEmpty(t, room.RoomTypeName.EN)
			require.Len(t, room.Rates, 4)
			for _, rate := range room.Rates {
				assert.NotEmpty(t, rate.RatePkgID)
				assert.Contains(t, []types.RefundableMode{types.RefundableFull, types.RefundablePartial, types.RefundableNo}, rate.RefundableMode)
				assert.Equal(t, checkIn, rate.CheckIn)
				assert.Equal(t, checkOut, rate.CheckOut)
				assert.Equal(t, rate.Rate, rate.TotalRate, "one room")
				assert.NotEmpty(t, rate.CancelFees)
				assert.NotEmpty(t, rate.Board.BoardID)
				assert.Len(t, rate.Tax.Items, 2)
				assert.NotEmpty(t, rate.OriginalRoomNaming.Name)
				if rate.RefundableMode == types.RefundableFull {
					assert.Equal(t, types.Timestamp("2000-03-07T18:00:00Z"), rate.RefundableUntil)
					assert.Equal(t, types.Money{Currency: "USD", Amount: "0.00"}, rate.CancelFees[0].Fee)
				}
			}
		}
	})
}

// An empty list says whether suppliers had nothing, or the account could ask none.
func TestHotelListEmptyReason(t *testing.T) {
	for _, tc := range []struct {
		code  types.EmptyReasonCode
		retry bool
	}{
		{types.EmptyReasonNoSupplierEnabled, false},
		{types.EmptyReasonNoSupplierPermitted, false},
		{types.EmptyReasonAllSuppliersExcluded, false},
		{types.EmptyReasonNoSupplierAnswered, true},
	} {
		t.Run(string(tc.code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.Config{
					Notices: []string{"one"},
					EmptyReason: &types.EmptyReason{
						Code: tc.code, Suppliers: []types.EmptyReasonSupplier{{SupplierCode: "A", Reason: "off"}},
					},
				})
				resp, err := client.HotelList(t.Context(), searchCity(srv))
				require.NoError(t, err)
				assert.Empty(t, resp.List)
				assert.Zero(t, resp.Total)
				require.NotNil(t, resp.Basic.EmptyReason)
				assert.Equal(t, tc.code, resp.Basic.EmptyReason.Code)
				assert.Equal(t, tc.retry, resp.Basic.EmptyReason.Retryable())
				assert.Equal(t, []types.EmptyReasonSupplier{{SupplierCode: "A", Reason: "off"}}, resp.Basic.EmptyReason.Suppliers)
				assert.NotEmpty(t, resp.Basic.StatusRemark)
				assert.Empty(t, resp.Basic.Notices, "never together with an empty reason")
			})
		})
	}
}

func TestHotelListNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.Config{
			Notices: []string{"No prices in this currency from one supplier."}, Catalog: hotelstaystest.Catalog{HotelsPerCity: 2001},
		})
		search := searchCity(srv)
		search.PageSize = 1
		resp, err := client.HotelList(t.Context(), search)
		require.NoError(t, err)
		assert.Len(t, resp.List, 1)
		assert.NotEmpty(t, resp.Basic.StatusRemark)
		assert.Nil(t, resp.Basic.EmptyReason)
		require.Len(t, resp.Basic.Notices, 2)
		assert.Contains(t, resp.Basic.Notices[0], "expanded to 2000 of its 2001 hotels")
		assert.Equal(t, "No prices in this currency from one supplier.", resp.Basic.Notices[1])
	})
}

func TestHotelListMaxRatesPerHotel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		for most, want := range map[int]int{0: 12, 1: 1, 3: 3, 100: 12} {
			search := searchCity(srv)
			search.MaxRatesPerHotel = most
			resp, err := client.HotelList(t.Context(), search)
			require.NoError(t, err)
			for _, hotel := range resp.List {
				count, seen := 0, false
				for _, room := range hotel.Rooms {
					count += len(room.Rates)
					for _, rate := range room.Rates {
						seen = seen || rate.TotalRate.NetRate.Equal(*hotel.MinPrice)
					}
				}
				assert.Equal(t, want, count)
				assert.True(t, seen, "the cheapest rate is among those kept")
			}
		}
	})
}

func TestHotelListSortBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		var centre types.DestinationCoordinates
		distance := func(h *types.Hotel) float64 {
			lat, lng := h.LatlngCoordinator.Google.Lat-centre.CenterLat, h.LatlngCoordinator.Google.Lng-centre.CenterLng
			return lat*lat + lng*lng
		}
		price := func(h *types.Hotel) float64 {
			f, _ := h.MinPrice.Amount.Float64()
			return f
		}
		for _, tc := range []struct {
			by    types.SortBy
			value func(*types.Hotel) float64
		}{
			{types.SortPriceAsc, price},
			{types.SortPriceDesc, func(h *types.Hotel) float64 { return -price(h) }},
			{types.SortRatingDesc, func(h *types.Hotel) float64 { return -*h.Rating }},
			{types.SortDistanceAsc, distance},
		} {
			search := searchCity(srv)
			search.SortBy = tc.by
			resp, err := client.HotelList(t.Context(), search)
			require.NoError(t, err)
			centre = *resp.Basic.Destination.Coordinates
			values := make([]float64, len(resp.List))
			for i := range resp.List {
				values[i] = tc.value(&resp.List[i])
			}
			assert.IsNonDecreasing(t, values, tc.by)
			assert.NotEqual(t, values[0], values[len(values)-1], tc.by)
		}
		search := searchCity(srv)
		search.SortBy = "an order of the service's own"
		_, err := client.HotelList(t.Context(), search)
		assert.NoError(t, err, "the field is free-form")
	})
}

func TestHotelListPaging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.Config{
			Catalog: hotelstaystest.Catalog{HotelsPerCity: 210, RoomsPerHotel: 1, RatesPerRoom: 1},
		})
		for _, tc := range []struct {
			num, size, count int
			more             bool
		}{
			{0, 0, 50, true},
			{1, 0, 50, true},
			{5, 0, 10, false},
			{6, 0, 0, false},
			{1, 200, 200, true},
			{2, 200, 10, false},
		} {
			search := searchCity(srv)
			search.PageNum, search.PageSize = tc.num, tc.size
			resp, err := client.HotelList(t.Context(), search)
			require.NoError(t, err)
			assert.Len(t, resp.List, tc.count)
			assert.Equal(t, 210, resp.Total)
			assert.Equal(t, tc.more, resp.HasMore)
		}
	})
}

func TestHotelListSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		search := searchCity(srv)
		first, err := client.HotelList(t.Context(), search)
		require.NoError(t, err)
		other, err := client.HotelList(t.Context(), search)
		require.NoError(t, err)
		assert.NotEqual(t, first.Basic.SessionID, other.Basic.SessionID, "a search opens its own session")
		assert.Equal(t, first.Basic.SessionID, first.Meta.SessionID)

		search.SessionID = first.Basic.SessionID
		again, err := client.HotelList(t.Context(), search)
		require.NoError(t, err)
		assert.Equal(t, first.Basic.SessionID, again.Basic.SessionID)
		assert.Equal(t, first.List, again.List)

		search.SessionID = "made up"
		_, err = client.HotelList(t.Context(), search)
		assert.ErrorIs(t, err, hotelstays.ErrParam)
	})
}

// The session is in basic or, where that does not name one, in the header of the answer.
// Without basic the header must have it.
func TestHotelListSessionOfTheHeader(t *testing.T) {
	for data, want := range map[string]string{
		`{"list":[],"basic":{"sessionId":"of basic"}}`: "of basic",
		`{"list":[],"basic":{}}`:                       "of the header",
		`{"list":[],"basic":null}`:                     "of the header",
		`{"list":[]}`:                                  "of the header",
	} {
		client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
			resp := reply(200, `{"code":0,"data":`+data+`}`)
			resp.Header.Set("Session-Id", "of the header")
			return resp, nil
		}))
		resp, err := client.HotelList(t.Context(), &hotelstays.HotelListRequest{HotelIDs: []string{"h"}, CheckIn: checkIn, CheckOut: checkOut,
			RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}})
		require.NoError(t, err, data)
		assert.Equal(t, want, resp.Basic.SessionID, data)
	}
	for data, missing := range map[string]bool{
		`{"list":[],"basic":{"statusRemark":"none today"}}`: false, // basic need not name a session
		`{"list":[],"basic":null}`:                          true,
		`{"list":[]}`:                                       true,
	} {
		client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
			return reply(200, `{"code":0,"data":`+data+`}`), nil
		}))
		var unreadable *hotelstays.DecodeError
		assert.Equal(t, missing, errors.As(operationCalls[hotelstays.OpHotelList](t.Context(), client), &unreadable), data)
	}
}

func TestHotelRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		list, err := client.HotelList(t.Context(), searchCity(srv))
		require.NoError(t, err)
		rates := hotelstays.HotelRatesRequest{SessionID: list.Basic.SessionID, HotelID: list.List[0].PlatformHotelID,
			CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
		resp, err := client.HotelRates(t.Context(), &rates)
		require.NoError(t, err)
		assert.Equal(t, list.List[0].Rooms, resp.Rooms, "the offers are those of the search")

		foreign := rates
		foreign.HotelID = "12345"
		resp, err = client.HotelRates(t.Context(), &foreign)
		require.NoError(t, err)
		assert.Empty(t, resp.Rooms)

		rates.SessionID = "made up"
		_, err = client.HotelRates(t.Context(), &rates)
		assert.ErrorIs(t, err, hotelstays.ErrParam)
	})
}

// How many ids a search may name depends on the account, so the service refuses
// what the client cannot know.
func TestHotelIDLimits(t *testing.T) {
	for _, tc := range []struct {
		name   string
		band   bool
		ids    int
		refuse error
	}{
		{"200 with a visibility band", true, 200, nil},
		{"201 with a visibility band", true, 201, hotelstays.ErrParam},
		{"1000 without", false, 1000, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.Config{VisibilityBand: tc.band})
				search := hotelstays.HotelListRequest{CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()}
				for i := range tc.ids {
					search.HotelIDs = append(search.HotelIDs, fmt.Sprint("other-", i))
				}
				_, err := client.HotelList(t.Context(), &search)
				if tc.refuse == nil {
					assert.NoError(t, err)
				} else {
					assert.ErrorIs(t, err, tc.refuse)
				}
				assert.Equal(t, 1, srv.Ledger().Count(hotelstays.OpHotelList))
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
				srv, client := newSandbox(t, hotelstaystest.Config{
					Catalog: hotelstaystest.Catalog{HotelsPerCity: 210, RoomsPerHotel: 1, RatesPerRoom: 1, UnmatchedEvery: -1},
				})
				given := searchCity(srv)
				given.PageNum, given.PageSize = tc.num, tc.size
				if tc.session {
					given.SessionID = findOffer(t, srv, client, 0).Session
				}
				want, before := *given, srv.Ledger().Count(hotelstays.OpHotelList)
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
				requests := srv.Ledger().Requests(hotelstays.OpHotelList)[before:]
				require.Len(t, requests, tc.calls)
				assert.Equal(t, given.SessionID, requests[0].Header.Get("Session-Id"))
				for _, r := range requests[1:] {
					assert.Equal(t, pages[0].Basic.SessionID, r.Header.Get("Session-Id"), "the sandbox keeps the first one's session")
				}
			})
		})
	}
}

// pageScript answers listings with fixed pages: each item is a hotel's id, and
// every page but the last promises more.
type pageScript struct {
	pages    [][]string
	calls    int
	sessions []string // that were sent; each answer has another one
}

func (s *pageScript) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body.Close()
	ids := s.pages[min(s.calls, len(s.pages)-1)]
	s.calls++
	s.sessions = append(s.sessions, r.Header.Get("Session-Id"))
	hotels := []map[string]string{}
	for _, id := range ids {
		id, platform, _ := strings.Cut(id, "/")
		hotels = append(hotels, map[string]string{"id": id, "hotelId": id, "platformHotelId": platform})
	}
	more := s.calls < len(s.pages)
	resp, err := scripted(r, map[string]any{
		"list": hotels, "basic": map[string]any{"sessionId": fmt.Sprint("session-", s.calls)}, "hasMore": more,
		"hotelsMetadata": hotels, "page": map[string]any{"hasMore": more},
	})
	resp.Header.Set("Request-Id", fmt.Sprint("request-", s.calls))
	return resp, err
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
			return untyped(client.HotelListPages(ctx, &hotelstays.HotelListRequest{SessionID: "session-0", DestinationID: "place", CheckIn: checkIn,
				CheckOut: checkOut, RoomOccupancies: twoAdults()}))
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
			{"an empty page in the middle", [][]string{a, {}, c}, 3, false, false},
			{"eleven empty pages", slices.Concat([][]string{a}, make([][]string, 11), [][]string{c}), 12, false, true},
			{"a page that repeats", [][]string{a, a, c}, 2, true, true},
			{"pages without platform ids, and with them alone", [][]string{a, b, {"/3", "/4"}, {"/5", "/6"}, c}, 5, false, false},
			{"items that read alike in a row", [][]string{{"1/2", "3"}, {"1", "23"}, c}, 3, false, false},
		} {
			t.Run(listing+": "+tc.name, func(t *testing.T) {
				script := &pageScript{pages: tc.pages}
				client := clientThrough(t, script)
				_, errs := collect(start(t.Context(), client))
				assert.Equal(t, tc.calls, script.calls)
				for i, session := range script.sessions {
					assert.Equal(t, listing == "HotelListPages", session == fmt.Sprint("session-", i), "that of the answer before it")
				}
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
				assert.Equal(t, fmt.Sprint("request-", tc.calls), broken.RequestID)
			})
		}
	}
}
