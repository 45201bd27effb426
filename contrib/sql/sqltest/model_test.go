// The journal on the paths of bookingsmodel: each step happens, and the journal is where the model is.

package sqltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingsmodel"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// Each transition of the model is on a path: from each phase, and with the other process at each of
// its own steps.
func TestJournalFollowsTheModel(t *testing.T) {
	var paths [][]bookingsmodel.Step
	synctest.Test(t, func(*testing.T) {
		rounds := bookingsmodel.World{Faults: 1, Wakes: 1, Rounds: 2, Acts: 1, Idempotent: true, BookTimeout: modelTimeout,
			ShowsWithin: 10 * time.Minute}
		faults := rounds
		faults.Faults, faults.Rounds = 2, 1
		worlds := []bookingsmodel.World{rounds, faults}
		if testing.Short() {
			rounds.Rounds = 1
			worlds = []bookingsmodel.World{rounds}
		}
		for _, w := range worlds {
			paths = append(paths, w.Paths(1e7, func(s bookingsmodel.Step) bool {
				return s.Do != "stands still" && !strings.Contains(s.Do, "for many") // a ctx would end; the booking is alone
			})...)
		}
	})
	steps := 0
	for i, path := range paths {
		steps += len(path)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, func(t *testing.T, p *process) { follow(t, p, path) })
		})
	}
	t.Logf("%d paths with %d steps", len(paths), steps)
}

const modelTimeout = 2 * time.Minute

// gate holds back what a process does next: a transaction, or a request. It does one thing at a time.
type gate struct {
	mu   sync.Mutex
	what string // is held back: one of the constants, or nothing
	pass chan error
	dead bool
}

const (
	claims = "a transaction that takes leases"
	writes = "any other transaction"
	books  = "/book"
	polls  = "/queryOrders"
)

// hold holds back what a process does until it is let through, with an error or nil.
func (g *gate) hold(ctx context.Context, what string) error {
	g.mu.Lock()
	if g.dead {
		g.mu.Unlock()
		return errLost
	}
	pass := make(chan error, 1)
	g.what, g.pass = what, pass
	g.mu.Unlock()
	select {
	case err := <-pass:
		return err
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.pass == pass {
			g.what = ""
		}
		return ctx.Err()
	}
}

// let lets through what is held back, and waits until nothing happens any more.
func (g *gate) let(err error) {
	g.mu.Lock()
	g.what = ""
	g.pass <- err
	g.mu.Unlock()
	synctest.Wait()
}

func (g *gate) holds(what string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.what == what
}

// flight is a Book that has left.
type flight struct {
	request *http.Request
	body    []byte
	answer  *http.Response
}

// actor is a process that sends, or one that runs.
type actor struct {
	gate

	journal *hotelstayssql.Journal
	link    *link
	base    http.RoundTripper
	book    *flight
	answer  *http.Response // for a request that is let through with errAnswered
	cancel  context.CancelFunc
	busy    atomic.Bool // its Send or Run has not returned
	working sync.WaitGroup
}

var errAnswered = errors.New("the answer is there")

func (a *actor) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, what := range []string{books, polls} {
		if !strings.HasSuffix(r.URL.Path, what) {
			continue
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		a.book = &flight{r, body, nil}
		switch err := a.hold(r.Context(), what); {
		case errors.Is(err, errAnswered):
			return a.answer, nil
		case err != nil:
			return nil, err
		}
		return a.book.send(a.base)
	}
	return a.base.RoundTrip(r)
}

// send sends a request, also when its process has died.
func (f *flight) send(base http.RoundTripper) (*http.Response, error) {
	r := f.request.Clone(context.Background())
	r.Body = io.NopCloser(bytes.NewReader(f.body))
	resp, err := base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

// run starts what a process does.
func (a *actor) run(do func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	a.busy.Store(true)
	a.working.Go(func() {
		defer a.busy.Store(false)
		do(ctx)
	})
	synctest.Wait()
}

// stop ends what a process does.
func (a *actor) stop() {
	if a.cancel != nil {
		a.cancel()
		a.working.Wait()
	}
}

// pair is a process: one that sends, and one that runs.
type pair struct {
	sends, runs *actor
	active      *actor // of the two, the one that is at work
}

// following lets two processes follow a path.
type following struct {
	*process

	t         *testing.T
	processes [2]pair
	flights   [2]*flight // as the books of the model
	shown     bool
}

// actor starts a process.
func (d *following) actor() *actor {
	pool, link := d.db.process(d.t)
	require.NoError(d.t, pool.Ping())
	a := &actor{link: link, base: d.Server.Client().Transport}
	looks := false // the latest statement looks for what is due
	link.before = func(ctx context.Context, text string) error {
		switch {
		case strings.Contains(text, "WHERE account = ?"): // Run also counts other accounts
			looks = strings.Contains(text, "ORDER BY due")
		case text == "BEGIN" && looks:
			return a.hold(ctx, claims)
		case text == "BEGIN":
			return a.hold(ctx, writes)
		}
		return nil
	}
	p := d.through(pool, modelOptions)
	p.SendThrough(a)
	a.journal = p.Bookings.(*hotelstayssql.Journal)
	return a
}

func modelOptions(o *hotelstayssql.JournalOptions) {
	o.BookTimeout = modelTimeout + time.Second // what happens at its end happens before
	o.PollInterval, o.MaxWorkers = 10*time.Millisecond, 1
}

func (d *following) restart(w int) {
	d.processes[w] = pair{sends: d.actor(), runs: d.actor()}
}

// die ends a process at once.
func (d *following) die(w int) {
	for _, a := range []*actor{d.processes[w].sends, d.processes[w].runs} {
		a.mu.Lock()
		a.dead = true
		held := a.what != ""
		a.mu.Unlock()
		if held {
			a.let(errLost)
		}
		a.stop()
	}
}

func (d *following) fence() int64 { return d.db.number(d.t, `SELECT fence FROM hotelstays_journal`) }

// wait waits until a process holds back what it does, and lets it go on with what nobody minds.
func (d *following) wait(a *actor, what string) {
	for range 2000 {
		if a.holds(what) {
			return
		}
		if what == claims && a.holds(writes) { // of work that the model leaves out, because the row has changed
			a.let(nil)
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
	}
	require.FailNow(d.t, "nothing is held back", "%s, but %q", what, a.what)
}

// write lets a process write. It reads the row again if that has changed, and so may need more than one
// transaction.
func (d *following) write(a *actor, what, how string) {
	for before := d.fence(); d.fence() == before; {
		d.wait(a, what)
		if how == "fails" {
			a.let(errLost)
			return
		}
		if how != "" {
			a.link.loseCommit = func(string) bool { return true }
		}
		a.let(nil)
		a.link.loseCommit = nil
	}
}

// end lets a process find out that there is nothing to do.
func (d *following) end(a *actor) {
	for a.holds(writes) {
		a.let(nil)
	}
}

// rest stops what is not at work, so that it does not look for work while time passes.
func (d *following) rest() {
	for _, p := range d.processes {
		for _, a := range []*actor{p.sends, p.runs} {
			if d.end(a); a == p.runs && !a.holds(books) {
				a.stop()
			}
		}
	}
}

func (d *following) do(step bookingsmodel.Step) {
	do, how, _ := strings.Cut(step.Do, ", which ")
	var me *pair
	if step.Worker >= 0 {
		me = &d.processes[step.Worker]
	}
	if span, ok := strings.CutPrefix(do, "time passes by "); ok {
		span, err := time.ParseDuration(span)
		require.NoError(d.t, err)
		d.rest()
		time.Sleep(span)
		synctest.Wait()
		return
	}
	book := strings.Count(do, "the second Book")
	switch strings.Replace(do, "the second Book", "the first Book", 1) {
	case "is called to send":
		me.active = me.sends
		d.end(me.active)
		me.active.run(func(ctx context.Context) { _, _ = me.sends.journal.Send(ctx, "ref-1") })
	case "takes a lease":
		me.active = me.runs
		if run := me.runs; !run.busy.Load() {
			run.run(func(ctx context.Context) { assert.NoError(d.t, run.journal.Run(ctx)) })
		}
		d.write(me.active, claims, how)
	case "saves that it sends Book", "hands the booking over", "notes that its Book has ended", "stores when the next poll is due",
		"delivers that it is found", "delivers that it is absent", "delivers that it is failed":
		d.write(me.active, writes, how)
	case "finds that Book was sent already", "finds the booking ended", "finds the next round ended", "leaves the booking to Run",
		"stores nothing, because another round has begun", "stores nothing, because the row has changed":
		d.end(me.active)
	case "sends Book":
		d.wait(me.active, books)
		d.flights[slices.Index(d.flights[:], nil)] = me.active.book
	case "the first Book makes an order":
		d.arrive(d.flights[book])
	case "the first Book arrives, and makes no second order":
		d.arrive(d.flights[book])
		d.flights[book] = nil
	case "the first Book never arrives":
		d.flights[book] = nil
	case "the order of the first Book shows":
		d.shown = true
	case "is refused":
		d.flights[slices.Index(d.flights[:], me.active.book)] = nil
		me.active.answer = testkit.Reply(200, `{"code": 100001111, "msg": "the rate has moved", "data": null}`)
		me.active.let(errAnswered)
	case "receives the order":
		me.active.answer = me.active.book.answer
		me.active.let(errAnswered)
	case "loses the answer":
		me.active.cancel()
		synctest.Wait()
	case "polls", "polls and finds no order", "polls and finds the order":
		d.wait(me.active, polls)
		var answered error
		switch {
		case how != "":
			me.active.answer, answered = testkit.Reply(200, `{"code": 100009999, "msg": "failed", "data": null}`), errAnswered
		case !d.shown:
			me.active.answer, answered = testkit.Reply(200, `{"code": 0, "data": {"orders": []}}`), errAnswered
		}
		me.active.let(answered)
	case "dies":
		d.die(step.Worker)
		d.restart(step.Worker)
	case "a webhook wakes the booking":
		require.NoError(d.t, d.Journal.Wake(d.t.Context(), "ref-1"))
	case "the booking begins again":
		require.NoError(d.t, d.BeginAlone(d.Request("ref-1")))
	case "a person abandons the booking":
		for err := errLost; err != nil; time.Sleep(time.Second) { // the limit of its Book is a second later
			err = d.Journal.Abandon(d.t.Context(), "ref-1")
		}
	case "a person retries the booking":
		require.NoError(d.t, d.Journal.Retry(d.t.Context(), "ref-1"))
	default:
		require.FailNow(d.t, "an unknown step", do)
	}
}

// arrive lets a Book arrive at the service.
func (d *following) arrive(f *flight) {
	var err error
	f.answer, err = f.send(d.Server.Client().Transport)
	require.NoError(d.t, err)
}

// follow follows a path, and compares the journal, the caller's row and the service with the model
// after each step.
func follow(t *testing.T, p *process, path []bookingsmodel.Step) {
	d := &following{process: p.another(modelOptions), t: t}
	p.AddRow("ref-1")
	require.NoError(t, d.BeginAlone(d.Request("ref-1")))
	for w := range d.processes {
		d.restart(w)
		defer func() { d.die(w) }()
	}
	before := 0 // outcomes of the rounds before
	at := 0
	defer func() {
		if t.Failed() {
			for _, done := range path[:at+1] {
				t.Log(done)
			}
		}
	}()
	for i, step := range path {
		at = i
		if step.Do == "the booking begins again" {
			before = p.Row("ref-1").Ended
		}
		d.do(step)
		seen := bookingsmodel.Now{Ending: p.Fleet.Stored("ref-1").Ending, Delivered: p.Row("ref-1").Ended - before,
			Orders: len(p.Ledger().Orders())}
		require.Equal(t, step.Now, seen)
	}
}
