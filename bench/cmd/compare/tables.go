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

type column struct {
	title string
	text  func(r row, client string) string
}

func printTables(r results) {
	fmt.Print("\nThe figure of another client is a ratio: other client ÷ first client. A figure is the median of the rounds, " +
		"with the range in brackets. Allocations and bytes are the mean of all calls, heap is the median of the rounds.\n")
	count := func(v float64) string { return fmt.Sprintf("%.0f", v) }
	waited := ratioTo("Wall per call", peers.Ours, wall, duration)
	used := ratioTo("CPU per call", peers.Ours, cpu, duration)
	printRows("A page of HotelList, 200 hotels", peers.All(), r.pages, waited, used, meanOf("Bytes allocated per call", bytes, size))
	printRows("A page of HotelList, many callers", peers.HandWritten(), r.manyCallers, waited,
		ratioTo("Time until all callers have their answer", peers.Ours, batch, duration), used)
	printRows("Answers over a line, HTTP/2", peers.HandWritten(), r.lines, waited, used)
	printRows("The first hotel before the last byte", peers.Streams(), r.streams,
		ratioTo("First hotel", peers.OurStream, first, duration), ratioTo("Last hotel", peers.OurStream, wall, duration),
		ratioTo("CPU", peers.OurStream, cpu, duration), ratioTo("Peak heap, all callers together", peers.OurStream, peak, size))
	printRows("32 streams with slow loops", []peers.Kind{peers.SlowLoop}, r.slow,
		ratioTo("Peak heap, all callers together", peers.SlowLoop.Name, peak, size))
	printRows("CheckAvail", peers.All(), r.calls,
		ratioTo("CPU per call", peers.Ours, cpu, duration), meanOf("Allocations per call", allocs, count))
}

func ratioTo(title, base string, of figure, text func(float64) string) column {
	return column{title, func(r row, client string) string {
		if client == base {
			return text(r.median(of, client))
		}
		return spread(r.ratio(of, client, base))
	}}
}

func meanOf(title string, of figure, text func(float64) string) column {
	return column{title, func(r row, client string) string { return text(r.mean(of, client)) }}
}

func printRows(title string, kinds []peers.Kind, rows []row, figures ...column) {
	section(title)
	for _, f := range figures {
		var names []string
		for _, kind := range kinds {
			names = append(names, kind.Name)
		}
		header(f.title, names)
		for _, r := range rows {
			fmt.Printf("| %s |", r.name)
			for _, name := range names {
				fmt.Printf(" %s |", f.text(r, name))
			}
			fmt.Println()
		}
	}
}

func section(title string) { fmt.Printf("\n## %s, %s\n", title, runtime.Version()) }

func header(first string, columns []string) {
	fmt.Printf("\n| %s | %s |\n|---|%s\n", first, strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)))
}

func spread(s measure.Spread) string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", s.Median, s.Least, s.Most)
}

// duration formats seconds with three digits, such as 1.23ms.
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
