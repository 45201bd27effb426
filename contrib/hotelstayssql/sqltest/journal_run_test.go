package sqltest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestWakeEndsThePauseOfRun(t *testing.T) {
	p := inProcess(t, func(o *hotelstayssql.JournalOptions) { o.PollInterval = time.Hour })
	p.SendUnknown("ref-1", bookingstest.BookMade)
	p.Work()
	p.Eventually("it is woken", func() bool {
		assert.NoError(t, p.Wake(t.Context(), "ref-1"))
		return p.Row("ref-1").State == "found"
	})
}

// Orders of two users are two reads.
func TestNextReadOfOrdersFollowsAtOnce(t *testing.T) {
	p := inProcess(t, nil)
	p = p.another(func(o *hotelstayssql.JournalOptions) { o.PollInterval = time.Hour; p.db.followBookings(o) })
	p.Booked("ref-1")
	p.AddRow("ref-2")
	require.NoError(t, p.BeginAlone(p.Request("ref-2"), hotelstays.WithUserRef("user-2")))
	p.MustSend("ref-2")
	p.ConfirmOrder("ref-1")
	p.ConfirmOrder("ref-2")
	p.Fleet.Pass(2 * time.Minute)
	p.Work()
	p.Eventually("both are read", func() bool { return p.changes("ref-1")+p.changes("ref-2") == 2 })
	var users []string
	for _, r := range p.Ledger().Requests(hotelstays.OpQueryOrders) {
		users = append(users, r.Header.Get("User-Ref"))
	}
	assert.ElementsMatch(t, []string{"", "user-2"}, users)
}

// notDue waits until no booking is due, and no lease is left: they last a minute.
func (p *process) notDue() {
	p.Helper()
	p.Eventually("no lease is left", func() bool { // they are due 210 s after their poll
		return p.count(`live = 1 AND due <= ?`, time.Now().Add(75*time.Second).UnixMicro()) == 0
	})
}

// A poll asks for many bookings at once. An order that it finds is polled for alone, because its
// dates count; nothing is taken for absent.
func TestOnePollAsksForManyBookings(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, func(o *hotelstayssql.JournalOptions) { o.MaxWorkers = 50 })
		p.BookElsewhere(many(7))
		const n = 250
		p.fill(n, nil)
		p.AddRow(many(7))
		p.Work()
		p.HasState(many(7), durable.EndingFound, 0)
		p.notDue()
		assert.LessOrEqual(t, p.polls(), 6, "three polls for many, and one for the order")
		for _, r := range p.Ledger().Requests(hotelstays.OpQueryOrders) {
			assert.Less(t, r.BodySize, 110*len(`"",`+many(7)), "the bytes of some 100 references")
		}
		assert.EqualValues(t, n-1, p.count(`live = 1`))
	})
}

// A reference that the service refuses, or an order that is unreadable, does not spoil the polls
// of others.
func TestRefusedPollForManyIsSplit(t *testing.T) {
	for name, fault := range map[string]hotelstaystest.Fault{
		"a refused reference": {Kind: hotelstaystest.FaultStatus, Status: 400, Code: 100009999},
		"a wrong reference":   {Kind: hotelstaystest.FaultStatus, Status: 200, Code: types.CodeParam},
		"an unreadable order": {Kind: hotelstaystest.FaultGarbage, Body: []byte(`{"code":0,"data":{"orders":7}}`)},
	} {
		fault.Operation, fault.Reference, fault.Times = hotelstays.OpQueryOrders, many(7), -1
		t.Run(name, func(t *testing.T) {
			p := inProcess(t, nil)
			const n = 20
			p.fillBooked(n, nil)
			p.Inject(fault)
			p.Work()
			p.Eventually("all but one are found", func() bool { return p.count(`live = 2`) == n-1 })
			assert.Equal(t, "pending", p.Row(many(7)).State)
			assert.LessOrEqual(t, p.polls(), n+10, "it is found by halves")
		})
	}
}

// Bookings of other users are polled for by these users.
func TestEachUsersBookingsArePolledForByThatUser(t *testing.T) {
	p := inProcess(t, nil)
	p.fill(40, func(i int, booking *bookingstest.Booking) { booking.Recovery.UserRef = fmt.Sprint("user-", i%4) })
	p.Work()
	p.notDue()
	users := map[string]int{}
	for _, r := range p.Ledger().Requests(hotelstays.OpQueryOrders) {
		users[r.Header.Get("User-Ref")]++
	}
	for i := range 4 {
		assert.Positive(t, users[fmt.Sprint("user-", i)])
	}
	assert.Len(t, users, 4)
}

// A worker takes one booking, and leaves the others to workers that are free.
func TestWorkerTakesOneBooking(t *testing.T) {
	p := inProcess(t, nil)
	p.fill(3, func(_ int, booking *bookingstest.Booking) {
		booking.Recovery.EndedAt = time.Now().Add(-time.Hour).UTC()
	})
	slow, poll := p.hold("/queryOrders", func(o *hotelstayssql.JournalOptions) { o.MaxWorkers = 1 })
	stop := slow.Work()
	poll.Wait()
	assert.EqualValues(t, 1, p.count(`due > ?`, time.Now().UnixMicro()))
	poll.Release()
	stop()
}

// What a newer version has stored in a booking survives the writes of this one.
func TestFieldsOfANewerVersion(t *testing.T) {
	p := inProcess(t, nil)
	p.SendUnknown("ref-1", bookingstest.BookMade)
	text, err := json.Marshal(p.Fleet.Stored("ref-1"))
	require.NoError(t, err)
	newer := strings.Replace(string(text), `{"recovery":{`, `{"sentBy":{"id":12345678901234567890},"recovery":{"mode":"x",`, 1)
	p.db.exec(t, `UPDATE hotelstays_journal SET booking = ?`, []byte(newer))
	require.NoError(t, p.Abandon(t.Context(), "ref-1"))
	require.NoError(t, p.Retry(t.Context(), "ref-1"), "which takes a field away")
	p.Work()
	p.Eventually("it is found", func() bool { // PassTime would store the fields that it knows
		assert.NoError(t, p.Wake(t.Context(), "ref-1"))
		return p.Row("ref-1").State == "found"
	})
	require.NoError(t, p.db.QueryRowContext(t.Context(), `SELECT booking FROM hotelstays_journal`).Scan(&text))
	assert.Contains(t, string(text), `"sentBy":{"id":12345678901234567890}`)
	assert.Contains(t, string(text), `"mode":"x"`)
}

// Many open bookings are polled for within the rate limit and in little memory.
func TestManyOpenBookings(t *testing.T) {
	n := 2000
	if os.Getenv("HOTELSTAYS_LONG") != "" {
		n = 100_000
	} else if testing.Short() {
		n = 500
	}
	t.Logf("%d open bookings", n)
	onEachAlone(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil, hotelstaystest.Config{LedgerLimit: 2000, RateLimits: map[hotelstaystest.Operation]int{}})
		p.fill(n, nil)
		runtime.GC()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		var peak uint64
		start := time.Now()
		p.Work()
		require.Eventually(t, func() bool {
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
			return p.count(`live = 1 AND due <= ?`, start.Add(time.Minute).UnixMicro()) == 0
		}, 15*time.Minute, 100*time.Millisecond, "none is due, and no lease is left")
		t.Logf("%d polls in %s, %d MB", p.polls(), time.Since(start).Round(time.Millisecond), (peak-min(peak, before.HeapAlloc))>>20)
		assert.LessOrEqual(t, p.polls(), n/50)
		for _, poll := range p.Ledger().Requests(hotelstays.OpQueryOrders) {
			assert.False(t, poll.RateLimited)
		}
		assert.Less(t, peak, before.HeapAlloc+(100<<20))
	})
}

// inVirtualTime runs a test with SQLite and the journal in a bubble.
func inVirtualTime(t *testing.T, test func(t *testing.T, p *process)) {
	t.Helper()
	db := create(t, hotelstayssql.SQLite)
	require.NoError(t, db.Close()) // its connections belong outside the bubble
	synctest.Test(t, func(t *testing.T) {
		inside := &database{dialect: db.dialect, driver: db.driver, dsn: db.dsn}
		inside.DB = inside.open(t)
		require.NoError(t, hotelstayssql.Migrate(t.Context(), inside.DB, inside.dialect))
		p := newProcess(t, inside, nil, hotelstaystest.Config{InMemory: true})
		test(t, p)
		p.Client().CloseIdleConnections()
	})
}

// A worker whose polls are slow does not poll after its lease, when others do.
func TestSlowPollsStayWithinTheLease(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		const many = 5
		p.fillBooked(many, nil)
		p.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: 19 * time.Second, Times: -1})
		// No poll ends at a multiple of it: Run would look while the other bookings are given back.
		stop := p.another(func(o *hotelstayssql.JournalOptions) { o.PollInterval = 700 * time.Millisecond }).Work()
		for p.db.number(t, `SELECT COUNT(*) FROM bookings WHERE state = 'found'`) < many {
			time.Sleep(time.Second)
		}
		stop()
		assert.EqualValues(t, many, p.db.number(t, `SELECT SUM(ended) FROM bookings`))
		assert.Equal(t, 1+many, p.polls(), "one for all, and then each on a worker of its own")
	})
}

// hang lets statements hang until their ctx ends, from the nth that begins with a text on. end lets the next
// ones pass, and returns the longest time that one took.
func (l *link) hang(begins string, nth int64) (begun <-chan struct{}, end func() time.Duration) {
	var left, longest atomic.Int64
	left.Store(nth)
	first := make(chan struct{})
	l.before = func(ctx context.Context, statement string) error {
		if left.Load() > 0 && strings.HasPrefix(statement, begins) && left.Add(-1) == 0 {
			close(first)
		}
		if left.Load() != 0 {
			return nil
		}
		start := time.Now()
		<-ctx.Done()
		longest.Store(max(longest.Load(), int64(time.Since(start))))
		return ctx.Err()
	}
	return first, func() time.Duration {
		left.Store(-1)
		return time.Duration(longest.Load())
	}
}

// A statement that hangs ends with the lease. Another process takes over, and Run goes on.
func TestStatementThatHangsEndsWithTheLease(t *testing.T) {
	const look, write = "SELECT account, reference, fence", "UPDATE hotelstays_journal"
	for name, row := range map[string]struct {
		begins string
		nth    int64
		limit  time.Duration
		late   bool // the first poll finds no orders
	}{
		"Run looks for work":              {begins: look, nth: 1, limit: 10 * time.Second},
		"Run takes two leases":            {begins: write, nth: 2, limit: 10 * time.Second},
		"Run stores a poll for many":      {begins: write, nth: 3, limit: 10 * time.Second, late: true},
		"Run stores an outcome":           {begins: write, nth: 3, limit: time.Minute},
		"OnOutcome of the first booking":  {begins: "UPDATE bookings", nth: 1, limit: time.Minute},
		"OnOutcome of the second booking": {begins: "UPDATE bookings", nth: 2, limit: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, p *process) {
				p.fill(3, func(i int, booking *bookingstest.Booking) {
					if i == 2 {
						booking.Recovery.NextPoll = time.Now().Add(3 * time.Minute)
						booking.Due = booking.Recovery.NextPoll
					}
				})
				for i := range 3 {
					p.AddRow(many(i))
				}
				order := func() {
					for i := range 3 {
						p.BookElsewhere(many(i))
					}
				}
				if !row.late {
					order()
				}
				ended := func(n int64, limit time.Duration) {
					start := time.Now()
					for p.db.number(t, `SELECT SUM(ended) FROM bookings`) < n && time.Since(start) < limit {
						time.Sleep(5 * time.Second)
					}
					assert.Equal(t, n, p.db.number(t, `SELECT SUM(ended) FROM bookings`))
				}

				pool, link := p.db.process(t)
				begun, end := link.hang(row.begins, row.nth)
				oneWorker := func(o *hotelstayssql.JournalOptions) { o.MaxWorkers, o.PollInterval = 1, 5*time.Second }
				stopHanging := p.through(pool, oneWorker).Work()
				<-begun
				if row.late {
					order()
				}
				// The hanging process may have the only lock for writes, and others wait for it in real time.
				stop := p.through(p.db.openWith(t, map[string]string{"busy_timeout": "1"}), oneWorker).Work()
				ended(2, time.Minute+15*time.Second) // in the other process
				stop()
				time.Sleep(time.Minute)
				assert.LessOrEqual(t, end(), row.limit)
				ended(3, 5*time.Minute) // in this one
				stopHanging()
				assert.Equal(t, map[string]int{many(0): 1, many(1): 1, many(2): 1}, p.OrdersMade())
			})
		})
	}
}

// An OnOutcome that hangs has one worker, and others end their bookings, also after its lease. Run
// ends without it.
func TestOnOutcomeThatHangsHasOneWorker(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		const hangs, many = "many-000000", 6
		p.fillBooked(many, func(i int, booking *bookingstest.Booking) {
			if i > 2 { // due after several leases
				booking.Due = time.Now().Add(5 * time.Minute)
			}
		})
		end, calls := make(chan struct{}), atomic.Int32{}
		p.db.SetMaxOpenConns(1) // goroutines wait for it in virtual time, and for the lock of the file in real time
		p = p.through(p.db.DB, func(o *hotelstayssql.JournalOptions) {
			o.MaxWorkers, o.PollInterval = 2, time.Second
			o.OnOutcome = func(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
				if outcome.Recovery.CustomerReferenceNo == hangs {
					calls.Add(1)
					<-end
				}
				return p.Fleet.StoreRow(ctx, tx, outcome)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- p.Journal.Run(ctx) }()
		found := func() int64 { return p.db.number(t, `SELECT COUNT(*) FROM bookings WHERE state = 'found'`) }
		time.Sleep(2 * time.Minute)
		assert.EqualValues(t, 2, found())
		time.Sleep(5 * time.Minute)
		assert.EqualValues(t, many-1, found())
		assert.EqualValues(t, 1, calls.Load())
		cancel()
		stopped := time.Now()
		assert.ErrorContains(t, <-ran, hangs)
		assert.Equal(t, 15*time.Second, time.Since(stopped))
		close(end)
		synctest.Wait()
	})
}

// So has an OnCancel that hangs. An OnOrder that hangs ends with its lease.
func TestOnCancelAndOnOrderThatHang(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		end, failed := make(chan struct{}), false
		lasts := func(ctx context.Context) {
			deadline, _ := ctx.Deadline()
			assert.LessOrEqual(t, time.Until(deadline), 55*time.Second)
		}
		p.db.SetMaxOpenConns(1) // goroutines wait for it in virtual time, and for the lock of the file in real time
		p = p.through(p.db.DB, func(o *hotelstayssql.JournalOptions) {
			o.MaxWorkers, o.PollInterval = 2, time.Second
			o.OnCancel = func(ctx context.Context, tx *sql.Tx, c *durable.Cancellation) error {
				if lasts(ctx); c.CustomerReferenceNo == "hangs" {
					<-end
				} else if !failed { // after Cancel it has ten seconds
					failed = true
					return errLost
				}
				return p.Fleet.StoreCancel(ctx, tx, c)
			}
			o.OnOrder = func(ctx context.Context, tx *sql.Tx, change *durable.OrderChange) error {
				if lasts(ctx); change.After.CustomerReferenceNo == "hangs" {
					<-ctx.Done()
				}
				return p.Fleet.StoreOrder(ctx, tx, change)
			}
		})
		p.Booked("hangs", "the next")
		require.NoError(t, p.CancelAlone("hangs", nil))
		stop := p.Work()
		time.Sleep(2 * time.Minute) // it is due for longest
		require.NoError(t, p.CancelAlone("the next", nil))
		time.Sleep(5 * time.Minute)
		assert.EqualValues(t, 1, p.db.number(t, `SELECT cancels FROM bookings WHERE reference = 'the next'`))
		assert.EqualValues(t, 1, p.changes("the next"))
		close(end)
		stop()
	})
}

// Book and Send end with BookTimeout: from then on Run takes their booking for one whose Book has
// ended.
func TestBookEndsWithItsTimeout(t *testing.T) {
	for name, book := range map[string]func(p *process) (*hotelstays.BookingOutcome, error){
		"Book": func(p *process) (*hotelstays.BookingOutcome, error) { return p.Book(p.Context(), p.Request("ref-2")) },
		"Send": func(p *process) (*hotelstays.BookingOutcome, error) { return p.Send(p.Context(), "ref-1") },
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, p *process) {
				p.Begin("ref-1")
				p.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: time.Hour})
				start := time.Now()
				_, err := book(p)
				require.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
				assert.Equal(t, 10*time.Second, time.Since(start))
			})
		})
	}
}

// A Book that is frozen past its time may have made its order after the next round was refused: it is polled for.
func TestFrozenBookOpensARoundThatWasRefused(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		p.Begin("ref-1")
		p.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: 500})
		frozen, answer := p.hold("/book", nil)
		ended := make(chan error)
		go func() {
			_, err := frozen.Send(t.Context(), "ref-1")
			ended <- err
		}()
		answer.Wait()
		stop := p.another(func(o *hotelstayssql.JournalOptions) { o.PollInterval = time.Minute }).Work()
		time.Sleep(time.Hour)
		stop()
		require.NoError(t, p.BeginAlone(p.Request("ref-1")))
		p.Inject(bookingstest.BookRefused)
		require.ErrorIs(t, p.MustSend("ref-1").Err, hotelstays.ErrRateChanged)
		answer.Release()
		require.Equal(t, hotelstays.KindOutcomeUnknown, hotelstays.KindOf(<-ended))
		assert.Equal(t, durable.PhasePolling, p.Fleet.Stored("ref-1").Phase(time.Now()))
	})
}

// A process polls to the end of the recovery by itself, and is frozen before it stores the absence. The booking
// begins again meanwhile: what the frozen process stores leaves the next round alone.
func TestFrozenAbsenceLeavesTheNextRoundAlone(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		const limit = 11 * time.Minute
		frozen := make(chan struct{})
		client, err := bookingstest.Plan{URL: p.URL, AppKey: p.AppKey, AppSecret: p.AppSecret}.Client(p.Server.Client().Transport,
			hotelstays.WithRateLimiter(hotelstays.NewRateLimiter(nil)),
			hotelstays.WithObserver(hotelstays.Observer{HelperEnd: func(_ context.Context, info hotelstays.CallInfo) {
				if info.Operation == "BookAndRecover" {
					close(frozen)
					time.Sleep(3 * time.Minute)
				}
			}}))
		require.NoError(t, err)
		first := p.World.Another(func(o *bookingstest.Options[*sql.Tx]) { o.Client, o.BookTimeout = client, limit })
		p.Begin("ref-1")
		p.Inject(bookingstest.BookLost)
		sent := make(chan error, 1)
		go func() { _, err := first.Send(t.Context(), "ref-1"); sent <- err }()
		<-frozen
		time.Sleep(90 * time.Second) // BookBy has passed
		other := p.World.Another(func(o *bookingstest.Options[*sql.Tx]) { o.BookTimeout = limit })
		require.NoError(t, other.Abandon(t.Context(), "ref-1"))
		require.NoError(t, other.BeginAlone(p.Request("ref-1")))
		p.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 5 * time.Minute})
		again := make(chan *hotelstays.BookingOutcome, 1)
		go func() {
			outcome, err := other.Send(t.Context(), "ref-1", hotelstays.WithTimeout(limit))
			assert.NoError(t, err)
			again <- outcome
		}()
		time.Sleep(time.Second)
		before := p.Fleet.Stored("ref-1")
		require.ErrorAs(t, <-sent, new(*hotelstays.OutcomeUnknownError))
		assert.Equal(t, before, p.Fleet.Stored("ref-1"))
		assert.Equal(t, bookingstest.Row{State: "pending"}, p.Row("ref-1"))
		assert.Equal(t, durable.EndingFound, durable.EndingOf(<-again))
		assert.Equal(t, 1, p.Row("ref-1").Ended)
	})
}
