// Links of vouchers: the hosts that a document may come from, and its download.

package hotelstays

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/hotelstays/hotelstays-go/internal/redact"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

const maxVoucherRedirects = 3

// getDocument requests the document of v, and follows redirects. The result links has the URLs of the document and of
// the redirects. These URLs are secret, so no error may contain them.
func (c *Client) getDocument(ctx context.Context, v *types.Voucher) (resp *http.Response, links []string, err error) {
	next := v.DownloadURL
	links = []string{next}
	var u *url.URL
	for {
		if u, err = c.voucherLink(u, next); err != nil {
			return nil, nil, voucherError(v, err, "")
		}
		links = append(links, u.String())
		resp, err = c.requestDocument(ctx, u)
		if err != nil {
			return nil, nil, voucherError(v, withoutLinks(transport.WithoutCause(ctx, err), links),
				"the document could not be downloaded%s", adviceAfter(err))
		}
		if resp.StatusCode == http.StatusOK {
			return resp, links, nil
		}
		resp.Body.Close()
		next = resp.Header.Get("Location")
		if !isRedirect(resp.StatusCode) || next == "" || v.Signature == nil || v.Signature.Digest == "" || len(links) > 1+maxVoucherRedirects {
			return nil, nil, documentRefused(v, resp.StatusCode)
		}
	}
}

// voucherLink parses a link and checks its host. If the parameter from is not nil, the document at that URL redirects
// to this link.
func (c *Client) voucherLink(from *url.URL, link string) (*url.URL, error) {
	what, parse := "its link", url.Parse
	if from != nil {
		what, parse = "a redirect of its link", from.Parse
	}
	u, err := parse(link)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil, fmt.Errorf("%s is not a URL", what)
	}
	host := u.Hostname()
	switch {
	case c.loopback && u.Scheme == "http" && isLoopback(host) && (from == nil || from.Host == u.Host):
		return u, nil
	case u.Scheme != "https":
		return nil, fmt.Errorf("%s is not https", what)
	case !c.trustsHost(host) && hostProblem(host) != "":
		return nil, fmt.Errorf("%s leads to %.100q, which is not a public host; if you trust this host, name it in WithVoucherHosts", what, host)
	}
	return u, nil
}

// trustsHost reports whether documents may come from a host even if the host is private.
func (c *Client) trustsHost(host string) bool {
	return c.loopback || slices.ContainsFunc(c.voucherHosts, func(h string) bool { return strings.EqualFold(h, host) })
}

func (c *Client) requestDocument(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(userAgent, cmp.Or(c.defaults.Header.Get(userAgent), defaultUserAgent))
	req.Header.Set("Accept-Encoding", "identity") // asks for no compression, because the voucher's digest is for the uncompressed document
	// RoundTrip follows no redirect and has no cookies.
	resp, err := c.documentTransport(req).RoundTrip(req)
	if err == nil && (resp == nil || resp.Body == nil) {
		err = errors.New("the RoundTripper returned neither an answer nor an error")
	}
	return resp, err
}

// adviceAfter returns the advice to try again, or "" if the next download would fail, too.
func adviceAfter(err error) string {
	var certificate *tls.CertificateVerificationError
	var file *fs.PathError
	var inline base64.CorruptInputError
	if errors.As(err, &certificate) || errors.As(err, &file) || errors.As(err, &inline) || errors.Is(err, errPrivateAddress) {
		return ""
	}
	return "; " + tryLater
}

func isRedirect(status int) bool {
	return slices.Contains([]int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, status)
}

func documentRefused(v *types.Voucher, status int) error {
	err := errors.New("the document could not be downloaded")
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		err = ErrVoucherLinkExpired
	}
	next := ""
	switch {
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests:
		next = "; " + tryLater
	case isRedirect(status):
		next = "; at most three redirects are followed, and none if the voucher has no digest"
	}
	return voucherError(v, err, "HTTP %d%s", status, next)
}

// documentTransport returns a transport that connects only to public addresses. If a proxy or a RoundTripper other than
// *http.Transport connects, it returns the client's transport.
func (c *Client) documentTransport(req *http.Request) http.RoundTripper {
	rt := c.http.Transport
	if _, ok := rt.(defaultTransport); ok {
		rt = http.DefaultTransport
	}
	t, ok := rt.(*http.Transport)
	if !ok || c.trustsHost(req.URL.Hostname()) {
		return rt
	}
	if t.Proxy != nil {
		if proxy, err := t.Proxy(req); proxy != nil || err != nil {
			return rt
		}
	}
	return publicTransport(t)
}

// publicTransport returns a copy of t for one request. Idle connections of t may lead to a proxy or to a private
// address.
func publicTransport(t *http.Transport) *http.Transport {
	t = t.Clone()
	t.Proxy, t.DisableKeepAlives = nil, true
	if len(t.TLSNextProto) > 0 { // http2.ConfigureTransport sets TLSNextProto, whose connections are in a separate pool
		t.TLSNextProto, t.ForceAttemptHTTP2 = nil, true
	}
	//lint:ignore SA1019 a caller may have set this deprecated field
	switch own := t.Dial; {
	case t.DialContext != nil: // if DialContext is set, net/http ignores Dial
	case own != nil:
		t.DialContext = func(_ context.Context, network, addr string) (net.Conn, error) { return own(network, addr) }
	default:
		t.DialContext = dial
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

// publicDial returns a function that calls dial and refuses private addresses. The dialer of NewTransport checks the
// address before it connects. With another dialer, publicDial checks the connected address before anything is sent. A
// look-up of the name before the connection would prove nothing, because the dialer's own look-up may have another
// result.
func publicDial(dial dialFunc) dialFunc {
	control := func(_, addr string, _ syscall.RawConn) error { return publicAddress(addr) }
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(context.WithValue(ctx, dialControl{}, control), network, addr)
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

var errPrivateAddress = errors.New("the host has the private address")

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
		return fmt.Errorf("%w %s; if you trust this host, name it in WithVoucherHosts", errPrivateAddress, peer.Addr())
	}
	return nil
}

// withoutLinks returns an error whose text has no link, because anyone who has a link can get the document. The result
// is err, its first cause whose text has no link, or the text of err with the links redacted.
func withoutLinks(err error, links []string) error {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if text := cause.Error(); redactLinks(text, links) == text {
			return cause
		}
	}
	return errors.New(redactLinks(err.Error(), links))
}

// redactLinks redacts links and their parts, because an error may quote only the path, or one parameter. Parts of less than
// minPart bytes are kept, because they may be words of any error.
func redactLinks(text string, links []string) string {
	const minPart = 8
	var secrets redact.Set
	for _, link := range links {
		secrets = append(secrets, link)
		u, err := url.Parse(link)
		if err != nil {
			continue
		}
		parts := append(strings.Split(u.Path, "/"), u.Path, u.RequestURI(), u.RawQuery)
		for name, values := range u.Query() {
			parts = append(append(parts, name), values...)
		}
		secrets = append(secrets, slices.DeleteFunc(parts, func(part string) bool { return len(part) < minPart })...)
	}
	return secrets.Text(text)
}
