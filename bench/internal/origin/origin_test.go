package origin_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
)

// Each address returns the prepared answer, also over a simulated line.
func TestEachServerAnswersWithTheProtocolOfItsTransport(t *testing.T) {
	addresses, end := origin.Listen(origin.Handler(nil))
	defer end()
	untrust, err := origin.Trust(addresses.Certificate)
	require.NoError(t, err)
	defer untrust()
	transport := &http.Transport{ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	for name, proto := range map[string]string{origin.HTTP1: "HTTP/1.1", origin.TLSHTTP1: "HTTP/1.1", origin.TLSHTTP2: "HTTP/2.0",
		origin.Over(origin.TLSHTTP1, origin.Far): "HTTP/1.1", origin.Over(origin.TLSHTTP2, origin.Far): "HTTP/2.0"} {
		for _, prefix := range []string{"", origin.GzipPrefix} {
			url := addresses.BaseURLs[name] + prefix + "/api/search/checkAvail"
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
			require.NoError(t, err)
			resp, err := transport.RoundTrip(req)
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			require.NoError(t, err)
			assert.Equal(t, proto, resp.Proto)
			assert.Equal(t, prefix != "", resp.Uncompressed)
			assert.Equal(t, string(answers.CheckAvail()), string(body))
		}
	}
}
