// Authentication: Ticket, OAuthToken, sessions, and the check of a call's token, scope,
// market and user.

package hotelstaystest

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	defaultTTL = 86_400     // seconds
	maxTTL     = 31_536_000 // seconds
)

// maxTokens is the number of tokens above which expired ones are dropped.
const maxTokens = 10_000

type token struct {
	account string
	oauth   bool
	scopes  []string
	full    bool // a ticket without scopes has full access
	expires time.Time
}

// tokens are the issued tokens, by their text.
type tokens struct {
	mu     sync.Mutex
	issued map[string]token
}

func newTokens() *tokens { return &tokens{issued: map[string]token{}} }

func (t *tokens) add(value string, tok token, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.issued) >= maxTokens {
		maps.DeleteFunc(t.issued, func(_ string, old token) bool { return !now.Before(old.expires) })
	}
	t.issued[value] = tok
}

func (t *tokens) find(value string) (token, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tok, ok := t.issued[value]
	return tok, ok
}

func (t *tokens) revokeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.issued)
}

func runTicket(s *Server, c *call, req *ticketRequest) (any, error) {
	if req.AppKey == "" || req.AppSecret == "" {
		return nil, badRequest("appKey and appSecret are required")
	}
	ttl := defaultTTL
	if req.TTL != nil {
		ttl = *req.TTL
	}
	if ttl <= 0 || ttl > maxTTL {
		return nil, badRequest("ttl must be positive and at most %d seconds, not %d", maxTTL, ttl)
	}
	known := slices.ContainsFunc(s.cfg.Accounts, func(a Account) bool {
		return a.AppKey == req.AppKey && subtle.ConstantTimeCompare([]byte(a.AppSecret), []byte(req.AppSecret)) == 1
	})
	if !known {
		return nil, unauthorized("unknown appKey or wrong appSecret")
	}
	now := s.clock.now()
	expires := now.Add(time.Duration(ttl) * time.Second)
	ticket := s.signTicket(req.AppKey, now, expires)
	s.tokens.add(ticket, token{account: req.AppKey, scopes: s.cfg.TicketScopes, full: len(s.cfg.TicketScopes) == 0, expires: expires}, now)
	s.ledger.tickets.Add(1)
	return ticketResponse{Ticket: ticket}, nil
}

// signTicket makes a JWT.
func (s *Server) signTicket(appKey string, now, expires time.Time) string {
	part := func(v any) string {
		b, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(b)
	}
	payload := part(map[string]string{"alg": "HS256", "typ": "JWT"}) + "." + part(map[string]any{
		"sub": appKey, "iat": now.Unix(), "exp": expires.Unix(), "jti": s.sessions.next(), "scope": append([]string{}, s.cfg.TicketScopes...),
	})
	return payload + "." + base64.RawURLEncoding.EncodeToString(s.mac("ticket", payload))
}

// mac signs text with the server's key. A signature is valid for one purpose only.
func (s *Server) mac(purpose, text string) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(purpose + "\x00" + text))
	return h.Sum(nil)
}

func runOAuthToken(s *Server, c *call, req *oauthRequest) (any, error) {
	if req.GrantType != "client_credentials" {
		f := badRequest("grant_type must be client_credentials, not %q", req.GrantType)
		f.oauth = "unsupported_grant_type"
		return nil, f
	}
	i := slices.IndexFunc(s.cfg.OAuthClients, func(o OAuthClient) bool {
		return o.ClientID == req.ClientID && subtle.ConstantTimeCompare([]byte(o.ClientSecret), []byte(req.ClientSecret)) == 1
	})
	if i < 0 {
		f := unauthorized("invalid_client: unknown client_id or wrong client_secret")
		f.oauth = "invalid_client"
		return nil, f
	}
	scopes := s.cfg.OAuthClients[i].Scopes
	if req.Scope != nil {
		asked := strings.Fields(*req.Scope)
		for _, scope := range asked {
			if !slices.Contains(scopes, scope) {
				f := badRequest("invalid_scope: the client does not have scope %q", scope)
				f.oauth = "invalid_scope"
				return nil, f
			}
		}
		scopes = asked
	}
	value := base64.RawURLEncoding.EncodeToString(s.mac("access", base36(s.sessions.next())))
	now, life := s.clock.now(), time.Duration(s.cfg.TokenLifetime)
	s.tokens.add(value, token{account: s.AppKey, oauth: true, scopes: scopes, expires: now.Add(life)}, now)
	s.ledger.tokens.Add(1)
	resp := oauthResponse{
		AccessToken: value, TokenType: "Bearer", ExpiresIn: int64(life / time.Second), Scope: strings.Join(scopes, " "),
	}
	if s.cfg.Variants.OAuthTopLevel {
		return topLevel{resp}, nil
	}
	return resp, nil
}

// authorize checks the token, its scope, the market and the user.
func (s *Server) authorize(c *call) error {
	header := c.header.Get("Authorization")
	value, ok := strings.CutPrefix(header, "Bearer ")
	if !ok || value == "" {
		return unauthorized("%s requires the header Authorization: Bearer <token>", c.op.name)
	}
	tok, ok := s.tokens.find(value)
	if !ok {
		return unauthorized("the token is unknown or revoked")
	}
	if !s.clock.now().Before(tok.expires) {
		return unauthorized("the token has expired")
	}
	c.account, c.oauth = tok.account, tok.oauth
	if !tok.full && !slices.Contains(tok.scopes, c.op.scope) {
		return forbidden("%s requires scope %s, which the token does not have", c.op.name, c.op.scope)
	}
	if err := s.checkMarket(c); err != nil {
		return err
	}
	return s.checkUser(c)
}

func (s *Server) checkMarket(c *call) error {
	if len(s.cfg.Markets) == 0 {
		return nil
	}
	market := c.header.Get("Market")
	if market == "" {
		return forbidden("the account is restricted to markets; the Market header is required")
	}
	if !slices.Contains(s.cfg.Markets, market) {
		return forbidden("the account does not sell in market %s", market)
	}
	return nil
}

func (s *Server) checkUser(c *call) error {
	if len(s.cfg.UserRefs) == 0 {
		return nil
	}
	user := c.header.Get("User-Ref")
	if user == "" {
		return forbidden("the account has named users; the User-Ref header is required")
	}
	scopes, ok := s.cfg.UserRefs[user]
	if !ok {
		return forbidden("unknown user %q", user)
	}
	if !slices.Contains(scopes, c.op.scope) {
		return forbidden("%s requires scope %s, which user %q does not have", c.op.name, c.op.scope, user)
	}
	return nil
}

// newSession makes a session id. It contains its start and its own proof, so that sessions
// cost no memory.
func (s *Server) newSession(account string) string {
	text := base36(s.sessions.next()) + "-" + base36(s.clock.now().UnixNano())
	return "ses-" + text + "-" + s.sessionProof(text, account)
}

// findSession returns whether a session of the account is known, which means that this server
// made its id, and whether it has expired.
func (s *Server) findSession(id, account string) (known, expired bool) {
	fields := strings.Split(id, "-")
	if len(fields) != 4 || fields[0] != "ses" || !sameText(fields[3], s.sessionProof(fields[1]+"-"+fields[2], account)) {
		return false, false
	}
	number, _ := strconv.ParseInt(fields[1], 36, 64) // the proof is of both
	nanos, _ := strconv.ParseInt(fields[2], 36, 64)
	life := time.Duration(s.cfg.SessionLifetime)
	return true, number <= s.expired.Load() || life > 0 && !s.clock.now().Before(time.Unix(0, nanos).Add(life))
}

func (s *Server) sessionProof(text, account string) string {
	return sha256Hex(s.mac("session", text+"\x00"+account))[:20]
}
