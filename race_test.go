//go:build race

// How many bookings the chaos test makes under the race detector, which is slow.

package hotelstays_test

const chaosBookings = 1000
