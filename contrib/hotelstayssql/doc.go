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
// The documentation of [durable] describes the phases, and what every store promises. The Journal has the
// methods of durable.Engine. BeginTx commits the entry with the caller's row. Send commits a mark in the
// entry, and then books, within BookTimeout. If nobody calls Send within BookTimeout plus durable.ClockMargin
// (five seconds), Run sends the booking, in any process. If the outcome is unknown, Run polls. If the process
// died, Run polls BookTimeout after Send began, or a minute after the start of a poll that was under way.
// OnOutcome stores the outcome in the transaction that ends the entry. If the transaction fails, or OnOutcome
// panics, OnOutcome is called again every minute until it succeeds.
//
// CancelTx commits a cancellation in the same way. Run waits until the booking has ended, reads the order,
// marks the entry together with the cost of the cancellation, and sends Cancel, within BookTimeout. OnCancel
// stores how the cancellation has ended.
//
// With OnOrder, the order of a booking that was found is followed until it is settled. The order is stored
// encrypted in hotelstays_orders, to be compared with the next read. It is erased when it is settled.
//
// # Polls
//
// One poll asks for up to 100 bookings of the same market and user. If the service refuses the
// poll, or if the answer is unreadable, the poll is split. Only a poll for a single reference
// proves that there is no order, so from the tenth minute on, each booking is polled for by itself.
//
// Entries that have ended stay in hotelstays_journal, hotelstays_cancels and hotelstays_orders: with
// live = 2. Delete old ones when you like, but keep the entries of the last day, which Send may still need:
//
//	DELETE FROM hotelstays_journal WHERE live <> 1 AND due < ... -- microseconds since 1970
//
// # Durability and clocks
//
// A commit is as durable as the database makes it: look at the warnings of Open and Check. A standby that
// takes over may lack the last commits, unless replication is synchronous. Then an event may be
// handled again, a token fetched twice, and a booking lost.
//
// Times are integers: microseconds since 1970, by the database's clock. The times of the Journal,
// and the Expiry of a token, are by the clocks of the processes. These clocks must differ by at
// most five seconds, because the proof of absence depends on it. If the database's clock is set
// forward or back, leases end too early or too late by the same time.
//
// # Transactions
//
// The package's own transactions are READ COMMITTED, whatever the default of the connections; on
// SQLite they are serializable. They write before they read, and lock keys in one order. MariaDB
// and MySQL can still deadlock. A transaction that was undone by a deadlock is repeated.
//
// OnOutcome, and the functions of InTx and HandleTx, must return the error of each statement. MariaDB and
// MySQL undo the whole transaction at a deadlock, and a function that ignores the error would write
// outside of the transaction. Such writes are undone, and the call fails. A function that returns the
// error is called again. The database server ends a transaction that is idle for half a minute, for
// example because its process is frozen or its machine has vanished. Until then the transaction keeps its
// locks: Run skips the locked row, and works on other rows. On SQLite nobody else can write in that time.
//
// Transactions of InTx have this limit, too. For your other transactions, set a limit in the settings of the
// connections: idle_in_transaction_session_timeout of PostgreSQL, or idle_transaction_timeout of MariaDB.
// Without a limit, a process that is frozen between its BEGIN and its COMMIT keeps the locks of your rows,
// and other processes wait for them.
//
// No function needs a second connection while it uses one, so a pool of one works. Between your
// BeginTx and your Commit, call only functions that take your tx. With a pool of one connection,
// and on SQLite, any other function would wait for your transaction, until its ctx or busy_timeout
// ends.
//
// A pool must not hand out connections to replicas, because replicas lag.
//
// # SQLite
//
// SQLite has one writer at a time. Open gives each process a pool of one connection, which goroutines use in
// turn, and sets busy_timeout, so that a process waits while another process writes. All processes must run on one
// machine, because locks of network file systems are unreliable.
//
// # MariaDB and MySQL
//
// autocommit must be on, and binlog_format not STATEMENT. A statement ends with its ctx, but the
// COMMIT of go-sql-driver/mysql ignores it: set readTimeout in the DSN, such as readTimeout=30s.
// Until readTimeout, a COMMIT without an answer blocks one worker of Run, while other workers
// continue.
package hotelstayssql
