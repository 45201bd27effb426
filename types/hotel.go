// Hotels and their rooms.

package types

// Room is a room of a hotel with its offers.
type Room struct {
	// RoomTypeID is the id of the standardised room type.
	RoomTypeID string `json:"roomTypeId"`
	// RoomTypeName is the standardised name, or a general name if the supplier's room type is not recognised.
	RoomTypeName I18N `json:"roomTypeName"`
	// HotelID is the id of the room's hotel.
	HotelID string        `json:"hotelId"`
	Rates   []RoomRatePkg `json:"rates,omitempty"`
}

// Hotel is a property in search results and in HotelStaticDetail.
type Hotel struct {
	// ID is the property's id at the source of this answer. It differs between searches and
	// between suppliers: never use it as a key. HotelListRequest.HotelIDs accepts it.
	ID string `json:"id,omitempty"`
	// PlatformHotelID is the property's stable code, the same for every supplier. Use it as the key of the hotel in your
	// own catalogue. Every request accepts it as a hotel id. It is empty if the property is not matched to the master
	// catalogue.
	PlatformHotelID string `json:"platformHotelId,omitempty"`
	DestinationID   string `json:"destinationId,omitempty"`
	Name            *I18N  `json:"name,omitempty"`
	// Rating lies between 0.0 and 5.0, or is nil if it was not sent.
	Rating            *float64           `json:"rating,omitempty"`
	Address           *I18N              `json:"address,omitempty"`
	LatlngCoordinator *LatlngCoordinator `json:"latlngCoordinator,omitempty"`
	LogoURL           string             `json:"logoURL,omitempty"`
	// MinPrice is the lowest price that matches the search.
	MinPrice            *Money  `json:"minPrice,omitempty"`
	MinPricesByCurrency []Money `json:"minPricesByCurrency,omitempty"`
	// IsAvailable is nil if it was not sent.
	IsAvailable *bool  `json:"isAvailable,omitempty"`
	Rooms       []Room `json:"rooms,omitempty"`
}

// HotelMetadata is a property in the catalogue, without prices and dates.
type HotelMetadata struct {
	// HotelID is the same as Hotel.ID.
	HotelID string `json:"hotelId,omitempty"`
	// PlatformHotelID is the same as Hotel.PlatformHotelID: use it as the key of the hotel in your own catalogue.
	PlatformHotelID string `json:"platformHotelId,omitempty"`
	DestinationID   string `json:"destinationId,omitempty"`
	Name            *I18N  `json:"name,omitempty"`
	// Rating lies between 0.0 and 5.0, or is nil if it was not sent.
	Rating            *float64           `json:"rating,omitempty"`
	Address           *I18N              `json:"address,omitempty"`
	LatlngCoordinator *LatlngCoordinator `json:"latlngCoordinator,omitempty"`
	LogoURL           string             `json:"logoURL,omitempty"`
}

// HotelIDListItem is one hotel in the answer of HotelIDList, an older variant of HotelsMetadata.
type HotelIDListItem struct {
	HotelID string `json:"hotelId"`
}
