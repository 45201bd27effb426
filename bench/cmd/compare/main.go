// Compare measures the SDK side by side with other clients of the same API, and prints the
// tables of RESULTS.md.
//
//	bench/run [-quick] [-rounds N]
//
// The server is a separate process, so the measured costs are those of the clients. They take
// turns, and costs of the same round are compared: on a busy machine ratios are stable, and times
// are not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// serve is the argument of the server process.
const serve = "serve"

func main() {
	testing.Init() // for the benchmarks
	quick := flag.Bool("quick", false, "a short look, of some five minutes")
	rounds := flag.Int("rounds", 7, "of each cell; less takes less time, and spreads wider")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *quick, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, quick bool, rounds int) error {
	switch flag.Arg(0) {
	case serve:
		return origin.Serve()
	case "":
		return compare(ctx, quick, rounds)
	}
	return fmt.Errorf("unexpected argument %q; usage: compare [-quick] [-rounds N]", flag.Arg(0))
}

func compare(ctx context.Context, quick bool, rounds int) error {
	slice, benchtime := 250*time.Millisecond, 100*time.Millisecond
	if quick {
		rounds, slice, benchtime = 3, 50*time.Millisecond, 30*time.Millisecond
	}
	addresses, stop, err := origin.Start(serve)
	if err != nil {
		return err
	}
	defer stop()
	distrust, err := origin.Trust(addresses.Certificate)
	if err != nil {
		return err
	}
	defer distrust()
	printFacts(strings.Join(append([]string{"bench/run"}, os.Args[1:]...), " "))
	if err := checkContent(ctx, addresses); err != nil {
		return err
	}
	var r results
	few := min(rounds, 3) // a round of 64 callers takes ten seconds
	for _, part := range []struct {
		into   *[]row
		kinds  []peers.Kind
		rounds int
		cells  []cell
	}{
		{&r.pages, peers.All(), rounds, cells(hotelstays.OpHotelList, 1, slice)},
		{&r.crowds, peers.HandWritten(), few, append(cells(hotelstays.OpHotelList, 8, slice), cells(hotelstays.OpHotelList, 64, 0)...)},
		{&r.lines, peers.HandWritten(), rounds, lineCells},
		{&r.rates, peers.HandWritten(), rounds, cells(hotelstays.OpHotelRates, 1, slice)},
		{&r.memory, peers.All(), rounds, memoryCells},
		{&r.calls, peers.All(), rounds, cells(hotelstays.OpCheckAvail, 1, slice)},
		{&r.streams, peers.Streams(), rounds, streamCells},
	} {
		for _, c := range part.cells {
			measured, err := measurement{addresses, part.rounds}.measure(ctx, part.kinds, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			*part.into = append(*part.into, measured)
		}
	}
	progress("small things, guarantees")
	if r.small, err = measureSmall(rounds, benchtime); err != nil {
		return err
	}
	if r.expiry, err = callersAfterExpiry(ctx); err != nil {
		return err
	}
	if r.renewal, err = callersDuringRenewal(ctx); err != nil {
		return err
	}
	if r.throughput, err = throughputAtLimit(ctx, max(1, rounds/2)); err != nil {
		return err
	}
	if r.body, r.value, err = sizeOfPage(ctx); err != nil {
		return err
	}
	printTargets(r)
	printTables(r)
	progress("done")
	return nil
}

// results are all measurements.
type results struct {
	pages, crowds, lines, rates, memory, calls, streams []row

	body       float64 // bytes of a page
	value      float64 // bytes in memory once encoding/json has decoded it
	small      []comparison
	expiry     callers
	renewal    callers
	throughput throughput
}
