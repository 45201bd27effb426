// The configuration of a server, which is also its JSON file.

package hotelstaystest

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// ErrInvalidOption is matched by every error about an option or a [Config].
var ErrInvalidOption = errors.New("hotelstaystest: invalid option")

// Config is the configuration of a [Server], set by options or read by [ParseConfig]. The
// option of a field documents it.
type Config struct {
	Addr        string   `json:"addr"`        // WithAddr
	AllowRemote bool     `json:"allowRemote"` // WithAllowRemote
	TLS         bool     `json:"tls"`         // WithTLS
	TLSNames    []string `json:"tlsNames"`    // WithTLSNames
	HTTP1Only   bool     `json:"http1Only"`   // WithHTTP1Only
	InMemory    bool     `json:"inMemory"`    // WithInMemory
	Compression bool     `json:"compression"` // WithCompression
	Seed        uint64   `json:"seed"`        // WithSeed
	Catalog     Catalog  `json:"catalog"`     // WithCatalog

	Accounts        []Account                `json:"accounts"`        // WithAccount; empty: one is made
	OAuthClients    []OAuthClient            `json:"oauthClients"`    // WithOAuthClient; empty: one is made
	TicketScopes    []types.Scope            `json:"ticketScopes"`    // WithTicketScopes
	Markets         []string                 `json:"markets"`         // WithMarkets
	UserRefs        map[string][]types.Scope `json:"userRefs"`        // WithUserRefs
	TokenLifetime   Duration                 `json:"tokenLifetime"`   // WithTokenLifetime
	SessionLifetime Duration                 `json:"sessionLifetime"` // WithSessionLifetime; 0: without end

	Unlimited      bool               `json:"unlimited"`      // WithoutRateLimits
	RateLimits     map[Operation]int  `json:"rateLimits"`     // WithRateLimit
	VisibilityBand bool               `json:"visibilityBand"` // WithVisibilityBand
	EmptyReason    *types.EmptyReason `json:"emptyReason"`    // WithEmptyReason; nil: none
	Notices        []string           `json:"notices"`        // WithNotices

	RequiredGuestFields []string   `json:"requiredGuestFields"` // WithRequiredGuestFields
	ConfirmAfter        Duration   `json:"confirmAfter"`        // WithConfirmAfter
	LateVisibility      Duration   `json:"lateVisibility"`      // WithLateVisibility
	CancelRule          CancelRule `json:"cancelRule"`          // WithCancelRule
	CancelCutoff        Duration   `json:"cancelCutoff"`        // WithCancelCutoff

	VoucherDelay        Duration `json:"voucherDelay"`        // WithVoucherDelay
	VoucherLinkLifetime Duration `json:"voucherLinkLifetime"` // WithVoucherLinkLifetime
	VoucherSize         int      `json:"voucherSize"`         // WithVoucherSize
	UnsignedVouchers    bool     `json:"unsignedVouchers"`    // WithUnsignedVouchers

	Webhooks WebhookConfig `json:"webhooks"`
	Variants Variants      `json:"variants"`
	Control  ControlConfig `json:"control"`

	LedgerLimit int `json:"ledgerLimit"` // WithLedgerLimit
}

// Account holds credentials for tickets.
type Account struct {
	AppKey    string `json:"appKey"`
	AppSecret string `json:"appSecret"`
}

// OAuthClient holds OAuth credentials. It acts for the first account.
type OAuthClient struct {
	ClientID     string        `json:"clientId"`
	ClientSecret string        `json:"clientSecret"`
	Scopes       []types.Scope `json:"scopes"` // empty: all
}

// WebhookConfig is the part of [Config] about webhooks.
type WebhookConfig struct {
	Secret          string                                 `json:"secret"`          // WithWebhookSecret
	Unsigned        bool                                   `json:"unsigned"`        // WithUnsignedWebhooks
	StrictCallbacks bool                                   `json:"strictCallbacks"` // WithStrictCallbacks
	CallbackHosts   []string                               `json:"callbackHosts"`   // WithCallbackHosts
	RetryDelays     []Duration                             `json:"retryDelays"`     // WithWebhookRetryDelays
	Timeout         Duration                               `json:"timeout"`         // WithWebhookTimeout
	Events          map[WebhookTrigger][]types.WebhookKind `json:"events"`          // WithWebhookEvents

	CallbackHandler http.Handler   `json:"-"` // WithCallbackHandler
	CallbackRoots   *x509.CertPool `json:"-"` // WithCallbackRoots
}

// ControlConfig is the part of [Config] about the control API.
type ControlConfig struct {
	Enabled bool `json:"enabled"` // WithControl
	// Token, if set, is required of every control request, as "Authorization: Bearer <token>".
	// With WithAllowRemote it has at least 16 characters.
	Token string `json:"token"`
	// Hosts are the names that requests may be sent to, without ports, beside localhost,
	// loopback addresses and WithTLSNames. With WithAllowRemote control requests may be sent
	// to any address too, and others to any host.
	Hosts []string `json:"hosts"`

	// Page, if set, makes the handler of GET /_sandbox/ and of the paths below /_sandbox/page/.
	Page func(*Server) http.Handler `json:"-"`
}

// Variants is the part of [Config] about points that the API's reference leaves open.
type Variants struct {
	OAuthTopLevel         bool               `json:"oauthTopLevel"`         // WithOAuthTopLevel
	WithoutTotals         bool               `json:"withoutTotals"`         // WithoutTotals
	Available             int                `json:"available"`             // WithAvailabilityNumbers
	Unavailable           int                `json:"unavailable"`           // WithAvailabilityNumbers
	RemarkInBasic         bool               `json:"remarkInBasic"`         // WithRemarkInBasic
	BusinessFailureStatus int                `json:"businessFailureStatus"` // WithBusinessFailureStatus
	OrderStatusNumbers    OrderStatusNumbers `json:"orderStatusNumbers"`    // WithOrderStatusNumbers
}

// OrderStatusNumbers numbers the order statuses whose numbers are undocumented. Each is
// between 2 and 5.
type OrderStatusNumbers struct {
	Confirmed int `json:"confirmed"` // default 2
	Cancelled int `json:"cancelled"` // default 3
	Pending   int `json:"pending"`   // default 4; only reached by [Server.SetOrderStatus]
}

// Duration is a time.Duration that JSON has as text, such as "3m0s".
type Duration time.Duration

// MarshalText returns the text of [time.Duration.String].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads text for [time.ParseDuration].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// DefaultConfig returns the configuration of a server without options.
func DefaultConfig() Config {
	return Config{
		Addr: "127.0.0.1:0", Seed: 1, TokenLifetime: Duration(time.Hour), RateLimits: map[Operation]int{},
		ConfirmAfter: Duration(3 * time.Minute), CancelCutoff: Duration(24 * time.Hour),
		VoucherDelay: Duration(5 * time.Second), VoucherLinkLifetime: Duration(15 * time.Minute), LedgerLimit: 50_000,
		Webhooks: WebhookConfig{
			Secret: "sandbox-webhook-secret", RetryDelays: durations(1*time.Second, 2*time.Second, 4*time.Second, 8*time.Second, 16*time.Second),
			Timeout: Duration(10 * time.Second),
			Events: map[WebhookTrigger][]types.WebhookKind{
				OnBook: {types.EventOrderCreated}, OnConfirm: {types.EventOrderPaid, types.EventOrderModified}, OnAmend: {types.EventOrderModified},
				OnCancel: {types.EventOrderCancelled}, OnStatus: {types.EventOrderModified},
			},
		},
		Variants: Variants{
			Available: 1, Unavailable: 2, BusinessFailureStatus: 200,
			OrderStatusNumbers: OrderStatusNumbers{Confirmed: 2, Cancelled: 3, Pending: 4},
		},
	}
}

func durations(list ...time.Duration) []Duration {
	out := make([]Duration, len(list))
	for i, d := range list {
		out[i] = Duration(d)
	}
	return out
}

// ParseConfig reads a JSON configuration. Absent fields have their defaults, unknown ones
// are refused. Errors name the field and match [ErrInvalidOption].
func ParseConfig(data []byte) (Config, error) {
	c, err := parseConfig(data)
	if err == nil {
		_, err = c.complete()
	}
	if err != nil {
		return Config{}, fmt.Errorf("%w: %w", ErrInvalidOption, err)
	}
	return c, nil
}

// parseConfig decodes field by field, because not every error of encoding/json names one.
func parseConfig(data []byte) (Config, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return Config{}, err
	}
	c := DefaultConfig()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err != nil {
			return Config{}, fmt.Errorf("%s: %w", name, err)
		}
		dec := json.NewDecoder(bytes.NewReader(field))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&c); err != nil {
			return Config{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return c, nil
}

// clone copies what the options change in place, and what a caller may change later.
func (c Config) clone() Config {
	c.Accounts, c.OAuthClients = slices.Clone(c.Accounts), slices.Clone(c.OAuthClients)
	c.RateLimits, c.Webhooks.Events = maps.Clone(c.RateLimits), maps.Clone(c.Webhooks.Events)
	if c.RateLimits == nil {
		c.RateLimits = map[Operation]int{}
	}
	if c.Webhooks.Events == nil {
		c.Webhooks.Events = map[WebhookTrigger][]types.WebhookKind{}
	}
	return c
}

// complete returns a copy with the defaults that depend on other fields. It checks the
// whole; an error begins with the field.
func (c Config) complete() (Config, error) {
	c = c.clone()
	if len(c.Accounts) == 0 {
		c.Accounts = []Account{{"sandbox-app-key", "sandbox-app-secret"}}
	}
	if len(c.OAuthClients) == 0 {
		c.OAuthClients = []OAuthClient{{"sandbox-client", "sandbox-client-secret", nil}}
	}
	for i := range c.OAuthClients {
		if o := &c.OAuthClients[i]; len(o.Scopes) == 0 {
			o.Scopes = slices.Clone(allScopes)
		}
	}
	for _, op := range operations() {
		if _, ok := c.RateLimits[op.name]; !ok && op.name.RateLimit() > 0 {
			c.RateLimits[op.name] = op.name.RateLimit()
		}
	}
	if c.Webhooks.Unsigned {
		c.Webhooks.Secret = ""
	}
	for _, check := range []func() error{
		c.checkListener, c.Catalog.finish, c.checkCredentials, c.checkRateLimits, c.checkBooking, c.checkDurations,
		c.Webhooks.check, c.Variants.check, c.checkControl,
	} {
		if err := check(); err != nil {
			return Config{}, err
		}
	}
	if c.LedgerLimit < 1 {
		return Config{}, fmt.Errorf("ledgerLimit must be at least 1, not %d", c.LedgerLimit)
	}
	return c, nil
}

func (c *Config) checkListener() error {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("addr %q: %w", c.Addr, err)
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case !c.AllowRemote && host != "localhost" && (err != nil || !ip.Unmap().IsLoopback()):
		return fmt.Errorf("addr %q is not a loopback address; use 127.0.0.1, ::1 or localhost, or set allowRemote (WithAllowRemote)", c.Addr)
	case len(c.TLSNames) > 0 && !c.TLS:
		return errors.New("tlsNames (WithTLSNames) needs tls (WithTLS)")
	case slices.ContainsFunc(c.TLSNames, func(name string) bool { return !isHost(name) }):
		return fmt.Errorf("tlsNames %q: each must be a host name or an IP address, without a port", c.TLSNames)
	case c.HTTP1Only && !c.TLS:
		return errors.New("http1Only (WithHTTP1Only) needs tls (WithTLS); without TLS there is no HTTP/2")
	case c.InMemory && c.Addr != "127.0.0.1:0":
		return errors.New("inMemory (WithInMemory) and addr (WithAddr) cannot be combined")
	}
	return nil
}

// isHost reports whether name is an IP address, or may be a host name.
func isHost(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return hostForm.MatchString(name)
}

var hostForm = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?$`)

// minControlToken is the least length of a token that other machines can try to guess.
const minControlToken = 16

// checkControl refuses to offer the control API to other machines without a token.
func (c *Config) checkControl() error {
	host, _, _ := net.SplitHostPort(c.Addr)
	if strings.ContainsFunc(c.Control.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("control.token has blanks, or characters that a header does not carry")
	}
	if c.Control.Enabled && len(c.Control.Token) < minControlToken && !loopbackHost(host) {
		return fmt.Errorf("control.token has %d characters; it needs %d, because addr %q is not a loopback address",
			len(c.Control.Token), minControlToken, c.Addr)
	}
	return nil
}

// loopbackHost reports whether a host is localhost or a loopback address.
func loopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

func (c *Config) checkCredentials() error {
	for i, a := range c.Accounts {
		if a.AppKey == "" || a.AppSecret == "" {
			return fmt.Errorf("accounts[%d] (WithAccount) needs a key and a secret", i)
		}
	}
	for i, o := range c.OAuthClients {
		if o.ClientID == "" || o.ClientSecret == "" {
			return fmt.Errorf("oauthClients[%d] (WithOAuthClient) needs an id and a secret", i)
		}
	}
	return nil
}

// maxRateLimit bounds the memory of a callLog.
const maxRateLimit = 1_000_000

func (c *Config) checkRateLimits() error {
	for op, limit := range c.RateLimits {
		if !documented(op) {
			return fmt.Errorf("rateLimits: %q is not an operation of the API", op)
		}
		if limit < 1 || limit > maxRateLimit {
			return fmt.Errorf("rateLimits.%s must be between 1 and %d, not %d; see unlimited (WithoutRateLimits)", op, maxRateLimit, limit)
		}
	}
	return nil
}

func (c *Config) checkBooking() error {
	for i, f := range c.RequiredGuestFields {
		if !slices.Contains([]string{"gender", "dateOfBirth", "passportNumber"}, f) {
			return fmt.Errorf("requiredGuestFields[%d] must be gender, dateOfBirth or passportNumber, not %q", i, f)
		}
	}
	if err := c.CancelRule.validate(); err != nil {
		return fmt.Errorf("cancelRule: %w", err)
	}
	return nil
}

func (c *Config) checkDurations() error {
	for _, f := range []struct {
		field string
		value Duration
		least time.Duration
	}{
		{"tokenLifetime", c.TokenLifetime, 1}, {"voucherLinkLifetime", c.VoucherLinkLifetime, 1},
		{"sessionLifetime", c.SessionLifetime, 0}, {"cancelCutoff", c.CancelCutoff, 0}, {"voucherDelay", c.VoucherDelay, 0}, {"webhooks.timeout", c.Webhooks.Timeout, 1},
	} {
		if time.Duration(f.value) < f.least {
			return fmt.Errorf("%s must be at least %s, not %s", f.field, f.least, time.Duration(f.value))
		}
	}
	return nil
}

func (w *WebhookConfig) check() error {
	for i, d := range w.RetryDelays {
		if d <= 0 {
			return fmt.Errorf("webhooks.retryDelays[%d] must be positive, not %s", i, time.Duration(d))
		}
	}
	for i, host := range w.CallbackHosts {
		if !isHost(host) {
			return fmt.Errorf("webhooks.callbackHosts[%d] must be a host name or an IP address, without a port, not %q", i, host)
		}
	}
	for on, events := range w.Events {
		if !slices.Contains([]WebhookTrigger{OnBook, OnConfirm, OnAmend, OnCancel, OnStatus}, on) {
			return fmt.Errorf("webhooks.events: unknown WebhookTrigger %q", on)
		}
		if slices.Contains(events, "") {
			return fmt.Errorf("webhooks.events.%s: an event has no name", on)
		}
	}
	if h, ok := w.CallbackHandler.(http.HandlerFunc); ok && h == nil {
		return errors.New("WithCallbackHandler needs a handler")
	}
	if w.Secret == "" && !w.Unsigned {
		return errors.New("webhooks.secret is empty; see unsigned (WithUnsignedWebhooks)")
	}
	return nil
}

func (v *Variants) check() error {
	if v.Available+v.Unavailable != 3 || v.Available*v.Unavailable != 2 {
		return fmt.Errorf("variants.available and variants.unavailable must be 1 and 2, or 2 and 1, not %d and %d", v.Available, v.Unavailable)
	}
	if v.BusinessFailureStatus < 200 || v.BusinessFailureStatus > 499 {
		return fmt.Errorf("variants.businessFailureStatus must be an HTTP status from 200 to 499, not %d", v.BusinessFailureStatus)
	}
	n := v.OrderStatusNumbers
	for _, number := range []int{n.Confirmed, n.Cancelled, n.Pending} {
		if number < 2 || number > 5 {
			return fmt.Errorf("variants.orderStatusNumbers: %d is not between 2 and 5", number)
		}
	}
	if n.Confirmed == n.Cancelled || n.Confirmed == n.Pending || n.Cancelled == n.Pending {
		return errors.New("variants.orderStatusNumbers: two order statuses have the same number")
	}
	return nil
}
