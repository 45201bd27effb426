// The sandbox's configuration and faults, and Check, which compares a service's stored outcomes with the ledger.

package chaostest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// Outcome is what the program under test has stored about the end of one round of a booking.
type Outcome struct {
	// Reference is the customerReferenceNo.
	Reference string
	// Round is the number of this round of the booking, counted from 1. Each round has one outcome.
	Round int
	// OrderNo is the order's platformReferenceNo. It is empty if there is no order.
	OrderNo string
	// At is the time at which the outcome was stored. It must be exact to the microsecond, because Check
	// compares At with the times of requests.
	At time.Time
}

// Check compares the outcomes with the ledger, and with the number of begun rounds of each reference in the
// map begun. The outcomes of each reference must be sorted, the oldest first. Check returns nil, or an error
// with a line for each problem:
//
//   - an order that no outcome names, or an outcome with an order that does not exist;
//   - an order that existed when its booking was stored as having no order;
//   - a round that was begun and has no outcome or two outcomes;
//   - an outcome of a round that was not begun;
//   - a Book that was sent although its stay already had an order, under the same or another reference;
//   - a Book that was sent again before the previous Book was known to have failed. Check finds
//     such a Book only if the service passes the reference to WithTraceID;
//   - a ledger that has dropped requests of Book.
//
// The processes, the sandbox and the database must share a clock.
func Check(ledger *hotelstaystest.Ledger, begun map[string]int, outcomes []Outcome) error {
	c := checker{ledger: ledger, begun: begun, outcomes: map[string][]Outcome{}}
	for _, o := range outcomes {
		c.outcomes[o.Reference] = append(c.outcomes[o.Reference], o)
	}
	c.checkRounds()
	c.checkOutcomes()
	c.checkOrders()
	c.checkBooks()
	return errors.Join(c.problems...)
}

type checker struct {
	ledger   *hotelstaystest.Ledger
	begun    map[string]int
	outcomes map[string][]Outcome // by reference
	problems []error
}

func (c *checker) add(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("chaostest: "+format, args...))
}

func (c *checker) checkRounds() {
	type round struct {
		reference string
		n         int
	}
	missing := map[round]int{} // for each round, the number of outcomes that are still missing
	for reference, rounds := range c.begun {
		for n := range rounds {
			missing[round{reference, n + 1}]++
		}
	}
	for reference, stored := range c.outcomes {
		for _, o := range stored {
			missing[round{reference, o.Round}]--
		}
	}
	inOrder := func(a, b round) int { return cmp.Or(cmp.Compare(a.reference, b.reference), cmp.Compare(a.n, b.n)) }
	for _, r := range slices.SortedFunc(maps.Keys(missing), inOrder) {
		switch n := missing[r]; {
		case n > 0:
			c.add("%s: round %d was begun and has no outcome", r.reference, r.n)
		case n < 0:
			c.add("%s: round %d has too many outcomes: %d more than were begun", r.reference, r.n, -n)
		}
	}
}

func (c *checker) checkOutcomes() {
	exist := map[string]string{} // maps an order number to its reference
	for _, o := range c.ledger.Orders() {
		exist[o.PlatformReferenceNo] = o.CustomerReferenceNo
	}
	for _, reference := range slices.Sorted(maps.Keys(c.outcomes)) {
		for _, o := range c.outcomes[reference] {
			if o.OrderNo != "" && exist[o.OrderNo] != reference {
				c.add("%s is stored as order %s, which does not exist under this reference", reference, o.OrderNo)
			}
		}
	}
}

func (c *checker) checkOrders() {
	for _, o := range c.ledger.Orders() {
		reference := o.CustomerReferenceNo
		stored := c.outcomes[reference]
		if len(stored) == 0 || stored[len(stored)-1].OrderNo != o.PlatformReferenceNo {
			c.add("lost: order %s of %s, whose stored outcomes are %v", o.PlatformReferenceNo, reference, stored)
		}
		for _, s := range stored {
			if s.OrderNo == "" && o.CreatedAt.Before(s.At) {
				c.add("%s was stored as having no order in round %d, but had order %s", reference, s.Round, o.PlatformReferenceNo)
			}
		}
	}
}

// checkBooks checks that each repeated Book was allowed.
func (c *checker) checkBooks() {
	if n := c.ledger.BookingsReused(); n > 0 {
		c.add("sent twice: %d Books whose orders existed", n)
	}
	if n := c.ledger.DuplicatesRefused(); n > 0 {
		c.add("sent twice: %d Books of stays with an order under another reference", n)
	}
	books := c.ledger.Requests(hotelstays.OpBook)
	if sent := c.ledger.Count(hotelstays.OpBook); sent > len(books) {
		c.add("the ledger has %d of %d Books: start the sandbox with a higher LedgerLimit", len(books), sent)
	}
	before := map[string]hotelstaystest.Request{}
	for _, b := range books {
		reference := b.TraceID
		last, again := before[reference]
		before[reference] = b
		// After a 401 or 429, Book was not executed, so the client may send it again immediately.
		refused := (last.Status == 401 || last.Status == 429) && last.Code != 0 && !last.Cut
		if !again || refused {
			continue
		}
		proven := slices.ContainsFunc(c.outcomes[reference], func(o Outcome) bool {
			// Arrived is truncated, because a database may drop the nanoseconds of At.
			return o.OrderNo == "" && !o.At.Before(last.Arrived.Truncate(time.Microsecond)) && !o.At.After(b.Arrived)
		})
		if !proven {
			c.add("sent twice: Book of %s, answered with HTTP %d (fault %q, executed %t), arrived again after %s",
				reference, last.Status, last.Fault, last.Executed, b.Arrived.Sub(last.Arrived))
		}
	}
}

// Speed is the factor by which [Fleet.Hurry] speeds up time.
const Speed = 60

// Seed returns the number in HOTELSTAYS_CHAOS_SEED, to repeat a run. Without it Seed returns a random number.
func Seed() uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("HOTELSTAYS_CHAOS_SEED"), 10, 64); err == nil {
		return seed
	}
	return rand.Uint64N(1_000_000)
}

// Config returns a configuration for the sandbox. QueryOrders hides an order for the first 500 seconds after Book,
// divided by [Speed]. A recovery takes 600 seconds divided by Speed, so the order appears late in the recovery. There
// are no rate limits, and the ledger keeps every request. The seed decides on which requests a fault acts.
func Config(seed uint64) *hotelstaystest.Config {
	return &hotelstaystest.Config{Seed: seed, LateVisibility: 500 * time.Second / Speed, NoRateLimits: true, LedgerLimit: 1_000_000}
}

// Inject adds permanent faults to a sandbox. They act on about half of the calls of Book, and on 40 % of the calls of
// QueryOrders. Some of them delay the answer to Book by three seconds. Set shorter timeouts in the service, so that
// these answers are lost.
func Inject(srv *hotelstaystest.Server) {
	for _, f := range faults {
		f.Times = -1
		srv.Inject(f)
	}
}

const (
	book  = hotelstays.OpBook
	query = hotelstays.OpQueryOrders
)

var faults = []hotelstaystest.Fault{
	// No order is made, and there is no answer.
	{Operation: book, Kind: hotelstaystest.FaultCut, Probability: 0.06},
	{Operation: book, Kind: hotelstaystest.FaultStatus, Status: 504, Probability: 0.04},
	{Operation: book, Kind: hotelstaystest.FaultGarbage, Probability: 0.03},
	{Operation: book, Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second, Probability: 0.04},
	// The order is made, and there is no answer.
	{Operation: book, Kind: hotelstaystest.FaultCut, Commit: true, Probability: 0.08},
	{Operation: book, Kind: hotelstaystest.FaultStatus, Status: 502, Commit: true, Probability: 0.05},
	{Operation: book, Kind: hotelstaystest.FaultTruncatedBody, Probability: 0.04},
	{Operation: book, Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second, Commit: true, Probability: 0.06},
	// The answer comes late.
	{Operation: book, Kind: hotelstaystest.FaultDelay, Delay: time.Second, Commit: true, Probability: 0.15},
	// No order is made, and the answer is a refusal.
	{Operation: book, Kind: hotelstaystest.FaultStatus, Status: 429, Probability: 0.04},
	{Operation: book, Kind: hotelstaystest.FaultStatus, Status: 400, Probability: 0.04},
	{Operation: book, Kind: hotelstaystest.FaultStatus, Status: 200, Code: 100009999, Probability: 0.04},

	{Operation: query, Kind: hotelstaystest.FaultStatus, Status: 503, Probability: 0.15},
	{Operation: query, Kind: hotelstaystest.FaultCut, Probability: 0.1},
	{Operation: query, Kind: hotelstaystest.FaultGarbage, Probability: 0.1},
	{Operation: query, Kind: hotelstaystest.FaultDelay, Delay: 500 * time.Millisecond, Probability: 0.1},
	{Operation: query, Kind: hotelstaystest.FaultStatus, Status: 403, Probability: 0.03},
	{Operation: hotelstays.OpTicket, Kind: hotelstaystest.FaultStatus, Status: 503, Probability: 0.1},
}
