// The page without a browser: its parts, its paths and its headers.

package sandboxpage

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

func start(t *testing.T, config ...hotelstaystest.Config) *hotelstaystest.Server {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.InMemory, c.Control.Enabled, c.Control.Page = true, true, Handler
	srv := hotelstaystest.NewServer(&c)
	t.Cleanup(srv.Close)
	return srv
}

// get returns an answer and its body.
func get(t *testing.T, srv *hotelstaystest.Server, path string) (*http.Response, string) {
	t.Helper()
	resp, err := srv.Client().Get(srv.URL + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

// post sends what the sandbox refuses, which is enough for the journal.
func post(t *testing.T, srv *hotelstaystest.Server, path, body string) {
	t.Helper()
	resp, err := srv.Client().Post(srv.URL+path, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	resp.Body.Close()
}

func TestPaths(t *testing.T) {
	srv := start(t)
	for path, want := range map[string]string{ // its type
		"/_sandbox/":                         "text/html; charset=utf-8",
		"/_sandbox/page/static/page.js":      "text/javascript; charset=utf-8",
		"/_sandbox/page/static/page.css":     "text/css; charset=utf-8",
		"/_sandbox/page/static/icon.svg":     "image/svg+xml",
		"/_sandbox/page/page.html":           "404",
		"/_sandbox/page/static/../page.html": "404",
	} {
		resp, _ := get(t, srv, path)
		got := resp.Header.Get("Content-Type")
		if resp.StatusCode != http.StatusOK {
			got = strconv.Itoa(resp.StatusCode)
		}
		assert.Equal(t, want, got, path)
	}
	resp, _ := get(t, srv, "/_sandbox/")
	assert.Subset(t, strings.Split(resp.Header.Get("Content-Security-Policy"), "; "), []string{
		"default-src 'none'", "script-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
	})
}
