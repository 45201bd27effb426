// Rules of all operations: envelope, headers, rate limits.

package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// legal calls an operation so that it succeeds.
func (r *run) legal(op operation) *answer {
	var offered *offer
	var err error
	if op == opHotelRates || op == opCheckAvail {
		offered, err = r.offer()
	}
	if op == opDestinations {
		_, err = r.country()
	}
	if err != nil {
		return &answer{op: op, err: err}
	}
	switch op {
	case opDestinations:
		return r.get(op, obj{"countryCode": r.world.code})
	case opHotelsMetadata:
		return r.metadata(nil)
	case opHotelList:
		return r.list(obj{"pageSize": 2})
	case opHotelRates:
		return offered.answer
	case opCheckAvail:
		return r.check(offered.session, offered.RatePkgID)
	}
	return r.get(opQueryOrders, unknownOrder())
}

// failing calls an operation so that it fails, with a valid token.
func (r *run) failing(op operation) *answer {
	switch op {
	case opDestinations: // nothing that must be refused is documented
		return r.do(call{op: op, token: nobody})
	case opQueryOrders:
		return r.do(call{op: op, token: nobody, body: unknownOrder()})
	}
	return r.do(call{op: op, body: obj{}})
}

// each judges the success of each operation that has one without a booking.
func each(judge func(*answer) error) func(*run) error {
	return func(r *run) error { return r.successes(judge) }
}

func (r *run) successes(judge func(*answer) error) error {
	var errs []error
	for _, op := range readOps[:len(readOps)-1] {
		a := r.legal(op)
		err := a.ok()
		if err == nil {
			err = judge(a)
		} else if a.Exchange != nil && a.Status == http.StatusOK {
			err = judge(a) // it may be the envelope that is wrong
		} else {
			err = notTried("%v", err)
		}
		errs = append(errs, err)
	}
	return first(errs...)
}

func (a *answer) wrong(format string, args ...any) error {
	return fmt.Errorf("%s: %w", a.op, fmt.Errorf(format, args...))
}

// integer reads a header.
func (a *answer) integer(name string) (int, error) {
	text := a.raw.header.Get(name)
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, a.wrong("the header %s is %q, expected an integer", name, text)
	}
	return n, nil
}

var answerRules = []Rule{
	{"envelope/success", "Envelope", "a success has code 0, msg and data, as JSON", 0, each(func(a *answer) error {
		media, _, err := mime.ParseMediaType(a.raw.header.Get("Content-Type"))
		switch {
		case err != nil || media != "application/json":
			return a.wrong("the Content-Type is %q", a.raw.header.Get("Content-Type"))
		case a.Code == nil || *a.Code != 0 || a.Msg == nil:
			return a.wrong("the envelope has not code 0 and msg: %s", a)
		}
		return json.Unmarshal(a.Data, new(obj))
	})},
	{"envelope/failure", "Errors", "a failure has a code other than 0 and msg, and no data", 0, func(r *run) error {
		return r.eachOp(func(op operation) error {
			a := r.failing(op)
			check(a.unjudged())
			if data := strings.TrimSpace(string(a.Data)); a.Code == nil || *a.Code == 0 || a.Msg == nil ||
				(data != "" && data != "null" && data != "{}") {
				return a.wrong("the envelope has not just a code and msg: %s", a)
			}
			return nil
		})
	}},
	{"headers/request-id", "Common request headers", "each answer has the Request-Id of its request", 0, each(func(a *answer) error {
		if got, sent := a.raw.header.Get("Request-Id"), a.RequestHeader["Request-Id"]; got != sent {
			return a.wrong("the Request-Id is %q, not that of the request", got)
		}
		return nil
	})},
	{"headers/trace-id", "Common request headers", "each answer has a Trace-Id", 0, each(func(a *answer) error {
		if a.raw.header.Get("Trace-Id") == "" {
			return a.wrong("there is no Trace-Id")
		}
		return nil
	})},
	{"headers/server-cost", "Common request headers", "Server-Cost-Milliseconds fits the time of the call", 0, each(func(a *answer) error {
		cost, err := a.integer("Server-Cost-Milliseconds")
		if took := a.Elapsed.Milliseconds(); err == nil && (cost < 0 || int64(cost) > took+2) {
			return a.wrong("Server-Cost-Milliseconds is %d, but the answer came after %d ms", cost, took)
		}
		return err
	})},
	{"headers/session-id", "Common request headers", "a search names its session in the header, too", 0, func(r *run) error {
		a := r.legal(opHotelList)
		resp, err := read[hotelstays.HotelListResponse](a)
		if err == nil && a.raw.header.Get("Session-Id") != resp.Basic.SessionID {
			return a.wrong("the Session-Id is %q, and basic names another one", a.raw.header.Get("Session-Id"))
		}
		return err
	}},
	{"headers/test-flags", "Common request headers", "an unknown test flag is ignored", 0, func(r *run) error {
		city := must(r.city())
		return r.do(call{op: opHotelList, body: r.stay(obj{"destinationId": city.ID, "pageSize": 1}),
			opts: []hotelstays.CallOption{hotelstays.WithTestFlags(map[string]string{"probe": "1"})}}).ok()
	}},
	{"headers/currency", "Common request headers", "Currency is that of the rates", 0, func(r *run) error {
		city := must(r.city())
		for _, code := range []string{"EUR", "USD"} {
			resp, err := read[hotelstays.HotelListResponse](r.do(call{op: opHotelList,
				body: r.stay(obj{"destinationId": city.ID, "pageSize": 2}), opts: []hotelstays.CallOption{hotelstays.WithCurrency(code)}}))
			if err != nil {
				return err
			}
			for _, rate := range ratesOf(resp.List) {
				if got := rate.TotalRate.NetRate.Currency; got != code {
					return fmt.Errorf("a rate is in %s, not in %s", got, code)
				}
			}
		}
		return nil
	}},
}

// limited makes n calls of Ticket that are refused, at once, after a pause in which the limit is idle.
func (r *run) limited(n int) ([]*answer, error) {
	if err := wait(r.ctx, 2*time.Second); err != nil {
		return nil, err
	}
	ctx := context.WithValue(r.ctx, burst{}, true)
	runs, answers := make([]*run, n), make([]*answer, n)
	var group sync.WaitGroup
	for i := range n {
		runs[i] = &run{session: r.session, ctx: ctx}
		group.Go(func() {
			answers[i] = runs[i].do(call{op: opTicket, opts: []hotelstays.CallOption{hotelstays.WithMaxAttempts(1)},
				body: obj{"appKey": "a-key-of-nobody", "appSecret": "nothing"}})
		})
	}
	group.Wait()
	var errs []error
	for i, a := range answers {
		r.log = append(r.log, runs[i].log...)
		if a.err != nil {
			errs = append(errs, a.unjudged())
		}
	}
	return answers, first(errs...)
}

func refusedByLimit(answers []*answer) (refused []*answer) {
	for _, a := range answers {
		if a.Status == http.StatusTooManyRequests {
			refused = append(refused, a)
		}
	}
	return refused
}

var limitRules = []Rule{
	{"limits/limit", "Limits", "X-RateLimit-Limit is the documented limit", 0, each(func(a *answer) error {
		n, err := a.integer("X-RateLimit-Limit")
		if want := a.op.RateLimit(); err == nil && n != want {
			return a.wrong("X-RateLimit-Limit is %d, not %d", n, want)
		}
		return err
	})},
	{"limits/remaining", "Limits", "X-RateLimit-Remaining is below the documented limit", 0, each(func(a *answer) error {
		n, err := a.integer("X-RateLimit-Remaining")
		if err == nil && (n < 0 || n >= a.op.RateLimit()) {
			return a.wrong("X-RateLimit-Remaining is %d of %d", n, a.op.RateLimit())
		}
		return err
	})},
	{"limits/counts", "Limits", "X-RateLimit-Remaining falls with each request of a second", 0, func(r *run) error {
		r.ctx = context.WithValue(r.ctx, burst{}, true) // three calls of fifty
		for range 3 {
			began := time.Now()
			one, two := r.get(opQueryOrders, unknownOrder()), r.get(opQueryOrders, unknownOrder())
			check(first(one.unjudged(), two.unjudged()))
			before, err := one.integer("X-RateLimit-Remaining")
			after, err2 := two.integer("X-RateLimit-Remaining")
			check(first(err, err2))
			if after < before {
				return nil
			}
			if time.Since(began) > time.Second {
				return notTried("two requests take more than a second")
			}
			check(wait(r.ctx, 1100*time.Millisecond))
		}
		return fmt.Errorf("X-RateLimit-Remaining stays the same from one request to the next")
	}},
	{"limits/reset", "Limits", "X-RateLimit-Reset is 1", 0, each(func(a *answer) error {
		n, err := a.integer("X-RateLimit-Reset")
		if err == nil && n != 1 {
			return a.wrong("X-RateLimit-Reset is %d", n)
		}
		return err
	})},
	{"limits/retry-after", "Limits", "Retry-After comes with a 429 alone", 0, each(func(a *answer) error {
		if text := a.raw.header.Get("Retry-After"); text != "" {
			return a.wrong("Retry-After is %q under HTTP %d", text, a.Status)
		}
		return nil
	})},
	{"limits/at", "Limits", "five requests of Ticket in a second are accepted, malformed ones too", NeedBurst, func(r *run) error {
		answers := must(r.limited(types.OpTicket.RateLimit()))
		n := len(refusedByLimit(answers))
		breaks(n > 0, "%d of %d got HTTP 429", n, len(answers))
		return nil
	}},
	{"limits/above", "Limits", "of ten requests in a second Ticket refuses five", NeedBurst, func(r *run) error {
		answers := must(r.limited(2 * types.OpTicket.RateLimit()))
		if n := len(refusedByLimit(answers)); n != types.OpTicket.RateLimit() {
			return fmt.Errorf("%d of %d got HTTP 429", n, len(answers))
		}
		return nil
	}},
	{"limits/refusal", "Limits", "a 429 has code 100000429 and Retry-After", NeedBurst, func(r *run) error {
		answers := must(r.limited(2 * types.OpTicket.RateLimit()))
		refused := refusedByLimit(answers)
		if len(refused) == 0 {
			return notTried("no request got HTTP 429")
		}
		for _, a := range refused {
			after := a.raw.header.Get("Retry-After")
			if a.Code == nil || *a.Code != types.CodeRateLimited || after == "" {
				return a.wrong("expected code %d and Retry-After, got %s and %q", types.CodeRateLimited, a, after)
			}
			r.find("Retry-After is %q", after)
		}
		return nil
	}},
	{"limits/each", "Limits", "each operation has a limit of its own", NeedBurst, func(r *run) error {
		answers := must(r.limited(2 * types.OpTicket.RateLimit()))
		if len(refusedByLimit(answers)) == 0 {
			return notTried("no request got HTTP 429")
		}
		ctx := context.WithValue(r.ctx, burst{}, true)
		next := &run{session: r.session, ctx: ctx}
		a := next.do(call{op: opQueryOrders, body: unknownOrder(),
			opts: []hotelstays.CallOption{hotelstays.WithMaxAttempts(1)}})
		r.log = append(r.log, next.log...)
		if a.err == nil && a.Status == http.StatusTooManyRequests {
			return a.wrong("got HTTP 429 because of Ticket")
		}
		return a.ok()
	}},
}
