// Hotels and their rooms.

package types

// Room is a room of a hotel with its offers.
type Room struct {
	// RoomTypeID is the standardised room type.
	RoomTypeID string `json:"roomTypeId"`
	// RoomTypeName is the standardised name, or a general one where the
	// supplier's type is not recognised.
	RoomTypeName I18N `json:"roomTypeName"`
	// HotelID repeats the id of the hotel that the room belongs to.
	HotelID string        `json:"hotelId"`
	Rates   []RoomRatePkg `json:"rates,omitempty"`
}

// Hotel is a property in search results and in HotelStaticDetail.
type Hotel struct {
	// ID is the property's id as the source that served this answer names it. A search
	// accepts it in HotelIDs. It is not stable across searches or suppliers: key
	// nothing on it.
	ID string `json:"id,omitempty"`
	// PlatformHotelID is the property's stable code, the same whichever supplier
	// serves it, and accepted wherever a hotel id is sent. Key catalogues on it. It is
	// empty while the property is not matched to the master catalogue.
	PlatformHotelID string `json:"platformHotelId,omitempty"`
	DestinationID   string `json:"destinationId,omitempty"`
	Name            *I18N  `json:"name,omitempty"`
	// Rating lies between 0.0 and 5.0; nil where the service did not say.
	Rating            *float64           `json:"rating,omitempty"`
	Address           *I18N              `json:"address,omitempty"`
	LatlngCoordinator *LatlngCoordinator `json:"latlngCoordinator,omitempty"`
	LogoURL           string             `json:"logoURL,omitempty"`
	// MinPrice is the lowest price that satisfies the search.
	MinPrice            *Money  `json:"minPrice,omitempty"`
	MinPricesByCurrency []Money `json:"minPricesByCurrency,omitempty"`
	// IsAvailable is nil where the service did not say.
	IsAvailable *bool  `json:"isAvailable,omitempty"`
	Rooms       []Room `json:"rooms,omitempty"`
}

// HotelMetadata is a property in the catalogue: not priced, not bound to dates.
type HotelMetadata struct {
	// HotelID is what Hotel.ID is.
	HotelID string `json:"hotelId,omitempty"`
	// PlatformHotelID is the property's stable code, on which a catalogue is
	// keyed; empty while the property is not matched to the master catalogue.
	PlatformHotelID string `json:"platformHotelId,omitempty"`
	DestinationID   string `json:"destinationId,omitempty"`
	Name            *I18N  `json:"name,omitempty"`
	// Rating lies between 0.0 and 5.0; nil where the service did not say.
	Rating            *float64           `json:"rating,omitempty"`
	Address           *I18N              `json:"address,omitempty"`
	LatlngCoordinator *LatlngCoordinator `json:"latlngCoordinator,omitempty"`
	LogoURL           string             `json:"logoURL,omitempty"`
}
