// What a ceiling costs a caller while there is room.

package ratelimit

import (
	"testing"
	"time"
)

// One caller alone, and all cores at once.
func BenchmarkRoom(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		w, ctx := NewWindow(1024, time.Nanosecond), b.Context()
		b.ReportAllocs()
		for b.Loop() {
			_ = w.Acquire(ctx)
			w.Left()
		}
	})
	b.Run("contended", func(b *testing.B) {
		w, ctx := NewWindow(1024, time.Nanosecond), b.Context()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_ = w.Acquire(ctx)
				w.Left()
			}
		})
	})
}
