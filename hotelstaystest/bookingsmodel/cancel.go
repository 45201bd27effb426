// The cancellation of an order, whose Book may still be under way.

package bookingsmodel

import (
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// The invariants of a cancellation.
const (
	TwoCancels  = "Cancel leaves twice"
	FalseEnding = "a cancellation is reported otherwise than the order is, or may become"
)

// The order, by its status.
const (
	confirmed = 2
	cancelled = 9
)

var orderStates = hotelstays.OrderStates{Confirmed: []types.OrderStatus{confirmed}, Cancelled: []types.OrderStatus{cancelled}}

func beginCancel() durable.Cancellation {
	c, err := durable.NewCancellation(durable.CancelRequest{CustomerReferenceNo: reference, SessionID: "session"}, "account", epoch)
	if err != nil {
		panic(err)
	}
	return c
}

func (m *model) wrongCancel(s state) [3]invariant {
	ending, is := m.cancels.rows[s.row].Ending, s.order == cancelled
	return [...]invariant{
		{TwoCancels, s.left > 1},
		{Twice, s.delivered > 1},
		{FalseEnding, s.delivered > 0 && (ending == durable.CancelDone && !is ||
			ending != durable.CancelDone && (is || s.books[0].is == flying))},
	}
}

// cancellation is what may follow around a cancellation.
func (v *visit) cancellation() {
	s := v.from
	for w, me := range s.workers {
		v.workCancel(w)
		if s.live && me.does != nothing {
			v.fault(w, "dies", v.leaves(w))
		}
	}
	if !s.live {
		return // only workers may still have something to do
	}
	if s.order == 0 {
		v.to(-1, "the order shows", func(s *state) { s.order = confirmed })
	}
	if s.books[0].is == flying {
		v.to(-1, "the order is cancelled", func(s *state) { s.order, s.books[0].is = cancelled, made })
		if !s.awaited(0) {
			v.to(-1, "Cancel never arrives", func(s *state) { s.books[0].is = noBook })
		}
	}
	if woken, ok := v.cancels.rows[s.row].Wake(epoch); ok && s.wakes > 0 {
		v.to(-1, "a webhook wakes the cancellation", func(s *state) { s.wakes--; s.put(v.cancels.number(woken)) })
	}
	v.timeOfCancel()
}

// workCancel is what a worker may do next, as Journal.stepCancel.
func (v *visit) workCancel(w int) {
	me, now := v.from.workers[w], v.from.clock(w)
	row, leave := v.cancels.rows[v.from.row], v.leaves(w)
	switch me.does {
	case polls, stores, endsBook:
		if !me.fresh && !v.Breaks.NoFence {
			v.to(w, "does nothing, because the row has changed", leave)
			return
		}
	}
	switch me.does {
	case nothing:
		if phase := row.Phase(timeOf(now)); v.from.live && phase != durable.PhaseSending && !row.Due.After(timeOf(now)) {
			row.Due = timeOf(now + lease)
			leased := v.cancels.number(row)
			v.write(w, "takes a lease", func(s *state) { s.put(leased) }, func(s *state) {
				s.workers[w] = worker{does: polls, fresh: true}
				if phase == durable.PhaseEnded {
					s.workers[w].does = endsBook
				}
			}, leave)
		}
	case polls:
		v.to(w, "reads the order", func(s *state) { v.read(s, w, s.order) })
		v.fault(w, "reads the order, which fails", func(s *state) {
			if leave(s); row.Phase(timeOf(now)) == durable.PhasePolling {
				v.read(s, w, 0)
			}
		})
	case stores:
		v.write(w, "stores what it has read", func(s *state) { s.put(me.next) }, func(s *state) {
			if v.stored(s, w); v.cancels.rows[me.next].Phase(timeOf(now)) == durable.PhaseSending && row.SendBy.IsZero() {
				s.workers[w] = worker{does: sends, next: me.next, at: now}
			}
		}, leave)
	case sends, awaits:
		v.sendCancel(w)
	case recovers: // stores the answer
		if row.Ending != "" {
			v.to(w, "finds the cancellation ended", leave)
			return
		}
		next := v.cancels.once(key{"answered", v.from.row, now, int16(me.final)}, func(row durable.Cancellation) value {
			resp, err := v.service.cancel(reply(me.final))
			return value{row: v.cancels.number(row.Answered(timeOf(now), resp, err, orderStates))}
		}).row
		v.write(w, "stores the answer", func(s *state) { s.put(next) }, func(s *state) { v.stored(s, w) }, leave)
	case endsBook:
		end := func(s *state) { s.put(s.row); s.live = false }
		applied, then := func(s *state) { end(s); s.delivered++ }, leave
		if v.Breaks.DeliverApart {
			applied, then = end, func(s *state) { s.delivered++; v.leave(s, w) }
			leave = then
		}
		v.write(w, "delivers that it is "+string(row.Ending), applied, then, leave)
	}
}

// read is what a worker makes of the order.
func (v *visit) read(s *state, w int, status uint8) {
	now, row := s.clock(w), v.cancels.rows[s.row]
	var order *types.Order
	if status != 0 {
		order = &types.Order{Status: types.OrderStatus(status), SupplierReferenceNo: "s-1"}
	}
	next, err := row, error(nil)
	if row.Phase(timeOf(now)) == durable.PhasePolling {
		next = row.Read(timeOf(now), order, orderStates)
	} else {
		next, err = row.Start(timeOf(now), timeOf(now).Add(v.BookTimeout), order, orderStates)
	}
	if s.workers[w] = (worker{does: stores, fresh: true, next: v.cancels.number(next), at: now}); err != nil {
		s.workers[w] = worker{}
	}
}

// stored is what a worker does after a write: it delivers the ending that it has stored.
func (v *visit) stored(s *state, w int) {
	s.workers[w] = worker{}
	if v.cancels.rows[s.row].Ending != "" {
		s.workers[w] = worker{does: endsBook, fresh: true}
	}
}

// sendCancel sends Cancel, and awaits its answer.
func (v *visit) sendCancel(w int) {
	me, now := v.from.workers[w], v.from.clock(w)
	became := func(answer reply) func(s *state) {
		return func(s *state) { s.workers[w].does, s.workers[w].final = recovers, uint8(answer) }
	}
	limit := clockOf(v.cancels.rows[me.next].SendBy.Add(-durable.ClockMargin))
	switch {
	case me.does == sends && now > limit && !v.Breaks.SendLate:
		v.to(w, "sends nothing, because it is too late", became(replyUnsent))
		return
	case me.does == sends:
		v.to(w, "sends Cancel", func(s *state) {
			s.left++
			s.books[0] = book{flying, limit - now + v.within()}
			s.workers[w].does = awaits
		})
		v.fault(w, "cannot send Cancel", became(replyUnsent))
		return
	case v.from.books[0].is == flying:
		v.to(w, "is refused", func(s *state) { s.books[0].is = noBook; became(replyRefused)(s) })
	default:
		v.to(w, "receives the answer", became(replyMade))
	}
	v.fault(w, "loses the answer", func(s *state) {
		s.books[0].by = min(s.books[0].by, v.within())
		became(replyLost)(s)
	})
}

// timeOfCancel lets time pass.
func (v *visit) timeOfCancel() {
	s, m := v.from, marks{1<<15 - 1, never}
	row, waits := v.cancels.rows[s.row], false
	for w, me := range s.workers {
		now := s.clock(w)
		m.at(clockOf(row.Due) - now)
		m.at(clockOf(row.Begun) + 900 - now)
		if !row.SendBy.IsZero() {
			m.at(clockOf(row.SendBy) - now)
			m.at(clockOf(row.SendBy) + 605 - now)
		}
		if me.does == awaits {
			m.until(clockOf(v.cancels.rows[me.next].SendBy) - 5 - now)
		}
		busy := me.does != nothing && me.does != awaits ||
			me.does == nothing && !row.Due.After(timeOf(now)) && row.Phase(timeOf(now)) != durable.PhaseSending
		waits = v.standsStill(w, busy) || waits
	}
	if s.order == 0 {
		m.until(s.shownBy - 1)
	}
	if s.books[0].is == flying {
		m.until(s.books[0].by - 1)
	}
	v.pass(m, waits, func(s *state, by int16) {
		for _, n := range []*int32{&s.row, &s.workers[0].next, &s.workers[1].next} {
			*n = v.cancels.once(key{"pass", *n, by, 0}, func(c durable.Cancellation) value {
				move(time.Duration(by)*-second, &c.Begun, &c.SendBy, &c.Due)
				return value{row: v.cancels.number(c)}
			}).row
		}
		for i := range s.workers {
			s.workers[i].at = 0
			if s.workers[i].does == nothing {
				s.workers[i].next = 0
			}
		}
		s.books[0].by, s.shownBy = max(s.books[0].by-by, 0), max(s.shownBy-by, 0)
	})
}
