// Package sqltest has the tests of contrib/hotelstayssql with real databases. It is a module of its own,
// so that contrib/hotelstayssql requires no driver.
package sqltest
