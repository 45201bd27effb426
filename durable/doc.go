// Package durable has the life of a booking, and of a cancellation, that outlives its process, as
// transitions without I/O: the time is an argument, and the result is a new Booking or Cancellation
// to store. contrib/river and the journal of contrib/sql drive it, and implement Bookings; use it for
// a store of your own.
//
// # The phases
//
//	waiting   New is stored, in one transaction with the caller's own row. Nothing has been
//	          sent.
//	booking   Start is committed. Book may be under way until BookBy.
//	polling   The outcome is unknown, or the process died. Workers poll when the booking is due.
//	ended     End is committed, in one transaction with what the caller makes of the outcome.
//
// A process may die at any point. Before the first commit there is neither row nor booking. Later
// another process continues.
//
// A booking is marked once, whoever sends it, so it is sent by one call. A mark cannot stop a process,
// or a machine, that is frozen in the sending and continues after the polls have ended. If it then gets
// an answer, Send returns it with ErrConflictingOutcome. If it gets none, the polls begin again, and
// OnOutcome may receive BookingFound after BookingAbsent. Where the booking has begun again meanwhile, or
// was given up by Abandon, its new round is without an order only ten minutes after the last Book under
// the reference: a refusal proves nothing before.
//
// While no poll is answered, nothing is known and nothing ends: the polls continue, with pauses of up to
// an hour, and each is logged as a warning.
//
// After BookingAbsent the caller decides whether to book again, as long as the offer still holds
// (CheckAvail): BeginTx and Send with the same reference, because the service makes one order for a
// reference, even if the first attempt arrives late. OnOutcome must not call the service, because it
// runs in a transaction; let it mark the row for another loop.
//
// # What a store does
//
// To book, it commits Start, calls Client.BookAndRecover, and asks Booked for the outcome. If
// that is nil, it commits HandOver and returns Unknown.
//
// A worker that finds a due booking which is waiting books it in the same way, with the request
// that SealRequest has encrypted.
//
// Otherwise the worker polls with a copy of the recovery, and asks Polled for the outcome. If
// that is nil and StepRecovery returned no error, it stores the next booking, unless the phase was
// booking or another worker has the booking now.
//
//	at, recovery := time.Now(), booking.Recovery
//	outcome, err := client.StepRecovery(ctx, &recovery)
//	next, final := booking.Polled(at, outcome, err)
//
// A reference that is booked again after a round without an order is a new Booking, with the
// LastBook of that round as its Earlier. A Book of an earlier round that ends late, with an
// unknown outcome, is stored by EarlierEnded where another round is open, and by HandOver where
// none is.
//
// An outcome is stored by End on the stored booking, read under a lock or written under a
// condition, so that of two outcomes the first one counts.
//
// # Cancellations
//
// A Cancellation has the same phases, PhaseSending instead of PhaseBooking. A worker reads the order
// of a waiting one, until there is one, commits Start, and only in PhaseSending calls Client.Cancel,
// which must end by the time that Start was given. It commits Answered, and for a polling one, whose
// answer was lost, the result of Read, for ten minutes or until the order is cancelled. One that has
// ended is delivered in a further transaction, so that an answer outlives a failure of the caller's
// function. It is marked once, and again only after a Cancel that provably did nothing.
//
// # Orders that are followed
//
// Follow is stored in the transaction that ends a booking. A worker that finds it due reads the order,
// and asks Saw whether it has changed; then it commits the result together with what the caller
// makes of the change. If nothing has changed, it stores when Missed is.
//
// # Limits
//
// The commit of Start must survive a crash of the database. The proof of absence rests on
// clocks that differ by at most ClockMargin.
package durable
