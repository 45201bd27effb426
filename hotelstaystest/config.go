// The configuration of a server, and its defaults.

package hotelstaystest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// AtOnce and Never are values for the durations of a [Config]. AtOnce means no time. Never means for ever.
// They are needed because zero means the default. Their JSON is "0s" and "never".
const (
	AtOnce time.Duration = -1
	Never  time.Duration = math.MaxInt64
)

// Config is the configuration of a [Server], and of the program hotelstays-sandbox as JSON. A zero field means its
// default, and JSON omits it. [Server.Config] shows all defaults. Durations are text in JSON, such as "1m30s":
//
//	{"confirmAfter": "30s", "voucherDelay": "0s", "noRateLimits": true, "webhooks": {"secret": "s3cret", "timeout": "2s"}}
//
// [NewServer] copies the Config.
type Config struct {
	// Addr is the address to listen on, such as "127.0.0.1:8080". The default is a free port of 127.0.0.1. Unless
	// AllowRemote is set, Addr must be a loopback address, because the sandbox has no defences.
	Addr string `json:"addr,omitzero"`
	// AllowRemote lets Addr be an address that other machines reach, such as "0.0.0.0:8080"
	// in a container. These machines then reach the whole API, whose default credentials are well known.
	// With AllowRemote, webhooks go to a loopback address only if Webhooks.CallbackHosts lists it.
	AllowRemote bool `json:"allowRemote,omitzero"`
	// TLS serves https and HTTP/2, with a self-signed certificate for 127.0.0.1, ::1 and
	// localhost. [Server.Client] trusts it.
	TLS bool `json:"tls,omitzero"`
	// TLSNames are further host names and IP addresses for which the certificate is valid.
	TLSNames []string `json:"tlsNames,omitzero"`
	// HTTP1Only turns HTTP/2 off. It may be set only together with TLS.
	HTTP1Only bool `json:"http1Only,omitzero"`
	// InMemory serves in-memory connections instead of sockets. Only the transports of [Server.Client] and
	// [Server.ClientFrom] reach the server. Each transport is an *[http.Transport]; its clones reach the server, too.
	InMemory bool `json:"inMemory,omitzero"`
	// Compression compresses bodies of a kilobyte or more for clients that accept gzip.
	Compression bool `json:"compression,omitzero"`
	// Seed is the seed of the generated world and of the faults' random draws. The default
	// is 1.
	Seed uint64 `json:"seed,omitzero"`
	// Catalog sets the numbers of generated places, hotels, rooms and rates.
	Catalog Catalog `json:"catalog,omitzero"`

	// Accounts are the credentials that can get tickets. Each account has its own orders. [Server.AppKey] is the key
	// of the first account. The default is one account.
	Accounts []Account `json:"accounts,omitzero"`
	// OAuthClients are the credentials that can get access tokens. [Server.ClientID] is the id of the first client.
	// The default is one client.
	OAuthClients []OAuthClient `json:"oauthClients,omitzero"`
	// TicketScopes limits tickets to these scopes. By default a ticket has full access.
	TicketScopes []types.Scope `json:"ticketScopes,omitzero"`
	// Markets restricts the accounts to these markets. Every call must then send one of
	// them in the Market header.
	Markets []string `json:"markets,omitzero"`
	// UserRefs are the accounts' users, with their scopes. Every call must then send one of
	// them in the User-Ref header, and both the credential and the user need the
	// operation's scope.
	UserRefs map[string][]types.Scope `json:"userRefs,omitzero"`
	// TokenLifetime is the lifetime of OAuth access tokens. The default is an hour. A
	// ticket's lifetime is the ttl of its request.
	TokenLifetime time.Duration `json:"tokenLifetime,omitzero"`
	// SessionLifetime is the time from a search until its session expires. After that, Cancel
	// still accepts the session; other calls fail with [types.CodeParam]. The default is Never.
	SessionLifetime time.Duration `json:"sessionLifetime,omitzero"`

	// NoRateLimits turns rate limits off. Answers keep their X-RateLimit headers.
	NoRateLimits bool `json:"noRateLimits,omitzero"`
	// RateLimits is the number of calls of an operation that one client IP address can make in any
	// second, 1 to 1,000,000. Operations that are not listed have the documented limits.
	RateLimits map[Operation]int `json:"rateLimits,omitzero"`
	// VisibilityBand gives the accounts a visibility band: HotelList then accepts only 200 hotel ids instead of 1,000.
	VisibilityBand bool `json:"visibilityBand,omitzero"`
	// EmptyReason, if set, makes HotelList answer every search with no hotels and this emptyReason.
	EmptyReason *types.EmptyReason `json:"emptyReason,omitzero"`
	// Notices are added to every answer of HotelList that contains hotels.
	Notices []string `json:"notices,omitzero"`

	// RequiredGuestFields makes Book require fields of every guest: "gender",
	// "dateOfBirth", "passportNumber".
	RequiredGuestFields []string `json:"requiredGuestFields,omitzero"`
	// ConfirmAfter is the time from Book to the confirmation. The default is three minutes.
	// With Never, only [Server.ConfirmOrder] and [Server.SetOrderStatus] confirm an order.
	ConfirmAfter time.Duration `json:"confirmAfter,omitzero"`
	// LateVisibility hides an order from QueryOrders for a time after Book. The default is
	// AtOnce.
	LateVisibility time.Duration `json:"lateVisibility,omitzero"`
	// CancelRule is the cancellation rule of new orders. The default is CancelAllowed.
	// [Server.SetCancelRule] changes the rule of one order.
	CancelRule CancelRule `json:"cancelRule,omitzero"`
	// CancelCutoff is how long before check-in the cut-off is. From the cut-off on, the sandbox refuses Cancel. Check-in is
	// at midnight UTC. The default is 24 hours.
	CancelCutoff time.Duration `json:"cancelCutoff,omitzero"`

	// VoucherDelay is the time from the confirmation, when a voucher is PENDING, until it
	// is GENERATED. The default is five seconds.
	VoucherDelay time.Duration `json:"voucherDelay,omitzero"`
	// VoucherLinkLifetime is the lifetime of a downloadUrl. The default is 15 minutes.
	VoucherLinkLifetime time.Duration `json:"voucherLinkLifetime,omitzero"`
	// VoucherSize pads voucher documents to this many bytes. A document has about 1 KB
	// without padding.
	VoucherSize int `json:"voucherSize,omitzero"`
	// UnsignedVouchers omits the signature block of vouchers.
	UnsignedVouchers bool `json:"unsignedVouchers,omitzero"`

	Webhooks WebhookConfig `json:"webhooks,omitzero"`
	Variants Variants      `json:"variants,omitzero"`
	Control  ControlConfig `json:"control,omitzero"`

	// LedgerLimit is the maximum number of requests, webhooks and changed orders in the ledger. The ledger drops the
	// oldest of them if there are more, or if they need more memory than 1 MiB plus LedgerLimit times 4 KiB. The
	// default is 50,000.
	LedgerLimit int `json:"ledgerLimit,omitzero"`
}

// Account holds credentials for tickets.
type Account struct {
	AppKey    string `json:"appKey"`
	AppSecret string `json:"appSecret"`
}

// OAuthClient holds OAuth credentials. Calls with its tokens act for the first of Config.Accounts.
type OAuthClient struct {
	ClientID     string        `json:"clientId"`
	ClientSecret string        `json:"clientSecret"`
	Scopes       []types.Scope `json:"scopes,omitzero"` // empty: all scopes
}

// WebhookConfig is the part of [Config] about webhooks.
type WebhookConfig struct {
	// Secret is the value of [Server.WebhookSecret], with which the server signs the deliveries of all accounts. The
	// default is "sandbox-webhook-secret".
	Secret string `json:"secret,omitzero"`
	// Unsigned sends deliveries without a signature, as the service does for a credential without a webhook signing
	// secret.
	Unsigned bool `json:"unsigned,omitzero"`
	// StrictCallbacks makes Book refuse loopback callback URLs, as documented. By default Book accepts loopback URLs, even
	// with http, because receivers in tests listen on loopback. The server delivers to another host only if
	// CallbackHosts lists the host, or CallbackHandler is set.
	StrictCallbacks bool `json:"strictCallbacks,omitzero"`
	// CallbackHosts are further hosts of callback URLs to which the server sends deliveries. Book accepts them even
	// with http. A name is resolved again for each attempt.
	CallbackHosts []string `json:"callbackHosts,omitzero"`
	// RetryDelays lists how long the server waits before the first retry of a delivery, before the second retry, and so
	// on. The default is 1, 2, 4, 8 and 16 seconds. An empty list that is not nil means no retry.
	RetryDelays []time.Duration `json:"retryDelays,omitzero"`
	// Timeout is the timeout of an attempt. The default is ten seconds.
	Timeout time.Duration `json:"timeout,omitzero"`
	// Events lists, for each trigger, the kinds of event that it sends, in order. A list may be empty, and may
	// contain undocumented kinds. A trigger that is not listed sends its default events.
	Events map[WebhookTrigger][]types.EventKind `json:"events,omitzero"`

	// CallbackHandler, if set, receives all deliveries over in-memory connections. The host of a callbackUrl then does
	// not matter. Use it under testing/synctest, and for callback URLs that are not loopback. [Server.Close] cancels
	// the contexts of the handler's requests and waits for the handler, so the handler must not call Close. If the
	// handler needs the secret before the server exists, set Secret.
	CallbackHandler http.Handler `json:"-"`
}

// ControlConfig is the part of [Config] about the control API.
type ControlConfig struct {
	// Enabled serves the control API under /_sandbox/, and /healthz.
	Enabled bool `json:"enabled,omitzero"`
	// Token, if set, must be in every control request, as "Authorization: Bearer <token>". With AllowRemote it has at
	// least 16 characters.
	Token string `json:"token,omitzero"`
	// Hosts are further host names, without ports, that the Host header of a request may contain. The header may always
	// contain localhost, a loopback address or one of TLSNames. With AllowRemote, the Host header of a control request
	// may also be any IP address, and the Host header of a request to the API may be any host.
	Hosts []string `json:"hosts,omitzero"`

	// Page, if set, returns the handler that serves /_sandbox/ and the paths below /_sandbox/page/.
	Page func(*Server) http.Handler `json:"-"`
}

// Variants is the part of [Config] about points that the API's reference leaves open.
type Variants struct {
	// OAuthTopLevel answers OAuthToken without the envelope.
	OAuthTopLevel bool `json:"oauthTopLevel,omitzero"`
	// NoTotals makes HotelList and HotelsMetadata answer total 0, even if hotels match. hasMore stays correct.
	NoTotals bool `json:"noTotals,omitzero"`
	// Available is the status in the answer of CheckAvail for an available offer: 1 or 2, by default 1. For an
	// unavailable offer the status is 2 if Available is 1, and 1 if Available is 2.
	Available int `json:"available,omitzero"`
	// BusinessFailureStatus is the HTTP status, 200 to 499, with which Book refuses a duplicate
	// booking, or an offer that has changed since CheckAvail. The default is 200.
	BusinessFailureStatus int `json:"businessFailureStatus,omitzero"`
	// NullOrders makes QueryOrders answer "orders": null instead of an empty list.
	NullOrders bool `json:"nullOrders,omitzero"`
	// OrderStatusNumbers are the numbers of the order statuses. All numbers must be different.
	OrderStatusNumbers OrderStatusNumbers `json:"orderStatusNumbers,omitzero"`
}

// OrderStatusNumbers holds the numbers of order statuses that are undocumented. Each number is
// between 2 and 5.
type OrderStatusNumbers struct {
	Confirmed types.OrderStatus `json:"confirmed,omitzero"` // default 2
	Cancelled types.OrderStatus `json:"cancelled,omitzero"` // default 3
	Pending   types.OrderStatus `json:"pending,omitzero"`   // default 4; an order gets this status only from [Server.SetOrderStatus]
}

// Name returns the word for a status, such as "confirmed". For a status without a name it returns the number.
func (n OrderStatusNumbers) Name(status types.OrderStatus) string {
	switch status {
	case types.OrderUnknown:
		return "unknown"
	case types.OrderConfirming:
		return "confirming"
	case n.Confirmed:
		return "confirmed"
	case n.Cancelled:
		return "cancelled"
	case n.Pending:
		return "pending"
	}
	return fmt.Sprintf("status %d", status)
}

func orDefault[T comparable](field *T, value T) { *field = cmp.Or(*field, value) }

// complete checks the whole configuration, and returns a copy with all defaults.
func (c Config) complete() (Config, error) {
	c = c.clone()
	orDefault(&c.Addr, anyPort)
	orDefault(&c.Seed, 1)
	for _, n := range c.Catalog.sizes() {
		orDefault(n.value, n.absent)
	}
	for _, d := range c.durations() {
		orDefault(d.value, d.absent)
	}
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
	orDefault(&c.CancelRule, CancelAllowed)
	c.Webhooks.setDefaults()
	orDefault(&c.Variants.Available, 1)
	orDefault(&c.Variants.BusinessFailureStatus, http.StatusOK)
	n := &c.Variants.OrderStatusNumbers
	n.Confirmed, n.Cancelled, n.Pending = cmp.Or(n.Confirmed, 2), cmp.Or(n.Cancelled, 3), cmp.Or(n.Pending, 4)
	orDefault(&c.LedgerLimit, 50_000)
	return c, c.check()
}

// setting is a field of [Config]. absent is the default of the field; least and most are the limits of its value.
type setting[T any] struct {
	field               string
	value               *T
	absent, least, most T
}

func (c *Config) durations() []setting[time.Duration] {
	return []setting[time.Duration]{
		{"tokenLifetime", &c.TokenLifetime, time.Hour, 1, Never},
		{"sessionLifetime", &c.SessionLifetime, Never, 1, Never},
		{"confirmAfter", &c.ConfirmAfter, 3 * time.Minute, AtOnce, Never},
		{"lateVisibility", &c.LateVisibility, AtOnce, AtOnce, Never},
		{"cancelCutoff", &c.CancelCutoff, 24 * time.Hour, AtOnce, Never},
		{"voucherDelay", &c.VoucherDelay, 5 * time.Second, AtOnce, Never},
		{"voucherLinkLifetime", &c.VoucherLinkLifetime, 15 * time.Minute, 1, Never},
		{"webhooks.timeout", &c.Webhooks.Timeout, 10 * time.Second, 1, Never},
	}
}

func (w *WebhookConfig) setDefaults() {
	if w.Unsigned {
		w.Secret = ""
	} else {
		orDefault(&w.Secret, "sandbox-webhook-secret")
	}
	if w.RetryDelays == nil {
		w.RetryDelays = []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}
	}
	events := map[WebhookTrigger][]types.EventKind{
		OnBook: {types.EventOrderCreated}, OnConfirm: {types.EventOrderPaid, types.EventOrderModified}, OnAmend: {types.EventOrderModified},
		OnCancel: {types.EventOrderCancelled}, OnStatus: {types.EventOrderModified},
	}
	maps.Copy(events, w.Events)
	w.Events = events
}

// clone returns a copy that shares no memory with c.
func (c Config) clone() Config {
	for _, list := range []*[]string{
		&c.TLSNames, &c.Markets, &c.Notices, &c.RequiredGuestFields, &c.Webhooks.CallbackHosts, &c.Control.Hosts,
	} {
		*list = slices.Clone(*list)
	}
	c.Accounts, c.OAuthClients, c.TicketScopes = slices.Clone(c.Accounts), slices.Clone(c.OAuthClients), slices.Clone(c.TicketScopes)
	for i := range c.OAuthClients {
		c.OAuthClients[i].Scopes = slices.Clone(c.OAuthClients[i].Scopes)
	}
	if c.EmptyReason != nil {
		c.EmptyReason = &types.EmptyReason{Code: c.EmptyReason.Code, Suppliers: slices.Clone(c.EmptyReason.Suppliers)}
	}
	c.UserRefs, c.Webhooks.Events = cloneLists(c.UserRefs), cloneLists(c.Webhooks.Events)
	c.Webhooks.RetryDelays = slices.Clone(c.Webhooks.RetryDelays)
	limits := map[Operation]int{}
	maps.Copy(limits, c.RateLimits)
	c.RateLimits = limits
	return c
}

func cloneLists[K comparable, V any](lists map[K][]V) map[K][]V {
	lists = maps.Clone(lists)
	for key, list := range lists {
		lists[key] = slices.Clone(list)
	}
	return lists
}

// length returns 0 for AtOnce, and any other duration of a [Config] unchanged.
func length(d time.Duration) time.Duration { return max(d, 0) }
