// The targets.

package main

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// target is a line of the table.
type target struct {
	what, bound, measured string
	met                   bool
}

func printTargets(r results) {
	section("Targets")
	header("target", []string{"bound", runtime.Version()})
	for _, t := range targets(r) {
		verdict := "**missed**"
		if t.met {
			verdict = "met"
		}
		fmt.Printf("| %s | %s | %s: %s |\n", t.what, t.bound, verdict, t.measured)
	}
}

func targets(r results) []target {
	theirs := func(of figure, client string) func(row) float64 { return ratioOf(of, client, peers.Ours) }
	var plain, zipped []row
	for _, one := range r.pages {
		if strings.HasSuffix(one.name, gzipped) {
			zipped = append(zipped, one)
		} else {
			plain = append(plain, one)
		}
	}
	all := []target{
		atLeast(3, "a page of HotelList: encoding/json's time", plain, theirs(wall, peers.EncodingJSON)),
		atLeast(2.5, "a page of HotelList, gzip: encoding/json's time", zipped, theirs(wall, peers.EncodingJSON)),
		atLeast(1.2, "a page of HotelList, plain and gzip: goccy's time", r.pages, theirs(wall, peers.Goccy)),
		atLeast(2.2, "the same, 8 and 64 callers: encoding/json's time", r.manyCallers, theirs(wall, peers.EncodingJSON)),
		atLeast(1.1, "the same, 8 and 64 callers: goccy's time", r.manyCallers, theirs(wall, peers.Goccy)),
		atLeast(1.6, "a page of HotelList, 1,000 Mbit/s: goccy's time", r.lines[:1], theirs(wall, peers.Goccy)),
		atLeast(1.15, "a page of HotelList, 200 Mbit/s: goccy's time", r.lines[1:], theirs(wall, peers.Goccy)),
	}
	for _, kind := range peers.All()[len(peers.HandWritten())+1:] { // behind resty, which is on encoding/json
		all = append(all, atLeast(1.7, "a page of HotelList, plain and gzip: "+kind.Name+"'s time", r.pages, theirs(wall, kind.Name)))
	}
	all = append(all,
		atLeast(1.1, "HotelRates: goccy's time", r.rates, theirs(wall, peers.Goccy)),
		atMost(0.6, "our bytes as a share of encoding/json's", r.pages, func(r row) float64 {
			return r.mean(bytes, peers.Ours) / r.mean(bytes, peers.EncodingJSON)
		}),
		atLeast(1, "CheckAvail: encoding/json's CPU", r.calls, theirs(cpu, peers.EncodingJSON)),
		atLeast(0.95, "CheckAvail: goccy's CPU", r.calls, theirs(cpu, peers.Goccy)),
		atMost(15, "CheckAvail: allocations more than encoding/json's", r.calls, func(r row) float64 {
			return math.Round(r.mean(allocs, peers.Ours) - r.mean(allocs, peers.EncodingJSON)) // connections allocate now and then, too
		}))
	return slices.Concat(all, smallTargets(r.small), streamTargets(r.streams), []target{
		atMost(3, "peak heap of a call of one page, in answers", r.memory, func(m row) float64 {
			return m.median(peak, peers.Ours) / r.body
		}),
		// The connections have buffers, too.
		atMost(1.02, "heap after it, in values as encoding/json builds them", r.memory, func(m row) float64 {
			return m.median(live, peers.Ours) / r.value
		}),
	})
}

func smallTargets(small []comparison) (all []target) {
	for _, c := range small {
		if c.target == 0 {
			continue
		}
		t := atMost(c.target, c.what+", in that of "+c.base.name, []row{{}}, func(row) float64 { return c.ratio() })
		if c.ours.noAllocs {
			t.bound += ", 0 allocations"
			t.measured += fmt.Sprintf(", %d allocations", c.ours.allocs)
			t.met = t.met && c.ours.allocs == 0
		}
		all = append(all, t)
	}
	return all
}

// streamTargets compare HotelListStream with HotelList.
func streamTargets(streams []row) []target {
	on := func(name string) []row {
		return slices.DeleteFunc(slices.Clone(streams), func(r row) bool { return r.name != name })
	}
	const list, stream = peers.OurList, peers.OurStream
	return []target{
		atMost(1.05, "last hotel without a limit, in HotelList's time", on("no limit"), ratioOf(wall, stream, list)),
		atMost(1.05, "all hotels without a limit, in HotelList's CPU", on("no limit"), ratioOf(cpu, stream, list)),
		atLeast(40, "first hotel at 200 Mbit/s: HotelList's time, in the stream's", on("200 Mbit/s"), ratioOf(first, list, stream)),
		atLeast(15, "peak heap of 64 callers: HotelList's, in the stream's", on("200 Mbit/s, 64 callers"), ratioOf(peak, list, stream)),
	}
}

// ratioOf compares two clients in each row.
func ratioOf(of figure, client, to string) func(row) float64 {
	return func(r row) float64 { return r.ratio(of, client, to).Median }
}

func atMost(most float64, what string, rows []row, value func(row) float64) target {
	return inAll(what, fmt.Sprintf("at most %g", most), rows, value, func(v float64) bool { return v <= most })
}

func atLeast(least float64, what string, rows []row, value func(row) float64) target {
	return inAll(what, fmt.Sprintf("at least %g", least), rows, value, func(v float64) bool { return v >= least })
}

// inAll is a target that each row must meet. It shows the least value and the greatest.
func inAll(what, bound string, rows []row, value func(row) float64, meets func(float64) bool) target {
	t := target{what, bound, "nothing", len(rows) > 0}
	sorted := slices.SortedFunc(slices.Values(rows), func(a, b row) int { return cmp.Compare(value(a), value(b)) })
	for i, r := range sorted {
		text := fmt.Sprintf("%.2f (%s)", value(r), r.name)
		t.met = t.met && meets(value(r))
		switch {
		case len(rows) == 1:
			t.measured = fmt.Sprintf("%.2f", value(r))
		case i == 0:
			t.measured = text
		case i == len(rows)-1:
			t.measured += " to " + text
		}
	}
	return t
}
