// Command hotelstays-sandbox serves the sandbox of the Hotel Stays Distribution API
// on a loopback address until it is interrupted.
//
//	go run ./cmd/hotelstays-sandbox -addr 127.0.0.1:8080
//
// It prints the base URL and the credentials. It exits with status 2 for wrong usage, such
// as an address that is not loopback, and with 1 when it cannot listen.
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

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run serves until ctx ends and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("hotelstays-sandbox", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "127.0.0.1:8080", "loopback `address` to listen on")
	seed := flags.Uint64("seed", 1, "seed of the generated catalogue")
	confirm := flags.Duration("confirm-after", 3*time.Minute, "time from Book to the confirmation; negative: never")
	useTLS := flags.Bool("tls", false, "serve https with a self-signed certificate")
	unlimited := flags.Bool("no-rate-limits", false, "turn the rate limits off")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "hotelstays-sandbox: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	opts := []hotelstaystest.Option{
		hotelstaystest.WithAddr(*addr), hotelstaystest.WithSeed(*seed), hotelstaystest.WithConfirmAfter(*confirm),
	}
	if *useTLS {
		opts = append(opts, hotelstaystest.WithTLS())
	}
	if *unlimited {
		opts = append(opts, hotelstaystest.WithoutRateLimits())
	}
	srv, err := hotelstaystest.StartServer(opts...)
	if err != nil {
		fmt.Fprintln(stderr, "hotelstays-sandbox:", err)
		if errors.Is(err, hotelstaystest.ErrInvalidOption) {
			return 2
		}
		return 1
	}
	defer srv.Close()
	greet(stdout, srv, *useTLS)
	<-ctx.Done()
	return 0
}

func greet(w io.Writer, srv *hotelstaystest.Server, useTLS bool) {
	insecure := ""
	if useTLS {
		insecure = " --insecure"
	}
	fmt.Fprintf(w, `base URL        %[1]s
appKey          %[2]s
appSecret       %[3]s
OAuth client    %[4]s
OAuth secret    %[5]s
webhook secret  %[6]s
a destinationId %[7]s
its name        %[8]s

Environment of the programs in the README:

  export HOTELSTAYS_BASE_URL=%[1]s HOTELSTAYS_APP_KEY=%[2]s HOTELSTAYS_APP_SECRET=%[3]s

Get a ticket:

  curl%[9]s -s %[1]s/api/auth/ticket -H 'Content-Type: application/json' -d '{"appKey":"%[2]s","appSecret":"%[3]s"}'

Interrupt to stop.
`, srv.URL, srv.AppKey, srv.AppSecret, srv.ClientID, srv.ClientSecret, srv.WebhookSecret, srv.CityID(0), srv.CityName(0), insecure)
}
