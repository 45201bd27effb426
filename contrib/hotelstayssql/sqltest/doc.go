// Package sqltest has the tests of contrib/hotelstayssql with real databases. It is a separate module, so that
// contrib/hotelstayssql requires no driver.
package sqltest
