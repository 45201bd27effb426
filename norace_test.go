//go:build !race

// How many bookings the chaos test makes.

package hotelstays_test

const chaosBookings = 5000
