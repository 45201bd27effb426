// The checks of a configuration.

package hotelstaystest

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// ErrInvalidConfig matches every error about a [Config]. Such an error lists all
// invalid fields, each with its path in JSON.
var ErrInvalidConfig = errors.New("hotelstaystest: invalid configuration")

type configFaults []string

func (f *configFaults) refuseIf(fault bool, format string, args ...any) {
	if fault {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

func (c *Config) check() error {
	f := new(configFaults)
	c.checkListener(f)
	c.checkControl(f)
	c.Catalog.check(f)
	c.checkCredentials(f)
	c.checkRateLimits(f)
	c.checkBooking(f)
	c.checkDurations(f)
	c.Webhooks.check(f)
	c.Variants.check(f)
	f.refuseIf(c.VoucherSize < 0, "voucherSize must be 0 or more, not %d", c.VoucherSize)
	f.refuseIf(c.LedgerLimit < 1, "ledgerLimit must be at least 1, not %d", c.LedgerLimit)
	if len(*f) > 0 {
		return fmt.Errorf("%w: %s", ErrInvalidConfig, strings.Join(*f, "; "))
	}
	return nil
}

const anyPort = "127.0.0.1:0"

func (c *Config) checkListener(f *configFaults) {
	host, _, err := net.SplitHostPort(c.Addr)
	f.refuseIf(err != nil, "addr %q: %v", c.Addr, err)
	f.refuseIf(err == nil && !c.AllowRemote && !loopbackHost(host),
		"addr %q is not a loopback address; use 127.0.0.1, ::1 or localhost, or set allowRemote", c.Addr)
	f.refuseIf(len(c.TLSNames) > 0 && !c.TLS, "tlsNames needs tls")
	for i, name := range c.TLSNames {
		checkHost(f, fmt.Sprintf("tlsNames[%d]", i), name)
	}
	f.refuseIf(c.HTTP1Only && !c.TLS, "http1Only needs tls; without TLS there is no HTTP/2")
	f.refuseIf(c.InMemory && c.Addr != anyPort, "inMemory and addr cannot be combined")
}

func checkHost(f *configFaults, field, name string) {
	_, err := netip.ParseAddr(name)
	f.refuseIf(err != nil && !hostForm.MatchString(name), "%s must be a host name or an IP address, without a port, not %q", field, name)
}

var hostForm = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?$`)

// minControlToken is the minimum length of a token that other machines can try to guess.
const minControlToken = 16

// checkControl refuses a control API that other machines can reach, unless it has a long token.
func (c *Config) checkControl(f *configFaults) {
	host, _, _ := net.SplitHostPort(c.Addr)
	f.refuseIf(strings.ContainsFunc(c.Control.Token, func(r rune) bool { return r <= ' ' || r > '~' }),
		"control.token contains a space, or a character that is not allowed in an HTTP header")
	f.refuseIf(c.Control.Enabled && len(c.Control.Token) < minControlToken && !loopbackHost(host),
		"control.token has %d characters; it needs %d, because addr %q is not a loopback address",
		len(c.Control.Token), minControlToken, c.Addr)
}

func loopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

func (c *Catalog) check(f *configFaults) {
	for _, n := range c.sizes() {
		f.refuseIf(*n.value < n.least || *n.value > n.most, "%s must be between %d and %d, not %d", n.field, n.least, n.most, *n.value)
	}
}

func (c *Config) checkCredentials(f *configFaults) {
	for i, a := range c.Accounts {
		f.refuseIf(a.AppKey == "" || a.AppSecret == "", "accounts[%d] needs appKey and appSecret", i)
	}
	for i, o := range c.OAuthClients {
		f.refuseIf(o.ClientID == "" || o.ClientSecret == "", "oauthClients[%d] needs clientId and clientSecret", i)
	}
}

// maxRateLimit is the highest rate limit. It limits the memory of a callLog, which holds the time of each call.
const maxRateLimit = 1_000_000

func (c *Config) checkRateLimits(f *configFaults) {
	for _, op := range slices.Sorted(maps.Keys(c.RateLimits)) {
		known := slices.ContainsFunc(operations(), func(o operation) bool { return o.name == op })
		f.refuseIf(!known, "rateLimits: %q is not an operation of the API", op)
		limit := c.RateLimits[op]
		f.refuseIf(known && (limit < 1 || limit > maxRateLimit),
			"rateLimits.%s must be between 1 and %d, not %d; noRateLimits turns all off", op, maxRateLimit, limit)
	}
}

func (c *Config) checkBooking(f *configFaults) {
	for i, field := range c.RequiredGuestFields {
		f.refuseIf(!slices.Contains([]string{"gender",
			"dateOfBirth", "passportNumber"}, field), "requiredGuestFields[%d] must be gender, dateOfBirth or passportNumber, not %q", i, field)
	}
	err := c.CancelRule.validate()
	f.refuseIf(err != nil, "cancelRule: %v", err)
}

func (c *Config) checkDurations(f *configFaults) {
	all := c.durations()
	for i := range c.Webhooks.RetryDelays {
		all = append(all, setting[time.Duration]{field: fmt.Sprintf("webhooks.retryDelays[%d]", i), value: &c.Webhooks.RetryDelays[i], least: 1})
	}
	for _, d := range all {
		f.refuseIf(*d.value < d.least, "%s must be positive, not %s", d.field, durationText(*d.value))
	}
}

func (w *WebhookConfig) check(f *configFaults) {
	for i, host := range w.CallbackHosts {
		checkHost(f, fmt.Sprintf("webhooks.callbackHosts[%d]", i), host)
	}
	for _, on := range slices.Sorted(maps.Keys(w.Events)) {
		f.refuseIf(!slices.Contains([]WebhookTrigger{OnBook, OnConfirm, OnAmend, OnCancel, OnStatus}, on),
			"webhooks.events: unknown WebhookTrigger %q", on)
		f.refuseIf(slices.Contains(w.Events[on], ""), "webhooks.events.%s: an event has no name", on)
	}
}

func (v *Variants) check(f *configFaults) {
	f.refuseIf(v.Available != 1 && v.Available != 2, "variants.available must be 1 or 2, not %d", v.Available)
	f.refuseIf(v.BusinessFailureStatus < 200 || v.BusinessFailureStatus > 499,
		"variants.businessFailureStatus must be an HTTP status from 200 to 499, not %d", v.BusinessFailureStatus)
	n := v.OrderStatusNumbers
	for _, number := range []types.OrderStatus{n.Confirmed, n.Cancelled, n.Pending} {
		f.refuseIf(number < 2 || number > 5, "variants.orderStatusNumbers: %d is not between 2 and 5", number)
	}
	f.refuseIf(n.Confirmed == n.Cancelled || n.Confirmed == n.Pending || n.Cancelled == n.Pending,
		"variants.orderStatusNumbers: two order statuses have the same number")
}
