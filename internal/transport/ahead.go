// Reading a compressed answer ahead of the one who decodes it.

package transport

import (
	"io"
	"sync"
)

// readAhead reads a body in a goroutine of its own, so that inflating and decoding share
// the work of two processors. It holds at most three chunks.
type readAhead struct {
	body   io.ReadCloser
	full   chan chunk
	empty  chan []byte
	done   chan struct{}
	rest   []byte // of the current chunk
	err    error  // behind it
	chunk  []byte
	reader sync.WaitGroup
}

type chunk struct {
	data []byte
	err  error
}

const (
	chunkSize   = 32 << 10
	chunksAhead = 3
)

func newReadAhead(body io.ReadCloser) *readAhead {
	a := &readAhead{body: body, full: make(chan chunk, chunksAhead), empty: make(chan []byte, chunksAhead), done: make(chan struct{})}
	for range chunksAhead {
		a.empty <- make([]byte, chunkSize)
	}
	a.reader.Go(a.run)
	return a
}

func (a *readAhead) run() {
	for {
		select {
		case b := <-a.empty:
			n, err := a.body.Read(b)
			a.full <- chunk{b[:n], err} // there is room for all chunks
			if err != nil {
				return
			}
		case <-a.done:
			return
		}
	}
}

func (a *readAhead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		if a.chunk != nil {
			a.empty <- a.chunk[:chunkSize]
		}
		c := <-a.full
		a.chunk, a.rest, a.err = c.data, c.data, c.err
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close closes the body and waits for the goroutine.
func (a *readAhead) Close() error {
	close(a.done)
	err := a.body.Close()
	a.reader.Wait()
	return err
}
