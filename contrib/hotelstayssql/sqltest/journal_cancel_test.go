package sqltest

import (
	"context"
	"database/sql"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// The process is frozen during Cancel, until the time limit of Cancel has passed.
func TestFrozenCancelIsNotRepeated(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, nil)
		p.Booked("ref-1")
		frozen, answer := p.hold("/cancel", nil)
		require.NoError(t, p.CancelAlone("ref-1", nil))
		stop := frozen.Work()
		answer.Wait()
		require.ErrorIs(t, p.CancelAlone("ref-1", nil), durable.ErrAlreadyCancelling)
		require.NoError(t, p.Wake(t.Context(), "ref-1"), "Wake changes nothing while Cancel is in progress")
		stored := p.Fleet.Cancellation("ref-1")
		assert.NotNil(t, stored.Cost, "the cost is stored before Cancel is sent")
		assert.True(t, stored.SendBy.After(time.Now()), "Cancel may be in progress")
		p.Work()
		p.Fleet.Pass(time.Minute)
		p.CancelEnds("ref-1", durable.CancelDone, 1, 0)
		answer.Release()
		stop()
		p.CancelEnds("ref-1", durable.CancelDone, 1, 0)
		assert.Equal(t, 1, p.Ledger().Count(hotelstays.OpCancel))
	})
}

// The worker loses its lease while it reads an order.
func TestWorkerThatLostItsLeaseStoresNothing(t *testing.T) {
	type step = func(p *process, reference string)
	booked := func(p *process, reference string) { p.Booked(reference) }
	woken := func(p *process, reference string) { require.NoError(p, p.Wake(p.Context(), reference)) }
	for name, c := range map[string]struct {
		prepare, begin, meanwhile, ended step
		cancels                          int
	}{
		"a booking": {
			prepare: func(p *process, reference string) { p.SendUnknown(reference, bookingstest.BookMade) }, begin: woken, meanwhile: woken,
			ended: func(p *process, reference string) {
				p.HasState(reference, durable.EndingFound, 0)
				assert.Equal(p, 1, p.Row(reference).Ended)
			},
		},
		"a cancellation": {
			prepare: booked, begin: func(p *process, reference string) { require.NoError(p, p.CancelAlone(reference, nil)) },
			meanwhile: func(p *process, reference string) {
				p.SetCancelRule(reference, hotelstaystest.CancelNeedsReason)
				woken(p, reference)
			},
			ended: func(p *process, reference string) {
				p.CancelEnds(reference, map[string]durable.CancelEnding{"ref-1": durable.CancelRefused, "next": durable.CancelDone}[reference], 1, 0)
			}, cancels: 2,
		},
		"a change of an order": {
			prepare: booked, begin: func(p *process, reference string) {
				p.SetOrderStatus(reference, 3) // cancelled
				woken(p, reference)
			}, meanwhile: woken,
			ended: func(p *process, reference string) {
				p.Eventually("its change is delivered", func() bool { return p.changes(reference) > 0 })
				assert.EqualValues(p, 1, p.changes(reference))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *database) {
				p := newProcess(t, db, db.followBookings)
				c.prepare(p, "ref-1")
				c.prepare(p, "next")
				slow, read := p.hold("/queryOrders", func(o *hotelstayssql.JournalOptions) { o.MaxWorkers = 1; db.followBookings(o) })
				c.begin(p, "ref-1")
				stopSlow := slow.Work()
				read.Wait()
				c.meanwhile(p, "ref-1")
				stop := p.Work()
				c.ended(p, "ref-1")
				stop()
				read.Release()
				c.begin(p, "next")
				c.ended(p, "next") // by now the worker that lost its lease has ended its step of the first row
				stopSlow()
				c.ended(p, "ref-1")
				assert.Equal(t, c.cancels, p.Ledger().Count(hotelstays.OpCancel))
			})
		})
	}
}

// A function of the caller panics for one row. The other rows are delivered.
func TestPanicInAFunctionOfTheCallerDelaysNoOtherRow(t *testing.T) {
	const poisoned = "many-000000"
	p := inProcess(t, nil)
	p = p.another(func(o *hotelstayssql.JournalOptions) {
		o.OnOutcome = func(ctx context.Context, tx *sql.Tx, outcome *hotelstays.BookingOutcome) error {
			if outcome.Recovery.CustomerReferenceNo == poisoned {
				panic("OnOutcome panicked")
			}
			return p.Fleet.StoreRow(ctx, tx, outcome)
		}
		o.OnOrder = func(ctx context.Context, tx *sql.Tx, change *durable.OrderChange) error {
			if change.After.CustomerReferenceNo == "poisoned" {
				panic("OnOrder panicked")
			}
			return p.Fleet.StoreOrder(ctx, tx, change)
		}
	})
	p.Booked("unchanged", "poisoned", "ref-1")
	p.ConfirmOrder("poisoned")
	p.ConfirmOrder("ref-1")
	p.Fleet.Pass(time.Hour)
	p.fillBooked(2, nil)
	p.db.exec(t, `UPDATE hotelstays_journal SET due = 0 WHERE reference = ?`, []byte(poisoned))
	for due, reference := range []string{"unchanged", "poisoned"} {
		p.db.exec(t, `UPDATE hotelstays_orders SET due = ? WHERE reference = ?`, due, []byte(reference))
	}
	p.Work()
	p.HasState(many(1), durable.EndingFound, 0)
	p.Eventually("its change is delivered", func() bool { return p.changes("ref-1") == 1 })
	p.Eventually("its lease has ended", func() bool {
		due := p.db.number(t, `SELECT due FROM hotelstays_orders WHERE reference = ?`, []byte("unchanged"))
		return due > time.Now().Add(2*time.Minute).UnixMicro()
	})
}

// The transport panics in a poll for two bookings, and in the read of an order.
func TestPanicOfTheTransportDoesNotEndTheProcess(t *testing.T) {
	p := inProcess(t, nil)
	p = p.another(p.db.followBookings)
	p.Booked("ref-1")
	p.Fleet.Pass(time.Hour)
	p.fillBooked(2, nil)
	var polls atomic.Int32
	p.SendThrough(testkit.Transport(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/queryOrders") {
			polls.Add(1)
			panic("a mistake")
		}
		return p.Client().Transport.RoundTrip(r)
	}))
	processOf(p.db, p.World).Work()
	p.Eventually("both requests have panicked", func() bool { return polls.Load() == 2 })
}

// followBookings makes a process follow orders, and store copies of them in the caller's table.
func (d *database) followBookings(o *hotelstayssql.JournalOptions) { o.OnOrder = d.caller().StoreOrder }

// changes returns how often the copy of an order has changed.
func (p *process) changes(reference string) int64 {
	p.Helper()
	return p.db.number(p, `SELECT changes FROM bookings WHERE reference = ?`, reference)
}

// One of the references makes the service refuse the whole request.
func TestOneRequestReadsManyOrders(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := newProcess(t, db, db.followBookings)
		references := make([]string, 30)
		for i := range references {
			references[i] = many(i)
		}
		p.Booked(references...)
		for _, reference := range references[:10] {
			p.ConfirmOrder(reference)
		}
		p.Fleet.Pass(2 * time.Minute)
		p.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 400,
			Code: types.CodeParam, Reference: references[5], Times: -1})
		before := p.polls()
		p.Work()
		p.Eventually("all other orders are read", func() bool { return p.db.number(p, `SELECT SUM(changes) FROM bookings`) == 9 })
		assert.LessOrEqual(t, p.polls(), before+2*6, "the refused request is halved until the bad reference is found")
		p.Eventually("no order is due", func() bool {
			return p.db.number(p, `SELECT COUNT(*) FROM hotelstays_orders WHERE due < ?`, time.Now().UnixMicro()) == 0
		})
	})
}

// Webhooks wake a cancellation and an order again before each read has ended. Both reads still take effect.
func TestFrequentWakesDelayNeitherCancellationNorOrder(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		p = p.another(p.db.followBookings)
		p.Booked("ref-1", "ref-2")
		p.ConfirmOrder("ref-2")
		p.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultDelay, Delay: 100 * time.Millisecond, Times: -1})
		require.NoError(t, p.CancelAlone("ref-1", nil))
		p.Work()
		for range 20 {
			time.Sleep(50 * time.Millisecond)
			require.NoError(t, p.Wake(t.Context(), "ref-1"))
			require.NoError(t, p.Wake(t.Context(), "ref-2"))
		}
		assert.Equal(t, 1, p.Ledger().Count(hotelstays.OpCancel))
		assert.EqualValues(t, 1, p.changes("ref-2"))
	})
}

// An OnOrder that ignores its ctx blocks one worker of one process. Other processes do not call it for that row.
func TestHangingOnOrderBlocksOneWorkerOfOneProcess(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, p *process) {
		end, calls := make(chan struct{}), atomic.Int32{}
		p.db.SetMaxOpenConns(1) // goroutines wait for the pool in virtual time, but for SQLite's file lock in real time
		hangs := func(o *hotelstayssql.JournalOptions) {
			o.PollInterval = time.Second
			o.OnOrder = func(ctx context.Context, tx *sql.Tx, change *durable.OrderChange) error {
				if change.After.CustomerReferenceNo == "hangs" {
					calls.Add(1)
					<-end
				}
				return p.Fleet.StoreOrder(ctx, tx, change)
			}
		}
		one := p.through(p.db.DB, hangs)
		one.Booked("hangs", "ref-1")
		one.ConfirmOrder("hangs")
		stop := one.Work()
		stopOther := p.through(p.db.DB, hangs).Work()
		time.Sleep(10 * time.Minute)
		one.ConfirmOrder("ref-1")
		require.NoError(t, one.Wake(t.Context(), "ref-1"))
		time.Sleep(time.Minute)
		assert.EqualValues(t, 1, calls.Load())
		assert.EqualValues(t, 1, one.changes("ref-1"))
		close(end)
		stop()
		stopOther()
	})
}
