// Package hotelstayssql keeps in a SQL database what the processes of a fleet share:
//
//   - EventStore: which webhooks were handled, also in one transaction with the caller's rows;
//   - TokenStore: the token, so that one process fetches it for all;
//   - Journal: bookings and cancellations that survive their process, and orders that are followed.
//
// Each takes a *sql.DB and the Dialect of its database. The caller imports the driver. Open opens the database
// in one call. For a pool of your own, call Migrate when a version is deployed, and Check when a process starts.
//
// # The life of a booking in the Journal
//
// [durable] has the phases, and what every store promises. The Journal has the methods of its Engine. BeginTx
// commits the entry with the caller's row. Send marks it, commits that, and then books, within BookTimeout. If
// nobody calls Send within BookTimeout, Run sends the booking, in any process, after durable.ClockMargin, five
// seconds more. Run polls where the outcome is unknown, or the process died: BookTimeout after Send began, or a
// minute after a poll that was under way. OnOutcome stores the outcome in the transaction that ends the
// entry. If that fails or panics, OnOutcome is called again a minute later, without end.
//
// CancelTx commits a cancellation in the same way. Run waits for the end of its booking, reads the order, marks
// the entry with what the cancellation costs, and sends Cancel, within BookTimeout. OnCancel stores how it
// has ended.
//
// With OnOrder, the order of a booking that was found is followed until it is settled. The order is stored
// encrypted in hotelstays_orders, so that a read shows what has changed, and erased at the end.
//
// # Polls
//
// One poll asks for up to 100 bookings of the same market and user, and is split if the service
// refuses it, or if its answer is unreadable. Only a poll for a single reference proves that there
// is no order, so the polls from the tenth minute on are made one by one.
//
// Entries that have ended stay in hotelstays_journal, hotelstays_cancels and hotelstays_orders: with
// live = 2 if there is an order, or if it is cancelled, and with live = 3 otherwise. Delete old ones
// when you like, but not those of the last day, which Send may still need:
//
//	DELETE FROM hotelstays_journal WHERE live <> 1 AND due < ... -- microseconds since 1970
//
// # Durability and clocks
//
// A commit is as durable as the database makes it: look at the warnings of Open and Check. A standby that
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
// OnOutcome, and the functions of InTx and HandleTx, must return the error of each statement. MariaDB and
// MySQL undo the whole transaction at a deadlock, and a function that goes on would write outside
// of it. What it has written is then undone, too, and the call fails; one that returns the error is
// called again. The servers end a transaction that is idle for half a minute, such as that of a
// process that is frozen, or whose machine has vanished. Until then it keeps its locks: Run leaves
// that row out, and works on the others. On SQLite nobody else can write.
//
// Transactions of InTx have this limit, too. For others of your own, set it in the settings of the connections:
// idle_in_transaction_session_timeout of PostgreSQL, or idle_transaction_timeout of MariaDB. A process that is
// frozen between its BEGIN and its COMMIT keeps the locks of your rows, and others wait for them.
//
// No function needs a second connection while it uses one, so a pool of one works. Between your
// BeginTx and your Commit call only what takes your tx: on such a pool, and on SQLite, any other
// function would wait for that transaction, until its ctx or busy_timeout ends.
//
// A pool must not hand out connections to replicas, because replicas lag.
//
// # SQLite
//
// SQLite has one writer at a time. Open gives each process a pool of one connection, whose users take turns, and
// sets busy_timeout, so that it waits for the other processes. All processes must run on one machine, because
// locks of network file systems are unreliable.
//
// # MariaDB and MySQL
//
// autocommit must be on, and binlog_format not STATEMENT. A statement ends with its ctx, but the
// COMMIT of go-sql-driver/mysql ignores it: set readTimeout in the DSN, such as readTimeout=30s.
// Until then a worker of Run can hang, while the others continue.
package hotelstayssql
