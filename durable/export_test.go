package durable

// What the tests of both packages use.
var (
	Refused  = refused
	Reused   = reused
	Unknown  = unknown
	States   = states
	ToCancel = toCancel
)

type (
	StoredBooking      = booking
	StoredCancellation = cancellation
)
