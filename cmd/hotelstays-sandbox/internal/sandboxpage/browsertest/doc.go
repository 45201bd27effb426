// Package browsertest tests the sandbox's page in a real browser:
//
//	go test -tags browser .
//
// It is a module of its own, because the browser's driver is for nobody else.
package browsertest
