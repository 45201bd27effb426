// Bookingengine is a small booking engine: a web application that finds hotels, checks prices,
// books, follows an order live, serves its voucher and cancels it.
//
//	go run .
//
// It runs against a sandbox in this process, with a temporary database. The README says how it
// runs against a service, and what each file shows. With -lose-answer the sandbox makes the first
// order, cuts the connection, and hides the order for half a minute: see what a guest sees if the
// outcome of a booking is unknown.
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
	addr, db   string
	loseAnswer bool
}

func main() {
	var set settings
	flag.StringVar(&set.addr, "addr", "127.0.0.1:8090", "the loopback `address` to listen on")
	flag.StringVar(&set.db, "db", "", "the SQLite `file` of the bookings (default bookings.db)")
	flag.BoolVar(&set.loseAnswer, "lose-answer", false, "let the sandbox lose its answer to the first booking")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unexpected argument %q: -help lists what it takes\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, set, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
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
	if svc.Sandbox {
		if set.db != "" {
			return errors.New("-db needs a service that outlives this program: run the sandbox by itself, as the README shows")
		}
		dir, err := os.MkdirTemp("", "bookingengine")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		set.db = filepath.Join(dir, "bookings.db")
	}
	db, err := openDatabase(ctx, cmp.Or(set.db, "bookings.db"), log)
	if err != nil {
		return err
	}
	defer db.Close()
	engine, err := newEngine(svc, db, log)
	if err != nil {
		return err
	}
	defer engine.close()
	log.Info("open the booking engine in a browser", "address", base, "service", svc.BaseURL, "sandbox", svc.Sandbox)
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
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		ended <- errors.Join(server.Shutdown(grace), server.Close()) // Close ends those that are late
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
