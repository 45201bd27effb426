// Search: hotels with prices, and the offers of one hotel.

package hotelstays

import (
	"cmp"
	"context"
	"iter"
	"reflect"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/paging"
	"github.com/hotelstays/hotelstays-go/types"
)

// HotelListRequest searches by hotel ids, or by the id or the name of a destination: one of them is required.
type HotelListRequest struct {
	// SessionID, if set, continues a session. The response names the session of its offers.
	SessionID string `json:"sessionId,omitempty"`
	// HotelIDs are PlatformHotelIDs, or ids from HotelList and HotelsMetadata. At most types.MaxHotelIDs are allowed;
	// HotelListBatches takes any number. Unknown ids find nothing.
	HotelIDs      []string `json:"hotelIds,omitempty"`
	DestinationID string   `json:"destinationId,omitempty"`
	// DestinationName matches the names of cities.
	DestinationName string               `json:"destinationName,omitempty"`
	CheckIn         types.Date           `json:"checkIn"`         // required
	CheckOut        types.Date           `json:"checkOut"`        // required, after CheckIn
	RoomOccupancies []types.GuestPerRoom `json:"roomOccupancies"` // required; one element for each room
	// MaxRatesPerHotel limits the rates of each hotel; the cheapest come first. 0 means all.
	MaxRatesPerHotel int `json:"maxRatesPerHotel,omitempty"`
	// CountryCode is an ISO 3166-1 alpha-2 code. It does not change the market of the prices. Set the point of sale with
	// WithMarket.
	CountryCode     string `json:"countryCode,omitempty"`
	ResidencyCode   string `json:"residencyCode,omitempty"`   // ISO 3166-1 alpha-2
	NationalityCode string `json:"nationalityCode,omitempty"` // ISO 3166-1 alpha-2
	// PageNum counts from 1. 0 is not sent: which page the service then returns is undocumented.
	PageNum int `json:"pageNum,omitempty"`
	// PageSize is at most types.MaxListPageSize. 0 means the service's default, 50.
	PageSize int `json:"pageSize,omitempty"`
	// Cursor is sent unchanged. No response is documented to return a cursor, so the iterators refuse a cursor.
	Cursor *int64       `json:"cursor,omitempty"`
	SortBy types.SortBy `json:"sortBy,omitempty"`
}

func (r *HotelListRequest) parts() parts {
	body := *r
	body.SessionID = "" // SessionID is sent as a header
	return parts{body: &body, session: r.SessionID}
}

func (r *HotelListRequest) validate(v *validation) {
	v.session(r.SessionID, false)
	if len(r.HotelIDs) == 0 && strings.TrimSpace(r.DestinationID+r.DestinationName) == "" {
		v.add("hotelIds", "is required, unless destinationId or destinationName is set")
	}
	if len(r.HotelIDs) > types.MaxHotelIDs {
		v.add("hotelIds", "has %d ids; the limit is %d; HotelListBatches splits them", len(r.HotelIDs), types.MaxHotelIDs)
	}
	v.hotelIDs(r.HotelIDs)
	v.text("destinationId", r.DestinationID)
	v.text("destinationName", r.DestinationName)
	v.stay(r.CheckIn, r.CheckOut, r.RoomOccupancies)
	if r.MaxRatesPerHotel < 0 {
		v.add("maxRatesPerHotel", "is negative; 0 means all")
	}
	v.country("countryCode", r.CountryCode)
	v.country("residencyCode", r.ResidencyCode)
	v.country("nationalityCode", r.NationalityCode)
	if r.PageNum < 0 {
		v.add("pageNum", "is %d; pages count from 1", r.PageNum)
	}
	v.pageSize("pageSize", r.PageSize, types.MaxListPageSize)
}

// HotelListResponse holds a page of hotels with prices.
type HotelListResponse struct {
	List []types.Hotel `json:"list"`
	// Basic has the session of the offers, and the reason for an empty or incomplete list. If the answer names no session,
	// SessionID is the Session-Id header.
	Basic types.SearchBasic `json:"basic"`
	// Total is 0 if there are no hotels, or if the service does not count the hotels of this search.
	Total int `json:"total"`
	// HasMore reports whether another page follows; nil: the service did not say.
	HasMore *bool        `json:"hasMore"`
	Meta    ResponseMeta `json:"-"`
}

func (*HotelListRequest) check(resp *HotelListResponse, x *exchange) error {
	header := x.sessionID()
	switch {
	case resp.List == nil:
		return missing("data.list")
	case reflect.ValueOf(resp.Basic).IsZero() && header == "":
		return missing("the session (data.basic with its sessionId, or a Session-Id header)")
	}
	resp.Basic.SessionID = cmp.Or(resp.Basic.SessionID, header)
	return nil
}

func (r *HotelListResponse) pageInfo() paging.Info {
	ids := make([]string, len(r.List))
	for i, h := range r.List {
		ids[i] = h.ID + "\x00" + h.PlatformHotelID
	}
	return paging.Info{IDs: ids, More: r.HasMore, Total: r.Total, LeftOut: r.Meta.MismatchCount > 0, RequestID: r.Meta.RequestID}
}

// HotelList searches for hotels with prices. An empty list is a success: see Basic.EmptyReason.
// Meta.Mismatches lists why an offer or a hotel was left out.
func (c *Client) HotelList(ctx context.Context, req *HotelListRequest, opts ...CallOption) (*HotelListResponse, error) {
	return invoke(ctx, c, OpHotelList, req, opts)
}

// HotelListPages yields the pages of a search from req.PageNum on. It fetches each page when the loop needs it, in the
// session of the page before. An error ends the iteration.
//
// HasMore decides whether another page follows. If the service does not send it, Total decides. Without both, the listing
// ends with a page that is empty or repeats an earlier page. If HasMore or Total promises more pages, two kinds of pages
// end the listing with a *PageError: a page that repeats an earlier page, and the eleventh empty page in a row.
func (c *Client) HotelListPages(ctx context.Context, req *HotelListRequest, opts ...CallOption) iter.Seq2[*HotelListResponse, error] {
	return iterate(ctx, c, "HotelListPages", OpHotelList, req, opts, c.pages)
}

const defaultListPageSize = 50 // the service's default

func (c *Client) pages(ctx context.Context, req HotelListRequest, set settings) iter.Seq2[*HotelListResponse, error] {
	return func(yield func(*HotelListResponse, error) bool) {
		next := req
		fetch := func(num int) (resp *HotelListResponse, info paging.Info, err error) {
			next.PageNum = num
			if resp, err = c.HotelList(ctx, &next, set.forCall(OpHotelList)); err != nil {
				return nil, info, err
			}
			next.SessionID = cmp.Or(resp.Basic.SessionID, next.SessionID)
			return resp, resp.pageInfo(), nil
		}
		if err := noCursor(OpHotelList, req.Cursor); err != nil {
			yield(nil, err)
			return
		}
		for resp, err := range paging.Pages(req.PageNum, cmp.Or(req.PageSize, defaultListPageSize), fetch) {
			if !yield(resp, pageError(OpHotelList, err)) {
				return
			}
		}
	}
}

// HotelRatesRequest selects the offers of one hotel.
type HotelRatesRequest struct {
	// SessionID is the session of the search. Required.
	SessionID string `json:"sessionId,omitempty"`
	// HotelID is a PlatformHotelID. Whether Hotel.ID is accepted is undocumented. Required.
	HotelID         string               `json:"hotelId"`
	CheckIn         types.Date           `json:"checkIn"`                   // required
	CheckOut        types.Date           `json:"checkOut"`                  // required, after CheckIn
	CountryCode     string               `json:"countryCode,omitempty"`     // the booker's point of sale, ISO 3166-1 alpha-2
	ResidencyCode   string               `json:"residencyCode,omitempty"`   // ISO 3166-1 alpha-2
	NationalityCode string               `json:"nationalityCode,omitempty"` // ISO 3166-1 alpha-2
	RoomOccupancies []types.GuestPerRoom `json:"roomOccupancies"`           // required
}

func (r *HotelRatesRequest) parts() parts {
	body := *r
	body.SessionID = "" // SessionID is sent as a header
	return parts{body: &body, session: r.SessionID}
}

func (*HotelRatesRequest) check(*HotelRatesResponse, *exchange) error { return nil }

func (r *HotelRatesRequest) validate(v *validation) {
	v.session(r.SessionID, true)
	v.required("hotelId", r.HotelID)
	v.stay(r.CheckIn, r.CheckOut, r.RoomOccupancies)
	v.country("countryCode", r.CountryCode)
	v.country("residencyCode", r.ResidencyCode)
	v.country("nationalityCode", r.NationalityCode)
}

// HotelRatesResponse holds the rooms of a hotel with their offers.
type HotelRatesResponse struct {
	Rooms []types.Room `json:"rooms"`
	Meta  ResponseMeta `json:"-"`
}

// HotelRates returns all offers of one hotel, from all suppliers.
func (c *Client) HotelRates(ctx context.Context, req *HotelRatesRequest, opts ...CallOption) (*HotelRatesResponse, error) {
	return invoke(ctx, c, OpHotelRates, req, opts)
}
