// The slots of this process for one rate limit: its permits, and the changes that Redis does not know yet.

package hotelstaysredis

import (
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/pacing"
)

// reportPause is how long a process collects reports of sent requests before it calls Redis. The pause does not delay
// the time at which a slot is free, because a report contains the time of the arrival.
const reportPause = 20 * time.Millisecond

// slots holds the permits of a keyLimiter, and the report for the next call of Redis. The mutex of the keyLimiter
// guards slots.
type slots struct {
	pending  map[int64]*permit // by number: permits that are neither done nor reported to Redis as sent
	next     int64             // number that the next permit gets
	renewAt  time.Time         // time at which the leases of the pending permits are next renewed
	report   report
	reportAt time.Time // time by which Redis must get the report; zero if the report is empty
	transit  pacing.Transit
}

// report holds the changes of permits that Redis does not know yet. A number identifies a permit.
type report struct {
	arrived []arrival
	unused  []int64
	renewed []int64   // permits whose leases Redis must renew
	refused time.Time // time of the last answer with status 429; zero if there was none
}

// arrival reports that the request of a permit was sent, and the latest time at which the request can have reached the
// service.
type arrival struct {
	number int64
	by     time.Time
}

// permit is a slot that Redis has granted to this process.
type permit struct {
	limiter *keyLimiter
	number  int64
	sent    time.Time // time at which the request left; zero until then
}

// Sent records the time at which the request left. Redis receives this report after the answer, or after about half a
// second if there is no answer.
func (p *permit) Sent() {
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	p.sent = time.Now()
}

// Done ends the permit. The next call of Redis reports the slot as unused, or as free one window after the arrival of
// the request.
func (p *permit) Done(r hotelstays.PermitResult) {
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	p.limiter.end(p, r, time.Now())
	p.limiter.schedule()
}

func (s *slots) end(p *permit, r hotelstays.PermitResult, now time.Time) {
	_, unreported := s.pending[p.number]
	delete(s.pending, p.number)
	if p.sent.IsZero() {
		s.report.unused = append(s.report.unused, p.number)
		s.reportBy(now)
		return
	}
	s.transit.Learn(p.sent, r, now)
	if r.RateLimited {
		s.transit.Last429, s.report.refused = now, now
	}
	by, known := s.transit.ArrivedBy(p.sent, r, now)
	if !known && !unreported {
		return // Redis already has this estimate
	}
	s.report.arrived = append(s.report.arrived, arrival{p.number, by.Add(s.transit.Margin)})
	s.reportBy(now.Add(reportPause))
}

// reportBy makes the process call Redis at the given time or earlier.
func (s *slots) reportBy(at time.Time) { s.reportAt = sooner(s.reportAt, at) }

// collect returns the report for Redis, and begins a new one. Once per renewPause it adds all pending permits to the
// report.
func (s *slots) collect(now time.Time) (r report) {
	r, s.report, s.reportAt = s.report, report{}, time.Time{}
	if now.Before(s.renewAt) {
		return r
	}
	s.renewAt = now.Add(renewPause)
	for number, p := range s.pending {
		if p.sent.IsZero() {
			r.renewed = append(r.renewed, number)
			continue
		}
		r.arrived = append(r.arrived, arrival{number, p.sent.Add(s.transit.Longest(now))})
		delete(s.pending, number)
	}
	return r
}

// restore adds the report of a failed call to the next report, because Redis may not have received it.
func (s *slots) restore(r report) {
	s.report.arrived = append(r.arrived, s.report.arrived...)
	s.report.unused = append(r.unused, s.report.unused...)
	s.report.refused = later(r.refused, s.report.refused)
}
