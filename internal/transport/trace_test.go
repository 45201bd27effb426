// Tests of two questions: whether a request counts as sent, and which values a permit receives.

package transport

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/pacing"
)

// If the transport reports events, but not WroteHeaders, the request has not left. This holds even with a connection,
// because the request may still wait for an HTTP/2 stream.
func TestTraceEventsDecideWhetherARequestWasSent(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, c := range []struct {
		name         string
		getConn, got bool
		wroteHeaders bool
		writeFailed  bool
		err          error
		sent, noConn bool
	}{
		{name: "the transport fires no events", err: io.EOF, sent: true},
		{name: "the transport fires no events, and a dial fails", err: dial, noConn: true},
		{name: "the request waits for a connection", getConn: true, err: io.EOF, noConn: true},
		{name: "the request waits for a stream", getConn: true, got: true, err: io.EOF},
		{name: "a write fails before the headers are written", getConn: true, got: true, writeFailed: true, err: io.EOF},
		{name: "the headers are written", getConn: true, got: true, wroteHeaders: true, err: io.EOF, sent: true},
		{name: "the headers are written, and a later dial fails", getConn: true, wroteHeaders: true, err: dial, sent: true, noConn: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			limiter := &recording{}
			r := do(t, roundTripper(func(r *http.Request) (*http.Response, error) {
				trace := httptrace.ContextClientTrace(r.Context())
				if c.getConn {
					trace.GetConn("")
				}
				if c.got {
					trace.GotConn(httptrace.GotConnInfo{})
				}
				if c.wroteHeaders {
					trace.WroteHeaders()
				}
				if c.writeFailed {
					trace.WroteRequest(httptrace.WroteRequestInfo{Err: c.err})
				}
				return nil, c.err
			}), nowhere, func(call *Call) { call.Mutates, call.RateLimiter = true, limiter })
			attempts, left := 3, 0
			if c.sent {
				attempts, left = 1, 1
			}
			assert.Equal(t, c.sent, r.Sent)
			assert.Equal(t, attempts, r.Attempts)
			assert.EqualValues(t, left, limiter.sent.Load())
			assert.Equal(t, c.noConn, errors.Is(r.Err, ErrNoConnection))
			assert.ErrorIs(t, r.Err, c.err)
		})
	}
}

// The error of a refused stream shows only its cause. It must not show net/http's advice to define GetBody, because
// with GetBody net/http could send a Book twice.
func TestErrorOfARefusedStreamHasNoAdviceOfNetHTTP(t *testing.T) {
	for want, act := range map[string]func(*frameWriter, uint32) bool{
		"REFUSED_STREAM":           rst(codeRefusedStream),
		"graceful shutdown GOAWAY": goAway(0, codeNo),
	} {
		p, config := http2Peer(t, act)
		r := do(t, newTransport(t, config), p.url, mutates)
		require.ErrorContains(t, r.Err, want)
		assert.NotContains(t, r.Err.Error(), "GetBody")
		assert.NotContains(t, r.Err.Error(), "retry")
	}
}

// If an answer is not HTTP, the error of net/http quotes its first line, which may be JSON about a guest.
func TestErrorOfAnAnswerThatIsNotHTTPHidesItsJSON(t *testing.T) {
	const body = `{"code":0,"data":{"hotelOrder":{"holder":{"firstName":"Ann"}}}}` + "\r\n\r\n"
	for text, want := range map[string]string{
		body:                         "malformed HTTP response",
		"HTTP/1.1 200 OK\r\n" + body: "malformed MIME header",
		"SSH-2.0\r\n":                `malformed HTTP response "SSH-2.0"`,
	} {
		r := do(t, newTransport(t, nil), http1(t, answer(text)).url, mutates)
		require.ErrorContains(t, r.Err, want)
		assert.NotContains(t, r.Err.Error(), "Ann")
	}
}

// The transport calls Done exactly once for each permit. Before Done, the transport calls Sent only if the request
// left.
func TestEachPermitIsReturnedOnce(t *testing.T) {
	ok := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"code":0}`) }))
	defer ok.Close()
	gone := listen(t)
	gone.Close()
	limiter := &recording{}
	do(t, newTransport(t, nil), ok.URL, func(c *Call) { c.RateLimiter = limiter })
	assert.Equal(t, [2]int64{1, 1}, limiter.settled())
	do(t, newTransport(t, nil), "http://"+gone.Addr().String(), func(c *Call) { c.RateLimiter = limiter })
	assert.Equal(t, [2]int64{1, 4}, limiter.settled())
	do(t, newTransport(t, nil), ok.URL, func(c *Call) { c.RateLimiter, c.TokenSource = limiter, &tokenSeries{err: errors.New("no token")} })
	assert.Equal(t, [2]int64{1, 4}, limiter.settled(), "without a token no slot is taken")
	do(t, newTransport(t, nil), ok.URL, func(c *Call) {
		c.RateLimiter, c.TokenSource = limiter, &tokenSeries{err: errors.New("no token"), reads: 1}
	})
	assert.Equal(t, [2]int64{1, 5}, limiter.settled())
}

// A permit receives only what the answer proves about its request, and nothing if there was no answer.
func TestPermitReceivesOnlyTheProvenArrivalOfItsRequest(t *testing.T) {
	const took = 300 * time.Millisecond
	answer := func(status int, cost string) roundTripper {
		return func(*http.Request) (*http.Response, error) {
			time.Sleep(took)
			return reply(status, "{}", "Server-Cost-Milliseconds", cost), nil
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
		{"a cost of 0", answer(200, "0"), took, took, false},
		{"no header", answer(200, ""), -1, took, false},
		{"not a number", answer(200, "soon"), -1, took, false},
		{"a negative number", answer(200, "-5"), -1, took, false},
		{"a huge number", answer(200, "99999999999999999999"), -1, took, false},
		{"a 429", answer(429, "300"), time.Millisecond, took, true},
		{"a 503", answer(503, ""), -1, took, false},
		{"no answer", fails(io.EOF), -1, -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := func(d time.Duration) time.Time {
					if d < 0 {
						return time.Time{}
					}
					return time.Now().Add(d)
				}
				want := pacing.PermitResult{ArrivedBy: at(c.arrivedBy), FirstByte: at(c.firstByte), RateLimited: c.limited}
				limit := &recording{}
				do(t, c.rt, nowhere, func(call *Call) { call.RateLimiter, call.Policy.MaxAttempts = limit, 1 })
				assert.Equal(t, []pacing.PermitResult{want}, limit.results)
			})
		})
	}
}

// A permit receives the time of the answer's first byte, even if the transport returns the answer later.
func TestPermitReceivesTheTimeOfTheFirstByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, limit := time.Now(), &recording{}
		do(t, roundTripper(func(r *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(r.Context())
			trace.WroteHeaders()
			trace.WroteRequest(httptrace.WroteRequestInfo{})
			time.Sleep(time.Second)
			trace.GotFirstResponseByte()
			time.Sleep(time.Second)
			return reply(200, "{}", "Server-Cost-Milliseconds", "1"), nil
		}), nowhere, func(c *Call) { c.RateLimiter = limit })
		assert.Equal(t, []pacing.PermitResult{{ArrivedBy: start.Add(time.Second), FirstByte: start.Add(time.Second)}}, limit.results)
	})
}

func TestSentIsNotCalledAfterDoneIfATraceEventComesLate(t *testing.T) {
	limit, wrote := &recording{}, func() {}
	do(t, roundTripper(func(r *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(r.Context())
		trace.GetConn("")
		wrote = func() {
			trace.WroteHeaders()
			trace.WroteRequest(httptrace.WroteRequestInfo{})
		}
		return nil, io.EOF
	}), nowhere, func(c *Call) { c.RateLimiter, c.Policy.MaxAttempts = limit, 1 })
	wrote()
	assert.Equal(t, [2]int64{0, 1}, limit.settled())
}
