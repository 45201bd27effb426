package sqltest

import (
	"context"
	"database/sql"
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
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
)

func TestManyBookingsArePolledInLittleMemory(t *testing.T) {
	n := testsize.Of(t, "open bookings", 100_000, 2000, 500)
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
		}, 15*time.Minute, 100*time.Millisecond, "no booking is due or leased")
		t.Logf("%d polls in %s, %d MB", p.polls(), time.Since(start).Round(time.Millisecond), (peak-min(peak, before.HeapAlloc))>>20)
		assert.LessOrEqual(t, p.polls(), n/50)
		for _, poll := range p.Ledger().Requests(hotelstays.OpQueryOrders) {
			assert.False(t, poll.RateLimited)
		}
		assert.Less(t, peak, before.HeapAlloc+(100<<20))
	})
}

// inVirtualTime runs a test with SQLite and a journal in a bubble of testing/synctest, in parallel with other tests.
func inVirtualTime(t *testing.T, test func(t *testing.T, p *process)) {
	t.Helper()
	t.Parallel()
	db := create(t, hotelstayssql.SQLite)
	require.NoError(t, db.Close()) // a bubble cannot use connections that were opened outside
	synctest.Test(t, func(t *testing.T) {
		inside := &database{dialect: db.dialect, driver: db.driver, dsn: db.dsn, pause: time.Second} // each poll costs CPU time
		inside.DB = inside.open(t)
		require.NoError(t, hotelstayssql.Migrate(t.Context(), inside.DB, inside.dialect))
		p := newProcess(t, inside, nil, hotelstaystest.Config{InMemory: true})
		test(t, p)
		p.Client().CloseIdleConnections()
	})
}

// The database undoes the transaction of OnOutcome when ctx ends. OnOutcome returns only later.
func TestOnOutcomeThatOutlastsItsCtxIsLoggedAndCalledAtMostOnceAMinute(t *testing.T) {
	for name, write := range map[string]bool{"it writes too late": true, "it returns nil": false} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, p *process) {
				p.fillBooked(1, nil)
				log := make(logLines, 100)
				var calls atomic.Int64
				stop := p.another(func(o *hotelstayssql.JournalOptions) {
					log.receive(o)
					o.OnOutcome = func(ctx context.Context, tx *sql.Tx, _ *hotelstays.BookingOutcome) (err error) {
						calls.Add(1)
						<-ctx.Done()
						time.Sleep(time.Millisecond)
						if write {
							_, err = tx.ExecContext(context.WithoutCancel(ctx), `UPDATE bookings SET ended = 1`)
						}
						return err
					}
				}).Work()
				time.Sleep(10 * time.Minute)
				stop()
				assert.LessOrEqual(t, calls.Load(), int64(6), "each call lasts almost a minute")
				for !strings.Contains(<-log, `"OnOutcome: `) {
				}
			})
		})
	}
}

func TestBookingThatHasBeenDueLongestIsPolledFirst(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		p.fillBooked(3, func(i int, booking *bookingstest.Booking) {
			booking.Recovery.EndedAt = time.Now().Add(-time.Hour).UTC() // ten minutes after Book and later, no two bookings share a poll
			booking.Due = time.Now().Add(time.Duration(-i) * time.Minute)
		})
		p.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: 2 * time.Second, Times: -1})
		p.another(func(o *hotelstayssql.JournalOptions) { o.MaxWorkers = 1 }).Work()
		time.Sleep(3 * time.Second)
		assert.Equal(t, []string{"pending", "pending", "found"}, []string{p.Row(many(0)).State, p.Row(many(1)).State, p.Row(many(2)).State})
	})
}

// From the nth statement on, each statement hangs until its ctx ends. Another process takes over the row, and Run of the
// first process continues.
func TestHangingStatementEndsWithinTheLease(t *testing.T) {
	for name, row := range map[string]struct {
		begins string
		nth    int32
		limit  time.Duration
	}{
		"Run looks for work":    {"SELECT account, reference, fence", 1, 10 * time.Second},
		"Run takes two leases":  {"UPDATE hotelstays_journal", 2, 10 * time.Second},
		"Run stores an outcome": {"UPDATE hotelstays_journal", 3, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, p *process) {
				p.fillBooked(3, func(i int, booking *bookingstest.Booking) {
					if i == 2 {
						booking.Recovery.NextPoll = time.Now().Add(3 * time.Minute)
						booking.Due = booking.Recovery.NextPoll
					}
				})
				endedAfter := func(span time.Duration) int64 {
					time.Sleep(span)
					return p.db.number(t, `SELECT SUM(ended) FROM bookings`)
				}
				pool, link := p.db.process(t)
				begun := make(chan struct{})
				var matched atomic.Int32
				link.setHooks(func(ctx context.Context, statement string) error {
					if strings.HasPrefix(statement, row.begins) && matched.Add(1) == row.nth {
						close(begun)
					}
					if matched.Load() < row.nth {
						return nil
					}
					deadline, limited := ctx.Deadline()
					assert.True(t, limited && time.Until(deadline) <= row.limit, statement)
					<-ctx.Done()
					return ctx.Err()
				}, nil)
				oneWorker := func(o *hotelstayssql.JournalOptions) { o.MaxWorkers, o.PollInterval = 1, 5*time.Second }
				stopHanging := p.through(pool, oneWorker).Work()
				<-begun
				// The hanging process may hold SQLite's only write lock. The other process must not wait long for this lock in real time.
				stop := p.through(p.db.openWith(t, map[string]string{"busy_timeout": "1"}), oneWorker).Work()
				assert.EqualValues(t, 2, endedAfter(75*time.Second), "the other process ends two bookings")
				stop()
				time.Sleep(time.Minute)
				link.setHooks(nil, nil)
				assert.EqualValues(t, 3, endedAfter(5*time.Minute), "the process whose statement hung ends the third booking")
				stopHanging()
				assert.Equal(t, map[string]int{many(0): 1, many(1): 1, many(2): 1}, p.OrdersMade())
			})
		})
	}
}
