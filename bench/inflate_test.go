// The possible gain of a faster inflate. The SDK leaves compression to net/http, which uses
// compress/gzip.

package bench

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	faster "github.com/klauspost/compress/gzip"

	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
)

func BenchmarkInflate(b *testing.B) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(answers.HotelList()); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	inflate := func(b *testing.B, r interface {
		io.Reader
		Reset(io.Reader) error
	}) {
		for b.Loop() {
			if err := r.Reset(bytes.NewReader(packed.Bytes())); err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("compress", func(b *testing.B) { inflate(b, new(gzip.Reader)) })
	b.Run("klauspost", func(b *testing.B) { inflate(b, new(faster.Reader)) })
}
