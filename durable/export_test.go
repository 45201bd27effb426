package durable

// The tests of package durable_test use these as well.
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
