package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"time"

	"github.com/hotelstays/hotelstays-go/probe"
	"github.com/hotelstays/hotelstays-go/types"
)

type booking struct {
	probe.Booking
	book, cleanup    bool
	callback, listen string
}

var money = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([A-Z]{3})$`)

func (b *booking) flags(flags *flag.FlagSet) {
	flags.BoolVar(&b.book, "book", false, "let rules book offers with free cancellation for a day, and cancel them; needs -max-total")
	const usage = "`limit`, such as 500EUR, for the sum of all prices, cancelled bookings included"
	flags.Func("max-total", usage, func(text string) error {
		parts := money.FindStringSubmatch(text)
		if parts == nil {
			return errors.New("expected an amount and a currency, such as 500EUR")
		}
		b.MaxTotal = types.Money{Amount: json.Number(parts[1]), Currency: parts[2]}
		return nil
	})
	flags.StringVar(&b.Journal, "journal", "hotelstays-probe.journal", "name each booking in this `file` before it is sent")
	flags.BoolVar(&b.cleanup, "cleanup", false, "cancel the bookings that -journal names, and try no rule")
	flags.StringVar(&b.callback, "callback", "", "receive the webhooks of bookings under this public https `URL`, which leads to -listen")
	flags.StringVar(&b.listen, "listen", "localhost:8081", "`address` on this machine that receives the webhooks sent to -callback")
}

// allow lets the run book or clean up if -book or -cleanup is set. If -callback is set, allow also starts a server for
// webhooks. The function stop ends this server.
func (b *booking) allow(c *probe.Config, env func(string) string) (stop func(), err error) {
	stop = func() {}
	switch {
	case b.book && b.cleanup:
		return stop, errors.New("-book already begins with a cleanup: use either -book or -cleanup")
	case !b.book && (b.callback != "" || b.MaxTotal.Amount != ""):
		return stop, errors.New("-callback and -max-total need -book")
	case b.book || b.cleanup:
		c.Booking = &b.Booking
	}
	if b.callback == "" {
		return stop, nil
	}
	b.Callback = &probe.Callback{URL: b.callback}
	if secret := env("HOTELSTAYS_WEBHOOK_SECRET"); secret != "" {
		b.Callback.Secrets = []types.Secret{types.NewSecret(secret)}
	}
	listener, err := net.Listen("tcp", b.listen)
	if err != nil {
		return stop, fmt.Errorf("-listen %s: %w; if another program uses this address, choose another address", b.listen, err)
	}
	server := &http.Server{Handler: b.Callback, ReadTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}

// cleanUp cancels the bookings that an earlier run left open, and prints the state of each booking.
func cleanUp(ctx context.Context, c probe.Config, w io.Writer) error {
	entries, err := probe.Cleanup(ctx, c)
	for _, e := range entries {
		fmt.Fprintf(w, "%-9s %s\n", e.State, e.Recovery.CustomerReferenceNo)
	}
	return err
}
