// Tests of the memory that an answer takes.

package transport

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

// What is announced and does not come takes no memory.
func TestAnnouncedLengthIsNotBelieved(t *testing.T) {
	call := newCall(roundTripper(func(*http.Request) (*http.Response, error) {
		resp := reply(200, "{}")
		resp.ContentLength = 1 << 30
		return resp, nil
	}), nowhere)
	call.Policy.MaxBody = 1 << 30
	r := Send(t.Context(), call)
	require.NoError(t, r.Err)
	assert.Equal(t, "{}", string(r.Answer.Body))
	assert.LessOrEqual(t, cap(r.Answer.Body), 2*maxPrepared)
}

// The memory of a huge answer is not kept: the pool would hold it for every later one.
func TestHugeBuffersAreNotPooled(t *testing.T) {
	for range 10 { // under the race detector a pool drops some of what it gets
		b := newBuffer(&buffers, http.NoBody, 2*maxPrepared+1, 0)
		b.release()
		assert.LessOrEqual(t, newBuffer(&buffers, http.NoBody, 0, 0).Cap(), 2*maxPrepared)
	}
}

func TestReleaseTwice(t *testing.T) {
	a := &Answer{Body: []byte("{}"), buffer: newBuffer(&buffers, http.NoBody, 0, 0)}
	a.Release()
	assert.Nil(t, a.Body)
	assert.Nil(t, a.buffer)
	a.Release()
}

// An answer that does not announce its length is given the room of the one before it:
// a buffer that doubles its way to a large page claims three times that.
func TestBodySizeHint(t *testing.T) {
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
		r := Send(t.Context(), call) // whose buffer does not go back to the pool
		require.NoError(t, r.Err)
		require.Len(t, r.Answer.Body, size)
		assert.EqualValues(t, size, usual.Load())
		return r.Answer.buffer.Cap()
	}
	buffers = sync.Pool{} // without what earlier tests left
	assert.Greater(t, room(), 3*page/2)
	size += page / 10
	assert.Less(t, room(), 5*page/4)
}
