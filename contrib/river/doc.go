// Package hotelstaysriver makes bookings durable: a job of River in PostgreSQL finds out
// what happened to a Book, whatever happens to the process that sent it.
//
//	bookings, err := hotelstaysriver.New(hotelstaysriver.Config{Client: client, Pool: pool, Keys: keys, OnOutcome: store})
//	...
//	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		if err := bookings.BeginTx(ctx, tx, req); err != nil {
//			return err
//		}
//		_, err := tx.Exec(ctx, insertBooking, req.CustomerReferenceNo)
//		return err
//	})
//	...
//	outcome, err := bookings.Send(ctx, req.CustomerReferenceNo)
//
// The Journal of contrib/sql does the same without River, in other databases, too. Both implement
// [durable.Bookings].
//
// # The life of a booking
//
//	waiting   BeginTx: the caller's row and the job are committed in one transaction. Nothing
//	          has been sent.
//	booking   Send marks the job, commits that, and then books. It ends within BookTimeout. If
//	          nobody calls Send within BookTimeout, a worker does, in any process, after
//	          durable.ClockMargin, five seconds more.
//	polling   The outcome is unknown, or the process died. A worker polls for the order with
//	          StepRecovery and sleeps until the next poll is due, for ten minutes.
//	ended     The outcome is known. OnOutcome stores it in the transaction that completes the
//	          job.
//
// A process may die at any point. Before the first commit there is neither row nor job. Later
// another process continues: after BookTimeout, or when River has rescued the job of a worker.
//
// A job is marked once, whoever sends it, so a booking is sent by one call. A process that is frozen
// at the very moment of sending can still send, and continue after the recovery has ended, twelve
// minutes later. If it then gets an answer, Send returns it with durable.ErrConflictingOutcome. If
// it gets none, the booking gets a new job, and OnOutcome may receive BookingFound after
// BookingAbsent. In both cases a round that has begun since polls for that order, too.
//
// While no poll is answered, nothing is known and nothing ends: the job continues, with pauses
// of up to an hour, and logs a warning each time. Abandon gives such a booking up, as does
// River's JobCancel. OnOutcome is not called for that.
//
// # Cancelling
//
// CancelTx stores a cancellation as a job of its own, which is committed with the caller's row. A
// worker reads the order, marks the job with what the cancellation costs, sends Cancel once, and
// calls OnCancel in the transaction that completes the job. If no answer came, the order is read for
// ten minutes, or until it is cancelled. Only a Cancel that provably did nothing is sent again. These
// jobs have the priority 2, after bookings.
//
// With OnOrder, the order of a booking that was found is followed by a job of its own, with the
// priority 3, until it is settled. The job has the order encrypted.
//
// # Booking again
//
// After BookingAbsent the caller decides whether to book again, as long as the offer still
// holds (CheckAvail). A new round is the same as the first one: BeginTx and Send. Keep the
// reference: the service makes one order for a reference, even if the first attempt arrives late.
// No round ends without an order before ten minutes after the last Book of an earlier one that may
// have made an order, such as one whose job was cancelled. OnOutcome must not call the service,
// because it runs in the transaction that completes the job; let it mark the row for another loop.
//
// # Failures
//
// A poll that fails is part of the recovery, not a failure of the job. If OnOutcome or the
// database fails, the job fails: River records the error, calls its ErrorHandler, and tries
// again after 1 s, 2 s, 4 s and so on up to 5 min. The job is never discarded, because it does
// not use up its attempts. After a thousand failures further ones go only to Config.Logger.
//
// River stores the text of an error: keep guests' data out of those of OnOutcome. A panic is
// stored as its type, because its text may quote a request; its stack goes to Config.Logger.
//
// One thing discards jobs: a River client that leads the maintenance of the schema and does
// not know this kind of job. Call Bookings.Configure for every River client of the schema, or
// set LeaderElectionDisabled in the others.
//
// # Clocks
//
// The proof of absence rests on clocks that agree, here those of all processes and of
// PostgreSQL. Five seconds of difference do no harm.
package hotelstaysriver
