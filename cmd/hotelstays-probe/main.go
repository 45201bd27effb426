// Command hotelstays-probe checks a test environment against the promises of the API's document. It also
// finds out what the document leaves open. It prints these facts for hotelstays.WithServiceFacts.
//
//	export HOTELSTAYS_BASE_URL=https://test.example HOTELSTAYS_APP_KEY=... HOTELSTAYS_APP_SECRET=...
//	go run github.com/hotelstays/hotelstays-go/cmd/hotelstays-probe -json report.json
//
// The program takes credentials only from the environment. The rules of OAuth also need HOTELSTAYS_CLIENT_ID and
// HOTELSTAYS_CLIENT_SECRET, and the rules of webhooks need HOTELSTAYS_WEBHOOK_SECRET. -help lists the flags,
// and -list lists the rules. The program only reads, unless -book allows it to book and cancel. If a run is
// interrupted, it first cancels its bookings, says how long that may take, and writes its reports. A second
// signal ends it immediately. Then -cleanup cancels the remaining bookings.
//
// The exit status is 0 if no rule is broken, 1 if a rule is broken, and 2 for wrong usage. It is 3 if the
// service cannot be probed, no rule could be tried, the run was interrupted, or a booking could not be
// cancelled. With -fail-on it is also 1 if a rule is weak or was not tried. With -diff it is 0 if nothing
// changed, and 1 otherwise.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/probe"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	exitHeld = iota
	exitBroken
	exitUsage
	exitFailed
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // stop restores the default, so that a second signal ends the program immediately
	os.Exit(run(ctx, os.Args[1:], os.Getenv, &printer{w: os.Stdout, colour: takesColour(os.Stdout, os.Getenv)}, os.Stderr))
}

type settings struct {
	config  probe.Config
	list    bool
	version bool
	diff    bool
	failOn  probe.State
	outputs []output
	booking booking
	timeout time.Duration
}

func (set *settings) flags() *flag.FlagSet {
	c := &set.config
	flags := flag.NewFlagSet("hotelstays-probe", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&set.list, "list", false, "print the rules, and send nothing")
	flags.BoolVar(&set.version, "version", false, "print the version, and send nothing")
	set.failOn = probe.Broken
	const failOn = "exit with status 1 if a rule has this `verdict` or a worse verdict: broken, weak or untried (default broken)"
	flags.Func("fail-on", failOn, func(text string) error {
		states := map[string]probe.State{"broken": probe.Broken, "weak": probe.Weak, "untried": probe.NotTried}
		if set.failOn = states[text]; set.failOn == "" {
			return errors.New("expected broken, weak or untried")
		}
		return nil
	})
	flags.Func("run", "try only the rule, group or section with this `name`; may be repeated", func(name string) error {
		c.Only = append(c.Only, name)
		return nil
	})
	flags.BoolVar(&set.diff, "diff", false, "print what changed between two files that -json has written, and send nothing")
	for name, write := range map[string]func(io.Writer, *probe.Report) error{"json": writeJSON, "html": writeHTML, "junit": writeJUnit} {
		flags.Func(name, "write the report to this `file`, as "+strings.ToUpper(name)+"; - is standard output", func(file string) error {
			set.outputs = append(set.outputs, output{file: file, write: write})
			return nil
		})
	}
	flags.StringVar(&c.ConfirmHost, "confirm-host", "", "confirm the `host` of a base URL that does not look like a test environment")
	flags.StringVar(&c.CountryCode, "country", "", "look for a city with hotels in the country with this `code`")
	flags.StringVar(&c.DestinationID, "destination", "", "search the city with this `id`")
	flags.Func("check-in", "search stays that begin on this `day` (default in 60 days)", func(text string) error {
		_, err := types.Date(text).Time()
		c.CheckIn = types.Date(text)
		return err
	})
	set.booking.flags(flags)
	flags.Float64Var(&c.Share, "share", 0.1, "use this `part` of each rate limit, above 0 and at most 1")
	flags.BoolVar(&c.Burst, "burst", false, "let rules exceed the rate limit of Ticket for a second")
	flags.DurationVar(&c.Patience, "patience", 0, "let a rule wait for this `duration` for the end of a session or of a voucher's link")
	flags.DurationVar(&set.timeout, "timeout", 0, "end the run after this `duration`; cancellations may take longer (default no limit)")
	for name, option := range map[string]func(string) hotelstays.SharedOption{
		"market": hotelstays.WithMarket, "user-ref": hotelstays.WithUserRef,
	} {
		flags.Func(name, "send this `text` with each call, in the header with the flag's name", func(text string) error {
			c.Options = append(c.Options, option(text))
			return nil
		})
	}
	flags.Func("facts", "compare the service with the ServiceFacts in this `file`; a contradiction breaks a rule", func(name string) error {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		c.Facts = new(hotelstays.ServiceFacts)
		return json.Unmarshal(text, c.Facts)
	})
	return flags
}

func credentials(c *probe.Config, env func(string) string) error {
	for _, name := range []string{"HOTELSTAYS_BASE_URL", "HOTELSTAYS_APP_KEY", "HOTELSTAYS_APP_SECRET"} {
		if env(name) == "" {
			return fmt.Errorf("%s is not set", name)
		}
	}
	c.BaseURL = env("HOTELSTAYS_BASE_URL")
	c.Credential = hotelstays.TicketCredential{AppKey: env("HOTELSTAYS_APP_KEY"), AppSecret: types.NewSecret(env("HOTELSTAYS_APP_SECRET"))}
	if id := env("HOTELSTAYS_CLIENT_ID"); id != "" {
		c.OAuth = &hotelstays.OAuthCredential{ClientID: id, ClientSecret: types.NewSecret(env("HOTELSTAYS_CLIENT_SECRET"))}
	}
	return nil
}

func run(ctx context.Context, args []string, env func(string) string, out *printer, stderr io.Writer) int {
	set := &settings{}
	flags := set.flags()
	err := flags.Parse(args)
	changed := false
	if err == nil && set.diff {
		changed, err = out.diff(flags.Args())
	} else if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	} else if set.timeout < 0 {
		err = errors.New("-timeout must not be negative")
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stderr)
		fmt.Fprintln(stderr, "Usage of hotelstays-probe:")
		flags.PrintDefaults()
		return exitHeld
	case err != nil:
		complain(stderr, err)
		return exitUsage
	case set.list:
		out.list(probe.Rules())
		return exitHeld
	case set.version:
		info, _ := debug.ReadBuildInfo() // a program built from a module always has this information
		fmt.Fprintln(out.w, "hotelstays-probe", info.Main.Version, info.GoVersion)
		return exitHeld
	case changed:
		return exitBroken
	case set.diff:
		return exitHeld
	}
	return set.probe(ctx, env, out, stderr)
}

// probe runs the rules, or with -cleanup the cleanup, and returns the exit status.
func (set *settings) probe(ctx context.Context, env func(string) string, out *printer, stderr io.Writer) int {
	c := &set.config
	err := credentials(c, env)
	stop, wrong := set.booking.allow(c, env)
	defer stop()
	defer discard(set.outputs)
	if err = cmp.Or(err, wrong, open(set.outputs, out)); err != nil {
		complain(stderr, err)
		return exitUsage
	}
	if set.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, set.timeout)
		defer cancel()
	}
	c.Waiting = func(what string, until time.Time) {
		if out.waiting(what, until); ctx.Err() != nil {
			out.line(2, "The run ended early. A second ^C ends the program immediately; then -cleanup cancels the remaining bookings.")
		}
	}
	if set.booking.cleanup {
		return status(cleanUp(ctx, *c, out.w), stderr)
	}
	if set.booking.book {
		out.line(0, "All bookings are cancelled at the end. If a Book was refused, the run takes ten minutes longer.")
	}
	c.Progress = out.result
	report, err := probe.Run(ctx, *c)
	if report != nil {
		out.end(report)
		for _, o := range set.outputs {
			err = cmp.Or(err, o.finish(report))
		}
	}
	if report != nil && ctx.Err() != nil {
		err = fmt.Errorf("the run ended early; the report has the results until then: %w", err)
	}
	if err != nil {
		return status(err, stderr)
	}
	return set.verdict(report)
}

// verdict returns the exit status for a report. The flag -fail-on decides which states of rules lead to the status 1.
func (set *settings) verdict(report *probe.Report) int {
	untried := slices.ContainsFunc(report.Results, func(r probe.Result) bool {
		return r.State == probe.NotTried && r.Reason != "needs "+r.Needs
	})
	switch {
	case report.Count(probe.Broken) > 0, set.failOn != probe.Broken && report.Count(probe.Weak) > 0, set.failOn == probe.NotTried && untried:
		return exitBroken
	case report.Count(probe.NotTried) == len(report.Results):
		return exitFailed
	}
	return exitHeld
}

// status prints err, if not nil, and returns the exit status for it.
func status(err error, stderr io.Writer) int {
	if err == nil {
		return exitHeld
	}
	complain(stderr, err)
	if errors.Is(err, probe.ErrConfig) || errors.As(err, new(*hotelstays.ValidationError)) {
		return exitUsage
	}
	return exitFailed
}

// complain writes an error in one line, without control characters, because the error may contain text of the service.
func complain(w io.Writer, err error) {
	fmt.Fprintln(w, "hotelstays-probe:", plain(err.Error()))
}
