// Content: destinations and the hotel catalogue, neither priced nor bound to
// dates. Callers may cache it and refresh it on their own schedule.

package hotelstays

import (
	"context"
	"iter"

	"github.com/hotelstays/hotelstays-go/types"
)

// Include says how much Destinations returns of each place. Which fields differ
// is not shown.
type Include string

// The documented values of Include.
const (
	IncludeStandard Include = "standard" // metadata and the basic hierarchy; the default
	IncludeDetails  Include = "details"  // with coordinates and the whole hierarchy
)

// DestinationsRequest asks for places. An empty one asks for the top of the tree.
type DestinationsRequest struct {
	// CountryCode, ISO 3166-1 alpha-2, asks for a country's top-level places. With
	// it the service disregards ParentDestinationID.
	CountryCode string `json:"countryCode,omitempty"`
	// ParentDestinationID asks for the places right below one.
	ParentDestinationID string  `json:"parentDestinationId,omitempty"`
	Include             Include `json:"include,omitempty"`
	// FilterEmptyCities drops cities without hotels. nil leaves it to the service,
	// which takes true.
	FilterEmptyCities *bool `json:"filterEmptyCities,omitempty"`
	// MinHotelCount is how many hotels a city must have to be returned. nil leaves
	// it to the service, which takes 1.
	MinHotelCount *int `json:"minHotelCount,omitempty"`
}

func (r *DestinationsRequest) validate(f *faults) {
	f.country("countryCode", r.CountryCode)
	if !oneOf(r.Include, "", IncludeStandard, IncludeDetails) {
		f.add("include", "is %q; it must be %q or %q", r.Include, IncludeStandard, IncludeDetails)
	}
}

// DestinationsResponse holds places. There are no pages.
type DestinationsResponse struct {
	Destinations []types.Destination `json:"destinations"`
	Meta         ResponseMeta        `json:"-"`
}

// Destinations returns the places of a country, below a place, or at the top of
// the tree. WalkDestinations visits all of them.
func (c *Client) Destinations(ctx context.Context, req *DestinationsRequest, opts ...CallOption) (*DestinationsResponse, error) {
	resp := &DestinationsResponse{}
	if err := c.call(ctx, OpDestinations, req, resp, &resp.Meta, opts); err != nil {
		return nil, err
	}
	return resp, nil
}

// WalkDestinations visits the tree from what req asks for downwards, parents
// before their children, and yields each place once. It makes one call for each
// place. An error is yielded once and ends the walk.
//
// Places below the first level are asked for by their parent alone: a country
// code would override it, and the walk would never end.
func (c *Client) WalkDestinations(ctx context.Context, req *DestinationsRequest, opts ...CallOption) iter.Seq2[*types.Destination, error] {
	if req == nil {
		return func(yield func(*types.Destination, error) bool) { yield(nil, nilRequest(OpDestinations)) }
	}
	first := *req
	return func(yield func(*types.Destination, error) bool) {
		next := first
		seen := make(map[string]bool)
		var parents []string // whose children have not been asked for; the nearest last
		for {
			resp, err := c.Destinations(ctx, &next, opts...)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range resp.Destinations {
				d := &resp.Destinations[i]
				if seen[d.ID] && d.ID != "" {
					continue
				}
				if !yield(d, nil) {
					return
				}
				if d.ID != "" {
					seen[d.ID] = true
					parents = append(parents, d.ID)
				}
			}
			if len(parents) == 0 {
				return
			}
			next.CountryCode, next.ParentDestinationID = "", parents[len(parents)-1]
			parents = parents[:len(parents)-1]
		}
	}
}

// The page size of HotelsMetadata.
const (
	DefaultMetadataPageSize = 20
	MaxMetadataPageSize     = 100
)

// HotelsMetadataRequest asks for a page of a destination's hotels.
type HotelsMetadataRequest struct {
	// DestinationID is the UUID of a place that Destinations returned. Required.
	DestinationID string `json:"destinationId"`
	CountryCode   string `json:"countryCode,omitempty"`
	// Page is which page, of up to MaxMetadataPageSize hotels. nil asks for the
	// first one, of DefaultMetadataPageSize.
	Page *types.PageReq `json:"page,omitempty"`
}

func (r *HotelsMetadataRequest) validate(f *faults) {
	f.required("destinationId", r.DestinationID)
	if r.Page != nil {
		f.pageSize("page.pageSize", r.Page.PageSize, MaxMetadataPageSize)
	}
}

// HotelsMetadataResponse holds a page of hotels.
type HotelsMetadataResponse struct {
	HotelsMetadata []types.HotelMetadata `json:"hotelsMetadata"`
	Page           types.PageResp        `json:"page"`
	Meta           ResponseMeta          `json:"-"`
}

// HotelsMetadata returns a page of the catalogue of one destination. Key what is
// kept of it on PlatformHotelID.
func (c *Client) HotelsMetadata(ctx context.Context, req *HotelsMetadataRequest, opts ...CallOption) (*HotelsMetadataResponse, error) {
	resp := &HotelsMetadataResponse{}
	if err := c.call(ctx, OpHotelsMetadata, req, resp, &resp.Meta, opts); err != nil {
		return nil, err
	}
	return resp, nil
}

// HotelsMetadataAll yields every hotel of a destination, from req's page on,
// page by page as they are needed. Without a page size it takes the largest. An
// error is yielded once and ends it; a page that is empty or repeats while more
// are promised is a *PageError.
func (c *Client) HotelsMetadataAll(ctx context.Context, req *HotelsMetadataRequest, opts ...CallOption) iter.Seq2[*types.HotelMetadata, error] {
	return func(yield func(*types.HotelMetadata, error) bool) {
		if req == nil {
			yield(nil, nilRequest(OpHotelsMetadata))
			return
		}
		var first types.PageReq
		if req.Page != nil {
			first = *req.Page
		}
		if first.PageSize == 0 {
			first.PageSize = MaxMetadataPageSize
		}
		fetch := func(num int) (*HotelsMetadataResponse, error) {
			page := first
			page.PageNum = num
			return c.HotelsMetadata(ctx, &HotelsMetadataRequest{DestinationID: req.DestinationID, CountryCode: req.CountryCode, Page: &page}, opts...)
		}
		walk := pageWalk{op: OpHotelsMetadata, cursor: first.Cursor, pageNum: first.PageNum}
		for resp, err := range pages(walk, fetch) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range resp.HotelsMetadata {
				if !yield(&resp.HotelsMetadata[i], nil) {
					return
				}
			}
		}
	}
}

func (r *HotelsMetadataResponse) hasMore() bool { return r.Page.HasMore }

func (r *HotelsMetadataResponse) ids() []string {
	ids := make([]string, len(r.HotelsMetadata))
	for i, h := range r.HotelsMetadata {
		ids[i] = h.HotelID + "\x00" + h.PlatformHotelID
	}
	return ids
}

// HotelStaticDetailRequest asks for one hotel.
type HotelStaticDetailRequest struct {
	HotelID string `json:"hotelId"` // required
}

func (r *HotelStaticDetailRequest) validate(f *faults) { f.required("hotelId", r.HotelID) }

// HotelStaticDetailResponse holds one hotel. The facilities, images and contacts
// that the service speaks of are not shown as fields.
type HotelStaticDetailResponse struct {
	Hotel *types.Hotel `json:"hotel"`
	Meta  ResponseMeta `json:"-"`
}

// HotelStaticDetail returns one hotel. The service marks it as under
// development: it is not for production, which uses HotelsMetadata instead.
func (c *Client) HotelStaticDetail(ctx context.Context, req *HotelStaticDetailRequest, opts ...CallOption) (*HotelStaticDetailResponse, error) {
	resp := &HotelStaticDetailResponse{}
	if err := c.call(ctx, OpHotelStaticDetail, req, resp, &resp.Meta, opts); err != nil {
		return nil, err
	}
	return resp, nil
}

// HotelIDListRequest asks for hotel ids by region, or converts ids.
//
// Deprecated: an older variant of the service. Use HotelsMetadataRequest.
type HotelIDListRequest struct {
	HotelIDs   []int64 `json:"hotelIds,omitempty"`
	RegionCode int64   `json:"regionCode,omitempty"`
	RegionName string  `json:"regionName,omitempty"`
}

func (r *HotelIDListRequest) validate(*faults) {}

// HotelIDListResponse holds hotel ids.
//
// Deprecated: an older variant of the service. Use HotelsMetadataResponse.
type HotelIDListResponse struct {
	HotelIDList []HotelIDListItem `json:"hotelIdList"`
	Meta        ResponseMeta      `json:"-"`
}

// HotelIDListItem is one hotel id.
//
// Deprecated: an older variant of the service. Use types.HotelMetadata.
type HotelIDListItem struct {
	HotelID string `json:"hotelId"`
}

// HotelIDList returns the hotel ids of a region, or translates ids of the platform
// and of the client into each other. No ceiling is shown for it, and none is kept.
//
// Deprecated: an older variant of the service. Use HotelsMetadata.
func (c *Client) HotelIDList(ctx context.Context, req *HotelIDListRequest, opts ...CallOption) (*HotelIDListResponse, error) {
	resp := &HotelIDListResponse{}
	if err := c.call(ctx, OpHotelIDList, req, resp, &resp.Meta, opts); err != nil {
		return nil, err
	}
	return resp, nil
}
