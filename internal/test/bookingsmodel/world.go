// Package bookingsmodel tries the events around a booking in every order, and searches for a broken promise.
//
// A [World] has one service, two workers, and the rows of one reference: its booking, its cancellation and its followed
// order. The workers call the real durable.Engine, with a Store and a Client of the model. Between any two operations of
// a call, the other worker may act, time may pass, an order may be made or become visible, a person or a webhook may act,
// or something may fail. World.Search visits each state once, breadth first, so that it finds the shortest path to a
// broken promise.
//
// docs/decisions/every-order.md says what the search has found, and what it leaves out.
package bookingsmodel

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

// The values of Result.Violated: the invariants.
const (
	TwoOrders   = "two orders for one booking"
	FalseAbsent = "an absence is reported while an order exists or may still come"
	Twice       = "an outcome is delivered twice"
	NeverEnds   = "a row does not end, although nothing fails any more"
	TwoCancels  = "Cancel is sent twice"
	WrongCancel = "Cancel is sent for an order that nobody asked to cancel"
	FalseEnding = "the reported ending of a cancellation contradicts the order"
	WrongChange = "OnOrder receives another order, or an order without a change"
	LostChange  = "a change of an order is never delivered"
)

// World describes a small world to search: which events may happen around a booking, and how often.
type World struct {
	// Faults is the total number of faults. A fault is a crash, a lost answer to Book or Cancel, a read that fails, a
	// write that fails, a write that is applied although it reports a failure, or a worker that stands still while
	// time passes, and continues at any later time.
	Faults int
	// Wakes is the number of webhooks, which call Engine.Wake. A webhook may arrive at any time, even if no order has
	// changed.
	Wakes int
	// Rounds is how often the caller begins a booking under the reference.
	Rounds int
	// Alone means that there is only one worker.
	Alone bool
	// Skew is how far the second worker's clock may be ahead of the first worker's clock, or behind it.
	Skew time.Duration
	// BookTimeout is the engine's option of that name.
	BookTimeout time.Duration
	// InProcess lets a call of BookAndRecover continue when the answer to Book is lost: the call then polls until
	// BookTimeout.
	InProcess bool
	// ShowsWithin is the longest time from the end of Book until its order becomes visible. The same limit
	// applies to the effect of a Cancel.
	ShowsWithin time.Duration
	// Idempotent means that a second Book under the reference returns the first order. If it is false, each Book that
	// arrives makes an order.
	Idempotent bool
	// Found means that the world begins after the booking has ended with EndingFound. QueryOrders does not show the
	// order yet.
	Found bool
	// Acts is how often a person calls Abandon, Retry or Unfollow.
	Acts int
	// Cancels is how often a person begins a cancellation. This happens at any time at which CancelTx accepts it.
	Cancels int
	// Foreign means that somebody else makes an order under the reference, before Book makes an order or after the
	// booking was found. A cancellation may name the foreign order.
	Foreign bool
	// Follows means that the engine follows orders. An order changes Changes times, each time within ShowsWithin, and
	// is then cancelled.
	Follows bool
	Changes int
	// Many means that a row of another reference may be due at the same time. One QueryOrders then asks for both
	// references.
	Many bool
	// Breaks plants faults in the Store, the Queue or the Client, to show that the search finds them.
	Breaks Breaks
	// Only is the name of the one invariant to check. If it is empty, all invariants are checked.
	Only string
}

// Breaks are faults that a world plants in its Store, its Queue or its Client.
type Breaks struct {
	NoLock       bool // a transaction holds no lock between the read of its rows and the commit
	SameVersion  bool // a change of a row does not change its version
	CommitLost   bool // a crash undoes a commit that was reported
	LateClient   bool // Book and Cancel are sent after the end of their ctx
	DeliverApart bool // OnOutcome and OnCancel take effect even if the commit fails
	EndingLost   bool // the ending of a row is not saved
	LeaseStays   bool // a lease has no end
	NobodySends  bool // Due leaves out the bookings that wait for Send
}

const (
	second = time.Second
	never  = 7200 // seconds: longer than any pause between two polls
)

// Step is an event on a path through the states of a World.
type Step struct {
	Worker int // 0 or 1, or -1 if no worker makes the step
	// Op is the operation that the worker does. It is empty if the step is not an operation, such as the death of the
	// worker.
	Op  Op
	Do  string
	At  time.Duration // the time since the booking began
	Now Now           // the state after the step; set only in Paths
	// Ends means that time passes until the ctx of a Book or Cancel in flight ends.
	Ends   bool
	swaps  bool
	answer reply // the answer to a Request
}

// RoundTrip answers the request of this step with the response that the model's service gives.
func (s Step) RoundTrip(r *http.Request) (*http.Response, error) { return s.answer.roundTrip(r) }

// Op is an operation that a call of the engine asks its Store or its Client for.
type Op string

const (
	Claim       Op = "claim"       // Due, and the Postpone that leases the due rows
	Transaction Op = "transaction" // InTx
	Postpone    Op = "postpone"    // a later Postpone
	Read        Op = "read"        // Read of the booking, for its cancellation
	Request     Op = "request"     // Book, Cancel or QueryOrders
)

// The last words of Step.Do if an operation fails, or seems to fail.
const (
	ButFails   = ", which fails"
	ButApplied = ", which is applied, but seems to fail"
)

func (s Step) String() string {
	who := "        "
	if s.Worker >= 0 {
		who = fmt.Sprintf("worker %d", s.Worker+1)
	}
	return fmt.Sprintf("%8s  %s  %s", s.At, who, s.Do)
}

type Result struct {
	States, Depth int
	// Replays is how often the search has run a call of the engine.
	Replays int
	// Violated is the invariant that does not hold, or empty. Path leads to the state that violates it.
	Violated string
	Path     []Step
}

// Search visits all states of a world, but at most limit states. Call it outside of a bubble of testing/synctest.
func (w World) Search(t *testing.T, limit int) Result {
	m := w.model(t)
	g, why, at := m.explore(limit, m.next)
	last := int32(len(g.states) - 1)
	r := Result{States: len(g.states), Depth: len(g.pathTo(last)) - 1, Violated: why, Replays: m.Replays}
	if why != "" {
		r.Path = g.steps(g.pathTo(at), func(state, Step) {})
		setTimes(r.Path)
	}
	return r
}

// setTimes sets the field At of each step. If the search has swapped two workers with the same clock, setTimes swaps
// their numbers back.
func setTimes(path []Step) {
	var now time.Duration
	swapped := false
	for i := range path {
		s := &path[i]
		s.At, now = now, now+s.At
		if s.Worker >= 0 && swapped {
			s.Worker = 1 - s.Worker
		}
		swapped = swapped != s.swaps
	}
}

// model computes the states that can follow a state of a World. It is also the Store and the Queue of the engine.
type model struct {
	World
	table
	t *testing.T
	memstore.Rows

	options   durable.Options[*memstore.Tx]
	ring      *keyring.Ring
	client    *client
	script    *script
	nodes     []node
	results   []*result
	histories map[node]int32
	stales    map[stale]int32
	lookedAt  map[place][kinds]bool // the rows that each operation of a call has read
	Replays   int
	lost      int32 // the result of lostBook
}

func (w World) model(t *testing.T) *model {
	c := &client{known: map[bookReply]booked{}}
	c.Client = Client(c)
	m := &model{World: w, t: t, table: newTable(c.Account()), client: c, histories: map[node]int32{}, stales: map[stale]int32{},
		lookedAt: map[place][kinds]bool{}, nodes: make([]node, 1), results: []*result{{}}} // index 0 is unused: history 0 means no call
	c.m = m
	keys := []types.Secret{types.NewSecret("a key of thirty-two random bytes")}
	m.options = durable.Options[*memstore.Tx]{Client: c, Keys: keys, BookTimeout: w.BookTimeout, MaxWorkers: 1,
		PollInterval: 1e6 * time.Hour}
	m.handlers(&m.options)
	var err error
	if m.ring, err = keyring.New(keys); err != nil {
		panic(err)
	}
	return m
}

// initialStates returns the states in which a world begins: one for each difference of the clocks.
func (m *model) initialStates() (first []state) {
	s := state{faults: uint8(m.Faults), wakes: uint8(m.Wakes), acts: uint8(m.Acts), cancels: uint8(m.Cancels)}
	v := &visit{model: m, from: s}
	if err := v.runToEnd(&s, begins, 0); err != nil {
		panic(err)
	}
	s.round = 1
	if m.Found {
		for _, do := range []string{"is called", "stores", "sends", "the first Book makes", "receives", "stores"} {
			from := s
			m.next(from, func(step Step, to state) {
				if s == from && strings.HasPrefix(step.Do, do) {
					s = to
				}
			})
		}
	}
	skew := int16(m.Skew / second)
	for _, s.skew = range []int16{0, skew, -skew}[:min(3, 1+2*int(skew))] {
		first = append(first, s)
	}
	return first
}

type invariant struct {
	name     string
	violated bool
}

func (m *model) violated(s state) string {
	cancelled := s.foreign.cancelled() || s.books[0].revision.cancelled() || s.books[1].revision.cancelled()
	f := m.rows[s.rows[followed]]
	for _, invariant := range [...]invariant{
		{s.broken, s.broken != ""},
		{TwoOrders, s.orders() > 1},
		{FalseAbsent, (s.ending == durable.EndingAbsent || s.ending == durable.EndingFailed) && s.mayCome()},
		{Twice, s.delivered > 1 || s.cancelDeliveries > 1},
		{TwoCancels, s.cancelsSent > 1},
		{FalseEnding, s.cancelDeliveries > 0 && (s.cancelDone && !cancelled ||
			!s.cancelDone && !m.Follows && (cancelled || s.cancelProgress == inFlight))},
		{LostChange, f.kind == followed && f.life != durable.Open && !s.unfollowed && s.seen != s.books[s.foundSlot].revision},
	} {
		if invariant.violated && (m.Only == "" || m.Only == invariant.name) {
			return invariant.name
		}
	}
	return ""
}

// done reports whether nothing is left to do in state s.
func (m *model) done(s state) bool {
	if m.Only != "" && m.Only != NeverEnds {
		return true
	}
	ended := m.facts[s.rows[booking]].booking.Ending
	return s.idle() && !m.hasOpenRow(s) && (s.delivered == 1 || ended == durable.EndingAbandoned) &&
		(s.rows[cancel] == 0 || s.cancelDeliveries == 1)
}

func (m *model) hasOpenRow(s state) bool {
	for _, n := range s.rows {
		if n != 0 && m.rows[n].life == durable.Open {
			return true
		}
	}
	return false
}
