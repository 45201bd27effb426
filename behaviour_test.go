// Every operation against the sandbox: what comes back when all is well, and
// which error it is when the service refuses.

package hotelstays_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
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

func TestTicketPair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		for _, tc := range []struct {
			key, secret string
			accepted    bool
		}{
			{srv.AppKey, srv.AppSecret, true},
			{srv.AppKey, "another secret", false},
			{"another-key", srv.AppSecret, false},
		} {
			resp, err := client.Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: tc.key, AppSecret: types.NewSecret(tc.secret)})
			if tc.accepted {
				require.NoError(t, err)
				assert.Len(t, strings.Split(resp.Ticket.Reveal(), "."), 3, "a JWT")
				continue
			}
			assert.ErrorIs(t, err, hotelstays.ErrUnauthorized)
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api)
			assert.Equal(t, hotelstays.CodeUnauthorized, api.Code)
			assert.Equal(t, 401, api.HTTPStatus)
		}
		assert.Equal(t, 3, srv.Ledger().Count(hotelstaystest.OpTicket), "a refused pair is not tried again")
		assert.Equal(t, 1, srv.Ledger().TicketsIssued())
		for _, r := range srv.Ledger().Requests(hotelstaystest.OpTicket) {
			assert.NotContains(t, r.Header, "Authorization")
		}
	})
}

// A ticket lives exactly as long as was asked for, however much it is used.
func TestTicketTTL(t *testing.T) {
	for _, tc := range []struct{ ttl, lives time.Duration }{
		{0, 24 * time.Hour},
		{time.Second, time.Second},
		{time.Hour, time.Hour},
		{365 * 24 * time.Hour, 365 * 24 * time.Hour},
	} {
		t.Run(tc.ttl.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t)
				cred := ticketOf(srv)
				resp, err := client.Ticket(t.Context(), &hotelstays.TicketRequest{AppKey: cred.AppKey, AppSecret: cred.AppSecret, TTL: tc.ttl})
				require.NoError(t, err)
				bearer := newClient(t, srv, hotelstays.TokenCredential{Token: resp.Ticket})

				time.Sleep(tc.lives - time.Millisecond)
				_, err = bearer.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
				assert.NoError(t, err)
				time.Sleep(time.Millisecond)
				_, err = bearer.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
				assert.ErrorIs(t, err, hotelstays.ErrUnauthorized)
			})
		})
	}
}

// oauthForms are the two forms in which OAuth tokens may be answered.
var oauthForms = map[string][]hotelstaystest.Option{
	"in the envelope":  nil,
	"at the top level": {hotelstaystest.WithOAuthTopLevel()},
}

func TestOAuthToken(t *testing.T) {
	for form, opts := range oauthForms {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := append(opts, hotelstaystest.WithOAuthClient("searcher", "pw", "search:read", "content:read"))
				srv, client := newSandbox(t, opts...)
				all := []hotelstays.Scope{hotelstays.ScopeSearchRead, hotelstays.ScopeContentRead}
				for _, tc := range []struct {
					name   string
					secret types.Secret
					scopes []hotelstays.Scope
					want   error
				}{
					{"all that the client has", types.NewSecret("pw"), all, nil},
					{"some of them", types.NewSecret("pw"), all[:1], nil},
					{"one that it does not have", types.NewSecret("pw"), append(all, hotelstays.ScopeBookingWrite), hotelstays.ErrInvalidScope},
					{"wrong secret", types.NewSecret("wrong"), all, hotelstays.ErrUnauthorized},
				} {
					resp, err := client.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: "searcher", ClientSecret: tc.secret, Scopes: tc.scopes})
					if tc.want != nil {
						assert.ErrorIs(t, err, tc.want, tc.name)
						continue
					}
					require.NoError(t, err, tc.name)
					bearer := newClient(t, srv, hotelstays.TokenCredential{Token: resp.AccessToken})
					_, err = bearer.HotelList(t.Context(), searchCity(srv))
					assert.NoError(t, err, tc.name)
					_, err = bearer.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
					if len(tc.scopes) == 2 {
						assert.NoError(t, err, tc.name)
					} else {
						assert.ErrorIs(t, err, hotelstays.ErrForbidden, tc.name)
					}
				}
				assert.Equal(t, 2, srv.Ledger().TokensIssued())
			})
		})
	}
}

// A client with an OAuthCredential may do what its scopes cover, and no more.
// Apart from OrderVoucher's, which scope guards what is the sandbox's choice.
func TestOAuthScopes(t *testing.T) {
	guards := map[hotelstays.Scope][]hotelstays.Operation{
		hotelstays.ScopeContentRead:   {hotelstays.OpDestinations, hotelstays.OpHotelsMetadata, hotelstays.OpHotelStaticDetail, hotelstays.OpHotelIDList},
		hotelstays.ScopeSearchRead:    {hotelstays.OpHotelList, hotelstays.OpHotelRates, hotelstays.OpCheckAvail},
		hotelstays.ScopeBookingWrite:  {hotelstays.OpBook},
		hotelstays.ScopeBookingRead:   {hotelstays.OpQueryOrders, hotelstays.OpOrderVoucher},
		hotelstays.ScopeBookingCancel: {hotelstays.OpCancel},
	}
	for form, opts := range oauthForms {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, _ := newSandbox(t, opts...)
				for held := range guards {
					client := newClient(t, srv, hotelstays.OAuthCredential{ClientID: srv.ClientID, ClientSecret: types.NewSecret(srv.ClientSecret), Scopes: []hotelstays.Scope{held}})
					for needed, ops := range guards {
						for _, op := range ops {
							err := operationCalls[op](t.Context(), client)
							if needed == held {
								assert.NotErrorIs(t, err, hotelstays.ErrForbidden, "%s with %s", op, held)
							} else {
								assert.ErrorIs(t, err, hotelstays.ErrForbidden, "%s with %s", op, held)
							}
						}
					}
				}
				assert.Equal(t, len(guards), srv.Ledger().Count(hotelstaystest.OpOAuthToken), "a 403 drops no token")
			})
		})
	}
}

// Without scopes none are asked for: what a token then carries is the service's choice.
// The sandbox's carries all that the client is registered for.
func TestOAuthWithoutScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		client := newClient(t, srv, hotelstays.OAuthCredential{ClientID: srv.ClientID, ClientSecret: types.NewSecret(srv.ClientSecret)})
		_, err := client.HotelList(t.Context(), searchCity(srv))
		assert.NoError(t, err)
		assert.Equal(t, 1, srv.Ledger().TokensIssued())
	})
}

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
		assert.Equal(t, provinces, list(hotelstays.DestinationsRequest{CountryCode: "AE", ParentDestinationID: china.ID}), "the country wins over the parent")
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

		standard := list(hotelstays.DestinationsRequest{ParentDestinationID: province, Include: hotelstays.DestinationsIncludeStandard})
		require.NotEmpty(t, standard)
		city := standard[0]
		assert.Equal(t, types.DestinationCity, city.Type)
		assert.Equal(t, srv.CityID(0), city.ID)
		assert.Equal(t, province, city.ParentDestinationID)
		assert.Nil(t, city.Coordinates)
		assert.Nil(t, city.Extra)

		details := list(hotelstays.DestinationsRequest{ParentDestinationID: province, Include: hotelstays.DestinationsIncludeDetails, FilterEmptyCities: new(false), MinHotelCount: new(0)})
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
		srv, client := newSandbox(t, hotelstaystest.WithCatalog(hotelstaystest.Catalog{HotelsPerCity: 250}))
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
		srv, client := newSandbox(t, hotelstaystest.WithoutTotals(), hotelstaystest.WithCatalog(hotelstaystest.Catalog{HotelsPerCity: 30}))
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

// An empty list tells suppliers that had nothing from an account that could not
// ask any.
func TestHotelListEmptyReason(t *testing.T) {
	for _, tc := range []struct {
		code  types.EmptyReasonCode
		retry bool
	}{
		{types.NoSupplierEnabled, false},
		{types.NoSupplierPermitted, false},
		{types.AllSuppliersExcluded, false},
		{types.NoSupplierAnswered, true},
	} {
		t.Run(string(tc.code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.WithNotices("one"),
					hotelstaystest.WithEmptyReason(string(tc.code), hotelstaystest.SupplierReason{SupplierCode: "A", Reason: "off"}))
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
		srv, client := newSandbox(t, hotelstaystest.WithNotices("No prices in this currency from one supplier."),
			hotelstaystest.WithCatalog(hotelstaystest.Catalog{HotelsPerCity: 2001}))
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
						seen = seen || rate.TotalRate.NetRate == *hotel.MinPrice
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
			by    hotelstays.SortBy
			value func(*types.Hotel) float64
		}{
			{hotelstays.SortPriceAsc, price},
			{hotelstays.SortPriceDesc, func(h *types.Hotel) float64 { return -price(h) }},
			{hotelstays.SortRatingDesc, func(h *types.Hotel) float64 { return -*h.Rating }},
			{hotelstays.SortDistanceAsc, distance},
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
		srv, client := newSandbox(t, hotelstaystest.WithCatalog(hotelstaystest.Catalog{HotelsPerCity: 210, RoomsPerHotel: 1, RatesPerRoom: 1}))
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

// An amount is held with the very digits of the answer, whatever decimals its
// currency has.
func TestCurrency(t *testing.T) {
	for _, tc := range []struct {
		currency, want string
		digits         string
	}{
		{"", "USD", `^\d+\.\d\d$`},
		{"EUR", "EUR", `^\d+\.\d\d$`},
		{"JPY", "JPY", `^\d+$`},
		{"KWD", "KWD", `^\d+\.\d\d\d$`},
	} {
		t.Run(tc.want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t)
				opts := []hotelstays.CallOption{hotelstays.WithRawData()}
				if tc.currency != "" {
					opts = append(opts, hotelstays.WithCurrency(tc.currency))
				}
				resp, err := client.HotelList(t.Context(), searchCity(srv), opts...)
				require.NoError(t, err)
				roundTripped := 0
				for _, hotel := range resp.List {
					assert.Equal(t, tc.want, hotel.MinPrice.Currency)
					for _, room := range hotel.Rooms {
						for _, rate := range room.Rates {
							net := rate.TotalRate.NetRate
							assert.Equal(t, tc.want, net.Currency)
							assert.Regexp(t, tc.digits, string(net.Amount))
							literal := fmt.Sprintf(`"totalRate":{"commissionableRate":%%s"netRate":{"currency":%q,"amount":%s}`, tc.want, net.Amount)
							if rate.TotalRate.CommissionableRate == nil {
								literal = fmt.Sprintf(`"totalRate":{"netRate":{"currency":%q,"amount":%s}`, tc.want, net.Amount)
							} else {
								c := rate.TotalRate.CommissionableRate
								literal = fmt.Sprintf(literal, fmt.Sprintf(`{"currency":%q,"amount":%s},`, c.Currency, c.Amount))
							}
							assert.True(t, bytes.Contains(resp.Meta.RawData, []byte(literal)), literal)
							roundTripped++
						}
					}
				}
				assert.Equal(t, 12*12, roundTripped)

				empty, err := client.HotelList(t.Context(), searchCity(srv), hotelstays.WithCurrency("XXX"))
				require.NoError(t, err)
				assert.Equal(t, types.AllSuppliersExcluded, empty.Basic.EmptyReason.Code)
			})
		})
	}
}

// An offer keeps its currency from search to order; a call that names another
// one gets that.
func TestCurrencyThroughTheFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := newSandbox(t)
		client := newClient(t, srv, ticketOf(srv), hotelstays.WithCurrency("KWD"))
		o := findOffer(t, srv, client, 0)
		kuwaiti := regexp.MustCompile(`^\d+\.\d{3}$`)
		assert.Regexp(t, kuwaiti, string(o.TotalRate.NetRate.Amount))
		yen, err := client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: o.session, RatePkgID: o.RatePkgID}, hotelstays.WithCurrency("JPY"))
		require.NoError(t, err)
		assert.Equal(t, "JPY", yen.RoomRatePkg.TotalRate.NetRate.Currency, "a call's own option wins")
		assert.Equal(t, json.Number("151.250000"), yen.ExchangeRateSnapshot.USD["jpy"])
		order := o.book(t, client, "ref-1")
		assert.Equal(t, o.TotalRate.NetRate, order.NetRate)
		cancelled, err := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: o.session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: order.SupplierReferenceNo})
		require.NoError(t, err)
		assert.Equal(t, "KWD", cancelled.ServiceFee.Currency)
	})
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

		sent := srv.Ledger().Count(hotelstaystest.OpHotelRates)
		rates.SessionID = ""
		_, err = client.HotelRates(t.Context(), &rates)
		var invalid *hotelstays.ValidationError
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, "Session-Id", invalid.Fields[0].Path)
		assert.Equal(t, sent, srv.Ledger().Count(hotelstaystest.OpHotelRates), "nothing was sent")

		rates.SessionID = "made up"
		_, err = client.HotelRates(t.Context(), &rates)
		assert.ErrorIs(t, err, hotelstays.ErrParam)
	})
}

func TestOfferHoldsInItsOwnSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		mixed := findOffer(t, srv, client, 0)
		mixed.session = findOffer(t, srv, client, 0).session
		_, err := client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: mixed.session, RatePkgID: mixed.RatePkgID})
		assert.ErrorIs(t, err, hotelstays.ErrParam)
		_, err = client.Book(t.Context(), mixed.request("ref-1"))
		assert.ErrorIs(t, err, hotelstays.ErrParam)
		assert.Empty(t, srv.Ledger().Orders())
	})
}

// How long a session lives is not shown. Where one is refused, the offer has to be
// searched for again, and the error says so; Cancel knows its order.
func TestARefusedSessionLeadsToANewSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		ended := findOffer(t, srv, client, 0)
		ended.session = "ended"
		_, rates := client.HotelRates(t.Context(), &hotelstays.HotelRatesRequest{SessionID: ended.session,
			HotelID: "1", CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()})
		_, avail := client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: ended.session, RatePkgID: ended.RatePkgID})
		_, book := client.Book(t.Context(), ended.request("ref-1"))
		for _, err := range []error{rates, avail, book} {
			assert.ErrorIs(t, err, hotelstays.ErrParam)
			assert.ErrorContains(t, err, "search again if the session is refused")
		}
		_, cancel := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: ended.session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: "s"})
		require.Error(t, cancel)
		assert.NotContains(t, cancel.Error(), "search again")
	})
}

// Which of 1 and 2 means available is not shown: the answer must not depend on it.
func TestCheckAvail(t *testing.T) {
	for _, available := range []int{1, 2} {
		t.Run(fmt.Sprint("available is ", available), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.WithAvailabilityNumbers(available, 3-available))
				o := findOffer(t, srv, client, 0)
				check := func() *hotelstays.CheckAvailResponse {
					t.Helper()
					resp, err := client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: o.session, RatePkgID: o.RatePkgID}, hotelstays.WithRawData())
					require.NoError(t, err)
					return resp
				}
				still := check()
				assert.True(t, still.Available())
				assert.EqualValues(t, available, still.Status)
				assert.Equal(t, o.RoomRatePkg, *still.RoomRatePkg)
				assert.Equal(t, "2000-01-01", still.ExchangeRateSnapshot.Date)
				assert.Equal(t, json.Number("1.000000"), still.ExchangeRateSnapshot.USD["usd"])
				assert.NotContains(t, string(still.Meta.RawData), "statusRemark")

				srv.MoveRate(o.RatePkgID, 10)
				moved := check()
				assert.True(t, moved.Available())
				dearer, err := moved.RoomRatePkg.TotalRate.NetRate.Cmp(o.TotalRate.NetRate)
				require.NoError(t, err)
				assert.Equal(t, 1, dearer)
				assert.Contains(t, string(moved.Meta.RawData), "statusRemark")

				srv.CloseRate(o.RatePkgID)
				gone := check()
				assert.False(t, gone.Available())
				assert.EqualValues(t, 3-available, gone.Status)
				assert.Nil(t, gone.RoomRatePkg)
				assert.Nil(t, gone.ExchangeRateSnapshot)

				srv.ReopenRate(o.RatePkgID)
				assert.True(t, check().Available())
			})
		})
	}
}

func TestBook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		o := findOffer(t, srv, client, 0)
		req := o.request("ref-1")
		req.Holder.Email, req.Holder.Phone = "guest@example.com", &types.Phone{CountryCode: "AE", CountryNumber: 971, Number: "5550100"}
		req.Guests = append(req.Guests, types.Guest{RoomIndex: 1, FirstName: "Guest", LastName: "Two", IsChild: new(true), Age: new(0), Gender: "f"})
		req.CallbackURL = "http://127.0.0.1:9/events"
		resp, err := client.Book(t.Context(), req)
		require.NoError(t, err)
		order := resp.HotelOrder
		assert.Equal(t, types.OrderConfirming, order.Status)
		assert.NotEmpty(t, order.StatusRemark)
		assert.Equal(t, "ref-1", order.CustomerReferenceNo)
		assert.NotEmpty(t, order.PlatformReferenceNo)
		assert.NotEmpty(t, order.SupplierReferenceNo)
		assert.Empty(t, order.HotelConfirmNo)
		assert.Equal(t, checkIn, order.CheckIn)
		assert.Equal(t, checkOut, order.CheckOut)
		assert.Equal(t, 3, order.NightCount)
		assert.Equal(t, 1, order.RoomCount)
		assert.Equal(t, types.Timestamp("2000-01-01T00:00:00Z"), order.BookingTime)
		assert.Equal(t, req.Holder, order.Holder)
		assert.Equal(t, o.TotalRate.NetRate, order.NetRate)
		assert.Equal(t, o.TotalRate.GrossRate, order.GrossRate)
		assert.Equal(t, srv.CityID(0), order.Hotel.DestinationID)
		assert.Nil(t, order.RefundedPrice)
		require.Len(t, order.Rooms, 1)
		room := order.Rooms[0]
		assert.Equal(t, 1, room.RoomIndex)
		assert.Equal(t, o.RoomRatePkg, room.RoomRatePkg)
		assert.NotEmpty(t, room.RoomTypeID)
		require.Len(t, room.Guests, 2)
		assert.JSONEq(t, `{"roomIndex":1,"firstName":"Guest","lastName":"Two","isChild":true,"age":0,"gender":"f"}`, string(room.Guests[1]), "an infant's age is sent")
		assert.Zero(t, resp.Meta.MismatchCount)

		booked := srv.Ledger().OrdersFor("ref-1")
		require.Len(t, booked, 1)
		assert.Equal(t, order.PlatformReferenceNo, booked[0].PlatformReferenceNo)
		assert.Equal(t, order.NetRate.String(), booked[0].Total)
		assert.Equal(t, req.CallbackURL, booked[0].CallbackURL)
		request := srv.Ledger().Requests(hotelstaystest.OpBook)[0]
		assert.Equal(t, o.session, request.Header.Get("Session-Id"))
		assert.Equal(t, request.RequestID, resp.Meta.RequestID)
	})
}

func TestBookSeveralRooms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		search := searchCity(srv)
		search.RoomOccupancies = []types.GuestPerRoom{{AdultCount: 2}, {AdultCount: 1, ChildrenAges: []int{0, 11}}}
		list, err := client.HotelList(t.Context(), search)
		require.NoError(t, err)
		rate := list.List[0].Rooms[0].Rates[0]
		twice, err := rate.Rate.NetRate.Add(rate.Rate.NetRate)
		require.NoError(t, err)
		assert.Equal(t, twice, rate.TotalRate.NetRate)

		req := offer{rate, list.Basic.SessionID}.request("ref-1")
		req.Guests = append(req.Guests, types.Guest{RoomIndex: 2, FirstName: "Guest", LastName: "Two"})
		resp, err := client.Book(t.Context(), req)
		require.NoError(t, err)
		assert.Equal(t, 2, resp.HotelOrder.RoomCount)
		require.Len(t, resp.HotelOrder.Rooms, 2)
		assert.Contains(t, string(resp.HotelOrder.Rooms[1].Guests[0]), "Two")

		req.CustomerReferenceNo, req.Guests[1].RoomIndex = "ref-2", 3
		_, err = client.Book(t.Context(), req)
		assert.ErrorIs(t, err, hotelstays.ErrParam, "there is no third room")
	})
}

// One reference is one order, however often and with whatever offer it is sent.
func TestBookIsIdempotent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		o := findOffer(t, srv, client, 0)
		first := o.book(t, client, "ref-1")
		assert.Equal(t, first, o.book(t, client, "ref-1"))
		assert.Equal(t, first, findOffer(t, srv, client, 1).book(t, client, "ref-1"))
		assert.Len(t, srv.Ledger().Orders(), 1)
		assert.Equal(t, 2, srv.Ledger().BookingsReused())

		_, err := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: o.session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: first.SupplierReferenceNo})
		require.NoError(t, err)
		again := o.book(t, client, "ref-1")
		assert.NotEmpty(t, again.CancelTime, "the existing order comes back even when it is cancelled")
		assert.Len(t, srv.Ledger().Orders(), 1)
	})
}

func TestConcurrentBooksOfOneReference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		o := findOffer(t, srv, client, 0)
		orders := make([]*types.Order, 25)
		var wg sync.WaitGroup
		for i := range orders {
			wg.Go(func() {
				resp, err := client.Book(t.Context(), o.request("ref-1"))
				if assert.NoError(t, err) {
					orders[i] = resp.HotelOrder
				}
			})
		}
		wg.Wait()
		for _, order := range orders {
			assert.Equal(t, orders[0], order)
		}
		assert.Len(t, srv.Ledger().Orders(), 1)
		assert.Equal(t, len(orders), srv.Ledger().Count(hotelstaystest.OpBook))
		assert.Zero(t, srv.Ledger().RateLimited(""))
	})
}

// Refusals of Book by content and price: nothing is booked, whatever HTTP status
// carries them.
func TestBookRefusals(t *testing.T) {
	for _, status := range []int{200, 400, 409} {
		t.Run(fmt.Sprint("HTTP ", status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.WithBusinessFailureStatus(status))
				o := findOffer(t, srv, client, 0)
				first := o.book(t, client, "ref-1")

				_, err := client.Book(t.Context(), findOffer(t, srv, client, 0).request("ref-2"))
				assert.ErrorIs(t, err, hotelstays.ErrDuplicateBooking)
				var api *hotelstays.APIError
				require.ErrorAs(t, err, &api)
				assert.Equal(t, hotelstays.CodeDuplicateBooking, api.Code)
				assert.Equal(t, status, api.HTTPStatus)
				assert.Contains(t, api.Msg, "ref-1", "the message names the booking")
				assert.Empty(t, srv.Ledger().OrdersFor("ref-2"))
				assert.Equal(t, 1, srv.Ledger().DuplicatesRefused())

				_, err = client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: o.session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: first.SupplierReferenceNo})
				require.NoError(t, err)
				o.book(t, client, "ref-2")

				moving := findOffer(t, srv, client, 1)
				srv.MoveRate(moving.RatePkgID, 5)
				_, err = client.Book(t.Context(), moving.request("ref-3"))
				assert.ErrorIs(t, err, hotelstays.ErrRateChanged)
				var unknown *hotelstays.OutcomeUnknownError
				assert.NotErrorAs(t, err, &unknown)
				assert.Empty(t, srv.Ledger().OrdersFor("ref-3"))

				now, err := client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: moving.session, RatePkgID: moving.RatePkgID})
				require.NoError(t, err)
				order := moving.book(t, client, "ref-3")
				assert.Equal(t, now.RoomRatePkg.TotalRate.NetRate, order.NetRate)
				assert.NotEqual(t, moving.TotalRate.NetRate, order.NetRate)
				assert.Equal(t, 5, srv.Ledger().Count(hotelstaystest.OpBook), "no refusal is sent again")
			})
		})
	}
}

// An access token cannot register callbacks: refused before sending where the
// client knows what it holds, by the service where it does not.
func TestAccessTokenRegistersNoCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		req := findOffer(t, srv, client, 0).request("ref-1")
		req.CallbackURL = "http://127.0.0.1:9/events"
		cred := hotelstays.OAuthCredential{ClientID: srv.ClientID, ClientSecret: types.NewSecret(srv.ClientSecret), Scopes: []hotelstays.Scope{hotelstays.ScopeBookingWrite}}
		_, err := newClient(t, srv, cred).Book(t.Context(), req)
		var invalid *hotelstays.ValidationError
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, "callbackUrl", invalid.Fields[0].Path)
		assert.Zero(t, srv.Ledger().Count(hotelstaystest.OpBook))

		token, err := client.OAuthToken(t.Context(), &hotelstays.OAuthTokenRequest{ClientID: cred.ClientID, ClientSecret: cred.ClientSecret, Scopes: cred.Scopes})
		require.NoError(t, err)
		_, err = newClient(t, srv, hotelstays.TokenCredential{Token: token.AccessToken}).Book(t.Context(), req)
		assert.ErrorIs(t, err, hotelstays.ErrParam)
		assert.ErrorContains(t, err, "callbackUrl")
		assert.Empty(t, srv.Ledger().Orders())
	})
}

func TestQueryOrdersFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		// Three orders, two hours apart; the second is cancelled, the third cannot
		// be cancelled for nothing.
		one := findOffer(t, srv, client, 0, types.RefundableFull).book(t, client, "ref-1")
		time.Sleep(2 * time.Hour)
		second := findOffer(t, srv, client, 1, types.RefundableFull)
		two := second.book(t, client, "ref-2")
		time.Sleep(2 * time.Hour)
		findOffer(t, srv, client, 2, types.RefundableNo).book(t, client, "ref-3")
		_, err := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: second.session, CustomerReferenceNo: "ref-2", SupplierReferenceNo: two.SupplierReferenceNo})
		require.NoError(t, err)

		raw := func(texts ...string) (list []json.RawMessage) {
			for _, text := range texts {
				list = append(list, json.RawMessage(text))
			}
			return list
		}
		stay := &types.TimeWindow{Start: string(checkIn), End: string(checkIn)}
		for _, tc := range []struct {
			name string
			req  hotelstays.QueryOrdersRequest
			want []string
		}{
			{"nothing", hotelstays.QueryOrdersRequest{}, []string{"ref-1", "ref-2", "ref-3"}},
			{"a reference", hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-2"}}, []string{"ref-2"}},
			{"several references", hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-3", "ref-1", "ref-9"}}, []string{"ref-1", "ref-3"}},
			{"an unknown reference", hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-9"}}, nil},
			{"a supplier's reference", hotelstays.QueryOrdersRequest{SupplierReferenceNos: []string{one.SupplierReferenceNo}}, []string{"ref-1"}},
			{"two filters that exclude each other", hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-2"}, SupplierReferenceNos: []string{one.SupplierReferenceNo}}, nil},
			{"check-in", hotelstays.QueryOrdersRequest{CheckInTimeWindow: stay}, []string{"ref-1", "ref-2", "ref-3"}},
			{"check-out", hotelstays.QueryOrdersRequest{CheckOutTimeWindow: stay}, nil},
			{"check-out, open at the end", hotelstays.QueryOrdersRequest{CheckOutTimeWindow: &types.TimeWindow{Start: string(checkIn)}}, []string{"ref-1", "ref-2", "ref-3"}},
			{"booking time", hotelstays.QueryOrdersRequest{BookingTimeWindow: &types.TimeWindow{Start: "2000-01-01T01:00:00Z", End: "2000-01-01T03:00:00Z"}}, []string{"ref-2"}},
			{"booking time, open at the start", hotelstays.QueryOrdersRequest{BookingTimeWindow: &types.TimeWindow{End: "2000-01-01T03:00:00Z"}}, []string{"ref-1", "ref-2"}},
			{"free cancellation", hotelstays.QueryOrdersRequest{FreeCancelTimeWindow: &types.TimeWindow{Start: "2000-03-07", End: "2000-03-07"}}, []string{"ref-1", "ref-2"}},
			{"cancellation time", hotelstays.QueryOrdersRequest{CancelledTimeWindow: &types.TimeWindow{Start: "2000-01-01"}}, []string{"ref-2"}},
			{"a status", hotelstays.QueryOrdersRequest{StatusList: raw("1")}, []string{"ref-3"}},
			{"several statuses", hotelstays.QueryOrdersRequest{StatusList: raw("1", "2")}, []string{"ref-1", "ref-3"}},
		} {
			resp, err := client.QueryOrders(t.Context(), &tc.req)
			require.NoError(t, err, tc.name)
			var got []string
			for _, order := range resp.Orders {
				got = append(got, order.CustomerReferenceNo)
			}
			assert.Equal(t, tc.want, got, tc.name)
		}
		_, err = client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{StatusList: raw("9")})
		assert.ErrorIs(t, err, hotelstays.ErrParam)
	})
}

func TestOrderReadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.WithRequiredGuestFields("passportNumber"))
		req := findOffer(t, srv, client, 0).request("ref-1")
		req.Holder.Phone = &types.Phone{CountryCode: "AE", CountryNumber: 971, Number: "5550100"}
		_, err := client.Book(t.Context(), req)
		assert.ErrorIs(t, err, hotelstays.ErrParam, "the contract asks for a passport")
		req.Guests[0].PassportNumber = types.NewSecret("XY123456789")
		booked, err := client.Book(t.Context(), req)
		require.NoError(t, err, "the number itself is sent, and not its mask")

		resp, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-1"}}, hotelstays.WithRawData())
		require.NoError(t, err)
		require.Len(t, resp.Orders, 1)
		order := resp.Orders[0]
		assert.JSONEq(t, `{"roomIndex":1,"firstName":"Guest","lastName":"One","passportNumber":"6789"}`, string(order.Rooms[0].Guests[0]))
		assert.NotContains(t, string(resp.Meta.RawData), "XY12345")
		assert.Equal(t, &types.Phone{CountryCode: "AE", Number: "5550100"}, order.Holder.Phone, "reads may leave the calling code out")

		order.Holder.Phone = booked.HotelOrder.Holder.Phone
		assert.Equal(t, *booked.HotelOrder, order, "all else is as booked")
	})
}

// Another account sees none of an account's orders, and cannot touch them.
func TestOrdersOfAnotherAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.WithAccount("one", "secret-1"), hotelstaystest.WithAccount("two", "secret-2"))
		order := findOffer(t, srv, client, 0).book(t, client, "ref-1")

		stranger := newClient(t, srv, hotelstays.TicketCredential{AppKey: "two", AppSecret: types.NewSecret("secret-2")})
		orders, err := stranger.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-1"}})
		require.NoError(t, err)
		assert.Empty(t, orders.Orders)
		_, notMine := stranger.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{PlatformReferenceNo: order.PlatformReferenceNo})
		_, noSuch := stranger.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{PlatformReferenceNo: "PO0"})
		for _, err := range []error{notMine, noSuch} {
			assert.ErrorIs(t, err, hotelstays.ErrNotFound)
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api)
			assert.Equal(t, hotelstays.CodeNotFound, api.Code)
			assert.Equal(t, 404, api.HTTPStatus)
			assert.Equal(t, "order not found", api.Msg)
		}
		own := findOffer(t, srv, stranger, 0)
		_, err = stranger.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: own.session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: order.SupplierReferenceNo})
		assert.ErrorIs(t, err, hotelstays.ErrNotFound)
		own.book(t, stranger, "ref-1")
		assert.Len(t, srv.Ledger().OrdersFor("ref-1"), 2, "a reference is the account's own")
		assert.Empty(t, srv.Ledger().Cancellations())
	})
}

func TestOrderIsConfirmedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.WithConfirmAfter(7*time.Minute))
		findOffer(t, srv, client, 0).book(t, client, "ref-1")
		for _, tc := range []struct {
			later     time.Duration
			status    types.OrderStatus
			confirmNo bool
		}{
			{0, types.OrderConfirming, false},
			{7*time.Minute - time.Millisecond, types.OrderConfirming, false},
			{time.Millisecond, 2, true}, // the sandbox's number for confirmed
			{24 * time.Hour, 2, true},
		} {
			time.Sleep(tc.later)
			resp, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-1"}})
			require.NoError(t, err)
			require.Len(t, resp.Orders, 1)
			assert.Equal(t, tc.status, resp.Orders[0].Status)
			assert.Equal(t, tc.confirmNo, resp.Orders[0].HotelConfirmNo != "")
		}
	})
}

// The five states of a voucher are values; only a generated one has a voucher.
func TestOrderVoucherStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.WithVoucherDelay(5*time.Second))
		o := findOffer(t, srv, client, 0)
		order := o.book(t, client, "ref-1")
		for _, tc := range []struct {
			status types.VoucherStatus
			after  func()
		}{
			{types.VoucherNotGenerated, func() {}},
			{types.VoucherPending, func() { srv.ConfirmOrder("ref-1") }},
			{types.VoucherGenerated, func() { time.Sleep(5 * time.Second) }},
			{types.VoucherPending, func() { srv.RegenerateVoucher("ref-1") }},
			{types.VoucherGenerated, func() { time.Sleep(5 * time.Second) }},
			{types.VoucherFailed, func() { srv.FailVoucher("ref-1") }},
			{types.VoucherCancelled, func() {
				_, err := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: o.session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: order.SupplierReferenceNo})
				require.NoError(t, err)
			}},
		} {
			tc.after()
			resp, err := client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"})
			require.NoError(t, err)
			assert.Equal(t, tc.status, resp.Status)
			assert.Equal(t, tc.status == types.VoucherGenerated, resp.Voucher != nil, tc.status)
			assert.Equal(t, "ref-1", resp.CustomerReferenceNo)
			assert.Equal(t, order.PlatformReferenceNo, resp.PlatformReferenceNo)
			assert.Equal(t, order.SupplierReferenceNo, resp.SupplierReferenceNo)
		}
	})
}

func TestOrderVoucherDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.WithVoucherLinkLifetime(10*time.Minute))
		findOffer(t, srv, client, 0).book(t, client, "ref-1")
		time.Sleep(time.Hour)
		ask := func(inline bool) *types.Voucher {
			t.Helper()
			resp, err := client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1", IncludeDocument: inline})
			require.NoError(t, err)
			require.Equal(t, types.VoucherGenerated, resp.Status)
			return resp.Voucher
		}
		v := ask(true)
		require.NotNil(t, v.Content)
		document, err := base64.StdEncoding.DecodeString(v.Content.Base64)
		require.NoError(t, err)
		assert.True(t, bytes.HasPrefix(document, []byte("%PDF-")))
		digest := sha256.Sum256(document)
		assert.Equal(t, hex.EncodeToString(digest[:]), v.Signature.Digest)
		assert.EqualValues(t, len(document), v.ByteSize)
		assert.EqualValues(t, len(document), v.Content.ByteSize)
		assert.Equal(t, "application/pdf", v.ContentType)
		assert.Equal(t, "application/pdf", v.Content.ContentType)
		assert.Equal(t, 1, v.Version)
		assert.Equal(t, types.Timestamp("2000-01-01T00:03:05Z"), v.IssuedAt)
		assert.EqualValues(t, 600, v.ExpiresIn)
		assert.NotEmpty(t, v.VoucherNumber)
		assert.NotEmpty(t, v.VerifyURL)
		assert.NotEmpty(t, v.DownloadURL)
		assert.NotEmpty(t, v.Signature.Alg)
		assert.NotEmpty(t, v.Signature.KeyID)
		assert.NotEmpty(t, v.Signature.Signature)
		assert.Equal(t, v.IssuedAt, v.Signature.SignedAt)

		assert.Nil(t, ask(false).Content)
		srv.RegenerateVoucher("ref-1")
		time.Sleep(time.Minute)
		newer := ask(true)
		assert.Equal(t, 2, newer.Version)
		assert.Equal(t, v.VoucherNumber, newer.VoucherNumber)
		assert.NotEqual(t, v.Signature.Digest, newer.Signature.Digest)
	})
}

func TestUnsignedVoucher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.WithUnsignedVouchers())
		findOffer(t, srv, client, 0).book(t, client, "ref-1")
		time.Sleep(time.Hour)
		resp, err := client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1", IncludeDocument: true})
		require.NoError(t, err)
		assert.Nil(t, resp.Voucher.Signature)
		assert.NotNil(t, resp.Voucher.Content)
	})
}

func TestOrderVoucherRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.WithVoucherSize(8<<20+1))
		one := findOffer(t, srv, client, 0).book(t, client, "ref-1")
		findOffer(t, srv, client, 1).book(t, client, "ref-2")
		srv.ShareSupplierReference("ref-1", "ref-2")
		time.Sleep(time.Hour)
		for _, tc := range []struct {
			name string
			req  hotelstays.OrderVoucherRequest
			want error
			code int
		}{
			{"one reference of two orders", hotelstays.OrderVoucherRequest{SupplierReferenceNo: one.SupplierReferenceNo}, hotelstays.ErrAmbiguousReference, hotelstays.CodeAmbiguousReference},
			{"with the platform's reference", hotelstays.OrderVoucherRequest{SupplierReferenceNo: one.SupplierReferenceNo, PlatformReferenceNo: one.PlatformReferenceNo}, nil, 0},
			{"an unknown order", hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-9"}, hotelstays.ErrNotFound, hotelstays.CodeNotFound},
			{"a large document inline", hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1", IncludeDocument: true}, hotelstays.ErrVoucherTooLarge, hotelstays.CodeVoucherTooLarge},
			{"a large document by its link", hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"}, nil, 0},
		} {
			before := srv.Ledger().Count(hotelstaystest.OpOrderVoucher)
			resp, err := client.OrderVoucher(t.Context(), &tc.req)
			assert.Equal(t, 1, srv.Ledger().Count(hotelstaystest.OpOrderVoucher)-before, tc.name)
			if tc.want == nil {
				require.NoError(t, err, tc.name)
				assert.Equal(t, one.PlatformReferenceNo, resp.PlatformReferenceNo, tc.name)
				assert.Greater(t, resp.Voucher.ByteSize, int64(8<<20), tc.name)
				continue
			}
			assert.ErrorIs(t, err, tc.want, tc.name)
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api, tc.name)
			assert.Equal(t, tc.code, api.Code, tc.name)
		}
	})
}

func TestCancel(t *testing.T) {
	for mode, free := range map[types.RefundableMode]bool{types.RefundableFull: true, types.RefundablePartial: false, types.RefundableNo: false} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t)
				o := findOffer(t, srv, client, 0, mode)
				order := o.book(t, client, "ref-1")
				cancel := &hotelstays.CancelRequest{SessionID: o.session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: order.SupplierReferenceNo, Reason: "plans changed"}
				resp, err := client.Cancel(t.Context(), cancel)
				require.NoError(t, err)
				assert.Equal(t, new(types.OrderStatus(3)), resp.Status, "the sandbox's number for cancelled")
				assert.Equal(t, o.CancelFees[0].Fee, *resp.ServiceFee)
				assert.Equal(t, free, resp.ServiceFee.Amount == "0.00")

				orders, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-1"}})
				require.NoError(t, err)
				now := orders.Orders[0]
				assert.Equal(t, *resp.Status, now.Status)
				assert.Equal(t, types.Timestamp("2000-01-01T00:00:00Z"), now.CancelTime)
				assert.Equal(t, "plans changed", now.CancelReason)
				require.NotNil(t, now.RefundedPrice)
				total, err := now.RefundedPrice.Add(*resp.ServiceFee)
				require.NoError(t, err)
				assert.Equal(t, order.NetRate, total, "refund and fee make up the price")
				assert.NotEmpty(t, now.Rooms[0].RefundInfo)

				cancellations := srv.Ledger().Cancellations()
				require.Len(t, cancellations, 1)
				assert.Equal(t, resp.ServiceFee.String(), cancellations[0].ServiceFee)
				_, err = client.Cancel(t.Context(), cancel)
				assert.ErrorIs(t, err, hotelstays.ErrCancelRefused, "it is cancelled already")
				assert.Len(t, srv.Ledger().Cancellations(), 1)
			})
		})
	}
}

func TestCancelRefusals(t *testing.T) {
	at, _ := checkIn.Time()
	for _, tc := range []struct {
		name string
		rule hotelstaystest.CancelRule
		when time.Time
		says string
	}{
		{"a reason is required", hotelstaystest.CancelNeedsReason, time.Time{}, "a reason is required"},
		{"check-in has passed", hotelstaystest.CancelAllowed, at, "check-in has passed"},
		{"the cut-off has passed", hotelstaystest.CancelAllowed, at.Add(-24 * time.Hour), "cut-off has passed"},
		{"the cut-off has passed early", hotelstaystest.CancelCutoffPassed, time.Time{}, "cut-off has passed"},
		{"not by contract", hotelstaystest.CancelForbiddenByContract, time.Time{}, "contract takes no cancellations"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.WithCancelRule(tc.rule))
				o := findOffer(t, srv, client, 0)
				order := o.book(t, client, "ref-1")
				time.Sleep(time.Until(tc.when))
				cancel := &hotelstays.CancelRequest{SessionID: o.session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: order.SupplierReferenceNo}
				before := srv.Ledger().Orders()[0].Status
				_, err := client.Cancel(t.Context(), cancel)
				assert.ErrorIs(t, err, hotelstays.ErrCancelRefused)
				var api *hotelstays.APIError
				require.ErrorAs(t, err, &api)
				assert.Contains(t, api.Msg, tc.says)
				assert.Contains(t, err.Error(), tc.says)
				assert.Equal(t, 400, api.HTTPStatus)
				assert.Empty(t, srv.Ledger().Cancellations())
				assert.Equal(t, before, srv.Ledger().Orders()[0].Status)
				assert.Equal(t, 1, srv.Ledger().Count(hotelstaystest.OpCancel), "a refusal is not sent again")

				if tc.rule == hotelstaystest.CancelNeedsReason {
					cancel.Reason = "plans changed"
					_, err = client.Cancel(t.Context(), cancel)
					assert.NoError(t, err)
				}
			})
		})
	}
}

func TestCancelOfAnUnknownOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		o := findOffer(t, srv, client, 0)
		order := o.book(t, client, "ref-1")
		for _, refs := range [][2]string{{"ref-9", order.SupplierReferenceNo}, {"ref-1", "another"}} {
			_, err := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: o.session, CustomerReferenceNo: refs[0], SupplierReferenceNo: refs[1]})
			assert.ErrorIs(t, err, hotelstays.ErrNotFound)
			assert.NotErrorIs(t, err, hotelstays.ErrCancelRefused)
		}
		assert.Empty(t, srv.Ledger().Cancellations())
	})
}

// An account with a market restriction refuses every call without a market of
// its own; the token is fetched without one.
func TestMarketRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, plain := newSandbox(t, hotelstaystest.WithMarkets("AE", "SA"))
		inFrance := newClient(t, srv, ticketOf(srv), hotelstays.WithMarket("FR"))
		inDubai := newClient(t, srv, ticketOf(srv), hotelstays.WithMarket("AE"))
		checkAccountRule(t, srv, "Market", []ruleCase{
			{"none", plain, nil, false},
			{"another on the client", inFrance, nil, false},
			{"its own on the client", inDubai, nil, true},
			{"its own on the call", plain, hotelstays.WithMarket("SA"), true},
			{"the call's wins over the client's", inFrance, hotelstays.WithMarket("SA"), true},
			{"also when it is wrong", inDubai, hotelstays.WithMarket("FR"), false},
		})
	})
}

// Once named users are authorised, every call must name one.
func TestUserRefRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, plain := newSandbox(t, hotelstaystest.WithUserRefs(map[string][]string{
			"agent-1": hotelstaystest.AllScopes(), "agent-2": {hotelstaystest.ScopeContentRead}, "agent-3": {}}))
		anyone := newClient(t, srv, ticketOf(srv), hotelstays.WithUserRef("nobody"))
		agent := newClient(t, srv, ticketOf(srv), hotelstays.WithUserRef("agent-1"))
		checkAccountRule(t, srv, "User-Ref", []ruleCase{
			{"none", plain, nil, false},
			{"an unknown user", anyone, nil, false},
			{"a user on the client", agent, nil, true},
			{"a user on the call", plain, hotelstays.WithUserRef("agent-1"), true},
			{"the call's wins over the client's", anyone, hotelstays.WithUserRef("agent-1"), true},
			{"a user without scopes", agent, hotelstays.WithUserRef("agent-3"), false},
		})
		_, err := plain.Destinations(t.Context(), &hotelstays.DestinationsRequest{}, hotelstays.WithUserRef("agent-2"))
		assert.NoError(t, err)
		_, err = plain.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}, hotelstays.WithUserRef("agent-2"))
		assert.ErrorIs(t, err, hotelstays.ErrForbidden, "the user's scopes count as well as the key's")
	})
}

// ruleCase is a way to send a header that an account requires.
type ruleCase struct {
	name    string
	client  *hotelstays.Client
	opt     hotelstays.CallOption // nil: none
	allowed bool
}

// checkAccountRule calls every operation that carries a token in each way.
func checkAccountRule(t *testing.T, srv *hotelstaystest.Server, header string, cases []ruleCase) {
	t.Helper()
	for op, call := range operationCalls {
		if op == hotelstays.OpTicket || op == hotelstays.OpOAuthToken {
			continue
		}
		for _, tc := range cases {
			var opts []hotelstays.CallOption
			if tc.opt != nil {
				opts = append(opts, tc.opt)
			}
			err := call(t.Context(), tc.client, opts...)
			if tc.allowed {
				assert.NotErrorIs(t, err, hotelstays.ErrForbidden, "%s: %s", op, tc.name)
			} else {
				assert.ErrorIs(t, err, hotelstays.ErrForbidden, "%s: %s", op, tc.name)
			}
		}
	}
	assert.NotZero(t, srv.Ledger().TicketsIssued())
	for _, r := range srv.Ledger().Requests(hotelstaystest.OpTicket) {
		assert.NotContains(t, r.Header, header, "a token is fetched without it")
	}
}

// How many ids a search may name depends on the account, so the service refuses
// what the client cannot know.
func TestHotelIDLimits(t *testing.T) {
	for _, tc := range []struct {
		name   string
		opts   []hotelstaystest.Option
		ids    int
		refuse error
	}{
		{"200 with a visibility band", []hotelstaystest.Option{hotelstaystest.WithVisibilityBand()}, 200, nil},
		{"201 with a visibility band", []hotelstaystest.Option{hotelstaystest.WithVisibilityBand()}, 201, hotelstays.ErrParam},
		{"1000 without", nil, 1000, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, tc.opts...)
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
				assert.Equal(t, 1, srv.Ledger().Count(hotelstaystest.OpHotelList))
			})
		})
	}
}
