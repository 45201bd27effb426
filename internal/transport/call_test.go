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

// An HTTP/2 peer reads a request that changes something, and then refuses the request. If it could, net/http would send
// some of these requests again. So the client prevents this, and the request counts as sent.
func TestMutatingRequestThatAPeerRefusesIsSentOnlyOnce(t *testing.T) {
	for name, act := range map[string]func(net.Conn, uint32) bool{
		"resets the stream with NO_ERROR":          rst(codeNo),
		"resets the stream with REFUSED_STREAM":    rst(codeRefusedStream),
		"sends GOAWAY before it handled a request": goAway(0, codeNo),
		"sends GOAWAY after it handled a request":  goAway(1, codeNo),
		"sends GOAWAY with an error":               goAway(0, codeInternal),
		"closes the connection":                    func(net.Conn, uint32) bool { return false },
	} {
		t.Run("a peer "+name, func(t *testing.T) {
			p := http2Peer(t, act)
			r := do(t, newTransport(t, p.trust), p.url, mutates)
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

	limiter := grants(0)
	r = do(t, rt, nowhere, func(c *Call) { c.RateLimiter = limiter })
	assert.Empty(t, r.RequestID, "nothing was sent")
	assert.Equal(t, quick.MaxAttempts, limiter.asked, "a limiter that fails is asked again")
}

// If ctx is cancelled during a backoff, the error of the call wraps the error of ctx, and the error of the last attempt.
func TestCallCancelledInABackoffReturnsTheErrorOfTheLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		c := newCall(fails(io.ErrUnexpectedEOF), nowhere)
		c.Policy = Policy{MaxAttempts: 9, Backoff: 1e6 * time.Hour, MaxBackoff: 1e6 * time.Hour, MaxBody: 100}
		r := Send(ctx, c)
		assert.ErrorIs(t, r.Err, context.Canceled)
		assert.ErrorIs(t, r.Err, io.ErrUnexpectedEOF)
		assert.True(t, r.Sent)
	})
}
