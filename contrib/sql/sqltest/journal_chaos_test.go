// A booking of the journal is never lost and never made twice, and the caller's row is true,
// whatever happens to requests, answers, processes and the database.
//
// Several processes book and poll against one sandbox. Half of the requests meet a fault, new
// orders are hidden for a while, processes are killed, and the database crashes. Time passes
// sixty times as fast for bookings that wait for a poll. In the end the caller's table is
// compared with the sandbox's ledger.
//
// HOTELSTAYS_CHAOS_SEED sets the seed of faults and kills.

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

const (
	chaosProcesses = 4
	// engineBookers is how many bookings a process makes at once.
	engineBookers = 4
	// engineRounds is how often a booking is tried.
	engineRounds = 3
	// chaosSpeed is how fast time passes for bookings that wait for a poll.
	chaosSpeed = 60
	// chaosVisible is how long the sandbox hides a new order: most of a recovery.
	chaosVisible = 500 * time.Second / chaosSpeed
)

// chaosFaults are the faults of requests, in per cent.
var chaosFaults = []struct {
	percent float64
	hotelstaystest.Fault
}{
	// Nothing is booked, without an answer.
	{6, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut}},
	{4, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 504}},
	{4, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second}},
	// The order is made, without an answer.
	{10, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true}},
	{5, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 502, Commit: true}},
	{6, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second, Commit: true}},
	// The answer comes late.
	{15, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultDelay, Delay: time.Second, Commit: true}},
	// Nothing is booked, and the answer is a refusal.
	{4, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 429}},
	{4, hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 200, Code: 100009999}},

	{15, hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 503}},
	{10, hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultCut}},
	{10, hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultGarbage}},
	{3, hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 403}},
	{10, hotelstaystest.Fault{Operation: hotelstaystest.OpTicket, Kind: hotelstaystest.FaultStatus, Status: 503}},
}

// onEngineOutcome stores an outcome in the booking's row and in a list of all. Sometimes it fails.
func (p *process) onEngineOutcome(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
	if err := p.db.storeRow(ctx, tx, outcome); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, p.db.translate(`INSERT INTO endings (reference, round, state, at) SELECT reference, rounds, state, ? FROM bookings WHERE reference = ?`),
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
			_, err = p.Send(ctx, reference, hotelstays.WithTraceID(reference))
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
		ORDER BY rounds DESC, reference LIMIT 1 OFFSET ?`), engineRounds, rand.IntN(chaosProcesses*engineBookers)).Scan(&reference, &rounds)
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
	if err := p.Begin(ctx, tx, req); err != nil {
		return "", err
	}
	return reference, tx.Commit()
}

// chaos starts and kills the processes. The sandbox runs in the process of the test.
type chaos struct {
	*books
	rng       *rand.Rand
	processes []func() // ends a process
	bookings  int
}

func (c *chaos) start() func() {
	cmd, in := child(c.t, c.partOf("engine"))
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = in.Close()
	}
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
		_ = passTime(ctx, c.db, tick*(chaosSpeed-1), func(b durable.Booking) bool { return !b.Recovery.EndedAt.IsZero() })
		_ = c.Wake(ctx, "ref-"+strconv.Itoa(rand.IntN(c.bookings)))
	}
}

// ended counts the bookings that will not be tried again.
func (c *chaos) ended() (n int) {
	for { // the database may be restarting
		err := c.db.QueryRowContext(c.t.Context(), c.db.translate(`SELECT COUNT(*) FROM bookings
			WHERE state IN ('found', 'reused') OR state IN ('absent', 'failed') AND rounds = ?`), engineRounds).Scan(&n)
		if err == nil {
			return n
		}
		require.NoError(c.t, c.t.Context().Err())
		time.Sleep(50 * time.Millisecond)
	}
}

// crash restarts the database as after a crash. SQLite has no process of its own.
func (c *chaos) crash() {
	c.t.Helper()
	variable := map[hotelstayssql.Dialect]string{hotelstayssql.PostgreSQL: "HOTELSTAYS_POSTGRES_RESTART", hotelstayssql.MySQL: "HOTELSTAYS_MARIADB_RESTART"}[c.db.dialect]
	if variable == "" {
		return
	}
	require.NotEmpty(c.t, os.Getenv(variable), variable+" is not set; .ci/services sets it")
	out, err := exec.Command("sh", "-c", os.Getenv(variable)).CombinedOutput()
	require.NoError(c.t, err, "%s", out)
}

func TestProcessesDie(t *testing.T) {
	bookings, kills, crashes := 40, 6, 1
	if os.Getenv("HOTELSTAYS_LONG") != "" {
		bookings, kills, crashes = 1000, 60, 2
	}
	seed := rand.Uint64N(1_000_000)
	if text := os.Getenv("HOTELSTAYS_CHAOS_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("HOTELSTAYS_CHAOS_SEED=%d: %d bookings, %d processes killed, %d crashes of the database", seed, bookings, kills, crashes)
	onEach(t, func(t *testing.T, db *database) {
		c := &chaos{books: newBooks(t, db, nil, hotelstaystest.WithSeed(seed), hotelstaystest.WithLateVisibility(chaosVisible),
			hotelstaystest.WithLedgerLimit(1_000_000)), rng: rand.New(rand.NewPCG(seed, 1)), bookings: bookings}
		readyTables(t, db, bookings)
		for _, f := range chaosFaults {
			f.Fault.Probability, f.Fault.Times = f.percent/100, -1
			c.Inject(f.Fault)
		}
		c.survive(kills, crashes)
		c.check()
	})
}

// survive lets the processes make all bookings, and kills and crashes meanwhile.
func (c *chaos) survive(kills, crashes int) {
	t := c.t
	ctx, cancel := context.WithCancel(t.Context())
	hurried := make(chan struct{})
	go func() { defer close(hurried); c.hurry(ctx) }()
	defer func() { cancel(); <-hurried }()
	for range chaosProcesses {
		c.processes = append(c.processes, c.start())
	}
	defer func() {
		for _, end := range c.processes {
			end()
		}
	}()
	start, killed, crashed := time.Now(), 0, 0
	for n := c.ended(); n < c.bookings; n = c.ended() {
		if killed < kills && n >= c.bookings*killed/kills {
			i := c.rng.IntN(len(c.processes))
			c.processes[i]()
			c.processes[i] = c.start()
			killed++
		}
		if crashed < crashes && n >= c.bookings*(crashed+1)/(crashes+1) {
			c.crash()
			crashed++
		}
		time.Sleep(time.Duration(c.rng.IntN(200)) * time.Millisecond)
		require.Less(t, time.Since(start), 5*time.Minute+time.Duration(c.bookings)*time.Second, "the bookings do not come to an end")
	}
	assert.Equal(t, kills, killed)
	assert.Equal(t, crashes, crashed)
	t.Logf("%s, %d requests of Book, %d of QueryOrders", time.Since(start).Round(time.Second),
		c.Ledger().Count(hotelstaystest.OpBook), c.Ledger().Count(hotelstaystest.OpQueryOrders))
}

// check compares the caller's tables with the ledger and with the journal.
func (c *chaos) check() {
	t := c.t
	made, stays := map[string][]hotelstaystest.Order{}, map[string]bool{}
	for _, o := range c.Ledger().Orders() {
		made[o.CustomerReferenceNo] = append(made[o.CustomerReferenceNo], o)
		assert.False(t, stays[o.ContentKey], "made twice: the stay of %s", o.CustomerReferenceNo)
		stays[o.ContentKey] = true
	}
	rows, err := c.db.QueryContext(t.Context(), `SELECT reference, state, order_no FROM bookings`)
	require.NoError(t, err)
	defer rows.Close()
	tally := map[string]int{}
	for rows.Next() {
		var reference, state, order string
		require.NoError(t, rows.Scan(&reference, &state, &order))
		tally[state]++
		switch orders := made[reference]; {
		case len(orders) > 1:
			t.Errorf("made twice: %s has %d orders", reference, len(orders))
		case state == "found" && (len(orders) == 0 || orders[0].PlatformReferenceNo != order):
			t.Errorf("%s is said to be order %s, and is %v", reference, order, orders)
		case state != "found" && len(orders) > 0:
			t.Errorf("lost: %s is said to be %s, and exists", reference, state)
		}
		delete(made, reference)
	}
	require.NoError(t, rows.Err())
	assert.Empty(t, made, "orders that no row knows")
	t.Log("bookings:", tally)
	assert.Zero(t, c.db.number(t, `SELECT COUNT(*) FROM hotelstays_journal WHERE live = 1 OR request IS NOT NULL`))
	assert.Zero(t, c.db.number(t, `SELECT COUNT(*) FROM surprises`))
	assert.Zero(t, c.db.number(t, `SELECT COUNT(*) FROM (SELECT reference, round FROM endings GROUP BY reference, round HAVING COUNT(*) > 1) AS twice`))
	assert.Equal(t, c.db.number(t, `SELECT SUM(rounds) FROM bookings`), c.db.number(t, `SELECT COUNT(*) FROM endings`), "each round has ended once")
	c.checkBooks()
}

// checkBooks checks that each repeated Book was allowed.
func (c *chaos) checkBooks() {
	t := c.t
	absent := map[string][]time.Time{} // when a reference was said to have no order
	rows, err := c.db.QueryContext(t.Context(), `SELECT reference, at FROM endings WHERE state IN ('absent', 'failed')`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var reference string
		var at int64
		require.NoError(t, rows.Scan(&reference, &at))
		absent[reference] = append(absent[reference], time.UnixMicro(at))
	}
	require.NoError(t, rows.Err())
	for _, o := range c.Ledger().Orders() {
		for _, at := range absent[o.CustomerReferenceNo] {
			assert.False(t, o.CreatedAt.Before(at), "%s was said to have no order, and had one", o.CustomerReferenceNo)
		}
	}
	assert.Zero(t, c.Ledger().BookingsReused(), "a Book came upon the order of an earlier one")
	before := map[string]hotelstaystest.Request{}
	for _, book := range c.Ledger().Requests(hotelstaystest.OpBook) {
		last, again := before[book.TraceID]
		before[book.TraceID] = book
		if !again {
			continue
		}
		definite := (last.Status == 401 || last.Status == 429) && last.Code != 0 && !last.Cut
		proven := slices.ContainsFunc(absent[book.TraceID], func(at time.Time) bool {
			return !at.Before(last.Arrived.Truncate(time.Microsecond)) && !at.After(book.Arrived)
		})
		assert.True(t, definite || proven, "sent twice: Book of %s, answered with HTTP %d (fault %q, executed %t), arrived again after %s",
			book.TraceID, last.Status, last.Fault, last.Executed, book.Arrived.Sub(last.Arrived))
	}
}
