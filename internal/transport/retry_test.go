// What may follow an attempt: which faults pass, and what a retry leaves in the log.

package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A TLS version that one side does not speak stays so: it is tried once, and nothing was
// sent.
func TestTLSVersionMismatchIsTriedOnce(t *testing.T) {
	server := func(config *tls.Config) string {
		ts := httptest.NewUnstartedServer(nil)
		ts.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		ts.TLS = config
		ts.StartTLS()
		t.Cleanup(ts.Close)
		return ts.URL
	}
	old := listen(t) // answers TLS 1.0 whatever it was offered
	serve(t, old, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		hello := append([]byte{22, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1}, make([]byte, 32+1)...) // random, no session
		_, _ = conn.Write(append(hello, 0xc0, 0x13, 0, 0))
		_, _ = conn.Read(make([]byte, 4096)) // the client's alert
		conn.Close()
	})
	for _, tc := range []struct {
		name, url string
		client    *tls.Config
	}{
		{"the server has TLS 1.1 at most", server(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}), &tls.Config{MinVersion: tls.VersionTLS12}},
		{"the server has TLS 1.3 alone", server(&tls.Config{MinVersion: tls.VersionTLS13}), &tls.Config{MaxVersion: tls.VersionTLS12}},
		{"the server answers with TLS 1.0", "https://" + old.Addr().String(), &tls.Config{MinVersion: tls.VersionTLS12}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := do(t, newTransport(t, tc.client), tc.url, acts)
			require.ErrorContains(t, r.Err, "protocol version")
			assert.Equal(t, 1, r.Attempts)
			assert.False(t, r.Sent)
		})
	}
}

// A refusal that a ctx ends the reading of proves nothing: the call is not sent again,
// and its code is not in the log.
func TestCtxThatEndsWhileReadingARefusal(t *testing.T) {
	var log bytes.Buffer
	c := &Call{Acts: true, Policy: quick, tries: 1, Header: http.Header{}, Log: slog.New(slog.NewTextHandler(&log, nil))}
	c.last.answer = &Answer{Status: http.StatusTooManyRequests, Body: []byte(`{` + strings.Repeat(`"\n":1,`, 100<<10) + `"code":7}`)}
	ended, cancel := context.WithCancel(t.Context())
	cancel()

	assert.True(t, c.cannotHaveActed(t.Context()))
	_, err := c.checkRetry(t.Context(), nil, nil)
	require.NoError(t, err)
	assert.Contains(t, log.String(), "code=7 again=true")
	log.Reset()
	assert.False(t, c.cannotHaveActed(ended))
	_, err = c.checkRetry(ended, nil, nil)
	require.NoError(t, err)
	assert.Contains(t, log.String(), "code=0 again=false")
}

// Each 429 is a warning with the service's code, also the one that ends the call. Other
// retries are not.
func TestLogOfRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		answers := []*http.Response{reply(503, "busy"), reply(429, `{"code":100000429,"msg":"slow down"}`), reply(429, "<html>")}
		rt := roundTripper(func(*http.Request) (*http.Response, error) {
			next := answers[0]
			answers = answers[1:]
			return next, nil
		})
		do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Log = slog.New(slog.NewJSONHandler(&log, nil)) })

		var records []string
		for decoder := json.NewDecoder(&log); ; {
			var r struct {
				Level, Msg   string
				Status, Code int
			}
			if err := decoder.Decode(&r); err == io.EOF {
				break
			} else if !assert.NoError(t, err) {
				return
			}
			records = append(records, fmt.Sprint(r.Level, " ", r.Msg, " ", r.Status, " ", r.Code))
		}
		assert.Equal(t, []string{"INFO trying again 503 0", "WARN rate limited 429 100000429", "WARN rate limited 429 0"}, records)
	})
}

// Callers that were all told the same Retry-After do not come back together.
func TestJitterOnTopOfRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := map[time.Duration]bool{}
		for range 20 {
			rt := roundTripper(func(*http.Request) (*http.Response, error) {
				resp := reply(429, `{"code":100000429}`)
				resp.Header.Set("Retry-After", "2")
				return resp, nil
			})
			start := time.Now()
			r := do(t, rt, "http://127.0.0.1:1", func(c *Call) {
				c.Policy = Policy{MaxAttempts: 2, Backoff: time.Second, MaxBackoff: time.Second, MaxRetryAfter: time.Minute, MaxBody: 1 << 20}
			})
			require.Equal(t, 2, r.Attempts)
			wait := time.Since(start)
			assert.GreaterOrEqual(t, wait, 2*time.Second, "all of Retry-After")
			assert.LessOrEqual(t, wait, 3*time.Second, "and the backoff")
			waits[wait] = true
		}
		assert.Greater(t, len(waits), 10, "they spread")
	})
}

// A rate limiter that fails is asked as often as the policy has attempts, with the waits
// between them, and nothing counts as sent.
func TestFailingLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := roundTripper(func(*http.Request) (*http.Response, error) { return reply(503, "busy"), nil })
		for _, tc := range []struct{ open, attempts, asked, earlier int }{
			{0, 0, 4, 0}, // it never grants a slot
			{1, 1, 4, 503},
			{3, 3, 4, 503},
			{4, 4, 4, 503},
		} {
			start := time.Now()
			limiter := &closing{open: tc.open}
			r := do(t, rt, "http://127.0.0.1:1", func(c *Call) {
				c.Ceiling = limiter
				c.Policy = Policy{MaxAttempts: 4, Backoff: time.Second, MaxBackoff: time.Hour, MaxBody: 1 << 20}
			})
			assert.Equal(t, tc.attempts, r.Attempts)
			assert.Equal(t, tc.asked, tc.open-limiter.open)
			assert.Equal(t, tc.earlier, r.EarlierStatus)
			assert.LessOrEqual(t, time.Since(start), 7*time.Second, "at most 1, 2 and 4 seconds")
			assert.Greater(t, time.Since(start), time.Millisecond)
		}
	})
}
