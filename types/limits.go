// Limits: what one request may hold.

package types

// The documented limits of requests.
const (
	// MaxListPageSize is the largest page size of HotelList.
	MaxListPageSize = 200
	// MaxHotelIDs is how many ids one HotelList accepts. For an account with a visibility band the limit is
	// MaxHotelIDsBand.
	MaxHotelIDs     = 1000
	MaxHotelIDsBand = 200
	// MaxMetadataPageSize is the largest page size of HotelsMetadata.
	MaxMetadataPageSize = 100
	// MaxPassportNumber is the largest number of characters in a passport number.
	MaxPassportNumber = 50
)
