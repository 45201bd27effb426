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

// time lets time pass. A worker that has something to do does it at once, or stands still.
func (v *visit) time() {
	s := v.from
	m := marks{1<<15 - 1, never}
	waits := false
	for w, me := range s.workers {
		if v.mark(&m, w) && !me.still {
			waits = true
			v.fault(w, "stands still", func(s *state) { s.workers[w].still = true })
		}
	}
	for _, b := range s.books {
		if b.is == flying || b.is == made {
			m.until(b.by - 1)
		}
		m.at(b.by)
	}
	if waits || m.next > m.limit {
		return
	}
	v.passes = time.Duration(m.next) * second
	v.to(-1, "time passes by "+v.passes.String(), func(s *state) { v.pass(s, m.next) })
	v.passes = 0
}

// mark adds the times that count for a worker, and reports whether it has something to do now.
func (v *visit) mark(m *marks, w int) (busy bool) {
	me, now := v.from.workers[w], v.from.clock(w)
	row := v.bookings[v.from.row]
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
		m.at(clockOf(v.bookings[me.next].Recovery.NextPoll) - now)
	default:
		return true
	}
	return false
}

// pass moves all times of a state.
func (v *visit) pass(s *state, by int16) {
	move := func(number *int32) {
		*number = v.once(key{"pass", *number, by, 0}, func(b durable.Booking) value {
			back := time.Duration(by) * -second
			b.Recovery = moved(b.Recovery, back)
			for _, t := range []*time.Time{&b.BookBy, &b.Earlier, &b.Due} {
				if !t.IsZero() {
					*t = t.Add(back)
				}
			}
			return value{v.number(b), 0, true}
		}).booking
	}
	move(&s.row)
	for i := range s.workers {
		if me := &s.workers[i]; me.does != nothing {
			move(&me.read)
			move(&me.next)
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
	return clockOf(v.bookings[me.read].BookBy.Add(-durable.ClockMargin))
}
