// A booking of the journal is never lost and never made twice, and the caller's row is true,
// whatever happens to requests, answers, processes and the database.
//
// HOTELSTAYS_CHAOS_SEED sets the seed of faults and kills.

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/contrib/sql/journaltest"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

const (
	// engineBookers is how many bookings a process makes at once.
	engineBookers = 4
	// engineRounds is how often a booking is tried.
	engineRounds = 3
)

// onEngineOutcome stores an outcome in the booking's row and in a list of all. Sometimes it fails.
//
// The Book of a process that was frozen for long may be unknown after its round has ended. The
// outcome of its polls counts as that of a further round.
func (p *process) onEngineOutcome(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	chaostest.MayBlock()
	if _, err := tx.ExecContext(ctx, p.db.translate(`UPDATE bookings SET rounds = rounds + 1 WHERE reference = ? AND state <> 'pending'`),
		outcome.Recovery.CustomerReferenceNo); err != nil {
		return err
	}
	if err := p.db.storeRow(ctx, tx, outcome); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, p.db.translate(`INSERT INTO endings (reference, round, order_no, at) SELECT reference, rounds, order_no, ? FROM bookings WHERE reference = ?`),
		time.Now().UnixMicro(), outcome.Recovery.CustomerReferenceNo)
	if err == nil && rand.IntN(20) == 0 {
		err = errors.New("OnOutcome failed by chance")
	}
	return err
}

// keepBooking makes bookings: new ones, and those whose last round found no order.
func (p *process) keepBooking(ctx context.Context) {
	for {
		reference, err := p.next(ctx)
		if err == nil {
			_, err = p.Send(ctx, reference)
		}
		if errors.Is(err, durable.ErrConflictingOutcome) {
			_, _ = p.db.ExecContext(ctx, p.db.translate(`INSERT INTO surprises (what) VALUES (?)`), err.Error())
		}
		if err != nil { // nothing to do, the database is restarting, or Run has to poll
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// next commits the next round of a booking together with its entry.
func (p *process) next(ctx context.Context) (string, error) {
	var reference string
	var rounds int
	err := p.db.QueryRowContext(ctx, p.db.translate(`SELECT reference, rounds FROM bookings WHERE state IN ('new', 'absent', 'failed') AND rounds < ?
		ORDER BY rounds DESC, reference LIMIT 1 OFFSET ?`), engineRounds, rand.IntN(4*engineBookers)).Scan(&reference, &rounds)
	if err != nil {
		return "", err
	}
	req := p.request(reference)
	if rounds > 0 {
		resp, err := p.client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: req.SessionID, RatePkgID: req.RatePkgID})
		if err != nil || !resp.Available() {
			return "", errors.Join(err, errors.New("the offer is gone"))
		}
	}
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback() }()
	done, err := tx.ExecContext(ctx, p.db.translate(`UPDATE bookings SET state = 'pending', rounds = rounds + 1
		WHERE reference = ? AND rounds = ? AND state IN ('new', 'absent', 'failed')`), reference, rounds)
	if err != nil {
		return "", err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return "", errors.Join(err, errors.New("another process has it"))
	}
	if err := p.BeginTx(ctx, tx, req); err != nil {
		return "", err
	}
	return reference, tx.Commit()
}

// readyTables creates what the engines need.
func readyTables(t *testing.T, db *database, bookings int) {
	t.Helper()
	db.exec(t, `ALTER TABLE bookings ADD COLUMN rounds integer NOT NULL DEFAULT 0`)
	db.exec(t, `CREATE TABLE endings (reference varchar(64) NOT NULL, round integer NOT NULL, order_no varchar(64) NOT NULL, at bigint NOT NULL)`)
	db.exec(t, `CREATE TABLE surprises (what varchar(1000) NOT NULL)`)
	for i := range bookings {
		db.exec(t, `INSERT INTO bookings (reference, state, order_no, ended, rounds) VALUES (?, 'new', '', 0, 0)`, fmt.Sprint("ref-", i))
	}
}

// restartVariables hold commands that crash the server of a database.
var restartVariables = map[hotelstayssql.Dialect]string{
	hotelstayssql.PostgreSQL: "HOTELSTAYS_POSTGRES_RESTART", hotelstayssql.MySQL: "HOTELSTAYS_MARIADB_RESTART",
}

func TestProcessesDie(t *testing.T) {
	fleet := chaostest.Fleet{Bookings: 40, Kills: 6, Seed: rand.Uint64N(1_000_000)}
	crashes := 1
	if os.Getenv("HOTELSTAYS_LONG") != "" { // a freeze lasts for longer than a lease
		crashes = 2
		fleet.Bookings, fleet.Kills, fleet.Processes, fleet.Freezes, fleet.Blocks, fleet.Lease = 1000, 60, 8, 3, 1, time.Minute
	}
	if text := os.Getenv("HOTELSTAYS_CHAOS_SEED"); text != "" {
		var err error
		fleet.Seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("HOTELSTAYS_CHAOS_SEED=%d: %d bookings, %d processes killed, %d frozen, %d handlers that block, %d crashes of the database",
		fleet.Seed, fleet.Bookings, fleet.Kills, fleet.Freezes, fleet.Blocks, crashes)
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil, *chaostest.Config(fleet.Seed))
		readyTables(t, db, fleet.Bookings)
		chaostest.Inject(b.Server)
		fleet := fleet
		fleet.Logf = t.Logf
		fleet.Start = func(int) (*chaostest.Process, error) { return chaostest.Start(b.partOf("engine")) }
		fleet.Ended = func(ctx context.Context) (n int, err error) {
			var open int
			if err = db.QueryRowContext(ctx, `SELECT COUNT(*) FROM hotelstays_journal WHERE live = 1`).Scan(&open); err == nil {
				err = db.QueryRowContext(ctx, db.translate(`SELECT COUNT(*) FROM bookings
					WHERE state IN ('found', 'reused') OR state IN ('absent', 'failed') AND rounds >= ?`), engineRounds).Scan(&n)
			}
			return min(n, fleet.Bookings-open), err
		}
		fleet.Hurry = func(ctx context.Context, d time.Duration) {
			// Errors do not matter: the database may be restarting. A lock may be that of a frozen process.
			_ = journaltest.PassTime(ctx, db.DB, db.dialect, d, journaltest.PollsOnly)
			soon, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			defer cancel()
			_ = b.Wake(soon, fmt.Sprint("ref-", rand.IntN(fleet.Bookings))) // as webhooks do
		}
		if variable := restartVariables[db.dialect]; variable != "" {
			fleet.Crashes = slices.Repeat([]func(context.Context) error{chaostest.ShellCrash(variable)}, crashes)
		}
		start := time.Now()
		require.NoError(t, fleet.Survive(t.Context()))
		t.Logf("%s, %d requests of Book, %d of QueryOrders", time.Since(start).Round(time.Second),
			b.Ledger().Count(hotelstays.OpBook), b.Ledger().Count(hotelstays.OpQueryOrders))
		b.check(t, fleet.Freezes > 0)
	})
}

// check compares the caller's tables with the ledger and with the journal.
func (b *books) check(t *testing.T, frozen bool) {
	rows, err := b.db.QueryContext(t.Context(), `SELECT reference, round, order_no, at FROM endings ORDER BY round`)
	require.NoError(t, err)
	defer rows.Close()
	var outcomes []chaostest.Outcome
	for rows.Next() {
		var o chaostest.Outcome
		var at int64
		require.NoError(t, rows.Scan(&o.Reference, &o.Round, &o.OrderNo, &at))
		o.At = time.UnixMicro(at)
		outcomes = append(outcomes, o)
	}
	require.NoError(t, rows.Err())
	begun := map[string]int{}
	rounds, err := b.db.QueryContext(t.Context(), `SELECT reference, rounds FROM bookings`)
	require.NoError(t, err)
	defer rounds.Close()
	for rounds.Next() {
		var reference string
		var n int
		require.NoError(t, rounds.Scan(&reference, &n))
		begun[reference] = n
	}
	require.NoError(t, rounds.Err())
	require.NoError(t, chaostest.Check(b.Ledger(), begun, outcomes))
	assert.Zero(t, b.db.number(t, `SELECT COUNT(*) FROM hotelstays_journal WHERE live = 1 OR request IS NOT NULL`))
	if surprises := b.db.number(t, `SELECT COUNT(*) FROM surprises`); frozen {
		t.Log(surprises, " Sends of processes that were frozen found an order of a later round")
	} else {
		assert.Zero(t, surprises)
	}
	for _, state := range []string{"found", "reused", "absent", "failed"} {
		t.Log(state, b.db.number(t, `SELECT COUNT(*) FROM bookings WHERE state = ?`, state))
	}
}
