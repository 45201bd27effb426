// The options of a server, and their defaults.

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

// ErrInvalidOption is wrapped by every error of [StartServer] about an option.
var ErrInvalidOption = errors.New("hotelstaystest: invalid option")

// Option configures a [Server].
type Option func(*config) error

// OrderStatusNumbers gives the numbers of order statuses that the API's reference names
// but does not number. Each is between 2 and 5.
type OrderStatusNumbers struct {
	Confirmed int // default 2
	Cancelled int // default 3
	Pending   int // default 4; only [Server.SetOrderStatus] puts an order there
}

// SupplierReason is one row of the supplier breakdown of an empty search.
type SupplierReason struct {
	SupplierCode string `json:"supplierCode"`
	Reason       string `json:"reason"`
}

// account is a pair of credentials. OAuth clients act on the first account.
type account struct {
	key, secret string
}

type oauthClient struct {
	id, secret string
	scopes     []string
}

// config is what the options set.
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

// finish fills what the options left open.
func (c *config) finish() error {
	if len(c.accounts) == 0 {
		c.accounts = []account{{"sandbox-app-key", "sandbox-app-secret"}}
	}
	if len(c.clients) == 0 {
		c.clients = []oauthClient{{"sandbox-client", "sandbox-client-secret", AllScopes()}}
	}
	if c.http1Only && !c.tls {
		return errors.New("WithHTTP1Only needs WithTLS: without TLS there is no HTTP/2 anyway")
	}
	if c.inMemory && c.addr != "127.0.0.1:0" {
		return errors.New("WithInMemory and WithAddr exclude each other")
	}
	return c.catalog.finish()
}

// WithAddr listens on this address, "127.0.0.1:8080" for instance. Only loopback
// addresses are possible: the sandbox has no defences. The default is a free port
// of 127.0.0.1.
func WithAddr(addr string) Option {
	return func(c *config) error {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return fmt.Errorf("address %q: %w", addr, err)
		}
		ip, err := netip.ParseAddr(host)
		if host != "localhost" && (err != nil || !ip.Unmap().IsLoopback()) {
			return fmt.Errorf("address %q is not a loopback address; the sandbox serves this machine only (use 127.0.0.1, ::1 or localhost)", addr)
		}
		c.addr = addr
		return nil
	}
}

// WithTLS serves https with a certificate made for 127.0.0.1, ::1 and localhost, and
// HTTP/2. [Server.Client] and [Server.Certificate] trust it.
func WithTLS() Option { return func(c *config) error { c.tls = true; return nil } }

// WithHTTP1Only keeps a TLS server to HTTP/1.1.
func WithHTTP1Only() Option { return func(c *config) error { c.http1Only = true; return nil } }

// WithInMemory serves in-memory connections instead of sockets. Only the clients of
// [Server.Client] and [Server.ClientFrom], and transports that dial with
// [Server.DialContext], reach the server: a client without one of them would dial
// the machine itself.
func WithInMemory() Option { return func(c *config) error { c.inMemory = true; return nil } }

// WithCompression answers with gzip when the client accepts it and the body is over
// a kilobyte.
func WithCompression() Option { return func(c *config) error { c.gzip = true; return nil } }

// WithSeed chooses the generated world and the draws of faults. The default is 1.
func WithSeed(seed uint64) Option { return func(c *config) error { c.seed = seed; return nil } }

// WithCatalog sets the size of the generated catalogue.
func WithCatalog(catalog Catalog) Option {
	return func(c *config) error { c.catalog = catalog; return nil }
}

// WithAccount adds an account. Given several times, each is an account of its
// own with its own orders; the first is [Server.AppKey].
func WithAccount(appKey, appSecret string) Option {
	return func(c *config) error {
		if appKey == "" || appSecret == "" {
			return errors.New("WithAccount needs a key and a secret")
		}
		c.accounts = append(c.accounts, account{appKey, appSecret})
		return nil
	}
}

// WithOAuthClient adds an OAuth client registered for these scopes, by default all.
// It acts on the first account. The first client is [Server.ClientID].
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

// WithTicketScopes limits tickets to these scopes. By default a ticket lists none
// and has full access.
func WithTicketScopes(scopes ...string) Option {
	return func(c *config) error { c.ticketScopes = slices.Clone(scopes); return nil }
}

// WithMarkets restricts the account to these markets: every call must carry one of
// them in its Market header.
func WithMarkets(markets ...string) Option {
	return func(c *config) error { c.markets = slices.Clone(markets); return nil }
}

// WithUserRefs authorises named users with their scopes. Every call must then carry
// one of them in User-Ref, and both the credential and the user need the scope of
// the operation. A user without scopes may do nothing.
func WithUserRefs(users map[string][]string) Option {
	return func(c *config) error { c.users = maps.Clone(users); return nil }
}

// WithOAuthTopLevel answers OAuth calls without the envelope.
func WithOAuthTopLevel() Option { return func(c *config) error { c.oauthTopLevel = true; return nil } }

// WithTokenLifetime sets how long OAuth access tokens live. The default is an hour.
// A ticket lives for the ttl that it was asked for with.
func WithTokenLifetime(d time.Duration) Option {
	return func(c *config) error { c.tokenLife = d; return positive("WithTokenLifetime", d) }
}

// WithVisibilityBand gives the account a visibility band: HotelList takes 200 hotel
// ids instead of 1,000.
func WithVisibilityBand() Option { return func(c *config) error { c.idLimit = 200; return nil } }

// WithoutRateLimits turns all rate limits off.
func WithoutRateLimits() Option { return func(c *config) error { c.unlimited = true; return nil } }

// maxRateLimit bounds the memory of a callLog.
const maxRateLimit = 1_000_000

// WithRateLimit sets how many calls per second of an operation one client address may
// make, at most a million.
func WithRateLimit(op Operation, perSecond int) Option {
	return func(c *config) error {
		if perSecond < 1 || perSecond > maxRateLimit {
			return fmt.Errorf("the rate limit of %s must be between 1 and %d, not %d; use WithoutRateLimits for none", op, maxRateLimit, perSecond)
		}
		if !op.documented() {
			return fmt.Errorf("%q is not an operation of the API", op)
		}
		c.rateLimits[op] = perSecond
		return nil
	}
}

// WithoutTotals makes HotelList and HotelsMetadata answer total 0, as a service does
// that cannot count; hasMore still says whether there is more.
func WithoutTotals() Option { return func(c *config) error { c.totals = false; return nil } }

// WithEmptyReason makes every HotelList come out empty for a configuration reason.
// The supplier rows are optional.
func WithEmptyReason(code string, suppliers ...SupplierReason) Option {
	return func(c *config) error {
		c.empty = &emptyReason{Code: code, Suppliers: slices.Clone(suppliers)}
		return nil
	}
}

// WithNotices adds notices to every HotelList that has no emptyReason.
func WithNotices(notices ...string) Option {
	return func(c *config) error { c.notices = slices.Clone(notices); return nil }
}

// WithAvailabilityNumbers sets which of 1 and 2 CheckAvail answers for an available
// and for an unavailable offer. The default is 1 and 2.
func WithAvailabilityNumbers(available, unavailable int) Option {
	return func(c *config) error {
		if available+unavailable != 3 || available*unavailable != 2 {
			return errors.New("availability numbers are 1 and 2, one each")
		}
		c.available, c.unavailable = available, unavailable
		return nil
	}
}

// WithRemarkInBasic puts CheckAvail's statusRemark into data.basic instead of data.
func WithRemarkInBasic() Option { return func(c *config) error { c.remarkInBasic = true; return nil } }

// WithRequiredGuestFields makes the supplier contract require these fields of every
// guest: "gender", "dateOfBirth", "passportNumber".
func WithRequiredGuestFields(fields ...string) Option {
	return func(c *config) error {
		for _, f := range fields {
			if !slices.Contains([]string{"gender", "dateOfBirth", "passportNumber"}, f) {
				return fmt.Errorf("no contract requires the guest field %q", f)
			}
		}
		c.guestFields = slices.Clone(fields)
		return nil
	}
}

// WithStrictCallbacks applies the documented rules to callbackUrl. Without it a
// loopback URL, http too, is accepted as well, since that is where tests listen. A URL
// that the rules allow is not loopback: only [WithCallbackHandler] can receive there.
func WithStrictCallbacks() Option {
	return func(c *config) error { c.strictCallbacks = true; return nil }
}

// WithBusinessFailureStatus sets the HTTP status of a moved rate and a duplicate
// booking. The default is 200.
func WithBusinessFailureStatus(status int) Option {
	return func(c *config) error {
		if status < 200 || status > 499 {
			return fmt.Errorf("HTTP status %d cannot carry a business failure", status)
		}
		c.businessStatus = status
		return nil
	}
}

// WithOrderStatusNumbers sets the numbers of the order statuses. Zero fields keep their
// defaults.
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

// WithConfirmAfter sets how long after Book an order is confirmed, by default three
// minutes. Negative: only [Server.ConfirmOrder] confirms.
func WithConfirmAfter(d time.Duration) Option {
	return func(c *config) error { c.confirmAfter = d; return nil }
}

// WithLateVisibility hides a new order from QueryOrders for d after Book.
func WithLateVisibility(d time.Duration) Option {
	return func(c *config) error { c.lateVisibility = d; return nil }
}

// WithCancelRule sets the cancellation rule of new orders; [Server.SetCancelRule]
// changes one order's.
func WithCancelRule(rule CancelRule) Option {
	return func(c *config) error { c.cancelRule = rule; return rule.validate() }
}

// WithCancelCutoff sets how long before check-in (midnight UTC) cancelling ends. The
// default is 24 hours.
func WithCancelCutoff(d time.Duration) Option {
	return func(c *config) error {
		c.cancelCutoff = d
		if d < 0 {
			return errors.New("WithCancelCutoff cannot be negative")
		}
		return nil
	}
}

// WithVoucherDelay sets how long after the confirmation a voucher is PENDING before
// it is GENERATED. The default is five seconds.
func WithVoucherDelay(d time.Duration) Option {
	return func(c *config) error {
		c.voucherDelay = d
		if d < 0 {
			return errors.New("WithVoucherDelay cannot be negative")
		}
		return nil
	}
}

// WithVoucherLinkLifetime sets how long a downloadUrl works. The default is 15 minutes.
func WithVoucherLinkLifetime(d time.Duration) Option {
	return func(c *config) error { c.voucherLink = d; return positive("WithVoucherLinkLifetime", d) }
}

// WithVoucherSize pads voucher documents to this many bytes. Documents that are
// larger by themselves (about 1 KB) stay as they are.
func WithVoucherSize(bytes int) Option {
	return func(c *config) error { c.voucherSize = bytes; return nil }
}

// WithUnsignedVouchers leaves the signature block out of vouchers.
func WithUnsignedVouchers() Option { return func(c *config) error { c.unsigned = true; return nil } }

// WithLedgerLimit sets how many requests the ledger keeps, the latest. The default
// is 50,000.
func WithLedgerLimit(requests int) Option {
	return func(c *config) error {
		c.ledgerLimit = requests
		if requests < 1 {
			return errors.New("WithLedgerLimit needs at least 1")
		}
		return nil
	}
}

func positive(option string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s needs a positive duration, not %s", option, d)
	}
	return nil
}
