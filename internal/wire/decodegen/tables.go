// What decodegen cannot know from the structs: which fields are essential, and which lists must be whole.

package main

// essential lists the fields without which a struct is useless. If an essential field has a mismatch, the list that
// contains the struct leaves the struct out. If the struct is a response, the whole answer is an error.
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

// whole has the lists that must be decoded without leaving out an element. An answer that writes the name of such a list in
// another letter case is an error.
var whole = map[string][]string{"QueryOrdersResponse": {"Orders"}}
