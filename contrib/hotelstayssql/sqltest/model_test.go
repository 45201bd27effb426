// The journal follows the paths of bookingsmodel. After each step, its rows must equal the rows of the model.

package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	model "github.com/hotelstays/hotelstays-go/internal/test/bookingsmodel"
	"github.com/hotelstays/hotelstays-go/types"
)

const modelTimeout = 2 * time.Minute

// The paths contain each transition of the model, from each phase of the rows and with each step of the other process.
func TestJournalFollowsTheModel(t *testing.T) {
	plain := model.World{Faults: 1, Rounds: 1, Idempotent: true, BookTimeout: modelTimeout, ShowsWithin: 10 * time.Minute}
	rounds, cancels, follows := plain, plain, plain
	cancels.Cancels, cancels.Alone, cancels.Faults = 1, true, 0
	follows.Follows, follows.Alone, follows.Foreign = true, true, true
	follows.ShowsWithin = 2 * time.Minute
	if !testing.Short() {
		rounds.Rounds, rounds.Wakes, rounds.Acts = 2, 1, 1
		cancels.Faults, cancels.Acts = 1, 1
		follows.Changes, follows.Wakes, follows.Acts = 1, 1, 1
	}
	for name, w := range map[string]model.World{"bookings": rounds, "cancellations": cancels, "followed orders": follows} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The paths leave out two steps: a worker stands still, and time passes until the ctx of Book or Cancel ends.
			paths := w.Paths(t, 1e7, func(s model.Step) bool { return s.Do != "stands still" && !s.Ends })
			steps := 0
			for i, path := range paths {
				steps += len(path)
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					inVirtualTime(t, func(t *testing.T, p *process) { follow(t, p, w, path) })
				})
			}
			t.Logf("%d paths with %d steps", len(paths), steps)
		})
	}
}

// actor is a process whose next operation is held back until the test lets it through.
type actor struct {
	journal *hotelstayssql.Journal

	mu     sync.Mutex
	held   model.Op // the operation that is held back, or empty
	kind   string   // the table in which Run has last looked for work
	looks  bool     // whether the latest statement has looked for work
	pass   chan error
	dead   bool
	commit string // how the next commit fails: model.ButFails, model.ButApplied, or empty
	answer model.Step

	cancel  context.CancelFunc
	working sync.WaitGroup
}

// hold blocks an operation until let is called, and returns the error that let receives.
func (a *actor) hold(ctx context.Context, what model.Op) error {
	a.mu.Lock()
	if a.dead {
		a.mu.Unlock()
		return errLost
	}
	pass := make(chan error, 1)
	a.held, a.pass = what, pass
	a.mu.Unlock()
	select {
	case err := <-pass:
		return err
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.pass == pass {
			a.held = ""
		}
		return ctx.Err()
	}
}

// let executes the held operation, and waits until the process is idle or has another held operation.
func (a *actor) let(err error) {
	a.mu.Lock()
	a.held = ""
	a.pass <- err
	a.mu.Unlock()
	synctest.Wait()
}

func (a *actor) holds() model.Op {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held
}

// watch returns a hook for link.before. The hook holds back each transaction, and each read of the booking outside of a
// transaction.
func (a *actor) watch() func(ctx context.Context, text string) error {
	latest := "" // the latest statement that writes or ends a transaction
	return func(ctx context.Context, text string) error {
		if !strings.HasPrefix(text, "SELECT") {
			latest = text
		}
		switch {
		case strings.Contains(text, "ORDER BY due"):
			_, a.kind, _ = strings.Cut(text, " FROM ")
			a.looks = true
		case text == "BEGIN" && a.looks:
			a.looks = false
			return a.hold(ctx, model.Claim)
		case text == "BEGIN":
			return a.hold(ctx, model.Transaction)
		case text == "COMMIT" && a.commit == model.ButFails:
			a.commit = ""
			return errLost
		case strings.Contains(text, "FROM hotelstays_journal WHERE account = ? AND reference = ?") && latest == "COMMIT":
			return a.hold(ctx, model.Read)
		}
		return nil
	}
}

func (a *actor) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "ticket") {
		if err := a.hold(r.Context(), model.Request); err != nil {
			return nil, err
		}
	}
	return a.answer.RoundTrip(r)
}

// run stops the current call of the process, and starts the function do.
func (a *actor) run(do func(ctx context.Context)) {
	a.stop()
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel, a.looks = cancel, false
	a.working.Go(func() { do(ctx) })
	synctest.Wait()
}

func (a *actor) stop() {
	if a.cancel != nil {
		a.cancel()
		a.working.Wait()
	}
}

// following makes two processes follow a path of the model.
type following struct {
	*process

	t      *testing.T
	world  model.World
	actors [2]*actor
	person *hotelstayssql.Journal
	before struct{ delivered, cancelled int } // the calls of OnOutcome for earlier rounds, and of OnCancel for earlier cancellations
}

func (d *following) open(pool *sql.DB, transport http.RoundTripper) *hotelstayssql.Journal {
	set := func(ctx context.Context, tx *sql.Tx, what string, args ...any) error {
		_, err := d.Fleet.Exec(ctx, tx, `UPDATE bookings SET `+what, args...)
		return err
	}
	look := func(o *types.Order) string { return fmt.Sprint(o.HotelConfirmNo, " ", o.Status) }
	opts := hotelstayssql.JournalOptions{Client: model.Client(transport), BookTimeout: modelTimeout, PollInterval: 1e6 * time.Hour, MaxWorkers: 1,
		Keys: []types.Secret{bookingstest.Key},
		OnOutcome: func(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
			if durable.EndingOf(outcome) == durable.EndingFound {
				return set(ctx, tx, `ended = ended + 1, mirror = ?`, look(outcome.Order))
			}
			return set(ctx, tx, `ended = ended + 1`)
		}}
	if d.world.Cancels > 0 {
		opts.OnCancel = func(ctx context.Context, tx *sql.Tx, _ *durable.Cancellation) error {
			return set(ctx, tx, `cancels = cancels + 1`)
		}
	}
	if d.world.Follows {
		opts.OnOrder = func(ctx context.Context, tx *sql.Tx, change *durable.OrderChange) error {
			return set(ctx, tx, `mirror = ?`, look(change.After))
		}
	}
	journal, err := hotelstayssql.NewJournal(pool, d.db.dialect, opts)
	require.NoError(d.t, err)
	return journal
}

func (d *following) start(w int) {
	pool, link := d.db.process(d.t)
	a := &actor{}
	a.journal = d.open(pool, a)
	link.setHooks(a.watch(), func(string) bool {
		lose := a.commit == model.ButApplied
		a.commit = ""
		return lose
	})
	d.actors[w] = a
}

// die kills a process. An operation that is held back fails.
func (d *following) die(w int) {
	a := d.actors[w]
	a.mu.Lock()
	a.dead = true
	a.mu.Unlock()
	if a.holds() != "" {
		a.let(errLost)
	}
	a.stop()
}

// let executes the operation that a process holds back.
func (d *following) let(a *actor, op model.Op, err error) {
	held := a.holds()
	if op == model.Postpone { // Postpone is a transaction, too
		op = model.Transaction
	}
	require.Equal(d.t, op, held)
	a.let(err)
	a.commit = ""
}

var tableOf = map[string]string{string(durable.KindBooking): "hotelstays_journal", string(durable.KindCancel): "hotelstays_cancels",
	string(durable.KindOrder): "hotelstays_orders"}

// claim lets Run of a process look for rows of the given kind. Until then, each look for rows of another kind fails.
func (d *following) claim(a *actor, kind string) {
	for range 5 {
		if a.run(func(ctx context.Context) { assert.NoError(d.t, a.journal.Run(ctx)) }); a.holds() != "" {
			break
		}
		time.Sleep(time.Second / 4) // a quarter of a second does not matter, because the times of the model are whole seconds
	}
	for !strings.HasPrefix(a.kind, tableOf[kind]+" ") {
		d.let(a, model.Claim, errLost)
	}
	d.let(a, model.Claim, nil)
}

func (d *following) work(a *actor, step model.Step) {
	do := step.Do
	for _, end := range []string{model.ButFails, model.ButApplied} {
		if text, cut := strings.CutSuffix(do, end); cut && step.Op != model.Request {
			do, a.commit = text, end
		}
	}
	a.answer = step
	switch {
	case do == "is called to send":
		a.run(func(ctx context.Context) { _, _ = a.journal.Send(ctx, "ref-1") })
	case step.Op == model.Claim:
		d.claim(a, strings.TrimPrefix(do, "leases the "))
	case do == "sends Book", do == "sends Cancel":
		require.Equal(d.t, model.Request, a.holds())
	case do == "loses the answer", do == "cannot send Cancel":
		a.cancel()
		synctest.Wait()
	default:
		d.let(a, step.Op, nil)
	}
}

func (d *following) do(step model.Step) {
	ctx := d.t.Context()
	inTx := func(f func(*sql.Tx) error) { require.NoError(d.t, d.Fleet.InTx(ctx, f)) }
	cancel := func(order string) {
		_, d.before.cancelled = d.received()
		inTx(func(tx *sql.Tx) error {
			return d.person.CancelTx(ctx, tx, durable.CancelOrder{CustomerReferenceNo: "ref-1", SessionID: "session", PlatformReferenceNo: order})
		})
	}
	if span, ok := strings.CutPrefix(step.Do, "time passes by "); ok {
		span, err := time.ParseDuration(span)
		require.NoError(d.t, err)
		time.Sleep(span)
		synctest.Wait()
		return
	}
	switch step.Do {
	case "a webhook wakes the rows":
		require.NoError(d.t, d.person.Wake(ctx, "ref-1"))
	case "a person abandons the booking":
		require.NoError(d.t, d.person.Abandon(ctx, "ref-1"))
	case "a person retries the booking":
		require.NoError(d.t, d.person.Retry(ctx, "ref-1"))
	case "a person ends the reads of the order":
		require.NoError(d.t, d.person.Unfollow(ctx, "ref-1"))
	case "the booking begins again":
		d.before.delivered, _ = d.received()
		inTx(func(tx *sql.Tx) error { return d.person.BeginTx(ctx, tx, d.world.Request()) })
	case "a person cancels":
		cancel("")
	case "a person cancels the order of somebody else, and names it":
		cancel("p-2")
	case "dies":
		d.die(step.Worker)
		d.start(step.Worker)
	default:
		if step.Worker >= 0 { // otherwise it is a step of the service
			d.work(d.actors[step.Worker], step)
		}
	}
}

func (d *following) received() (delivered, cancelled int) {
	require.NoError(d.t, d.db.QueryRowContext(d.t.Context(), `SELECT ended, cancels FROM bookings`).Scan(&delivered, &cancelled))
	return delivered, cancelled
}

// now returns the visible state of the journal and of the caller's row.
func (d *following) now() (n model.Now) {
	n.Booking = d.Fleet.Stored("ref-1").Ending
	if d.db.number(d.t, `SELECT COUNT(*) FROM hotelstays_cancels`) > 0 {
		n.Cancel = d.Fleet.Cancellation("ref-1").Ending
	}
	delivered, cancelled := d.received()
	n.Delivered, n.Cancelled = delivered-d.before.delivered, cancelled-d.before.cancelled
	require.NoError(d.t, d.db.QueryRowContext(d.t.Context(), `SELECT mirror FROM bookings`).Scan(&n.Order))
	return n
}

// follow follows a path, and compares the journal and the caller's row with the model after each step.
func follow(t *testing.T, p *process, w model.World, path []model.Step) {
	d := &following{process: p, t: t, world: w}
	p.AddRow("ref-1")
	d.person = d.open(p.db.DB, http.DefaultTransport)
	require.NoError(t, p.Fleet.InTx(t.Context(), func(tx *sql.Tx) error { return d.person.BeginTx(t.Context(), tx, w.Request()) }))
	for w := range d.actors {
		d.start(w)
		defer func() { d.die(w) }()
	}
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
		d.do(step)
		require.Equal(t, step.Now, d.now())
	}
}
