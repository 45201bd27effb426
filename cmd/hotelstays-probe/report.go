// The formats and files of reports, and the difference between two reports.

package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/probe"
)

type output struct {
	file  string
	write func(io.Writer, *probe.Report) error
	to    io.WriteCloser // a reportFile, a pipe or standard output
}

// reportFile is a temporary file that only its owner can read. Close renames the file, and so replaces the older report.
type reportFile struct {
	*os.File
	replaces string
}

func newReportFile(name string) (io.WriteCloser, error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // for example a pipe, which must not be replaced
		return os.OpenFile(name, os.O_WRONLY, 0)
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // CreateTemp gives the file the mode 0600
	return reportFile{file, name}, err
}

func (f reportFile) Close() error {
	if err := cmp.Or(f.Sync(), f.File.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), f.replaces)
}

// finish writes the report. If writing fails, an existing report stays unchanged.
func (o *output) finish(r *probe.Report) error {
	if err := o.write(o.to, r); err != nil {
		return err
	}
	return o.to.Close()
}

// discard removes the temporary files of the reports that were not finished.
func discard(outputs []output) {
	for _, o := range outputs {
		if f, ok := o.to.(reportFile); ok {
			_ = f.File.Close()
			_ = os.Remove(f.Name())
		}
	}
}

// open creates the report files before the run, which may take hours, so that a wrong file name fails early. If a
// report goes to standard output, open makes the printer (out) print nothing.
func open(outputs []output, out *printer) error {
	for i := range outputs {
		o := &outputs[i]
		if o.file == "-" {
			o.to, out.w = struct {
				io.Writer
				io.Closer
			}{out.w, io.NopCloser(nil)}, io.Discard
			continue
		}
		var err error
		if o.to, err = newReportFile(o.file); err != nil {
			o.to = nil
			return err
		}
	}
	return nil
}

func writeJSON(w io.Writer, r *probe.Report) error {
	text := json.NewEncoder(w)
	text.SetIndent("", "  ")
	return text.Encode(r)
}

// junit is a report in JUnit's XML format, which CI servers read.
type junit struct {
	XMLName   xml.Name    `xml:"testsuite"`
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Seconds   float64     `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Group   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitText `xml:"failure"`
	Skipped *junitText `xml:"skipped"`
	Found   string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func writeJUnit(w io.Writer, r *probe.Report) error {
	suite := junit{Name: "hotelstays-probe " + r.BaseURL, Tests: len(r.Results), Failures: r.Count(probe.Broken),
		Skipped: r.Count(probe.NotTried), Seconds: r.Ended.Sub(r.Began).Seconds(), Timestamp: r.Began.Format(time.RFC3339)}
	for _, result := range r.Results {
		group, name, _ := strings.Cut(result.Name, "/")
		test := junitCase{Group: group, Name: name, Found: result.Found}
		switch result.State {
		case probe.Broken:
			test.Failure = &junitText{result.Reason, result.Section + ": " + result.Promise + "\n" + result.Curl}
		case probe.Weak:
			test.Found = strings.TrimSpace(result.Found + "\nweak: " + result.Reason)
		case probe.NotTried:
			test.Skipped = &junitText{Message: result.Reason}
		}
		suite.Cases = append(suite.Cases, test)
	}
	text := xml.NewEncoder(w)
	text.Indent("", "  ")
	return text.Encode(suite)
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

// maxPage is the maximum size of the HTML page in bytes. The page is larger only if the bodies of the broken and weak
// rules, which are not shortened, need more.
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

// gone is the state of a rule that only the older of two compared reports has.
const gone probe.State = "gone"

func readReport(name string) (*probe.Report, error) {
	report := &probe.Report{}
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, report)
	}
	if err == nil && len(report.Results) == 0 {
		err = errors.New("this file is not a report that -json has written")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return report, nil
}

// diff compares two report files, the older one first. It prints the rules whose state or finding changed, and the
// facts if they changed. It reports whether anything changed.
func (p *printer) diff(files []string) (changed bool, err error) {
	if len(files) != 2 {
		return false, errors.New("-diff needs two files, the older one first")
	}
	before, err := readReport(files[0])
	if err != nil {
		return false, err
	}
	after, err := readReport(files[1])
	if err != nil {
		return false, err
	}
	p.line(0, fmt.Sprintf("From %s at %s to %s at %s", before.BaseURL, before.Began.Format(time.DateTime), after.BaseURL,
		after.Began.Format(time.DateTime)))
	old, now := map[string]probe.Result{}, after.Results
	for _, was := range before.Results {
		old[was.Name] = was
		if !slices.ContainsFunc(after.Results, func(r probe.Result) bool { return r.Name == was.Name }) {
			now = append(now, probe.Result{Rule: was.Rule, State: gone})
		}
	}
	for _, result := range now {
		was := old[result.Name]
		if was.State == result.State && was.Found == result.Found {
			continue
		}
		changed = true
		p.result(result)
		p.line(12, fmt.Sprintf("before: %s %s", cmp.Or(was.State, "absent"), cmp.Or(was.Found, was.Reason)))
	}
	if !reflect.DeepEqual(before.Facts, after.Facts) {
		changed = true
		fmt.Fprintf(p.w, "\nThe facts before and now:\n\n%s\n\n%s\n", plainLines(before.FactsGo()), plainLines(after.FactsGo()))
	}
	if !changed {
		p.line(0, "Nothing changed.")
	}
	return changed, nil
}
