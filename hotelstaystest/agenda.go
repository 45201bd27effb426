// The clock, and the agenda: the confirmations and deliveries that become due without a request.

package hotelstaystest

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxAhead is the maximum time by which Advance can move the sandbox's clock ahead of real time.
const maxAhead = 10 * 365 * 24 * time.Hour

type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// reach moves the clock forward to t, never back.
func (c *clock) reach(t time.Time) { c.offset.Add(int64(max(0, t.Sub(c.now())))) }

// appointment is a task with its due time. If order is set, the task is to confirm this order. Otherwise event is set, and
// the task is to try to deliver this event.
type appointment struct {
	at    time.Time
	order *order
	event *event
}

// agenda holds what the sandbox must do later, such as to confirm an order. Server.lock guards it.
type agenda struct {
	ahead    []appointment // sorted by time; of two appointments at the same time, the first added comes first
	wake     chan struct{} // receives a value when the first appointment or the clock changes
	inFlight int           // delivery attempts that wait for their answers
	changed  *sync.Cond    // signals that inFlight became smaller, or that Advance ended

	advancing bool
}

func newAgenda(mu *sync.Mutex) *agenda {
	return &agenda{wake: make(chan struct{}, 1), changed: sync.NewCond(mu)}
}

func (g *agenda) add(a appointment) {
	at, _ := slices.BinarySearchFunc(g.ahead, a, func(other, a appointment) int {
		return cmp.Or(other.at.Compare(a.at), -1)
	})
	g.ahead = slices.Insert(g.ahead, at, a)
	if at == 0 {
		g.wakeUp()
	}
}

func (g *agenda) attemptEnded() {
	g.inFlight--
	g.changed.Broadcast()
}

// wakeUp makes runAgenda look at the first appointment again.
func (g *agenda) wakeUp() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *agenda) due(at time.Time) bool { return len(g.ahead) > 0 && !g.ahead[0].at.After(at) }

// lock locks the orders, the webhooks and the agenda. It carries out the due appointments, unless Advance carries them
// out. It returns the sandbox's time.
func (s *Server) lock() time.Time {
	s.orders.mu.Lock()
	now := s.clock.now()
	for !s.agenda.advancing && s.agenda.due(now) {
		s.runNext()
	}
	return now
}

func (s *Server) unlock() { s.orders.mu.Unlock() }

// runNext carries out the first appointment. The caller holds the lock.
func (s *Server) runNext() {
	a := s.agenda.ahead[0]
	s.agenda.ahead[0] = appointment{} // lets the garbage collector free the order and the event
	s.agenda.ahead = s.agenda.ahead[1:]
	if a.order != nil {
		s.orders.confirmDue(a.order, a.at)
	} else {
		s.webhooks.attempt(a.event)
	}
}

// runAgenda carries out each appointment when it is due, until the server closes.
func (s *Server) runAgenda() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := s.lock()
		timer.Stop()
		if ahead := s.agenda.ahead; len(ahead) > 0 && !s.agenda.advancing {
			timer.Reset(ahead[0].at.Sub(now))
		}
		s.unlock()
		select {
		case <-timer.C:
		case <-s.agenda.wake:
		case <-s.closing:
			return
		}
	}
}

// Now returns the time of the sandbox's clock: real time plus all durations passed to [Server.Advance].
func (s *Server) Now() time.Time { return s.clock.now() }

// Advance moves the sandbox's clock on by d. Meanwhile it confirms orders and delivers events, each at its due time. It
// waits for the answer to each delivery attempt, because the next attempt depends on the answer. A callback handler
// must not call Advance, because Advance would wait for the handler.
//
// This clock decides when tokens, sessions and links expire, and when orders become visible and confirmed. It also decides
// when vouchers become ready, and when the next attempt of a delivery begins. The ledger's times come from this clock. Rate
// limits, delays of faults, time-outs and signatures stay in real time. A client waits by its own clock, so Advance does
// not shorten the client's pauses.
//
// Advance panics if d is negative, or would move the clock more than ten years ahead of real time.
func (s *Server) Advance(d time.Duration) { panicOn("Advance", s.advance(d)) }

func (s *Server) advance(d time.Duration) error {
	if d < 0 {
		return badField("advance", "%s is negative, but the clock cannot go back", d)
	}
	g := s.agenda
	s.lock()
	defer s.unlock()
	for g.advancing {
		g.changed.Wait()
	}
	if ahead := time.Duration(s.clock.offset.Load()); d > maxAhead-ahead {
		return badField("advance", "%s is too far: the clock is %s ahead of real time already, and the maximum is %s", d, ahead, maxAhead)
	}
	g.advancing = true
	for target := s.clock.now().Add(d); ; {
		for g.inFlight > 0 {
			g.changed.Wait()
		}
		if !g.due(target) {
			s.clock.reach(target)
			break
		}
		s.clock.reach(g.ahead[0].at)
		s.runNext()
	}
	g.advancing = false
	g.changed.Broadcast()
	g.wakeUp()
	s.ledger.note(EntryClock)
	return nil
}
