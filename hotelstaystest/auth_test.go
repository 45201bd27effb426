package hotelstaystest

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestTicketRequiresTheRightSecret(t *testing.T) {
	s := start(t, Config{NoRateLimits: true})
	u := &user{t: t, s: s, http: s.Client()}
	pair := func(more object) object {
		return with(object{"appKey": s.AppKey, "appSecret": s.AppSecret}, more)
	}
	for _, tc := range []struct {
		body   any
		status int
		code   int
		msg    string
	}{
		{pair(object{"ttl": 0}), 400, types.CodeParam, "ttl"},
		{pair(object{"ttl": -5}), 400, types.CodeParam, "ttl"},
		{pair(object{"ttl": 31536001}), 400, types.CodeParam, "ttl"},
		{object{"appKey": s.AppKey}, 400, types.CodeParam, "appSecret"},
		{pair(object{"appSecret": "wrong"}), 401, types.CodeUnauthorized, ""},
		{pair(object{"appKey": "unknown"}), 401, types.CodeUnauthorized, ""},
	} {
		u.refused(ticketPath, tc.body, tc.status, tc.code, tc.msg)
	}
	u.must(ticketPath, pair(object{"ttl": 31536000}))
	ticket := u.must(ticketPath, pair(nil)).str("ticket")
	parts := strings.Split(ticket, ".")
	stopIf(t, len(parts) != 3, "%q is not a JWT", ticket)
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct{ Iat, Exp int64 }
	failIf(t, err != nil || json.Unmarshal(raw, &claims) != nil || claims.Exp-claims.Iat != 86400, "claims are %s", raw)
	same(t, s.Ledger().TicketsIssued(), 2)
	u.refused(destinationsPath, "{}", 401, types.CodeUnauthorized, "Authorization")
	u.with("made-up").refused(destinationsPath, "{}", 401, types.CodeUnauthorized, "unknown")
	other := start(t)
	u.with(login(t, other).token).refused(destinationsPath, "{}", 401, types.CodeUnauthorized, "unknown")
}

func TestTokenHasOnlyTheScopesOfItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{
			NoRateLimits:  true,
			OAuthClients:  []OAuthClient{{ClientID: "c", ClientSecret: "cs", Scopes: []types.Scope{types.ScopeContentRead, types.ScopeSearchRead}}},
			TokenLifetime: time.Minute,
		})
		u := &user{t: t, s: s, http: s.Client()}
		body := func(more object) object {
			return with(object{"grant_type": "client_credentials", "client_id": "c", "client_secret": "cs"}, more)
		}
		u.refused(oauthPath, body(object{"grant_type": "password"}), 400, types.CodeParam, "grant_type")
		u.refused(oauthPath, body(object{"client_secret": "x"}), 401, types.CodeUnauthorized, "invalid_client")
		u.refused(oauthPath, body(object{"scope": "content:read booking:write"}), 400, types.CodeParam, "invalid_scope")

		r := u.must(oauthPath, body(object{"scope": "content:read"}))
		failIf(t, r.str("expires_in") != "60" || r.header.Get("X-RateLimit-Limit") != "", "%s with %v", r.body, r.header)
		narrow := u.with(r.str("access_token"))
		narrow.must(destinationsPath, "{}")
		narrow.refused(listPath, search(s, nil), 403, codeForbidden, string(types.ScopeSearchRead))
		full := u.with(u.must(oauthPath, body(nil)).str("access_token"))
		full.must(listPath, search(s, nil))
		full.refused(queryPath, "{}", 403, codeForbidden, string(types.ScopeBookingRead))
		none := u.with(u.must(oauthPath, body(object{"scope": ""})).str("access_token"))
		none.refused(destinationsPath, "{}", 403, codeForbidden, string(types.ScopeContentRead))
		same(t, s.Ledger().TokensIssued(), 3)
		ticket := u.with(u.must(ticketPath, object{"appKey": s.AppKey, "appSecret": s.AppSecret, "ttl": 60}).str("ticket"))
		s.Advance(time.Minute - 1)
		full.must(destinationsPath, "{}")
		ticket.must(destinationsPath, "{}")
		s.Advance(1)
		full.refused(destinationsPath, "{}", 401, types.CodeUnauthorized, "expired")
		ticket.refused(destinationsPath, "{}", 401, types.CodeUnauthorized, "expired")
	})
}

func TestCallsNeedAnAllowedMarketAndUser(t *testing.T) {
	s := start(t, Config{Markets: []string{"AE", "SA"}, UserRefs: map[string][]types.Scope{"reader": {types.ScopeContentRead}, "nobody": nil}})
	u := login(t, s) // Ticket needs neither a Market nor a User-Ref header
	u.refused(destinationsPath, "{}", 403, codeForbidden, "Market header is required")
	u.header("Market", "FR").refused(destinationsPath, "{}", 403, codeForbidden, "market FR")
	u = u.header("Market", "SA")
	u.refused(destinationsPath, "{}", 403, codeForbidden, "User-Ref header is required")
	u.header("User-Ref", "stranger").refused(destinationsPath, "{}", 403, codeForbidden, "stranger")
	u.header("User-Ref", "nobody").refused(destinationsPath, "{}", 403, codeForbidden, string(types.ScopeContentRead))
	u.header("User-Ref", "reader").must(destinationsPath, "{}")
	u.header("User-Ref", "reader").refused(queryPath, "{}", 403, codeForbidden, string(types.ScopeBookingRead))
}

func TestAnswersOfOAuthTokenHaveNoEnvelopeWithOAuthTopLevel(t *testing.T) {
	s := start(t, Config{Variants: Variants{OAuthTopLevel: true}})
	u := &user{t: t, s: s, http: s.Client()}
	body := object{"grant_type": "client_credentials", "client_id": s.ClientID, "client_secret": s.ClientSecret}
	var ok struct {
		Code        *int
		AccessToken string `json:"access_token"`
	}
	if r := u.post(oauthPath, body); json.Unmarshal(r.body, &ok) != nil || ok.Code != nil || ok.AccessToken == "" {
		t.Errorf("success is %s", r.body)
	}
	body["scope"] = "everything"
	var bad struct{ Error string }
	if r := u.post(oauthPath, body); r.status != 400 || json.Unmarshal(r.body, &bad) != nil || bad.Error != "invalid_scope" {
		t.Errorf("failure is HTTP %d %s", r.status, r.body)
	}
	u.refused(ticketPath, "{}", 400, types.CodeParam, "appKey")
}
