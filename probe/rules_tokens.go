// Rules of tickets, access tokens, scopes and rate limits.

package probe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	maxTTL           = 31_536_000
	unknownTicket    = "none-of-the-service"
	wrongSecret      = "not-the-secret"
	unknownReference = "probe-no-such-order"
	noSession        = "probe-no-session"
)

// unknownOrder returns the body of a QueryOrders for an order that does not exist.
func unknownOrder() obj { return obj{"customerReferenceNos": []string{unknownReference}} }

// noSuchOrder is the body of a Cancel of an order that does not exist.
var noSuchOrder = obj{"customerReferenceNo": unknownReference, "supplierReferenceNo": unknownReference}

var ticketRules = rules("", []line{
	{"ticket/lifetime", "a ticket is valid for its ttl, even if it is used; an expired ticket gets HTTP 401", func(r *run) {
		const ttl = 16
		ticket := read[struct{ Ticket string }](r.changed(opTicket, obj{"ttl": ttl})).Ticket
		r.masker.add(ticket)
		began := time.Now()
		end := began.Add(ttl * time.Second)
		for _, at := range []time.Time{began, end.Add(-2500 * time.Millisecond)} {
			r.wait(time.Until(at))
			a := r.do(call{op: opQueryOrders, token: ticket, body: unknownOrder()})
			skip(time.Until(end) < time.Second, "the answer came too late to show whether the ticket was valid")
			a.ok()
		}
		r.wait(time.Until(end.Add(1500 * time.Millisecond)))
		late := r.do(call{op: opQueryOrders, token: ticket, body: unknownOrder()})
		late.refused(http.StatusUnauthorized, 0)
		r.find("an expired ticket gets code %d", *late.Code)
	}},
})

var scopes = []types.Scope{types.ScopeSearchRead, types.ScopeContentRead, types.ScopeBookingRead, types.ScopeBookingWrite,
	types.ScopeBookingCancel}

// token returns the access token of an answer, or "". OAuth answers may have no envelope.
func (r *run) token(a *answer) string {
	a.came()
	top, _ := decoded(a.Body).(obj)
	nested, _ := top["data"].(obj)
	flat, _ := top["access_token"].(string)
	below, _ := nested["access_token"].(string)
	r.masker.add(flat + below)
	return flat + below
}

// withScopes fetches a token with scopes. If the service gives no token, the rule is skipped.
func (r *run) withScopes(scopes ...types.Scope) string {
	scope := strings.Trim(fmt.Sprint(scopes), "[]")
	a := r.changed(opOAuthToken, obj{"scope": scope})
	token := r.token(a)
	skip(token == "", "the client gets no token with scope %s: %s", scope, a)
	return token
}

// opened returns the operations of readOps that the token may call.
func (r *run) opened(token string) (ops []operation) {
	for _, op := range readOps {
		a := r.changed(op, obj{"token": token})
		if a.came(); a.Status != http.StatusForbidden && a.Status != http.StatusUnauthorized {
			ops = append(ops, op)
		}
	}
	return ops
}

// noToken requires that the service refuses the request and gives no token.
func noToken(r *run, a *answer) string {
	token := r.token(a)
	breaks(token != "" || a.Status >= http.StatusInternalServerError, "expected a refusal, got HTTP %d, a token: %t", a.Status, token != "")
	return ""
}

var oauthRules = rules("HOTELSTAYS_CLIENT_ID", []line{
	{"oauth/wrong-secret", "a wrong client secret gets no token", ask(opOAuthToken, noToken, changes("client_secret", wrongSecret))},
	{"oauth/invalid-scope", "an unknown scope gets invalid_scope; in which member", ask(opOAuthToken, func(r *run, a *answer) string {
		noToken(r, a)
		form, _ := decoded(a.Body).(obj)
		maps.DeleteFunc(form, func(_ string, v any) bool { return !strings.Contains(fmt.Sprint(v), "invalid_scope") })
		breaks(len(form) == 0, "expected invalid_scope, got %s", a)
		return fmt.Sprintf("%s; invalid_scope is in %s", a, members(form))
	}, changes("scope", "probe:none"))},
	{"oauth/no-scopes", "a token without scopes is refused; what an empty scope gets", ask(opOAuthToken, func(r *run, a *answer) string {
		token := r.token(a)
		if token == "" {
			return fmt.Sprintf("no token: %s", a)
		}
		top, _ := decoded(a.Body).(obj)
		nested, _ := top["data"].(obj)
		scope := fmt.Sprint(cmp.Or(top["scope"], nested["scope"], any("")))
		if scope == "" {
			ops := r.opened(token)
			breaks(len(ops) > 0, "a token without scopes may call %v", ops)
		}
		return fmt.Sprintf("a token for %q", scope)
	}, changes("scope", ""))},
	{"oauth/voucher-scope", "OrderVoucher without the scope booking:read gets HTTP 403", ask(opOrderVoucher, func(_ *run, a *answer) string {
		a.refused(http.StatusForbidden, 0)
		return fmt.Sprintf("a missing scope gets code %d", *a.Code)
	}, changes("token", func(r *run) any { return r.withScopes(types.ScopeSearchRead) }))},
	{"oauth/token", "client credentials get an access token", func(r *run) {
		for _, scope := range scopes {
			a := r.changed(opOAuthToken, obj{"scope": scope})
			if r.token(a) == "" {
				continue // the client may not have this scope
			}
			form, all := "at the top level", decoded(a.Body).(obj)
			if data, ok := all["data"].(obj); ok {
				form, all = "in the envelope", data
			}
			r.find("the token is %s; members: %s", form, members(all))
			return
		}
		breaks(true, "no scope gets an access_token")
	}},
	{"oauth/guards", "a token may call the operations of all its scopes; which operations each scope allows", func(r *run) {
		var found []string
		var any []operation
		for _, scope := range scopes {
			token := r.token(r.changed(opOAuthToken, obj{"scope": scope}))
			if token == "" {
				continue // the client may not have this scope
			}
			ops := r.opened(token)
			if any = append(any, ops...); len(ops) > 0 {
				found = append(found, fmt.Sprintf("%s: %s", scope, strings.Trim(fmt.Sprint(ops), "[]")))
			}
		}
		skip(len(found) == 0, "no scope opened an operation")
		r.find("%s", strings.Join(found, "; "))
		all := r.opened(r.withScopes(scopes...))
		for _, op := range readOps {
			breaks(!slices.Contains(all, op), "%s is refused for a token with all scopes", op)
			breaks(!slices.Contains(any, op), "no scope allows %s", op)
		}
	}},
})

// unpaced sends calls at the same time, without waiting for the limiter.
func (r *run) unpaced(calls ...call) []*answer {
	runs, answers := make([]run, len(calls)), make([]*answer, len(calls))
	var group sync.WaitGroup
	for i, c := range calls {
		runs[i] = run{session: r.session, ctx: context.WithValue(r.ctx, burst{}, true)}
		group.Go(func() { answers[i] = runs[i].do(c) })
	}
	group.Wait()
	for _, each := range runs {
		r.log = append(r.log, each.log...)
	}
	return answers
}

var oneAttempt = []hotelstays.CallOption{hotelstays.WithMaxAttempts(1)}

// limited pauses, and then sends n calls of Ticket at the same time. The service must refuse each call: half of them have a
// wrong secret, and the others are malformed. limited returns the answers with HTTP 429.
func (r *run) limited(n int, pause time.Duration) (refused []*answer) {
	r.wait(pause)
	calls := make([]call, n)
	for i := range calls {
		calls[i] = call{op: opTicket, opts: oneAttempt, body: obj{}}
		if i%2 == 0 {
			calls[i].body = obj{"appKey": "a-key-of-nobody", "appSecret": wrongSecret}
		}
	}
	began := time.Now()
	for _, a := range r.unpaced(calls...) {
		skip(a.err != nil, "%s: %v", a.op, a.err)
		if a.Status == http.StatusTooManyRequests {
			refused = append(refused, a)
		}
	}
	took := time.Since(began)
	skip(took >= time.Second, "%d requests took %s, more than a second", n, took)
	return refused
}

// wait pauses the rule. If ctx ends, the rule is skipped.
func (r *run) wait(d time.Duration) {
	if d >= 10*time.Second {
		r.waits(r.rule.Name, d)
	}
	err := wait(r.ctx, d)
	skip(err != nil, "%v", err)
}

// remaining sends a valid request without waiting for the limiter, and returns X-RateLimit-Remaining of the answer.
func (r *run) remaining(op operation) int64 {
	a := r.unpaced(r.lawful(op))[0]
	a.came()
	n, err := strconv.ParseInt(a.Header.Get("X-RateLimit-Remaining"), 10, 64)
	breaks(err != nil, "X-RateLimit-Remaining of %s is %q instead of a number", op, a.Header.Get("X-RateLimit-Remaining"))
	return n
}

const (
	ticketLimit = 5               // the documented rate limit of Ticket, in requests per second
	idle        = 2 * time.Second // after a pause of this length, no earlier request counts
)

var limitRules = append(rules("", []line{
	{"limits/counts", "X-RateLimit-Remaining falls with each request in a second", func(r *run) {
		for range 3 {
			began := time.Now()
			before := r.remaining(opQueryOrders)
			if r.remaining(opQueryOrders) < before {
				return
			}
			skip(time.Since(began) > time.Second, "two requests take more than a second")
			r.wait(1100 * time.Millisecond)
		}
		breaks(true, "X-RateLimit-Remaining stays the same from one request to the next")
	}},
	{"limits/own", "requests of one operation do not count towards the rate limit of another", func(r *run) {
		var shared []operation
		for range 3 { // another process behind the same address may disturb one try, but hardly three tries
			r.offer()
			r.wait(1100 * time.Millisecond)
			var now []operation
			for _, op := range readOps {
				if n := r.remaining(op); n < int64(op.RateLimit())-1 && (shared == nil || slices.Contains(shared, op)) {
					now = append(now, op)
				}
			}
			if shared = now; len(shared) == 0 {
				return
			}
		}
		breaks(true, "after the first request of a second, X-RateLimit-Remaining of %v is below the rate limit minus 1", shared)
	}},
}), rules("-burst", []line{
	{"limits/at", "five requests of Ticket in a second are accepted", func(r *run) {
		n := len(r.limited(ticketLimit, idle))
		breaks(n > 0, "%d of five got HTTP 429", n)
	}},
	{"limits/above", "of ten requests in a second, malformed requests included, Ticket refuses five; with which Retry-After", func(r *run) {
		refused := r.limited(2*ticketLimit, idle)
		breaks(len(refused) != ticketLimit, "%d of ten got HTTP 429", len(refused))
		r.find("Retry-After is %q", refused[0].Header.Get("Retry-After"))
	}},
	{"limits/window", "two seconds after HTTP 429, requests are accepted", func(r *run) {
		const pause = 2 * idle // ends the effect of earlier answers with HTTP 429
		skip(len(r.limited(2*ticketLimit, pause)) == 0, "no request got HTTP 429")
		breaks(len(r.limited(1, idle)) > 0, "a request two seconds after HTTP 429 gets HTTP 429 again")
	}},
	{"limits/refused", "whether refused requests count towards the rate limit", func(r *run) {
		const pause = 600 * time.Millisecond
		r.limited(ticketLimit, idle)
		skip(len(r.limited(ticketLimit, pause)) < ticketLimit, "the limit is not the documented one")
		// If refused requests count, the service refuses some of these requests, too.
		r.find("they do: %t", len(r.limited(ticketLimit, pause)) > 0)
	}},
	{"limits/each", "each operation has its own rate limit", func(r *run) {
		skip(len(r.limited(2*ticketLimit, idle)) == 0, "no request got HTTP 429")
		a := r.unpaced(call{op: opQueryOrders, body: unknownOrder(), opts: oneAttempt})[0]
		breaks(a.err == nil && a.Status == http.StatusTooManyRequests, "QueryOrders got HTTP 429 because of Ticket")
		a.ok()
	}},
})...)
