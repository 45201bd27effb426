// The formats and files of reports.

package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/probe"
)

// output is a report to write, with the function for its format.
type output struct {
	name  string // the name of the file; - is standard output
	write func(io.Writer, *probe.Report) error
	file  *os.File
}

// open opens the report files before the run, which may take hours, so that a wrong name fails early. It keeps the
// content of an older report.
func open(outputs []output) (err error) {
	for i := range outputs {
		if o := &outputs[i]; o.name != "-" {
			if o.file, err = os.OpenFile(o.name, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish writes the report in place of an older report.
func (o output) finish(r *probe.Report, stdout io.Writer) error {
	if o.file == nil {
		return o.write(stdout, r)
	}
	if err := o.file.Truncate(0); err == nil { // it fails for a pipe or a device, which has no older report
		_ = o.file.Chmod(0o600) // only the owner may read answers to the account, even if others could read the older report
	}
	return cmp.Or(o.write(o.file, r), o.file.Close())
}

func writeJSON(w io.Writer, r *probe.Report) error {
	text := json.NewEncoder(w)
	text.SetIndent("", "  ")
	return text.Encode(r)
}

//go:embed page.html
var page string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"pretty": pretty, "short": short, "slug": slug}).Parse(page))

// chapter is a part of the HTML page: the results with the same state. Rules that were not tried have one chapter for
// each reason.
type chapter struct {
	State   probe.State
	Reason  string
	Results []probe.Result
}

// chapters groups the results of a report: broken rules first, then weak, found and held rules, and last the rules that
// were not tried.
func chapters(r *probe.Report) (all []chapter) {
	states := []probe.State{probe.Broken, probe.Weak, probe.Found, probe.Held, probe.NotTried}
	results := slices.Clone(r.Results)
	slices.SortStableFunc(results, func(a, b probe.Result) int {
		return cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State))
	})
	for _, result := range results {
		of := chapter{State: result.State}
		if of.State == probe.NotTried {
			of.Reason = result.Reason
		}
		i := slices.IndexFunc(all, func(c chapter) bool { return c.State == of.State && c.Reason == of.Reason })
		if i < 0 {
			i, all = len(all), append(all, of)
		}
		all[i].Results = append(all[i].Results, result)
	}
	return all
}

// maxPage is the maximum size of the HTML page in bytes. The page exceeds it only if the bodies of broken and weak
// rules are longer.
const maxPage = 500_000

// writeHTML writes the HTML page. It shortens the bodies of rules that are neither broken nor weak, until the page has
// at most maxPage bytes.
func writeHTML(w io.Writer, r *probe.Report) error {
	var b bytes.Buffer
	for most := 4 << 10; ; most /= 4 {
		b.Reset()
		err := pageTemplate.Execute(&b, struct {
			*probe.Report
			Chapters []chapter
			Took     time.Duration
			Most     int
		}{r, chapters(r), r.Ended.Sub(r.Began).Round(time.Second), most})
		if err != nil || b.Len() <= maxPage || most == 0 {
			_, failed := b.WriteTo(w)
			return cmp.Or(err, failed)
		}
	}
}

// slug returns a state as the id of an HTML element, such as not-tried.
func slug(state probe.State) string { return strings.ReplaceAll(string(state), " ", "-") }

// short cuts a body that has more than limit bytes. A shorter body, and any body of a broken or weak rule, stays whole and
// is indented.
func short(text string, state probe.State, limit int) string {
	if state == probe.Broken || state == probe.Weak || len(text) <= limit {
		return pretty(text)
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// pretty indents a JSON text. It returns incomplete JSON unchanged.
func pretty(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}
