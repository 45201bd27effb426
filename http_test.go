// The HTTP client: mocks, TLS versions, and a proxy that refuses.

package hotelstays_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/h2non/gock.v1"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// A transport that names no TLS version has net/http's own, which is good.
func TestNewTakesTheDefaultTLS(t *testing.T) {
	for _, version := range []uint16{0, tls.VersionTLS12, tls.VersionTLS13} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: version}}
		_, err := hotelstays.New("https://api.example.test", bearerToken("token"), hotelstays.WithHTTPClient(&http.Client{Transport: transport}))
		assert.NoError(t, err)
	}
}

// A caller's http.Client without a Transport sends through http.DefaultTransport, also
// through one that a mock has put there since. Without WithHTTPClient nothing does.
func TestMockedDefaultTransport(t *testing.T) {
	client, err := hotelstays.New("http://127.0.0.1:1", bearerToken("token"), hotelstays.WithHTTPClient(http.DefaultClient),
		hotelstays.WithMaxAttempts(1))
	require.NoError(t, err)
	own, err := hotelstays.New("http://127.0.0.1:1", bearerToken("token"), hotelstays.WithMaxAttempts(1))
	require.NoError(t, err)
	gock.New("http://127.0.0.1:1").Post("/api/search/destinations").Times(2).Reply(200).BodyString(`{"code":0,"data":{"destinations":[]}}`)
	defer gock.OffAll()

	resp, err := client.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
	require.NoError(t, err)
	assert.Equal(t, 200, resp.Meta.HTTPStatus)
	_, err = own.Destinations(t.Context(), &hotelstays.DestinationsRequest{})
	assert.ErrorContains(t, err, "no connection")
	gock.New("http://127.0.0.1:1").Get("/voucher").Reply(200).BodyString("document")
	var got strings.Builder
	err = client.DownloadVoucher(t.Context(), &types.Voucher{DownloadURL: "http://127.0.0.1:1/voucher", ByteSize: 8}, &got,
		hotelstays.WithUnsignedVouchers())
	require.NoError(t, err)
	assert.Equal(t, "document", got.String())
	assert.Nil(t, http.DefaultClient.Transport, "what the caller gave is not changed")
	gock.OffAll()
	client.CloseIdleConnections()
}

// The error names the proxy that refused to connect, and its answer, without the password in its
// address.
func TestRefusingProxyIsNamed(t *testing.T) {
	tr := hotelstays.NewTransport()
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
	err := operationCalls[hotelstays.OpCheckAvail](t.Context(), clientWith(t, tr, bearerToken("token")))
	require.ErrorContains(t, err, "no connection: the proxy proxy.example:3128 answered CONNECT with HTTP 407: "+
		"the proxy asks for authentication (nothing was carried out")
	assert.ErrorContains(t, err, "check the credentials of the proxy")
	assert.Equal(t, hotelstays.KindProxyAuth, hotelstays.KindOf(err))
	assert.NotContains(t, err.Error(), "password")
}
