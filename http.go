// The HTTP client: the default transport, and the caller's.

package hotelstays

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

const minTLS = tls.VersionTLS12

// defaultTransport looks http.DefaultTransport up for each request, because mocks replace
// it.
type defaultTransport struct{}

func (defaultTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(r)
}

func (defaultTransport) CloseIdleConnections() { http.DefaultClient.CloseIdleConnections() }

// NewTransport returns the transport that a client without WithHTTPClient uses. Start from
// it to change the proxy, certificates or the number of connections. It takes the proxy
// from the environment, speaks TLS 1.2 or later and HTTP/2, and keeps up to 256 idle
// connections to a host for 45 seconds (http.DefaultTransport keeps 2).
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dial,
		TLSClientConfig:     &tls.Config{MinVersion: minTLS},
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        512,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     45 * time.Second,
		// Pings find a silent connection. Without them every call on it would run into
		// its deadline.
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		ExpectContinueTimeout:  time.Second,
		OnProxyConnectResponse: refusedByProxy,
	}
}

// dialControl is the key in a ctx of what checks each address before dial connects to it.
type dialControl struct{}

func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	d.Control, _ = ctx.Value(dialControl{}).(func(string, string, syscall.RawConn) error)
	return d.DialContext(ctx, network, addr)
}

// WithHTTPClient sends the calls through a copy of hc. Its Transport, Jar and Timeout (of
// one attempt, with its wait for the rate limit) are used. Its CheckRedirect is not, because
// redirects are never followed. An *http.Transport that allows TLS below 1.2 is a
// *ValidationError. A nil Transport is http.DefaultTransport, as in net/http: mocks such as gock
// replace it, and it keeps only 2 idle connections to a host. For production start from
// NewTransport. Clients with the same Transport share its connections: CloseIdleConnections of one
// closes those of all.
//
// A RoundTripper must send a request at most once: one that retries by itself can book
// twice. One that fires no net/http/httptrace events cannot prove that a request never
// left. More outcomes of Book and Cancel are then unknown, and each request holds its slot
// of the rate limit until it has an answer. The error of a RoundTripper is part of the call's
// error: one that keeps the request keeps the token in its header.
func WithHTTPClient(hc *http.Client) Option {
	return notNil("WithHTTPClient", hc, func(c *config) {
		if t, ok := hc.Transport.(*http.Transport); ok && t.TLSClientConfig != nil {
			if v := t.TLSClientConfig.MinVersion; v != 0 && v < minTLS {
				c.faults.add("WithHTTPClient", "its transport allows TLS below 1.2")
			}
		}
		c.httpClient = hc
	})
}

// refusedByProxy is the error of a CONNECT that was refused. net/http's own is the
// text of the status alone, which reads as if the service had said it.
func refusedByProxy(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	err := fmt.Errorf("the proxy %s answered CONNECT with HTTP %d", proxy.Host, resp.StatusCode)
	if resp.StatusCode == http.StatusProxyAuthRequired {
		err = fmt.Errorf("%w: %w", err, ErrProxyAuth)
	}
	return err
}
