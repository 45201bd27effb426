// Package hotelstayssql stores in a SQL database what several processes share:
//
//   - EventStore remembers which webhooks were handled. The caller's rows can be written in the same transaction.
//   - TokenStore keeps the access token, so that one process fetches it for all.
//   - Journal keeps bookings, cancellations and followed orders, so that they survive their process.
//
// Create each with a *sql.DB and the Dialect of its database. The caller imports the driver. Open opens the database
// in one call. If you open the pool yourself, call Migrate at each deployment, and Check when a process starts.
//
// # The life of a booking in the Journal
//
// The documentation of [durable] describes the phases, and what every store promises. The Journal has the
// methods of durable.Engine. BeginTx writes the entry in the transaction of the caller's row. Send commits a mark
// in the entry, and then sends Book, within BookTimeout. If nobody calls Send within BookTimeout plus
// durable.ClockMargin (five seconds), Run sends the booking, in any process. If the outcome is unknown, Run polls
// for the order. If the process died during Send, Run polls when the same time has passed since Send began. If the
// process died during a poll, Run polls again a minute after that poll began.
//
// OnOutcome stores the outcome in the transaction that ends the entry. If the transaction fails, or OnOutcome
// panics, OnOutcome is called again every minute until it succeeds.
//
// CancelTx writes a cancellation in the same way. Run waits until the booking has ended, and reads the order. Then
// Run commits a mark with the expected fee, and sends Cancel, within BookTimeout. OnCancel stores how the
// cancellation has ended.
//
// With OnOrder, Run follows the order of each booking that was found, until the order is settled. The table
// hotelstays_orders holds the order encrypted, so that the next read can be compared with it. A settled order is
// erased.
//
// # Polls
//
// One poll asks for the orders of up to 100 bookings with the same market and user. If the service refuses the
// poll, or if the answer is unreadable, Run splits the poll. Only a poll for a single reference proves that there
// is no order. So Run polls for each booking separately when ten minutes have passed since its Book.
//
// Rows of ended entries stay in hotelstays_journal, hotelstays_cancels and hotelstays_orders, with live = 2. Delete
// old rows when you like, but keep the rows of the last day, because Send may still need them. To cancel the order of a
// booking whose row was deleted, name the order in CancelOrder.PlatformReferenceNo:
//
//	DELETE FROM hotelstays_journal WHERE live <> 1 AND due < ... -- microseconds since 1970
//
// # Durability and clocks
//
// A commit is as durable as the database makes it: look at the warnings of Open and Check. After a failover to a
// standby the last commits may be missing, unless replication is synchronous. Then an event may be handled again, a
// token fetched twice, and a booking lost.
//
// Times are integers: microseconds since 1970. Leases and retention times use the database's clock. The times of
// the Journal, and the Expiry of a token, use the clocks of the processes. These clocks must differ by at
// most five seconds, because the proof of absence depends on it. If the database's clock is set
// forward or back, leases end too early or too late by the same time.
//
// # Transactions
//
// The package's own transactions are READ COMMITTED, whatever the default of the connections; on
// SQLite they are serializable. To avoid deadlocks, they write before they read, and lock keys in one order.
// MariaDB and MySQL can still deadlock. Then the transaction is repeated.
//
// OnOutcome, and the functions that you pass to InTx and HandleTx, must return the error of each statement. MariaDB
// and MySQL undo the whole transaction at a deadlock. A function that ignores the error continues to write, outside
// of the transaction. Such writes are undone, and the call fails. A function that returns the error is called again.
//
// The database server ends a transaction that is idle for half a minute, for example because its process is frozen or
// its machine has lost the network. Until then the transaction keeps its locks: Run skips the locked row, and works on
// other rows. SQLite has no such limit: while a transaction is open, no other process can write.
//
// The transactions of InTx have this limit, too. For your other transactions, set a limit in the settings of the
// connections: idle_in_transaction_session_timeout of PostgreSQL, or idle_transaction_timeout of MariaDB.
// Without a limit, a process that is frozen between its BEGIN and its COMMIT keeps the locks of your rows,
// and other processes wait for them.
//
// No function needs a second connection while it uses one, so a pool of one connection works. While your
// own transaction is open, call only functions that take your tx. With a pool of one connection,
// and on SQLite, any other function would wait for your transaction, until its ctx or busy_timeout
// ends.
//
// The pool must not connect to replicas, because replicas lag.
//
// # SQLite
//
// SQLite has one writer at a time. Open gives each process a pool of one connection, which goroutines use in
// turn, and sets busy_timeout, so that a process waits while another process writes. All processes must run on one
// machine, because locks of network file systems are unreliable.
//
// # MariaDB and MySQL
//
// autocommit must be on, and binlog_format must not be STATEMENT. A statement stops when its ctx ends, but the
// COMMIT of go-sql-driver/mysql ignores the ctx. So set readTimeout in the DSN, such as readTimeout=30s. Until
// readTimeout, a COMMIT without an answer blocks one worker of Run, while other workers continue.
package hotelstayssql
