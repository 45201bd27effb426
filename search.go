// Search: hotels with prices, and the rates of one hotel.

package hotelstays

import (
	"cmp"
	"context"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go/internal/paging"
	"github.com/hotelstays/hotelstays-go/types"
)

// Limits of HotelList.
const (
	MaxListPageSize = 200
	// MaxHotelIDs is how many ids one request may name; an account with a
	// visibility band accepts MaxHotelIDsBand.
	MaxHotelIDs     = 1000
	MaxHotelIDsBand = 200
)

// SortBy orders the hotels of a search. The field is free text: other values are sent
// as they are, and what they do is undocumented.
type SortBy string

// The documented orders.
const (
	SortPriceAsc    SortBy = "price-asc"
	SortPriceDesc   SortBy = "price-desc"
	SortRatingDesc  SortBy = "rating-desc"
	SortDistanceAsc SortBy = "distance-asc"
)

// HotelListRequest searches by hotel ids, by destination, or by a destination's
// name: at least one of the three. The fields of a search near a point are
// undocumented.
type HotelListRequest struct {
	// SessionID continues a session. What the service does without one here is
	// undocumented. The response names the session that its offers hold in.
	SessionID string `json:"-"`
	// HotelIDs are the service's own ids: PlatformHotelID, or the ids of HotelList
	// and HotelsMetadata. Ids of another platform find nothing, without an error.
	// At most MaxHotelIDs; HotelListBatches takes any number.
	HotelIDs      []string `json:"hotelIds,omitempty"`
	DestinationID string   `json:"destinationId,omitempty"`
	// DestinationName is matched with the names of cities.
	DestinationName string               `json:"destinationName,omitempty"`
	CheckIn         types.Date           `json:"checkIn"`         // required
	CheckOut        types.Date           `json:"checkOut"`        // required, after CheckIn
	RoomOccupancies []types.GuestPerRoom `json:"roomOccupancies"` // required, one for each room
	// MaxRatesPerHotel is how many rates of each hotel are returned, the cheapest
	// first; 0 returns all.
	MaxRatesPerHotel int `json:"maxRatesPerHotel,omitempty"`
	// CountryCode, ISO 3166-1 alpha-2, does not change the market of the prices: that
	// is a setting of the account.
	CountryCode     string `json:"countryCode,omitempty"`
	ResidencyCode   string `json:"residencyCode,omitempty"`   // ISO 3166-1 alpha-2
	NationalityCode string `json:"nationalityCode,omitempty"` // ISO 3166-1 alpha-2
	// PageNum counts from 1; 0 is not sent, and which page then comes is undocumented.
	// The iterators send 1.
	PageNum int `json:"pageNum,omitempty"`
	// PageSize is at most MaxListPageSize; 0 leaves it to the service, which takes 50.
	PageSize int `json:"pageSize,omitempty"`
	// Cursor is sent as it is. No answer is documented to carry one: the iterators
	// advance by PageNum, and refuse it.
	Cursor *int64 `json:"cursor,omitempty"`
	SortBy SortBy `json:"sortBy,omitempty"`
}

// clone copies all that the caller could change while a search goes on.
func (r *HotelListRequest) clone() *HotelListRequest {
	c := *r
	c.HotelIDs = slices.Clone(r.HotelIDs)
	c.RoomOccupancies = slices.Clone(r.RoomOccupancies)
	for i := range c.RoomOccupancies {
		c.RoomOccupancies[i].ChildrenAges = slices.Clone(c.RoomOccupancies[i].ChildrenAges)
	}
	return &c
}

func (r *HotelListRequest) parts() parts { return parts{body: r, session: r.SessionID} }

func (r *HotelListRequest) validate(v *validation) {
	v.session(r.SessionID, false)
	if len(r.HotelIDs) == 0 && strings.TrimSpace(r.DestinationID+r.DestinationName) == "" {
		v.add("hotelIds", "is empty, and so are destinationId and destinationName: one of the three is required")
	}
	if len(r.HotelIDs) > MaxHotelIDs {
		v.add("hotelIds", "names %d hotels; the limit is %d: HotelListBatches splits them", len(r.HotelIDs), MaxHotelIDs)
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
	v.pageSize("pageSize", r.PageSize, MaxListPageSize)
}

// HotelListResponse holds a page of hotels with prices.
type HotelListResponse struct {
	List []types.Hotel `json:"list" max:"200"`
	// Basic names the session, and says why a list is empty or not complete. Where it
	// does not, SessionID is that of the answer's Session-Id header.
	Basic types.SearchBasic `json:"basic"`
	// Total is 0 when there are no hotels, or when the search has no totals.
	Total   int          `json:"total"`
	HasMore bool         `json:"hasMore"`
	Meta    ResponseMeta `json:"-"`
}

func (*HotelListRequest) check(resp *HotelListResponse, a *answer) error {
	header := a.sessionID()
	switch {
	case resp.List == nil:
		return missing("data.list")
	case reflect.ValueOf(resp.Basic).IsZero() && header == "":
		return missing("data.basic, and a Session-Id header in its place,")
	}
	resp.Basic.SessionID = cmp.Or(resp.Basic.SessionID, header)
	return nil
}

func (r *HotelListResponse) meta() *ResponseMeta { return &r.Meta }

func (r *HotelListResponse) pageInfo() paging.Info {
	ids := make([]string, len(r.List))
	for i, h := range r.List {
		ids[i] = h.ID + "\x00" + h.PlatformHotelID
	}
	return paging.Info{IDs: ids, More: r.HasMore, RequestID: r.Meta.RequestID}
}

// HotelList searches for hotels with prices. An empty list is a success:
// Basic.EmptyReason says whether the account is the cause.
func (c *Client) HotelList(ctx context.Context, req *HotelListRequest, opts ...CallOption) (*HotelListResponse, error) {
	return invoke(ctx, c, OpHotelList, req, opts)
}

// HotelListPages yields the pages of a search, from req's page on, each when the loop asks
// for it. The pages share the first one's session. An error is yielded once and ends it; a
// page that is empty or repeats while more are promised is a *PageError.
func (c *Client) HotelListPages(ctx context.Context, req *HotelListRequest, opts ...CallOption) iter.Seq2[*HotelListResponse, error] {
	if req == nil {
		return failed[*HotelListResponse](nilRequest(OpHotelList))
	}
	req, set := req.clone(), collect(opts)
	return func(yield func(*HotelListResponse, error) bool) {
		next := *req
		fetch := func(num int) (resp *HotelListResponse, info paging.Info, err error) {
			next.PageNum = num
			if req.PageNum < 0 { // refused as it is, not read as the first page
				next.PageNum = req.PageNum
			}
			if resp, err = c.HotelList(ctx, &next, set.option()); err != nil {
				return nil, info, err
			}
			next.SessionID = cmp.Or(next.SessionID, resp.Basic.SessionID)
			return resp, resp.pageInfo(), nil
		}
		if err := noCursor(OpHotelList, req.Cursor); err != nil {
			yield(nil, err)
			return
		}
		for resp, err := range paging.Pages(req.PageNum, fetch) {
			if !yield(resp, pageError(OpHotelList, err)) {
				return
			}
		}
	}
}

// HotelRatesRequest asks for the rates of one hotel.
type HotelRatesRequest struct {
	// SessionID is the session of the search. Required.
	SessionID string `json:"-"`
	// HotelID is PlatformHotelID. Whether Hotel.ID is accepted here, for a hotel that
	// has no other, is undocumented. Required.
	HotelID         string               `json:"hotelId"`
	CheckIn         types.Date           `json:"checkIn"`                   // required
	CheckOut        types.Date           `json:"checkOut"`                  // required, after CheckIn
	CountryCode     string               `json:"countryCode,omitempty"`     // the booker's point of sale, ISO 3166-1 alpha-2
	ResidencyCode   string               `json:"residencyCode,omitempty"`   // ISO 3166-1 alpha-2
	NationalityCode string               `json:"nationalityCode,omitempty"` // ISO 3166-1 alpha-2
	RoomOccupancies []types.GuestPerRoom `json:"roomOccupancies"`           // required
}

func (r *HotelRatesRequest) parts() parts                           { return parts{body: r, session: r.SessionID} }
func (*HotelRatesRequest) check(*HotelRatesResponse, *answer) error { return nil }

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

func (r *HotelRatesResponse) meta() *ResponseMeta { return &r.Meta }

// HotelRates returns the whole set of offers of one hotel, across all suppliers.
func (c *Client) HotelRates(ctx context.Context, req *HotelRatesRequest, opts ...CallOption) (*HotelRatesResponse, error) {
	return invoke(ctx, c, OpHotelRates, req, opts)
}
