package hotelstaystest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestTicketOfAnotherServerIsUnknown(t *testing.T) {
	u := login(t, start(t))
	u.with(login(t, start(t)).token).refused(destinationsPath, "{}", 401, types.CodeUnauthorized, "unknown")
}

func TestTokensExpireAtTheEndOfTheirLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{
			NoRateLimits:  true,
			OAuthClients:  []OAuthClient{{ClientID: "c", ClientSecret: "cs", Scopes: []types.Scope{types.ScopeContentRead}}},
			TokenLifetime: 24 * time.Hour,
		})
		u := login(t, s).plain() // the default ttl of a ticket is a day
		u.refused(oauthPath, object{"grant_type": "client_credentials", "client_id": "c"}, 401, types.CodeUnauthorized, "invalid_client")
		r := u.must(oauthPath, object{"grant_type": "client_credentials", "client_id": "c", "client_secret": "cs"})
		failIf(t, r.str("expires_in") != "86400" || r.header.Get("X-RateLimit-Limit") != "", "%s with %v", r.body, r.header)
		same(t, s.Ledger().TicketsIssued()+s.Ledger().TokensIssued(), 2)
		oauth := u.with(r.str("access_token"))
		oauth.refused(queryPath, "{}", 403, codeForbidden, string(types.ScopeBookingRead))
		s.Advance(24*time.Hour - 1)
		oauth.must(destinationsPath, "{}")
		u.must(destinationsPath, "{}")
		s.Advance(1)
		oauth.refused(destinationsPath, "{}", 401, types.CodeUnauthorized, "expired")
		u.refused(destinationsPath, "{}", 401, types.CodeUnauthorized, "expired")
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
