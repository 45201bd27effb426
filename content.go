// Content: destinations and the hotel catalogue, without prices and dates.

package hotelstays

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"

	"github.com/hotelstays/hotelstays-go/internal/paging"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

// DestinationsRequest selects places. If both CountryCode and ParentDestinationID are empty, it is undocumented which
// places the service returns. The sandbox then returns its countries.
type DestinationsRequest struct {
	// CountryCode, ISO 3166-1 alpha-2, selects the top-level places of a country. The service then ignores
	// ParentDestinationID.
	CountryCode string `json:"countryCode,omitempty"`
	// ParentDestinationID selects the places directly below a place.
	ParentDestinationID string                    `json:"parentDestinationId,omitempty"`
	Include             types.DestinationsInclude `json:"include,omitempty"`
	// FilterEmptyCities drops cities without hotels. nil means the service's default, true.
	FilterEmptyCities *bool `json:"filterEmptyCities,omitempty"`
	// MinHotelCount drops cities that have fewer hotels than this number. nil means the service's default, 1.
	MinHotelCount *int `json:"minHotelCount,omitempty"`
}

func (r *DestinationsRequest) validate(v *validation) {
	v.country("countryCode", r.CountryCode)
	if !oneOf(r.Include, "", types.DestinationsIncludeStandard, types.DestinationsIncludeDetails) {
		v.add("include", "is %q; it must be %q or %q", r.Include, types.DestinationsIncludeStandard, types.DestinationsIncludeDetails)
	}
}

func (r *DestinationsRequest) parts() parts                               { return parts{body: r} }
func (*DestinationsRequest) check(*DestinationsResponse, *exchange) error { return nil }

// DestinationsResponse holds all selected places: the operation has no pages.
type DestinationsResponse struct {
	Destinations []types.Destination `json:"destinations"`
	Meta         ResponseMeta        `json:"-"`
}

// Destinations returns the top-level places of a country, or the places directly below a place. WalkDestinations
// returns the whole tree.
func (c *Client) Destinations(ctx context.Context, req *DestinationsRequest, opts ...CallOption) (*DestinationsResponse, error) {
	return invoke(ctx, c, OpDestinations, req, opts)
}

// WalkDestinations yields the places that req selects and all places below them: parents before their children, each
// place once. It makes one call for each place, and keeps all ids in memory. An error is yielded once and ends the
// walk. If the id of a place is not text, the walk leaves out the place and everything below it, and logs a warning.
// Whether the walk reaches every place of the service is undocumented.
//
// By default it makes one call at a time, when the loop needs the next place. The order of the places is then always
// the same. With WithParallelism(n) it makes up to n calls at the same time, and pauses while n answers wait for the
// loop. The order then depends on which answer arrives first. Leaving the loop stops all calls.
func (c *Client) WalkDestinations(ctx context.Context, req *DestinationsRequest, opts ...CallOption) iter.Seq2[*types.Destination, error] {
	return iterate(ctx, c, "WalkDestinations", OpDestinations, req, opts, c.walk)
}

func (c *Client) walk(ctx context.Context, root DestinationsRequest, set settings) iter.Seq2[*types.Destination, error] {
	ask := func(ctx context.Context, req DestinationsRequest) (places []*types.Destination, err error) {
		defer transport.Recovered(&err, c.log, string(OpDestinations))
		resp, err := c.Destinations(ctx, &req, set.forCall(OpDestinations))
		if err != nil {
			return nil, err
		}
		for i := range resp.Destinations {
			places = append(places, &resp.Destinations[i])
		}
		return places, nil
	}
	// CountryCode must be empty: the service prefers it to the parent, and would return the top-level places again.
	below := func(req DestinationsRequest, place *types.Destination) (string, DestinationsRequest) {
		req.CountryCode, req.ParentDestinationID = "", place.ID
		return place.ID, req
	}
	return paging.Tree(ctx, root, max(1, set.Parallelism), ask, below)
}

// HotelsMetadataRequest selects a page of a destination's hotels.
type HotelsMetadataRequest struct {
	// DestinationID is the UUID of a place from Destinations. Required.
	DestinationID string `json:"destinationId"`
	CountryCode   string `json:"countryCode,omitempty"`
	// Page selects a page of at most types.MaxMetadataPageSize hotels, 20 by default. Which page the service returns if Page
	// is nil is undocumented.
	Page *types.PageReq `json:"page,omitempty"`
}

func (r *HotelsMetadataRequest) validate(v *validation) {
	v.required("destinationId", r.DestinationID)
	if r.Page != nil {
		v.pageSize("page.pageSize", r.Page.PageSize, types.MaxMetadataPageSize)
	}
}

func (r *HotelsMetadataRequest) parts() parts                                 { return parts{body: r} }
func (*HotelsMetadataRequest) check(*HotelsMetadataResponse, *exchange) error { return nil }

// HotelsMetadataResponse holds a page of hotels.
type HotelsMetadataResponse struct {
	HotelsMetadata []types.HotelMetadata `json:"hotelsMetadata"`
	Page           types.PageResp        `json:"page"`
	Meta           ResponseMeta          `json:"-"`
}

// HotelsMetadata returns a page of a destination's catalogue. Identify a hotel by its PlatformHotelID.
func (c *Client) HotelsMetadata(ctx context.Context, req *HotelsMetadataRequest, opts ...CallOption) (*HotelsMetadataResponse, error) {
	return invoke(ctx, c, OpHotelsMetadata, req, opts)
}

// HotelsMetadataAll yields every hotel of a destination in the service's order, from req.Page on. The default page size is
// types.MaxMetadataPageSize. An error is yielded once and ends the iteration. A listing ends as HotelListPages describes.
//
// By default it fetches each page when the loop needs it. With WithParallelism(n) it fetches up to n pages ahead, up to the
// last page according to Total. The order of the hotels stays the same. Leaving the loop stops all calls.
func (c *Client) HotelsMetadataAll(ctx context.Context, req *HotelsMetadataRequest,
	opts ...CallOption) iter.Seq2[*types.HotelMetadata, error] {
	return iterate(ctx, c, "HotelsMetadataAll", OpHotelsMetadata, req, opts, c.metadata)
}

func (c *Client) metadata(ctx context.Context, req HotelsMetadataRequest, set settings) iter.Seq2[*types.HotelMetadata, error] {
	first := *cmp.Or(req.Page, &types.PageReq{})
	first.PageSize = cmp.Or(first.PageSize, types.MaxMetadataPageSize)
	fetch := func(ctx context.Context, num int) (resp *HotelsMetadataResponse, info paging.Info, err error) {
		defer transport.Recovered(&err, c.log, string(OpHotelsMetadata))
		page, next := first, req
		page.PageNum, next.Page = num, &page
		resp, err = c.HotelsMetadata(ctx, &next, set.forCall(OpHotelsMetadata))
		if err == nil {
			info = resp.pageInfo()
		}
		return resp, info, err
	}
	return func(yield func(*types.HotelMetadata, error) bool) {
		if err := noCursor(OpHotelsMetadata, first.Cursor); err != nil {
			yield(nil, err)
			return
		}
		for resp, err := range paging.PagesAhead(ctx, first.PageNum, first.PageSize, max(1, set.Parallelism), fetch) {
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
	return paging.Info{IDs: ids, More: r.Page.HasMore, Total: r.Page.Total, LeftOut: r.Meta.MismatchCount > 0,
		RequestID: r.Meta.RequestID}
}

// PageError reports an incomplete listing. The service promises more items, but a page repeats an earlier page, or is the
// eleventh empty page in a row. The items that were yielded before are correct.
type PageError struct {
	Operation Operation
	PageNum   int
	Repeats   bool // whether the page repeats an earlier page; if not, the page is empty
	RequestID string
}

// Error names the page where the listing stopped.
func (e *PageError) Error() string {
	what := "is empty, like the ten pages before it"
	if e.Repeats {
		what = "repeats an earlier page"
	}
	return fmt.Sprintf("hotelstays: %s: the listing is incomplete: page %d %s,"+
		" although the service promises more (request id %s); start again from page 1",
		e.Operation, e.PageNum, what, e.RequestID)
}

func (*PageError) kind() ErrorKind { return KindPage }

func (e *PageError) details() details { return details{operation: e.Operation, requestID: e.RequestID} }

// LogValue returns attributes for slog, like APIError.LogValue.
func (e *PageError) LogValue() slog.Value { return logValue(e) }

func pageError(op Operation, err error) error {
	if end, ok := err.(*paging.EndlessError); ok {
		return &PageError{Operation: op, PageNum: end.Num, Repeats: end.Repeats, RequestID: end.RequestID}
	}
	return err
}

// HotelStaticDetailRequest selects a hotel.
type HotelStaticDetailRequest struct {
	HotelID string `json:"hotelId"` // PlatformHotelID of the hotel; required
}

func (r *HotelStaticDetailRequest) validate(v *validation) { v.required("hotelId", r.HotelID) }

func (r *HotelStaticDetailRequest) parts() parts                                    { return parts{body: r} }
func (*HotelStaticDetailRequest) check(*HotelStaticDetailResponse, *exchange) error { return nil }

// HotelStaticDetailResponse holds a hotel. The fields of its facilities, images and contacts are
// undocumented.
type HotelStaticDetailResponse struct {
	Hotel *types.Hotel `json:"hotel"`
	Meta  ResponseMeta `json:"-"`
}

// HotelStaticDetail returns a hotel. The API document marks this operation as under development: in production, use
// HotelsMetadata.
func (c *Client) HotelStaticDetail(ctx context.Context, req *HotelStaticDetailRequest,
	opts ...CallOption) (*HotelStaticDetailResponse, error) {
	return invoke(ctx, c, OpHotelStaticDetail, req, opts)
}

// HotelIDListRequest asks for hotel ids by region, or converts ids.
//
// Deprecated: HotelIDList belongs to an older variant of the service. Use HotelsMetadataRequest.
type HotelIDListRequest struct {
	HotelIDs   []int64 `json:"hotelIds,omitempty"`
	RegionCode int64   `json:"regionCode,omitempty"`
	RegionName string  `json:"regionName,omitempty"`
}

func (r *HotelIDListRequest) validate(*validation) {}

func (r *HotelIDListRequest) parts() parts                              { return parts{body: r} }
func (*HotelIDListRequest) check(*HotelIDListResponse, *exchange) error { return nil }

// HotelIDListResponse holds hotel ids.
//
// Deprecated: HotelIDList belongs to an older variant of the service. Use HotelsMetadataResponse.
type HotelIDListResponse struct {
	HotelIDList []types.HotelIDListItem `json:"hotelIdList"`
	Meta        ResponseMeta            `json:"-"`
}

// HotelIDList returns the hotel ids of a region, or converts hotel ids between the platform's ids and your own. The rate
// limit of HotelIDList is undocumented: the client applies none.
//
// Deprecated: HotelIDList belongs to an older variant of the service. Use HotelsMetadata.
func (c *Client) HotelIDList(ctx context.Context, req *HotelIDListRequest, opts ...CallOption) (*HotelIDListResponse, error) {
	return invoke(ctx, c, OpHotelIDList, req, opts)
}
