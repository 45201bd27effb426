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
// [durable] has the phases, and what every store promises. BeginTx commits the job with the caller's
// row. Send marks it, commits that, and then books, within BookTimeout. If nobody calls Send within
// BookTimeout, a worker does, in any process, after durable.ClockMargin, five seconds more. A worker
// polls with StepRecovery where the outcome is unknown, or the process died, and sleeps until the next
// poll is due: from BookTimeout on, or when River has rescued the job of a worker. OnOutcome stores the
// outcome in the transaction that completes the job.
//
// A Book of a process that was frozen in the sending, and that ends unknown after the recovery, gets
// a new job.
//
// CancelTx commits a cancellation as a job of its own, with the priority 2, after bookings. A worker
// reads the order, marks the job with what the cancellation costs, and sends Cancel. OnCancel stores how
// it has ended, in the transaction that completes the job. With OnOrder, the order of a booking that was
// found is followed by a job with the priority 3, which has the order encrypted, until it is settled.
//
// Abandon gives a booking up, as does River's JobCancel: OnOutcome is not called. A job that was
// cancelled after its Book counts as one that may have made an order.
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
