// Tests of a single attempt: its request, its answer and the answer's memory, its error, its log line.

package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A RoundTripper may change its request, or still read the request after RoundTrip has returned. So each attempt has
// its own header, body and cookies. The race detector finds a header that attempts share.
func TestAttemptsShareNoHeaderBodyOrCookie(t *testing.T) {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	var readers sync.WaitGroup
	var sent []*http.Request
	done := make(chan struct{})
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		r.URL.Path = "/gateway" + r.URL.Path
		sent = append(sent, r)
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_ = r.Write(io.Discard)
				}
			}
		})
		return reply(503, "busy", "Set-Cookie", fmt.Sprintf("node=%d", len(sent))), nil
	})
	r := do(t, rt, "http://127.0.0.1:1/api", func(c *Call) { c.HTTP.Jar = jar })
	close(done)
	readers.Wait()
	require.NoError(t, r.Err)
	require.Len(t, sent, 3)
	for i, cookie := range []string{"", "node=1", "node=2"} {
		assert.Equal(t, "/gateway/api", sent[i].URL.Path)
		assert.Equal(t, cookie, sent[i].Header.Get("Cookie"))
	}
}

// Timeout-Milliseconds is the time until the deadline, reduced by a tenth of this time. The reduction is at most a second.
func TestTimeoutMillisecondsIsLessThanTheTimeUntilTheDeadline(t *testing.T) {
	for left, want := range map[time.Duration]int64{
		time.Minute: 59000, 10 * time.Second: 9000, 5 * time.Second: 4500, time.Millisecond: 1, time.Microsecond: 1, -time.Second: 1,
	} {
		assert.Equal(t, want, serviceTimeout(left), "%s left", left)
	}
}

type watchedBody struct {
	io.Reader
	closed bool
}

func (c *watchedBody) Close() error { c.closed = true; return nil }

// If the client did not close a body, its connection would stay open. If the client did not end the ctx, the timer of
// the http.Client's Timeout would continue.
func TestEachAttemptClosesItsBodyAndEndsItsCtx(t *testing.T) {
	for name, reader := range map[string]io.Reader{
		"whole":     strings.NewReader("{}"),
		"too large": strings.NewReader(strings.Repeat("x", 2<<20)),
		"broken":    iotest.ErrReader(errors.New("broken")),
	} {
		body, attempt := &watchedBody{Reader: reader}, t.Context()
		call := newCall(roundTripper(func(r *http.Request) (*http.Response, error) {
			attempt = r.Context()
			return &http.Response{StatusCode: 200, Body: body, ContentLength: -1}, nil
		}), nowhere)
		call.Mutates, call.HTTP.Timeout = true, time.Hour
		r := Send(t.Context(), call)
		r.Answer.Release()
		assert.True(t, body.closed, name)
		assert.ErrorIs(t, attempt.Err(), context.Canceled, name)
	}
}

// After HTTP 101, the body is the open connection. To read it to its end would take forever.
func TestBodyAfterHTTP101IsNotRead(t *testing.T) {
	body := &watchedBody{Reader: iotest.ErrReader(errors.New("it is read"))}
	r := do(t, roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 101, Body: body, ContentLength: -1}, nil
	}), nowhere, mutates)
	assert.NoError(t, r.Err)
	assert.Equal(t, 101, r.Answer.Status)
	assert.True(t, body.closed)
}

// If ctx ends before the request is sent, the request does not count as sent. The client must check ctx itself, because
// net/http refuses such a request without a trace event.
func TestNothingIsSentAfterTheEndOfCtx(t *testing.T) {
	var requests atomic.Int64
	ts := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer ts.Close()
	for name, during := range map[string]func(*Call, context.CancelFunc){
		"ctx ends before the call": func(_ *Call, cancel context.CancelFunc) { cancel() },
		"ctx ends in the rate limiter": func(c *Call, cancel context.CancelFunc) {
			c.RateLimiter = &recording{acquire: func() error { cancel(); return nil }}
		},
		"ctx ends while a token is fetched": func(c *Call, cancel context.CancelFunc) { c.TokenSource = &tokenSeries{read: cancel} },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		c := newCall(newTransport(t, nil), ts.URL)
		c.Mutates = true
		during(c, cancel)
		r := Send(ctx, c)
		assert.ErrorIs(t, r.Err, context.Canceled, name)
		assert.False(t, r.Sent, name)
		assert.Zero(t, r.Attempts, name)
		limiter := c.RateLimiter.(*recording)
		assert.Equal(t, [2]int64{0, int64(limiter.asked)}, limiter.settled(), name)
	}
	assert.Zero(t, requests.Load())
}

// The timer of a ctx stands still while a machine is suspended. So a call that changes something also compares its
// deadline with the wall clock. After the deadline, the client does not send the request.
func TestMutatingRequestIsNotSentIfTheDeadlinePassedDuringASuspension(t *testing.T) {
	for _, mutates := range []bool{true, false} {
		c := newCall(replies(200, "{}"), nowhere)
		c.Mutates = mutates
		r := Send(suspended{t.Context()}, c)
		if !mutates {
			assert.NoError(t, r.Err)
			r.Answer.Release()
			continue
		}
		assert.ErrorIs(t, r.Err, context.DeadlineExceeded)
		assert.False(t, r.Sent)
		assert.Zero(t, r.Attempts)
	}
}

// suspended is a ctx that has not ended, although its deadline has passed.
type suspended struct{ context.Context }

func (suspended) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }
