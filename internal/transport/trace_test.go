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
	for want, act := range map[string]func(net.Conn, uint32) bool{
		"REFUSED_STREAM":           rst(codeRefusedStream),
		"graceful shutdown GOAWAY": goAway(0, codeNo),
	} {
		p := http2Peer(t, act)
		r := do(t, newTransport(t, p.trust), p.url, mutates)
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
		peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); assert.NoError(t, err) {
				io.WriteString(conn, text)
				conn.Close()
			}
		}))
		defer peer.Close()
		r := do(t, newTransport(t, nil), peer.URL, mutates)
		require.ErrorContains(t, r.Err, want)
		assert.NotContains(t, r.Err.Error(), "Ann")
	}
}

// While a call waits for its slot, the token may expire, and no other token may be available. Then the call gives the slot
// back.
func TestSlotIsGivenBackIfTheTokenIsGoneAfterTheWait(t *testing.T) {
	limiter, gone := &recording{}, errors.New("no token")
	r := do(t, replies(200, "{}"), nowhere, func(c *Call) {
		c.RateLimiter, c.TokenSource = limiter, &tokenSeries{err: gone, reads: 1}
	})
	assert.ErrorIs(t, r.Err, gone)
	assert.Equal(t, [2]int64{0, 1}, limiter.settled())
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
