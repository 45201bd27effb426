package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/benchmark/parse"

	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// everyTarget is a set of results that just meets all targets.
func everyTarget() results {
	page := cellResult{cell: cell{hotelList, http1, measure.Load{Callers: 1}, 2}, samples: map[string][]measure.Sample{}}
	call := cellResult{cell: cell{checkAvail, http1, measure.Load{Callers: 1}, 2}, samples: map[string][]measure.Sample{}}
	many := cellResult{cell: cell{hotelList, http1, measure.Load{Callers: 8}, 2}, samples: map[string][]measure.Sample{}} // of no target
	for _, kind := range peers.All() {
		s := measure.Sample{Calls: 1, CPU: 3, Wall: 3, Allocs: 100, Bytes: 100, Peak: 400, Live: 120}
		small := measure.Sample{Calls: 1, CPU: 1, Allocs: 100}
		if kind.Name == peers.Ours {
			s = measure.Sample{Calls: 1, CPU: 1, Wall: 1, Allocs: 50, Bytes: 55, Peak: 300, Live: 100}
			small = measure.Sample{Calls: 1, CPU: 1.15, Allocs: 115}
		}
		page.samples[kind.Name] = []measure.Sample{s, s}
		call.samples[kind.Name] = []measure.Sample{small, small}
		many.samples[kind.Name] = []measure.Sample{{Calls: 1, Wall: 1, Bytes: 1}}
	}
	return results{
		cells:      []cellResult{page, call, many},
		memory:     memoryResult{cellResult: page, body: 100, value: 100},
		micro:      []microResult{pairResult(tokenRead, 3), pairResult(webhook, 1.1)},
		expiry:     expiryResult{callers: 10_000, tickets: 1},
		margin:     marginResult{callers: 500, renewals: 1},
		throughput: throughputResult{limit: 100, used: []float64{0.97}},
		streams: []streamResult{
			streamsOf(streamCell{0, false, 1}, streamSample{measure.Sample{Wall: 1.1, CPU: 1.1}, 1}, streamSample{measure.Sample{Wall: 1, CPU: 1}, 1}),
			streamsOf(streamCell{200, false, 1}, streamSample{first: 1}, streamSample{first: 40}),
			streamsOf(streamCell{200, false, 64}, streamSample{measure.Sample{Peak: 1}, 1}, streamSample{measure.Sample{Peak: 15}, 1}),
		},
	}
}

func streamsOf(c streamCell, stream, list streamSample) streamResult {
	return streamResult{c, map[string][]streamSample{peers.OurStream: {stream}, peers.OurList: {list}}}
}

func pairResult(p pair, ratio float64) microResult {
	return microResult{pair: p, ours: []*parse.Benchmark{{NsPerOp: ratio}}, base: []*parse.Benchmark{{NsPerOp: 1}}}
}

func missed(r results) (names []string) {
	for _, t := range targets(r) {
		if !t.met {
			names = append(names, t.what)
		}
	}
	return names
}

func TestTargetsThatAreJustMet(t *testing.T) { assert.Empty(t, missed(everyTarget())) }

// Each target is missed if its figure is a little worse.
func TestTargetsThatAreMissed(t *testing.T) {
	ours := func(r results, cell int) *measure.Sample { return &r.cells[cell].samples[peers.Ours][0] }
	for name, c := range map[string]struct {
		spoil func(*results)
		what  string
	}{
		"slow page": {func(r *results) { ours(*r, 0).Wall = 1.1 }, "a page of HotelList: the time of a client on encoding/json, in ours"},
		"busy page": {func(r *results) { ours(*r, 0).CPU = 1.1 }, "the same in CPU"},
		"slower than one": {func(r *results) { r.cells[0].samples["goccy"][0].Wall = 0.5; r.cells[0].samples["goccy"][1].Wall = 0.9 },
			"the time of goccy"},
		"large page":    {func(r *results) { ours(*r, 0).Bytes = 57 }, "bytes allocated for it, as a share of encoding/json"},
		"busy call":     {func(r *results) { ours(*r, 1).CPU = 1.2 }, "CheckAvail: its CPU, in that of bare net/http and encoding/json"},
		"wasteful call": {func(r *results) { ours(*r, 1).Allocs = 118 }, "CheckAvail: allocations more than that"},
		"slow token": {func(r *results) { r.micro[0].ours[0].NsPerOp = 3.1 },
			"reading a fresh token, 2 cores contended, in atomic pointer loads"},
		"token on heap": {func(r *results) { r.micro[0].ours[0].AllocsPerOp = 1 },
			"reading a fresh token, 2 cores contended, in atomic pointer loads"},
		"two tickets":     {func(r *results) { r.expiry.tickets = 2 }, "10000 callers after a ticket's end"},
		"somebody waited": {func(r *results) { r.margin.waited = true }, "500 callers while a ticket is renewed"},
		"limit unused":    {func(r *results) { r.throughput.used[0] = 0.96 }, "throughput under a rolling rate limit of 100 calls a second"},
		"a 429":           {func(r *results) { r.throughput.refused = 1 }, "throughput under a rolling rate limit of 100 calls a second"},
		"slow webhook":    {func(r *results) { r.micro[1].ours[0].NsPerOp = 1.2 }, "verification of a webhook of 1 KB, in bare HMACs"},
		"high peak":       {func(r *results) { r.memory.body = 99 }, "heap at the peak of a call of one page, in answers"},
		"fat value":       {func(r *results) { r.memory.value = 95 }, "heap after it, in decoded values"},
		"late hotel": {func(r *results) { r.streams[1].samples[peers.OurStream][0].first = 1.1 },
			"first hotel of 200 at 200 Mbit/s: HotelList's time, in the stream's"},
		"slow stream":  {func(r *results) { r.streams[0].samples[peers.OurStream][0].Wall = 1.2 }, "last hotel without a limit, in HotelList's time"},
		"busy stream":  {func(r *results) { r.streams[0].samples[peers.OurStream][0].CPU = 1.2 }, "all hotels without a limit, in HotelList's CPU"},
		"large stream": {func(r *results) { r.streams[2].samples[peers.OurStream][0].Peak = 1.1 }, "heap peak of 64 callers: HotelList's, in the stream's"},
	} {
		r := everyTarget()
		c.spoil(&r)
		assert.Contains(t, missed(r), c.what, name)
	}
}

// Each benchmark of the tables exists once.
func TestPairsAreBenchmarks(t *testing.T) {
	all, err := runMicro(t.Context(), plan{rounds: 1, benchtime: time.Microsecond})
	require.NoError(t, err)
	assert.Len(t, all, len(pairs))
}

func TestFormsHaveThreeDigits(t *testing.T) {
	for seconds, text := range map[float64]string{0.0456789: "45.7ms", 0.000123456: "123µs", 2: "2s", 0: "0s", 9.9e-8: "99ns"} {
		assert.Equal(t, text, duration(seconds))
	}
	for n, text := range map[float64]string{5039123: "5.04 MB", 20_807: "20.8 KB", 97: "97 B"} {
		assert.Equal(t, text, size(n))
	}
}
