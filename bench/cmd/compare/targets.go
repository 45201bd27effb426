// The targets.

package main

import (
	"fmt"
	"strings"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// target is a line of the table. If a figure has several transports, the worst one counts.
type target struct {
	what, bound, measured string
	met                   bool
}

func printTargets(r results) {
	section("Targets")
	header("target", []string{"bound", "measured", "verdict"})
	for _, t := range targets(r) {
		verdict := "not met"
		if t.met {
			verdict = "met"
		}
		fmt.Printf("| %s | %s | %s | %s |\n", t.what, t.bound, t.measured, verdict)
	}
	fmt.Println()
}

func targets(r results) []target {
	all := pageTargets(r)
	all = append(all, callTargets(r)...)
	all = append(all, tokenTargets(r)...)
	used := measure.SpreadOf(r.throughput.used)
	all = append(all, target{fmt.Sprintf("throughput under a rolling rate limit of %d calls a second", r.throughput.limit),
		"at least 0.97 of it, no 429",
		fmt.Sprintf("%s, %d refused", spread(used), r.throughput.refused), used.Median >= 0.97 && r.throughput.refused == 0})
	for _, m := range r.micro {
		if m.pair == webhook {
			all = append(all, target{"verification of a webhook of 1 KB, in bare HMACs", "at most 1.1", fmt.Sprintf("%.2f", m.ratio()),
				m.ratio() <= 1.1})
		}
	}
	all = append(all, streamTargets(r.streams)...)
	peak, live := r.memory.spread(peak, peers.Ours).Median/r.memory.body, r.memory.spread(live, peers.Ours).Median/r.memory.value
	return append(all,
		target{"heap at the peak of a call of one page, in answers", "at most 3", fmt.Sprintf("%.2f", peak), peak <= 3},
		target{"heap after it, in decoded values", "the value alone", fmt.Sprintf("%.2f", live), live <= 1.02}) // connections have buffers, too
}

// streamTargets compare HotelListStream with HotelList.
func streamTargets(all []streamResult) []target {
	of := func(what, bound string, c streamCell, figure func(streamSample) float64, name, to string, met func(float64) bool) target {
		for _, r := range all {
			if r.streamCell == c {
				v := r.ratio(figure, name, to)
				return target{what, bound, fmt.Sprintf("%.2f", v), met(v)}
			}
		}
		return target{what, bound, "not measured", false}
	}
	one := streamCell{0, false, 1}
	atMost := func(most float64) func(float64) bool { return func(v float64) bool { return v <= most } }
	atLeast := func(least float64) func(float64) bool { return func(v float64) bool { return v >= least } }
	return []target{
		of("first hotel of 200 at 200 Mbit/s: HotelList's time, in the stream's", "at least 40", streamCell{200, false, 1}, firstHotel,
			peers.OurList, peers.OurStream, atLeast(40)),
		of("last hotel without a limit, in HotelList's time", "at most 1.1", one, lastHotel, peers.OurStream, peers.OurList, atMost(1.1)),
		of("all hotels without a limit, in HotelList's CPU", "at most 1.1", one, streamCPU, peers.OurStream, peers.OurList, atMost(1.1)),
		of("heap peak of 64 callers: HotelList's, in the stream's", "at least 15", streamCell{200, false, 64}, streamPeak,
			peers.OurList, peers.OurStream, atLeast(15)),
	}
}

// pageTargets are for calls of HotelList by one caller, plain and compressed, over every
// transport.
func pageTargets(r results) []target {
	pages := r.of(hotelstays.OpHotelList)
	atLeast3 := func(v float64) bool { return v >= 3 }
	all := []target{
		pages.over(peers.Bare, wall, "a page of HotelList: the time of a client on encoding/json, in ours", "at least 3", atLeast3),
		pages.over(peers.Bare, cpu, "the same in CPU", "at least 3", atLeast3),
	}
	var others []target
	for _, kind := range peers.All() {
		switch kind.Name {
		case peers.Ours:
			continue
		case peers.Bare, peers.Resty: // also on encoding/json
		default:
			all = append(all, pages.over(kind.Name, wall, "the time of "+kind.Name, "more than 1", func(v float64) bool { return v > 1 }))
		}
		others = append(others, pages.target("bytes allocated for it, as a share of "+kind.Name, "at most 0.55",
			func(v float64) bool { return v <= 0.55 },
			func(r cellResult) float64 { return r.mean(bytes, peers.Ours) / r.mean(bytes, kind.Name) }))
	}
	return append(all, others...)
}

// callTargets are for a small call.
func callTargets(r results) []target {
	calls := r.of(hotelstays.OpCheckAvail)
	return []target{
		calls.target("CheckAvail: its CPU, in that of bare net/http and encoding/json", "at most 1.15", func(v float64) bool { return v <= 1.15 },
			func(r cellResult) float64 { return r.ratio(cpu, peers.Ours, peers.Bare).Median }),
		calls.target("CheckAvail: allocations more than that", "at most 15", func(v float64) bool { return v <= 15.5 },
			// connections allocate now and then, too
			func(r cellResult) float64 { return r.mean(allocs, peers.Ours) - r.mean(allocs, peers.Bare) }),
	}
}

func tokenTargets(r results) []target {
	var all []target
	for _, m := range r.micro {
		if m.pair == tokenRead {
			all = append(all, target{"reading a fresh token, 2 cores contended, in atomic pointer loads", "at most 3, 0 allocations",
				fmt.Sprintf("%.2f, %d allocations", m.ratio(), m.allocs()), m.ratio() <= 3 && m.allocs() == 0})
		}
	}
	return append(all,
		target{fmt.Sprintf("%d callers after a ticket's end", r.expiry.callers), "1 ticket fetched", fmt.Sprint(r.expiry.tickets),
			r.expiry.tickets == 1},
		target{fmt.Sprintf("%d callers while a ticket is renewed", r.margin.callers), "1 renewal, nobody waits",
			fmt.Sprintf("%d, waited: %t", r.margin.renewals, r.margin.waited), r.margin.renewals == 1 && !r.margin.waited})
}

// calls are the cells of one operation.
type calls []cellResult

// of returns the cells of one caller.
func (r results) of(op hotelstays.Operation) calls {
	var some calls
	for _, c := range r.cells {
		if c.op == op && c.load.Callers == 1 {
			some = append(some, c)
		}
	}
	return some
}

// over is a target for the cost of a client divided by ours.
func (c calls) over(client string, of figure, what, bound string, met func(float64) bool) target {
	return c.target(what, bound, met, func(r cellResult) float64 { return r.ratio(of, client, peers.Ours).Median })
}

func (c calls) target(what, bound string, met func(float64) bool, ratio func(cellResult) float64) target {
	t := target{what: what, bound: bound, met: len(c) > 0}
	var texts []string
	for _, r := range c {
		v := ratio(r)
		t.met = t.met && met(v)
		name := r.transport.name
		if r.gzip {
			name += ", gzip"
		}
		texts = append(texts, fmt.Sprintf("%.2f (%s)", v, name))
	}
	t.measured = strings.Join(texts, "; ")
	return t
}
