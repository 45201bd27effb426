// Pooled memory for the bodies of answers.

package transport

import (
	"io"
	"sync"

	"github.com/hotelstays/hotelstays-go/internal/wire"
)

const (
	// maxPrepared limits the memory of a buffer before the first byte arrives, because a malformed header may claim any
	// size. A large search page fits into this size. If a buffer is too small, its size doubles, so the pool keeps
	// buffers of up to twice maxPrepared.
	maxPrepared = 8 << 20
	// windowSize is the size in bytes of the buffer for a stream. It can be small, because the text of a stream is removed
	// as soon as it is decoded.
	windowSize = 64 << 10
)

// shortReads limits each read to 16 KB. Without this limit, net/http would read a chunk of HTTP/1.1 until the caller's
// buffer is full, and the decoder would get the first bytes late.
type shortReads struct{ io.Reader }

func (r shortReads) Read(b []byte) (int, error) { return r.Reader.Read(b[:min(len(b), 16<<10)]) }

// The pool named windows has small buffers for streams, so that a stream takes no large buffer from the pool named
// buffers.
var buffers, windows sync.Pool

type buffer struct {
	wire.Feed
	pool *sync.Pool
}

// newBuffer returns a buffer that reads a body of at most limit bytes. The parameter room is the expected size of the
// body: the buffer has at least this size at first, and grows if necessary.
func newBuffer(pool *sync.Pool, body io.Reader, room, limit int64) *buffer {
	b, ok := pool.Get().(*buffer)
	if !ok {
		b = &buffer{pool: pool}
	}
	b.Reset(body, int(room), limit)
	return b
}

func (b *buffer) release() {
	if b.Cap() <= 2*maxPrepared {
		b.Free()
		b.pool.Put(b)
	}
}
