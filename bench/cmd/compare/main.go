// Compare measures the SDK side by side with other clients of the same API, and prints the
// tables of RESULTS.md.
//
//	bench/run [-quick | -full]
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

	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := play(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// play runs the role of this process.
func play(ctx context.Context) error {
	quick := flag.Bool("quick", false, "a short look, of half a minute")
	full := flag.Bool("full", false, "every combination, 64 callers of whole pages among them, and more rounds")
	flag.Parse()
	switch role := flag.Arg(0); {
	case role == roleOrigin:
		addresses, _ := origin.Listen(origin.Handler(nil))
		return origin.Serve(addresses)
	case role == roleSandbox:
		return serveSandbox()
	case role != "" || *quick && *full:
		return fmt.Errorf("usage: compare [-quick | -full]")
	case *quick:
		return compare(ctx, quickPlan())
	case *full:
		return compare(ctx, fullPlan())
	}
	return compare(ctx, defaultPlan())
}

// The roles of processes.
const (
	roleOrigin  = "origin"
	roleSandbox = "sandbox"
)

func compare(ctx context.Context, p plan) error {
	var addresses origin.Addresses
	stop, err := origin.Start(&addresses, roleOrigin)
	if err != nil {
		return err
	}
	defer stop()
	distrust, err := origin.Trust(addresses.Certificate)
	if err != nil {
		return err
	}
	defer distrust()

	printFacts(strings.TrimSpace("bench/run " + strings.Join(os.Args[1:], " ")))
	kinds := peers.All()
	if err := checkContent(ctx, kinds, addresses); err != nil {
		return err
	}
	var r results
	for _, c := range p.cells {
		fmt.Fprintln(os.Stderr, c)
		measured, err := measureCell(ctx, c, kinds, addresses)
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		r.cells = append(r.cells, measured)
	}
	fmt.Fprintln(os.Stderr, "memory, small things, guarantees")
	if r.memory, err = measureMemory(ctx, kinds, addresses, p.rounds); err != nil {
		return err
	}
	if r.micro, err = runMicro(ctx, p); err != nil {
		return err
	}
	if r.expiry, err = callersAtExpiry(ctx); err != nil {
		return err
	}
	if r.margin, err = callersInMargin(ctx); err != nil {
		return err
	}
	if r.throughput, err = throughputAtLimit(ctx, max(1, p.rounds/2)); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "streams")
	if r.streams, err = measureStreams(ctx, addresses, p.rounds); err != nil {
		return err
	}
	printTargets(r)
	printCells(r.cells)
	printMemory(r.memory)
	printMicro(r.micro)
	printStreams(r.streams)
	return nil
}

// results are all measurements.
type results struct {
	cells      []cellResult
	memory     memoryResult
	micro      []microResult
	expiry     expiryResult
	margin     marginResult
	throughput throughputResult
	streams    []streamResult
}
