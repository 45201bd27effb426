// Fleet books hotels with several processes that share one address, one account and its rate
// limits, kills them while they work, and checks the result.
//
//	go run -C examples/fleet .
//
// It starts a Redis, a PostgreSQL, a sandbox of the service in this process, and four workers,
// which run this program again. Each worker books, searches as fast as the rate limit allows,
// receives webhooks, and works on the recoveries of bookings with an unknown outcome, its own
// or those of dead workers. The sandbox loses answers and hides new orders. Workers are killed
// at random and started again, and Redis and PostgreSQL crash. Then the sandbox's ledger is
// compared with the workers' database. The exit status is 1 if a booking is lost or made twice,
// if a call was above a rate limit, if the fleet fetched more than one token, or if a webhook
// was never handled or handled twice.
//
// It needs redis-server and PostgreSQL on this machine, or the servers of
// HOTELSTAYS_REDIS_ADDR (host:port) and HOTELSTAYS_POSTGRES_URL. Those do not crash, and
// nothing stays in them.
//
// worker.go shows how a process is composed, bookings.go how it books.
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
	flag.IntVar(&o.bookings, "bookings", 150, "number of `bookings`")
	flag.IntVar(&o.workers, "workers", 4, "number of `processes`")
	flag.IntVar(&o.kills, "kills", 8, "how many `times` a worker is killed")
	flag.IntVar(&o.restarts, "restarts", 1, "how many `times` Redis and PostgreSQL crash, each")
	flag.DurationVar(&o.load, "for", 15*time.Second, "how `long` the workers search at full demand")
	flag.DurationVar(&o.margin, "margin", 50*time.Millisecond, "`margin` of the rate limits; use more on a busy machine")
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

// run starts everything and prints the verdict. A bad one is an error.
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
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(flag.NArg() == 0, "%q is not a flag; see -help", flag.Arg(0))
	check(o.bookings >= 1, "-bookings is %d; it must be at least 1", o.bookings)
	check(o.workers >= 1 && o.workers <= 64, "-workers is %d; it must be between 1 and 64", o.workers)
	check(o.kills >= 0, "-kills is %d; it must not be negative", o.kills)
	check(o.restarts >= 0, "-restarts is %d; it must not be negative", o.restarts)
	check(o.load >= 0, "-for is %s; it must not be negative", o.load)
	check(o.margin >= time.Millisecond && o.margin <= time.Second, "-margin is %s; it must be between 1ms and 1s", o.margin)
	return errors.Join(problems...)
}
