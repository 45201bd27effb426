package transport

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadAheadReadsTheSame(t *testing.T) {
	text := strings.Repeat("0123456789", 50_000)
	for name, body := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "data with the end": iotest.DataErrReader,
	} {
		a := newReadAhead(io.NopCloser(body(strings.NewReader(text))))
		got, err := io.ReadAll(a)
		require.NoError(t, err, name)
		assert.True(t, text == string(got), name)
		n, err := a.Read(make([]byte, 1))
		assert.Zero(t, n, name)
		assert.Equal(t, io.EOF, err, name)
		assert.NoError(t, a.Close(), name)
	}
}

func TestReadAheadPassesTheError(t *testing.T) {
	broken := errors.New("broken")
	a := newReadAhead(io.NopCloser(io.MultiReader(strings.NewReader("text"), iotest.ErrReader(broken))))
	got, err := io.ReadAll(a)
	assert.Equal(t, "text", string(got))
	assert.Equal(t, broken, err)
	assert.NoError(t, a.Close())
}

// A Close ends the goroutine: while it waits for the body, for room, and when it has ended.
func TestReadAheadCloses(t *testing.T) {
	r, w := io.Pipe()
	a := newReadAhead(r)
	assert.NoError(t, a.Close())
	_, err := w.Write([]byte("x"))
	assert.Equal(t, io.ErrClosedPipe, err)

	a = newReadAhead(io.NopCloser(strings.NewReader(strings.Repeat("x", 10*chunkSize))))
	_, err = io.ReadFull(a, make([]byte, chunkSize+1))
	require.NoError(t, err)
	assert.NoError(t, a.Close())
}
