// What the structs do not say about their fields.

package main

// essential lists the fields without which a struct is useless: if one of them has a mismatch, the struct is left out
// of its list. A root response without such a field is an error.
var essential = map[string][]string{
	"Destination":               {"ID"},
	"DestinationsResponse":      {"Destinations"},
	"Hotel":                     {"ID", "PlatformHotelID"},
	"HotelIDListItem":           {"HotelID"},
	"HotelIDListResponse":       {"HotelIDList"},
	"HotelListResponse":         {"List", "HasMore"},
	"HotelMetadata":             {"HotelID", "PlatformHotelID"},
	"HotelRatesResponse":        {"Rooms"},
	"HotelStaticDetailResponse": {"Hotel"},
	"HotelsMetadataResponse":    {"HotelsMetadata", "Page"},
	"PageResp":                  {"HasMore"},
	"Room":                      {"Rates"},
	"RoomRatePkg": {"RatePkgID", "RefundableMode", "RefundableUntil", "CancelFees", "Rate", "TotalRate", "CheckIn",
		"CheckOut", "Tax"},
	"SearchBasic": {"SessionID"},
}

// whole lists the lists of which nothing may be left out. Their names must not come in another letter
// case either.
var whole = map[string][]string{"QueryOrdersResponse": {"Orders"}}
