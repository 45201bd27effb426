// Pooled memory for the bodies of answers.

package transport

import (
	"bytes"
	"io"
	"sync"
)

// maxPrepared limits the room that a buffer gets before a byte arrives: more than a large
// search page takes, less than a malformed header may claim. Growing doubles a buffer, so
// the pool keeps buffers of up to twice that.
const maxPrepared = 8 << 20

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// buffer is pooled memory for the body of one answer.
type buffer struct {
	bytes.Buffer
	source io.LimitedReader
}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

func (b *buffer) release() {
	if b.Cap() <= 2*maxPrepared {
		b.Reset()
		buffers.Put(b)
	}
}

// readAll reads at most limit bytes. The size is the announced one, or -1; sizeHint then
// takes its place.
func (b *buffer) readAll(r io.Reader, size, sizeHint, limit int64) ([]byte, error) {
	if size > limit {
		return nil, ErrBodyTooLarge
	}
	if size < 0 {
		size = sizeHint + sizeHint/8
	}
	// Without MinRead of room at the end, ReadFrom doubles the buffer.
	b.Grow(int(min(size, limit, maxPrepared)) + bytes.MinRead)
	b.source = io.LimitedReader{R: r, N: limit + 1}
	n, err := b.ReadFrom(&b.source)
	b.source.R = nil
	if err == nil && n > limit {
		err = ErrBodyTooLarge
	}
	return b.Bytes(), err
}
