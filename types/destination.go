// Destinations: the tree of places.

package types

import "encoding/json"

// DestinationType is the kind of a place.
type DestinationType int

// The documented kinds of places.
const (
	DestinationUnknown         DestinationType = 0
	DestinationContinent       DestinationType = 1
	DestinationCountry         DestinationType = 2 // a country as a geographic area, not as a political unit
	DestinationProvinceState   DestinationType = 3 // a province, a state, or a lower administrative division
	DestinationHighLevelRegion DestinationType = 4 // a tourist region
	DestinationMultiCity       DestinationType = 5 // a metropolitan area with its suburbs
	DestinationCity            DestinationType = 6 // a city; the API document calls it the base unit of coverage
	DestinationNeighborhood    DestinationType = 7
	DestinationAirport         DestinationType = 8
	DestinationPointOfInterest DestinationType = 9
	DestinationTrainStation    DestinationType = 10
	DestinationMetroStation    DestinationType = 11
	DestinationBusStation      DestinationType = 12
)

// Destination is a place, such as a country, a province or a city, in the tree of destinations.
type Destination struct {
	// ID is a UUID. Use it as the DestinationID of a search.
	ID   string          `json:"id,omitempty"`
	Type DestinationType `json:"type"`
	Name *I18N           `json:"name,omitempty"`
	// NameFull includes the region and the country.
	NameFull *I18N `json:"nameFull,omitempty"`
	// CountryCode is an ISO 3166-1 alpha-2 code.
	CountryCode           string                  `json:"countryCode,omitempty"`
	Coordinates           *DestinationCoordinates `json:"coordinates,omitempty"`
	Extra                 *DestinationExtra       `json:"extra,omitempty"`
	CountryName           *I18N                   `json:"countryName,omitempty"`
	DestinationName       *I18N                   `json:"destinationName,omitempty"`
	ParentDestinationName *I18N                   `json:"parentDestinationName,omitempty"`
	// ParentDestinationID is the id of the place above: for a city its province, for a province its country.
	ParentDestinationID string `json:"parentDestinationId,omitempty"`
}

// DestinationCoordinates is the position of a destination.
type DestinationCoordinates struct {
	CenterLat       float64          `json:"centerLat"`
	CenterLng       float64          `json:"centerLng"`
	BoundingPolygon *BoundingPolygon `json:"boundingPolygon,omitempty"`
}

// BoundingPolygon is the outline of a destination. How its coordinates nest is
// undocumented, so they stay JSON.
type BoundingPolygon struct {
	Type        string          `json:"type,omitempty"`
	Coordinates json.RawMessage `json:"coordinates,omitempty"`
}

// DestinationExtra holds further details of a destination.
type DestinationExtra struct {
	CityName      *I18N `json:"cityName,omitempty"`
	ProvinceName  *I18N `json:"provinceName,omitempty"`
	ContinentName *I18N `json:"continentName,omitempty"`
	// HotelCount is nil if it was not sent.
	HotelCount *int `json:"hotelCount,omitempty"`
}

// DestinationsInclude is the level of detail that a request asks Destinations for. The fields of each level are
// undocumented.
type DestinationsInclude string

// The documented values of DestinationsInclude.
const (
	DestinationsIncludeStandard DestinationsInclude = "standard" // metadata and the basic hierarchy; the default
	DestinationsIncludeDetails  DestinationsInclude = "details"  // like standard, but also with coordinates and the whole hierarchy
)
