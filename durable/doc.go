// Package durable finishes bookings and cancellations even if the process that began them dies. It also
// follows orders after they were booked. An [Engine] does the work, in any database that implements
// [Store]. contrib/hotelstayssql and contrib/hotelstaysriver each contain a Store.
//
// # The phases of a booking
//
//	waiting   BeginTx is committed, in one transaction with the caller's own row. Nothing has
//	          been sent.
//	booking   The booking is marked, and the mark is committed. Book may be in progress until BookBy.
//	polling   The outcome is unknown, or the process died. Workers poll when the booking is due.
//	ended     The ending is committed, in one transaction with the writes of OnOutcome.
//
// A process may die at any point. Before the first commit, neither the row nor the booking is stored. After the
// first commit, another process continues.
//
// A booking is marked once, so one call sends it. But a process or a machine can freeze while it sends,
// and thaw after the polls have ended. A mark cannot prevent that. If such a process then gets an answer,
// Send returns the answer with ErrConflictingOutcome. If the process gets no answer, the polls begin
// again, and OnOutcome may receive BookingFound after BookingAbsent. By then the booking may have begun
// again, or Abandon may have ended it. If the booking has begun again, the absence of an order in the new
// round is proven only ten minutes after the last Book under the reference. Until then a refusal proves nothing.
//
// While the service answers no poll, the outcome stays unknown, and the booking does not end. The polls
// continue, with pauses of up to an hour. Each failed poll is logged as a warning.
//
// After BookingAbsent the caller decides whether to book again. Call CheckAvail to see whether the offer
// is still available, then BeginTx and Send with the same reference. This is the next round of the booking. The
// service makes one order for a reference, even if the first attempt arrives late. OnOutcome must not
// call the service, because it runs in a transaction. Let OnOutcome mark your row, and book again in your
// own loop.
//
// # Cancellations
//
// A cancellation belongs to a round of a booking. An order is identified by its PlatformReferenceNo. CancelTx stores
// a cancellation of the latest round under its reference. The cancellation waits until the booking of that
// round has ended. Then it cancels the order of that booking, and never another order. A booking that ended
// as absent, failed or reused has nothing to cancel: see ErrNothingToCancel. To cancel an order that was
// not booked here, name it in CancelOrder.
//
// If a cancellation of the earlier round was not sent, BeginTx ends it, and OnCancel receives it as refused.
// While a Cancel may be in progress, BeginTx returns ErrAlreadyCancelling.
//
// A worker reads the order, commits a mark with the expected fee, and only then calls
// Client.Cancel. If the answer is lost, workers read the order until it is cancelled, or for ten
// minutes. OnCancel receives the ending in a second transaction, so that the service's answer is kept
// if OnCancel fails. A cancellation is marked once. It is marked again only after a Cancel that
// provably did nothing.
//
// # Orders that are followed
//
// With OnOrder, workers read the order of each booking that was found until it is settled. Each change is
// delivered in the transaction that stores it. Orders are compared field by field. A field is compared only
// if both versions of this package know it: the version that stored the order and the version that reads
// it. Another order under the same reference is logged once, and never delivered as a change.
//
// # Accounts
//
// An Engine serves one account. With Options.Clients it serves all accounts for which Clients returns a client. Two
// accounts may use the same reference. Accounts take turns, so that an account with many rows, or with calls that
// hang, does not delay other accounts. Rows of an unknown account wait. They are listed and logged.
//
// # Workers
//
// Bookings, cancellations and followed orders share the workers of a process. With four or more workers,
// each of these kinds gets at least one. A worker leases a row for a minute, and releases the row after its step.
// If a function of the caller does not return when its ctx ends, it blocks one worker in one process, and
// its own row. The log names the function every 20 seconds, and Engine.Hanging lists it.
//
// # Limits
//
// Commits must survive a crash of the database. The proof of absence requires that clocks differ by at
// most ClockMargin.
package durable
