// Processes that die.

package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

// partOf returns the part of a process that shares the database and the service.
func (p *process) partOf(role string) part {
	return part{Dialect: p.db.dialect, Driver: p.db.driver, DSN: p.db.dsn, Plan: p.Plan(), Role: role}
}

// perform plays a part until ctx ends, or the process dies.
func perform(ctx context.Context, p part, db *database) error {
	m := &bookingstest.Mortal[*sql.Tx]{Plan: p.Plan, Database: db.caller(), DieAt: p.DieAt,
		Path: map[string]string{"book": "/book", "run": "/queryOrders", "follow": "/queryOrders", "cancel": "/cancel"}[p.Role]}
	link, err := newLink(db.Driver(), p.DSN)
	if err != nil {
		return err
	}
	writes := 0
	link.loseCommit = func(latest string) bool {
		if strings.HasPrefix(latest, "UPDATE hotelstays_cancels") {
			writes++
			m.Stage(fmt.Sprint("write ", writes))
		}
		if strings.HasPrefix(latest, "SELECT fence FROM") { // the last statement of an outcome
			m.Stage("committed")
		}
		return false
	}
	pool := sql.OpenDB(link)
	limit(pool, p.Driver)
	opts, err := m.Options()
	if err != nil {
		return err
	}
	if p.Role == "cancel" {
		opts.BookTimeout = time.Minute
	}
	if p.Role != "follow" {
		opts.OnOrder = nil
	}
	journal, err := hotelstayssql.NewJournal(pool, p.Dialect, opts.Client, hotelstayssql.JournalOptions{OnOutcome: opts.OnOutcome,
		OnCancel: opts.OnCancel, OnOrder: opts.OnOrder, Keys: opts.Keys, BookTimeout: opts.BookTimeout, PollInterval: 50 * time.Millisecond})
	if err != nil {
		return err
	}
	if p.Role == "run" || p.Role == "follow" {
		return journal.Run(ctx)
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if p.Role == "cancel" {
		err = journal.CancelTx(ctx, tx, durable.CancelRequest{CustomerReferenceNo: p.Reference, SessionID: p.Session})
	} else {
		err = journal.BeginTx(ctx, tx, p.Request(p.Reference))
	}
	if err != nil {
		return err
	}
	m.Stage("beginning")
	if err := tx.Commit(); err != nil {
		return err
	}
	m.Stage("begun")
	if p.Role == "cancel" {
		return journal.Run(ctx)
	}
	_, err = journal.Send(ctx, p.Reference)
	m.Stage("sent")
	return err
}

// A process that books may die at any stage.
func TestDiesWhileBooking(t *testing.T) {
	stages := map[string]struct {
		ending durable.Ending // empty: it never was
		books  int
	}{
		"beginning": {"", 0},
		"begun":     {durable.EndingFound, 1}, // Run sends it
		"leaving":   {durable.EndingAbsent, 0},
		"answered":  {durable.EndingFound, 1},
		"outcome":   {durable.EndingFound, 1},
		"committed": {durable.EndingFound, 1},
		"sent":      {durable.EndingFound, 1},
	}
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		for stage := range stages {
			p.AddRow(stage)
			part := p.partOf("book")
			part.Reference, part.DieAt = stage, stage
			bookingstest.Dies(t, part)
		}
		p.Work()
		assert.Zero(t, p.count(`reference = ?`, []byte("beginning")))
		for stage, want := range stages {
			if want.ending != "" {
				p.HasState(stage, want.ending, 5*time.Second)
				assert.Equal(t, 1, p.Row(stage).Ended, stage)
			}
			assert.Equal(t, want.books, p.OrdersMade()[stage], stage)
		}
		assert.Equal(t, 5, p.Ledger().Count(hotelstays.OpBook))
	})
}

// readStages are those of a process that reads an order and delivers what it says.
var readStages = []string{"leaving", "answered", "outcome", "committed"}

// So may a process that polls.
func TestDiesWhilePolling(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		for _, stage := range readStages {
			p.SendUnknown(stage, bookingstest.BookMade)
			require.NoError(t, p.Wake(t.Context(), stage))
			part := p.partOf("run")
			part.DieAt = stage
			bookingstest.Dies(t, part)
		}
		p.Work()
		for _, stage := range readStages {
			p.HasState(stage, durable.EndingFound, 10*time.Second)
			assert.Equal(t, 1, p.Row(stage).Ended, stage)
			assert.Equal(t, 1, p.OrdersMade()[stage], stage)
		}
	})
}

// So may a process that reads an order that has changed.
func TestDiesWhileFollowing(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, db.followBookings)
		for _, stage := range readStages {
			p.Booked(stage)
			p.ConfirmOrder(stage)
			require.NoError(t, p.Wake(t.Context(), stage))
			part := p.partOf("follow")
			part.DieAt = stage
			bookingstest.Dies(t, part)
		}
		p.Fleet.Pass(2 * time.Minute) // once: in many steps a lease would end while a slow machine reads
		stop := p.Work()
		p.Eventually("each change is delivered", func() bool {
			return db.number(t, `SELECT COUNT(*) FROM bookings WHERE changes > 0`) == int64(len(readStages))
		})
		stop() // after the reads under way, which would store when they are due by the clock before
		p.Fleet.Pass(time.Hour)
		p.Work()
		p.Eventually("each is read again", func() bool { // their leases would end sooner
			return db.number(t, `SELECT COUNT(*) FROM hotelstays_orders WHERE due <= ?`, time.Now().Add(2*time.Minute).UnixMicro()) == 0
		})
		assert.EqualValues(t, len(readStages), db.number(t, `SELECT SUM(changes) FROM bookings`), "once")
	})
}

// A process that cancels may die at any stage, also after each write: of the lease, of the mark, and
// of the answer.
func TestDiesWhileCancelling(t *testing.T) {
	stages := []struct {
		name    string
		ending  durable.CancelEnding // empty: it never was
		cancels int
	}{
		{"beginning", "", 0},
		{"write 1", durable.CancelDone, 1},
		{"write 2", durable.CancelStanding, 0},
		{"leaving", durable.CancelStanding, 0},
		{"answered", durable.CancelDone, 1},
		{"write 3", durable.CancelDone, 1},
		{"outcome", durable.CancelDone, 1},
		{"committed", durable.CancelDone, 1},
		{"begun", durable.CancelDone, 1}, // the last one, because the next process would send it
	}
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		for _, stage := range stages {
			p.Booked(stage.name)
			part := p.partOf("cancel")
			part.Reference, part.DieAt = stage.name, stage.name
			bookingstest.Dies(t, part)
		}
		p.Fleet.Pass(2 * time.Minute)
		p.Work()
		for _, step := range []time.Duration{0, time.Minute} {
			for _, stage := range stages {
				if stage.ending != "" && (stage.ending == durable.CancelStanding) == (step > 0) {
					p.CancelEnds(stage.name, stage.ending, 1, step)
				}
			}
		}
		assert.Zero(t, db.number(t, `SELECT COUNT(*) FROM hotelstays_cancels WHERE reference = ? OR live = 1`, []byte("beginning")))
		sent := map[string]int{}
		for _, c := range p.Ledger().Cancellations() {
			sent[c.CustomerReferenceNo]++
		}
		for _, stage := range stages {
			assert.Equal(t, stage.cancels, sent[stage.name], stage.name)
		}
		assert.Equal(t, 6, p.Ledger().Count(hotelstays.OpCancel))
	})
}

// A process that is stopped loses its lease, and changes nothing when it continues.
func TestFrozenProcessChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		p.SendUnknown("ref-1", bookingstest.BookMade)
		slow := hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: time.Second}
		p.Inject(slow)
		polls := p.polls()
		p.Fleet.Pass(time.Minute)
		frozen := begin(t, p.partOf("run")).Cmd.Process
		p.Eventually("it polls", func() bool { return p.polls() > polls })
		require.NoError(t, frozen.Signal(syscall.SIGSTOP))
		stop := p.Work()
		p.HasState("ref-1", durable.EndingFound, 30*time.Second)
		stop()
		ended := p.Fleet.Stored("ref-1")

		p.SendUnknown("ref-2", bookingstest.BookMade) // its end shows that the process has continued
		polls = p.polls()
		p.Fleet.Pass(time.Minute)
		p.Inject(slow)
		require.NoError(t, frozen.Signal(syscall.SIGCONT))
		p.HasState("ref-2", durable.EndingFound, 0)
		assert.Equal(t, 1, p.Row("ref-1").Ended)
		assert.Equal(t, ended, p.Fleet.Stored("ref-1"))
		assert.Equal(t, polls+1, p.polls(), "only the one of ref-2")
	})
}
