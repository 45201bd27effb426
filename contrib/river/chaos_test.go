//go:build postgres

// A durable booking is never lost and never made twice, and the caller's row is true,
// whatever happens to requests, answers, processes and the database.
//
// Several processes book and work on recoveries against one sandbox. Half of the requests
// meet a fault, new orders are hidden for a while, processes are killed, and PostgreSQL
// crashes in the middle. Time passes sixty times as fast for sleeping recoveries. In the end
// the caller's table is compared with the sandbox's ledger.
//
// HOTELSTAYS_RIVER_BOOKINGS sets the number of bookings, HOTELSTAYS_CHAOS_SEED the seed of
// faults and kills.

package hotelstaysriver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

const (
	chaosProcesses = 4
	// chaosSpeed is how fast time passes for recoveries that sleep.
	chaosSpeed = 60
	// chaosVisible is how long the sandbox hides a new order: most of a recovery.
	chaosVisible = 500 * time.Second / chaosSpeed
	// chaosStuck is when a running job is rescued, whether its process is dead or not.
	chaosStuck = 5 * time.Second
)

// chaosFaults are the faults of requests, in per cent.
var chaosFaults = []struct {
	percent float64
	hotelstaystest.Fault
}{
	// Nothing is booked, without an answer.
	{6, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut}},
	{4, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 504}},
	{3, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultGarbage}},
	{4, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second}},
	// The order is made, without an answer.
	{8, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true}},
	{5, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 502, Commit: true}},
	{4, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultTruncatedBody}},
	{6, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second, Commit: true}},
	// The answer comes late.
	{15, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultDelay, Delay: time.Second, Commit: true}},
	// Nothing is booked, and the answer is a refusal.
	{4, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 429}},
	{4, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 400}},
	{4, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 200, Code: 100009999}},

	{15, hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 503}},
	{10, hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultCut}},
	{10, hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultGarbage}},
	{10, hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: 500 * time.Millisecond}},
	{3, hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 403}},
	{10, hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultStatus, Status: 503}},
}

func setting(t *testing.T, name string, def uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// chaos starts and kills the processes. The sandbox runs in the process of the test.
type chaos struct {
	*world
	rng       *rand.Rand
	plan      string
	processes []*process
	killed    int
	bookings  int
}

type process struct {
	cmd *exec.Cmd
	in  io.Closer // the process ends when it does
}

func (p *process) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.in.Close()
}

func (c *chaos) start() *process {
	self, err := os.Executable()
	require.NoError(c.t, err)
	p := &process{cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), "HOTELSTAYS_RIVER_PROCESS="+c.plan)
	p.cmd.Stderr = os.Stderr
	p.in, err = p.cmd.StdinPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, p.cmd.Start())
	return p
}

// kill kills a process and starts another one.
func (c *chaos) kill() {
	i := c.rng.IntN(len(c.processes))
	c.processes[i].end()
	c.processes[i] = c.start()
	c.killed++
}

// hurry lets time pass faster until ctx ends, and wakes bookings, as webhooks do. Bookings
// whose Book may be under way keep real time.
func (c *chaos) hurry(ctx context.Context) {
	const tick = 200 * time.Millisecond
	for ticker := time.NewTicker(tick); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			ticker.Stop()
			return
		}
		// Errors do not matter: the database may be restarting.
		_ = passTime(ctx, c.pool, tick*(chaosSpeed-1), `args #> '{recovery,endedAt}' IS NOT NULL`)
		_, _ = c.pool.Exec(ctx, `UPDATE river_job SET attempted_at = attempted_at - $2::interval
			WHERE state = 'running' AND attempted_at BETWEEN now() - $2::interval AND now() - $1::interval`, chaosStuck, defaultRescueAfter)
		soon, cancel := context.WithTimeout(ctx, tick)
		_ = c.Wake(soon, fmt.Sprintf("ref-%d", 1+rand.IntN(c.bookings)))
		cancel()
	}
}

// open counts the bookings that have not ended.
func (c *chaos) open() (n int) {
	for { // the database may be restarting
		err := c.pool.QueryRow(c.t.Context(), `SELECT count(*) FROM bookings
			WHERE state NOT IN ('found', 'reused') AND NOT (state IN ('absent', 'failed') AND rounds = $1)`, engineRounds).Scan(&n)
		if err == nil {
			return n
		}
		require.NoError(c.t, c.t.Context().Err())
		time.Sleep(50 * time.Millisecond)
	}
}

func TestProcessesDie(t *testing.T) {
	seed := setting(t, "HOTELSTAYS_CHAOS_SEED", rand.Uint64N(1_000_000))
	bookings := int(setting(t, "HOTELSTAYS_RIVER_BOOKINGS", 200))
	t.Logf("HOTELSTAYS_CHAOS_SEED=%d HOTELSTAYS_RIVER_BOOKINGS=%d", seed, bookings)
	c := newChaos(t, seed, bookings)
	ctx, cancel := context.WithCancel(t.Context())
	hurried := make(chan struct{})
	go func() { defer close(hurried); c.hurry(ctx) }()
	defer func() { cancel(); <-hurried }()
	for range chaosProcesses {
		c.processes = append(c.processes, c.start())
	}
	defer func() {
		for _, p := range c.processes {
			p.end()
		}
	}()

	start, crashed := time.Now(), false
	for n := c.open(); n > 0; n = c.open() {
		time.Sleep(time.Duration(200+c.rng.IntN(1500)) * time.Millisecond)
		if !crashed && n < bookings/2 {
			c.crash()
			crashed = true
		}
		if n > bookings/20 {
			c.kill()
		} else { // a new leader rescues at once, an old one every half minute
			_ = c.river.Notify().RequestResign(t.Context())
		}
		require.Less(t, time.Since(start), 5*time.Minute+time.Duration(bookings)*time.Second/2, "%d bookings do not come to an end", n)
	}
	assert.True(t, crashed)
	c.check()
	t.Logf("%s, %d processes killed, %d requests of Book, %d of QueryOrders", time.Since(start).Round(time.Second), c.killed,
		c.Ledger().Count(hotelstaystest.OpBook), c.Ledger().Count(hotelstaystest.OpQueryOrders))
}

func newChaos(t *testing.T, seed uint64, bookings int) *chaos {
	w := newWorld(t, nil, hotelstaystest.WithSeed(seed), hotelstaystest.WithLateVisibility(chaosVisible),
		hotelstaystest.WithLedgerLimit(1_000_000))
	c := &chaos{world: w, rng: rand.New(rand.NewPCG(seed, 1)), bookings: bookings}
	plan, err := json.Marshal(enginePlan{Schema: w.schema, URL: w.URL, AppKey: w.AppKey, AppSecret: w.AppSecret,
		Session: w.offers[0].SessionID, Offer: *w.offers[0].Expect})
	require.NoError(t, err)
	c.plan = string(plan)
	for _, f := range chaosFaults {
		f.Fault.Probability, f.Fault.Times = f.percent/100, -1
		w.Inject(f.Fault)
	}
	_, err = w.pool.Exec(t.Context(), `
		ALTER TABLE bookings ADD rounds int NOT NULL DEFAULT 0;
		CREATE TABLE endings (reference text, round int, state text, at timestamptz DEFAULT clock_timestamp());
		CREATE TABLE surprises (what text)`)
	require.NoError(t, err)
	_, err = w.pool.Exec(t.Context(),
		`INSERT INTO bookings (reference, state) SELECT 'ref-' || n, 'new' FROM generate_series(1, $1) n`, bookings)
	require.NoError(t, err)
	return c
}

// ended is an ending in the caller's table.
type ended struct {
	Reference string
	Round     int
	State     durable.Ending
	At        time.Time
}

// check compares the caller's tables with the ledger and with River's.
func (c *chaos) check() {
	t := c.t
	made := map[string][]hotelstaystest.Order{}
	stays := map[string]bool{}
	for _, o := range c.Ledger().Orders() {
		made[o.CustomerReferenceNo] = append(made[o.CustomerReferenceNo], o)
		assert.False(t, stays[o.ContentKey], "made twice: the stay of %s", o.CustomerReferenceNo)
		stays[o.ContentKey] = true
	}
	rows, err := c.pool.Query(t.Context(), `SELECT reference, state, order_no, rounds, ended FROM bookings`)
	require.NoError(t, err)
	tally := map[string]int{}
	var reference, state, order string
	var rounds, ends int
	_, err = pgx.ForEachRow(rows, []any{&reference, &state, &order, &rounds, &ends}, func() error {
		tally[state]++
		switch orders := made[reference]; {
		case len(orders) > 1:
			t.Errorf("made twice: %s has %d orders", reference, len(orders))
		case state == "found" && len(orders) == 0:
			t.Errorf("%s is said to be found, and does not exist", reference)
		case state == "found" && orders[0].PlatformReferenceNo != order:
			t.Errorf("%s is said to be order %s, and is %s", reference, order, orders[0].PlatformReferenceNo)
		case state != "found" && len(orders) > 0:
			t.Errorf("lost: %s is said to be %s, and exists", reference, state)
		}
		delete(made, reference)
		return nil
	})
	require.NoError(t, err)
	assert.Empty(t, made, "orders that no row knows")
	total := 0
	for _, n := range tally {
		total += n
	}
	assert.Equal(t, c.bookings, total)
	t.Log("bookings:", tally)
	c.checkEndings()
	c.checkJobs()
}

// checkEndings checks that each round ended once, and that each repeated Book was allowed.
func (c *chaos) checkEndings() {
	t := c.t
	rows, err := c.pool.Query(t.Context(), `SELECT reference, round, state, at FROM endings ORDER BY at`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ended])
	require.NoError(t, err)
	of := map[string][]ended{}
	type round struct {
		reference string
		number    int
	}
	ends := map[round]int{}
	tally := map[durable.Ending]int{}
	for _, e := range all {
		of[e.Reference] = append(of[e.Reference], e)
		ends[round{e.Reference, e.Round}]++
		tally[e.State]++
	}
	for r, n := range ends {
		assert.Equal(t, 1, n, "%+v ended more than once", r)
	}
	t.Log("endings:", tally)
	for _, o := range c.Ledger().Orders() {
		for _, e := range of[o.CustomerReferenceNo] {
			assert.False(t, (e.State == durable.EndingAbsent || e.State == durable.EndingFailed) && o.CreatedAt.Before(e.At),
				"%s was said to be %s in round %d, and existed", o.CustomerReferenceNo, e.State, e.Round)
		}
	}
	assert.Zero(t, c.Ledger().BookingsReused(), "a Book came upon the order of an earlier one")

	before := map[string]hotelstaystest.Request{}
	resent := 0
	for _, book := range c.Ledger().Requests(hotelstaystest.OpBook) {
		last, again := before[book.TraceID]
		before[book.TraceID] = book
		if !again {
			continue
		}
		resent++
		definite := (last.Status == 401 || last.Status == 429) && last.Code != 0 && !last.Cut
		ended := slices.ContainsFunc(of[book.TraceID], func(e ended) bool {
			return (e.State == durable.EndingAbsent || e.State == durable.EndingFailed) && !e.At.Before(last.Arrived) && !e.At.After(book.Arrived)
		})
		assert.True(t, definite || ended,
			"sent twice: Book of %s, answered with HTTP %d (fault %q, executed %t), arrived again after %s without proof of absence",
			book.TraceID, last.Status, last.Fault, last.Executed, book.Arrived.Sub(last.Arrived))
	}
	t.Logf("%d Books under a reference that had one before", resent)
	var surprises []string
	require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT array_agg(what) FROM surprises`).Scan(&surprises))
	assert.Empty(t, surprises)
}

// checkJobs checks that each round has one completed job.
func (c *chaos) checkJobs() {
	var completed, others, rounds, ended, rescued int
	require.NoError(c.t, c.pool.QueryRow(c.t.Context(), `SELECT
		(SELECT count(*) FROM river_job WHERE state = 'completed'),
		(SELECT count(*) FROM river_job WHERE state <> 'completed'),
		(SELECT sum(rounds) FROM bookings),
		(SELECT count(*) FROM endings),
		(SELECT coalesce(sum((metadata ->> 'river:rescue_count')::int), 0) FROM river_job)`).Scan(&completed, &others, &rounds, &ended, &rescued))
	assert.Zero(c.t, others)
	assert.Equal(c.t, rounds, completed)
	assert.Equal(c.t, rounds, ended)
	c.t.Logf("%d rounds, %d jobs rescued", rounds, rescued)
}
