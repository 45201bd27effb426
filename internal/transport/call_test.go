// Tests of a whole call: how often its request is sent, and what the call returns.

package transport

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A peer reads a request that changes something, and then fails. The client does not send the request again, and the
// request counts as sent.
func TestMutatingRequestIsSentOnlyOnce(t *testing.T) {
	http1Peers := map[string]func(net.Conn) bool{
		"closes the connection":       func(net.Conn) bool { return false },
		"resets the connection":       reset,
		"answers half a status":       func(c net.Conn) bool { answer("HTTP/1.1 2")(c); return false },
		"answers half a body":         func(c net.Conn) bool { answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")(c); return false },
		"answers 503":                 answer("HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\n{}"),
		"answers 401, no envelope":    answer("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\n{}"),
		"answers 429, no envelope":    answer("HTTP/1.1 429 No\r\nContent-Length: 2\r\n\r\n{}"),
		"redirects":                   answer("HTTP/1.1 307 Go\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"),
		"redirects to an invalid URL": answer("HTTP/1.1 302 Go\r\nLocation: :\x7f\r\nContent-Length: 0\r\n\r\n"),
		"answers in another protocol": answer("220 mail ready\r\n"),
		"announces too large a body":  answer("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n{}"),
	}
	for name, act := range http1Peers {
		t.Run("an HTTP/1.1 peer "+name, func(t *testing.T) {
			p := http1(t, act)
			r := do(t, newTransport(t, nil), p.url, mutates)
			assert.EqualValues(t, 1, p.whole.Load())
			assert.Equal(t, 1, r.Attempts)
			assert.True(t, r.Sent)
		})
	}
	http2Peers := map[string]func(*frameWriter, uint32) bool{
		"resets the stream with NO_ERROR":          rst(codeNo),
		"resets the stream with PROTOCOL_ERROR":    rst(codeProtocol),
		"resets the stream with INTERNAL_ERROR":    rst(codeInternal),
		"resets the stream with REFUSED_STREAM":    rst(codeRefusedStream),
		"resets the stream with CANCEL":            rst(codeCancel),
		"resets the stream with ENHANCE_YOUR_CALM": rst(codeEnhanceYourCal),
		"sends GOAWAY before it handled a request": goAway(0, codeNo),
		"sends GOAWAY after it handled a request":  goAway(1, codeNo),
		"sends GOAWAY with an error":               goAway(0, codeInternal),
		"closes the connection":                    func(*frameWriter, uint32) bool { return false },
	}
	for name, act := range http2Peers {
		t.Run("an HTTP/2 peer "+name, func(t *testing.T) {
			p, config := http2Peer(t, act)
			r := do(t, newTransport(t, config), p.url, mutates)
			require.Error(t, r.Err)
			assert.EqualValues(t, 1, p.whole.Load())
			assert.Equal(t, 1, r.Attempts)
			assert.True(t, r.Sent)
		})
	}
}

// If the last attempt ends before its request is sent, the result has the Request-Id of the last request that was sent,
// because the service knows that id.
func TestResultHasTheRequestIDOfTheLastSentRequest(t *testing.T) {
	var sent []string
	rt := roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Header.Get("Request-Id"))
		return reply(503, "busy"), nil
	})
	r := do(t, rt, nowhere, func(c *Call) { c.RateLimiter = grants(2) })
	require.ErrorContains(t, r.Err, "closed")
	require.Len(t, sent, 2)
	assert.Equal(t, sent[1], r.RequestID)
	assert.Equal(t, 503, r.EarlierStatus)

	r = do(t, rt, nowhere, func(c *Call) { c.RateLimiter = grants(0) })
	assert.Empty(t, r.RequestID, "nothing was sent")
}

// If ctx is cancelled during a backoff, the result has the error of ctx, and the error or the answer of the last
// attempt.
func TestCallCancelledInABackoffReturnsTheErrorOrAnswerOfTheLastAttempt(t *testing.T) {
	for _, status := range []int{0, 503} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Minute, cancel)
			rt := replies(status, "busy")
			if status == 0 {
				rt = fails(io.ErrUnexpectedEOF)
			}
			c := newCall(rt, nowhere)
			c.Policy = Policy{MaxAttempts: 9, Backoff: 1e6 * time.Hour, MaxBackoff: 1e6 * time.Hour, MaxBody: 100}
			r := Send(ctx, c)
			require.ErrorIs(t, r.Err, context.Canceled)
			if status == 0 {
				assert.ErrorIs(t, r.Err, io.ErrUnexpectedEOF)
				assert.True(t, r.Sent)
				return
			}
			require.NotNil(t, r.Answer)
			assert.Equal(t, status, r.Answer.Status)
			r.Answer.Release()
		})
	}
}
