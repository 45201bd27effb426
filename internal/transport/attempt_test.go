// Tests of a single attempt: its request, its answer and the answer's memory, its error, its log line.

package transport

import (
	"bytes"
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
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Attempts share nothing that a RoundTripper may change, or still read after it has returned. The race detector checks
// the header.
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

// Timeout-Milliseconds is the time until the deadline, less a tenth of it or at most a second.
func TestTimeoutMillisecondsEndsBeforeTheDeadline(t *testing.T) {
	for left, want := range map[time.Duration]int64{
		time.Minute: 59000, 10 * time.Second: 9000, 5 * time.Second: 4500, time.Millisecond: 1, time.Microsecond: 1, -time.Second: 1,
	} {
		assert.Equal(t, want, serviceTimeout(left), "%s left", left)
	}
	for _, hinted := range []bool{true, false} {
		var got string
		rt := roundTripper(func(r *http.Request) (*http.Response, error) {
			got = r.Header.Get("Timeout-Milliseconds")
			return reply(200, "{}"), nil
		})
		do(t, rt, nowhere, func(c *Call) { c.SendTimeout = hinted })
		assert.Equal(t, hinted, got != "")
	}
}

type watchedBody struct {
	io.Reader
	closed bool
}

func (c *watchedBody) Close() error { c.closed = true; return nil }

// A body that is not read to its end would keep its connection for ever.
func TestEveryAnswersBodyIsClosed(t *testing.T) {
	for name, reader := range map[string]io.Reader{
		"whole":     strings.NewReader("{}"),
		"too large": strings.NewReader(strings.Repeat("x", 2<<20)),
		"broken":    iotest.ErrReader(errors.New("broken")),
	} {
		body := &watchedBody{Reader: reader}
		do(t, roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: body, ContentLength: -1}, nil
		}), "http://127.0.0.1", mutates)
		assert.True(t, body.closed, name)
	}
}

// After a 101 the body is the connection, which has no end.
func TestBodyAfterHTTP101IsNotRead(t *testing.T) {
	body := &watchedBody{Reader: iotest.ErrReader(errors.New("it is read"))}
	r := do(t, roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 101, Body: body, ContentLength: -1}, nil
	}), nowhere, mutates)
	assert.NoError(t, r.Err)
	assert.Equal(t, 101, r.Answer.Status)
	assert.True(t, body.closed)
}

// A ctx that ends before the request is sent proves that nothing left: net/http refuses
// such a request without a trace event.
func TestNothingIsSentAfterTheEndOfCtx(t *testing.T) {
	var requests atomic.Int64
	ts := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer ts.Close()
	for name, during := range map[string]func(*Call, context.CancelFunc){
		"before the call": func(_ *Call, cancel context.CancelFunc) { cancel() },
		"in the rate limiter": func(c *Call, cancel context.CancelFunc) {
			c.RateLimiter = &recording{acquire: func() error { cancel(); return nil }}
		},
		"while a token is fetched": func(c *Call, cancel context.CancelFunc) { c.TokenSource = &tokenSeries{read: cancel} },
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

// A ctx does not count while a machine is suspended: a call that changes something is not sent
// after its deadline by the wall clock.
func TestNothingIsSentIfTheDeadlinePassedWhileSuspended(t *testing.T) {
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

// The error names the limit that passed, or the connection that broke.
func TestErrorNamesTheLimitThatPassed(t *testing.T) {
	stalls := roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	stallsInTheBody := roundTripper(func(r *http.Request) (*http.Response, error) {
		resp := reply(200, "")
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), readerFunc(func([]byte) (int, error) {
			<-r.Context().Done()
			return 0, r.Context().Err()
		})))
		return resp, nil
	})
	const second, never = time.Second, time.Hour
	for _, c := range []struct {
		name                      string
		rt                        roundTripper
		deadline, cancel, timeout time.Duration // deadline and cancel end the ctx; timeout is of the http.Client
		want                      string
	}{
		{"deadline", stalls, second, never, 0, "the deadline of ctx passed: context deadline exceeded"},
		{"deadline before Timeout", stalls, second, never, never, "the deadline of ctx passed: context deadline exceeded"},
		{"deadline before the call", stalls, -1, never, 0, "the deadline of ctx passed: context deadline exceeded"},
		{"cancelled", stalls, never, second, 0, "the call was cancelled: context canceled"},
		{"Timeout", stalls, never, never, second, "the http.Client's Timeout passed: context deadline exceeded"},
		{"deadline in the answer", stallsInTheBody, second, never, 0,
			"the answer (HTTP 200) broke off after 1 bytes: the deadline of ctx passed: context deadline exceeded"},
		{"Timeout in the answer", stallsInTheBody, never, never, second,
			"the answer (HTTP 200) broke off after 1 bytes: the http.Client's Timeout passed: context deadline exceeded"},
		{"the transport's own deadline", fails(context.DeadlineExceeded), never, never, 0, "context deadline exceeded"},
		{"EOF", fails(io.EOF), never, never, 0, "the connection was closed before an answer came: EOF"},
		{"unexpected EOF", fails(io.ErrUnexpectedEOF), never, never, 0, "the connection was closed before an answer came: unexpected EOF"},
		{"another error", fails(errors.New("reset")), never, never, 0, "reset"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
				defer cancel()
				defer time.AfterFunc(c.cancel, cancel).Stop()
				call := newCall(c.rt, nowhere)
				call.HTTP.Timeout, call.Policy.MaxAttempts = c.timeout, 1
				assert.EqualError(t, Send(ctx, call).Err, c.want)
			})
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestEachAttemptIsLogged(t *testing.T) {
	var log bytes.Buffer
	var ids []string
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		ids = append(ids, r.Header.Get("Request-Id"))
		if len(ids) == 1 {
			return nil, errors.New("reset by token-0")
		}
		return reply(200, `{"code":0}`), nil
	})
	do(t, rt, nowhere, func(c *Call) {
		c.TokenSource = &tokenSeries{}
		c.Scrub = func(text, token string) string { return strings.ReplaceAll(text, token, "***") }
		c.Log = logTo(&log, "took", "wait")
	})
	require.Len(t, ids, 2)
	assert.Equal(t, fmt.Sprintf(`level=DEBUG msg=attempt operation=Test attempt=1 request_id=%[1]s trace_id=t error="reset by ***" sent=true
level=INFO msg="trying again" operation=Test attempt=1 request_id=%[1]s trace_id=t status=0 error="reset by ***"
level=DEBUG msg=attempt operation=Test attempt=2 request_id=%[2]s trace_id=t status=200 bytes=10
`, ids[0], ids[1]), log.String())
}

// The limit holds for bodies with and without a Content-Length, and for a small body that is large after decompression.
func TestAnswerAboveTheSizeLimitIsAnError(t *testing.T) {
	big := strings.Repeat("x", 2<<20)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/announced" {
			w.Header().Set("Content-Length", fmt.Sprint(len(big)))
		}
		io.WriteString(w, big)
	}))
	defer ts.Close()
	for _, path := range []string{"/announced", "/chunked"} {
		r := do(t, newTransport(t, nil), ts.URL+path, nil)
		assert.ErrorIs(t, r.Err, ErrBodyTooLarge, path)
		assert.Equal(t, 1, r.Attempts, "another attempt would be as large")
		r = do(t, newTransport(t, nil), ts.URL+path, func(c *Call) { c.Policy.MaxBody = int64(len(big)) })
		assert.NoError(t, r.Err, path)
	}
}

// The memory of a huge answer is not kept, because the pool would hold it for later answers.
func TestHugeBuffersAreNotPooled(t *testing.T) {
	for range 10 { // under the race detector a pool drops some of what it gets
		b := newBuffer(&buffers, http.NoBody, 2*maxPrepared+1, 0)
		b.release()
		assert.LessOrEqual(t, newBuffer(&buffers, http.NoBody, 0, 0).Cap(), 2*maxPrepared)
	}
}

func TestSecondReleaseDoesNothing(t *testing.T) {
	a := &Answer{Body: []byte("{}"), buffer: newBuffer(&buffers, http.NoBody, 0, 0)}
	a.Release()
	assert.Nil(t, a.Body)
	assert.Nil(t, a.buffer)
	a.Release()
}

// An answer without a Content-Length gets a buffer of the size of the last answer, because a buffer that grows by
// doubling takes three times the memory.
func TestBufferHasTheSizeOfTheLastAnswer(t *testing.T) {
	const page = 1 << 20
	size := page
	rt := roundTripper(func(*http.Request) (*http.Response, error) {
		r := reply(200, strings.Repeat("x", size))
		r.ContentLength = -1
		return r, nil
	})
	var usual atomic.Int64
	room := func() int {
		call := newCall(rt, nowhere)
		call.BodySizeHint, call.Policy.MaxBody = &usual, 2*page
		r := Send(t.Context(), call) // its buffer does not go back to the pool
		require.NoError(t, r.Err)
		require.Len(t, r.Answer.Body, size)
		assert.EqualValues(t, size, usual.Load())
		return r.Answer.buffer.Cap()
	}
	buffers = sync.Pool{} // without buffers of earlier tests
	assert.Greater(t, room(), 3*page/2)
	size += page / 10
	assert.Less(t, room(), 5*page/4)
}
