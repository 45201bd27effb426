// Pooled memory for the bodies of answers.

package transport

import (
	"bytes"
	"io"
	"sync"
)

// maxPooled is the most that a buffer is made for before anything has come: above a
// large search page, below what one freak answer may claim. A buffer that grew is kept
// for the next call up to twice that, for growing doubles it.
const maxPooled = 8 << 20

var buffers = sync.Pool{New: func() any { return new(buffer) }}

type buffer struct {
	bytes.Buffer
	source io.LimitedReader
}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

func (b *buffer) release() {
	if b.Cap() <= 2*maxPooled {
		b.Reset()
		buffers.Put(b)
	}
}

// readAll reads at most limit bytes. size is the announced length, or -1; then usual
// is about what to expect.
func (b *buffer) readAll(r io.Reader, size, usual, limit int64) ([]byte, error) {
	if size > limit {
		return nil, ErrBodyTooLarge
	}
	if size < 0 {
		size = usual + usual/8
	}
	// ReadFrom wants MinRead of room at the end, or it doubles the buffer. What is
	// announced is not yet received: beyond the usual the buffer grows with it.
	b.Grow(int(min(size, limit, maxPooled)) + bytes.MinRead)
	b.source = io.LimitedReader{R: r, N: limit + 1}
	n, err := b.ReadFrom(&b.source)
	b.source.R = nil
	if err == nil && n > limit {
		err = ErrBodyTooLarge
	}
	return b.Bytes(), err
}
