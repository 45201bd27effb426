// The promises about performance, and whether a run keeps them.

package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// promise is a bound that the measurements must meet, such as "at most 0.05".
type promise struct {
	what, bound, measured string
	kept                  bool
}

func printPromises(r results) {
	section("Promises")
	header("promise", []string{"bound", runtime.Version()})
	for _, p := range promises(r) {
		fell := ""
		if !p.kept {
			fell = " (falls short)"
		}
		fmt.Printf("| %s | %s | %s%s |\n", p.what, p.bound, p.measured, fell)
	}
}

func promises(r results) []promise {
	theirs := func(of figure, client string) func(row) float64 { return ratioOf(of, client, peers.Ours) }
	plain := func(one row) bool { return !strings.Contains(one.name, gzipped) }
	plainPages, zippedPages := keep(r.pages, plain), keep(r.pages, func(one row) bool { return !plain(one) })
	streams := func(what string) []row {
		return keep(r.streams, func(one row) bool { return strings.Contains(one.name, what) })
	}
	all := []promise{
		atLeast(2, "page of 200 hotels: CPU of encoding/json ÷ CPU of this client", plainPages, theirs(cpu, peers.EncodingJSON)),
		atLeast(1.8, "page of 200 hotels, gzip: CPU of encoding/json ÷ CPU of this client", zippedPages, theirs(cpu, peers.EncodingJSON)),
		atLeast(1, "page of 200 hotels: CPU of goccy ÷ CPU of this client", plainPages, theirs(cpu, peers.Goccy)),
		atLeast(1.05, "page of 200 hotels, gzip: CPU of goccy ÷ CPU of this client", zippedPages, theirs(cpu, peers.Goccy)),
		atMost(0.65, "page of 200 hotels: allocated bytes of this client ÷ allocated bytes of goccy", r.pages, func(r row) float64 {
			return r.mean(bytes, peers.Ours) / r.mean(bytes, peers.Goccy)
		}),
	}
	for i, kind := range peers.All()[len(peers.HandWritten())+1:] { // only the generated clients
		what := "page of 200 hotels: time of " + kind.Name + " ÷ time of this client"
		all = append(all, atLeast([]float64{1.25, 2}[i], what, r.pages, theirs(wall, kind.Name)))
	}
	onFar := streams(fmt.Sprintf("%s, %s", warm, origin.Far))
	return append(all,
		atLeast(1, "page of 200 hotels, 8 and 64 callers: time of goccy ÷ time of this client", r.manyCallers, theirs(wall, peers.Goccy)),
		atLeast(0.92, "CheckAvail: CPU of encoding/json ÷ CPU of this client", r.calls, theirs(cpu, peers.EncodingJSON)),
		atLeast(0.85, "CheckAvail: CPU of goccy ÷ CPU of this client", r.calls, theirs(cpu, peers.Goccy)),
		atMost(1.3, "HotelListStream, "+origin.Far.String()+": time to the first hotel ÷ time to the first byte", onFar,
			func(r row) float64 { return r.median(toByte, peers.OurStream) }),
		atLeast(5, "first hotel, without gzip: time of HotelList ÷ time of HotelListStream", keep(onFar, plain),
			ratioOf(first, peers.OurList, peers.OurStream)),
		atMost(0.05, "peak heap of 64 callers: HotelListStream ÷ HotelList", streams("64 callers"),
			ratioOf(peak, peers.OurStream, peers.OurList)),
		atMost(60, "peak heap of 32 slow loops over HotelListStream, in MB", r.slow,
			func(r row) float64 { return r.median(peak, peers.SlowLoop.Name) / 1e6 }))
}

func keep(rows []row, wanted func(row) bool) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(one row) bool { return !wanted(one) })
}

func ratioOf(of figure, client, base string) func(row) float64 {
	return func(r row) float64 { return r.ratio(of, client, base).Median }
}

func atMost(most float64, what string, rows []row, value func(row) float64) promise {
	return inAll(what, fmt.Sprintf("at most %g", most), rows, value, func(v float64) bool { return v <= most })
}

func atLeast(least float64, what string, rows []row, value func(row) float64) promise {
	return inAll(what, fmt.Sprintf("at least %g", least), rows, value, func(v float64) bool { return v >= least })
}

// inAll returns a promise that is kept if the value of every row meets the bound. Its text has the smallest and the
// largest of these values.
func inAll(what, bound string, rows []row, value func(row) float64, meets func(float64) bool) promise {
	t := promise{what, bound, "nothing", len(rows) > 0}
	sorted := slices.SortedFunc(slices.Values(rows), func(a, b row) int { return cmp.Compare(value(a), value(b)) })
	for i, r := range sorted {
		text := fmt.Sprintf("%.2f (%s)", value(r), r.name)
		t.kept = t.kept && meets(value(r))
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
