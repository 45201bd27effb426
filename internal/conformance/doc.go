// Package conformance holds the tests of what all operations have in common: the wire
// form, the names in answers, redaction, unknown outcomes and allocations. They use the
// client as its callers do.
package conformance
