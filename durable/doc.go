// Package durable carries a booking, and a cancellation, to its end when its process dies. It also follows
// orders after they were booked. An [Engine] does the work, in any database that implements [Store]. The
// journal of contrib/hotelstayssql and the bookings of contrib/hotelstaysriver are such databases.
//
// # The phases of a booking
//
//	waiting   BeginTx is committed, in one transaction with the caller's own row. Nothing has
//	          been sent.
//	booking   The booking is marked, and the mark is committed. Book may be under way until BookBy.
//	polling   The outcome is unknown, or the process died. Workers poll when the booking is due.
//	ended     The ending is committed, in one transaction with what OnOutcome makes of the outcome.
//
// A process may die at any point. Before the first commit there is neither row nor booking. After it,
// another process continues.
//
// A booking is marked once, so one call sends it. A mark cannot stop a process, or a machine, that
// freezes while it sends and thaws after the polls have ended. If such a process then gets an answer, Send
// returns the answer with ErrConflictingOutcome. If it gets none, the polls begin again, and OnOutcome may
// receive BookingFound after BookingAbsent. The booking may have begun again by then, or Abandon may
// have ended it. Its new round is without an order only ten minutes after the last Book under the
// reference. Until then a refusal proves nothing.
//
// While no poll is answered, nothing is known and nothing ends. The polls continue, with pauses of up to
// an hour, and each is logged as a warning.
//
// After BookingAbsent the caller decides whether to book again, if the offer still holds (CheckAvail):
// BeginTx and Send with the same reference. This is the next round of the booking. The service makes one
// order for a reference, even if the first attempt arrives late. OnOutcome must not call the service,
// because it runs in a transaction. Let it mark the row for another loop.
//
// # Cancellations
//
// A cancellation belongs to a round, and an order has an identity, its PlatformReferenceNo. CancelTx is for
// the latest round under its reference. It waits until the booking of that round has ended, and cancels the
// order of that booking and no other one. A booking that ended as absent, failed or reused has nothing to
// cancel: see ErrNothingToCancel. An order that was not booked here is cancelled if CancelOrder names it.
//
// BeginTx ends a cancellation of the earlier round that was not sent, and OnCancel receives it as refused. It
// returns ErrAlreadyCancelling while a Cancel may be under way.
//
// A worker reads the order, marks the cancellation with what it costs, and only then calls Client.Cancel.
// If the answer is lost, workers read the order until it is cancelled, or for ten minutes. OnCancel
// receives the ending in a further transaction, so that an answer outlives a failure of OnCancel. A
// cancellation is marked once, and again only after a Cancel that provably did nothing.
//
// # Orders that are followed
//
// With OnOrder, workers read the order of each booking that was found until it is settled. Each change is
// delivered in the transaction that stores it. Orders are compared field by field, as far as both the
// version that stored the order and the version that reads it know a field. Another order under the same
// reference is logged once, and never delivered as a change.
//
// # Accounts
//
// An Engine serves one account, or with Options.Clients all accounts whose clients it knows. Two accounts may use
// the same reference. Accounts take turns: neither many rows of one, nor its calls that hang, delay the others. Rows
// of an unknown account wait, and are listed and logged.
//
// # Workers
//
// Bookings, cancellations and followed orders share the workers of a process, so that each kind finds one. A
// worker has a row for a minute, and gives it back when its turn is over. A function of the caller that
// does not return when its ctx ends keeps one worker of one process and its own row. The log names it each
// 20 seconds, and Engine.Hanging lists it.
//
// # Limits
//
// Commits must survive a crash of the database. The proof of absence rests on clocks that differ by at
// most ClockMargin.
package durable
