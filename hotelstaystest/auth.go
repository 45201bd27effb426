// Authentication: Ticket, OAuthToken, sessions, and the check of a call's token, scope,
// market and user.

package hotelstaystest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

const (
	defaultTTL = 86_400     // seconds
	maxTTL     = 31_536_000 // seconds
)

// token is a ticket or an access token. Its text contains all its fields and a proof, so that the
// server need not store tokens.
type token struct {
	Account string        `json:"sub"`
	Issued  int64         `json:"iat"`
	Expires int64         `json:"exp"`
	Until   time.Time     `json:"until"` // Expires, with fractions of a second
	Number  int64         `json:"jti"`
	Scopes  []types.Scope `json:"scope"`
	OAuth   bool          `json:"oauth,omitempty"`
}

// newToken returns a token as text (a JWT).
func (s *Server) newToken(tok token, life time.Duration) string {
	now := s.clock.now()
	tok.Issued, tok.Until, tok.Number = now.Unix(), now.Add(life), s.sessions.Add(1)
	tok.Expires, tok.Scopes = tok.Until.Unix(), append([]types.Scope{}, tok.Scopes...)
	part := func(v any) string {
		b, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(b)
	}
	payload := part(map[string]string{"alg": "HS256", "typ": "JWT"}) + "." + part(tok)
	return payload + "." + s.tokenProof(payload)
}

func (s *Server) tokenProof(payload string) string {
	return base64.RawURLEncoding.EncodeToString(s.mac("token", payload))
}

// findToken checks the proof in a token, and returns the fields of the token. ok is false if this server did not make
// the token, or has revoked it. ok is true for an expired token.
func (s *Server) findToken(text string) (tok token, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || !sameText(parts[2], s.tokenProof(parts[0]+"."+parts[1])) {
		return tok, false
	}
	claims, _ := base64.RawURLEncoding.DecodeString(parts[1]) // cannot fail: the proof shows that this server wrote the claims
	_ = json.Unmarshal(claims, &tok)
	return tok, tok.Number > s.revoked.Load()
}

var authOperations = []operation{
	{opTicket, sessionNone, "", runs(runTicket), "Issues a ticket for an appKey and its secret."},
	{opOAuthToken, sessionNone, "", runs(runOAuthToken), "Issues an access token for an OAuth client and its secret."},
}

type ticketRequest struct {
	AppKey    string `json:"appKey"`
	AppSecret string `json:"appSecret"`
	TTL       *int   `json:"ttl"`
}

type ticketResponse struct {
	Ticket string `json:"ticket"`
}

func runTicket(s *Server, c *call, req *ticketRequest) (*ticketResponse, error) {
	if req.AppKey == "" || req.AppSecret == "" {
		return nil, badRequest("appKey and appSecret are required")
	}
	ttl := given(req.TTL, defaultTTL)
	if ttl <= 0 || ttl > maxTTL {
		return nil, badRequest("ttl must be positive and at most %d seconds, not %d", maxTTL, ttl)
	}
	known := slices.ContainsFunc(s.cfg.Accounts, func(a Account) bool {
		return a.AppKey == req.AppKey && sameText(a.AppSecret, req.AppSecret)
	})
	if !known {
		return nil, unauthorized("unknown appKey or wrong appSecret")
	}
	ticket := s.newToken(token{Account: req.AppKey, Scopes: s.cfg.TicketScopes}, time.Duration(ttl)*time.Second)
	s.ledger.tickets.Add(1)
	return &ticketResponse{Ticket: ticket}, nil
}

// mac returns the signature of text, made with the server's key. A signature made for one purpose, such as "token", is
// not valid for another.
func (s *Server) mac(purpose, text string) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(purpose + "\x00" + text))
	return h.Sum(nil)
}

type oauthRequest struct {
	GrantType    string  `json:"grant_type"`
	ClientID     string  `json:"client_id"`
	ClientSecret string  `json:"client_secret"`
	Scope        *string `json:"scope"`
}

type oauthResponse struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int64  `json:"expires_in"`
	Scope       string `json:"scope"`
}

type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

func runOAuthToken(s *Server, c *call, req *oauthRequest) (*oauthResponse, error) {
	if req.GrantType != "client_credentials" {
		return nil, badRequest("grant_type must be client_credentials, not %q", req.GrantType).as("unsupported_grant_type")
	}
	i := slices.IndexFunc(s.cfg.OAuthClients, func(o OAuthClient) bool {
		return o.ClientID == req.ClientID && sameText(o.ClientSecret, req.ClientSecret)
	})
	if i < 0 {
		return nil, unauthorized("invalid_client: unknown client_id or wrong client_secret").as("invalid_client")
	}
	scopes := s.cfg.OAuthClients[i].Scopes
	if req.Scope != nil {
		var asked []types.Scope
		for word := range strings.FieldsSeq(*req.Scope) {
			scope := types.Scope(word)
			if !slices.Contains(scopes, scope) {
				return nil, badRequest("invalid_scope: the client does not have scope %q", scope).as("invalid_scope")
			}
			asked = append(asked, scope)
		}
		scopes = asked
	}
	life := s.cfg.TokenLifetime
	value := s.newToken(token{Account: s.AppKey, Scopes: scopes, OAuth: true}, life)
	s.ledger.tokens.Add(1)
	words := make([]string, len(scopes))
	for i, scope := range scopes {
		words[i] = string(scope)
	}
	return &oauthResponse{
		AccessToken: value, TokenType: "Bearer", ExpiresIn: int64(life / time.Second), Scope: strings.Join(words, " "),
	}, nil
}

func (s *Server) authorize(c *call) error {
	header := c.header.Get("Authorization")
	value, ok := strings.CutPrefix(header, "Bearer ")
	if !ok || value == "" {
		return unauthorized("%s requires the header Authorization: Bearer <token>", c.op.name)
	}
	tok, ok := s.findToken(value)
	if !ok {
		return unauthorized("the token is unknown or revoked")
	}
	if !s.clock.now().Before(tok.Until) {
		return unauthorized("the token has expired")
	}
	c.account, c.oauth = tok.Account, tok.OAuth
	fullAccess := !tok.OAuth && len(tok.Scopes) == 0
	if !fullAccess && !slices.Contains(tok.Scopes, c.op.scope) {
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

// newSession makes a session id. The id contains the session's start and a proof, so that the server
// need not store sessions.
func (s *Server) newSession(account string) string {
	text := base36(s.sessions.Add(1)) + "-" + base36(s.clock.now().UnixNano())
	return "ses-" + text + "-" + s.sessionProof(text, account)
}

// sessionNumber returns the part of a session id that is unique in this server.
func sessionNumber(id string) string {
	number, _, _ := strings.Cut(strings.TrimPrefix(id, "ses-"), "-")
	return number
}

func (s *Server) findSession(id, account string) (known, expired bool) {
	fields := strings.Split(id, "-")
	if len(fields) != 4 || fields[0] != "ses" || !sameText(fields[3], s.sessionProof(fields[1]+"-"+fields[2], account)) {
		return false, false
	}
	number, _ := strconv.ParseInt(fields[1], 36, 64) // cannot fail: the proof shows that this server wrote both fields
	nanos, _ := strconv.ParseInt(fields[2], 36, 64)
	end := time.Unix(0, nanos).Add(s.cfg.SessionLifetime)
	return true, number <= s.expired.Load() || !s.clock.now().Before(end)
}

func (s *Server) sessionProof(text, account string) string {
	return sha256Hex(s.mac("session", text+"\x00"+account))[:20]
}
