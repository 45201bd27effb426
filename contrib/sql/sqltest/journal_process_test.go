// Processes that die.

package sqltest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"io"
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
	"github.com/hotelstays/hotelstays-go/types"
)

// partOf returns the part of a process that shares the database and the service.
func (b *books) partOf(role string) part {
	return part{Dialect: b.db.dialect, Driver: b.db.driver, DSN: b.db.dsn, URL: b.URL, AppKey: b.AppKey, AppSecret: b.AppSecret,
		Session: b.offer.SessionID, Offer: *b.offer.Expect, Role: role}
}

// process is the state of such a process.
type process struct {
	part
	*hotelstayssql.Journal
	client *hotelstays.Client
	db     *database
}

// perform plays the part of a process until ctx ends, or it dies.
func perform(ctx context.Context, p *process) error {
	link, err := newLink(p.db.Driver(), p.DSN)
	if err != nil {
		return err
	}
	link.loseCommit = func(latest string) bool {
		if strings.HasPrefix(latest, "SELECT fence FROM") { // the last statement of an outcome
			p.stage("committed")
		}
		return false
	}
	pool := sql.OpenDB(link)
	pool.SetMaxOpenConns(20)
	p.client, err = hotelstays.New(p.URL, hotelstays.TicketCredential{AppKey: p.AppKey, AppSecret: types.NewSecret(p.AppSecret)},
		hotelstays.WithHTTPClient(&http.Client{Transport: p}))
	if err != nil {
		return err
	}
	opts := hotelstayssql.JournalOptions{OnOutcome: p.onOutcome, Keys: []types.Secret{journalKey},
		BookTimeout: 10 * time.Second, PollInterval: 50 * time.Millisecond}
	if p.Role == "engine" {
		opts.OnOutcome, opts.BookTimeout = p.onEngineOutcome, 2*time.Second
	}
	if p.Journal, err = hotelstayssql.NewJournal(pool, p.Dialect, p.client, opts); err != nil {
		return err
	}
	switch p.Role {
	case "book":
		return p.book(ctx, pool)
	case "run":
		return p.Run(ctx)
	}
	for range engineBookers {
		go p.keepBooking(ctx)
	}
	go func() {
		for p.Run(ctx) != nil { // the database may be restarting
			time.Sleep(100 * time.Millisecond)
		}
	}()
	<-ctx.Done()
	return nil
}

// stage kills the process at its stage.
func (p *process) stage(name string) {
	if name == p.DieAt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.Role == "engine" && strings.HasSuffix(r.URL.Path, "/book") { // also those that Run sends
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var req hotelstays.BookRequest
		if err := json.Unmarshal(body, &req); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set("Trace-Id", req.CustomerReferenceNo)
	}
	watch := strings.HasSuffix(r.URL.Path, map[string]string{"book": "/book", "run": "/queryOrders"}[p.Role])
	if watch {
		p.stage("leaving")
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if watch {
		p.stage("answered")
	}
	return resp, err
}

func (p *process) onOutcome(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	err := p.db.storeRow(ctx, tx, outcome)
	p.stage("outcome")
	return err
}

func (p *process) request(reference string) *hotelstays.BookRequest {
	return requestOf(hotelstays.BookRequest{SessionID: p.Session, RatePkgID: p.Offer.RatePkgID, Expect: &p.Offer}, reference)
}

func (p *process) book(ctx context.Context, pool *sql.DB) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := p.BeginTx(ctx, tx, p.request(p.Reference)); err != nil {
		return err
	}
	p.stage("beginning")
	if err := tx.Commit(); err != nil {
		return err
	}
	p.stage("begun")
	_, err = p.Send(ctx, p.Reference)
	p.stage("sent")
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
	for stage, want := range map[string]struct {
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
	} {
		t.Run(stage, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *database) {
				b := newBooks(t, db, nil)
				b.addRow("ref-1")
				p := b.partOf("book")
				p.Reference, p.DieAt = "ref-1", stage
				dies(t, p)
				b.run()
				if want.ending == "" {
					assert.Zero(t, db.number(t, `SELECT COUNT(*) FROM hotelstays_journal`))
					return
				}
				b.hasState("ref-1", want.ending, 5*time.Second)
				assert.Equal(t, 1, b.row("ref-1").Ended)
				assert.Len(t, b.Ledger().Orders(), want.books)
				assert.Equal(t, want.books, b.Ledger().Count(hotelstays.OpBook))
			})
		})
	}
}

// So may a process that polls.
func TestDiesWhilePolling(t *testing.T) {
	for _, stage := range []string{"leaving", "answered", "outcome", "committed"} {
		t.Run(stage, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *database) {
				b := newBooks(t, db, nil)
				b.sendUnknown("ref-1", bookMade)
				b.pass(time.Minute)
				p := b.partOf("run")
				p.DieAt = stage
				dies(t, p)
				b.run()
				b.hasState("ref-1", durable.EndingFound, 10*time.Second)
				assert.Equal(t, 1, b.row("ref-1").Ended)
				assert.Equal(t, map[string]int{"ref-1": 1}, b.bookingsMade())
			})
		})
	}
}

// A process that is stopped loses its lease, and changes nothing when it continues.
func TestFrozenProcessChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		b := newBooks(t, db, nil)
		b.sendUnknown("ref-1", bookMade)
		slow := hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: time.Second}
		b.Inject(slow)
		polls := b.Ledger().Count(hotelstays.OpQueryOrders)
		b.pass(time.Minute)
		process := begin(t, b.partOf("run")).Cmd.Process
		b.eventually("it polls", func() bool { return b.Ledger().Count(hotelstays.OpQueryOrders) > polls })
		require.NoError(t, process.Signal(syscall.SIGSTOP))
		stop := b.run()
		b.hasState("ref-1", durable.EndingFound, 30*time.Second)
		stop()
		ended := b.stored("ref-1")

		b.sendUnknown("ref-2", bookMade) // its end shows that the process has continued
		polls = b.Ledger().Count(hotelstays.OpQueryOrders)
		b.pass(time.Minute)
		b.Inject(slow)
		require.NoError(t, process.Signal(syscall.SIGCONT))
		b.hasState("ref-2", durable.EndingFound, 0)
		assert.Equal(t, 1, b.row("ref-1").Ended)
		assert.Equal(t, ended, b.stored("ref-1"))
		assert.Equal(t, polls+1, b.Ledger().Count(hotelstays.OpQueryOrders), "only the one of ref-2")
	})
}
