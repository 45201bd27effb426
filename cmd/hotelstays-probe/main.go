// Command hotelstays-probe tries what the API's document promises against the test environment of an
// account, finds out what it leaves open, and prints the facts for hotelstays.WithServiceFacts.
//
//	export HOTELSTAYS_BASE_URL=https://test.example HOTELSTAYS_APP_KEY=... HOTELSTAYS_APP_SECRET=...
//	go run github.com/hotelstays/hotelstays-go/cmd/hotelstays-probe -json report.json
//
// Credentials come from the environment alone: those above, and optionally HOTELSTAYS_CLIENT_ID and
// HOTELSTAYS_CLIENT_SECRET for the rules of OAuth. -help lists the flags; -list the rules. It only reads.
//
// It exits with status 0 if no rule is broken, 1 if one is, 2 for wrong usage, and 3 if the service
// cannot be probed, no rule could be tried, or the run was interrupted. That some were not is no failure.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/probe"
	"github.com/hotelstays/hotelstays-go/types"
)

// The exit statuses.
const (
	exitHeld = iota
	exitBroken
	exitUsage
	exitFailed
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	colour := false
	if info, err := os.Stdout.Stat(); err == nil {
		colour = info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == ""
	}
	os.Exit(run(ctx, os.Args[1:], os.Getenv, &printer{w: os.Stdout, colour: colour}, os.Stderr))
}

// settings are what the flags say.
type settings struct {
	config  probe.Config
	list    bool
	json    string
	timeout time.Duration
}

func (set *settings) flags() *flag.FlagSet {
	c := &set.config
	flags := flag.NewFlagSet("hotelstays-probe", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&set.list, "list", false, "print the rules, and send nothing")
	flags.Func("run", "`name` of a rule, of its group or of its section; may be repeated", func(name string) error {
		c.Only = append(c.Only, name)
		return nil
	})
	flags.StringVar(&set.json, "json", "", "`file` to write the report to, with all evidence; - is standard output")
	flags.StringVar(&c.ConfirmHost, "confirm-host", "", "the `host` of a base URL that does not look like a test environment")
	flags.StringVar(&c.CountryCode, "country", "", "`code` of the country in which to look for a city with hotels")
	flags.StringVar(&c.DestinationID, "destination", "", "`id` of the city to search")
	flags.Func("check-in", "first `day` of the stays that are searched (default in 60 days)", func(text string) error {
		_, err := types.Date(text).Time()
		c.CheckIn = types.Date(text)
		return err
	})
	flags.Float64Var(&c.Share, "share", 0.1, "`part` of each rate limit to use, at most 1")
	flags.BoolVar(&c.Burst, "burst", false, "let rules exceed the rate limit of Ticket for a second")
	flags.DurationVar(&c.Patience, "patience", 0, "how `long` a rule may wait, to find out how long a session lives")
	flags.DurationVar(&set.timeout, "timeout", 0, "how `long` the whole run may take (default without an end)")
	for name, option := range map[string]func(string) hotelstays.SharedOption{
		"market": hotelstays.WithMarket, "user-ref": hotelstays.WithUserRef,
	} {
		flags.Func(name, "`text` to send with each call, as that header", func(text string) error {
			c.Options = append(c.Options, option(text))
			return nil
		})
	}
	flags.Func("facts", "`file` with the ServiceFacts of your client, which the service must not contradict", func(name string) error {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		c.Facts = new(hotelstays.ServiceFacts)
		facts := json.NewDecoder(bytes.NewReader(text))
		facts.DisallowUnknownFields() // such as those of a whole report
		return facts.Decode(c.Facts)
	})
	return flags
}

// run probes and returns the exit status.
func run(ctx context.Context, args []string, env func(string) string, out *printer, stderr io.Writer) int {
	set := &settings{}
	flags := set.flags()
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
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
	}
	c := &set.config
	c.BaseURL = env("HOTELSTAYS_BASE_URL")
	c.Credential = hotelstays.TicketCredential{AppKey: env("HOTELSTAYS_APP_KEY"), AppSecret: types.NewSecret(env("HOTELSTAYS_APP_SECRET"))}
	if id := env("HOTELSTAYS_CLIENT_ID"); id != "" {
		c.OAuth = &hotelstays.OAuthCredential{ClientID: id, ClientSecret: types.NewSecret(env("HOTELSTAYS_CLIENT_SECRET"))}
	}
	save, err := set.output(out)
	if err != nil {
		complain(stderr, err)
		return exitUsage
	}
	defer save.Close()
	if set.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, set.timeout)
		defer cancel()
	}
	c.Progress = out.result
	report, err := probe.Run(ctx, *c)
	if report != nil {
		out.end(report)
		text := json.NewEncoder(save)
		text.SetIndent("", "  ")
		err = cmp.Or(err, text.Encode(report))
	}
	switch invalid := (*hotelstays.ValidationError)(nil); {
	case err != nil:
		complain(stderr, err)
		if errors.Is(err, probe.ErrConfig) || errors.As(err, &invalid) {
			return exitUsage
		}
		return exitFailed
	case report.Count(probe.Broken) > 0:
		return exitBroken
	case report.Count(probe.NotTried) == len(report.Results):
		return exitFailed
	}
	return exitHeld
}

// output opens what the report goes to, before a run that may take hours.
func (set *settings) output(out *printer) (io.WriteCloser, error) {
	to := struct {
		io.Writer
		io.Closer
	}{io.Discard, io.NopCloser(nil)}
	switch set.json {
	case "":
		return to, nil
	case "-":
		to.Writer, out.w = out.w, io.Discard
		return to, nil
	}
	return os.OpenFile(set.json, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

// complain writes an error in one line. It may have words of the service.
func complain(w io.Writer, err error) {
	fmt.Fprintln(w, "hotelstays-probe:", strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, err.Error()))
}

// printer writes for people, at 80 columns.
type printer struct {
	w      io.Writer
	colour bool
	group  string
}

const width = 80

// line writes words behind an indent, broken at the width.
func (p *printer) line(indent int, text string) {
	column := indent
	fmt.Fprint(p.w, strings.Repeat(" ", indent))
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		if i > 0 && column+1+n > width {
			fmt.Fprint(p.w, "\n"+strings.Repeat(" ", indent))
			column = indent
		} else if i > 0 {
			fmt.Fprint(p.w, " ")
			column++
		}
		fmt.Fprint(p.w, word)
		column += n
	}
	fmt.Fprintln(p.w)
}

// section writes a section's name, once.
func (p *printer) section(name string) {
	if name != p.group {
		p.group = name
		fmt.Fprintf(p.w, "\n%s\n", name)
	}
}

func (p *printer) list(rules []probe.Rule) {
	for _, rule := range rules {
		p.section(rule.Section)
		fmt.Fprintf(p.w, "  %s\n", rule.Name)
		text := rule.Promise
		if rule.Needs != "" {
			text += " (needs " + rule.Needs + ")"
		}
		p.line(6, text)
	}
}

// result is called after each rule.
func (p *printer) result(r probe.Result) {
	p.section(r.Section)
	state := fmt.Sprintf("%-9s", r.State)
	if code := map[probe.State]string{probe.Held: "32", probe.Found: "36", probe.Broken: "31", probe.NotTried: "33"}[r.State]; p.colour {
		state = "\x1b[" + code + "m" + state + "\x1b[0m"
	}
	fmt.Fprintf(p.w, "  %s %s\n", state, r.Name)
	if r.State == probe.Broken {
		p.line(12, r.Promise)
	}
	for _, text := range []string{r.Found, r.Reason} {
		if text != "" {
			p.line(12, text)
		}
	}
	if r.Curl != "" {
		fmt.Fprintf(p.w, "\n%s\n\n", r.Curl) // to be pasted, so not broken
	}
}

func (p *printer) end(r *probe.Report) {
	fmt.Fprintln(p.w)
	for _, note := range r.Notes {
		p.line(0, "Note: "+note)
	}
	p.line(0, fmt.Sprintf("%d held, %d found out, %d broken, %d not tried, in %s.", r.Count(probe.Held), r.Count(probe.Found),
		r.Count(probe.Broken), r.Count(probe.NotTried), r.Ended.Sub(r.Began).Round(time.Second)))
	fmt.Fprintf(p.w, "\nThe facts, for the client:\n\n%s\n", r.FactsGo())
}
