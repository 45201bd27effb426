package storetest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/pacing"
)

func TestRateLimiterPassesTheSuite(t *testing.T) {
	storetest.TestRateLimiter(t, limiterFleet(""), &storetest.Options{InBubble: true})
	storetest.TestFairRateLimiter(t, limiterFleet(""), &storetest.Options{InBubble: true})
}

var limiterFaults = []plantedFault{
	{"grants one slot less", "as many slots are granted as the limit allows, and no more"},
	{"counts only in its own process", "as many slots are granted as the limit allows, and no more"},
	{"frees a slot at Done", "no more requests leave in a second than the limit"},
	{"counts from the departure of a request", "no more requests arrive in a second than the limit"},
	{"drops slots with a time in the future", "the limit holds if a clock is set back"},
	{"counts requests over three seconds", "waiting callers use most of the limit"},
	{"wakes no waiting caller", "every waiting caller gets a slot"},
	{"counts a permit that was not sent as sent", "the slot of a permit without Sent is free immediately"},
	{"looks for a free slot once per second", "a waiting caller gets the slot of a permit without Sent"},
	{"ignores Pause", "no slot is granted before the end of a pause"},
	{"looks at the pause before it waits", "Pause delays callers that already wait"},
	{"pauses only its own process", "the longest pause delays the callers of every process"},
	{"replaces a longer pause by a shorter pause", "the longest pause delays the callers of every process"},
	{"pauses all operations", "Pause affects only its own key"},
	{"pauses all environments", "Pause affects only its own key"},
	{"drops pauses of operations without a rate limit", "Pause delays an operation without a rate limit"},
	{"has one budget for all operations", "operations and environments have separate budgets"},
	{"counts all environments together", "operations and environments have separate budgets"},
	{"counts OAuthToken together with Ticket", "operations and environments have separate budgets"},
	{"limits all operations", "operations without a rate limit are granted immediately"},
	{"waits after ctx has ended", "Acquire returns ctx's error when ctx ends"},
	{"hides ctx's error", "Acquire returns ctx's error when ctx ends"},
	{"takes a slot for an ended ctx", "Acquire with an ended ctx takes no slot"},
	{"grants a slot to a caller that gave up", "a caller that gives up takes no slot"},
	{"waits for its server in Done", "Sent and Done do not block"},
	{"keeps the slots of a dead process", "the slots of a dead process become free"},
	{"serves callers in the order of arrival", "an account with many calls delays only itself"},
	{"ignores priorities", "a call of higher priority goes first"},
	{"serves low priorities only if no other caller waits", "no priority starves"},
}

// limiterFleet returns a function that starts a fleet of limiters. The limiters have the fault; "" means no fault.
func limiterFleet(fault string) func(*testing.T) storetest.Fleet[hotelstays.RateLimiter] {
	return func(*testing.T) storetest.Fleet[hotelstays.RateLimiter] {
		shared, setBack := newWindows(fault), new(atomic.Bool)
		fleet := fleetOf[hotelstays.RateLimiter, *limiter](func() hotelstays.RateLimiter {
			l := &limiter{fault: fault, shared: shared, own: newWindows(""), setBack: setBack, out: map[*permit]bool{}}
			if fault == "counts only in its own process" {
				l.shared = l.own
			}
			return l
		})
		fleet.SetBack = func(time.Duration) { setBack.Store(true) }
		return fleet
	}
}

// windows holds the slots of each key.
type windows map[hotelstays.RateLimitKey]*ratelimit.Window

func newWindows(fault string) windows {
	w := windows{}
	for _, baseURL := range []string{"https://host.example", "https://other.example"} {
		key := func(op hotelstays.Operation) hotelstays.RateLimitKey {
			return hotelstays.RateLimitKey{BaseURL: baseURL, Operation: op}
		}
		for _, op := range []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpBook, hotelstays.OpCheckAvail, hotelstays.OpCancel,
			hotelstays.OpQueryOrders} {
			limit, span := op.RateLimit(), time.Second
			switch fault {
			case "grants one slot less":
				limit--
			case "frees a slot at Done":
				span = time.Millisecond
			case "counts requests over three seconds":
				span = 3 * time.Second
			}
			w[key(op)] = ratelimit.NewWindow(limit, span, 10*time.Millisecond)
		}
		for _, op := range []hotelstays.Operation{hotelstays.OpOAuthToken, "of no method"} {
			if fault != "drops pauses of operations without a rate limit" {
				w[key(op)] = ratelimit.NewWindow(1<<20, time.Second, 0)
			}
		}
		switch fault {
		case "has one budget for all operations":
			for other := range w {
				w[other] = w[hotelstays.RateLimitKey{BaseURL: "https://host.example", Operation: hotelstays.OpTicket}]
			}
		case "counts OAuthToken together with Ticket":
			w[key(hotelstays.OpOAuthToken)] = w[key(hotelstays.OpTicket)]
		case "limits all operations":
			w[key(hotelstays.OpOAuthToken)] = ratelimit.NewWindow(10, time.Second, 0)
		}
	}
	return w
}

// limiter is the rate limiter of one process.
type limiter struct {
	fault       string
	shared, own windows      // slots of all processes, and of only this process
	setBack     *atomic.Bool // whether the server's clock was set back
	urgent      atomic.Int32 // number of waiting callers of high priority

	mu     sync.Mutex
	out    map[*permit]bool
	paused time.Time
}

func (l *limiter) Pause(key hotelstays.RateLimitKey, until time.Time) {
	w := l.shared
	switch l.fault {
	case "ignores Pause":
		return
	case "pauses only its own process":
		w = l.own
	case "replaces a longer pause by a shorter pause", "looks at the pause before it waits":
		l.mu.Lock()
		defer l.mu.Unlock()
		if w[key] != nil && (until.After(l.paused) || l.fault == "replaces a longer pause by a shorter pause") {
			l.paused = until
		}
		return
	}
	for other, window := range w {
		if other == key || l.fault == "pauses all operations" || l.fault == "pauses all environments" && other.Operation == key.Operation {
			window.Pause(until)
		}
	}
}

func (l *limiter) Acquire(ctx context.Context, req hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	key := req.Key
	w := l.shared
	switch l.fault {
	case "counts all environments together":
		key.BaseURL = "https://host.example"
	case "drops slots with a time in the future":
		if l.setBack.Load() {
			w = l.own
		}
	case "replaces a longer pause by a shorter pause", "looks at the pause before it waits":
		l.mu.Lock()
		pause := time.Until(l.paused)
		l.mu.Unlock()
		time.Sleep(pause)
	}
	if w[key] == nil {
		return nil, nil
	}
	if l.fault == "pauses only its own process" {
		p, err := l.own[key].Acquire(ctx, pacing.Caller{})
		if err != nil {
			return nil, err
		}
		p.Done(hotelstays.PermitResult{})
	}
	inner, err := l.acquire(ctx, w[key], req)
	switch {
	case err == nil:
		p := &permit{limiter: l, inner: inner}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.out[p] = true
		return p, nil
	case l.fault == "hides ctx's error":
		err = errors.New("no slot")
	}
	return nil, err
}

// caller returns the account and the priority of a request, unless the fault ignores the account or the priority.
func (l *limiter) caller(req hotelstays.RateLimitRequest) pacing.Caller {
	c := pacing.Caller{Account: req.Account, Priority: int(req.Priority)}
	switch l.fault {
	case "serves callers in the order of arrival":
		c.Account = ""
	case "ignores priorities":
		c.Priority = 0
	}
	return c
}

func (l *limiter) acquire(ctx context.Context, w *ratelimit.Window, req hotelstays.RateLimitRequest) (*ratelimit.Permit, error) {
	within := func(d time.Duration) (*ratelimit.Permit, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d)
		defer cancel()
		return w.Acquire(ctx, l.caller(req))
	}
	poll := func(pause time.Duration) (*ratelimit.Permit, error) {
		for {
			if p, err := within(time.Nanosecond); err == nil {
				return p, nil
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(pause):
			}
		}
	}
	switch l.fault {
	case "serves low priorities only if no other caller waits":
		for req.Priority < 0 && l.urgent.Load() > 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if req.Priority > 0 {
			l.urgent.Add(1)
			defer l.urgent.Add(-1)
		}
	case "waits after ctx has ended":
		return within(time.Minute)
	case "wakes no waiting caller":
		return poll(1000 * time.Hour)
	case "looks for a free slot once per second":
		return poll(time.Second)
	case "takes a slot for an ended ctx":
		if ctx.Err() != nil {
			_, _ = within(time.Nanosecond)
		}
	case "grants a slot to a caller that gave up":
		if ctx.Err() == nil {
			p, err := within(time.Minute)
			if ctx.Err() != nil { // the fault: the granted slot is lost
				return nil, ctx.Err()
			}
			return p, err
		}
	}
	return w.Acquire(ctx, l.caller(req))
}

// freeze ends the permits of the process after six seconds, unless thaw is called before.
func (l *limiter) freeze() (thaw func()) {
	if l.fault == "keeps the slots of a dead process" {
		return func() {}
	}
	end := time.AfterFunc(6*time.Second, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for p := range l.out {
			p.inner.Done(hotelstays.PermitResult{})
		}
		clear(l.out)
	})
	return func() { end.Stop() }
}

type permit struct {
	limiter *limiter
	inner   *ratelimit.Permit
	left    time.Time // time of Sent; zero if the request was not sent
}

func (p *permit) Sent() {
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	if p.left = time.Now(); p.limiter.out[p] {
		p.inner.Sent()
	}
}

func (p *permit) Done(r hotelstays.PermitResult) {
	switch p.limiter.fault {
	case "waits for its server in Done":
		time.Sleep(time.Second)
	case "counts from the departure of a request":
		r = hotelstays.PermitResult{ArrivedBy: p.left}
	case "counts a permit that was not sent as sent":
		if p.left.IsZero() {
			p.Sent()
		}
	}
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	if p.limiter.out[p] {
		delete(p.limiter.out, p)
		p.inner.Done(r)
	}
}
