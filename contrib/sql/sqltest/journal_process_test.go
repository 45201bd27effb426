// Processes that die.

package sqltest

import (
	"context"
	"database/sql"
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
	link.loseCommit = func(latest string) bool {
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
	journal, err := hotelstayssql.NewJournal(pool, m.Dialect, client, hotelstayssql.JournalOptions{OnOutcome: m.onOutcome,
		Keys: []types.Secret{bookingstest.Key}, BookTimeout: 10 * time.Second, PollInterval: 50 * time.Millisecond})
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
	if err := journal.BeginTx(ctx, tx, m.Request(m.Reference)); err != nil {
		return err
	}
	m.stage("beginning")
	if err := tx.Commit(); err != nil {
		return err
	}
	m.stage("begun")
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
	watch := strings.HasSuffix(r.URL.Path, map[string]string{"book": "/book", "run": "/queryOrders"}[m.Role])
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
