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
// cannot be probed or the run was interrupted. A rule that was not tried is no failure.
package main

import (
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
	market  string
	userRef string
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
	flags.StringVar(&set.market, "market", "", "Market `code` to send with each call")
	flags.StringVar(&set.userRef, "user-ref", "", "User-Ref `text` to send with each call")
	flags.Func("facts", "`file` with the ServiceFacts of your client, which the service must not contradict", func(name string) error {
		text, err := os.ReadFile(name)
		c.Facts = new(hotelstays.ServiceFacts)
		return errors.Join(err, json.Unmarshal(text, c.Facts))
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
		fmt.Fprintln(stderr, "hotelstays-probe:", err)
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
	if set.market != "" {
		c.Options = append(c.Options, hotelstays.WithMarket(set.market))
	}
	if set.userRef != "" {
		c.Options = append(c.Options, hotelstays.WithUserRef(set.userRef))
	}
	out.quiet = set.json == "-"
	c.Progress = out.result
	report, err := probe.Run(ctx, *c)
	if report != nil {
		out.end(report)
		if err := out.save(set.json, report); err != nil {
			fmt.Fprintln(stderr, "hotelstays-probe:", err)
			return exitFailed
		}
	}
	switch invalid := (*hotelstays.ValidationError)(nil); {
	case err != nil:
		fmt.Fprintln(stderr, "hotelstays-probe:", err)
		if errors.Is(err, probe.ErrConfig) || errors.As(err, &invalid) {
			return exitUsage
		}
		return exitFailed
	case report.Count(probe.Broken) > 0:
		return exitBroken
	}
	return exitHeld
}

// printer writes for people, at 80 columns.
type printer struct {
	w      io.Writer
	colour bool
	quiet  bool // JSON goes to the same writer
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
	if p.quiet {
		return
	}
	p.section(r.Section)
	state := fmt.Sprintf("%-9s", r.State)
	if code := map[probe.State]string{probe.Held: "32", probe.Found: "36", probe.Broken: "31", probe.NotTried: "33"}[r.State]; p.colour {
		state = "\x1b[" + code + "m" + state + "\x1b[0m"
	}
	fmt.Fprintf(p.w, "  %s %s\n", state, r.Rule)
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
	if p.quiet {
		return
	}
	fmt.Fprintln(p.w)
	for _, note := range r.Notes {
		p.line(0, "Note: "+note)
	}
	p.line(0, fmt.Sprintf("%d held, %d found out, %d broken, %d not tried, in %s.", r.Count(probe.Held), r.Count(probe.Found),
		r.Count(probe.Broken), r.Count(probe.NotTried), r.Ended.Sub(r.Began).Round(time.Second)))
	fmt.Fprintf(p.w, "\nThe facts, for the client:\n\n%s\n", r.FactsGo())
}

// save writes the report as JSON.
func (p *printer) save(name string, r *probe.Report) error {
	text, err := json.MarshalIndent(r, "", "  ")
	switch {
	case name == "" || err != nil:
		return err
	case name == "-":
		_, err = fmt.Fprintln(p.w, string(text))
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o600)
}
