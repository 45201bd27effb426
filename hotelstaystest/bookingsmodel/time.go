// The time: it jumps to when something may change by it.

package bookingsmodel

import (
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

// marks are when time must stop next.
type marks struct {
	next  int16
	limit int16 // something has to happen before time passes it
}

func (m *marks) at(t int16) {
	if t > 0 {
		m.next = min(m.next, t)
	}
}

func (m *marks) until(t int16) {
	m.at(t)
	m.limit = min(m.limit, t)
}

// time lets time pass.
func (v *visit) time() {
	m := marks{1<<15 - 1, never}
	waits := false
	for w := range v.from.workers {
		waits = v.standsStill(w, v.mark(&m, w)) || waits
	}
	for _, b := range v.from.books {
		if b.is == flying || b.is == made {
			m.until(b.by - 1)
		}
		m.at(b.by)
	}
	v.pass(m, waits, v.moveAll)
}

// standsStill lets a worker stand still that has something to do, or else reports that time waits for it.
func (v *visit) standsStill(w int, busy bool) (waits bool) {
	if waits = busy && !v.from.workers[w].still; waits {
		v.fault(w, "stands still", func(s *state) { s.workers[w].still = true })
	}
	return waits
}

// pass lets time pass to the next mark, unless something has to happen before. move moves the times of a
// state.
func (v *visit) pass(m marks, waits bool, move func(s *state, by int16)) {
	if waits || m.next > m.limit {
		return
	}
	v.passes = time.Duration(m.next) * second
	v.to(-1, "time passes by "+v.passes.String(), func(s *state) { move(s, m.next) })
	v.passes = 0
}

// mark adds the times that count for a worker, and reports whether it has something to do now.
func (v *visit) mark(m *marks, w int) (busy bool) {
	me, now := v.from.workers[w], v.from.clock(w)
	row := v.rows[v.from.row]
	if row.Ending == "" {
		m.at(clockOf(row.Due) - now)
		for _, mark := range []struct {
			of    time.Time
			later int16
		}{{row.BookBy, 0}, {row.Recovery.EndedAt, 600}, {row.Recovery.EndedAt, 605}, {row.Earlier, 605}} {
			if !mark.of.IsZero() {
				m.at(clockOf(mark.of) + mark.later - now)
			}
		}
	}
	switch me.does {
	case nothing:
		return row.Ending == "" && !row.Due.After(timeOf(now))
	case awaits:
		m.until(v.limit(me) - now)
	case recovers:
		m.until(v.limit(me) - now)
		m.at(clockOf(v.rows[me.next].Recovery.NextPoll) - now)
	default:
		return true
	}
	return false
}

// moveAll moves the times of a booking's state.
func (v *visit) moveAll(s *state, by int16) {
	moveRow := func(number *int32) {
		*number = v.once(key{"pass", *number, by, 0}, func(b durable.Booking) value {
			move(time.Duration(by)*-second, &b.Recovery.EndedAt, &b.Recovery.NextPoll, &b.BookBy, &b.Earlier, &b.Due)
			return value{v.number(b), 0, true}
		}).row
	}
	moveRow(&s.row)
	for i := range s.workers {
		if me := &s.workers[i]; me.does != nothing {
			moveRow(&me.read)
			moveRow(&me.next)
			me.at -= by
		}
	}
	for i := range s.books {
		if s.books[i].is != noBook {
			s.books[i].by -= by
		}
	}
}

// within is ShowsWithin in seconds.
func (m *model) within() int16 { return int16(m.ShowsWithin / second) }

// limit returns when the Book of a worker ends by its clock.
func (v *visit) limit(me worker) int16 {
	return clockOf(v.rows[me.read].BookBy.Add(-durable.ClockMargin))
}
