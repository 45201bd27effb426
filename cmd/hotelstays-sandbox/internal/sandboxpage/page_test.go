package sandboxpage

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

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

func get(t *testing.T, srv *hotelstaystest.Server, path string) (*http.Response, string) {
	t.Helper()
	resp, err := srv.Client().Get(srv.URL + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

// post sends a request that the sandbox refuses. The page lists refused requests, too.
func post(t *testing.T, srv *hotelstaystest.Server, path, body string) {
	t.Helper()
	resp, err := srv.Client().Post(srv.URL+path, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	resp.Body.Close()
}

func TestHandlerServesOnlyThePathsOfThePage(t *testing.T) {
	srv := start(t)
	for path, want := range map[string]string{ // maps a path to its Content-Type or its HTTP status
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

func TestJournalListsTheNewestRequestsFirst(t *testing.T) {
	srv := start(t, hotelstaystest.Config{NoRateLimits: true, LedgerLimit: 60})
	for i := range 70 {
		post(t, srv, "/api/auth/ticket", fmt.Sprintf(`{"appKey":"key-%d"}`, i))
	}
	post(t, srv, "/<script>", "{}")
	_, body := get(t, srv, "/_sandbox/")
	rows := regexp.MustCompile(`<li><details id="request-(\d+)"`).FindAllStringSubmatch(body, -1)
	require.Len(t, rows, maxJournal)
	assert.Equal(t, []string{"71", "22"}, []string{rows[0][1], rows[maxJournal-1][1]})
	_, older := get(t, srv, "/_sandbox/?requests=2")
	assert.Contains(t, older, `id="request-21"`)
	assert.NotContains(t, older, `id="request-22"`)
	assert.Contains(t, body, "POST /&lt;script&gt;")
	assert.Contains(t, body, "key-21&#34;")
	assert.NotContains(t, body, "key-20&#34;")
}

func TestPageShowsARequestAndItsCurlCommand(t *testing.T) {
	srv := start(t)
	post(t, srv, "/api/auth/ticket", `{"appKey":"it's"}`)
	e := newView(srv, nil).Journal[0]
	assert.Equal(t, "{\n  \"appKey\": \"it's\"\n}", e.Body)
	assert.Contains(t, e.Curl, "curl -sS -X POST '"+srv.URL+"/api/auth/ticket'")
	assert.Contains(t, e.Curl, `-H 'Content-Type: application/json'`)
	assert.Contains(t, e.Curl, `-d '{"appKey":"it'\''s"}'`)
	assert.Regexp(t, `^\d+\.\d ms$`, e.Took)
	assert.Equal(t, "1.5 s", took(1500*time.Millisecond))
	assert.Equal(t, "no JSON", indented("no JSON"))
	assert.Contains(t, curl("", &hotelstaystest.Request{Header: http.Header{"Authorization": {"hash"}, "Cookie": {"hash"}}}), `Bearer $TOKEN"`)
}
