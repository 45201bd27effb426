package sqltest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestJournalPassesTheSuiteOfBookingstest(t *testing.T) {
	t.Parallel()
	for _, dialect := range dialects {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			start := func(t *testing.T) bookingstest.Fleet[*sql.Tx] {
				db := create(t, dialect)
				db.createTables(t)
				db.exec(t, bookingstest.Table)
				return db.fleet(t, func() *sql.DB { return db.open(t) }, nil)
			}
			if dialect == hotelstayssql.SQLite {
				bookingstest.Test(t, start)
				return
			}
			bookingstest.TestDatabase(t, start)
			bookingstest.TestRowLocks(t, start)
		})
	}
}

func TestNewJournalNamesEveryInvalidArgument(t *testing.T) {
	_, err := hotelstayssql.NewJournal(nil, "oracle", hotelstayssql.JournalOptions{BookTimeout: -1})
	for _, what := range []string{"NewJournal: ", "database is nil", `"oracle"`, "keys is empty", "client is nil", "OnOutcome", "negative"} {
		assert.ErrorContains(t, err, what)
	}
}

// References that differ only in case or in a trailing space are different references.
func TestReferenceMayHaveAnyCharacter(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, func(o *hotelstayssql.JournalOptions) {
			o.OnOutcome = func(context.Context, *sql.Tx, *hotelstays.BookingOutcome) error { return nil }
			o.BookTimeout, o.PollInterval = 0, 0 // the defaults
		})
		for i, reference := range []string{"abc", "ABC", "abc ", "\u00e4\u4e16", "a'b\"c\\d%_?"} {
			req := p.Request(fmt.Sprint("guest-", i))
			req.CustomerReferenceNo = reference
			outcome, err := p.Book(t.Context(), req)
			require.NoError(t, err, reference)
			assert.Equal(t, durable.EndingFound, durable.EndingOf(outcome), reference)
		}
		p.Options.BookTimeout = 0
		p.Another(nil).Begin("ref-1")
		assert.WithinDuration(t, time.Now().Add(2*time.Minute), p.Fleet.Stored("ref-1").Due, 30*time.Second)
	})
}

func TestInvalidRequestBeginsNoBooking(t *testing.T) {
	p := inProcess(t, nil)
	assert.ErrorContains(t, p.BeginAlone(nil), "request: is nil")
	_, err := p.Book(t.Context(), p.Request(strings.Repeat("x", 513)))
	assert.ErrorContains(t, err, "customerReferenceNo has 513 bytes")
	assert.ErrorContains(t, p.BeginTx(t.Context(), nil, p.Request("no-tx")), "tx is nil")
	assert.ErrorContains(t, p.CancelTx(t.Context(), nil, durable.CancelOrder{CustomerReferenceNo: "no-tx"}), "tx is nil")
	assert.ErrorContains(t, p.CancelAlone(strings.Repeat("x", 513), nil), "customerReferenceNo has 513 bytes")
	assert.NoError(t, p.CancelAlone(strings.Repeat("x", 512), func(r *durable.CancelOrder) { r.PlatformReferenceNo = "of an order" }))
}

// After a change of the credential or the base URL, perhaps no process polls for the open bookings.
func TestOpenBookingsOfAnotherAccountAreLogged(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		p.Booked("ended")
		p.Begin("ref-1")
		log := make(logLines, 10)
		other := *p.World
		var err error
		other.Options.Client, err = hotelstays.New(p.URL, hotelstays.TicketCredential{AppKey: "another", AppSecret: types.NewSecret("secret")},
			hotelstays.WithServiceFacts(hotelstays.ServiceFacts{StatusMeanings: hotelstays.StatusMeanings{Cancelled: []types.OrderStatus{3}}}))
		require.NoError(t, err)
		other.Fleet = p.db.fleet(t, func() *sql.DB { return p.db.open(t) }, log.receive)
		for _, account := range []string{"\x00", "\xff"} {
			p.db.exec(t, `INSERT INTO hotelstays_journal (account, reference, fence, live, due, booking)
				SELECT ?, reference, fence, live, due, booking FROM hotelstays_journal WHERE live = 1 LIMIT 1`, []byte(account))
		}
		another := other.Another(nil)
		stop := another.Work()
		assert.Regexp(t, "another base URL or credential.* bookings=3", <-log)
		p.Fleet.Pass(time.Hour)
		time.Sleep(time.Minute)
		stop()
		assert.Empty(t, log)
		assert.Equal(t, 1, p.Ledger().Count(hotelstays.OpBook), "only the booking that has ended")
	})
}

// logLines receives log lines. If the channel is full, Write drops the line.
type logLines chan string

func (l logLines) receive(o *hotelstayssql.JournalOptions) {
	o.Logger = slog.New(slog.NewTextHandler(l, nil))
}

func (l logLines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default:
	}
	return len(line), nil
}

// readOnly has the settings of read-only connections.
var readOnly = map[hotelstayssql.Dialect]map[string]string{
	hotelstayssql.SQLite:     {"query_only": "1"},
	hotelstayssql.PostgreSQL: {"default_transaction_read_only": "on"},
	hotelstayssql.MySQL:      {"tx_read_only": "1"},
}

func TestNothingIsSentIfTheDatabaseIsReadOnlyOrHasANewerSchema(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		p.Begin("ref-1")
		pool := db.openWith(t, readOnly[db.dialect])
		log := make(logLines, 10)
		reader := p.through(pool, log.receive)
		assert.ErrorContains(t, hotelstayssql.Check(t.Context(), pool, db.dialect, nil),
			"hotelstayssql: checking the database: the database is read-only")
		_, err := reader.Send(t.Context(), "ref-1")
		assert.ErrorContains(t, err, "nothing was sent")
		_, err = reader.Book(t.Context(), p.Request("ref-2"))
		assert.ErrorContains(t, err, "nothing was sent")
		stop := reader.Work()
		assert.Contains(t, <-log, "read-only")
		stop()

		db.exec(t, `INSERT INTO hotelstays_schema (version) VALUES (99)`)
		var newer *hotelstayssql.SchemaError
		_, err = p.Send(t.Context(), "ref-1")
		require.ErrorAs(t, err, &newer)
		_, err = p.Book(t.Context(), p.Request("ref-2"))
		require.ErrorAs(t, err, &newer)
		require.ErrorAs(t, p.Journal.Run(t.Context()), &newer)
		assert.Zero(t, p.Ledger().Count(hotelstays.OpBook))

		db.exec(t, `DELETE FROM hotelstays_schema WHERE version = 99`)
		assert.NotNil(t, p.MustSend("ref-1").Order, "the booking is still there")
	})
}

func TestStoredRequestIsEncryptedUntilSendErasesIt(t *testing.T) {
	p := inProcess(t, nil)
	p.Begin("ref-1")
	begun := p.sealed("ref-1")
	assert.NotEmpty(t, begun)
	booking, err := json.Marshal(p.Fleet.Stored("ref-1"))
	require.NoError(t, err)
	for _, private := range []string{"P1234567", "REF-1"} {
		assert.NotContains(t, string(booking)+string(begun), private)
	}
	tx, err := p.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.ErrorIs(t, p.BeginTx(t.Context(), tx, p.Request("ref-1")), durable.ErrAlreadyBegun)
	require.NoError(t, tx.Commit())
	assert.Equal(t, begun, p.sealed("ref-1"), "the first request stays, even if the caller commits after the error")
	p.MustSend("ref-1")
	assert.Empty(t, p.sealed("ref-1"))
}
