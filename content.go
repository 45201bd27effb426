// Content: destinations and the hotel catalogue, without prices or dates. Callers may
// cache it and refresh it on their own schedule.

package hotelstays

import (
	"cmp"
	"context"
	"iter"

	"github.com/hotelstays/hotelstays-go/internal/paging"
	"github.com/hotelstays/hotelstays-go/types"
)

// DestinationsInclude is how much Destinations returns of each place. Which fields differ
// is undocumented.
type DestinationsInclude string

// The documented values of DestinationsInclude.
const (
	DestinationsIncludeStandard DestinationsInclude = "standard" // metadata and the basic hierarchy; the default
	DestinationsIncludeDetails  DestinationsInclude = "details"  // with coordinates and the whole hierarchy
)

// DestinationsRequest asks for places. The result of a request with neither a country nor
// a parent is undocumented; the sandbox returns its countries.
type DestinationsRequest struct {
	// CountryCode, ISO 3166-1 alpha-2, asks for a country's top-level places. With
	// it the service disregards ParentDestinationID.
	CountryCode string `json:"countryCode,omitempty"`
	// ParentDestinationID asks for the places right below one.
	ParentDestinationID string              `json:"parentDestinationId,omitempty"`
	Include             DestinationsInclude `json:"include,omitempty"`
	// FilterEmptyCities drops cities without hotels. nil leaves it to the service,
	// which takes true.
	FilterEmptyCities *bool `json:"filterEmptyCities,omitempty"`
	// MinHotelCount is how many hotels a city must have to be returned. nil leaves
	// it to the service, which takes 1.
	MinHotelCount *int `json:"minHotelCount,omitempty"`
}

func (r *DestinationsRequest) validate(v *validation) {
	v.country("countryCode", r.CountryCode)
	if !oneOf(r.Include, "", DestinationsIncludeStandard, DestinationsIncludeDetails) {
		v.add("include", "is %q; it must be %q or %q", r.Include, DestinationsIncludeStandard, DestinationsIncludeDetails)
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
	return invoke(ctx, c, OpDestinations, req, opts)
}

// WalkDestinations visits the tree from what req asks for downwards, parents before their
// children, and yields each place once. It makes one call for each place, and keeps the ids
// of those that it has seen. An error is yielded once and ends the walk.
//
// By default it makes one call after the other, each when the loop has come that far, and
// the order is always the same. WithParallelism(n) keeps up to n calls under way, unless n
// answers wait for the loop; the order then depends on which answer comes first. Leaving the
// loop stops the calls that are under way. Whether the walk reaches every place of the
// service is undocumented.
func (c *Client) WalkDestinations(ctx context.Context, req *DestinationsRequest, opts ...IterOption) iter.Seq2[*types.Destination, error] {
	if req == nil {
		return failed[*types.Destination](nilRequest(OpDestinations))
	}
	var set iterSettings
	applyAll(opts, &set, IterOption.applyIter)
	if err := c.usable(ctx, OpDestinations); err != nil {
		return failed[*types.Destination](err)
	}
	ask := func(ctx context.Context, req DestinationsRequest) (places []*types.Destination, err error) {
		defer recovered(&err, string(OpDestinations))
		resp, err := c.Destinations(ctx, &req, set.option())
		if err != nil {
			return nil, err
		}
		for i := range resp.Destinations {
			places = append(places, &resp.Destinations[i])
		}
		return places, nil
	}
	// A country code would override the parent, and the walk would never end.
	below := func(req DestinationsRequest, place *types.Destination) (string, DestinationsRequest) {
		req.CountryCode, req.ParentDestinationID = "", place.ID
		return place.ID, req
	}
	return paging.Tree(ctx, *req, max(1, set.parallelism), ask, below)
}

// MaxMetadataPageSize is the largest page size of HotelsMetadata.
const MaxMetadataPageSize = 100

// HotelsMetadataRequest asks for a page of a destination's hotels.
type HotelsMetadataRequest struct {
	// DestinationID is the UUID of a place that Destinations returned. Required.
	DestinationID string `json:"destinationId"`
	CountryCode   string `json:"countryCode,omitempty"`
	// Page selects a page of up to MaxMetadataPageSize hotels. nil asks for the first,
	// of 20.
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
	return invoke(ctx, c, OpHotelsMetadata, req, opts)
}

// HotelsMetadataAll yields every hotel of a destination in the order of the service, from
// req's page on. The default page size is the largest. An error is yielded once and ends
// it; a page that is empty or repeats while more are promised is a *PageError.
//
// By default it asks for a page when the loop has read the one before.
// WithParallelism(n) keeps up to n pages under way or unread, in the same order, once an
// answer's total shows that they exist; without totals it still asks page by page. Only
// the page before decides whether there is a next page, never the total. Leaving the loop
// stops the calls that are under way.
func (c *Client) HotelsMetadataAll(ctx context.Context, req *HotelsMetadataRequest, opts ...IterOption) iter.Seq2[*types.HotelMetadata, error] {
	if req == nil {
		return failed[*types.HotelMetadata](nilRequest(OpHotelsMetadata))
	}
	request, first := *req, types.PageReq{}
	if req.Page != nil {
		first = *req.Page
	}
	if first.PageSize == 0 {
		first.PageSize = MaxMetadataPageSize
	}
	var set iterSettings
	applyAll(opts, &set, IterOption.applyIter)
	fetch := func(ctx context.Context, num int) (resp *HotelsMetadataResponse, info paging.Info, err error) {
		defer recovered(&err, string(OpHotelsMetadata))
		page, next := first, request
		page.PageNum, next.Page = num, &page
		resp, err = c.HotelsMetadata(ctx, &next, set.option())
		if err == nil {
			info = resp.pageInfo()
		}
		return resp, info, err
	}
	return func(yield func(*types.HotelMetadata, error) bool) {
		if err := cmp.Or(c.usable(ctx, OpHotelsMetadata), noCursor(OpHotelsMetadata, first.Cursor)); err != nil {
			yield(nil, err)
			return
		}
		for resp, err := range paging.PagesAhead(ctx, first.PageNum, first.PageSize, max(1, set.parallelism), fetch) {
			if err != nil {
				yield(nil, pageError(OpHotelsMetadata, err))
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

func (r *HotelsMetadataResponse) pageInfo() paging.Info {
	ids := make([]string, len(r.HotelsMetadata))
	for i, h := range r.HotelsMetadata {
		ids[i] = h.HotelID + "\x00" + h.PlatformHotelID
	}
	return paging.Info{IDs: ids, More: r.Page.HasMore, Total: r.Page.Total, RequestID: r.Meta.RequestID}
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
	return invoke(ctx, c, OpHotelStaticDetail, req, opts)
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
// and of the client into each other. Its rate limit is undocumented, and none is kept.
// That its answer has the envelope of all others is this client's reading.
//
// Deprecated: an older variant of the service. Use HotelsMetadata.
func (c *Client) HotelIDList(ctx context.Context, req *HotelIDListRequest, opts ...CallOption) (*HotelIDListResponse, error) {
	return invoke(ctx, c, OpHotelIDList, req, opts)
}
