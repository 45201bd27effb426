package sqltest

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
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
	p.Eventually("no lease is left", func() bool { // they are due 150 s after the end of Book: in 90 s
		return p.count(`live = 1 AND due <= ?`, time.Now().Add(75*time.Second).UnixMicro()) == 0
	})
}

// A poll asks for many bookings at once. An order that it finds is polled for alone, because its
// dates count; nothing is taken for absent.
func TestPollsForMany(t *testing.T) {
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
func TestPollsForManyAreSplit(t *testing.T) {
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
func TestPollsForManyKeepTheirUsers(t *testing.T) {
	p := inProcess(t, nil)
	p.fill(40, func(i int, booking *durable.Booking) { booking.Recovery.UserRef = fmt.Sprint("user-", i%4) })
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
	p.fill(3, func(_ int, booking *durable.Booking) { booking.Recovery.EndedAt = time.Now().Add(-time.Hour).UTC() })
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
