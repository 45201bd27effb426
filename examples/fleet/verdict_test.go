package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// aGoodRun has a booking that was absent once, one that was refused, and an event that was
// handled again because its worker died.
func aGoodRun() *findings {
	return &findings{
		bookings: []booking{{"a", "found", "P1"}, {"b", "found", "P2"}, {"c", "refused", ""}},
		rounds:   []booking{{"a", "found", ""}, {"b", "absent", ""}, {"b", "found", ""}, {"c", "refused", ""}},
		orders: []hotelstaystest.Order{
			{CustomerReferenceNo: "a", PlatformReferenceNo: "P1", ContentKey: "1"},
			{CustomerReferenceNo: "b", PlatformReferenceNo: "P2", ContentKey: "2"}},
		events: []hotelstaystest.Webhook{
			{EventID: "e1", State: hotelstaystest.WebhookDelivered},
			{EventID: "e2", State: hotelstaystest.WebhookDelivered},
			{EventID: "e3", State: hotelstaystest.WebhookDropped}},
		handled: []handling{
			{"e1", "worker-1", noon}, {"e2", "worker-1", noon}, {"e2", "worker-2", noon.Add(2 * time.Second)}},
		outages:   []outage{{worker: "worker-1", from: noon.Add(time.Second), to: noon.Add(time.Second)}},
		tickets:   1,
		processes: 5,
		searches:  searches{lasted: 10 * time.Second, of: map[string]int{"worker-1": 400, "worker-2": 500}},
	}
}

func TestAGoodVerdict(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, aGoodRun().judge(&out))
	for _, line := range []string{
		"bookings  3 wanted: 2 found, 0 absent, 1 refused; retried after 1 absences and 0 refusals\n",
		"orders    2 in the ledger; lost 0, twice 0\n",
		"tokens    Ticket calls 1, by 5 processes\n",
		"limits    0 calls refused (429); HotelRates 900 times in 10 s, 90 % of the limit, 400 to 500 by each worker\n",
		"webhooks  3 events, 2 delivered, 1 lost on purpose; 0 deliveries to all workers at once; handled once 1, again after a crash 1\n",
		"verdict   good",
	} {
		assert.Contains(t, out.String(), line)
	}
}

func TestABadVerdict(t *testing.T) {
	for says, spoil := range map[string]func(*findings){
		"lost: a is found P1 in the database":           func(f *findings) { f.orders = f.orders[1:] },
		`lost: a is found P1 in the database, and "P9"`: func(f *findings) { f.orders[0].PlatformReferenceNo = "P9" },
		"lost: a is absent":                             func(f *findings) { f.bookings[0] = booking{"a", "absent", ""} },
		"lost: c is found ":                             func(f *findings) { f.bookings[2].State = "found" },
		"lost: order P2 of b":                           func(f *findings) { f.bookings = f.bookings[:1] },
		"twice: a":                                      func(f *findings) { f.orders[1].CustomerReferenceNo = "a" },
		"twice: b":                                      func(f *findings) { f.orders[1].ContentKey = "1" },
		"twice: Book was sent although":                 func(f *findings) { f.reused = 1 },
		"2 bookings have not ended": func(f *findings) {
			f.bookings = append(f.bookings, booking{"d", "pending", ""}, booking{"e", "unverified", ""})
		},
		"2 Ticket calls": func(f *findings) { f.tickets = 2 },
		"3 calls of Book were above its rate limit": func(f *findings) {
			f.limited = map[hotelstaystest.Operation]int{hotelstaystest.OpBook: 3}
		},
		"event e1 is delivered, and was handled 0 times":                           func(f *findings) { f.handled = f.handled[1:] },
		"event e1 is given-up, and was handled 1 times":                            func(f *findings) { f.events[0].State = hotelstaystest.WebhookGivenUp },
		"event e2 was handled by worker-1, and without a reason by worker-2 again": func(f *findings) { f.outages = nil },
		"e3 was handled by worker-1, and without a reason": func(f *findings) {
			f.handled = append(f.handled, handling{"e3", "worker-1", noon}, handling{"e3", "worker-1", noon.Add(time.Millisecond)})
		},
	} {
		f, out := aGoodRun(), bytes.Buffer{}
		spoil(f)
		require.EqualError(t, f.judge(&out), "the verdict is bad", says)
		assert.Contains(t, out.String(), "verdict   bad: ")
		assert.Contains(t, out.String(), says)
	}
}

// An event may be handled again only if something died between the two.
func TestWhatExcusesASecondHandling(t *testing.T) {
	at := func(from, to int) outage {
		return outage{from: noon.Add(time.Duration(from) * time.Second), to: noon.Add(time.Duration(to) * time.Second)}
	}
	killed := func(worker string, o outage) outage { o.worker = worker; return o }
	first, second := handling{"e", "worker-1", noon}, handling{"e", "worker-2", noon.Add(10 * time.Second)}
	for _, c := range []struct {
		outage
		excuses bool
	}{
		{killed("worker-1", at(5, 5)), true},
		{killed("worker-2", at(5, 5)), false},
		{killed("worker-1", at(-1, -1)), false},
		{killed("worker-1", at(11, 11)), false},
		{at(5, 6), true},
		{at(-1, 1), true},
		{at(-2, -1), false},
		{at(11, 12), false},
	} {
		f := &findings{outages: []outage{c.outage}}
		assert.Equal(t, c.excuses, f.excuses(first, second), "%+v", c.outage)
	}
}
