// Package hotelstayssql keeps in a SQL database what the processes of a fleet share:
//
//   - EventStore: which webhooks were handled, also in one transaction with the caller's rows;
//   - TokenStore: the token, so that one process fetches it for all;
//   - Journal: bookings and cancellations that survive their process, and orders that are followed.
//
// Each takes a *sql.DB and the Dialect of its database. The caller brings the driver, and
// configures and closes the pool. Call Migrate when a version is deployed, and Check when a
// process starts.
//
// # The life of a booking in the Journal
//
//	waiting   BeginTx: the caller's row and the entry are committed in one transaction. Nothing
//	          has been sent.
//	booking   Send marks the entry, commits that, and then books. It ends within BookTimeout. If
//	          nobody calls Send within BookTimeout, Run does, in any process, after
//	          durable.ClockMargin, five seconds more.
//	polling   The outcome is unknown, or the process died. Run polls for the order, in any
//	          process, for ten minutes.
//	ended     The outcome is known. OnOutcome stores it in the transaction that ends the entry.
//
// A process may die at any point. Before the first commit there is neither row nor entry. Later
// another process continues: after BookTimeout, or a minute after a poll that was under way.
//
// An entry is marked once, whoever sends it, so a booking is sent by one call. A mark cannot stop
// a process, or a machine, that is frozen in the sending and continues after the polls have
// ended. If it then gets an answer, Send returns it with durable.ErrConflictingOutcome. If it gets
// none, the polls begin again, and OnOutcome may receive BookingFound after BookingAbsent. Where
// the booking has begun again meanwhile, or was given up by Abandon, its new round is without an
// order only ten minutes after the last Book under the reference: a refusal proves nothing before.
//
// While no poll is answered, nothing is known and nothing ends: the polls continue, with pauses
// of up to an hour, and each is logged as a warning. An OnOutcome that fails or panics is
// called again a minute later, without end. One that hangs has one worker of each process: let it
// end with its ctx.
//
// After BookingAbsent the caller decides whether to book again, as long as the offer still
// holds (CheckAvail): BeginTx and Send with the same reference. OnOutcome must not call the
// service, because it runs in a transaction; let it mark the row for another loop.
//
// # The life of a cancellation in the Journal
//
//	waiting   CancelTx: the caller's row and the entry are committed in one transaction. Run reads the
//	          order, until there is one.
//	sending   Run marks the entry with what it costs, commits that, and then sends Cancel. It ends
//	          within BookTimeout.
//	polling   No answer came, or the process died. Run reads the order, for ten minutes or until it
//	          is cancelled.
//	ended     The answer is stored. OnCancel receives it in the transaction that ends the entry; if that
//	          fails, a minute later again.
//
// An entry is marked once, and again only after a Cancel that provably did nothing. Cancellations are
// worked on when no booking is due.
//
// With OnOrder, the order of a booking that was found is followed until it is settled. It is stored
// encrypted in hotelstays_orders, so that a read shows what has changed, and erased at the end.
//
// # Polls
//
// One poll asks for up to 100 bookings of the same market and user, and is split if the service
// refuses it, or if its answer is unreadable. Only a poll for a single reference proves that there
// is no order, so the polls from the tenth minute on are made one by one.
//
// Entries that have ended stay in hotelstays_journal, hotelstays_cancels and hotelstays_orders: with
// live = 2 if there is an order, or if it is cancelled, and with live = 0 otherwise. Delete old ones
// when you like, but not those of the last day, which Send may still need:
//
//	DELETE FROM hotelstays_journal WHERE live <> 1 AND due < ... -- microseconds since 1970
//
// # Durability and clocks
//
// A commit is as durable as the database makes it: look at the warnings of Check. A standby that
// takes over may lack the last commits, unless replication is synchronous. Then an event may be
// handled again, a token fetched twice, and a booking lost.
//
// Times are integers: microseconds since 1970, by the database's clock. Those of the Journal, and a
// token's Expiry, are by the processes' clocks, which must differ by at most five seconds: the
// proof of absence rests on that. A step of the database's clock ends leases that much too early
// or too late.
//
// # Transactions
//
// The package's own transactions are READ COMMITTED, whatever the default of the connections; on
// SQLite they are serializable. They write before they read, and lock keys in one order. MariaDB
// and MySQL can deadlock nevertheless; such a transaction is repeated.
//
// OnOutcome and the function of HandleTx must return the error of each statement. MariaDB and
// MySQL undo the whole transaction at a deadlock, and a function that goes on would write outside
// of it. What it has written is then undone, too, and the call fails; one that returns the error is
// called again. The servers end a transaction that is idle for half a minute, such as that of a
// process that is frozen, or whose machine has vanished. Until then it keeps its locks: Run leaves
// that row out, and works on the others. On SQLite nobody else can write.
//
// No function needs a second connection while it uses one, so a pool of one works. Between your
// BeginTx and your Commit call only what takes your tx: on such a pool, and on SQLite, any other
// function would wait for that transaction, until its ctx or busy_timeout ends.
//
// A pool must not hand out connections to replicas, because replicas lag.
//
// # SQLite
//
// SQLite has one writer at a time. Give each process a pool of one connection, whose users take
// turns, and set busy_timeout, so that it waits for the other processes. Check has no warning
// for this pool of modernc.org/sqlite:
//
//	db, err := sql.Open("sqlite", "file:bookings.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)")
//	if err != nil {
//		return err
//	}
//	db.SetMaxOpenConns(1)
//
// All processes must run on one machine, because locks of network file systems are unreliable.
//
// # MariaDB and MySQL
//
// autocommit must be on, and binlog_format not STATEMENT. A statement ends with its ctx, but the
// COMMIT of go-sql-driver/mysql ignores it: set readTimeout in the DSN, such as readTimeout=30s.
// Until then a worker of Run can hang, while the others continue.
package hotelstayssql
