// Bookingengine is a small booking engine: a web application that finds hotels, checks prices,
// books, follows an order live, serves its voucher and cancels it.
//
//	go run .
//
// It runs against a sandbox in this process, with a temporary database, because the sandbox
// forgets its orders. With HOTELSTAYS_BASE_URL, HOTELSTAYS_APP_KEY and HOTELSTAYS_APP_SECRET it
// runs against that service, with the database of -db or -postgres, and books nothing there
// unless HOTELSTAYS_ALLOW_BOOKING=1 is set, because a booking costs money.
// HOTELSTAYS_CALLBACK_URL is the public address of /hotel-events, and HOTELSTAYS_WEBHOOK_SECRET
// signs its deliveries. Without them orders are polled.
//
//	go run . -lose-answer
//
// shows what a guest sees if the outcome of a booking is unknown: the sandbox makes the first
// order, cuts the connection, and hides the order for half a minute.
//
// engine.go shows the use of the SDK, database.go the rows of orders, and message.go what
// guests read about errors.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// settings are the flags.
type settings struct {
	addr, file, postgres string
	loseAnswer           bool
}

func main() {
	var set settings
	flag.StringVar(&set.addr, "addr", "127.0.0.1:8090", "the loopback `address` to listen on")
	flag.StringVar(&set.file, "db", "", "the SQLite `file` of the bookings at a service (default bookings.db)")
	flag.StringVar(&set.postgres, "postgres", "", "the `URL` of a PostgreSQL database, instead of -db")
	flag.BoolVar(&set.loseAnswer, "lose-answer", false, "let the sandbox lose its answer to the first booking")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unexpected argument %q: -help lists what it takes\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(ctx, set, log); err != nil {
		fmt.Fprintln(os.Stderr, "stopped:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, then closes in order: pages, bookings, client, database, sandbox.
func run(ctx context.Context, set settings, log *slog.Logger) error {
	listener, err := listen(set.addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	base := "http://" + listener.Addr().String()
	svc, closeService, err := findService(base, set.loseAnswer)
	if err != nil {
		return err
	}
	defer closeService()
	switch {
	case svc.sandbox && set.file+set.postgres != "":
		return errors.New("-db and -postgres need a service that outlives this program: run the sandbox by itself, as the README shows")
	case svc.sandbox:
		dir, err := os.MkdirTemp("", "bookingengine")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		set.file = filepath.Join(dir, "bookings.db")
	}
	db, err := openDatabase(ctx, cmp.Or(set.file, "bookings.db"), set.postgres, log)
	if err != nil {
		return err
	}
	defer db.Close()
	engine, err := newEngine(svc, db, log)
	if err != nil {
		return err
	}
	defer engine.close()
	log.Info("open the booking engine in a browser", "address", base, "service", svc.baseURL, "sandbox", svc.sandbox)
	return serve(ctx, listener, newSite(engine))
}

// listen accepts only loopback addresses, because anyone who reaches this site can book.
func listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("-addr: %w", err)
	}
	if !isLoopback(host) {
		return nil, fmt.Errorf("-addr: %q is not a loopback address, and this example has no login: use 127.0.0.1:8090", addr)
	}
	return net.Listen("tcp", addr)
}

// isLoopback reports whether a host is a loopback name of this machine.
func isLoopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

func serve(ctx context.Context, listener net.Listener, site *site) error {
	server := &http.Server{
		Handler:           site,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute, // streams move theirs
		IdleTimeout:       2 * time.Minute,
	}
	server.RegisterOnShutdown(site.endStreams) // they do not end by themselves
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := server.Shutdown(grace)
	server.Close() // those that are late
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
