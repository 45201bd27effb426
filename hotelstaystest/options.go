// Server options and their defaults.

package hotelstaystest

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"
)

// ErrInvalidOption is matched by every error of [StartServer] about an option.
var ErrInvalidOption = errors.New("hotelstaystest: invalid option")

// Option configures a [Server].
type Option func(*config) error

// OrderStatusNumbers numbers the order statuses whose numbers are undocumented. Each is
// between 2 and 5.
type OrderStatusNumbers struct {
	Confirmed int // default 2
	Cancelled int // default 3
	Pending   int // default 4; only reached by [Server.SetOrderStatus]
}

// SupplierReason is a supplier of [WithEmptyReason].
type SupplierReason struct {
	SupplierCode string `json:"supplierCode"`
	Reason       string `json:"reason"`
}

// account holds credentials. OAuth clients act for the first account.
type account struct {
	key, secret string
}

type oauthClient struct {
	id, secret string
	scopes     []string
}

type config struct {
	addr      string
	tls       bool
	http1Only bool
	inMemory  bool
	gzip      bool

	seed    uint64
	catalog Catalog

	accounts      []account
	clients       []oauthClient
	ticketScopes  []string
	markets       []string
	users         map[string][]string
	oauthTopLevel bool
	tokenLife     time.Duration

	unlimited  bool
	rateLimits map[Operation]int
	idLimit    int
	totals     bool
	empty      *emptyReason
	notices    []string

	available, unavailable int
	remarkInBasic          bool
	guestFields            []string
	strictCallbacks        bool
	businessStatus         int

	statusNumbers  OrderStatusNumbers
	confirmAfter   time.Duration
	lateVisibility time.Duration
	cancelRule     CancelRule
	cancelCutoff   time.Duration

	voucherDelay time.Duration
	voucherLink  time.Duration
	voucherSize  int
	unsigned     bool

	webhooks webhookConfig

	ledgerLimit int
}

func defaultConfig() config {
	return config{
		addr: "127.0.0.1:0", seed: 1, tokenLife: time.Hour, rateLimits: map[Operation]int{}, idLimit: 1000, totals: true,
		available: 1, unavailable: 2, businessStatus: 200,
		statusNumbers: OrderStatusNumbers{Confirmed: 2, Cancelled: 3, Pending: 4},
		confirmAfter:  3 * time.Minute, cancelCutoff: 24 * time.Hour,
		voucherDelay: 5 * time.Second, voucherLink: 15 * time.Minute, ledgerLimit: 50_000,
		webhooks: defaultWebhooks(),
	}
}

// finish sets the defaults that depend on other options, and checks the whole.
func (c *config) finish() error {
	if len(c.accounts) == 0 {
		c.accounts = []account{{"sandbox-app-key", "sandbox-app-secret"}}
	}
	if len(c.clients) == 0 {
		c.clients = []oauthClient{{"sandbox-client", "sandbox-client-secret", AllScopes()}}
	}
	if c.http1Only && !c.tls {
		return errors.New("WithHTTP1Only needs WithTLS; without TLS there is no HTTP/2")
	}
	if c.inMemory && c.addr != "127.0.0.1:0" {
		return errors.New("WithInMemory and WithAddr cannot be combined")
	}
	return c.catalog.finish()
}

// WithAddr sets the address to listen on, such as "127.0.0.1:8080". It must be a
// loopback address, because the sandbox has no defences. The default is a free port of
// 127.0.0.1.
func WithAddr(addr string) Option {
	return func(c *config) error {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return fmt.Errorf("address %q: %w", addr, err)
		}
		ip, err := netip.ParseAddr(host)
		if host != "localhost" && (err != nil || !ip.Unmap().IsLoopback()) {
			return fmt.Errorf("address %q is not a loopback address; use 127.0.0.1, ::1 or localhost", addr)
		}
		c.addr = addr
		return nil
	}
}

// WithTLS serves https and HTTP/2, with a self-signed certificate for 127.0.0.1, ::1 and
// localhost. [Server.Client] trusts it.
func WithTLS() Option { return func(c *config) error { c.tls = true; return nil } }

// WithHTTP1Only turns HTTP/2 off. It needs [WithTLS].
func WithHTTP1Only() Option { return func(c *config) error { c.http1Only = true; return nil } }

// WithInMemory serves in-memory connections instead of sockets. Reach the server with
// [Server.Client], [Server.ClientFrom] or a transport that dials with
// [Server.DialContext]; any other client dials the real 127.0.0.1.
func WithInMemory() Option { return func(c *config) error { c.inMemory = true; return nil } }

// WithCompression compresses bodies of a kilobyte or more for clients that accept gzip.
func WithCompression() Option { return func(c *config) error { c.gzip = true; return nil } }

// WithSeed sets the seed of the generated world and of the faults' random draws. The
// default is 1.
func WithSeed(seed uint64) Option { return func(c *config) error { c.seed = seed; return nil } }

// WithCatalog sets the size of the generated catalogue.
func WithCatalog(catalog Catalog) Option {
	return func(c *config) error { c.catalog = catalog; return nil }
}

// WithAccount adds an account. Each account has its own orders. The first one is
// [Server.AppKey].
func WithAccount(appKey, appSecret string) Option {
	return func(c *config) error {
		if appKey == "" || appSecret == "" {
			return errors.New("WithAccount needs a key and a secret")
		}
		c.accounts = append(c.accounts, account{appKey, appSecret})
		return nil
	}
}

// WithOAuthClient adds an OAuth client with these scopes, by default all. It acts for the
// first account. The first client is [Server.ClientID].
func WithOAuthClient(clientID, clientSecret string, scopes ...string) Option {
	return func(c *config) error {
		if clientID == "" || clientSecret == "" {
			return errors.New("WithOAuthClient needs an id and a secret")
		}
		if len(scopes) == 0 {
			scopes = AllScopes()
		}
		c.clients = append(c.clients, oauthClient{clientID, clientSecret, slices.Clone(scopes)})
		return nil
	}
}

// WithTicketScopes limits tickets to these scopes. By default a ticket has full access.
func WithTicketScopes(scopes ...string) Option {
	return func(c *config) error { c.ticketScopes = slices.Clone(scopes); return nil }
}

// WithMarkets restricts the accounts to these markets. Every call must then send one of
// them in the Market header.
func WithMarkets(markets ...string) Option {
	return func(c *config) error { c.markets = slices.Clone(markets); return nil }
}

// WithUserRefs sets the accounts' users, with their scopes. Every call must then send one
// of them in the User-Ref header, and both the credential and the user need the
// operation's scope.
func WithUserRefs(users map[string][]string) Option {
	return func(c *config) error { c.users = maps.Clone(users); return nil }
}

// WithOAuthTopLevel answers OAuthToken without the envelope.
func WithOAuthTopLevel() Option { return func(c *config) error { c.oauthTopLevel = true; return nil } }

// WithTokenLifetime sets the lifetime of OAuth access tokens. The default is an hour. A
// ticket's lifetime is the ttl of its request.
func WithTokenLifetime(d time.Duration) Option {
	return func(c *config) error { c.tokenLife = d; return positive("WithTokenLifetime", d) }
}

// WithVisibilityBand gives the accounts a visibility band: HotelList takes 200 hotel ids
// instead of 1,000.
func WithVisibilityBand() Option { return func(c *config) error { c.idLimit = 200; return nil } }

// WithoutRateLimits turns rate limits off.
func WithoutRateLimits() Option { return func(c *config) error { c.unlimited = true; return nil } }

// maxRateLimit bounds the memory of a callLog.
const maxRateLimit = 1_000_000

// WithRateLimit sets how many calls of an operation one client address may make in a
// second, 1 to 1,000,000.
func WithRateLimit(op Operation, perSecond int) Option {
	return func(c *config) error {
		if perSecond < 1 || perSecond > maxRateLimit {
			return fmt.Errorf("the rate limit of %s must be between 1 and %d, not %d; see WithoutRateLimits", op, maxRateLimit, perSecond)
		}
		if !op.documented() {
			return fmt.Errorf("%q is not an operation of the API", op)
		}
		c.rateLimits[op] = perSecond
		return nil
	}
}

// WithoutTotals makes HotelList and HotelsMetadata answer total 0, whatever the number of
// hotels. hasMore stays correct.
func WithoutTotals() Option { return func(c *config) error { c.totals = false; return nil } }

// WithEmptyReason makes every HotelList empty, with this emptyReason. The suppliers are
// optional.
func WithEmptyReason(code string, suppliers ...SupplierReason) Option {
	return func(c *config) error {
		c.empty = &emptyReason{Code: code, Suppliers: slices.Clone(suppliers)}
		return nil
	}
}

// WithNotices adds notices to every HotelList that finds hotels.
func WithNotices(notices ...string) Option {
	return func(c *config) error { c.notices = slices.Clone(notices); return nil }
}

// WithAvailabilityNumbers sets CheckAvail's status of an available and of an unavailable
// offer: 1 and 2 (the default), or 2 and 1.
func WithAvailabilityNumbers(available, unavailable int) Option {
	return func(c *config) error {
		if available+unavailable != 3 || available*unavailable != 2 {
			return errors.New("WithAvailabilityNumbers takes 1 and 2, or 2 and 1")
		}
		c.available, c.unavailable = available, unavailable
		return nil
	}
}

// WithRemarkInBasic moves CheckAvail's statusRemark from data to data.basic.
func WithRemarkInBasic() Option { return func(c *config) error { c.remarkInBasic = true; return nil } }

// WithRequiredGuestFields makes Book require fields of every guest: "gender",
// "dateOfBirth", "passportNumber".
func WithRequiredGuestFields(fields ...string) Option {
	return func(c *config) error {
		for _, f := range fields {
			if !slices.Contains([]string{"gender", "dateOfBirth", "passportNumber"}, f) {
				return fmt.Errorf("guest field %q cannot be required; use gender, dateOfBirth or passportNumber", f)
			}
		}
		c.guestFields = slices.Clone(fields)
		return nil
	}
}

// WithStrictCallbacks makes Book refuse loopback callback URLs, as documented. By default
// they are accepted, http too, because tests listen there. Deliveries to other URLs need
// [WithCallbackHandler].
func WithStrictCallbacks() Option {
	return func(c *config) error { c.strictCallbacks = true; return nil }
}

// WithBusinessFailureStatus sets the HTTP status, 200 to 499, of Book's answer to a moved
// rate or a duplicate booking. The default is 200.
func WithBusinessFailureStatus(status int) Option {
	return func(c *config) error {
		if status < 200 || status > 499 {
			return fmt.Errorf("WithBusinessFailureStatus takes an HTTP status from 200 to 499, not %d", status)
		}
		c.businessStatus = status
		return nil
	}
}

// WithOrderStatusNumbers sets the numbers of the order statuses. Zero fields keep their
// defaults; no two may be equal.
func WithOrderStatusNumbers(numbers OrderStatusNumbers) Option {
	return func(c *config) error {
		for _, f := range []struct{ to, from *int }{
			{&c.statusNumbers.Confirmed, &numbers.Confirmed},
			{&c.statusNumbers.Cancelled, &numbers.Cancelled},
			{&c.statusNumbers.Pending, &numbers.Pending},
		} {
			if *f.from != 0 {
				*f.to = *f.from
			}
			if *f.to < 2 || *f.to > 5 {
				return fmt.Errorf("order status %d is not between 2 and 5", *f.to)
			}
		}
		if s := c.statusNumbers; s.Confirmed == s.Cancelled || s.Confirmed == s.Pending || s.Cancelled == s.Pending {
			return errors.New("two order statuses have the same number")
		}
		return nil
	}
}

// WithConfirmAfter sets the time from Book to the confirmation. The default is three
// minutes. With a negative one only [Server.ConfirmOrder] confirms.
func WithConfirmAfter(d time.Duration) Option {
	return func(c *config) error { c.confirmAfter = d; return nil }
}

// WithLateVisibility hides an order from QueryOrders for d after Book.
func WithLateVisibility(d time.Duration) Option {
	return func(c *config) error { c.lateVisibility = d; return nil }
}

// WithCancelRule sets the cancellation rule of new orders. [Server.SetCancelRule] changes
// that of one order.
func WithCancelRule(rule CancelRule) Option {
	return func(c *config) error { c.cancelRule = rule; return rule.validate() }
}

// WithCancelCutoff sets how long before check-in, at midnight UTC, cancelling ends. The
// default is 24 hours.
func WithCancelCutoff(d time.Duration) Option {
	return func(c *config) error {
		c.cancelCutoff = d
		return notNegative("WithCancelCutoff", d)
	}
}

// WithVoucherDelay sets the time from the confirmation, when a voucher is PENDING, until
// it is GENERATED. The default is five seconds.
func WithVoucherDelay(d time.Duration) Option {
	return func(c *config) error {
		c.voucherDelay = d
		return notNegative("WithVoucherDelay", d)
	}
}

// WithVoucherLinkLifetime sets the lifetime of a downloadUrl. The default is 15 minutes.
func WithVoucherLinkLifetime(d time.Duration) Option {
	return func(c *config) error { c.voucherLink = d; return positive("WithVoucherLinkLifetime", d) }
}

// WithVoucherSize pads voucher documents to this many bytes. A document has about 1 KB
// without padding.
func WithVoucherSize(bytes int) Option {
	return func(c *config) error { c.voucherSize = bytes; return nil }
}

// WithUnsignedVouchers omits the signature block of vouchers.
func WithUnsignedVouchers() Option { return func(c *config) error { c.unsigned = true; return nil } }

// WithLedgerLimit sets how many requests and how many webhooks the ledger keeps, in at most
// 2 KiB each on average. The oldest go first. The default is 50,000.
func WithLedgerLimit(requests int) Option {
	return func(c *config) error {
		c.ledgerLimit = requests
		if requests < 1 {
			return errors.New("WithLedgerLimit needs at least 1")
		}
		return nil
	}
}

func notNegative(option string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s cannot be negative", option)
	}
	return nil
}

func positive(option string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s needs a positive duration, not %s", option, d)
	}
	return nil
}
