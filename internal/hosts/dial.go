// Connections to public addresses.

package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// control is the ctx key of a net.Dialer.Control function, which may refuse an address before Dial connects.
type control struct{}

// Dial connects like the dialer of http.DefaultTransport, but gives up after 10 seconds.
func Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	d.Control, _ = ctx.Value(control{}).(func(string, string, syscall.RawConn) error)
	return d.DialContext(ctx, network, addr)
}

// Transport returns a copy of t for one request, without its proxy. The copy connects only to public addresses. It shares
// no connection with t, because an idle connection of t may lead to a private address.
func Transport(t *http.Transport) *http.Transport {
	t = t.Clone()
	t.Proxy, t.DisableKeepAlives = nil, true
	// If http2.ConfigureTransport has set TLSNextProto, the copy would use connections from a pool that belongs to t.
	if len(t.TLSNextProto) > 0 {
		t.TLSNextProto, t.ForceAttemptHTTP2 = nil, true
	}
	//lint:ignore SA1019 a caller may have set this deprecated field
	switch own := t.Dial; {
	case t.DialContext != nil: // if DialContext is set, net/http ignores Dial
	case own != nil:
		t.DialContext = func(_ context.Context, network, addr string) (net.Conn, error) { return own(network, addr) }
	default:
		t.DialContext = Dial
	}
	t.DialContext = publicDial(t.DialContext)
	if t.DialTLSContext != nil {
		t.DialTLSContext = publicDial(t.DialTLSContext)
	}
	//lint:ignore SA1019 a caller may have set this deprecated field
	t.DialTLS = nil
	return t
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// publicDial returns a function that calls dial and refuses private addresses. Dial checks the address before it connects.
// With another dialer, publicDial checks the connected address before anything is sent. A look-up of the name before the
// connection would prove nothing, because the dialer's own look-up may have another result.
func publicDial(dial dialFunc) dialFunc {
	check := func(_, addr string, _ syscall.RawConn) error { return publicAddress(addr) }
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(context.WithValue(ctx, control{}, check), network, addr)
		if err != nil {
			return nil, err
		}
		if err := publicAddress(fmt.Sprint(conn.RemoteAddr())); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return conn, nil
	}
}

var nat64 = netip.MustParsePrefix("64:ff9b::/96") // the last 32 bits of such an address are an IPv4 address

// ErrPrivate is the error of a connection to a private address.
var ErrPrivate = errors.New("the host has the private address")

// publicAddress refuses a private address. It accepts a text that is not an IP address, because only the caller's own
// dialer connects to such an address.
func publicAddress(addr string) error {
	peer, err := netip.ParseAddrPort(addr)
	ip := peer.Addr()
	if nat64.Contains(ip) {
		ipv6 := ip.As16()
		ip = netip.AddrFrom4([4]byte(ipv6[12:]))
	}
	if err == nil && !isPublic(ip) {
		return fmt.Errorf("%w %s", ErrPrivate, peer.Addr())
	}
	return nil
}
