// The workers: what a process does to book and to poll, step by step, as the journal of contrib/sql
// does it. Between two steps anything may happen, and after each the process may die.

package bookingsmodel

import (
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

// work is what a worker may do next.
func (v *visit) work(w int) {
	me := v.from.workers[w]
	switch me.does {
	case nothing:
		v.begin(w)
		return // it has nothing to lose
	case startsBook:
		v.start(w)
	case sends:
		v.send(w)
	case awaits:
		v.await(w)
	case recovers:
		v.recover(w)
	case endsBook:
		v.endBook(w)
	case polls:
		v.poll(w)
	case stores:
		v.store(w)
	}
	if !v.rows[v.from.row].Ending.HasOrder() {
		v.fault(w, "dies", v.leaves(w))
	}
}

// leave ends what a worker does.
func (v *visit) leave(s *state, w int) {
	if me := s.workers[w]; me.does == awaits {
		s.books[me.mine].by = min(s.books[me.mine].by, v.within())
	}
	s.workers[w] = worker{}
}

// write stores a row, unless the write fails. A worker that does not know whether it was applied
// does what it does after a failure.
func (v *visit) write(w int, do string, applied func(s *state), then, otherwise func(s *state)) {
	v.to(w, do, func(s *state) { applied(s); then(s) })
	v.fault(w, do+", which fails", otherwise)
	v.fault(w, do+", which is applied, but seems to fail", func(s *state) { applied(s); otherwise(s) })
}

func (v *visit) leaves(w int) func(s *state) { return func(s *state) { v.leave(s, w) } }

// begin takes up work: the caller's Send, or a booking that is due.
func (v *visit) begin(w int) {
	s, now := v.from, v.from.clock(w)
	b := v.rows[s.row]
	if !s.called && b.Ending == "" && b.BookBy.IsZero() {
		v.to(w, "is called to send", func(s *state) {
			s.called = true
			s.workers[w] = worker{does: startsBook, fresh: true, read: s.row, at: now}
		})
	}
	if b.Ending != "" || b.Due.After(timeOf(now)) || v.Breaks.NobodySends && b.BookBy.IsZero() {
		return
	}
	leased := v.once(key{"claim", s.row, now, 0}, func(b durable.Booking) value {
		if b.Due = timeOf(now + lease); v.Breaks.LeaseStays {
			b.Due = timeOf(1<<15 - 1)
		}
		return value{v.number(b), 0, true}
	}).row
	v.write(w, "takes a lease", func(s *state) { v.put(s, leased) }, func(s *state) {
		s.workers[w] = worker{does: polls, fresh: true, read: leased, at: now}
		if b.BookBy.IsZero() {
			s.workers[w].does = startsBook
		}
	}, v.leaves(w))
}

// base returns the booking that a worker changes.
func (v *visit) base(w int) int32 {
	if v.Breaks.NoFence {
		return v.from.workers[w].read
	}
	return v.from.row
}

// start marks the booking as being sent.
func (v *visit) start(w int) {
	me := v.from.workers[w]
	started := v.once(key{"start", v.base(w), me.at, 0}, func(b durable.Booking) value {
		next, err := b.Start(timeOf(me.at).Add(v.BookTimeout))
		return value{v.number(next), 0, err == nil}
	})
	marks := func(s *state) { v.put(s, started.row) }
	will := func(s *state) { s.workers[w] = worker{does: sends, read: started.row} }
	switch {
	case !started.ok:
		v.to(w, "finds that Book was sent already", v.leaves(w))
	case v.Breaks.SendFirst:
		v.to(w, "sends before it saves", func(s *state) {
			will(s)
			s.workers[w].fresh = true // it has to save
			v.leaveFor(s, w)
		})
	default:
		v.write(w, "saves that it sends Book", marks, will, v.leaves(w))
	}
}

// send lets Book leave.
func (v *visit) send(w int) {
	me := v.from.workers[w]
	if v.from.clock(w) > v.limit(me) && !v.Breaks.SendLate {
		v.to(w, "sends nothing, because it is too late", func(s *state) { v.ends(s, w, replyUnsent) })
		return
	}
	v.to(w, "sends Book", func(s *state) { v.leaveFor(s, w) })
}

// leaveFor lets Book leave.
func (v *visit) leaveFor(s *state, w int) {
	i := int8(0)
	if s.books[0].is != noBook {
		i = 1
	}
	by := max(v.limit(s.workers[w])-s.clock(w), 0)
	s.books[i] = book{flying, by + v.within()}
	s.workers[w].does, s.workers[w].mine = awaits, i
}

// ends notes what has become of Book.
func (v *visit) ends(s *state, w int, answer reply) {
	now := s.clock(w)
	book := v.once(key{"book", 0, now, int16(answer)}, func(durable.Booking) value {
		real := time.Now()
		r := v.service.book(answer)
		return v.result(result{movedOutcome(r.outcome, timeOf(now).Sub(real)), r.err})
	})
	me := &s.workers[w]
	me.does, me.at, me.next, me.final = endsBook, now, book.row, uint8(book.other)
}

// result is what BookAndRecover returned.
type result struct {
	outcome *hotelstays.BookingOutcome
	err     error
}

// result numbers what a process knows after its Book, and the recovery that it has.
func (m *model) result(r result) value {
	var recovery int32
	if r.outcome != nil {
		recovery = m.number(durable.Booking{Recovery: *r.outcome.Recovery})
	}
	for i, known := range m.results {
		if (known.outcome == nil) == (r.outcome == nil) && (r.outcome == nil || r.outcome.State == known.outcome.State) &&
			hotelstays.KindOf(known.err) == hotelstays.KindOf(r.err) {
			return value{recovery, int16(i), true}
		}
	}
	m.results = append(m.results, r)
	return value{recovery, int16(len(m.results) - 1), true}
}

// known returns what a worker knows after its Book.
func (v *visit) known(me worker) (*hotelstays.BookingOutcome, error) {
	r := v.results[me.final]
	if r.outcome == nil {
		return nil, r.err
	}
	outcome := *r.outcome
	outcome.Recovery = &v.rows[me.next].Recovery
	return &outcome, r.err
}

// await receives the answer of Book, or loses it.
func (v *visit) await(w int) {
	me := v.from.workers[w]
	if me.fresh { // SendFirst
		v.write(w, "saves that it has sent Book", func(s *state) { v.put(s, me.read) },
			func(s *state) { s.workers[w].fresh = false }, v.leaves(w))
		return
	}
	switch mine := v.from.books[me.mine].is; {
	case mine != flying:
		v.to(w, "receives the order", func(s *state) { v.ends(s, w, replyMade) })
	case !v.Idempotent || !v.from.shows(): // it would return the order that shows
		v.to(w, "is refused", func(s *state) {
			s.books[me.mine] = book{}
			v.ends(s, w, replyRefused)
		})
	}
	v.fault(w, "loses the answer", func(s *state) {
		v.leave(s, w)
		s.workers[w].read = me.read
		if v.ends(s, w, replyLost); v.InProcess {
			s.workers[w].does = recovers
		}
	})
}

// recover polls with the recovery of the process.
func (v *visit) recover(w int) {
	me, now := v.from.workers[w], v.from.clock(w)
	v.to(w, "stops to poll for its Book", func(s *state) { s.workers[w].does, s.workers[w].at = endsBook, now })
	if v.rows[me.next].Recovery.NextPoll.After(timeOf(now)) {
		return
	}
	v.answers(w, "polls for its Book", func(s *state, answer reply) {
		polled := v.once(key{"recover", me.next, now, int16(answer)}, func(b durable.Booking) value {
			outcome, err := v.step(b.Recovery, now, answer)
			if err == nil && outcome.State == hotelstays.BookingOpen {
				err = &hotelstays.OutcomeUnknownError{} // as it is when ctx ends
			}
			known := v.result(result{outcome, err})
			known.ok = err == nil
			return known
		})
		me := &s.workers[w]
		me.next, me.final = polled.row, uint8(polled.other)
		if polled.ok {
			me.does, me.at = endsBook, now
		}
	})
}

// endBook stores what has become of Book: Journal.book and its handOver.
func (v *visit) endBook(w int) {
	me, base := v.from.workers[w], v.base(w)
	same := v.rows[base].BookBy.Equal(v.rows[me.read].BookBy)
	outcome, err := v.known(me)
	final := endingOf(v.rows[base].Booked(timeOf(me.at), outcome, err))
	switch {
	case final == 0:
		v.handOver(w, base, same, outcome)
	case same:
		v.end(w, base, final)
	case v.rows[base].Ending.HasOrder() || final != found:
		v.to(w, "stores nothing, because another round has begun", v.leaves(w))
	default:
		v.earlier(w, base, me.at)
	}
}

// handOver leaves the booking to Run.
func (v *visit) handOver(w int, base int32, same bool, outcome *hotelstays.BookingOutcome) {
	me := v.from.workers[w]
	switch {
	case outcome == nil:
		v.to(w, "leaves the booking to Run", v.leaves(w))
	case v.rows[base].Ending == "" && !same:
		v.earlier(w, base, clockOf(outcome.Recovery.EndedAt))
	case !same && endings[failed] == v.rows[base].Ending &&
		!outcome.Recovery.EndedAt.After(v.rows[me.read].BookBy):
		v.to(w, "says nothing that is new to a later round", v.leaves(w))
	default:
		next, ok := v.rows[base].HandOver(*outcome.Recovery)
		if !ok {
			v.to(w, "finds the booking ended", v.leaves(w))
			return
		}
		handed := v.number(next)
		v.write(w, "hands the booking over", func(s *state) { v.put(s, handed) }, v.leaves(w), v.leaves(w))
	}
}

// earlier notes in a later round that Book has ended.
func (v *visit) earlier(w int, base int32, at int16) {
	next := v.once(key{"earlier", base, at, 0}, func(b durable.Booking) value {
		next, ok := b.EarlierEnded(timeOf(at))
		return value{v.number(next), 0, ok}
	})
	if !next.ok {
		v.to(w, "finds the next round ended", v.leaves(w))
		return
	}
	v.write(w, "notes that its Book has ended", func(s *state) { v.put(s, next.row) }, v.leaves(w), v.leaves(w))
}

// end stores an ending and delivers it, in one transaction.
func (v *visit) end(w int, base int32, final ending) {
	ended := v.once(key{"end", base, int16(final), 0}, func(b durable.Booking) value {
		next, ok, err := b.End(outcomes[final])
		return value{v.number(next), 0, err == nil && (ok || v.Breaks.DeliverAgain)}
	})
	if !ended.ok {
		v.to(w, "finds the booking ended", v.leaves(w))
		return
	}
	deliver := func(s *state) { s.delivered, s.told = s.delivered+1, final }
	stores, then := func(s *state) { v.put(s, ended.row); deliver(s) }, v.leaves(w)
	if v.Breaks.DeliverApart {
		stores, then = func(s *state) { v.put(s, ended.row) }, func(s *state) { deliver(s); v.leave(s, w) }
	}
	v.write(w, "delivers that it is "+string(endings[final]), stores, then, then)
}

// answers yields a step for each answer of a poll.
func (v *visit) answers(w int, do string, then func(s *state, answer reply)) {
	answer, text := replyNone, " and finds no order"
	if v.from.shows() {
		answer, text = replyOrder, " and finds the order"
	}
	v.to(w, do+text, func(s *state) { then(s, answer) })
	v.fault(w, do+", which fails", func(s *state) { then(s, replyFailed) })
}

// step is StepRecovery by a worker's clock.
func (v *visit) step(r hotelstays.BookingRecovery, now int16, answer reply) (*hotelstays.BookingOutcome, error) {
	real := time.Now()
	move(real.Sub(timeOf(now)), &r.EndedAt, &r.NextPoll)
	outcome, err := v.service.step(&r, answer)
	return movedOutcome(outcome, timeOf(now).Sub(real)), err
}

// poll polls for the order: alone, or as one of many bookings.
func (v *visit) poll(w int) {
	me, now := v.from.workers[w], v.from.clock(w)
	v.answers(w, "polls", func(s *state, answer reply) {
		polled := v.once(key{"poll", me.read, now, int16(answer)}, func(b durable.Booking) value {
			outcome, err := v.step(b.Recovery, now, answer)
			next, final := b.Polled(timeOf(now), outcome, err)
			return value{v.number(next), int16(endingOf(final)), final != nil || err == nil}
		})
		me := &s.workers[w]
		me.does, me.next, me.final = stores, polled.row, uint8(polled.other)
	})
	missed := v.once(key{"missed", me.read, now, 0}, func(b durable.Booking) value {
		return value{v.number(b.Missed(timeOf(now))), 0, b.PollTogether(timeOf(now))}
	})
	if missed.ok && !v.from.shows() {
		v.to(w, "polls for many, and finds no order", func(s *state) {
			s.workers[w].does, s.workers[w].next = stores, missed.row
		})
	}
}

// store stores what a poll says: Journal.poll.
func (v *visit) store(w int) {
	me := v.from.workers[w]
	base, final := v.base(w), ending(me.final)
	switch {
	case final == found && v.rows[base].BookBy.Equal(v.rows[me.read].BookBy):
		v.end(w, base, found) // an order counts, also if the row has changed
	case !me.fresh && !v.Breaks.NoFence || final == found:
		v.to(w, "stores nothing, because the row has changed", v.leaves(w))
	case final != 0:
		v.end(w, me.read, final)
	default:
		v.write(w, "stores when the next poll is due", func(s *state) { v.put(s, me.next) }, v.leaves(w), v.leaves(w))
	}
}
