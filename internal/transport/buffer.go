// Pooled memory for the bodies of answers.

package transport

import (
	"io"
	"sync"

	"github.com/hotelstays/hotelstays-go/internal/wire"
)

const (
	// maxPrepared limits the size of a buffer before a byte arrives. It is more than a large search page takes, and less
	// than a malformed header may claim. Growing doubles a buffer, so the pool keeps buffers of up to twice this size.
	maxPrepared = 8 << 20
	// windowSize is the size of a buffer whose parts are removed as they are decoded.
	windowSize = 64 << 10
)

// shortReads limits each read to 16 KB. Within a chunk of HTTP/1.1, net/http returns no byte before it has filled the
// caller's buffer.
type shortReads struct{ io.Reader }

func (r shortReads) Read(b []byte) (int, error) { return r.Reader.Read(b[:min(len(b), 16<<10)]) }

// Windows have a separate pool, so that they do not take the memory of large pages.
var buffers, windows sync.Pool

// buffer is pooled memory for the body of one answer.
type buffer struct {
	wire.Feed
	pool *sync.Pool
}

// newBuffer returns memory for a body of at most limit bytes.
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
