// The default transport, and the checks of the caller's transport.

package hotelstays

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/hosts"
)

const minTLS = tls.VersionTLS12

// defaultTransport reads http.DefaultTransport for each request, because test mocks replace this variable.
type defaultTransport struct{}

func (defaultTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if allowsOldTLS(http.DefaultTransport) { // the error is a dial error, so that the client knows that nothing was sent
		err := errors.New("http.DefaultTransport allows TLS below 1.2; raise MinVersion in its TLSClientConfig")
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (defaultTransport) CloseIdleConnections() { http.DefaultClient.CloseIdleConnections() }

// NewTransport returns a transport with the settings that New uses without WithHTTPClient. To change its proxy,
// certificates or number of connections, change the returned transport and pass it to WithHTTPClient. The
// transport takes its proxy from the environment, and uses TLS 1.2 or later and HTTP/2. It keeps up to 256 idle connections
// to a host for 45 seconds.
//
// Without WithHTTPClient, HotelListStream uses a second transport, which has only HTTP/1.1, because a slow loop then
// needs less memory. With WithHTTPClient, all calls use the given transport.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         hosts.Dial,
		TLSClientConfig:     &tls.Config{MinVersion: minTLS},
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        512,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     45 * time.Second,
		HTTP2: &http.HTTP2Config{
			// Pings detect a dead connection before calls on it reach their deadlines.
			SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second,
			// Small frames arrive earlier, because net/http returns no byte of a frame before it has read the whole frame.
			// Without this limit, Go 1.27 allows frames of 1 MiB.
			MaxReadFrameSize: 16 << 10,
		},
		ExpectContinueTimeout:  time.Second,
		OnProxyConnectResponse: refusedByProxy,
	}
}

// streamTransport is like NewTransport, but speaks only HTTP/1.1. Over HTTP/2, net/http would buffer up to 4 MiB for each
// stream whose loop is slow.
func streamTransport() *http.Transport {
	t := NewTransport()
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	return t
}

func allowsOldTLS(rt http.RoundTripper) bool {
	t, ok := rt.(*http.Transport)
	return ok && t.TLSClientConfig != nil && t.TLSClientConfig.MinVersion != 0 && t.TLSClientConfig.MinVersion < minTLS
}

// refusedByProxy returns an error that names the proxy if it has refused a CONNECT. The error of net/http contains
// only the status, as if the service had sent it.
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
