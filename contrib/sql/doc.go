// Package hotelstayssql keeps in a SQL database what the processes of a fleet share:
//
//   - EventStore: which webhooks were handled, also in one transaction with the caller's rows;
//   - TokenStore: the token, so that one process fetches it for all.
//
// Each takes a *sql.DB and the Dialect of its database. The caller brings the driver, and
// configures and closes the pool. Call Migrate when a version is deployed, and Check when a
// process starts:
//
//	warnings, err := hotelstayssql.Check(ctx, db, hotelstayssql.PostgreSQL)
//	if err != nil {
//		return err
//	}
//	for _, w := range warnings {
//		slog.Warn("the database is not durable", "setting", w)
//	}
//
// # Durability
//
// A commit is as durable as the database makes it. Check returns a warning for each setting
// with which a crash can lose commits:
//
//	PostgreSQL  synchronous_commit, fsync and full_page_writes are on
//	MySQL       innodb_flush_log_at_trx_commit is 1; sync_binlog is 1 if there is a binary log;
//	            innodb_doublewrite is ON
//	SQLite      synchronous is FULL; journal_mode is WAL or DELETE
//
// A standby that takes over may lack the last commits, unless replication is synchronous.
// Then an event may be handled again, and a token fetched twice.
//
// # Clocks
//
// Times are integers: microseconds since 1970, by the database's clock. The clocks of the
// processes need not agree, except that a token's Expiry is the process's. A step of the
// database's clock ends leases that much too early or too late. On SQLite the database's clock
// is the machine's.
//
// # Transactions
//
// The package's own transactions are READ COMMITTED; on SQLite they are serializable. They
// write before they read, and lock keys in one order. MariaDB and MySQL can deadlock
// nevertheless; such a transaction is repeated. Keys are bytes in all tables.
//
// SQLite has one writer at a time. Set busy_timeout on every connection, so that the others
// wait: in the DSN of modernc.org/sqlite, _pragma=busy_timeout(5000). All processes must run on
// one machine, because locks of network file systems are unreliable.
//
// A pool must not hand out connections to replicas, because replicas lag.
package hotelstayssql
