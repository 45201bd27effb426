// Package hotelstaysriver makes bookings durable: what became of a Book is found
// out by a job of River in PostgreSQL, whatever happens to the process that sent it.
//
//	bookings, err := hotelstaysriver.New(hotelstaysriver.Config{Client: client, Pool: pool, OnEnd: store})
//	...
//	recovery := client.NewBookingRecovery(req)
//	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		if _, err := tx.Exec(ctx, insertBooking, req.CustomerReferenceNo); err != nil {
//			return err
//		}
//		return bookings.EnqueueTx(ctx, tx, recovery)
//	})
//	...
//	ending, err := bookings.Book(ctx, req)
//
// # The life of a booking
//
// The job knows four states; the caller's row needs no more than what OnEnd is told.
//
//	waiting   EnqueueTx: the caller's row and the job are committed, in one
//	          transaction of the caller's. Nothing has been sent.
//	booking   Book has marked the job, and committed that, before it sends. It ends
//	          within Config.BookTimeout, and the job sleeps until then.
//	asking    Book came to no certain end, or its process died, or never called it. A
//	          worker asks for the order, one StepRecovery at a time, and sleeps
//	          until the next one is due. Of a Book that was never called one answered
//	          poll decides.
//	ended     It is known what became of the booking. OnEnd stores that, in the
//	          transaction that completes the job.
//
// A process may die between any two of these lines, and in the middle of each:
//
//	dies                               then
//	before the first commit            there is neither row nor job, and nothing was sent
//	before Book                        the job wakes after BookTimeout, and a worker asks
//	                                   once: it is not marked, so that nothing was sent
//	in Book                            the job wakes after BookTimeout, and a worker asks
//	                                   for ten minutes
//	after Book, before the end is      the same; an order is found and stored as if it
//	stored                             had been answered late
//	in a worker's poll, or in OnEnd    the transaction is undone; River takes the job
//	                                   from the dead process after its rescue bound
//
// # Who sends Book
//
// The process that calls Bookings.Book does, and no job ever does: a job that is run
// again after a crash could not know whether it had sent before, and it would need the
// guests' passport numbers in its arguments. So a job asks, which may be done any
// number of times. For the same reason Book marks the job first: a booking is sent by
// one call of Book, and by none once a worker has begun to ask. That order matters. A
// process that was held up for minutes between its commit and its Book would otherwise
// book what has been reported as absent. What no mark can exclude is a process that is
// frozen at the very moment of sending and goes on after the recovery has ended, twelve
// minutes later. Where it has an answer, Book then returns that together with
// ErrEndedOtherwise. Where it has none, it puts the booking into the queue again, and
// OnEnd may receive Found after Absent.
//
// # What a booking ends as
//
//	Found        the order exists
//	Reused       an order exists under the reference, and is not the expected one
//	Failed       nothing was booked: Book was refused, or never left
//	Absent       nothing is booked: the last poll of the recovery found no order
//
// While no poll is answered, nothing is known, and that is no end: the job goes on asking,
// at longer and longer intervals of up to an hour, and Config.Logger is warned each time.
// To give such a booking up, cancel its job (River's JobCancel); OnEnd is not called for
// that.
//
// # Booking again
//
// After Absent or Failed nothing is booked, and whether to try again is the caller's to
// decide: for as long as the offer still holds (CheckAvail) and somebody still wants
// it. A new round is the same as the first: a new recovery, EnqueueTx, Book. Keep the
// reference, for the service makes one order for a reference, even if the first attempt
// turns up after all. OnEnd runs within the job's completion and must not call the
// service; let it mark the row, and let another loop take up the rows so marked.
//
// # Failures, and what River counts
//
// A poll that fails is part of the recovery's schedule, not a failure of the job. When
// OnEnd or the database fails, the job fails, with River's record of the error and its ErrorHandler,
// and is tried again after a second, two, four, and so on up to five minutes. It is
// never discarded: River gives up a job after its last attempt, and this one does not
// use its last attempts up. After a thousand failures further ones are written to
// Config.Logger alone.
//
// One thing discards jobs all the same: a River client that leads the maintenance of the
// schema and does not know the kind of job. Call Bookings.Configure for every River
// client of a schema, or set LeaderElectionDisabled in those that you do not.
//
// # Clocks
//
// As everywhere in the recovery, that an order is absent rests on wall clocks that
// agree, here those of all processes with each other and with PostgreSQL's. Five seconds
// of difference do no harm.
package hotelstaysriver
