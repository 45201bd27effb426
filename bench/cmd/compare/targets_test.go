package main

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// justMet are results that just meet all targets.
func justMet() results {
	rows := func(name, base string, ours, others measure.Sample) []row {
		r := row{cell{name: name}, map[string][]measure.Sample{}}
		for _, kind := range append(peers.All(), peers.Streams()...) {
			s := others
			if kind.Name == base {
				s = ours
			}
			s.Calls = 1
			r.samples[kind.Name] = []measure.Sample{s, s}
		}
		return []row{r}
	}
	small := func(ratio, most float64, noAllocs bool) comparison {
		return comparison{what: fmt.Sprint("small ", most), target: most,
			ours: benchmark{ns: []float64{ratio}, noAllocs: noAllocs}, base: benchmark{ns: []float64{1}}}
	}
	var streams []row
	for i, ours := range map[int]measure.Sample{0: {Wall: 1.05, CPU: 1.05}, 2: {First: 1. / 40}, 4: {Peak: 1. / 15}} {
		streams = append(streams, rows(streamCells[i].name, peers.OurStream, ours, measure.Sample{Wall: 1, CPU: 1, First: 1, Peak: 1})...)
	}
	page := func(name string) []row {
		return rows(name, peers.Ours, measure.Sample{Wall: 1, Bytes: 60}, measure.Sample{Wall: 3, Bytes: 100})
	}
	return results{
		pages: append(page("plain"), page("x"+gzipped)...), lines: append(page("1"), page("2")...),
		manyCallers: page("many"), rates: page("rates"),
		memory: rows("page", peers.Ours, measure.Sample{Peak: 3, Live: 1.02}, measure.Sample{}),
		calls:  rows("call", peers.Ours, measure.Sample{CPU: 1, Allocs: 115}, measure.Sample{CPU: 1, Allocs: 100}),
		body:   1, value: 1, streams: streams, small: []comparison{small(3, 3, true), small(1.8, 1.8, false), small(9, 0, false)},
	}
}

func missed(r results) (names []string) {
	for _, t := range targets(r) {
		if !t.met {
			names = append(names, t.what)
		}
	}
	return names
}

// Each target is met, and is missed, and no other, if its figure is a little worse.
func TestTargetsAreMetAndMissedByTheirFigure(t *testing.T) {
	ratio := func(c comparison, ns float64) { c.ours.ns[0] = ns }
	seen := map[string]bool{}
	for _, c := range []struct {
		spoil  func(*results) []row // and returns the rows that change spoils
		client string
		change func(*measure.Sample)
	}{
		{func(r *results) []row { return r.pages[:1] }, peers.EncodingJSON, func(s *measure.Sample) { s.Wall = 2.9 }},
		{func(r *results) []row { return r.pages[1:] }, peers.EncodingJSON, func(s *measure.Sample) { s.Wall = 2.4 }},
		{func(r *results) []row { return r.pages }, peers.Goccy, func(s *measure.Sample) { s.Wall = 1.1 }},
		{func(r *results) []row { return r.manyCallers }, peers.EncodingJSON, func(s *measure.Sample) { s.Wall = 2.1 }},
		{func(r *results) []row { return r.manyCallers }, peers.Goccy, func(s *measure.Sample) { s.Wall = 1 }},
		{func(r *results) []row { return r.lines[:1] }, peers.Goccy, func(s *measure.Sample) { s.Wall = 1.5 }},
		{func(r *results) []row { return r.lines[1:] }, peers.Goccy, func(s *measure.Sample) { s.Wall = 1.1 }},
		{func(r *results) []row { return r.rates }, peers.Goccy, func(s *measure.Sample) { s.Wall = 1 }},
		{func(r *results) []row { return r.pages }, peers.EncodingJSON, func(s *measure.Sample) { s.Bytes = 98 }},
		{func(r *results) []row { return r.calls }, peers.EncodingJSON, func(s *measure.Sample) { s.CPU = 0.9 }},
		{func(r *results) []row { return r.calls }, peers.Goccy, func(s *measure.Sample) { s.CPU = 0.9 }},
		{func(r *results) []row { return r.calls }, peers.Ours, func(s *measure.Sample) { s.Allocs = 116 }},
		{func(r *results) []row { return r.memory }, peers.Ours, func(s *measure.Sample) { s.Peak = 3.1 }},
		{func(r *results) []row { return r.memory }, peers.Ours, func(s *measure.Sample) { s.Live = 1.1 }},
		{func(r *results) []row { return r.streams }, peers.OurStream, func(s *measure.Sample) { s.First *= 1.1 }},
		{func(r *results) []row { return r.streams }, peers.OurStream, func(s *measure.Sample) { s.Wall *= 1.1 }},
		{func(r *results) []row { return r.streams }, peers.OurStream, func(s *measure.Sample) { s.CPU *= 1.1 }},
		{func(r *results) []row { return r.streams }, peers.OurStream, func(s *measure.Sample) { s.Peak *= 1.1 }},
		{func(r *results) []row { ratio(r.small[0], 3.1); return nil }, "", nil},
		{func(r *results) []row { r.small[0].ours.allocs = 1; return nil }, "", nil},
		{func(r *results) []row { ratio(r.small[1], 1.9); return nil }, "", nil},
		{func(r *results) []row { // one row of two
			good := row{cell{name: "other"}, maps.Clone(r.calls[0].samples)}
			good.samples[peers.Ours] = slices.Clone(good.samples[peers.Ours])
			r.calls = append(r.calls, good)
			return r.calls[:1]
		}, peers.Ours, func(s *measure.Sample) { s.Allocs = 200 }},
	} {
		r := justMet()
		require.Empty(t, missed(r))
		for _, row := range c.spoil(&r) {
			for i := range row.samples[c.client] {
				c.change(&row.samples[c.client][i])
			}
		}
		names := missed(r)
		require.Len(t, names, 1, "%s", seen)
		seen[names[0]] = true
	}
	generated := len(peers.All()) - 4 // and their targets
	assert.Len(t, targets(justMet()), len(seen)+generated)
}

// Each benchmark of the table runs.
func TestSmallThingsRun(t *testing.T) {
	before := flag.Lookup("test.benchtime").Value.String()
	defer flag.Set("test.benchtime", before)
	all, err := measureSmall(1, time.Microsecond)
	require.NoError(t, err)
	for _, c := range all {
		assert.Positive(t, c.ratio(), c.what)
	}
}

func TestFormsHaveThreeDigits(t *testing.T) {
	for seconds, text := range map[float64]string{0.0456789: "45.7ms", 0.000123456: "123µs", 2: "2s", 0: "0s", 9.9e-8: "99ns"} {
		assert.Equal(t, text, duration(seconds))
	}
	for n, text := range map[float64]string{5039123: "5.04 MB", 20_807: "20.8 KB", 97: "97 B"} {
		assert.Equal(t, text, size(n))
	}
}
