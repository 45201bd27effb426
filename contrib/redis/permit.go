// Permits: when the slot of a request is free again.

package hotelstaysredis

import (
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// permit is a slot that this process was granted.
type permit struct {
	line   *line
	number int64
	sent   time.Time // zero: its request has not left
}

// arrival is a permit whose request left, and the latest time at which it arrived.
type arrival struct {
	number int64
	by     time.Time
}

// Sent notes the time. Redis learns of it with the answer, or half a second later.
func (p *permit) Sent() {
	l := p.line
	l.mu.Lock()
	defer l.mu.Unlock()
	p.sent = time.Now()
}

// Done reports the slot to Redis: as unused, or as free one window after the arrival.
func (p *permit) Done(r hotelstays.PermitResult) {
	l, now := p.line, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, unreported := l.granted[p.number]
	delete(l.granted, p.number)
	if p.sent.IsZero() {
		l.report.unused = append(l.report.unused, p.number)
		l.reportBy(now)
		return
	}
	l.transit.learn(p.sent, r, now)
	if r.RateLimited {
		l.refused, l.report.refusal = now, true
	}
	by, known := l.arrivedBy(p.sent, r, now)
	if !known && !unreported {
		return // Redis has this estimate
	}
	l.report.arrived = append(l.report.arrived, arrival{p.number, by.Add(l.limiter.opts.Margin)})
	l.reportBy(now.Add(reportPause))
}

// arrivedBy returns the latest time at which a request arrived. It is known if the answer
// proves it, and an estimate otherwise. l.mu is held.
func (l *line) arrivedBy(sent time.Time, r hotelstays.PermitResult, now time.Time) (by time.Time, known bool) {
	by, known = r.ArrivedBy, !r.ArrivedBy.IsZero()
	if known {
		by = later(by, sent.Add(l.caution(now)))
	} else {
		by = sent.Add(l.travelTime(now) - l.limiter.opts.Margin)
	}
	if !r.FirstByte.IsZero() && r.FirstByte.Before(by) {
		by, known = r.FirstByte, true
	}
	return later(by, sent), known // the service's cost can exceed the round trip
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// travelTime is how long a request counts as under way while no answer proves otherwise.
// l.mu is held.
func (l *line) travelTime(now time.Time) time.Duration {
	return max(l.limiter.opts.Margin, l.caution(now), l.transit.longest(10*l.place.maxTickets, now))
}

// caution is how long a request counts as under way even if its answer says otherwise,
// because a 429 proved the answers wrong: one window in the first minute after it, half as
// long with each further minute. l.mu is held.
func (l *line) caution(now time.Time) time.Duration {
	if l.refused.IsZero() {
		return 0
	}
	return window >> (now.Sub(l.refused) / time.Minute)
}
