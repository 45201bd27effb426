// Rules of tickets, access tokens, scopes and rate limits.

package probe

import (
	"context"
	"encoding/json"
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
	nobody           = "none-of-the-service" // a token that the service never made
	wrongSecret      = "not-the-secret"      // the secret of no key and of no client
	unknownReference = "probe-no-such-order"
	noSession        = "probe-no-session"
)

// unknownOrder asks for an order that nobody has.
func unknownOrder() obj { return obj{"customerReferenceNos": []string{unknownReference}} }

var ticketRules = []Rule{
	{"ticket/lifetime", "Ticket", "a ticket lives for its ttl, however it is used; an expired one gets HTTP 401", "", func(r *run) {
		const ttl = 16
		ticket := read[struct{ Ticket string }](r.changed(opTicket, obj{"ttl": ttl})).Ticket
		r.masker.add(ticket)
		began := time.Now()
		end := began.Add(ttl * time.Second)
		for _, at := range []time.Time{began, end.Add(-2500 * time.Millisecond)} {
			r.wait(time.Until(at))
			a := r.do(call{op: opQueryOrders, token: ticket, body: unknownOrder()})
			skip(time.Until(end) < time.Second, "the answer came too late to say what the ticket was worth")
			a.ok()
		}
		r.wait(time.Until(end.Add(1500 * time.Millisecond)))
		late := r.do(call{op: opQueryOrders, token: ticket, body: unknownOrder()})
		late.refused(http.StatusUnauthorized, 0)
		r.find("an expired ticket gets code %d", *late.Code)
	}},
}

var scopes = []types.Scope{types.ScopeSearchRead, types.ScopeContentRead, types.ScopeBookingRead, types.ScopeBookingWrite,
	types.ScopeBookingCancel}

// oauth asks for an access token, and returns it with the answer. The token is "" if the client does not get one.
func (r *run) oauth(scope string, more obj) (token string, a *answer) {
	body := obj{"grant_type": "client_credentials", "client_id": r.cfg.OAuth.ClientID,
		"client_secret": r.cfg.OAuth.ClientSecret.Reveal(), "scope": scope}
	maps.Copy(body, more)
	a = r.get(opOAuthToken, body)
	a.came()
	var flat, nested struct {
		Token string `json:"access_token"`
	}
	_ = json.Unmarshal(a.raw.body, &flat) // what cannot be read is no token
	_ = json.Unmarshal(a.Data, &nested)
	token = flat.Token + nested.Token
	r.masker.add(token)
	return token, a
}

// opened returns the operations that a token may call.
func (r *run) opened(token string) (ops []operation) {
	for _, op := range readOps {
		if token == "" {
			break
		}
		a := r.changed(op, obj{"token": token})
		if a.came(); a.Status != http.StatusForbidden && a.Status != http.StatusUnauthorized {
			ops = append(ops, op)
		}
	}
	return ops
}

// allScopes returns a token with all scopes, or not tried.
func (r *run) allScopes() string {
	var names []string
	for _, scope := range scopes {
		names = append(names, string(scope))
	}
	token, a := r.oauth(strings.Join(names, " "), nil)
	skip(token == "", "the client does not get all scopes: %s", a)
	return token
}

var oauthRules = []Rule{
	{"oauth/token", "Authentication", "client credentials get an access token", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		for _, scope := range scopes {
			token, a := r.oauth(string(scope), nil)
			if token == "" {
				continue // the client does not have it
			}
			form, names := "at the top level", obj{}
			_ = json.Unmarshal(a.raw.body, &names)
			if data, ok := names["data"].(obj); ok {
				form, names = "in the envelope", data
			}
			r.find("the token is %s; members: %s", form, members(names))
			return
		}
		breaks(true, "no scope gets an access_token")
	}},
	{"oauth/wrong-secret", "Authentication", "a wrong client secret gets no token", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		token, a := r.oauth("search:read", obj{"client_secret": wrongSecret})
		breaks(token != "" || a.Status >= 500, "expected a refusal, got HTTP %d, a token: %t", a.Status, token != "")
	}},
	{"oauth/grant", "Authentication", "which grant_type gets no token", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		token, a := r.oauth("search:read", obj{"grant_type": "probe"})
		r.suffers(token != "", "an unknown grant_type gets a token")
		r.find("an unknown one gets HTTP %d", a.Status)
	}},
	{"oauth/invalid-scope", "Authentication", "an unknown scope gets invalid_scope; where that is", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		token, a := r.oauth("probe:none", nil)
		breaks(token != "", "expected a refusal, got a token")
		var form obj
		_ = json.Unmarshal(a.raw.body, &form) // what cannot be read has no members
		maps.DeleteFunc(form, func(_ string, v any) bool { return !strings.Contains(fmt.Sprint(v), "invalid_scope") })
		breaks(len(form) == 0, "expected invalid_scope, got %s", a)
		r.find("%s; invalid_scope is in %s", a, members(form))
	}},
	{"oauth/no-scopes", "Authentication", "a token without scopes is refused; what an empty scope gets", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		token, a := r.oauth("", nil)
		if r.find("no token: %s", a); token == "" {
			return
		}
		var given struct {
			Scope string
			Data  struct{ Scope string }
		}
		_ = json.Unmarshal(a.raw.body, &given) // what cannot be read names no scope
		if r.find("a token for %q", given.Scope+given.Data.Scope); given.Scope+given.Data.Scope == "" {
			ops := r.opened(token)
			breaks(len(ops) > 0, "a token without scopes may call %v", ops)
		}
	}},
	{"oauth/voucher-scope", "OrderVoucher", "without booking:read OrderVoucher gets HTTP 403", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		token, _ := r.oauth(string(types.ScopeSearchRead), nil)
		skip(token == "", "the client does not have search:read")
		a := r.changed(opOrderVoucher, obj{"token": token})
		a.refused(http.StatusForbidden, 0)
		r.find("a missing scope gets code %d", *a.Code)
	}},
	{"oauth/guards", "Authentication", "a token may call what one of its scopes allows; which scope guards what", "HOTELSTAYS_CLIENT_ID",
		func(r *run) {
			var found []string
			var any []operation
			for _, scope := range scopes {
				token, _ := r.oauth(string(scope), nil)
				ops := r.opened(token)
				if any = append(any, ops...); len(ops) > 0 {
					found = append(found, fmt.Sprintf("%s: %s", scope, strings.Trim(fmt.Sprint(ops), "[]")))
				}
			}
			skip(len(found) == 0, "no scope opened an operation")
			r.find("%s", strings.Join(found, "; "))
			all := r.opened(r.allScopes())
			for _, op := range readOps {
				breaks(!slices.Contains(all, op), "%s is refused for a token with all scopes", op)
				breaks(!slices.Contains(any, op), "no scope allows %s", op)
			}
		}},
	{"oauth/limit", "Limits", "which rate limit OAuthToken says it has", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		_, a := r.oauth("search:read", nil)
		r.find("X-RateLimit-Limit is %q", a.raw.header.Get("X-RateLimit-Limit"))
	}},
}

// limited makes n calls of Ticket that are refused, every second one malformed, at once, after a pause. It returns the
// answers with HTTP 429.
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

// remaining is X-RateLimit-Remaining of a lawful call that does not wait for the limiter.
func (r *run) remaining(op operation) int {
	c := r.lawful(op)
	once := &run{session: r.session, ctx: context.WithValue(r.ctx, burst{}, true)}
	a := once.do(c)
	r.log = append(r.log, once.log...)
	a.came()
	n, err := strconv.Atoi(a.raw.header.Get("X-RateLimit-Remaining"))
	breaks(err != nil, "X-RateLimit-Remaining of %s is %q", op, a.raw.header.Get("X-RateLimit-Remaining"))
	return n
}

const (
	ticketLimit = 5               // a second
	idle        = 2 * time.Second // after which no request counts any more
)

var limitRules = []Rule{
	{"limits/counts", "Limits", "X-RateLimit-Remaining falls with each request of a second", "", func(r *run) {
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
	{"limits/own", "Limits", "requests of one operation do not count for another", "", func(r *run) {
		var shared []operation
		for range 3 { // another process behind this address may call once, and not three times
			r.offer()
			r.wait(1100 * time.Millisecond)
			var now []operation
			for _, op := range []operation{opDestinations, opHotelsMetadata, opHotelList, opHotelRates, opCheckAvail, opOrderVoucher,
				opQueryOrders} {
				if n := r.remaining(op); n < op.RateLimit()-1 && (shared == nil || slices.Contains(shared, op)) {
					now = append(now, op)
				}
			}
			if shared = now; len(shared) == 0 {
				return
			}
		}
		breaks(true, "the first request of a second to %v leaves less than its limit and one", shared)
	}},
	{"limits/at", "Limits", "five requests of Ticket in a second are accepted", "-burst", func(r *run) {
		n := len(r.limited(ticketLimit, idle))
		breaks(n > 0, "%d of five got HTTP 429", n)
	}},
	{"limits/above", "Limits", "of ten requests in a second, malformed ones too, Ticket refuses five", "-burst", func(r *run) {
		n := len(r.limited(2*ticketLimit, idle))
		breaks(n != ticketLimit, "%d of ten got HTTP 429", n)
	}},
	{"limits/refusal", "Limits", "a 429 has code 100000429 and Retry-After", "-burst", func(r *run) {
		refused := r.limited(2*ticketLimit, idle)
		skip(len(refused) == 0, "no request got HTTP 429")
		r.find("Retry-After is %q", refused[0].raw.header.Get("Retry-After"))
	}},
	{"limits/window", "Limits", "two seconds after a 429 requests are accepted", "-burst", func(r *run) {
		skip(len(r.limited(2*ticketLimit, idle)) == 0, "no request got HTTP 429")
		breaks(len(r.limited(1, idle)) > 0, "a request two seconds after a 429 gets another one")
	}},
	{"limits/refused", "Limits", "whether refused requests count", "-burst", func(r *run) {
		const pause = 600 * time.Millisecond
		r.limited(ticketLimit, idle)
		skip(len(r.limited(ticketLimit, pause)) < ticketLimit, "the limit is not the documented one")
		r.find("they do: %t", len(r.limited(ticketLimit, pause)) > 0) // only the refused ones are in this second
	}},
	{"limits/each", "Limits", "each operation has a limit of its own", "-burst", func(r *run) {
		skip(len(r.limited(2*ticketLimit, idle)) == 0, "no request got HTTP 429")
		r.ctx = context.WithValue(r.ctx, burst{}, true)
		a := r.do(call{op: opQueryOrders, body: unknownOrder(), opts: []hotelstays.CallOption{hotelstays.WithMaxAttempts(1)}})
		breaks(a.err == nil && a.Status == http.StatusTooManyRequests, "QueryOrders got HTTP 429 because of Ticket")
		a.ok()
	}},
}
