// Destinations: the tree of places in which hotels are found.

package types

import "encoding/json"

// DestinationType is the kind of a place.
type DestinationType int

// The documented kinds of places.
const (
	DestinationUnknown         DestinationType = 0
	DestinationContinent       DestinationType = 1
	DestinationCountry         DestinationType = 2 // a geographic entity, not a political one
	DestinationProvinceState   DestinationType = 3 // lower administrative divisions, too
	DestinationHighLevelRegion DestinationType = 4 // a tourist region
	DestinationMultiCity       DestinationType = 5 // a metropolitan area with its suburbs
	DestinationCity            DestinationType = 6 // the base unit of coverage
	DestinationNeighborhood    DestinationType = 7
	DestinationAirport         DestinationType = 8
	DestinationPointOfInterest DestinationType = 9
	DestinationTrainStation    DestinationType = 10
	DestinationMetroStation    DestinationType = 11
	DestinationBusStation      DestinationType = 12
)

// Destination is one place of the tree.
type Destination struct {
	// ID is a UUID, and what searches take as destinationId.
	ID   string          `json:"id,omitempty"`
	Type DestinationType `json:"type"`
	Name *I18N           `json:"name,omitempty"`
	// NameFull names the place with its region and country.
	NameFull *I18N `json:"nameFull,omitempty"`
	// CountryCode is an ISO 3166-1 alpha-2 code.
	CountryCode           string                  `json:"countryCode,omitempty"`
	Coordinates           *DestinationCoordinates `json:"coordinates,omitempty"`
	Extra                 *DestinationExtra       `json:"extra,omitempty"`
	CountryName           *I18N                   `json:"countryName,omitempty"`
	DestinationName       *I18N                   `json:"destinationName,omitempty"`
	ParentDestinationName *I18N                   `json:"parentDestinationName,omitempty"`
	// ParentDestinationID is the region above: a city's province, a province's
	// country.
	ParentDestinationID string `json:"parentDestinationId,omitempty"`
}

// DestinationCoordinates is where a destination lies.
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

// DestinationExtra is what is known of a destination besides its place.
type DestinationExtra struct {
	CityName      *I18N `json:"cityName,omitempty"`
	ProvinceName  *I18N `json:"provinceName,omitempty"`
	ContinentName *I18N `json:"continentName,omitempty"`
	// HotelCount is nil where the service did not say.
	HotelCount *int `json:"hotelCount,omitempty"`
}
