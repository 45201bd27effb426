// Callback URLs, to which the service posts the events of an order.

package hotelstays

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ValidateCallbackURL checks a URL as Book checks its CallbackURL: it must be https, with a public host. Like the
// service, the client refuses loopback, private and shared addresses, localhost, single-label names, *.internal and
// *.local. The client also refuses *.localhost, names that are not ASCII, multicast and link-local addresses, and
// addresses that IANA reserves. It refuses addresses that contain an IPv4 address, and unusual notations of an address.
// The error is a *ValidationError.
//
// ValidateCallbackURL does not resolve names. The service resolves a name before each delivery, and delivers only to
// public addresses.
func ValidateCallbackURL(raw string) error {
	var f faults
	if problem := callbackProblem(raw); problem != "" {
		f.add("callbackUrl", "%s", problem)
	}
	return f.err("ValidateCallbackURL")
}

func callbackProblem(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "" || strings.Contains(raw, " "):
		return "is not a URL such as https://host.example/path"
	case u.Scheme != "https":
		return "must be https"
	case !isPort(cmp.Or(u.Port(), "443")):
		return "has a port above 65535"
	}
	return hostProblem(u.Hostname())
}

func hostProblem(host string) string {
	host = strings.TrimSuffix(host, ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		if !isPublic(ip) {
			return "its host is not a public address"
		}
		return ""
	}
	labels := strings.Split(strings.ToLower(host), ".")
	last := labels[len(labels)-1]
	switch {
	case strings.ContainsFunc(host, notInHost) || slices.Contains(labels, ""):
		return "its host is not a host name in ASCII; write an international one in its xn-- form"
	case len(labels) == 1 || slices.Contains([]string{"localhost", "internal", "local"}, last):
		return "its host is not a public name"
	case last[0] >= '0' && last[0] <= '9': // for example 127.1 or 0x7f.0.0.1, which mean 127.0.0.1
		return "its host is an IP address in an unusual notation; write it as four decimal numbers"
	}
	return ""
}

func isPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// notInHost allows the underscore, because some real hosts have an underscore.
func notInHost(r rune) bool {
	return !strings.ContainsRune("-._0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", r)
}

var (
	unicastIPv6 = netip.MustParsePrefix("2000::/3") // the only public IPv6 range that is assigned
	notPublic   = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),
		netip.MustParsePrefix("100.64.0.0/10"), // shared by the customers of a carrier
		netip.MustParsePrefix("240.0.0.0/4"),   // reserved
		netip.MustParsePrefix("192.0.0.0/24"),  // special uses by IETF protocols; some clouds have their metadata services here
		netip.MustParsePrefix("192.0.2.0/24"),  // examples in documentation, like the next two ranges
		netip.MustParsePrefix("198.51.100.0/24"),
		netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("192.88.99.0/24"), // relays between IPv4 and IPv6 (6to4)
		netip.MustParsePrefix("198.18.0.0/15"),  // benchmarks
		netip.MustParsePrefix("2001::/23"),      // special uses by IETF protocols, such as Teredo and ORCHID
		netip.MustParsePrefix("2001:db8::/32"),  // examples in documentation, like the next range
		netip.MustParsePrefix("3fff::/20"),
		netip.MustParsePrefix("2002::/16"), // 6to4
	}
)

func isPublic(ip netip.Addr) bool {
	if ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && (ip.Is4() || unicastIPv6.Contains(ip)) &&
		!slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(ip) })
}

func isLoopbackURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && isLoopback(u.Hostname())
}
