// Package conformance has tests that apply to all operations: the wire form, references in answers, redaction, unknown
// outcomes and allocations.
package conformance
