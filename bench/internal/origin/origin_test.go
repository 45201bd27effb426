package origin_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
)

// Each address uses its protocol with a default client.
func TestTransports(t *testing.T) {
	addresses, end := origin.Listen(origin.Handler(nil))
	defer end()
	distrust, err := origin.Trust(addresses.Certificate)
	require.NoError(t, err)
	defer distrust()
	transport := &http.Transport{ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	for base, proto := range map[string]string{addresses.HTTP1: "HTTP/1.1", addresses.TLSHTTP1: "HTTP/1.1", addresses.TLSHTTP2: "HTTP/2.0"} {
		for _, prefix := range []string{"", origin.GzipPrefix} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+prefix+"/api/search/checkAvail", bytes.NewReader([]byte("{}")))
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
