package main

import (
	"flag"
	"maps"
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
		return comparison{ours: benchmark{ns: []float64{ratio}, noAllocs: noAllocs}, base: benchmark{ns: []float64{1}}, target: most}
	}
	var streams []row
	for i, ours := range map[int]measure.Sample{0: {Wall: 1.05, CPU: 1.05}, 2: {First: 1. / 40}, 4: {Peak: 1. / 15}} {
		streams = append(streams, rows(streamCells[i].name, peers.OurStream, ours, measure.Sample{Wall: 1, CPU: 1, First: 1, Peak: 1})...)
	}
	page := func(name string) []row {
		return rows(name, peers.Ours, measure.Sample{Wall: 1, Bytes: 60}, measure.Sample{Wall: 3, Bytes: 100})
	}
	return results{
		pages: append(page("plain"), page("x"+gzipped)...), crowds: page("many"), rates: page("rates"), lines: append(page("1"), page("2")...),
		memory: rows("page", peers.Ours, measure.Sample{Peak: 3, Live: 1.02}, measure.Sample{}),
		calls:  rows("call", peers.Ours, measure.Sample{CPU: 1, Allocs: 115}, measure.Sample{CPU: 1, Allocs: 100}),
		body:   1, value: 1, streams: streams, small: []comparison{small(3, 3, true), small(1.8, 1.8, false), small(9, 0, false)},
		expiry: callers{n: 10_000, tickets: 1}, renewal: callers{n: 500, tickets: 1}, throughput: throughput{used: []float64{0.97}},
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

func TestTargetsThatAreJustMet(t *testing.T) {
	assert.Len(t, targets(justMet()), 23+len(peers.All())-4)
	assert.Empty(t, missed(justMet()))
}

// Each target is missed, and no other, if its figure is a little worse.
func TestTargetsThatAreMissed(t *testing.T) {
	worse := func(rows []row, client string, change func(*measure.Sample)) {
		for _, r := range rows {
			for i := range r.samples[client] {
				change(&r.samples[client][i])
			}
		}
	}
	for what, spoil := range map[string]func(*results){
		"a page of HotelList: encoding/json's time": func(r *results) {
			worse(r.pages[:1], peers.EncodingJSON, func(s *measure.Sample) { s.Wall = 2.9 })
		},
		"a page of HotelList, gzip: encoding/json's time": func(r *results) {
			worse(r.pages[1:], peers.EncodingJSON, func(s *measure.Sample) { s.Wall = 2.4 })
		},
		"a page of HotelList, plain and gzip: goccy's time": func(r *results) {
			worse(r.pages, peers.Goccy, func(s *measure.Sample) { s.Wall = 1.1 })
		},
		"the same, 8 and 64 callers: encoding/json's time": func(r *results) {
			worse(r.crowds, peers.EncodingJSON, func(s *measure.Sample) { s.Wall = 2.1 })
		},
		"the same, 8 and 64 callers: goccy's time": func(r *results) {
			worse(r.crowds, peers.Goccy, func(s *measure.Sample) { s.Wall = 1 })
		},
		"a page of HotelList, 1,000 Mbit/s: goccy's time": func(r *results) {
			worse(r.lines[:1], peers.Goccy, func(s *measure.Sample) { s.Wall = 1.5 })
		},
		"HotelRates: goccy's time": func(r *results) { worse(r.rates, peers.Goccy, func(s *measure.Sample) { s.Wall = 1 }) },
		"our bytes as a share of encoding/json's": func(r *results) {
			worse(r.pages, peers.EncodingJSON, func(s *measure.Sample) { s.Bytes = 98 })
		},
		"CheckAvail: encoding/json's CPU": func(r *results) {
			worse(r.calls, peers.EncodingJSON, func(s *measure.Sample) { s.CPU = 0.9 })
		},
		"CheckAvail: goccy's CPU": func(r *results) { worse(r.calls, peers.Goccy, func(s *measure.Sample) { s.CPU = 0.9 }) },
		"CheckAvail: allocations more than encoding/json's": func(r *results) {
			worse(r.calls, peers.Ours, func(s *measure.Sample) { s.Allocs = 116 })
		},
	} {
		r := justMet()
		spoil(&r)
		assert.Equal(t, []string{what}, missed(r))
	}
	for name, spoil := range map[string]func(*results){
		"slow token":      func(r *results) { r.small[0].ours.ns[0] = 3.1 },
		"token on heap":   func(r *results) { r.small[0].ours.allocs = 1 },
		"slow webhook":    func(r *results) { r.small[1].ours.ns[0] = 1.9 },
		"two tickets":     func(r *results) { r.expiry.tickets = 2 },
		"two renewals":    func(r *results) { r.renewal.tickets = 2 },
		"somebody waited": func(r *results) { r.renewal.waited = true },
		"limit unused":    func(r *results) { r.throughput.used[0] = 0.96 },
		"a 429":           func(r *results) { r.throughput.refused = 1 },
		"high peak":       func(r *results) { worse(r.memory, peers.Ours, func(s *measure.Sample) { s.Peak += 0.1 }) },
		"large value":     func(r *results) { r.value = 0.99 },
		"late hotel":      func(r *results) { worse(r.streams, peers.OurStream, func(s *measure.Sample) { s.First *= 1.1 }) },
		"slow stream":     func(r *results) { worse(r.streams, peers.OurStream, func(s *measure.Sample) { s.Wall *= 1.1 }) },
		"busy stream":     func(r *results) { worse(r.streams, peers.OurStream, func(s *measure.Sample) { s.CPU *= 1.1 }) },
		"large stream":    func(r *results) { worse(r.streams, peers.OurStream, func(s *measure.Sample) { s.Peak *= 1.1 }) },
		"one row of two": func(r *results) {
			bad := row{cell{name: "other"}, maps.Clone(r.calls[0].samples)}
			bad.samples[peers.Ours] = []measure.Sample{{Calls: 1, CPU: 1, Allocs: 200}, {Calls: 1, CPU: 1, Allocs: 200}}
			r.calls = []row{bad, r.calls[0]}
		},
	} {
		r := justMet()
		spoil(&r)
		assert.Len(t, missed(r), 1, name)
	}
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
