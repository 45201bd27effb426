// Compare measures the SDK side by side with other clients of the same API, and prints the
// tables of RESULTS.md.
//
//	bench/run [-quick] [-rounds N] [-charts FOLDER]
//
// The server is a separate process, so the measured costs are those of the clients. The clients take
// turns, and costs of the same round are compared, because on a busy machine ratios are stable but
// times are not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/bench/internal/origin"
	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

func main() {
	chaostest.Main(origin.Serve) // in the server's process, Main does not return
	quick := flag.Bool("quick", false, "measure less, in about five minutes")
	rounds := flag.Int("rounds", 7, "number of rounds of each cell; fewer rounds take less time, but the results vary more")
	charts := flag.String("charts", "", "folder for three charts of the results")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *quick, *rounds, *charts); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, quick bool, rounds int, charts string) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; usage: compare [-quick] [-rounds N] [-charts FOLDER]", flag.Arg(0))
	}
	slice := 250 * time.Millisecond
	if quick {
		rounds, slice = 3, 50*time.Millisecond
	}
	addresses, stop, err := origin.Start()
	if err != nil {
		return err
	}
	defer stop()
	untrust, err := origin.Trust(addresses.Certificate)
	if err != nil {
		return err
	}
	defer untrust()
	printMachine()
	if err := peers.CheckAll(ctx, addresses.BaseURLs[origin.HTTP1]); err != nil {
		return err
	}
	r, err := measureAll(ctx, addresses, rounds, slice)
	if err != nil {
		return err
	}
	printPromises(r)
	printTables(r)
	if charts != "" {
		if err := drawAll(charts, r); err != nil {
			return err
		}
	}
	progress("done")
	return nil
}

type results struct {
	pages, manyCallers, lines, calls, streams, slow []row
}

func printMachine() {
	fmt.Printf("    bench/run %s\n\n", strings.Join(os.Args[1:], " "))
	fmt.Printf("%s, GOMAXPROCS %d of %d, of:\n\n", runtime.Version(), runtime.GOMAXPROCS(0), runtime.NumCPU())
	for _, command := range []string{"uname -sr", "grep -m1 model.name /proc/cpuinfo", "go list -m github.com/goccy/go-json " +
		"github.com/go-resty/resty/v2 github.com/ogen-go/ogen github.com/oapi-codegen/runtime"} {
		words := strings.Fields(command)
		said, _ := exec.Command(words[0], words[1:]...).Output() // if the command is not installed, its output is empty
		fmt.Print("- ", strings.ReplaceAll(strings.TrimSpace(string(said)), "\n", "\n- "), "\n")
	}
	if len(peers.All()) < 6 {
		fmt.Print("\nThe generated clients are missing: run `go generate ./...`, then build with `-tags generated`.\n")
	}
}
