// How the fast path compares with encoding/json, both in one run.

package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkDecode(b *testing.B) {
	for _, sample := range samples() {
		for _, engine := range []struct {
			name   string
			target func() Target
		}{
			{"generated", func() Target { return new(page).target() }},
			{"stdjson", func() Target { return Target{Into: new(page)} }},
		} {
			b.Run(sample.name+"/"+engine.name, func(b *testing.B) {
				b.SetBytes(int64(len(sample.bodies[0])))
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					env, err := Decode(sample.bodies[i%len(sample.bodies)], engine.target(), false)
					require.NoError(b, err)
					require.True(b, env.HasData)
				}
			})
		}
	}
}
