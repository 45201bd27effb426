// HotelListPages: every page in one session, and no end that is none.

package hotelstays_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

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
	resp, err := scripted(r, map[string]any{
		"list": hotels, "basic": map[string]any{"sessionId": "session"}, "hasMore": more,
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
			{"an empty page in the middle", [][]string{a, {}, c}, 2, false, true},
			{"a page that repeats", [][]string{a, a, c}, 2, true, true},
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
				assert.Equal(t, fmt.Sprint("request-", tc.calls), broken.RequestID)
			})
		}
	}
}
