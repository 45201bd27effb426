// Package hotelstaysriver makes bookings durable: a job of River in PostgreSQL finds out how a Book
// ended, even if the process that sent Book dies.
//
//	bookings, err := hotelstaysriver.New(hotelstaysriver.Options{Pool: pool,
//		Options: durable.Options[pgx.Tx]{Client: client, Keys: keys, OnOutcome: store}})
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
// The Journal of contrib/hotelstayssql does the same without River, in other databases, too. Both implement
// [durable.Bookings].
//
// # Jobs
//
// Bookings has the methods of [durable.Engine]. The documentation of package durable describes the life of a
// booking. Each round of a booking, each cancellation and each followed order has its own job. BeginTx and
// CancelTx commit the job with the caller's row. A worker does one step, and the job sleeps until the next
// step is due. OnOutcome and OnCancel run in the transaction that completes the job.
//
// If a frozen process thaws after the job was completed, and its Book then has an unknown outcome, the job
// becomes live again.
//
// Abandon, and River's JobCancel, end a booking without an outcome: OnOutcome is not called. If Book may have been
// sent, the next round assumes that this Book may have made an order.
//
// River deletes a completed job after a day: see CompletedJobRetentionPeriod of its Config. Then BeginTx accepts the
// reference again, and CancelTx needs CancelOrder.PlatformReferenceNo.
//
// # Failures
//
// A poll that fails is part of the recovery, not a failure of the job. If OnOutcome or the database fails, the job
// fails: River records the error, calls its ErrorHandler, and tries again after 1 s, 2 s, 4 s and so on up to 5 min.
// The job is never discarded, because failures beyond the first thousand do not use up attempts. These later failures
// are only logged.
//
// River stores the text of an error, so the errors of OnOutcome must not contain data of guests. Of a panic River
// stores only the type, because the text may quote a request. The stack is logged.
//
// A River client that is elected leader discards jobs of kinds that it does not know. So call Bookings.Configure for
// every River client of the schema, or set LeaderElectionDisabled in the other clients.
//
// # Clocks
//
// The proof of absence requires that the clocks of all processes and of PostgreSQL differ by at
// most five seconds.
package hotelstaysriver
