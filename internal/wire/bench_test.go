// How the fast path compares with encoding/json, both in one run.

package wire

import (
	"bytes"
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
					env, err := Decode(b.Context(), sample.bodies[i%len(sample.bodies)], engine.target(), false)
					require.NoError(b, err)
					require.True(b, env.HasData)
				}
			})
		}
	}
}

// What type mismatches cost: one in each offer, and a single one at the end.
func BenchmarkMismatches(b *testing.B) {
	clean := answers(1, 200, 5, 4)[0]
	last := bytes.LastIndex(clean, []byte(`"ratePkgId":"`))
	for _, answer := range []struct {
		name string
		body []byte
	}{
		{"none", clean},
		{"each", bytes.ReplaceAll(clean, []byte(`"checkIn":"`), []byte(`"checkIn":7,"x":"`))},
		{"last", append(bytes.Clone(clean[:last]), bytes.Replace(clean[last:], []byte(`"checkIn":"`), []byte(`"checkIn":7,"x":"`), 1)...)},
	} {
		for _, engine := range []struct {
			name   string
			target func() Target
		}{
			{"generated", func() Target { return new(page).target() }},
			{"stdjson", func() Target { return Target{Into: new(page)} }},
		} {
			b.Run(answer.name+"/"+engine.name, func(b *testing.B) {
				b.SetBytes(int64(len(answer.body)))
				b.ReportAllocs()
				for b.Loop() {
					env, err := Decode(b.Context(), answer.body, engine.target(), true)
					require.NoError(b, err)
					require.Equal(b, answer.name != "none", env.Count > 0)
				}
			})
		}
	}
}
