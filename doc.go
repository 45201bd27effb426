// Package hotelstays is a client of the Hotel Stays Distribution API.
package hotelstays
