package sqltest

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql/journaltest"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

type journalOptions = func(*hotelstayssql.JournalOptions)

// caller returns the functions with which bookingstest uses the caller's own table.
func (d *database) caller() bookingstest.Database[*sql.Tx] {
	return bookingstest.Database[*sql.Tx]{
		InTx: func(ctx context.Context, f func(*sql.Tx) error) error {
			tx, err := d.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback() }()
			if err := f(tx); err != nil {
				return err
			}
			return tx.Commit()
		},
		Exec: func(ctx context.Context, tx *sql.Tx, statement string, args ...any) (int64, error) {
			done, err := tx.ExecContext(ctx, d.translate(statement), args...)
			if err != nil {
				return 0, err
			}
			return done.RowsAffected()
		},
		QueryRow: func(ctx context.Context, query string, args ...any) interface{ Scan(...any) error } {
			return d.QueryRowContext(ctx, d.translate(query), args...)
		},
		Query: func(ctx context.Context, query string, args ...any) (bookingstest.Rows, error) {
			return d.QueryContext(ctx, d.translate(query), args...)
		},
	}
}

func (d *database) journal(pool *sql.DB, opts hotelstayssql.JournalOptions, change journalOptions) (*hotelstayssql.Journal, error) {
	if opts.PollInterval = cmp.Or(opts.PollInterval, d.pause); change != nil {
		change(&opts)
	}
	return hotelstayssql.NewJournal(pool, d.dialect, opts)
}

// followBookings makes a process follow orders, and store copies of them in the caller's table.
func (d *database) followBookings(o *hotelstayssql.JournalOptions) { o.OnOrder = d.caller().StoreOrder }

// fleet starts processes with journals. The function open returns the pool of each process.
func (d *database) fleet(t testing.TB, open func() *sql.DB, change journalOptions) bookingstest.Fleet[*sql.Tx] {
	return bookingstest.Fleet[*sql.Tx]{
		Database: d.caller(),
		Open: func(o hotelstayssql.JournalOptions) durable.Bookings[*sql.Tx] {
			journal, err := d.journal(open(), o, change)
			require.NoError(t, err)
			return journal
		},
		Work: func(bookings durable.Bookings[*sql.Tx]) (stop func()) {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				assert.NoError(t, bookings.(*hotelstayssql.Journal).Run(ctx))
			}()
			stop = func() { cancel(); <-done }
			t.Cleanup(stop)
			return stop
		},
		Pass: func(span time.Duration) {
			require.NoError(t, journaltest.PassTime(t.Context(), d.DB, d.dialect, span, nil))
		},
		Stored: func(reference string) (booking bookingstest.Booking) {
			var text []byte
			var due int64
			require.NoError(t, d.QueryRowContext(t.Context(), d.translate(`SELECT booking, due FROM hotelstays_journal WHERE reference = ?`),
				[]byte(reference)).Scan(&text, &due))
			require.NoError(t, json.Unmarshal(text, &booking))
			booking.Due = time.UnixMicro(due)
			return booking
		},
		Cancellation: func(reference string) (c bookingstest.Cancellation) {
			var text []byte
			require.NoError(t, d.QueryRowContext(t.Context(), d.translate(`SELECT state FROM hotelstays_cancels WHERE reference = ?`),
				[]byte(reference)).Scan(&text))
			require.NoError(t, json.Unmarshal(text, &c))
			return c
		},
	}
}

type process struct {
	*bookingstest.World[*sql.Tx]
	*durable.Engine[*sql.Tx]
	Journal *hotelstayssql.Journal
	db      *database
}

func (p *process) Work() (stop func()) { return p.World.Work() }

// newProcess creates the caller's table, and starts a sandbox and a process.
func newProcess(t testing.TB, db *database, change journalOptions, config ...hotelstaystest.Config) *process {
	t.Helper()
	db.exec(t, bookingstest.Table)
	return processOf(db, bookingstest.New(t, db.fleet(t, func() *sql.DB { return db.open(t) }, change), config...))
}

func processOf(db *database, w *bookingstest.World[*sql.Tx]) *process {
	journal := w.Bookings.(*hotelstayssql.Journal)
	return &process{w, journal.Engine, journal, db}
}

// inProcess is like inDatabase, and starts a process.
func inProcess(t *testing.T, change journalOptions) *process {
	t.Helper()
	return newProcess(t, inDatabase(t), change)
}

func (p *process) another(change journalOptions) *process { return p.through(p.db.open(p), change) }

func (p *process) through(pool *sql.DB, change journalOptions) *process {
	p.Helper()
	w := *p.World
	w.Fleet = p.db.fleet(p, func() *sql.DB { return pool }, change)
	return processOf(p.db, w.Another(nil))
}

// fill stores n bookings whose Book ended three minutes ago with an unknown outcome.
func (p *process) fill(n int, change func(i int, booking *bookingstest.Booking)) {
	p.Helper()
	require.NoError(p, p.Fleet.InTx(p.Context(), func(tx *sql.Tx) error {
		for i := range n {
			recovery := *p.Clients[0].NewBookingRecovery(p.Request(many(i)))
			recovery.EndedAt = time.Now().Add(-3 * time.Minute).UTC()
			recovery.NextPoll = recovery.EndedAt
			booking := bookingstest.Booking{Booking: durable.Booking{Recovery: recovery, BookBy: recovery.EndedAt, Due: recovery.NextPoll}, Round: 1}
			if change != nil {
				change(i, &booking)
			}
			text, err := json.Marshal(booking)
			if err != nil {
				return err
			}
			if _, err := p.Fleet.Exec(p.Context(), tx, `INSERT INTO hotelstays_journal (account, reference, fence, live, due, booking)
				VALUES (?, ?, 1, 1, ?, ?)`,
				[]byte(booking.Recovery.Fingerprint), []byte(booking.Recovery.CustomerReferenceNo), booking.Due.UnixMicro(), text); err != nil {
				return err
			}
		}
		return nil
	}))
}

// many returns the reference of booking i of fill.
func many(i int) string { return fmt.Sprintf("many-%06d", i) }

// fillBooked is like fill, and adds a row of the caller and an order for each booking.
func (p *process) fillBooked(n int, change func(i int, booking *bookingstest.Booking)) {
	p.Helper()
	p.fill(n, change)
	for i := range n {
		p.AddRow(many(i))
		p.BookElsewhere(many(i))
	}
}

func (p *process) count(where string, args ...any) int64 {
	p.Helper()
	return p.db.number(p, `SELECT COUNT(*) FROM hotelstays_journal WHERE `+where, args...)
}

func (p *process) polls() int { return p.Ledger().Count(hotelstays.OpQueryOrders) }

func (p *process) sealed(reference string) (request []byte) {
	p.Helper()
	require.NoError(p, p.db.QueryRowContext(p.Context(), p.db.translate(`SELECT request FROM hotelstays_journal WHERE reference = ?`),
		[]byte(reference)).Scan(&request))
	return request
}
