// Package hosts decides which hosts are public and which URLs are valid, and connects only to public addresses.
package hosts

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// IsLoopback reports whether host is this machine.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// Problem returns why a host is not public, or "".
func Problem(host string) string {
	host = strings.TrimSuffix(host, ".")
	ip, err := netip.ParseAddr(host)
	labels := strings.Split(strings.ToLower(host), ".")
	last := labels[len(labels)-1]
	switch {
	case err == nil && isPublic(ip):
		return ""
	case err == nil:
		return "its host is not a public address"
	case !IsName(host):
		return "its host is not a host name in ASCII; write an international one in its xn-- form"
	case len(labels) == 1 || slices.Contains([]string{"localhost", "internal", "local"}, last):
		return "its host is not a public name"
	case last[0] >= '0' && last[0] <= '9': // for example 127.1 or 0x7f.0.0.1, which mean 127.0.0.1
		return "its host is an IP address in an unusual notation; write it as four decimal numbers"
	}
	return ""
}

// BaseURL returns the single spelling of a base URL, whether the URL leads to this machine, and why the URL is not a base URL,
// or "". Rate limits, shared tokens and recoveries belong to a base URL, so each base URL gets one spelling.
func BaseURL(raw string) (base string, loopback bool, problem string) {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return "", false, "is empty; use a URL such as https://host.example"
	case err != nil || u.Hostname() == "":
		return "", false, "is not a URL with a scheme and a host, such as https://host.example"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", false, "must not contain a user, a query or a fragment"
	}
	loopback = IsLoopback(u.Hostname())
	if u.Scheme != "https" && !(u.Scheme == "http" && loopback) {
		problem = "must be https; only loopback may be http"
	}
	u.Host = strings.TrimSuffix(strings.ToLower(u.Host), map[string]string{"https": ":443", "http": ":80"}[u.Scheme])
	return strings.TrimRight(u.String(), "/"), loopback, problem
}

// CallbackProblem returns why a URL is not a callback URL of the API document, or "".
func CallbackProblem(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "" || strings.Contains(raw, " "):
		return "is not a URL such as https://host.example/path"
	case u.Scheme != "https":
		return "must be https"
	}
	if _, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16); err != nil {
		return "has a port above 65535"
	}
	return Problem(u.Hostname())
}

// IsLoopbackURL reports whether a URL of http or https leads to this machine.
func IsLoopbackURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && IsLoopback(u.Hostname())
}

// IsName reports whether host is a host name in ASCII, without a port and without a dot at its end.
func IsName(host string) bool {
	return !strings.ContainsFunc(host, notInName) && !slices.Contains(strings.Split(host, "."), "")
}

// notInName reports whether r cannot be in a host name. The underscore can, because the names of some real hosts have it.
func notInName(r rune) bool {
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
