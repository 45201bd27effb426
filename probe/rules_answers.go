// Rules of all operations: envelope, headers, rate limits.

package probe

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
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

// successes judges the success of each operation that has one without a booking.
func successes(try func(*answer)) func(*run) {
	return each(readOps[:len(readOps)-1], func(r *run, op operation) {
		a := r.do(r.lawful(op))
		a.allowed()
		// without a code it may be the envelope that is wrong
		skip(a.Status != http.StatusOK || a.Code != nil && *a.Code != 0, "%s got no success: %s", op, a)
		try(a)
	})
}

// headerIs expects a header of each success.
func headerIs(name, want string, fits func(a *answer, text string) bool) func(*run) {
	return successes(func(a *answer) {
		text := a.raw.header.Get(name)
		breaks(!fits(a, text), "%s: the header %s is %q, expected %s", a.op, name, text, want)
	})
}

// numberIn expects a header with an integer.
func numberIn(name, want string, fits func(a *answer, n int) bool) func(*run) {
	return headerIs(name, want, func(a *answer, text string) bool {
		n, err := strconv.Atoi(text)
		return err == nil && fits(a, n)
	})
}

func some(_ *answer, text string) bool { return text != "" }

var answerRules = []Rule{
	{"envelope/success", "Envelope", "a success has code 0, msg and data, as JSON", "", successes(func(a *answer) {
		media, _, err := mime.ParseMediaType(a.raw.header.Get("Content-Type"))
		breaks(err != nil || media != "application/json", "%s: the Content-Type is %q", a.op, a.raw.header.Get("Content-Type"))
		breaks(a.Code == nil || a.Msg == nil, "%s: the envelope has not code 0 and msg: %s", a.op, a)
		breaks(json.Unmarshal(a.Data, new(obj)) != nil, "%s: data is no object", a.op)
	})},
	{"envelope/failure", "Errors", "a failure has a code other than 0 and msg, and no data", "", each(readOps, func(r *run, op operation) {
		a := r.failing(op)
		a.came()
		data := strings.TrimSpace(string(a.Data))
		breaks(a.Code == nil || *a.Code == 0 || a.Msg == nil || (data != "" && data != "null" && data != "{}"),
			"%s: the envelope has not just a code and msg: %s", op, a)
	})},
	{"headers/request-id", "Common request headers", "each answer has a Request-Id", "", headerIs("Request-Id", "one", some)},
	{"headers/trace-id", "Common request headers", "each answer has a Trace-Id", "", headerIs("Trace-Id", "one", some)},
	{"headers/server-cost", "Common request headers", "Server-Cost-Milliseconds is a number; whether it fits the time of the call", "",
		func(r *run) {
			fits := true
			numberIn("Server-Cost-Milliseconds", "a number from 0 on", func(a *answer, n int) bool {
				fits = fits && int64(n) <= a.Took+2
				return n >= 0
			})(r)
			r.find("it fits: %t", fits)
		}},
	{"headers/session-id", "Common request headers", "a search has a Session-Id in the header, too", "",
		headerIs("Session-Id", "one", func(a *answer, text string) bool { return a.op != opHotelList || text != "" })},
	{"headers/test-flags", "Common request headers", "an unknown test flag is ignored", "", func(r *run) {
		r.do(call{op: opHotelList, body: r.stayIn(obj{"pageSize": 1}),
			opts: []hotelstays.CallOption{hotelstays.WithTestFlags(map[string]string{"probe": "1"})}}).ok()
	}},
	{"headers/currency", "Common request headers", "Currency is that of the rates", "", func(r *run) {
		for _, code := range []string{"EUR", "USD"} {
			r.do(call{op: opHotelList, body: r.stayIn(obj{"pageSize": 2}), currency: code}).
				shape("list[].rooms[]?.rates[]?.totalRate.netRate.currency " + code)
		}
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
	{"limits/limit", "Limits", "X-RateLimit-Limit is the documented limit", "",
		numberIn("X-RateLimit-Limit", "the documented one", func(a *answer, n int) bool { return n == a.op.RateLimit() })},
	{"limits/remaining", "Limits", "X-RateLimit-Remaining is below the documented limit", "",
		numberIn("X-RateLimit-Remaining", "less than the limit", func(a *answer, n int) bool { return n >= 0 && n < a.op.RateLimit() })},
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
	{"limits/reset", "Limits", "X-RateLimit-Reset is 1", "",
		numberIn("X-RateLimit-Reset", "1", func(_ *answer, n int) bool { return n == 1 })},
	{"limits/retry-after", "Limits", "Retry-After comes with a 429 alone", "",
		headerIs("Retry-After", "none", func(_ *answer, text string) bool { return text == "" })},
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
		for _, a := range refused {
			after := a.raw.header.Get("Retry-After")
			breaks(a.Code == nil || *a.Code != types.CodeRateLimited || after == "",
				"expected code %d and Retry-After, got %s and %q", types.CodeRateLimited, a, after)
			r.find("Retry-After is %q", after)
		}
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
