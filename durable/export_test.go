package durable

// The tests of package durable_test need these names, too.
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
