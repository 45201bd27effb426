// Webhooks: where a service may be told to post an order's events.

package hotelstays

import (
	"net/netip"
	"net/url"
	"strings"
)

// ValidateCallbackURL checks an address before it is sent with Book: it must be https,
// with a public host. Loopback, private and shared addresses are refused in every
// notation, and so are names that resolve only in private: localhost, names of a single
// label, *.internal and *.local. The error is a *ValidationError.
//
// The document gives these rules. That link-local, reserved and embedded addresses are
// not public either, and that a host is written in ASCII, is this client's reading of
// them: the service may draw the line elsewhere.
//
// It resolves nothing. The service resolves the host before each delivery, and
// sends nothing to a name that leads to an address that is not public.
func ValidateCallbackURL(raw string) error {
	var f faults
	if problem := callbackProblem(raw); problem != "" {
		f.add("callbackUrl", "%s", problem)
	}
	return f.err("ValidateCallbackURL")
}

// callbackProblem says why the service would refuse an address, or nothing.
func callbackProblem(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || strings.Contains(raw, " ") {
		return "is not an address such as https://host.example/path"
	}
	if u.Scheme != "https" {
		return "must be https"
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		if !isPublic(ip) {
			return "its host is not a public address"
		}
		return ""
	}
	return hostNameProblem(host)
}

func hostNameProblem(host string) string {
	labels := strings.Split(strings.ToLower(host), ".")
	last := labels[len(labels)-1]
	switch {
	case strings.ContainsFunc(host, notInHost): // before lower-casing, which makes ASCII of the Kelvin sign
		return "its host has characters that a host name cannot have; write it in ASCII"
	case isNumber(last):
		return "its host is an IP address in an unusual notation; write it in the usual one"
	case len(labels) == 1:
		return "its host has a single label, which is no public name"
	case oneOf(last, "localhost", "internal", "local"):
		return "its host ends in ." + last + ", which is no public name"
	case strings.Contains("."+host+".", ".."):
		return "its host has an empty label"
	}
	return ""
}

// notInHost tells what no name of a host has. Underscores are against the rules, and in use.
func notInHost(r rune) bool {
	return !strings.ContainsRune("-._0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", r)
}

// isNumber tells a last label that makes the whole host an IPv4 address to most
// resolvers: decimal, octal or hexadecimal.
func isNumber(label string) bool {
	hex, isHex := strings.CutPrefix(label, "0x")
	if isHex {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && !strings.ContainsFunc(label, notDigit)
}

// notPublic are the ranges that netip has no predicate for.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // shared address space
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and the broadcast address
	netip.MustParsePrefix("::/96"),           // IPv4-compatible, unspecified, loopback
	netip.MustParsePrefix("::ffff:0:0:0/96"), // IPv4-translated
	netip.MustParsePrefix("64:ff9b:1::/48"),  // NAT64 of a local network
	netip.MustParsePrefix("fec0::/10"),       // site-local
}

// embedding are the IPv6 ranges with an IPv4 address inside, and where it begins.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
}

func isPublic(ip netip.Addr) bool {
	if ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(ip) {
			return false
		}
	}
	for _, e := range embedding {
		if e.prefix.Contains(ip) {
			raw := ip.As16()
			return isPublic(netip.AddrFrom4([4]byte(raw[e.at : e.at+4])))
		}
	}
	return true
}

// isLoopbackURL tells an http or https address on this machine.
func isLoopbackURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && isLoopback(u.Hostname())
}
