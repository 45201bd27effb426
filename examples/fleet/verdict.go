// The verdict: the workers' database compared with the sandbox's ledger.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// findings are the data of the verdict.
type findings struct {
	// From the workers' database.
	bookings []booking
	rounds   []booking // without the order number
	handled  []handling
	// From the sandbox's ledger.
	orders          []hotelstaystest.Order
	events          []hotelstaystest.Webhook
	tickets, reused int
	limited         map[hotelstaystest.Operation]int // calls above a rate limit
	// From the director.
	outages   []outage
	processes int
	toAll     int64
	searches  searches
}

// searches are the calls of HotelRates by worker.
type searches struct {
	lasted time.Duration
	of     map[string]int
}

// gather collects the findings.
func (d *director) gather(ctx context.Context) (*findings, error) {
	ledger := d.sandbox.Ledger()
	f := &findings{
		orders: ledger.Orders(), events: ledger.Webhooks(),
		tickets: ledger.Count(hotelstaystest.OpTicket), reused: ledger.BookingsReused(), limited: map[hotelstaystest.Operation]int{},
		outages: d.outages, processes: d.started, toAll: d.balancer.toAll.Load(),
		searches: searches{of: map[string]int{}},
	}
	for op := range ledger.Counts() {
		if n := ledger.RateLimited(op); n > 0 {
			f.limited[op] = n
		}
	}
	for i := range d.workers {
		f.searches.of[workerName(i)] = 0
	}
	for _, r := range ledger.Requests(hotelstaystest.OpHotelRates) {
		if r.Arrived.After(d.searchUntil) {
			break
		}
		if f.searches.lasted == 0 { // from the first one: a new Redis rests at first
			f.searches.lasted = d.searchUntil.Sub(r.Arrived)
		}
		f.searches.of[r.Header.Get("User-Agent")]++
	}
	var err1, err2, err3 error
	f.bookings, err1 = readAll[booking](ctx, d.db, `SELECT reference, state, order_no FROM bookings`)
	f.rounds, err2 = readAll[booking](ctx, d.db, `SELECT reference, state, '' FROM rounds`)
	f.handled, err3 = readAll[handling](ctx, d.db, `SELECT event, worker, at FROM handled ORDER BY at`)
	return f, errors.Join(err1, err2, err3)
}

// judge prints the verdict. A bad one is an error.
func (f *findings) judge(out io.Writer) error {
	states, rounds := count(f.bookings), count(f.rounds)
	lost, twice := f.lost(), f.twice()
	problems := slices.Concat(lost, twice)
	fmt.Fprintf(out, "\nbookings  %d wanted: %d found, %d absent, %d refused; retried after %d absences and %d refusals\n", len(f.bookings),
		states["found"], states["absent"], states["refused"], rounds["absent"]-states["absent"], rounds["refused"]-states["refused"])
	fmt.Fprintf(out, "orders    %d in the ledger; lost %d, twice %d\n", len(f.orders), len(lost), len(twice))
	fmt.Fprintf(out, "tokens    Ticket calls %d, by %d processes\n", f.tickets, f.processes)
	refused := 0
	for op, n := range f.limited {
		refused += n
		problems = append(problems, fmt.Sprintf("%d calls of %s were above its rate limit", n, op))
	}
	fmt.Fprintf(out, "limits    %d calls refused (429); %s\n", refused, f.searches)
	once, again, dropped, unsure := f.webhooks()
	fmt.Fprintf(out,
		"webhooks  %d events, %d delivered, %d lost on purpose; %d deliveries to all workers at once; handled once %d, again after a crash %d\n",
		len(f.events), once+again, dropped, f.toAll, once, again)

	problems = append(problems, unsure...)
	if open := len(f.bookings) - states["found"] - states["absent"] - states["refused"]; open > 0 {
		problems = append(problems, fmt.Sprintf("%d bookings have not ended", open))
	}
	if f.tickets != 1 {
		problems = append(problems, fmt.Sprintf("the fleet made %d Ticket calls instead of one", f.tickets))
	}
	if len(problems) == 0 {
		fmt.Fprintln(out, "verdict   good: nothing lost, nothing twice")
		return nil
	}
	for _, problem := range problems {
		fmt.Fprintln(out, "verdict   bad:", problem)
	}
	return errors.New("the verdict is bad")
}

// count counts bookings by state.
func count(bookings []booking) map[string]int {
	n := map[string]int{}
	for _, b := range bookings {
		n[b.State]++
	}
	return n
}

// lost returns the bookings that differ between the database and the ledger.
func (f *findings) lost() (lost []string) {
	orders := map[string]string{}
	for _, o := range f.orders {
		orders[o.CustomerReferenceNo] = o.PlatformReferenceNo
	}
	for _, b := range f.bookings {
		if orders[b.Reference] != b.OrderNo || (b.State == "found") != (b.OrderNo != "") {
			lost = append(lost, fmt.Sprintf("lost: %s is %s %s in the database, and %q in the ledger",
				b.Reference, b.State, b.OrderNo, orders[b.Reference]))
		}
		delete(orders, b.Reference)
	}
	for reference, order := range orders {
		lost = append(lost, fmt.Sprintf("lost: order %s of %s, which the database does not know", order, reference))
	}
	return lost
}

// twice returns the stays that were booked twice, and the Books that were sent although their
// order existed.
func (f *findings) twice() (twice []string) {
	references, stays := map[string]bool{}, map[string]bool{}
	for _, o := range f.orders {
		if references[o.CustomerReferenceNo] || stays[o.ContentKey] {
			twice = append(twice, "twice: "+o.CustomerReferenceNo)
		}
		references[o.CustomerReferenceNo], stays[o.ContentKey] = true, true
	}
	for range f.reused {
		twice = append(twice, "twice: Book was sent although its order existed")
	}
	return twice
}

// webhooks compares the events with the rows of their handlers. An event may be handled again
// if a worker was killed, or an engine crashed, before the event was marked as done.
func (f *findings) webhooks() (once, again, dropped int, problems []string) {
	handled := map[string][]handling{}
	for _, r := range f.handled {
		handled[r.Event] = append(handled[r.Event], r)
	}
	for _, e := range f.events {
		runs := handled[e.EventID]
		switch {
		case e.State == hotelstaystest.WebhookDropped:
			dropped++
		case e.State != hotelstaystest.WebhookDelivered || len(runs) == 0:
			problems = append(problems, fmt.Sprintf("event %s is %s, and was handled %d times", e.EventID, e.State, len(runs)))
		case len(runs) == 1:
			once++
		default:
			again++
		}
		for i := 1; i < len(runs); i++ {
			if !f.excuses(runs[i-1], runs[i]) {
				problems = append(problems, fmt.Sprintf("event %s was handled by %s, and without a reason by %s again",
					e.EventID, runs[i-1].Worker, runs[i].Worker))
			}
		}
	}
	return once, again, dropped, problems
}

// excuses reports whether the worker of the first run, or an engine, died between two runs.
func (f *findings) excuses(first, second handling) bool {
	return slices.ContainsFunc(f.outages, func(o outage) bool {
		return (o.worker == "" || o.worker == first.Worker) && !o.to.Before(first.At) && !o.from.After(second.At)
	})
}

// String returns the used share of the rate limit. It omits the share after a few seconds,
// which prove nothing.
func (s searches) String() string {
	counts := slices.Sorted(maps.Values(s.of))
	total := 0
	for _, n := range counts {
		total += n
	}
	text := fmt.Sprintf("HotelRates %d times in %.0f s", total, s.lasted.Seconds())
	if s.lasted >= 10*time.Second {
		text += fmt.Sprintf(", %.0f %% of the limit", 100*float64(total)/s.lasted.Seconds()/float64(hotelstays.OpHotelRates.RateLimit()))
	}
	return text + fmt.Sprintf(", %d to %d by each worker", counts[0], counts[len(counts)-1])
}
