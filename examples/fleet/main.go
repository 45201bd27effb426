// Fleet books hotels with several processes that share one address, one account and
// one set of ceilings, kills them while they work, and counts what is left.
//
//	go run -C examples/fleet .
//
// That starts a Redis, a PostgreSQL, a sandbox of the service in this very process, and
// four workers, which are this program again. Each worker books, searches as fast as the
// ceilings let the fleet, receives webhooks, and works on the recoveries of bookings
// whose outcome is unknown, be they its own or a dead worker's. The sandbox loses
// answers and hides new orders. Workers are killed by SIGKILL at random and started
// again, and in the middle Redis and PostgreSQL crash. Then the sandbox's ledger, which
// knows what truly happened, is held against the workers' database. The exit status is 1
// when a booking is lost or made twice, when a ceiling was passed, when the fleet fetched
// more than one token, or when a webhook was handled never or twice.
//
// It needs redis-server and PostgreSQL on this machine, or servers that
// HOTELSTAYS_REDIS_ADDR (host:port) and HOTELSTAYS_POSTGRES_URL name: those do not crash,
// and nothing stays in them.
//
// Read worker.go for how a process is put together, and bookings.go for how it books.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are what the flags set.
type options struct {
	bookings, workers, kills, restarts int
	load, margin                       time.Duration
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "worker" {
		exitOn(work(os.Stdin, os.Stdout))
		return
	}
	var o options
	flag.IntVar(&o.bookings, "bookings", 150, "how many `bookings` are made")
	flag.IntVar(&o.workers, "workers", 4, "how many `processes` book")
	flag.IntVar(&o.kills, "kills", 8, "how many `times` a worker is killed")
	flag.IntVar(&o.restarts, "restarts", 1, "how many `times` Redis and PostgreSQL crash, each")
	flag.DurationVar(&o.load, "for", 15*time.Second, "how `long` the workers search at full demand")
	flag.DurationVar(&o.margin, "margin", 50*time.Millisecond, "how much longer one request may `take` to arrive than another; more where the machine is busy")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exitOn(run(ctx, o, os.Stdout))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "stopped:", err)
		os.Exit(1)
	}
}

// run starts everything, lets the fleet work, and prints the verdict. A bad one is an
// error.
func run(ctx context.Context, o options, out io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	engines, err := startEngines(ctx)
	if err != nil {
		return err
	}
	defer engines.stop()
	db, err := createDatabase(ctx, engines.postgresURL, o.bookings)
	if err != nil {
		return err
	}
	defer db.drop()
	defer engines.forget(db.schema)
	srv := startSandbox()
	defer srv.Close()
	d := &director{options: o, out: out, began: time.Now(), engines: engines, db: db, sandbox: srv}
	if err := d.direct(ctx); err != nil {
		return err
	}
	found, err := d.gather(ctx)
	if err != nil {
		return err
	}
	return found.judge(out)
}

func (o options) check() error {
	var problems []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	refuse(flag.NArg() > 0, "%q is no flag; see -help", flag.Arg(0))
	refuse(o.bookings < 1, "-bookings is %d; there must be one at least", o.bookings)
	refuse(o.workers < 1 || o.workers > 64, "-workers is %d; it must lie between 1 and 64", o.workers)
	refuse(o.kills < 0, "-kills is %d; it must not be negative", o.kills)
	refuse(o.restarts < 0, "-restarts is %d; it must not be negative", o.restarts)
	refuse(o.load < 0, "-for is %s; it must not be negative", o.load)
	refuse(o.margin < time.Millisecond || o.margin > time.Second, "-margin is %s; it must lie between 1ms and 1s", o.margin)
	return errors.Join(problems...)
}
