// Tests of the memory that an answer takes.

package transport

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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
	b := new(buffer)
	body, err := b.readAll(strings.NewReader("{}"), 1<<30, 0, 1<<30)
	require.NoError(t, err)
	assert.Equal(t, "{}", string(body))
	assert.LessOrEqual(t, b.Cap(), 2*maxPrepared)
}

// The memory of a huge answer is not kept: the pool would hold it for every later one.
func TestHugeBuffersAreNotPooled(t *testing.T) {
	for range 10 { // under the race detector a pool drops some of what it gets
		b := newBuffer()
		b.Grow(2*maxPrepared + 1)
		b.release()
		assert.LessOrEqual(t, newBuffer().Cap(), 2*maxPrepared)
	}
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
func TestBodySizeHint(t *testing.T) {
	const page = 1 << 20
	var usual atomic.Int64
	rt := roundTripper(func(*http.Request) (*http.Response, error) {
		r := reply(200, strings.Repeat("x", page))
		r.ContentLength = -1
		return r, nil
	})
	do(t, rt, "http://127.0.0.1:1", func(c *Call) { c.BodySizeHint, c.Policy.MaxBody = &usual, 2*page })
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
