// The output on the terminal.

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/hotelstays/hotelstays-go/probe"
)

// printer writes text that fits a terminal of 80 columns.
type printer struct {
	w      io.Writer
	colour bool
	group  string
}

const width = 80

// takesColour reports whether f is a terminal and the environment variable NO_COLOR is not set (no-color.org).
func takesColour(f *os.File, env func(string) string) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && env("NO_COLOR") == ""
}

// plain replaces control characters and newlines by spaces, because the text may come from the service or from a report
// that somebody else wrote.
func plain(text string) string { return strings.Map(printable(""), text) }

func plainLines(text string) string { return strings.Map(printable("\n\t"), text) }

func printable(control string) func(rune) rune {
	return func(c rune) rune {
		if unicode.IsPrint(c) || strings.ContainsRune(control, c) {
			return c
		}
		return ' '
	}
}

// line writes indented text, and breaks lines at 80 columns. It also breaks a word that is longer than a line.
func (p *printer) line(indent int, text string) {
	margin, most := strings.Repeat(" ", indent), width-indent
	var line []rune
	for word := range strings.FieldsSeq(plain(text)) {
		if len(line) > 0 && len(line)+1+len([]rune(word)) > most {
			fmt.Fprintln(p.w, margin+string(line))
			line = nil
		} else if len(line) > 0 {
			line = append(line, ' ')
		}
		for line = append(line, []rune(word)...); len(line) > most; line = line[most:] {
			fmt.Fprintln(p.w, margin+string(line[:most]))
		}
	}
	fmt.Fprintln(p.w, margin+string(line))
}

func (p *printer) section(name string) {
	if name != p.group {
		p.group = name
		fmt.Fprintf(p.w, "\n%s\n", plain(name))
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

var colours = map[probe.State]string{probe.Held: "32", probe.Found: "36", probe.Weak: "35", probe.Broken: "31", probe.NotTried: "33"}

func (p *printer) result(r probe.Result) {
	p.section(r.Section)
	state := plain(fmt.Sprintf("%-9s", r.State))
	if p.colour {
		state = "\x1b[" + colours[r.State] + "m" + state + "\x1b[0m"
	}
	fmt.Fprintf(p.w, "  %s %s\n", state, plain(r.Name))
	if r.State == probe.Broken {
		p.line(12, r.Promise)
	}
	for _, text := range []string{r.Found, r.Reason} {
		if text != "" {
			p.line(12, text)
		}
	}
	if r.Curl != "" {
		fmt.Fprintf(p.w, "\n%s\n\n", plainLines(r.Curl)) // lines of the command stay whole, so that users can copy it
	}
}

func (p *printer) waiting(what string, until time.Time) {
	p.line(2, fmt.Sprintf("waiting for %s, until %s at most", what, until.Format(time.TimeOnly)))
}

func (p *printer) end(r *probe.Report) {
	fmt.Fprintln(p.w)
	for _, note := range r.Notes {
		p.line(0, "Note: "+note)
	}
	p.line(0, fmt.Sprintf("%d held, %d found, %d weak, %d broken, %d not tried, in %s.", r.Count(probe.Held), r.Count(probe.Found),
		r.Count(probe.Weak), r.Count(probe.Broken), r.Count(probe.NotTried), r.Ended.Sub(r.Began).Round(time.Second)))
	fmt.Fprintf(p.w, "\nThe facts for WithServiceFacts:\n\n%s\n", plainLines(r.FactsGo()))
}
