// Searches against the sandbox, and HotelListPages.

package hotelstays_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// The session is in basic or, where that does not name one, in the header of the answer. Without basic
// the header must have it; basic need not name one.
func TestHotelListSessionOfTheHeader(t *testing.T) {
	for data, want := range map[string][2]string{ // with a header, and without
		`{"list":[],"basic":{"sessionId":"of basic"}}`: {"of basic", "of basic"},
		`{"list":[],"basic":{"statusRemark":"none"}}`:  {"of the header", ""},
		`{"list":[],"basic":null}`:                     {"of the header", "unreadable"},
		`{"list":[]}`:                                  {"of the header", "unreadable"},
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
		inBubble(t, tc.name, func(t *testing.T) {
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
	}
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
				assert.Len(t, script.asked, tc.calls)
				for i, session := range script.sessions {
					assert.Equal(t, listing == "HotelListPages", session == fmt.Sprint("session-", i), "that of the answer before it")
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
