// The targets.

package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// target is a line of the table.
type target struct {
	what, bound, measured string
	met                   bool
}

func printTargets(r results) {
	section("Targets")
	header("target", []string{"bound", "measured", "verdict"})
	for _, t := range targets(r) {
		verdict := "missed"
		if t.met {
			verdict = "met"
		}
		fmt.Printf("| %s | %s | %s | %s |\n", t.what, t.bound, t.measured, verdict)
	}
}

func targets(r results) []target {
	used := measure.SpreadOf(r.throughput.used)
	all := append(pageTargets(r.pages), callTargets(r.calls)...)
	all = append(all, smallTargets(r.small)...)
	all = append(all,
		target{fmt.Sprintf("%d callers after a ticket's expiry", r.expiry.n), "1 ticket", fmt.Sprint(r.expiry.tickets), r.expiry.tickets == 1},
		target{fmt.Sprintf("%d callers while a ticket is renewed", r.renewal.n), "1 ticket, nobody waits",
			fmt.Sprintf("%d, waited: %t", r.renewal.tickets, r.renewal.waited), r.renewal.tickets == 1 && !r.renewal.waited},
		target{"throughput under a rate limit of 100 a second", "at least 0.97, no 429",
			fmt.Sprintf("%s, %d refused", spread(used), r.throughput.refused), used.Median >= 0.97 && r.throughput.refused == 0})
	all = append(all, streamTargets(r.streams)...)
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
	all := target{measured: "nothing"}
	var texts []string
	for i, r := range rows {
		t := each(r)
		texts = append(texts, fmt.Sprintf("%s (%s)", t.measured, r.name))
		all = target{t.what, t.bound, strings.Join(texts, "; "), t.met && (i == 0 || all.met)}
	}
	return all
}

func pageTargets(pages []row) []target {
	json := peers.EncodingJSON
	all := []target{
		inAll(pages, func(r row) target {
			return atLeast(3, "a page of HotelList: encoding/json's time", r.ratio(wall, json, peers.Ours).Median)
		}),
		inAll(pages, func(r row) target { return atLeast(3, "encoding/json's CPU", r.ratio(cpu, json, peers.Ours).Median) }),
	}
	for _, kind := range peers.All() {
		if kind.Name == peers.Ours || kind.Name == peers.Resty { // resty is on encoding/json
			continue
		}
		if kind.Name != json {
			all = append(all, inAll(pages, func(r row) target {
				t := atLeast(1, kind.Name+"'s time", r.ratio(wall, kind.Name, peers.Ours).Median)
				t.bound = "more than 1"
				return t
			}))
		}
		all = append(all, inAll(pages, func(r row) target {
			return atMost(0.55, "our bytes as a share of "+kind.Name+"'s", r.mean(bytes, peers.Ours)/r.mean(bytes, kind.Name))
		}))
	}
	return all
}

func callTargets(calls []row) []target {
	return []target{
		inAll(calls, func(r row) target {
			return atMost(1.15, "CheckAvail: our CPU as a share of encoding/json's", r.ratio(cpu, peers.Ours, peers.EncodingJSON).Median)
		}),
		inAll(calls, func(r row) target { // connections allocate now and then, too
			more := r.mean(allocs, peers.Ours) - r.mean(allocs, peers.EncodingJSON)
			return atMost(15, "CheckAvail: allocations more than encoding/json's", math.Round(more))
		}),
	}
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
			all = append(all, atMost(1.1, "last hotel without a limit, in HotelList's time", stream(wall)),
				atMost(1.1, "all hotels without a limit, in HotelList's CPU", stream(cpu)))
		case "200 Mbit/s":
			all = append(all, atLeast(40, "first hotel at 200 Mbit/s: HotelList's time, in the stream's", list(first)))
		case "200 Mbit/s, 64 callers":
			all = append(all, atLeast(15, "peak heap of 64 callers: HotelList's, in the stream's", list(peak)))
		}
	}
	return all
}
