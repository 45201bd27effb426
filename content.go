// Content: destinations and the hotel catalogue, neither priced nor bound to
// dates. Callers may cache it and refresh it on their own schedule.

package hotelstays

import (
	"context"

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

// DestinationsRequest asks for places. What one returns that names neither a country
// nor a parent is not shown: the sandbox answers with its countries.
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

// Destinations returns the top-level places of a country, or those right below a
// place. WalkDestinations visits all that lie below, too.
func (c *Client) Destinations(ctx context.Context, req *DestinationsRequest, opts ...CallOption) (*DestinationsResponse, error) {
	resp := &DestinationsResponse{}
	if err := c.call(ctx, OpDestinations, req, resp, &resp.Meta, opts); err != nil {
		return nil, err
	}
	return resp, nil
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
	HotelsMetadata []types.HotelMetadata `json:"hotelsMetadata" max:"100"`
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

// HotelStaticDetailRequest asks for one hotel.
type HotelStaticDetailRequest struct {
	HotelID string `json:"hotelId"` // required: PlatformHotelID
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
// That its answer stands in the envelope of all others is this client's reading.
//
// Deprecated: an older variant of the service. Use HotelsMetadata.
func (c *Client) HotelIDList(ctx context.Context, req *HotelIDListRequest, opts ...CallOption) (*HotelIDListResponse, error) {
	resp := &HotelIDListResponse{}
	if err := c.call(ctx, OpHotelIDList, req, resp, &resp.Meta, opts); err != nil {
		return nil, err
	}
	return resp, nil
}
