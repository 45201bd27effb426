// Rules of tickets, tokens and scopes.

package probe

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
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

// newTicket returns a ticket.
func (r *run) newTicket(more obj) (string, error) {
	resp, err := read[struct{ Ticket string }](r.ticket(more))
	if err != nil {
		return "", err
	}
	r.masker.add(resp.Ticket)
	return resp.Ticket, nil
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

var ticketRules = []Rule{
	{"ticket/jwt", "Ticket", "a ticket is a JWT, and the answer's only member", 0, func(r *run) error {
		a := r.ticket(nil)
		check(a.shape("ticket text"))
		var data map[string]string
		breaks(json.Unmarshal(a.Data, &data) != nil || len(data) != 1, "data has other members than ticket")
		breaks(strings.Count(data["ticket"], ".") != 2, "the ticket does not have the three parts of a JWT")
		return nil
	}},
	{"ticket/wrong-secret", "Ticket", "a wrong secret is refused with HTTP 401 and code 100000401", 0, func(r *run) error {
		return r.ticket(obj{"appSecret": wrongSecret}).refusedWith(http.StatusUnauthorized, types.CodeUnauthorized)
	}},
	{"ticket/unknown-key", "Ticket", "an unknown key is refused with HTTP 401 and code 100000401", 0, func(r *run) error {
		return r.ticket(obj{"appKey": "a-key-of-nobody"}).refusedWith(http.StatusUnauthorized, types.CodeUnauthorized)
	}},
	{"ticket/ttl-largest", "Ticket", "a ttl of 31536000 seconds is accepted", 0, func(r *run) error {
		ticket, err := r.newTicket(obj{"ttl": maxTTL})
		if err == nil && lifetime(ticket) != 0 && lifetime(ticket) != maxTTL*time.Second {
			err = fmt.Errorf("the ticket says that it lives for %s", lifetime(ticket))
		}
		return err
	}},
	{"ticket/ttl-above", "Ticket", "a ttl of 31536001 seconds is refused", 0, func(r *run) error {
		return r.ticket(obj{"ttl": maxTTL + 1}).refused(0)
	}},
	{"ticket/ttl-positive", "Ticket", "a ttl of 0 or -1 is refused", 0, func(r *run) error {
		return first(r.ticket(obj{"ttl": 0}).refused(0), r.ticket(obj{"ttl": -1}).refused(0))
	}},
	{"ticket/default-ttl", "Ticket", "without a ttl a ticket lives for 86400 seconds", 0, func(r *run) error {
		ticket, err := r.newTicket(nil)
		switch life := lifetime(ticket); {
		case err != nil:
			return err
		case life == 0:
			return notTried("the ticket does not say when it ends, and waiting would take a day")
		case life != defaultTTL*time.Second:
			return fmt.Errorf("the ticket says that it lives for %s", life)
		}
		return nil
	}},
	{"ticket/lifetime", "Ticket", "a ticket lives for its ttl, however it is used; an expired one gets HTTP 401", 0, func(r *run) error {
		const ttl = 8
		ticket := must(r.newTicket(obj{"ttl": ttl}))
		end := time.Now().Add(ttl * time.Second)
		early := r.do(call{op: opQueryOrders, token: ticket, body: unknownOrder()})
		check(early.ok())
		check(wait(r.ctx, time.Until(end.Add(-2500*time.Millisecond))))
		if err := r.do(call{op: opQueryOrders, token: ticket, body: unknownOrder()}).ok(); err != nil {
			return fmt.Errorf("before its end: %w", err)
		}
		check(wait(r.ctx, time.Until(end.Add(1500*time.Millisecond))))
		late := r.do(call{op: opQueryOrders, token: ticket, body: unknownOrder()})
		if err := late.refusedWith(http.StatusUnauthorized, 0); err != nil {
			return fmt.Errorf("after its end: %w", err)
		}
		r.find("an expired ticket gets code %d", *late.Code)
		return nil
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

// trivial is a body that an operation may refuse, and that is refused earlier without a token.
func trivial(op operation) obj {
	if op == opQueryOrders {
		return unknownOrder()
	}
	return obj{}
}

// anySession is a session of nobody, for operations that need one.
func anySession(op operation) string {
	if op == opHotelRates || op == opCheckAvail {
		return "probe-no-session"
	}
	return ""
}

var authRules = []Rule{
	{"auth/missing-token", "Authentication", "every operation without a token gets HTTP 401", 0, func(r *run) error {
		return r.eachOp(func(op operation) error {
			return r.do(call{op: op, token: nobody, session: anySession(op), body: trivial(op),
				edit: func(h http.Header) { h.Del("Authorization") }}).refusedWith(http.StatusUnauthorized, 0)
		})
	}},
	{"auth/unknown-token", "Authentication", "every operation with an unknown token gets HTTP 401", 0, func(r *run) error {
		codes := map[int64]bool{}
		err := r.eachOp(func(op operation) error {
			a := r.do(call{op: op, token: nobody, session: anySession(op), body: trivial(op)})
			if a.Exchange != nil && a.Code != nil {
				codes[*a.Code] = true
			}
			return a.refusedWith(http.StatusUnauthorized, 0)
		})
		if len(codes) == 1 {
			for code := range codes {
				r.find("an unknown token gets code %d", code)
			}
		}
		return err
	}},
	{"auth/ticket-needs-none", "Authentication", "Ticket ignores an Authorization header", 0, func(r *run) error {
		return r.do(call{op: opTicket, edit: func(h http.Header) { h.Set("Authorization", "Bearer "+nobody) },
			body: obj{"appKey": r.cfg.Credential.AppKey, "appSecret": r.cfg.Credential.AppSecret.Reveal()}}).ok()
	}},
}

func (r *run) eachOp(try func(operation) error) error {
	var errs []error
	for _, op := range readOps {
		errs = append(errs, try(op))
	}
	return first(errs...)
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

// scoped returns a token with one scope, of those that the client has.
func (r *run) scoped(scope types.Scope) (string, error) {
	token, a := r.oauth(string(scope), nil)
	if token == "" {
		return "", notTried("the client got no token for %s: %s", scope, a)
	}
	return token, nil
}

var oauthRules = []Rule{
	{"oauth/token", "Authentication", "client credentials get an access token", NeedOAuth, func(r *run) error {
		token, a := r.oauth("search:read", nil)
		check(a.unjudged())
		breaks(token == "", "expected an access_token, got %s", a)
		form, members := "at the top level", obj{}
		if len(a.Data) > 0 {
			form = "in the envelope"
			_ = json.Unmarshal(a.Data, &members)
		} else {
			_ = json.Unmarshal(a.raw.body, &members)
		}
		r.find("the token is %s; members: %s", form, strings.Join(slices.Sorted(maps.Keys(members)), " "))
		return nil
	}},
	{"oauth/wrong-secret", "Authentication", "a wrong client secret gets no token", NeedOAuth, func(r *run) error {
		token, a := r.oauth("search:read", obj{"client_secret": wrongSecret})
		if err := a.unjudged(); err != nil || token == "" {
			return err
		}
		return fmt.Errorf("expected a refusal, got a token")
	}},
	{"oauth/invalid-scope", "Authentication", "an unknown scope is refused as invalid_scope", NeedOAuth, func(r *run) error {
		token, a := r.oauth("probe:none", nil)
		switch err := a.unjudged(); {
		case err != nil:
			return err
		case token != "":
			return fmt.Errorf("expected a refusal, got a token")
		case !strings.Contains(string(a.raw.body), "invalid_scope"):
			return fmt.Errorf("expected invalid_scope, got %s", a)
		}
		return nil
	}},
	{"oauth/no-scopes", "Authentication", "a token with no scopes is refused", NeedOAuth, func(r *run) error {
		token, a := r.oauth("", nil)
		if token == "" {
			return a.unjudged() // refused at once
		}
		return r.do(call{op: opQueryOrders, token: token, body: unknownOrder()}).failed(0)
	}},
	{"oauth/voucher-scope", "OrderVoucher", "a token without booking:read gets HTTP 403 from OrderVoucher", NeedOAuth, func(r *run) error {
		token := must(r.scoped(types.ScopeSearchRead))
		a := r.do(call{op: opOrderVoucher, token: token, body: obj{"customerReferenceNo": unknownReference}})
		check(a.refusedWith(http.StatusForbidden, 0))
		r.find("a missing scope gets code %d", *a.Code)
		return nil
	}},
	{"oauth/guards", "Authentication", "which scope guards what", NeedOAuth, func(r *run) error {
		guards := map[string][]string{}
		for _, scope := range scopes {
			token, err := r.scoped(scope)
			if err != nil {
				continue // the client does not have it
			}
			for _, op := range readOps {
				a := r.do(call{op: op, token: token, session: anySession(op), body: trivial(op)})
				if a.err == nil && a.Status != http.StatusForbidden && a.Status != http.StatusUnauthorized && a.unjudged() == nil {
					guards[string(scope)] = append(guards[string(scope)], string(op))
				}
			}
		}
		var found []string
		for _, scope := range scopes {
			if ops := guards[string(scope)]; len(ops) > 0 {
				found = append(found, fmt.Sprintf("%s: %s", scope, strings.Join(ops, " ")))
			}
		}
		if len(found) == 0 {
			return notTried("no scope opened an operation")
		}
		r.find("%s", strings.Join(found, "; "))
		return nil
	}},
}
