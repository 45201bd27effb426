// Permits: what becomes of a granted slot.

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
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	p.sent = time.Now()
}

// Done reports the slot to Redis: as unused, or as free one window after the arrival.
func (p *permit) Done(r hotelstays.PermitResult) {
	l, now := p.line, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, unreported := l.out[p.number]
	delete(l.out, p.number)
	if p.sent.IsZero() {
		l.report.unused = append(l.report.unused, p.number)
		l.reportBy(now)
		return
	}
	l.transit.learn(p.sent, r, now)
	if r.RateLimited {
		l.transit.refused, l.report.refused = now, now
	}
	by, known := l.transit.arrivedBy(p.sent, r, now)
	if !known && !unreported {
		return // Redis has this estimate
	}
	l.report.arrived = append(l.report.arrived, arrival{p.number, by.Add(l.limiter.opts.Margin)})
	l.reportBy(now.Add(reportPause))
}
