// Fleet books hotels with several processes that share one database, kills them while they
// work, and checks that no booking is lost or made twice.
//
//	go run -C examples/fleet .
//
// worker.go and bookings.go show one process of a booking service: copy from them. The other
// files start the sandbox, kill the processes and print the verdict. The exit status is 1 if a booking or an event
// was lost or handled twice.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

type options struct {
	bookings, workers, kills int
	postgres, redis          string
}

func main() {
	chaostest.Main(workUntilClosed) // in a worker process, Main does not return
	var o options
	flag.IntVar(&o.bookings, "bookings", 150, "number of `bookings`")
	flag.IntVar(&o.workers, "workers", 4, "number of `processes`")
	flag.IntVar(&o.kills, "kills", 8, "how many `times` a process is killed")
	flag.StringVar(&o.postgres, "postgres", "", "`URL` of a PostgreSQL to use instead of SQLite")
	flag.StringVar(&o.redis, "redis", "", "`host:port` of a Redis, to share the rate limits and search as fast as they allow")
	flag.Parse()
	if err := o.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stopped:", err)
		os.Exit(1)
	}
}

func (o options) check(args []string) error {
	switch {
	case len(args) > 0:
		return fmt.Errorf("unexpected argument %q; -help lists the flags", args[0])
	case o.bookings < 1:
		return fmt.Errorf("-bookings is %d, and must be at least 1", o.bookings)
	case o.workers < 1:
		return fmt.Errorf("-workers is %d, and must be at least 1", o.workers)
	case o.kills < 0:
		return fmt.Errorf("-kills is %d, and must be at least 0", o.kills)
	}
	return nil
}

// workUntilClosed runs a worker until its standard input ends. In production SIGTERM ends a worker.
func workUntilClosed(cfg config) error { return work(chaostest.UntilClosed(), cfg) }
