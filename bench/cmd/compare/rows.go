// The measurements: all clients, one after another.

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// cell is one measurement: a call, its transport, and how often it is made.
type cell struct {
	name      string
	op        hotelstays.Operation
	transport string // a key of origin.Addresses.BaseURLs
	prefix    string // beginning of the URL path: origin.SmallPage requests a small page, and origin.GzipPrefix a compressed answer
	load      measure.Load
	before    connection
}

// connection is the state of the connection before a call.
type connection string

const (
	warm connection = "warm"
	idle connection = "after a pause" // a connection on which 600 ms passed without data, so that TCP begins slowly again
	cold connection = "cold"          // a new connection
)

var connections = []connection{warm, idle, cold}

var transports = []string{origin.HTTP1, origin.TLSHTTP1, origin.TLSHTTP2}

func cells(op hotelstays.Operation, callers int, atLeast time.Duration) (all []cell) {
	load := measure.Load{Callers: callers, AtLeast: atLeast, Warm: true}
	for _, transport := range transports {
		name := transport
		if callers > 1 {
			name = fmt.Sprintf("%s, %d callers", transport, callers)
		}
		all = append(all, cell{name, op, transport, "", load, warm}, cell{name + gzipped, op, transport, origin.GzipPrefix, load, warm})
	}
	return all
}

const gzipped = ", gzip"

// onLine returns a cell for each state of the connection, with HTTP/2 over the line origin.Far.
func onLine(name string, op hotelstays.Operation, prefix string) (all []cell) {
	for _, before := range connections {
		all = append(all, cell{fmt.Sprintf("%s, %s, %s", name, before, origin.Far), op, origin.Over(origin.TLSHTTP2, origin.Far), prefix,
			measure.Load{Callers: 1, Warm: true}, before})
	}
	return all
}

func lineCells() []cell {
	return slices.Concat(
		onLine("20 hotels"+gzipped, hotelstays.OpHotelList, origin.SmallPage+origin.GzipPrefix),
		onLine("200 hotels"+gzipped, hotelstays.OpHotelList, origin.GzipPrefix),
		onLine("CheckAvail", hotelstays.OpCheckAvail, ""))
}

func streamCells() []cell {
	all := []cell{
		{"no limit", hotelstays.OpHotelList, origin.HTTP1, "", measure.Load{Callers: 1, Warm: true}, warm},
		{"64 callers", hotelstays.OpHotelList, origin.Over(origin.TLSHTTP2, origin.Near), "", measure.Load{Callers: 64, Warm: true}, warm},
	}
	all = append(all, onLine("200 hotels", hotelstays.OpHotelList, "")...)
	return append(all, onLine("200 hotels"+gzipped, hotelstays.OpHotelList, origin.GzipPrefix)...)
}

// slowCells run 32 loops of peers.SlowLoop at the same time.
var slowCells = []cell{
	{"plain", hotelstays.OpHotelList, origin.TLSHTTP2, "", measure.Load{Callers: 32}, warm},
	{"gzip", hotelstays.OpHotelList, origin.TLSHTTP2, origin.GzipPrefix, measure.Load{Callers: 32}, warm},
}

// row holds the samples of a cell: for each client's name, one sample per round.
type row struct {
	cell
	samples map[string][]measure.Sample
}

// figure selects one number of a sample, such as its CPU time.
type figure func(measure.Sample) float64

func cpu(s measure.Sample) float64   { return s.CPU }
func wall(s measure.Sample) float64  { return s.Wall }
func batch(s measure.Sample) float64 { return s.Batch }
func first(s measure.Sample) float64 { return s.First }

func toByte(s measure.Sample) float64 { return s.First / s.Byte }
func allocs(s measure.Sample) float64 { return s.Allocs }
func bytes(s measure.Sample) float64  { return s.Bytes }
func peak(s measure.Sample) float64   { return s.Peak }

// ratio returns the spread of the rounds: the figure of client ÷ the figure of base.
func (r row) ratio(of figure, client, base string) measure.Spread {
	var ratios []float64
	for round, s := range r.samples[client] {
		ratios = append(ratios, of(s)/of(r.samples[base][round]))
	}
	return measure.SpreadOf(ratios)
}

// mean returns the mean of a figure over all calls of all rounds. Use mean for allocations: the median of the rounds depends on
// the state of the sync.Pools.
func (r row) mean(of figure, client string) float64 {
	var sum float64
	var calls int
	for _, s := range r.samples[client] {
		sum += of(s) * float64(s.Calls)
		calls += s.Calls
	}
	return sum / float64(calls)
}

func (r row) median(of figure, client string) float64 {
	var values []float64
	for _, s := range r.samples[client] {
		values = append(values, of(s))
	}
	return measure.SpreadOf(values).Median
}

var begun = time.Now()

func progress(what ...string) {
	fmt.Fprintln(os.Stderr, time.Since(begun).Round(time.Second), strings.Join(what, " "))
}

// measureAll measures every row of the tables. The time slice is the minimum time for a client in each round.
func measureAll(ctx context.Context, addresses origin.Addresses, rounds int, slice time.Duration) (r results, err error) {
	few := min(rounds, 3) // a round with 64 callers takes ten seconds
	for _, part := range []struct {
		into   *[]row
		kinds  []peers.Kind
		rounds int
		cells  []cell
	}{
		{&r.pages, peers.All(), rounds, cells(hotelstays.OpHotelList, 1, slice)},
		{&r.manyCallers, peers.HandWritten(), few, append(cells(hotelstays.OpHotelList, 8, slice), cells(hotelstays.OpHotelList, 64, 0)...)},
		{&r.lines, peers.HandWritten(), few, lineCells()},
		{&r.calls, peers.All(), rounds, cells(hotelstays.OpCheckAvail, 1, slice)},
		{&r.streams, peers.Streams(), few, streamCells()},
		{&r.slow, []peers.Kind{peers.SlowLoop}, few, slowCells},
	} {
		for _, c := range part.cells {
			measured, err := measureCell(ctx, part.kinds, c, addresses, part.rounds)
			if err != nil {
				return r, fmt.Errorf("%s: %w", c.name, err)
			}
			*part.into = append(*part.into, measured)
		}
	}
	return r, nil
}

// measureCell measures the clients one after another, in several rounds. Each round begins with a different client.
func measureCell(ctx context.Context, kinds []peers.Kind, c cell, addresses origin.Addresses, rounds int) (row, error) {
	progress(string(c.op), c.name)
	r := row{c, map[string][]measure.Sample{}}
	clients := make([]peers.Peer, len(kinds))
	for i, kind := range kinds {
		client, err := kind.New(addresses.BaseURLs[c.transport] + c.prefix)
		if err != nil {
			return r, fmt.Errorf("%s: %w", kind.Name, err)
		}
		defer client.Close()
		clients[i] = client
	}
	for round := range rounds {
		for i := range kinds {
			i = (i + round) % len(kinds)
			load := c.load
			switch c.before {
			case idle:
				load.Before = func() { time.Sleep(600 * time.Millisecond) }
			case cold:
				load.Before = clients[i].Close
			}
			s, err := measure.Take(ctx, clients[i].Calls[c.op], load)
			if err != nil {
				return r, fmt.Errorf("%s: %w", kinds[i].Name, err)
			}
			r.samples[kinds[i].Name] = append(r.samples[kinds[i].Name], s)
		}
	}
	return r, nil
}
