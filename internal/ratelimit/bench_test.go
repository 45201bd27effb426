// What a rate limit costs a caller while there is room.

package ratelimit

import (
	"testing"
	"time"
)

// One caller alone, and all cores at once.
func BenchmarkRoom(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		w, ctx := NewWindow(1024, time.Nanosecond, 0), b.Context()
		b.ReportAllocs()
		for b.Loop() {
			p, _ := w.Acquire(ctx)
			leave(p)
		}
	})
	b.Run("contended", func(b *testing.B) {
		w, ctx := NewWindow(1024, time.Nanosecond, 0), b.Context()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				p, _ := w.Acquire(ctx)
				leave(p)
			}
		})
	})
}
