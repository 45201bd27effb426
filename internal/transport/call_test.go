// What a call sends, how often, and what it knows of it afterwards.

package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quick = Policy{MaxAttempts: 3, Backoff: time.Microsecond, MaxBackoff: time.Millisecond, MaxRetryAfter: time.Second, MaxBody: 1 << 20}

// do sends one call through rt and releases its answer.
func do(t *testing.T, rt http.RoundTripper, url string, change func(*Call)) Result {
	t.Helper()
	c := &Call{
		Operation: "Test", URL: url, Header: http.Header{"Trace-Id": {"t"}}, Body: []byte(`{"book":"me"}`),
		Usual: new(atomic.Int64), HTTP: http.Client{Transport: rt}, Policy: quick, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r := c.Do(ctx)
	r.Answer.Release()
	return r
}

func acts(c *Call) { c.Acts = true }

func newTransport(t *testing.T, config *tls.Config) *http.Transport {
	tr := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: config != nil}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// A request that changes something reaches a peer that breaks off exactly once,
// however the peer breaks off, and is known to have been sent.
func TestActingRequestArrivesOnce(t *testing.T) {
	http1Peers := map[string]func(net.Conn) bool{
		"closes":                     func(net.Conn) bool { return false },
		"resets":                     reset,
		"answers half a status":      func(c net.Conn) bool { answer("HTTP/1.1 2")(c); return false },
		"answers half a body":        func(c net.Conn) bool { answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")(c); return false },
		"answers 503":                answer("HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\n{}"),
		"answers 401 in no shape":    answer("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\n{}"),
		"answers 429 in no shape":    answer("HTTP/1.1 429 No\r\nContent-Length: 2\r\n\r\n{}"),
		"redirects":                  answer("HTTP/1.1 307 Go\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"),
		"redirects to nonsense":      answer("HTTP/1.1 302 Go\r\nLocation: :\x7f\r\nContent-Length: 0\r\n\r\n"),
		"answers something else":     answer("220 mail ready\r\n"),
		"announces too large a body": answer("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n{}"),
	}
	for name, act := range http1Peers {
		t.Run("HTTP/1.1 "+name, func(t *testing.T) {
			p := http1(t, act)
			r := do(t, newTransport(t, nil), p.url, acts)
			assert.EqualValues(t, 1, p.whole.Load())
			assert.Equal(t, 1, r.Attempts)
			assert.True(t, r.Sent)
		})
	}
	http2Peers := map[string]func(*frameWriter, uint32) bool{
		"NO_ERROR":              rst(codeNo),
		"PROTOCOL_ERROR":        rst(codeProtocol),
		"INTERNAL_ERROR":        rst(codeInternal),
		"REFUSED_STREAM":        rst(codeRefusedStream),
		"CANCEL":                rst(codeCancel),
		"ENHANCE_YOUR_CALM":     rst(codeEnhanceYourCal),
		"GOAWAY, none handled":  goAway(0, codeNo),
		"GOAWAY, some handled":  goAway(1, codeNo),
		"GOAWAY with an error":  goAway(0, codeInternal),
		"closes the connection": func(*frameWriter, uint32) bool { return false },
	}
	for name, act := range http2Peers {
		t.Run("HTTP/2 "+name, func(t *testing.T) {
			p, config := http2Peer(t, act)
			r := do(t, newTransport(t, config), p.url, acts)
			require.Error(t, r.Err)
			assert.EqualValues(t, 1, p.whole.Load())
			assert.Equal(t, 1, r.Attempts)
			assert.True(t, r.Sent)
		})
	}
}

// A read goes through the same peers as often as the policy allows, and each of
// its requests is an attempt of ours: net/http adds none.
func TestReadIsSentAgainByThePolicyAlone(t *testing.T) {
	p1 := http1(t, reset)
	r := do(t, newTransport(t, nil), p1.url, nil)
	assert.EqualValues(t, 3, p1.whole.Load())
	assert.Equal(t, 3, r.Attempts)

	p2, config := http2Peer(t, rst(codeProtocol))
	r = do(t, newTransport(t, config), p2.url, nil)
	assert.EqualValues(t, 3, p2.whole.Load())
	assert.Equal(t, 3, r.Attempts)
}

// Whatever provably never left is sent again, also when it would act.
func TestNeverLeft(t *testing.T) {
	gone := listen(t)
	gone.Close()
	noHandshake := listen(t)
	serve(t, noHandshake, func(conn net.Conn) { reset(conn) })
	silent := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return nil, errors.New("no route")
	}}
	cases := []struct {
		name string
		url  string
		rt   http.RoundTripper
	}{
		{"refused dial", "http://" + gone.Addr().String(), newTransport(t, nil)},
		{"broken TLS handshake", "https://" + noHandshake.Addr().String(), newTransport(t, nil)},
		{"failing dialer", "http://127.0.0.1:1", silent},
		{"dial error of a transport without events", "http://127.0.0.1:1", roundTripper(func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
		})},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := do(t, c.rt, c.url, acts)
			require.Error(t, r.Err)
			assert.False(t, r.Sent)
			assert.Equal(t, 3, r.Attempts)
		})
	}
	t.Run("untrusted certificate, which will not change", func(t *testing.T) {
		ts := httptest.NewUnstartedServer(nil)
		ts.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		ts.StartTLS()
		defer ts.Close()
		r := do(t, newTransport(t, nil), ts.URL, acts)
		assert.False(t, r.Sent)
		assert.Equal(t, 1, r.Attempts)
	})
}

// A call that waits for a connection of a full pool has sent nothing.
func TestWaitForAConnectionSendsNothing(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	var whole atomic.Int64
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole.Add(1)
		io.Copy(io.Discard, r.Body)
		close(held)
		<-release
	}))
	defer ts.Close()
	tr := newTransport(t, nil)
	tr.MaxConnsPerHost = 1
	first := make(chan Result)
	go func() { first <- do(t, tr, ts.URL, acts) }()
	<-held

	ctx, cancel := context.WithCancel(t.Context())
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: func(string) { cancel() }})
	c := &Call{URL: ts.URL, Acts: true, Body: []byte("{}"), Header: http.Header{}, Usual: new(atomic.Int64), HTTP: http.Client{Transport: tr}, Policy: quick, Log: slog.New(slog.DiscardHandler)}
	r := c.Do(ctx)
	assert.ErrorIs(t, r.Err, context.Canceled)
	assert.False(t, r.Sent)
	close(release)
	<-first
	assert.EqualValues(t, 1, whole.Load())
}

// No attempt shares with another what a RoundTripper may go on reading after it has
// returned, or what it may change. The race detector watches the header.
func TestAttemptsShareNothing(t *testing.T) {
	jar, err := cookiejar.New(nil) // http.Client adds a header of its own
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
		resp := reply(503, "busy")
		resp.Header.Set("Set-Cookie", fmt.Sprintf("node=%d", len(sent)))
		return resp, nil
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

// A transport without events counts as having sent, except for a dial error.
func TestTransportWithoutEventsCountsAsSent(t *testing.T) {
	var n atomic.Int64
	rt := roundTripper(func(*http.Request) (*http.Response, error) {
		n.Add(1)
		return nil, io.ErrUnexpectedEOF
	})
	r := do(t, rt, "http://127.0.0.1:1", acts)
	assert.True(t, r.Sent)
	assert.EqualValues(t, 1, n.Load())
}

// An enveloped 401 and an enveloped 429 are proof that nothing was done.
func TestActingRequestAfterEnvelopedRefusal(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ids, bodies, tokens []string
				rt := roundTripper(func(r *http.Request) (*http.Response, error) {
					body, _ := io.ReadAll(r.Body)
					ids, bodies = append(ids, r.Header.Get("Request-Id")), append(bodies, string(body))
					tokens = append(tokens, r.Header.Get("Authorization"))
					if len(ids) == 1 {
						return reply(status, `{"code":100000429,"msg":"no"}`), nil
					}
					return reply(200, `{"code":0,"data":{}}`), nil
				})
				bearer := &tokenSeries{}
				r := do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Acts, c.Bearer = true, bearer })
				require.NoError(t, r.Err)
				assert.Equal(t, 200, r.Answer.Status)
				require.Len(t, ids, 2)
				assert.NotEqual(t, ids[0], ids[1], "every attempt has its own Request-Id")
				assert.Equal(t, bodies[0], bodies[1])
				assert.Equal(t, status == http.StatusUnauthorized, tokens[0] != tokens[1])
			})
		})
	}
}

// A second 401 ends the call: the fresh token is not the cure.
func TestUnauthorizedTwice(t *testing.T) {
	var n int
	rt := roundTripper(func(*http.Request) (*http.Response, error) {
		n++
		return reply(401, `{"code":1,"msg":"no"}`), nil
	})
	r := do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Bearer = &tokenSeries{} })
	assert.Equal(t, 401, r.Answer.Status)
	assert.Equal(t, 2, n)
}

// Failures of one call leave the idle connections of all others alone.
func TestFailureKeepsIdleConnections(t *testing.T) {
	rt := &closable{}
	r := do(t, rt, "http://127.0.0.1:1", nil)
	require.Error(t, r.Err)
	assert.Zero(t, rt.closed)
}

type closable struct{ closed int }

func (c *closable) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("down") }
func (c *closable) CloseIdleConnections()                           { c.closed++ }

// A 429 pauses the ceiling for the whole of Retry-After, and the call as well: a second
// without one. Where that is longer than the policy allows, the call ends at once.
func TestTooManyRequestsPauses(t *testing.T) {
	cases := []struct {
		header string
		want   time.Duration
	}{{"", time.Second}, {"2", 2 * time.Second}, {"0", 0}, {"5", 5 * time.Second}, {"6", 6 * time.Second}, {"86400", 24 * time.Hour}, {"1.5", 1500 * time.Millisecond}, {"1e999", 100 * 365 * 24 * time.Hour}, {"99999999999999999999", 100 * 365 * 24 * time.Hour}, {"-5", time.Second}, {"NaN", time.Second}, {"soon", time.Second},
		{"Sat, 01 Jan 2000 00:00:02 GMT", 2 * time.Second}}
	for _, c := range cases {
		t.Run(c.header, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ceiling := &recording{}
				rt := roundTripper(func(*http.Request) (*http.Response, error) {
					if time.Since(start) >= c.want && len(ceiling.pauses) > 0 {
						return reply(200, `{"code":0}`), nil
					}
					resp := reply(429, `{"code":100000429}`)
					if c.header != "" {
						resp.Header.Set("Retry-After", c.header)
					}
					return resp, nil
				})
				r := do(t, rt, "http://127.0.0.1:1", func(call *Call) {
					call.Ceiling = ceiling
					call.Policy.MaxRetryAfter = 5 * time.Second
				})
				require.NoError(t, r.Err)
				require.Len(t, ceiling.pauses, 1)
				assert.Equal(t, c.want, ceiling.pauses[0].Sub(start))
				if c.want > 5*time.Second {
					assert.Equal(t, 429, r.Answer.Status)
					assert.Equal(t, 1, r.Attempts)
					assert.Zero(t, time.Since(start))
					return
				}
				assert.Equal(t, 200, r.Answer.Status)
				assert.LessOrEqual(t, time.Since(start), c.want+time.Millisecond, "the wait and its jitter")
			})
		})
	}
}

// A Retry-After of another passing fault is of this call alone.
func TestUnavailableWithRetryAfter(t *testing.T) {
	for header, waits := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "61": -1} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			ceiling := &recording{}
			rt := roundTripper(func(*http.Request) (*http.Response, error) {
				resp := reply(503, "busy")
				if header != "" {
					resp.Header.Set("Retry-After", header)
				}
				return resp, nil
			})
			r := do(t, rt, "http://127.0.0.1:1", func(call *Call) {
				call.Ceiling = ceiling
				call.Policy.MaxAttempts, call.Policy.MaxRetryAfter = 2, time.Minute
			})
			assert.Equal(t, 503, r.Answer.Status)
			assert.Empty(t, ceiling.pauses)
			if waits < 0 {
				assert.Equal(t, 1, r.Attempts)
				return
			}
			assert.Equal(t, 2, r.Attempts)
			assert.WithinRange(t, time.Now(), start.Add(waits), start.Add(waits+time.Millisecond))
		})
	}
}

// A Retry-After that is a date is counted from the answer's own Date: the clock of
// this machine may be off.
func TestRetryAfterByTheServersClock(t *testing.T) {
	h := http.Header{"Retry-After": {"Sat, 01 Jan 2000 00:00:02 GMT"}, "Date": {"Sat, 01 Jan 2000 00:00:00 GMT"}}
	after, ok := RetryAfter(h)
	assert.True(t, ok)
	assert.Equal(t, 2*time.Second, after)
	h.Set("Date", "Sat, 01 Jan 2000 00:00:09 GMT")
	after, ok = RetryAfter(h)
	assert.True(t, ok)
	assert.Zero(t, after)
}

// What net/http says of a stream that it would send again is cut down to its cause:
// the advice to define GetBody would have a Book sent twice.
func TestRefusedStreamHasNoAdvice(t *testing.T) {
	for want, act := range map[string]func(*frameWriter, uint32) bool{
		"REFUSED_STREAM":           rst(codeRefusedStream),
		"graceful shutdown GOAWAY": goAway(0, codeNo),
	} {
		p, config := http2Peer(t, act)
		r := do(t, newTransport(t, config), p.url, acts)
		require.ErrorContains(t, r.Err, want)
		assert.NotContains(t, r.Err.Error(), "GetBody")
		assert.NotContains(t, r.Err.Error(), "retry")
	}
}

// Each permit is settled exactly once, as what became of the request says.
func TestPermitIsSettledOnce(t *testing.T) {
	ok := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"code":0}`) }))
	defer ok.Close()
	gone := listen(t)
	gone.Close()
	ceiling := &recording{}
	do(t, newTransport(t, nil), ok.URL, func(c *Call) { c.Ceiling = ceiling })
	assert.Equal(t, [2]int64{1, 1}, ceiling.settled())
	do(t, newTransport(t, nil), "http://"+gone.Addr().String(), func(c *Call) { c.Ceiling = ceiling })
	assert.Equal(t, [2]int64{1, 4}, ceiling.settled())
	do(t, newTransport(t, nil), ok.URL, func(c *Call) { c.Ceiling, c.Bearer = ceiling, &tokenSeries{err: errors.New("no token")} })
	assert.Equal(t, [2]int64{1, 5}, ceiling.settled())
}

// What a permit learns of its request: nothing without an answer, and no more than the
// answer proves.
func TestPermitResult(t *testing.T) {
	const took = 300 * time.Millisecond
	answer := func(status int, cost string) roundTripper {
		return func(*http.Request) (*http.Response, error) {
			time.Sleep(took)
			resp := reply(status, "{}")
			if cost != "" {
				resp.Header.Set("Server-Cost-Milliseconds", cost)
			}
			return resp, nil
		}
	}
	for _, c := range []struct {
		name      string
		rt        roundTripper
		arrivedBy time.Duration // -1: unknown
		firstByte time.Duration
		limited   bool
	}{
		{"a cost, which may be rounded up", answer(200, "200"), 101 * time.Millisecond, took, false},
		{"no cost to speak of", answer(200, "0"), took, took, false},
		{"no header", answer(200, ""), -1, took, false},
		{"no number", answer(200, "soon"), -1, took, false},
		{"a negative number", answer(200, "-5"), -1, took, false},
		{"a number beyond all measure", answer(200, "99999999999999999999"), -1, took, false},
		{"a 429", answer(429, "300"), time.Millisecond, took, true},
		{"a 503", answer(503, ""), -1, took, false},
		{"no answer", func(*http.Request) (*http.Response, error) { return nil, io.EOF }, -1, -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := func(d time.Duration) time.Time {
					if d < 0 {
						return time.Time{}
					}
					return time.Now().Add(d)
				}
				want := PermitResult{ArrivedBy: at(c.arrivedBy), FirstByte: at(c.firstByte), RateLimited: c.limited}
				limit := &recording{}
				do(t, c.rt, "http://127.0.0.1:1", func(call *Call) { call.Ceiling, call.Policy.MaxAttempts = limit, 1 })
				assert.Equal(t, []PermitResult{want}, limit.results)
			})
		})
	}
}

// The answer began when its first byte came, whenever the transport hands it out.
func TestFirstByteIsTheTransports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, limit := time.Now(), &recording{}
		do(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(r.Context())
			trace.WroteHeaders()
			trace.WroteRequest(httptrace.WroteRequestInfo{})
			time.Sleep(time.Second)
			trace.GotFirstResponseByte()
			time.Sleep(time.Second)
			resp := reply(200, "{}")
			resp.Header.Set("Server-Cost-Milliseconds", "1")
			return resp, nil
		}), "http://127.0.0.1:1", func(c *Call) { c.Ceiling = limit })
		assert.Equal(t, []PermitResult{{ArrivedBy: start.Add(time.Second), FirstByte: start.Add(time.Second)}}, limit.results)
	})
}

// A hook that runs late finds the permit given back.
func TestNothingIsSentAfterDone(t *testing.T) {
	limit, wrote := &recording{}, func() {}
	do(t, roundTripper(func(r *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(r.Context())
		trace.GetConn("")
		wrote = func() {
			trace.WroteHeaders()
			trace.WroteRequest(httptrace.WroteRequestInfo{})
		}
		return nil, io.EOF
	}), "http://127.0.0.1:1", func(c *Call) { c.Ceiling, c.Policy.MaxAttempts = limit, 1 })
	wrote()
	assert.Equal(t, [2]int64{0, 1}, limit.settled())
}

// Waits never reach past the deadline: the last answer comes back at once.
func TestNoWaitPastTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := roundTripper(func(*http.Request) (*http.Response, error) {
			resp := reply(429, `{"code":100000429}`)
			resp.Header.Set("Retry-After", "60")
			return resp, nil
		})
		start := time.Now()
		r := do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Policy.MaxRetryAfter = time.Minute })
		require.NoError(t, r.Err)
		assert.Equal(t, 429, r.Answer.Status)
		assert.Zero(t, time.Since(start))
	})
}

// An attempt that ends before it is sent leaves the Request-Id of the one before it:
// that one the service knows.
func TestRequestIDOfWhatWasSent(t *testing.T) {
	var sent []string
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Header.Get("Request-Id"))
		return reply(503, "busy"), nil
	})
	r := do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Ceiling = &closing{open: 2} })
	require.ErrorContains(t, r.Err, "closed")
	require.Len(t, sent, 2)
	assert.Equal(t, sent[1], r.RequestID)
	assert.Equal(t, 503, r.EarlierStatus)

	r = do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Ceiling = &closing{} })
	assert.Empty(t, r.RequestID, "nothing was sent")
}

// closing is a ceiling that grants a few slots, and no more.
type closing struct {
	recording
	open int
}

func (c *closing) Acquire(ctx context.Context) (Permit, error) {
	if c.open--; c.open < 0 {
		return nil, errors.New("closed")
	}
	return c.recording.Acquire(ctx)
}

// A ctx that is cancelled during a backoff is the error, beside that of the attempt.
func TestCancelledBackoffKeepsTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		rt := roundTripper(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
		c := &Call{URL: "http://127.0.0.1:1", Body: []byte("{}"), Header: http.Header{}, Usual: new(atomic.Int64), HTTP: http.Client{Transport: rt},
			Policy: Policy{MaxAttempts: 9, Backoff: 1e6 * time.Hour, MaxBackoff: 1e6 * time.Hour, MaxBody: 100}, Log: slog.New(slog.DiscardHandler)}
		r := c.Do(ctx)
		require.ErrorIs(t, r.Err, context.Canceled)
		require.ErrorIs(t, r.Err, io.ErrUnexpectedEOF)
		assert.True(t, r.Sent)
	})
}

// A ctx that is cancelled during a backoff keeps the answer before it.
func TestCancelledBackoffKeepsTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		rt := roundTripper(func(*http.Request) (*http.Response, error) { return reply(503, "busy"), nil })
		c := &Call{URL: "http://127.0.0.1:1", Body: []byte("{}"), Header: http.Header{}, Usual: new(atomic.Int64), HTTP: http.Client{Transport: rt},
			Policy: Policy{MaxAttempts: 9, Backoff: 1e6 * time.Hour, MaxBackoff: 1e6 * time.Hour, MaxBody: 100}, Log: slog.New(slog.DiscardHandler)}
		r := c.Do(ctx)
		require.ErrorIs(t, r.Err, context.Canceled)
		require.NotNil(t, r.Answer)
		assert.Equal(t, 503, r.Answer.Status)
		r.Answer.Release()
	})
}

// Backoffs are drawn between nothing and a bound that doubles up to its cap.
func TestBackoffIsFullJitter(t *testing.T) {
	c := &Call{Policy: Policy{Backoff: 100 * time.Millisecond, MaxBackoff: time.Second}}
	for attempt, bound := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		bound *= time.Millisecond
		c.tries = attempt + 1
		var low, high int
		for range 200 {
			wait := c.backoff()
			require.LessOrEqual(t, wait, bound)
			if wait < bound/2 {
				low++
			} else {
				high++
			}
		}
		assert.Positive(t, low, "attempt %d", attempt)
		assert.Positive(t, high, "attempt %d", attempt)
	}
}

// The hint is what is left of the deadline, less a tenth and at most a second.
func TestDeadlineHint(t *testing.T) {
	for left, want := range map[time.Duration]int64{
		time.Minute: 59000, 10 * time.Second: 9000, 5 * time.Second: 4500, time.Millisecond: 1, time.Microsecond: 1, -time.Second: 1,
	} {
		assert.Equal(t, want, hint(left), "%s left", left)
	}
	for _, hinted := range []bool{true, false} {
		var got string
		rt := roundTripper(func(r *http.Request) (*http.Response, error) {
			got = r.Header.Get("Timeout-Milliseconds")
			return reply(200, "{}"), nil
		})
		do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Hint = hinted })
		assert.Equal(t, hinted, got != "")
	}
}

// The bound holds for announced and for unannounced bodies, and for what a small
// compressed body becomes.
func TestBodyBound(t *testing.T) {
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
		assert.Equal(t, 1, r.Attempts, "it will not shrink")
		r = do(t, newTransport(t, nil), ts.URL+path, func(c *Call) { c.Policy.MaxBody = int64(len(big)) })
		assert.NoError(t, r.Err, path)
	}
}

type watchedBody struct {
	io.Reader
	closed bool
}

func (c *watchedBody) Close() error { c.closed = true; return nil }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A body that is not read to its end would keep its connection for ever.
func TestBodyIsClosed(t *testing.T) {
	for name, reader := range map[string]io.Reader{
		"whole":     strings.NewReader("{}"),
		"too large": strings.NewReader(strings.Repeat("x", 2<<20)),
		"broken":    iotest.ErrReader(errors.New("broken")),
	} {
		body := &watchedBody{Reader: reader}
		do(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: body, ContentLength: -1}, nil
		}), "http://127.0.0.1", acts)
		assert.True(t, body.closed, name)
	}
}

// What is announced and does not come takes no memory.
func TestAnnouncedLengthIsNotBelieved(t *testing.T) {
	b := new(buffer)
	body, err := b.readAll(strings.NewReader("{}"), 1<<30, 0, 1<<30)
	require.NoError(t, err)
	assert.Equal(t, "{}", string(body))
	assert.LessOrEqual(t, b.Cap(), 2*maxPooled)
}

// A second Release must not put the same memory into the pool again.
func TestReleaseTwice(t *testing.T) {
	a := &Answer{Body: []byte("{}"), buffer: newBuffer()}
	a.Release()
	assert.Nil(t, a.Body)
	assert.Nil(t, a.buffer)
	a.Release()
}

// An answer that does not announce its length is given the room of the one before it:
// a buffer that doubles its way to a large page claims three times that.
func TestRoomForTheUsualLength(t *testing.T) {
	const page = 1 << 20
	var usual atomic.Int64
	rt := roundTripper(func(*http.Request) (*http.Response, error) {
		r := reply(200, strings.Repeat("x", page))
		r.ContentLength = -1
		return r, nil
	})
	do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.Usual, c.Policy.MaxBody = &usual, 2*page })
	assert.EqualValues(t, page, usual.Load())

	var grown, prepared buffer
	for b, expected := range map[*buffer]int64{&grown: 0, &prepared: page} {
		body, err := b.readAll(strings.NewReader(strings.Repeat("x", page+page/10)), -1, expected, 2*page)
		require.NoError(t, err)
		assert.Len(t, body, page+page/10)
	}
	assert.Less(t, prepared.Cap(), 5*page/4)
	assert.Greater(t, grown.Cap(), 3*page/2)
}

// The caller's own trace hooks still fire.
func TestCallersTraceFires(t *testing.T) {
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") }))
	defer ts.Close()
	var wrote atomic.Bool
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	c := &Call{URL: ts.URL, Body: []byte("{}"), Header: http.Header{}, Usual: new(atomic.Int64), HTTP: http.Client{Transport: newTransport(t, nil)}, Policy: quick, Log: slog.New(slog.DiscardHandler)}
	r := c.Do(ctx)
	require.NoError(t, r.Err)
	r.Answer.Release()
	assert.True(t, wrote.Load())
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func reply(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
}

// tokenSeries hands out a new token after each refusal.
type tokenSeries struct {
	n   int
	err error
}

func (b *tokenSeries) Authorization(context.Context) (Authorization, error) {
	return Authorization{Header: fmt.Sprintf("Bearer %d", b.n)}, b.err
}
func (b *tokenSeries) Refused(context.Context, Authorization) bool { b.n++; return true }

// recording is a ceiling that grants all and keeps what it is told.
type recording struct {
	sent, done atomic.Int64
	results    []PermitResult
	pauses     []time.Time
}

func (c *recording) Acquire(context.Context) (Permit, error) { return (*permit)(c), nil }
func (c *recording) Pause(until time.Time)                   { c.pauses = append(c.pauses, until) }

// settled is how many requests left, and how many permits were given back.
func (c *recording) settled() [2]int64 { return [2]int64{c.sent.Load(), c.done.Load()} }

type permit recording

func (p *permit) Sent() { p.sent.Add(1) }

func (p *permit) Done(r PermitResult) {
	p.done.Add(1)
	p.results = append(p.results, r)
}
