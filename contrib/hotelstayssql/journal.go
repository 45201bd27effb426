// The journal of bookings.

package hotelstayssql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

// JournalOptions configure a Journal.
type JournalOptions = durable.Options[*sql.Tx]

// Journal makes bookings that survive their process. Create it with NewJournal. It is safe for concurrent use. Several
// processes may use the same tables, also for several accounts.
//
// A Journal also has the methods of durable.Engine. On SQLite, or with a pool of one connection, call only BeginTx and
// CancelTx while your own transaction is open, and pass that transaction. Other methods would wait for your
// transaction.
type Journal struct {
	*durable.Engine[*sql.Tx]

	store   *journalStore
	account string // the only account that the Journal works on; empty: all accounts
	log     *slog.Logger
	pause   time.Duration
}

var _ durable.Bookings[*sql.Tx] = (*Journal)(nil)

// NewJournal returns a Journal that uses the tables of Migrate. It does not connect to the
// database. The error names every invalid argument.
func NewJournal(db *sql.DB, dialect Dialect, opts JournalOptions) (*Journal, error) {
	var p problems
	p.checkDatabase(db, dialect)
	store := &journalStore{db: database{db, dialect}}
	engine, err := durable.NewEngine[*sql.Tx](store, opts)
	if err != nil {
		p = append(p, err)
	}
	if err := p.err("NewJournal"); err != nil {
		return nil, err
	}
	j := &Journal{Engine: engine, store: store, log: opts.Logger, pause: opts.PollInterval}
	if opts.Clients == nil {
		j.account = opts.Client.Account()
	}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	return j, nil
}

const countTimeout = 10 * time.Second

// Run sends bookings for which nobody called Send, polls for the orders of bookings with an unknown outcome, sends
// cancellations, and reads followed orders, until ctx ends. Call it in every process that may work on bookings. One
// such process can do all the work; with two of them, the work continues if one process ends.
//
// When ctx ends, Run interrupts the requests in progress, stores their results, and returns nil. The outcome of an
// interrupted Book is unknown. An interrupted poll is due again immediately. If a function of yours has not
// returned 15 seconds after the end of ctx, Run returns an error that names the function and the customer reference.
//
// Without Options.Clients, Run works on the bookings of one account. At its start it logs how many bookings of
// other accounts, with another base URL or credential, are open.
//
// If the tables have a version that this program cannot use, Run returns a *SchemaError. Other failures of the
// database are logged, and Run continues.
func (j *Journal) Run(ctx context.Context) error {
	for {
		err := Check(ctx, j.store.db.DB, j.store.db.dialect, nil)
		if err == nil || ctx.Err() != nil {
			break
		}
		if schema := new(SchemaError); errors.As(err, &schema) {
			return err
		}
		j.log.ErrorContext(ctx, "the journal waits for its database", slog.String("error", err.Error()))
		select {
		case <-time.After(max(j.pause, time.Second)):
		case <-ctx.Done():
		}
	}
	var others sync.WaitGroup
	if j.account != "" {
		others.Go(func() { j.lookForOthers(ctx) })
	}
	defer others.Wait()
	return j.Engine.Run(ctx, j.store)
}

// lookForOthers logs how many bookings of other accounts are open. After a change of the base URL or the credential,
// perhaps no process works on the earlier bookings.
func (j *Journal) lookForOthers(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	n, err := j.countOthers(limited)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		j.log.WarnContext(ctx, "cannot look for bookings of other accounts", slog.String("error", err.Error()))
	case n > 0:
		j.log.InfoContext(ctx, "bookings of another base URL or credential are open; "+
			"this process leaves them to a journal with that base URL and credential", slog.Int("bookings", n))
	}
}

// countOthers counts the open bookings of other accounts. It counts one account at a time, because an index finds
// both the next account and the open bookings of an account.
func (j *Journal) countOthers(ctx context.Context) (n int, err error) {
	db := j.store.db
	for account := []byte{}; ; {
		err := db.QueryRowContext(ctx, db.dialect.sql(
			`SELECT account FROM hotelstays_journal WHERE account > ? ORDER BY account LIMIT 1`), account).Scan(&account)
		if errors.Is(err, sql.ErrNoRows) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		if string(account) == j.account {
			continue
		}
		var open int
		err = db.QueryRowContext(ctx, db.dialect.sql(
			`SELECT COUNT(*) FROM hotelstays_journal WHERE account = ? AND live = 1`), account).Scan(&open)
		if err != nil {
			return n, err
		}
		n += open
	}
}

// maxReference is the maximum length of a customerReferenceNo in bytes.
const maxReference = 512

func checkReference(customerReferenceNo string) error {
	if n := len(customerReferenceNo); n > maxReference {
		return fmt.Errorf("customerReferenceNo has %d bytes; the limit is %d", n, maxReference)
	}
	return nil
}
