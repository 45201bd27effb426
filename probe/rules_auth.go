// Rules of tickets, tokens and scopes.

package probe

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// ticket asks for a ticket with the run's credential, changed by more.
func (r *run) ticket(more obj) *answer {
	body := obj{"appKey": r.cfg.Credential.AppKey, "appSecret": r.cfg.Credential.AppSecret.Reveal()}
	maps.Copy(body, more)
	return r.get(opTicket, body)
}

// newTicket returns a ticket, and when it came.
func (r *run) newTicket(more obj) (string, time.Time) {
	ticket := read[struct{ Ticket string }](r.ticket(more)).Ticket
	r.masker.add(ticket)
	return ticket, time.Now()
}

// lifetime is what a JWT says about itself, or 0.
func lifetime(token string) time.Duration {
	var claims struct{ IAT, EXP float64 }
	if parts := strings.Split(token, "."); len(parts) == 3 {
		text, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(text, &claims) // what cannot be read says nothing
	}
	if claims.IAT == 0 || claims.EXP == 0 {
		return 0
	}
	return time.Duration(claims.EXP-claims.IAT) * time.Second
}

const (
	defaultTTL = 86_400
	maxTTL     = 31_536_000
)

// livesFor expects that what a ticket says about itself is about its ttl.
func livesFor(ticket string, ttl time.Duration) {
	life := lifetime(ticket)
	skip(life == 0, "the ticket does not say when it ends, and waiting would take too long")
	breaks((life-ttl).Abs() > 5*time.Second, "the ticket says that it lives for %s", life)
}

var ticketRules = []Rule{
	{"ticket/default-ttl", "Ticket", "without a ttl a ticket lives for 86400 seconds", "", func(r *run) {
		ticket, _ := r.newTicket(nil)
		livesFor(ticket, defaultTTL*time.Second)
	}},
	{"ticket/lifetime", "Ticket", "a ticket lives for its ttl, however it is used; an expired one gets HTTP 401", "", func(r *run) {
		const ttl = 8
		ticket, began := r.newTicket(obj{"ttl": ttl})
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

// nobody is a token that the service never made.
const nobody = "none-of-the-service"

// wrongSecret is the secret of no key and of no client.
const wrongSecret = "not-the-secret"

// unknownReference is of no order.
const unknownReference = "probe-no-such-order"

// unknownOrder asks for an order that nobody has.
func unknownOrder() obj { return obj{"customerReferenceNos": []string{unknownReference}} }

// noSession is a session of nobody.
const noSession = "probe-no-session"

var authRules = []Rule{
	{"auth/missing-token", "Authentication", "every operation without a token gets HTTP 401", "", each(append(readOps, opCancel),
		func(r *run, op operation) {
			r.changed(op, obj{"Authorization": nil}).refused(http.StatusUnauthorized, 0)
		})},
	{"auth/unknown-token", "Authentication", "an unknown token gets HTTP 401 everywhere", "", each(append(readOps, opCancel),
		func(r *run, op operation) {
			a := r.changed(op, obj{"Authorization": "Bearer " + nobody})
			a.refused(http.StatusUnauthorized, 0)
			r.find("an unknown token gets code %d", *a.Code)
		})},
	{"auth/ticket-token", "Authentication", "what Ticket with a wrong Authorization header gets", "", func(r *run) {
		a := r.do(call{op: opTicket, edit: func(h http.Header) { h.Set("Authorization", "Bearer "+nobody) },
			body: obj{"appKey": r.cfg.Credential.AppKey, "appSecret": r.cfg.Credential.AppSecret.Reveal()}})
		a.came()
		r.find("%s", a)
	}},
}

var scopes = []types.Scope{types.ScopeSearchRead, types.ScopeContentRead, types.ScopeBookingRead, types.ScopeBookingWrite,
	types.ScopeBookingCancel}

// oauth asks for an access token, and returns it with the answer.
func (r *run) oauth(scope string, more obj) (string, *answer) {
	body := obj{"grant_type": "client_credentials", "client_id": r.cfg.OAuth.ClientID,
		"client_secret": r.cfg.OAuth.ClientSecret.Reveal(), "scope": scope}
	maps.Copy(body, more)
	a := r.get(opOAuthToken, body)
	if a.err != nil {
		return "", a
	}
	var flat, nested struct {
		Token string `json:"access_token"`
	}
	_ = json.Unmarshal(a.raw.body, &flat) // what cannot be read is no token
	_ = json.Unmarshal(a.Data, &nested)
	token := flat.Token + nested.Token
	r.masker.add(token)
	return token, a
}

// scoped returns a token with one scope, or "" if the client does not have it.
func (r *run) scoped(scope types.Scope) string {
	token, a := r.oauth(string(scope), nil)
	a.came()
	return token
}

var oauthRules = []Rule{
	{"oauth/token", "Authentication", "client credentials get an access token", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		for _, scope := range scopes {
			token, a := r.oauth(string(scope), nil)
			a.came()
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
		a.came()
		breaks(token != "" || a.Status >= 500, "expected a refusal, got HTTP %d, a token: %t", a.Status, token != "")
	}},
	{"oauth/invalid-scope", "Authentication", "an unknown scope gets invalid_scope; where that is", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		token, a := r.oauth("probe:none", nil)
		a.came()
		breaks(token != "", "expected a refusal, got a token")
		var form obj
		_ = json.Unmarshal(a.raw.body, &form) // what cannot be read has no members
		maps.DeleteFunc(form, func(_ string, v any) bool { return !strings.Contains(fmt.Sprint(v), "invalid_scope") })
		breaks(len(form) == 0, "expected invalid_scope, got %s", a)
		r.find("%s; invalid_scope is in %s", a, members(form))
	}},
	{"oauth/no-scopes", "Authentication", "a token without scopes is refused; what an empty scope gets", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		token, a := r.oauth("", nil)
		a.came()
		if r.find("no token: %s", a); token == "" {
			return
		}
		var given struct {
			Scope string
			Data  struct{ Scope string }
		}
		_ = json.Unmarshal(a.raw.body, &given) // what cannot be read names no scope
		if r.find("a token for %q", given.Scope+given.Data.Scope); r.found != `a token for ""` {
			return
		}
		for _, op := range readOps {
			c := r.lawful(op)
			c.token = token
			a := r.do(c)
			a.came()
			breaks(!a.refusal() || a.Status != http.StatusForbidden && a.Status != http.StatusUnauthorized,
				"%s: expected HTTP 403 or 401 for a token without scopes, got %s", op, a)
		}
	}},
	{"oauth/voucher-scope", "OrderVoucher", "without booking:read OrderVoucher gets HTTP 403", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		token := r.scoped(types.ScopeSearchRead)
		skip(token == "", "the client does not have search:read")
		a := r.do(call{op: opOrderVoucher, token: token, body: obj{"customerReferenceNo": unknownReference}})
		a.refused(http.StatusForbidden, 0)
		r.find("a missing scope gets code %d", *a.Code)
	}},
	{"oauth/guards", "Authentication", "which scope guards what", "HOTELSTAYS_CLIENT_ID", func(r *run) {
		var found []string
		for _, scope := range scopes {
			var ops []string
			token := r.scoped(scope)
			for _, op := range readOps {
				if token == "" {
					break // the client does not have it
				}
				c := r.lawful(op)
				c.token = token
				a := r.do(c)
				a.came()
				if a.Status != http.StatusForbidden && a.Status != http.StatusUnauthorized {
					ops = append(ops, string(op))
				}
			}
			if len(ops) > 0 {
				found = append(found, fmt.Sprintf("%s: %s", scope, strings.Join(ops, " ")))
			}
		}
		skip(len(found) == 0, "no scope opened an operation")
		r.find("%s", strings.Join(found, "; "))
	}},
}
