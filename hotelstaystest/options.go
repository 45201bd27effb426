// Options: setters of a server's configuration.

package hotelstaystest

import (
	"cmp"
	"crypto/x509"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// Option sets fields of the [Config] of a [Server].
type Option func(*Config)

// WithConfig sets the whole configuration. Options before it have no effect.
func WithConfig(config Config) Option { return func(c *Config) { *c = config.clone() } }

// WithAddr sets the address to listen on, such as "127.0.0.1:8080". It must be a
// loopback address, because the sandbox has no defences, unless [WithAllowRemote] is set.
// The default is a free port of 127.0.0.1.
func WithAddr(addr string) Option { return func(c *Config) { c.Addr = addr } }

// WithAllowRemote lets [WithAddr] take an address that other machines reach, such as
// "0.0.0.0:8080" in a container. They reach all of the API then, whose credentials are well
// known. Webhooks no longer go to loopback addresses, unless [WithCallbackHosts] has them.
func WithAllowRemote() Option { return func(c *Config) { c.AllowRemote = true } }

// WithTLS serves https and HTTP/2, with a self-signed certificate for 127.0.0.1, ::1 and
// localhost. [Server.Client] trusts it.
func WithTLS() Option { return func(c *Config) { c.TLS = true } }

// WithTLSNames adds host names and IP addresses to the certificate of [WithTLS].
func WithTLSNames(names ...string) Option {
	return func(c *Config) { c.TLSNames = slices.Clone(names) }
}

// WithHTTP1Only turns HTTP/2 off. It needs [WithTLS].
func WithHTTP1Only() Option { return func(c *Config) { c.HTTP1Only = true } }

// WithInMemory serves in-memory connections instead of sockets. Reach the server with
// [Server.Client], [Server.ClientFrom] or a transport that dials with
// [Server.DialContext]; any other client dials the real 127.0.0.1.
func WithInMemory() Option { return func(c *Config) { c.InMemory = true } }

// WithCompression compresses bodies of a kilobyte or more for clients that accept gzip.
func WithCompression() Option { return func(c *Config) { c.Compression = true } }

// WithSeed sets the seed of the generated world and of the faults' random draws. The
// default is 1.
func WithSeed(seed uint64) Option { return func(c *Config) { c.Seed = seed } }

// WithCatalog sets the size of the generated catalogue.
func WithCatalog(catalog Catalog) Option { return func(c *Config) { c.Catalog = catalog } }

// WithAccount adds an account. Each account has its own orders. The first one is
// [Server.AppKey].
func WithAccount(appKey, appSecret string) Option {
	return func(c *Config) { c.Accounts = append(c.Accounts, Account{appKey, appSecret}) }
}

// WithOAuthClient adds an OAuth client with these scopes, by default all. It acts for the
// first account. The first client is [Server.ClientID].
func WithOAuthClient(clientID, clientSecret string, scopes ...types.Scope) Option {
	return func(c *Config) {
		c.OAuthClients = append(c.OAuthClients, OAuthClient{clientID, clientSecret, slices.Clone(scopes)})
	}
}

// WithTicketScopes limits tickets to these scopes. By default a ticket has full access.
func WithTicketScopes(scopes ...types.Scope) Option {
	return func(c *Config) { c.TicketScopes = slices.Clone(scopes) }
}

// WithMarkets restricts the accounts to these markets. Every call must then send one of
// them in the Market header.
func WithMarkets(markets ...string) Option {
	return func(c *Config) { c.Markets = slices.Clone(markets) }
}

// WithUserRefs sets the accounts' users, with their scopes. Every call must then send one
// of them in the User-Ref header, and both the credential and the user need the
// operation's scope.
func WithUserRefs(users map[string][]types.Scope) Option {
	return func(c *Config) { c.UserRefs = maps.Clone(users) }
}

// WithOAuthTopLevel answers OAuthToken without the envelope.
func WithOAuthTopLevel() Option { return func(c *Config) { c.Variants.OAuthTopLevel = true } }

// WithTokenLifetime sets the lifetime of OAuth access tokens. The default is an hour. A
// ticket's lifetime is the ttl of its request.
func WithTokenLifetime(d time.Duration) Option {
	return func(c *Config) { c.TokenLifetime = Duration(d) }
}

// WithSessionLifetime ends sessions d after the search that started them. From then on only
// Cancel takes them; other calls fail with [types.CodeParam]. By default they do not expire.
func WithSessionLifetime(d time.Duration) Option {
	return func(c *Config) { c.SessionLifetime = Duration(d) }
}

// WithVisibilityBand gives the accounts a visibility band: HotelList takes 200 hotel ids
// instead of 1,000.
func WithVisibilityBand() Option { return func(c *Config) { c.VisibilityBand = true } }

// WithoutRateLimits turns rate limits off.
func WithoutRateLimits() Option { return func(c *Config) { c.Unlimited = true } }

// WithRateLimit sets how many calls of an operation one client address may make in a
// second, 1 to 1,000,000.
func WithRateLimit(op Operation, perSecond int) Option {
	return func(c *Config) { c.RateLimits[op] = perSecond }
}

// WithoutTotals makes HotelList and HotelsMetadata answer total 0, whatever the number of
// hotels. hasMore stays correct.
func WithoutTotals() Option { return func(c *Config) { c.Variants.WithoutTotals = true } }

// WithEmptyReason makes every HotelList empty, with this emptyReason. The suppliers are
// optional.
func WithEmptyReason(code types.EmptyReasonCode, suppliers ...types.EmptyReasonSupplier) Option {
	return func(c *Config) { c.EmptyReason = &types.EmptyReason{Code: code, Suppliers: slices.Clone(suppliers)} }
}

// WithNotices adds notices to every HotelList that finds hotels.
func WithNotices(notices ...string) Option {
	return func(c *Config) { c.Notices = slices.Clone(notices) }
}

// WithAvailabilityNumbers sets CheckAvail's status of an available and of an unavailable
// offer: 1 and 2 (the default), or 2 and 1.
func WithAvailabilityNumbers(available, unavailable int) Option {
	return func(c *Config) { c.Variants.Available, c.Variants.Unavailable = available, unavailable }
}

// WithRemarkInBasic moves CheckAvail's statusRemark from data to data.basic.
func WithRemarkInBasic() Option { return func(c *Config) { c.Variants.RemarkInBasic = true } }

// WithRequiredGuestFields makes Book require fields of every guest: "gender",
// "dateOfBirth", "passportNumber".
func WithRequiredGuestFields(fields ...string) Option {
	return func(c *Config) { c.RequiredGuestFields = slices.Clone(fields) }
}

// WithStrictCallbacks makes Book refuse loopback callback URLs, as documented. By default
// they are accepted, http too, because tests listen there. Deliveries to other URLs need
// [WithCallbackHosts] or [WithCallbackHandler].
func WithStrictCallbacks() Option { return func(c *Config) { c.Webhooks.StrictCallbacks = true } }

// WithCallbackHosts makes these hosts as good as loopback for callback URLs: Book accepts
// them, http too, and deliveries go there. A name is looked up for each attempt.
func WithCallbackHosts(hosts ...string) Option {
	return func(c *Config) { c.Webhooks.CallbackHosts = slices.Clone(hosts) }
}

// WithBusinessFailureStatus sets the HTTP status, 200 to 499, of Book's answer to a moved
// rate or a duplicate booking. The default is 200.
func WithBusinessFailureStatus(status int) Option {
	return func(c *Config) { c.Variants.BusinessFailureStatus = status }
}

// WithOrderStatusNumbers sets the numbers of the order statuses. Zero fields keep their
// defaults; no two may be equal.
func WithOrderStatusNumbers(numbers OrderStatusNumbers) Option {
	return func(c *Config) {
		n := &c.Variants.OrderStatusNumbers
		n.Confirmed = cmp.Or(numbers.Confirmed, n.Confirmed)
		n.Cancelled = cmp.Or(numbers.Cancelled, n.Cancelled)
		n.Pending = cmp.Or(numbers.Pending, n.Pending)
	}
}

// WithConfirmAfter sets the time from Book to the confirmation. The default is three
// minutes. With a negative one only [Server.ConfirmOrder] confirms.
func WithConfirmAfter(d time.Duration) Option {
	return func(c *Config) { c.ConfirmAfter = Duration(d) }
}

// WithLateVisibility hides an order from QueryOrders for d after Book.
func WithLateVisibility(d time.Duration) Option {
	return func(c *Config) { c.LateVisibility = Duration(d) }
}

// WithCancelRule sets the cancellation rule of new orders. [Server.SetCancelRule] changes
// that of one order.
func WithCancelRule(rule CancelRule) Option { return func(c *Config) { c.CancelRule = rule } }

// WithCancelCutoff sets how long before check-in, at midnight UTC, cancelling ends. The
// default is 24 hours.
func WithCancelCutoff(d time.Duration) Option {
	return func(c *Config) { c.CancelCutoff = Duration(d) }
}

// WithVoucherDelay sets the time from the confirmation, when a voucher is PENDING, until
// it is GENERATED. The default is five seconds.
func WithVoucherDelay(d time.Duration) Option {
	return func(c *Config) { c.VoucherDelay = Duration(d) }
}

// WithVoucherLinkLifetime sets the lifetime of a downloadUrl. The default is 15 minutes.
func WithVoucherLinkLifetime(d time.Duration) Option {
	return func(c *Config) { c.VoucherLinkLifetime = Duration(d) }
}

// WithVoucherSize pads voucher documents to this many bytes. A document has about 1 KB
// without padding.
func WithVoucherSize(bytes int) Option { return func(c *Config) { c.VoucherSize = bytes } }

// WithUnsignedVouchers omits the signature block of vouchers.
func WithUnsignedVouchers() Option { return func(c *Config) { c.UnsignedVouchers = true } }

// WithWebhookSecret sets [Server.WebhookSecret], which signs deliveries of all accounts.
func WithWebhookSecret(secret string) Option {
	return func(c *Config) { c.Webhooks.Secret, c.Webhooks.Unsigned = secret, false }
}

// WithUnsignedWebhooks sends deliveries without a signature, as to a credential without
// a webhook signing secret.
func WithUnsignedWebhooks() Option { return func(c *Config) { c.Webhooks.Unsigned = true } }

// WithWebhookRetryDelays sets the delay before each retry of a delivery. The default is 1,
// 2, 4, 8 and 16 seconds. Without delays there is no retry.
func WithWebhookRetryDelays(delays ...time.Duration) Option {
	return func(c *Config) { c.Webhooks.RetryDelays = durations(delays...) }
}

// WithWebhookTimeout sets the timeout of an attempt. The default is ten seconds.
func WithWebhookTimeout(d time.Duration) Option {
	return func(c *Config) { c.Webhooks.Timeout = Duration(d) }
}

// WithWebhookEvents sets the events that a trigger sends, in order. They may be none, and
// of undocumented kinds.
func WithWebhookEvents(on WebhookTrigger, events ...types.WebhookKind) Option {
	return func(c *Config) { c.Webhooks.Events[on] = slices.Clone(events) }
}

// WithCallbackHandler sends all deliveries to h over in-memory connections, whatever the
// host of their callbackUrl. Use it under testing/synctest, and for callback URLs that
// are not loopback. [Server.Close] cancels the contexts of h's requests and waits for h
// to return, so h must not call Close. If h needs the secret before there is a server,
// set it with [WithWebhookSecret].
func WithCallbackHandler(h http.Handler) Option {
	return func(c *Config) {
		c.Webhooks.CallbackHandler = h
		if h == nil {
			c.Webhooks.CallbackHandler = http.HandlerFunc(nil) // unlike no handler, this is refused
		}
	}
}

// WithCallbackRoots sets the trusted roots for deliveries to https on loopback.
func WithCallbackRoots(roots *x509.CertPool) Option {
	return func(c *Config) { c.Webhooks.CallbackRoots = roots }
}

// WithLedgerLimit sets how many requests and how many webhooks the ledger keeps. The oldest
// go first, also when the memory of all exceeds 1 MiB and 4 KiB times the limit. The default
// is 50,000.
func WithLedgerLimit(requests int) Option { return func(c *Config) { c.LedgerLimit = requests } }

// WithControl serves the control API under /_sandbox/, and /healthz. [ControlConfig] guards it.
func WithControl() Option { return func(c *Config) { c.Control.Enabled = true } }
