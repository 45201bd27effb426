// The targets.

package main

import (
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
	all := slices.Concat(pageTargets(r), callTargets(r.calls), smallTargets(r.small), streamTargets(r.streams))
	for _, m := range r.memory {
		all = append(all,
			atMost(3, "peak heap of a call of one page, in answers", m.median(peak, peers.Ours)/r.body),
			// The connections have buffers, too.
			atMost(1.02, "heap after it, in values as encoding/json builds them", m.median(live, peers.Ours)/r.value))
	}
	return all
}

func atMost(most float64, what string, value float64) target {
	return target{what, fmt.Sprintf("at most %g", most), fmt.Sprintf("%.2f", value), value <= most}
}

func atLeast(least float64, what string, value float64) target {
	return target{what, fmt.Sprintf("at least %g", least), fmt.Sprintf("%.2f", value), value >= least}
}

// inAll is a target that each row must meet.
func inAll(rows []row, each func(r row) target) target {
	all := target{measured: "nothing", met: true}
	texts := make([]string, len(rows))
	for i, r := range rows {
		t := each(r)
		texts[i] = fmt.Sprintf("%6s (%s)", t.measured, r.name) // padded, so that texts sort as numbers
		all = target{t.what, t.bound, "", t.met && all.met}
	}
	slices.Sort(texts)
	switch len(rows) {
	case 0:
		all.met = false
	case 1:
		all.measured, _, _ = strings.Cut(strings.TrimSpace(texts[0]), " ")
	default:
		all.measured = strings.TrimSpace(texts[0]) + " to " + strings.TrimSpace(texts[len(texts)-1])
	}
	return all
}

// timesOurs is a target for another client's time.
func timesOurs(what string, rows []row, client string, least float64) target {
	return inAll(rows, func(r row) target {
		return atLeast(least, what+": "+client+"'s time", r.ratio(wall, client, peers.Ours).Median)
	})
}

func pageTargets(r results) []target {
	const page, manyCallers = "a page of HotelList", "the same, 8 and 64 callers"
	var plain, zipped []row
	for _, one := range r.pages {
		if strings.HasSuffix(one.name, gzipped) {
			zipped = append(zipped, one)
		} else {
			plain = append(plain, one)
		}
	}
	all := []target{
		timesOurs(page, plain, peers.EncodingJSON, 3),
		timesOurs(page+gzipped, zipped, peers.EncodingJSON, 2.5),
		timesOurs(page+", plain and gzip", r.pages, peers.Goccy, 1.2),
		timesOurs(manyCallers, r.manyCallers, peers.EncodingJSON, 2.2),
		timesOurs(manyCallers, r.manyCallers, peers.Goccy, 1.1),
	}
	for i, least := range []float64{1.6, 1.15} {
		all = append(all, timesOurs(page+", "+lineCells[i].name, r.lines[i:i+1], peers.Goccy, least))
	}
	for _, kind := range peers.All()[len(peers.HandWritten())+1:] { // behind resty, which is on encoding/json
		all = append(all, timesOurs(page+", plain and gzip", r.pages, kind.Name, 1.7))
	}
	return append(all, timesOurs("HotelRates", r.rates, peers.Goccy, 1.1), inAll(r.pages, func(r row) target {
		return atMost(0.6, "our bytes as a share of encoding/json's", r.mean(bytes, peers.Ours)/r.mean(bytes, peers.EncodingJSON))
	}))
}

func callTargets(calls []row) []target {
	other := func(client string, least float64) target {
		return inAll(calls, func(r row) target {
			return atLeast(least, "CheckAvail: "+client+"'s CPU", r.ratio(cpu, client, peers.Ours).Median)
		})
	}
	return []target{other(peers.EncodingJSON, 1), other(peers.Goccy, 0.95), inAll(calls, func(r row) target {
		more := r.mean(allocs, peers.Ours) - r.mean(allocs, peers.EncodingJSON)
		return atMost(15, "CheckAvail: allocations more than encoding/json's", math.Round(more)) // connections allocate now and then, too
	})}
}

func smallTargets(small []comparison) (all []target) {
	for _, c := range small {
		if c.target == 0 {
			continue
		}
		t := atMost(c.target, c.what+", in that of "+c.base.name, c.ratio())
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
func streamTargets(streams []row) (all []target) {
	for _, r := range streams {
		list := func(of figure) float64 { return r.ratio(of, peers.OurList, peers.OurStream).Median }
		stream := func(of figure) float64 { return r.ratio(of, peers.OurStream, peers.OurList).Median }
		switch r.name {
		case streamCells[0].name:
			all = append(all, atMost(1.05, "last hotel without a limit, in HotelList's time", stream(wall)),
				atMost(1.05, "all hotels without a limit, in HotelList's CPU", stream(cpu)))
		case "200 Mbit/s":
			all = append(all, atLeast(40, "first hotel at 200 Mbit/s: HotelList's time, in the stream's", list(first)))
		case "200 Mbit/s, 64 callers":
			all = append(all, atLeast(15, "peak heap of 64 callers: HotelList's, in the stream's", list(peak)))
		}
	}
	return all
}
