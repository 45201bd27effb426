// Rules of all operations: envelope, headers, rate limits.

package probe

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go"
)

// failing calls an operation so that it fails, with a valid token if that can be.
func (r *run) failing(op operation) *answer {
	switch op {
	case opDestinations: // nothing that must be refused is documented
		return r.do(call{op: op, token: nobody})
	case opQueryOrders:
		return r.do(call{op: op, token: nobody, body: unknownOrder()})
	}
	return r.get(op, obj{})
}

var answerRules = []Rule{
	{"envelope/success", "Envelope", "a success is JSON with code 0, msg and data, and has HTTP 200", "", each(readOps[:len(readOps)-1],
		func(r *run, op operation) {
			a := r.do(r.lawful(op))
			a.allowed()
			skip(a.Status != http.StatusOK || a.Code != nil && *a.Code != 0, "%s got no success: %s", op, a)
		})},
	{"envelope/failure", "Errors", "a failure is JSON with a code other than 0 and msg, and no data", "", each(readOps,
		func(r *run, op operation) { r.failing(op).came() })},
	{"headers/server-cost", "Common request headers", "Server-Cost-Milliseconds is a number from 0 on; whether it fits the time of the call", "",
		func(r *run) {
			a := r.get(opQueryOrders, unknownOrder())
			a.came()
			n, _ := strconv.ParseInt(a.raw.header.Get("Server-Cost-Milliseconds"), 10, 64) // the judge has its form
			r.find("it fits: %t", n <= a.Took+2)
		}},
}

// limited makes n calls of Ticket that are refused, every second one malformed, at once, after a pause. It returns those
// that got HTTP 429.
func (r *run) limited(n int, pause time.Duration) (refused []*answer) {
	r.wait(pause)
	ctx := context.WithValue(r.ctx, burst{}, true)
	runs, answers := make([]*run, n), make([]*answer, n)
	began := time.Now()
	var group sync.WaitGroup
	for i := range n {
		runs[i] = &run{session: r.session, ctx: ctx}
		group.Go(func() {
			body := obj{"appKey": "a-key-of-nobody", "appSecret": wrongSecret}
			if i%2 == 1 {
				body = obj{}
			}
			answers[i] = runs[i].do(call{op: opTicket, opts: []hotelstays.CallOption{hotelstays.WithMaxAttempts(1)}, body: body})
		})
	}
	group.Wait()
	took := time.Since(began)
	for i, a := range answers {
		r.log = append(r.log, runs[i].log...)
		skip(a.err != nil, "%s: %v", a.op, a.err)
		if a.Status == http.StatusTooManyRequests {
			refused = append(refused, a)
		}
	}
	skip(took >= time.Second, "%d requests took %s, more than a second", n, took)
	return refused
}

// wait waits, or ends the rule.
func (r *run) wait(d time.Duration) {
	if d >= 10*time.Second {
		r.waits(r.name, d)
	}
	err := wait(r.ctx, d)
	skip(err != nil, "%v", err)
}

// idle is a pause after which the limit has no request.
const idle = 2 * time.Second

var limitRules = []Rule{
	{"limits/counts", "Limits", "X-RateLimit-Remaining falls with each request of a second", "", func(r *run) {
		r.ctx = context.WithValue(r.ctx, burst{}, true) // six calls of fifty
		remaining := func() int {
			a := r.get(opQueryOrders, unknownOrder())
			a.came()
			n, err := strconv.Atoi(a.raw.header.Get("X-RateLimit-Remaining"))
			breaks(err != nil, "X-RateLimit-Remaining is %q", a.raw.header.Get("X-RateLimit-Remaining"))
			return n
		}
		for range 3 {
			began := time.Now()
			before := remaining()
			if remaining() < before {
				return
			}
			skip(time.Since(began) > time.Second, "two requests take more than a second")
			r.wait(1100 * time.Millisecond)
		}
		breaks(true, "X-RateLimit-Remaining stays the same from one request to the next")
	}},
	{"limits/at", "Limits", "five requests of Ticket in a second are accepted", "-burst", func(r *run) {
		n := len(r.limited(hotelstays.OpTicket.RateLimit(), idle))
		breaks(n > 0, "%d of five got HTTP 429", n)
	}},
	{"limits/above", "Limits", "of ten requests in a second, malformed ones too, Ticket refuses five", "-burst", func(r *run) {
		n := len(r.limited(2*hotelstays.OpTicket.RateLimit(), idle))
		breaks(n != hotelstays.OpTicket.RateLimit(), "%d of ten got HTTP 429", n)
	}},
	{"limits/refusal", "Limits", "a 429 has code 100000429 and Retry-After", "-burst", func(r *run) {
		refused := r.limited(2*hotelstays.OpTicket.RateLimit(), idle)
		skip(len(refused) == 0, "no request got HTTP 429")
		r.find("Retry-After is %q", refused[0].raw.header.Get("Retry-After"))
	}},
	{"limits/refused", "Limits", "whether refused requests count", "-burst", func(r *run) {
		limit, pause := hotelstays.OpTicket.RateLimit(), 600*time.Millisecond
		r.limited(limit, idle)
		skip(len(r.limited(limit, pause)) < limit, "the limit is not the documented one")
		r.find("they do: %t", len(r.limited(limit, pause)) > 0) // only the refused ones are in this second
	}},
	{"limits/each", "Limits", "each operation has a limit of its own", "-burst", func(r *run) {
		skip(len(r.limited(2*hotelstays.OpTicket.RateLimit(), idle)) == 0, "no request got HTTP 429")
		r.ctx = context.WithValue(r.ctx, burst{}, true)
		a := r.do(call{op: opQueryOrders, body: unknownOrder(), opts: []hotelstays.CallOption{hotelstays.WithMaxAttempts(1)}})
		breaks(a.err == nil && a.Status == http.StatusTooManyRequests, "QueryOrders got HTTP 429 because of Ticket")
		a.ok()
	}},
}
