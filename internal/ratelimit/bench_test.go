package ratelimit

import (
	"testing"
	"time"
)

// The cost of a ceiling that is not reached, for one caller and for all cores at once.
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
