// Credentials, and the two operations that exchange a credential for a token.

package hotelstays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	defaultTicketTTL = 24 * time.Hour
	maxTicketTTL     = 365 * 24 * time.Hour
)

// TicketCredential exchanges an application's key and secret for tickets.
type TicketCredential struct {
	AppKey    string
	AppSecret types.Secret
	// AppSecretFrom returns the current secret, for example from a vault. Set it instead of AppSecret. The client calls
	// AppSecretFrom before it fetches a ticket, and once more if the service refuses the secret. ctx has the context
	// values of a call that waits for the ticket. After 20 seconds ctx ends, and AppSecretFrom must return.
	AppSecretFrom func(ctx context.Context) (types.Secret, error) `json:"-"`
	// TTL is the lifetime of a ticket in whole seconds, at most 365 days. 0: the default, 24 hours.
	TTL time.Duration
}

func (t TicketCredential) request() *TicketRequest {
	return &TicketRequest{AppKey: t.AppKey, AppSecret: t.AppSecret, TTL: t.TTL}
}

func (t TicketCredential) snapshot() Credential { return t }

func (t TicketCredential) validate(v *validation) {
	req := t.request()
	v.secretSource("AppSecretFrom", t.AppSecretFrom, &req.AppSecret)
	req.validate(v)
}

func (t TicketCredential) account() string { return "ticket:" + t.AppKey }
func (t TicketCredential) callbacks() bool { return true }

func (t TicketCredential) tokenID(secret types.Secret) string {
	return hashed(t.account(), secret.Reveal())
}

func (t TicketCredential) secret(ctx context.Context) (types.Secret, error) {
	return askSecret(ctx, t.AppSecret, "AppSecretFrom", t.AppSecretFrom)
}

func (t TicketCredential) fetch(ctx context.Context, c *Client, secret types.Secret) (types.Secret, time.Duration, error) {
	req := t.request()
	req.AppSecret = secret
	resp, err := invoke(ctx, c, OpTicket, req, queued)
	if err != nil {
		return types.Secret{}, 0, err
	}
	return resp.Ticket, cmp.Or(t.TTL, defaultTicketTTL), nil
}

// OAuthCredential gets access tokens by the client-credentials grant. With this credential Book refuses a CallbackURL.
type OAuthCredential struct {
	ClientID     string
	ClientSecret types.Secret
	// ClientSecretFrom returns the current secret, like AppSecretFrom of a TicketCredential. Set it instead of ClientSecret.
	ClientSecretFrom func(ctx context.Context) (types.Secret, error) `json:"-"`
	// Scopes are the scopes to request. If the OAuth client is not registered for a scope, the error is ErrInvalidScope.
	// Without Scopes the service uses its default, which is undocumented. Every operation refuses a token without
	// scopes.
	Scopes []types.Scope
	// Lifetime is how long the client uses a token. You choose it, because the document names no lifetime. 0: the client
	// uses a token until the service refuses it.
	Lifetime time.Duration
}

func (o OAuthCredential) request() *OAuthTokenRequest {
	return &OAuthTokenRequest{ClientID: o.ClientID, ClientSecret: o.ClientSecret, Scopes: o.Scopes}
}

func (o OAuthCredential) snapshot() Credential {
	o.Scopes = slices.Clone(o.Scopes)
	return o
}

func (o OAuthCredential) validate(v *validation) {
	req := o.request()
	v.secretSource("ClientSecretFrom", o.ClientSecretFrom, &req.ClientSecret)
	req.validate(v)
	if o.Lifetime < 0 {
		v.add("Lifetime", "is negative")
	}
}

func (o OAuthCredential) tokenID(secret types.Secret) string {
	scopes := slices.Sorted(slices.Values(o.Scopes))
	return hashed(o.account(), joinScopes(scopes), secret.Reveal())
}

func (o OAuthCredential) account() string { return "oauth:" + o.ClientID }
func (o OAuthCredential) callbacks() bool { return false }

func (o OAuthCredential) secret(ctx context.Context) (types.Secret, error) {
	return askSecret(ctx, o.ClientSecret, "ClientSecretFrom", o.ClientSecretFrom)
}

func (o OAuthCredential) fetch(ctx context.Context, c *Client, secret types.Secret) (types.Secret, time.Duration, error) {
	req := o.request()
	req.ClientSecret = secret
	resp, err := invoke(ctx, c, OpOAuthToken, req, queued)
	if err != nil {
		return types.Secret{}, 0, err
	}
	return resp.AccessToken, o.Lifetime, nil
}

// TokenCredential is a token that you got yourself. The client never renews the token: once the service refuses it,
// calls fail with ErrUnauthorized. Each token counts as a separate account, so only a client with the same token can
// continue a BookingRecovery.
type TokenCredential struct{ Token types.Secret }

func (t TokenCredential) snapshot() Credential { return t }

func (t TokenCredential) validate(v *validation) {
	v.required("Token", t.Token.Reveal())
	if !isHeaderValue(t.Token.Reveal()) {
		v.add("Token", "contains characters that a header cannot carry, such as a line break at its end")
	}
	v.secret("Token", t.Token.Reveal())
}

func (t TokenCredential) tokenID(types.Secret) string                  { return "" }
func (t TokenCredential) account() string                              { return "token:" + t.Token.Reveal() }
func (t TokenCredential) secret(context.Context) (types.Secret, error) { return t.Token, nil }
func (t TokenCredential) callbacks() bool                              { return true } // the token may be a ticket, which allows callbacks

func (t TokenCredential) fetch(context.Context, *Client, types.Secret) (types.Secret, time.Duration, error) {
	return t.Token, 0, nil
}

// queued is the option of token requests. Many accounts may wait for the few slots of Ticket, so the wait for a slot is not
// part of the time limit.
var queued = []CallOption{callOption(func(s *settings) { s.queued = true })}

// secretSource refuses a credential that has both a fixed secret and a function that returns the secret. If only the
// function is set, a placeholder becomes the fixed secret, because the caller refuses an empty secret.
func (v *validation) secretSource(name string, from func(context.Context) (types.Secret, error), fixed *types.Secret) {
	switch {
	case from == nil:
	case !fixed.IsZero():
		v.add(name, "is set together with the secret itself; set only one")
	default:
		*fixed = types.NewSecret("asked for later")
	}
}

func askSecret(ctx context.Context, fixed types.Secret, name string, from func(context.Context) (types.Secret, error)) (types.Secret, error) {
	if from == nil {
		return fixed, nil
	}
	secret, err := from(ctx)
	var f faults
	f.required(name, secret.Reveal())
	f.secret(name, secret.Reveal())
	switch {
	case err != nil:
		return types.Secret{}, fmt.Errorf("%s failed: %w", name, err)
	case len(f) > 0: // not a ValidationError, because the request is valid
		return types.Secret{}, fmt.Errorf("%s returned an invalid secret: it %s", name, f[0].Problem)
	}
	return secret, nil
}

// NewFromEnv calls New with the environment variables HOTELSTAYS_BASE_URL, HOTELSTAYS_APP_KEY and HOTELSTAYS_APP_SECRET.
// The *ValidationError names the variables that are missing or invalid.
func NewFromEnv(opts ...Option) (*Client, error) {
	var f faults
	variable := func(name string) string {
		value := os.Getenv(name)
		switch {
		case value == "":
			f.add(name, "is not set; set this environment variable")
		case !isHeaderValue(value): // often the value was read from a file, and still has the line break of that file
			f.add(name, "begins or ends with a space or a line break, or contains a control character")
		}
		return value
	}
	baseURL := variable("HOTELSTAYS_BASE_URL")
	cred := TicketCredential{AppKey: variable("HOTELSTAYS_APP_KEY"), AppSecret: types.NewSecret(variable("HOTELSTAYS_APP_SECRET"))}
	if err := f.err("NewFromEnv"); err != nil {
		return nil, err
	}
	c, err := New(baseURL, cred, opts...)
	if invalid, ok := errors.AsType[*ValidationError](err); ok {
		names := strings.NewReplacer("baseURL", "HOTELSTAYS_BASE_URL", "appKey", "HOTELSTAYS_APP_KEY", "appSecret", "HOTELSTAYS_APP_SECRET")
		for i, field := range invalid.Fields {
			invalid.Fields[i].Path = names.Replace(field.Path)
		}
	}
	return c, err
}

// TicketRequest asks for a ticket. Its JSON has "[redacted]" in place of AppSecret. After you have decoded this JSON, set
// AppSecret again: Ticket refuses a redacted secret.
type TicketRequest struct {
	AppKey    string       `json:"appKey"`    // required
	AppSecret types.Secret `json:"appSecret"` // required
	// TTL is the lifetime of the ticket in whole seconds, at most 365 days. 0: the default, 24 hours.
	TTL time.Duration `json:"ttl,omitempty"`
}

func (r *TicketRequest) validate(v *validation) {
	v.required("appKey", r.AppKey)
	v.required("appSecret", r.AppSecret.Reveal())
	v.secret("appSecret", r.AppSecret.Reveal())
	switch {
	case r.TTL < 0 || r.TTL > maxTicketTTL:
		v.add("ttl", "is %s; it must be positive and at most %s", r.TTL, maxTicketTTL)
	case r.TTL%time.Second != 0:
		v.add("ttl", "is %s; it must be in whole seconds", r.TTL)
	}
}

func (r *TicketRequest) parts() parts {
	body := struct {
		AppKey    string `json:"appKey"`
		AppSecret string `json:"appSecret"`
		TTL       int64  `json:"ttl,omitempty"`
	}{r.AppKey, r.AppSecret.Reveal(), int64(r.TTL / time.Second)}
	return parts{body: body, secrets: []types.Secret{r.AppSecret}}
}

func (*TicketRequest) check(resp *TicketResponse, x *exchange) error {
	x.secrets = append(x.secrets, resp.Ticket.Reveal())
	return checkToken("data.ticket", resp.Ticket)
}

func checkToken(field string, token types.Secret) error {
	switch {
	case token.IsZero():
		return missing(field)
	case !isHeaderValue(token.Reveal()):
		return fmt.Errorf("%s contains characters that a header cannot carry, or begins or ends with a space", field)
	}
	return nil
}

// TicketResponse holds a ticket. The ticket expires when its TTL has passed since the answer. Using the ticket does not
// extend this time.
type TicketResponse struct {
	Ticket types.Secret `json:"ticket"`
	Meta   ResponseMeta `json:"-"`
}

// Ticket exchanges a key and a secret for a ticket. A Client with a TicketCredential does this itself. If the service
// refuses the key or the secret, the error is ErrUnauthorized.
func (c *Client) Ticket(ctx context.Context, req *TicketRequest, opts ...CallOption) (*TicketResponse, error) {
	return invoke(ctx, c, OpTicket, req, opts)
}

// OAuthTokenRequest asks for an access token by the client-credentials grant.
type OAuthTokenRequest struct {
	ClientID     string       `json:"client_id"`     // required
	ClientSecret types.Secret `json:"client_secret"` // required
	// Scopes are the scopes to request. If Scopes is empty, the service uses its default, which is undocumented.
	Scopes []types.Scope `json:"scope,omitempty"`
}

func (r *OAuthTokenRequest) validate(v *validation) {
	v.required("client_id", r.ClientID)
	v.required("client_secret", r.ClientSecret.Reveal())
	v.secret("client_secret", r.ClientSecret.Reveal())
	for i, s := range r.Scopes {
		if s == "" || strings.ContainsFunc(string(s), unicode.IsSpace) {
			v.add(fmt.Sprintf("scope[%d]", i), "is %q; it must be one scope, without spaces", s)
		}
	}
}

func (r *OAuthTokenRequest) parts() parts {
	body := struct {
		GrantType    string `json:"grant_type"`
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		Scope        string `json:"scope,omitempty"`
	}{"client_credentials", r.ClientID, r.ClientSecret.Reveal(), joinScopes(r.Scopes)}
	return parts{body: body, secrets: []types.Secret{r.ClientSecret}}
}

func (*OAuthTokenRequest) check(resp *OAuthTokenResponse, x *exchange) error {
	var bare OAuthTokenResponse // set if the access_token is outside the field data of the answer
	if _, err := wire.DecodeBare(x.ctx, x.Answer.Body, x.target(&bare)); err != nil {
		bare = OAuthTokenResponse{}
	}
	x.secrets = append(x.secrets, bare.AccessToken.Reveal(), resp.AccessToken.Reveal())
	if !resp.AccessToken.IsZero() && !bare.AccessToken.IsZero() && !resp.AccessToken.Equal(bare.AccessToken) {
		return errTwoTokens
	}
	return checkToken("access_token", resp.AccessToken)
}

func joinScopes(scopes []types.Scope) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = string(s)
	}
	return strings.Join(words, " ")
}

// OAuthTokenResponse holds an access token. WithRawData keeps the answer's other fields, which are undocumented.
type OAuthTokenResponse struct {
	AccessToken types.Secret `json:"access_token"`
	Meta        ResponseMeta `json:"-"`
}

// OAuthToken gets an access token. A Client with an OAuthCredential does this itself. The error is ErrInvalidScope if the
// OAuth client is not registered for a scope.
func (c *Client) OAuthToken(ctx context.Context, req *OAuthTokenRequest, opts ...CallOption) (*OAuthTokenResponse, error) {
	return invoke(ctx, c, OpOAuthToken, req, opts)
}
