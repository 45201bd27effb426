// Package hotelstaysriver makes bookings durable: a job of River in PostgreSQL finds out
// what happened to a Book, whatever happens to the process that sent it.
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
// The methods of Bookings, and the life of a booking, are those of [durable.Engine]. Each round of a booking,
// each cancellation and each followed order is a job of its own. BeginTx and CancelTx commit it with the
// caller's row. A worker does one step, and the job sleeps until the next step is due. OnOutcome and OnCancel
// run in the transaction that completes the job.
//
// The job of a Book that ends as unknown after its job was completed is live again, as after a process
// was frozen.
//
// Abandon gives a booking up, as does River's JobCancel: OnOutcome is not called. If Book may have been sent,
// the next round takes into account that it may have made an order.
//
// # Failures
//
// A poll that fails is part of the recovery, not a failure of the job. If OnOutcome or the
// database fails, the job fails: River records the error, calls its ErrorHandler, and tries
// again after 1 s, 2 s, 4 s and so on up to 5 min. The job is never discarded, because it does
// not use up its attempts. After a thousand failures, further failures go only to the Logger.
//
// River stores the text of an error: keep guests' data out of those of OnOutcome. A panic is
// stored as its type, because its text may quote a request. Its stack goes to the Logger.
//
// One thing discards jobs: a River client that leads the maintenance of the schema and does
// not know these kinds of jobs. Call Bookings.Configure for every River client of the schema, or
// set LeaderElectionDisabled in the others.
//
// # Clocks
//
// The proof of absence rests on clocks that agree, here those of all processes and of
// PostgreSQL. Five seconds of difference do no harm.
package hotelstaysriver
