package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// justKept returns results that meet the bound of each promise exactly.
func justKept() results {
	rows := func(name, base string, ours, others measure.Sample) []row {
		r := row{cell{name: name}, map[string][]measure.Sample{}}
		for _, kind := range append(append(peers.All(), peers.Streams()...), peers.SlowLoop) {
			s := others
			if kind.Name == base {
				s = ours
			}
			s.Calls = 1
			r.samples[kind.Name] = []measure.Sample{s, s}
		}
		return []row{r}
	}
	page := func(name string) []row {
		return rows(name, peers.Ours, measure.Sample{Wall: 1, CPU: 1, Bytes: 65}, measure.Sample{Wall: 2, CPU: 2, Bytes: 100})
	}
	streams := append(rows("200 hotels, "+string(warm)+", "+origin.Far.String(), peers.OurStream, measure.Sample{First: 1.3, Byte: 1},
		measure.Sample{First: 6.5, Byte: 1}), rows("64 callers", peers.OurStream, measure.Sample{Peak: 5}, measure.Sample{Peak: 100})...)
	return results{
		pages: append(page("plain"), page("x"+gzipped)...), manyCallers: page("many"), streams: streams,
		calls: rows("call", peers.Ours, measure.Sample{CPU: 1}, measure.Sample{CPU: 0.92}),
		slow:  rows("slow", "", measure.Sample{}, measure.Sample{Peak: 60e6}),
	}
}

func broken(r results) (names []string) {
	for _, p := range promises(r) {
		if !p.kept {
			names = append(names, p.what)
		}
	}
	return names
}

func TestWorseMeasurementBreaksOnlyItsOwnPromise(t *testing.T) {
	for promise, c := range map[string]struct {
		rows   func(*results) []row
		client string
		change func(*measure.Sample)
	}{
		"page of 200 hotels: CPU of encoding/json ÷ CPU of this client": {func(r *results) []row { return r.pages[:1] }, peers.EncodingJSON,
			func(s *measure.Sample) { s.CPU = 1.9 }},
		"page of 200 hotels, gzip: CPU of encoding/json ÷ CPU of this client": {func(r *results) []row { return r.pages[1:] }, peers.EncodingJSON,
			func(s *measure.Sample) { s.CPU = 1.7 }},
		"page of 200 hotels: CPU of goccy ÷ CPU of this client": {func(r *results) []row { return r.pages[:1] }, peers.Goccy,
			func(s *measure.Sample) { s.CPU = 0.9 }},
		"page of 200 hotels: allocated bytes of this client ÷ allocated bytes of goccy": {func(r *results) []row { return r.pages }, peers.Goccy,
			func(s *measure.Sample) { s.Bytes = 98 }},
		"page of 200 hotels, 8 and 64 callers: time of goccy ÷ time of this client": {
			func(r *results) []row { return r.manyCallers }, peers.Goccy, func(s *measure.Sample) { s.Wall = 0.9 }},
		"CheckAvail: CPU of encoding/json ÷ CPU of this client": {func(r *results) []row { return r.calls }, peers.EncodingJSON,
			func(s *measure.Sample) { s.CPU = 0.7 }},
		"CheckAvail: CPU of goccy ÷ CPU of this client": {func(r *results) []row { return r.calls }, peers.Goccy,
			func(s *measure.Sample) { s.CPU = 0.7 }},
		"HotelListStream, 50 ms, 200 Mbit/s: time to the first hotel ÷ time to the first byte": {
			func(r *results) []row { return r.streams[:1] }, peers.OurStream, func(s *measure.Sample) { s.Byte = 0.9 }},
		"first hotel, without gzip: time of HotelList ÷ time of HotelListStream": {func(r *results) []row { return r.streams[:1] }, peers.OurList,
			func(s *measure.Sample) { s.First = 6 }},
		"peak heap of 64 callers: HotelListStream ÷ HotelList": {
			func(r *results) []row { return r.streams[1:] }, peers.OurStream, func(s *measure.Sample) { s.Peak = 6 }},
		"peak heap of 32 slow loops over HotelListStream, in MB": {func(r *results) []row { return r.slow }, peers.SlowLoop.Name,
			func(s *measure.Sample) { s.Peak = 61e6 }},
	} {
		r := justKept()
		require.Empty(t, broken(r))
		for _, one := range c.rows(&r) {
			for i := range one.samples[c.client] {
				c.change(&one.samples[c.client][i])
			}
		}
		assert.Equal(t, []string{promise}, broken(r))
	}
}

func TestChartsAreValidXMLWithBars(t *testing.T) {
	r := justKept()
	r.pages[0].name = origin.TLSHTTP2
	for _, before := range connections {
		for name, rows := range map[string]*[]row{"200 hotels": &r.streams, "20 hotels": &r.lines} {
			one := r.pages[0]
			one.name = name + gzipped + ", " + string(before) + ", " + origin.Far.String()
			one.samples = r.streams[0].samples
			*rows = append(*rows, one)
		}
	}
	folder := t.TempDir()
	require.NoError(t, drawAll(folder, r))
	for file, has := range map[string]string{"cpu.svg": "encoding/json", "wait.svg": "first hotel of a stream", "memory.svg": "slow"} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		require.NoError(t, err)
		assert.Contains(t, string(text), has)
		assert.NoError(t, xml.Unmarshal(text, new(struct{})), file)
	}
}
