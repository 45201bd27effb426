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

func (r *DestinationsRequest) validate(v *validation) {
	v.country("countryCode", r.CountryCode)
	if !oneOf(r.Include, "", IncludeStandard, IncludeDetails) {
		v.add("include", "is %q; it must be %q or %q", r.Include, IncludeStandard, IncludeDetails)
	}
}

func (r *DestinationsRequest) parts() parts                             { return parts{body: r} }
func (*DestinationsRequest) check(*DestinationsResponse, *answer) error { return nil }

// DestinationsResponse holds places. There are no pages.
type DestinationsResponse struct {
	Destinations []types.Destination `json:"destinations"`
	Meta         ResponseMeta        `json:"-"`
}

func (r *DestinationsResponse) meta() *ResponseMeta { return &r.Meta }

// Destinations returns the top-level places of a country, or those right below a
// place. WalkDestinations visits all that lie below, too.
func (c *Client) Destinations(ctx context.Context, req *DestinationsRequest, opts ...CallOption) (*DestinationsResponse, error) {
	return do(ctx, c, OpDestinations, req, opts)
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

func (r *HotelsMetadataRequest) validate(v *validation) {
	v.required("destinationId", r.DestinationID)
	if r.Page != nil {
		v.pageSize("page.pageSize", r.Page.PageSize, MaxMetadataPageSize)
	}
}

func (r *HotelsMetadataRequest) parts() parts                               { return parts{body: r} }
func (*HotelsMetadataRequest) check(*HotelsMetadataResponse, *answer) error { return nil }

// HotelsMetadataResponse holds a page of hotels.
type HotelsMetadataResponse struct {
	HotelsMetadata []types.HotelMetadata `json:"hotelsMetadata" max:"100"`
	Page           types.PageResp        `json:"page"`
	Meta           ResponseMeta          `json:"-"`
}

func (r *HotelsMetadataResponse) meta() *ResponseMeta { return &r.Meta }

// HotelsMetadata returns a page of the catalogue of one destination. Key what is
// kept of it on PlatformHotelID.
func (c *Client) HotelsMetadata(ctx context.Context, req *HotelsMetadataRequest, opts ...CallOption) (*HotelsMetadataResponse, error) {
	return do(ctx, c, OpHotelsMetadata, req, opts)
}

// HotelStaticDetailRequest asks for one hotel.
type HotelStaticDetailRequest struct {
	HotelID string `json:"hotelId"` // required: PlatformHotelID
}

func (r *HotelStaticDetailRequest) validate(v *validation) { v.required("hotelId", r.HotelID) }

func (r *HotelStaticDetailRequest) parts() parts                                  { return parts{body: r} }
func (*HotelStaticDetailRequest) check(*HotelStaticDetailResponse, *answer) error { return nil }

// HotelStaticDetailResponse holds one hotel. The facilities, images and contacts
// that the service speaks of are not shown as fields.
type HotelStaticDetailResponse struct {
	Hotel *types.Hotel `json:"hotel"`
	Meta  ResponseMeta `json:"-"`
}

func (r *HotelStaticDetailResponse) meta() *ResponseMeta { return &r.Meta }

// HotelStaticDetail returns one hotel. The service marks it as under
// development: it is not for production, which uses HotelsMetadata instead.
func (c *Client) HotelStaticDetail(ctx context.Context, req *HotelStaticDetailRequest, opts ...CallOption) (*HotelStaticDetailResponse, error) {
	return do(ctx, c, OpHotelStaticDetail, req, opts)
}

// HotelIDListRequest asks for hotel ids by region, or converts ids.
//
// Deprecated: an older variant of the service. Use HotelsMetadataRequest.
type HotelIDListRequest struct {
	HotelIDs   []int64 `json:"hotelIds,omitempty"`
	RegionCode int64   `json:"regionCode,omitempty"`
	RegionName string  `json:"regionName,omitempty"`
}

func (r *HotelIDListRequest) validate(*validation) {}

func (r *HotelIDListRequest) parts() parts                            { return parts{body: r} }
func (*HotelIDListRequest) check(*HotelIDListResponse, *answer) error { return nil }

// HotelIDListResponse holds hotel ids.
//
// Deprecated: an older variant of the service. Use HotelsMetadataResponse.
type HotelIDListResponse struct {
	HotelIDList []HotelIDListItem `json:"hotelIdList"`
	Meta        ResponseMeta      `json:"-"`
}

func (r *HotelIDListResponse) meta() *ResponseMeta { return &r.Meta }

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
	return do(ctx, c, OpHotelIDList, req, opts)
}
