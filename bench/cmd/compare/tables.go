// The results as Markdown tables.

package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// printCells prints a table of each figure for each workload.
func printCells(cells []cellResult) {
	section("Calls")
	fmt.Print("\nCPU and wall: what ours takes for a call, and how much of that the others take, as the median of the rounds (and the range of the rounds). Above 1 they are dearer than ours. What is allocated: the mean of all calls. Heap: the median of the rounds.\n")
	for len(cells) > 0 {
		n := 0
		for n < len(cells) && cells[n].workload == cells[0].workload {
			n++
		}
		fmt.Printf("\n### %s\n", cells[0].workload.name)
		printFigure(cells[:n], "CPU per call", ratioText(cpu))
		printFigure(cells[:n], "Wall per call", ratioText(wall))
		printFigure(cells[:n], "Allocations per call", meanText(allocs, func(v float64) string { return fmt.Sprintf("%.0f", v) }))
		printFigure(cells[:n], "Bytes allocated per call", meanText(bytes, size))
		printFigure(cells[:n], "Peak heap, all callers together", medianText(peak, size))
		printFigure(cells[:n], "Live heap of one result", medianText(live, size))
		cells = cells[n:]
	}
}

// cellText is the text of one field.
type cellText func(r cellResult, client string) string

func ratioText(of figure) cellText {
	return func(r cellResult, client string) string {
		if client == peers.Ours {
			return duration(r.spread(of, client).Median)
		}
		return spread(r.ratio(of, client, peers.Ours))
	}
}

func medianText(of figure, form func(float64) string) cellText {
	return func(r cellResult, client string) string { return form(r.spread(of, client).Median) }
}

func meanText(of figure, form func(float64) string) cellText {
	return func(r cellResult, client string) string { return form(r.mean(of, client)) }
}

func printFigure(cells []cellResult, title string, text cellText) {
	var names []string
	for _, kind := range peers.All() {
		names = append(names, kind.Name)
	}
	header(title, names)
	for _, r := range cells {
		fmt.Printf("| %s, callers: %d |", r.transport.name, r.load.Callers)
		for _, name := range names {
			fmt.Printf(" %s |", text(r, name))
		}
		fmt.Println()
	}
}

// section prints a heading with the Go release.
func section(title string) { fmt.Printf("## %s, %s\n", title, runtime.Version()) }

func header(first string, columns []string) {
	fmt.Printf("\n| %s | %s |\n|---|%s\n", first, strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)))
}

// printMemory prints the memory of a single page.
func printMemory(m memoryResult) {
	fmt.Println()
	section("The memory of one page")
	fmt.Printf("\nOne call of %s with empty pools, over %s: the heap at its worst moment and after a collection, in bytes of the answer (%s) and of the decoded value as encoding/json builds it (%s).\n",
		m.op, m.transport.name, size(m.body), size(m.value))
	header("client", []string{"peak", "peak / answer", "live", "live / value"})
	for _, kind := range peers.All() {
		peak, live := m.spread(peak, kind.Name).Median, m.spread(live, kind.Name).Median
		fmt.Printf("| %s | %s | %.2f | %s | %.2f |\n", kind.Name, size(peak), peak/m.body, size(live), live/m.value)
	}
}

func printMicro(all []microResult) {
	fmt.Println()
	section("Small things")
	fmt.Print("\nOurs as a multiple of what it is compared with: the best round, and the range of the rounds.\n")
	header("what", []string{"ours", "compared with", "ratio", "rounds", "ns", "allocations"})
	for _, m := range all {
		r := m.rounds()
		fmt.Printf("| %s | %s | %s | %.2f | %.2f to %.2f | %.3g | %d |\n", m.what, m.nameText, m.againstText, m.ratio(), r.Least,
			r.Most, best(m.ours), m.allocs())
	}
}

func spread(s measure.Spread) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", s.Median, s.Least, s.Most)
}

// duration and size have three digits.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	for unit := time.Second; unit > 1; unit /= 10 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

func size(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.3g MB", n/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.3g KB", n/1e3)
	}
	return fmt.Sprintf("%.0f B", n)
}
