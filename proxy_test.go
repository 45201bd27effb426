package hotelstays

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/types"
)

// The error names the proxy that refused to connect, without the password in its
// address, and what it answered.
func TestRefusingProxyIsNamed(t *testing.T) {
	tr := NewTransport()
	defer tr.CloseIdleConnections()
	tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.example:3128", User: url.UserPassword("user", "password")})
	tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			go io.Copy(io.Discard, server)
			_, _ = io.WriteString(server, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		}()
		return client, nil
	}
	client, err := New("https://host.example", TokenCredential{Token: types.NewSecret("token")}, WithHTTPClient(&http.Client{Transport: tr}), WithMaxAttempts(1))
	require.NoError(t, err)
	_, err = client.CheckAvail(t.Context(), &CheckAvailRequest{SessionID: "session", RatePkgID: "offer"})
	require.ErrorContains(t, err, "no connection: the proxy proxy.example:3128 answered CONNECT with HTTP 407 (nothing was carried out")
	assert.NotContains(t, err.Error(), "password")
}
