// The verdict: what the workers' database says, held against what the sandbox truly did.

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

// findings are what there is in the end.
type findings struct {
	// From the workers' database.
	bookings []booking
	endings  []booking // of every round; without an order's number
	handled  []handling
	// From the sandbox's ledger.
	orders          []hotelstaystest.Order
	events          []hotelstaystest.Webhook
	tickets, reused int
	limited         map[hotelstaystest.Operation]int // calls that passed a ceiling
	// From the director.
	outages   []outage
	processes int
	toAll     int64
	searches  searches
}

// searches are the calls of HotelRates by worker, while all of them searched.
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
		if f.searches.lasted == 0 { // the first: a Redis whose memory is new lets nobody search at once
			f.searches.lasted = d.searchUntil.Sub(r.Arrived)
		}
		f.searches.of[r.Header.Get("User-Agent")]++
	}
	var err1, err2, err3 error
	f.bookings, err1 = readAll[booking](ctx, d.db, `SELECT reference, state, order_no FROM bookings`)
	f.endings, err2 = readAll[booking](ctx, d.db, `SELECT reference, state, '' FROM endings`)
	f.handled, err3 = readAll[handling](ctx, d.db, `SELECT event, worker, at FROM handled ORDER BY at`)
	return f, errors.Join(err1, err2, err3)
}

// judge prints the verdict. A bad one is an error, too.
func (f *findings) judge(out io.Writer) error {
	states, rounds := count(f.bookings), count(f.endings)
	lost, twice := f.lost(), f.twice()
	problems := slices.Concat(lost, twice)
	fmt.Fprintf(out, "\nbookings  %d asked for: %d found, %d absent, %d failed; %d rounds ended absent and %d failed, and were followed by another\n",
		len(f.bookings), states["found"], states["absent"], states["failed"], rounds["absent"]-states["absent"], rounds["failed"]-states["failed"])
	fmt.Fprintf(out, "orders    %d in the ledger; lost %d, twice %d\n", len(f.orders), len(lost), len(twice))
	fmt.Fprintf(out, "tokens    Ticket calls %d, by %d processes\n", f.tickets, f.processes)
	refused := 0
	for op, n := range f.limited {
		refused += n
		problems = append(problems, fmt.Sprintf("%d calls of %s passed its ceiling", n, op))
	}
	fmt.Fprintf(out, "ceilings  %d calls refused (429); %s\n", refused, f.searches)
	once, again, dropped, unsure := f.webhooks()
	fmt.Fprintf(out, "webhooks  %d events, %d delivered, %d lost on purpose; %d deliveries went to all workers at once; handled once %d, again after a crash %d\n",
		len(f.events), once+again, dropped, f.toAll, once, again)

	problems = append(problems, unsure...)
	if open := len(f.bookings) - states["found"] - states["reused"] - states["absent"] - states["failed"]; open > 0 {
		problems = append(problems, fmt.Sprintf("%d bookings have not ended", open))
	}
	if f.tickets != 1 {
		problems = append(problems, fmt.Sprintf("the fleet made %d Ticket calls; one was enough", f.tickets))
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

// count counts bookings by their state.
func count(bookings []booking) map[string]int {
	n := map[string]int{}
	for _, b := range bookings {
		n[b.State]++
	}
	return n
}

// lost are the bookings of which the database says something else than the ledger.
func (f *findings) lost() (lost []string) {
	orders := map[string]string{}
	for _, o := range f.orders {
		orders[o.CustomerReferenceNo] = o.PlatformReferenceNo
	}
	for _, b := range f.bookings {
		if orders[b.Reference] != b.OrderNo || (b.State == "found") != (b.OrderNo != "") {
			lost = append(lost, fmt.Sprintf("lost: %s is %s %s in the database, and %q in the ledger", b.Reference, b.State, b.OrderNo, orders[b.Reference]))
		}
		delete(orders, b.Reference)
	}
	for reference, order := range orders {
		lost = append(lost, fmt.Sprintf("lost: order %s of %s, which the database does not know", order, reference))
	}
	return lost
}

// twice are the stays that were made twice, or nearly: the service makes one order for a
// reference, so that a second Book of one that exists is told of, too.
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

// webhooks holds the events against the rows of those who handled them. A worker that
// was killed, or an engine that crashed, between the row and the word that the event is
// done lets it be handled again: no store can tell that from a worker that died before.
func (f *findings) webhooks() (once, again, dropped int, problems []string) {
	handled := map[string][]handling{}
	for _, r := range f.handled {
		handled[r.Event] = append(handled[r.Event], r)
	}
	for _, e := range f.events {
		runs := handled[e.EventID]
		switch {
		case e.State == hotelstaystest.WebhookDropped: // its first attempt, or one after a worker had died
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
				problems = append(problems, fmt.Sprintf("event %s was handled by %s, and without a reason by %s again", e.EventID, runs[i-1].Worker, runs[i].Worker))
			}
		}
	}
	return once, again, dropped, problems
}

// excuses tells whether something died between two runs that the first one needed.
func (f *findings) excuses(first, second handling) bool {
	return slices.ContainsFunc(f.outages, func(o outage) bool {
		return (o.worker == "" || o.worker == first.Worker) && !o.to.Before(first.At) && !o.from.After(second.At)
	})
}

// String says how much of the ceiling was used, and by whom. A ceiling comes back at
// once after a second, so that a few seconds say nothing about its use.
func (s searches) String() string {
	counts := slices.Sorted(maps.Values(s.of))
	total := 0
	for _, n := range counts {
		total += n
	}
	text := fmt.Sprintf("HotelRates %d times in %.0f s", total, s.lasted.Seconds())
	if s.lasted >= 10*time.Second {
		text += fmt.Sprintf(", %.0f %% of the ceiling", 100*float64(total)/s.lasted.Seconds()/float64(hotelstays.OpHotelRates.RateLimit()))
	}
	return text + fmt.Sprintf(", %d to %d by each worker", counts[0], counts[len(counts)-1])
}
