package sqltest

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql/journaltest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
)

// part is the work of a process in a test.
type part struct {
	Dialect           hotelstayssql.Dialect
	Driver, DSN       string
	bookingstest.Plan      // the plan of an engine; if it is empty, the process handles events
	Rounds            bool // run the rounds of a benchmark instead of an engine
}

func (p part) play() error {
	db := &database{dialect: p.Dialect, driver: p.Driver, dsn: p.DSN}
	var err error
	if db.DB, err = openPool(p.Driver, p.DSN); err != nil {
		return err
	}
	if p.Rounds {
		return rounds(p, db)
	}
	return engine(chaostest.UntilClosed(), p, db)
}

func TestMain(m *testing.M) {
	chaostest.Main(part.play)
	variables := map[hotelstayssql.Dialect]string{hotelstayssql.PostgreSQL: postgresVariable, hotelstayssql.MySQL: mariadbVariable}
	for dialect, variable := range variables {
		if slices.Contains(dialects, dialect) && os.Getenv(variable) == "" {
			fmt.Fprintf(os.Stderr, "%s is not set; see the README of contrib/hotelstayssql\n", variable)
			os.Exit(1)
		}
	}
	_ = mysql.SetLogger(&mysql.NopLogger{}) // the driver also returns the errors that it logs
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // more than there may be processors, because a test mostly waits for polls and commits
	goleak.VerifyTestMain(m)
}

func (d *database) part() part { return part{Dialect: d.dialect, Driver: d.driver, DSN: d.dsn} }

// engine books, and runs a journal, until ctx ends or the process is killed.
func engine(ctx context.Context, p part, db *database) error {
	e := &bookingstest.Engine[*sql.Tx]{Plan: p.Plan, Database: db.caller()}
	opts, err := e.Options()
	if err != nil {
		return err
	}
	journal, err := db.journal(db.DB, opts, nil)
	if err != nil {
		return err
	}
	e.Bookings = journal
	go func() {
		for journal.Run(ctx) != nil { // the database may be restarting
			time.Sleep(100 * time.Millisecond)
		}
	}()
	e.Run(ctx)
	return nil
}

// restartVariables are the environment variables with the commands that crash and restart the database servers.
var restartVariables = map[hotelstayssql.Dialect]string{
	hotelstayssql.PostgreSQL: "HOTELSTAYS_POSTGRES_RESTART", hotelstayssql.MySQL: "HOTELSTAYS_MARIADB_RESTART",
}

// idleTransactions are the DSN settings that the documentation advises. With them the server also ends the caller's
// own transaction if its process is frozen.
var idleTransactions = map[hotelstayssql.Dialect]string{
	hotelstayssql.PostgreSQL: "&idle_in_transaction_session_timeout=20000", hotelstayssql.MySQL: "&idle_transaction_timeout=20",
}

// Requests, answers, processes and the database fail. No booking is lost or made twice, and the caller's row matches
// the order. HOTELSTAYS_CHAOS_SEED sets the seed of faults and kills.
func TestNoBookingIsLostOrMadeTwice(t *testing.T) {
	fleet := chaostest.Fleet{Bookings: 15, Kills: 4, Seed: chaostest.Seed()}
	crashes, haste, accounts := 1, time.Duration(2), 3 // haste 2: time passes twice as fast
	if testsize.Full() {                               // with haste 1, a freeze lasts longer than a lease
		crashes, haste, accounts = 2, 1, 20
		fleet.Bookings, fleet.Kills, fleet.Processes, fleet.Freezes, fleet.Blocks, fleet.Lease = 1000, 60, 8, 3, 1, time.Minute
	}
	t.Logf("HOTELSTAYS_CHAOS_SEED=%d: %d bookings of %d accounts, %d processes killed, %d frozen, %d handlers that block, "+
		"%d crashes of the database", fleet.Seed, fleet.Bookings, accounts, fleet.Kills, fleet.Freezes, fleet.Blocks, crashes)
	onEachAlone(t, func(t *testing.T, db *database) {
		config := *chaostest.Config(fleet.Seed)
		config.Accounts = bookingstest.Accounts(accounts)
		// One haste, because a recovery is shorter. One more, because the faults that delay Book are not shorter.
		config.LateVisibility /= haste * haste
		config.ConfirmAfter = 3 * time.Minute / chaostest.Speed / haste
		config.RateLimits = map[hotelstays.Operation]int{} // an empty map means the documented rate limits
		p := newProcess(t, db, nil, config)
		fleet := fleet
		part := db.part()
		part.Plan = p.Plan
		part.DSN += idleTransactions[db.dialect]
		fleet.Start = func(int) (*chaostest.Process, error) { return chaostest.Start(part) }
		fleet.Hurry = func(ctx context.Context, d time.Duration) {
			_ = journaltest.PassTime(ctx, db.DB, db.dialect, haste*d, journaltest.PollsOnly) // the database may be restarting
		}
		if variable := restartVariables[db.dialect]; variable != "" {
			fleet.Crashes = slices.Repeat([]func(context.Context) error{chaostest.ShellCrash(variable)}, crashes)
		}
		p.Survive(fleet, func(ctx context.Context) (open int, err error) {
			err = db.QueryRowContext(ctx, `SELECT COUNT(*) FROM hotelstays_journal WHERE live = 1`).Scan(&open)
			return open, err
		})
		assert.Zero(t, p.count(`live = 1 OR request IS NOT NULL`))
		assert.Zero(t, db.number(t, `SELECT COUNT(*) FROM hotelstays_cancels WHERE live = 1`))
	})
}
