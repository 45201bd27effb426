// Package sqltest has the tests of contrib/sql with real databases. It is a module of its own,
// so that contrib/sql requires no driver.
package sqltest
