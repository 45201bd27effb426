// Processes that die.

package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
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
	"github.com/hotelstays/hotelstays-go/types"
)

// partOf returns the part of a process that shares the database and the service.
func (p *process) partOf(role string) part {
	return part{Dialect: p.db.dialect, Driver: p.db.driver, DSN: p.db.dsn, Plan: p.Plan(), Role: role}
}

// mortal is a process that books or runs, and dies at a stage.
type mortal struct {
	part
	db *database
}

// perform plays the part until ctx ends, or the process dies.
func (m *mortal) perform(ctx context.Context) error {
	link, err := newLink(m.db.Driver(), m.DSN)
	if err != nil {
		return err
	}
	writes := 0
	link.loseCommit = func(latest string) bool {
		if strings.HasPrefix(latest, "UPDATE hotelstays_cancels") {
			writes++
			m.stage(fmt.Sprint("write ", writes))
		}
		if strings.HasPrefix(latest, "SELECT fence FROM") { // the last statement of an outcome
			m.stage("committed")
		}
		return false
	}
	pool := sql.OpenDB(link)
	limit(pool, m.Driver)
	client, err := m.Client(m)
	if err != nil {
		return err
	}
	opts := hotelstayssql.JournalOptions{OnOutcome: m.onOutcome,
		Keys: []types.Secret{bookingstest.Key}, BookTimeout: 10 * time.Second, PollInterval: 50 * time.Millisecond}
	if m.Role == "cancel" {
		opts.OnCancel, opts.BookTimeout = m.onCancel, time.Minute
	}
	journal, err := hotelstayssql.NewJournal(pool, m.Dialect, client, opts)
	if err != nil {
		return err
	}
	if m.Role == "run" {
		return journal.Run(ctx)
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if m.Role == "cancel" {
		err = journal.CancelTx(ctx, tx, durable.CancelRequest{CustomerReferenceNo: m.Reference, SessionID: m.Session})
	} else {
		err = journal.BeginTx(ctx, tx, m.Request(m.Reference))
	}
	if err != nil {
		return err
	}
	m.stage("beginning")
	if err := tx.Commit(); err != nil {
		return err
	}
	m.stage("begun")
	if m.Role == "cancel" {
		return journal.Run(ctx)
	}
	_, err = journal.Send(ctx, m.Reference)
	m.stage("sent")
	return err
}

// stage kills the process at its stage.
func (m *mortal) stage(name string) {
	if name == m.DieAt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (m *mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	watch := strings.HasSuffix(r.URL.Path, map[string]string{"book": "/book", "run": "/queryOrders", "cancel": "/cancel"}[m.Role])
	if watch {
		m.stage("leaving")
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if watch {
		m.stage("answered")
	}
	return resp, err
}

func (m *mortal) onOutcome(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	err := m.db.caller().StoreRow(ctx, tx, outcome)
	m.stage("outcome")
	return err
}

func (m *mortal) onCancel(ctx context.Context, tx *sql.Tx, c *durable.Cancellation) error {
	err := m.db.caller().StoreCancel(ctx, tx, c)
	m.stage("outcome")
	return err
}

// dies plays a part until the process has killed itself.
func dies(t *testing.T, p part) {
	t.Helper()
	process := begin(t, p)
	late := time.AfterFunc(patience, func() { _ = process.Cmd.Process.Signal(syscall.SIGTERM) })
	defer late.Stop()
	err := process.Wait()
	require.Error(t, err)
	status, ok := process.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "%s: %v", p.DieAt, err)
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
			dies(t, part)
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

// So may a process that polls.
func TestDiesWhilePolling(t *testing.T) {
	stages := []string{"leaving", "answered", "outcome", "committed"}
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		for _, stage := range stages {
			p.SendUnknown(stage, bookingstest.BookMade)
			require.NoError(t, p.Wake(t.Context(), stage))
			part := p.partOf("run")
			part.DieAt = stage
			dies(t, part)
		}
		p.Work()
		for _, stage := range stages {
			p.HasState(stage, durable.EndingFound, 10*time.Second)
			assert.Equal(t, 1, p.Row(stage).Ended, stage)
			assert.Equal(t, 1, p.OrdersMade()[stage], stage)
		}
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
			dies(t, part)
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
