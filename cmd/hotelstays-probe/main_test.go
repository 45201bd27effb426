package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/probe"
	"github.com/hotelstays/hotelstays-go/types"
)

// probed runs the program against a new sandbox.
func probed(t *testing.T, sandbox hotelstaystest.Config, args ...string) (status int, out, complaint string) {
	t.Helper()
	srv := hotelstaystest.NewServer(&sandbox)
	t.Cleanup(srv.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	env := map[string]string{"HOTELSTAYS_BASE_URL": srv.URL, "HOTELSTAYS_APP_KEY": srv.AppKey, "HOTELSTAYS_APP_SECRET": srv.AppSecret,
		"HOTELSTAYS_CLIENT_ID": srv.ClientID, "HOTELSTAYS_CLIENT_SECRET": srv.ClientSecret}
	var stdout, stderr bytes.Buffer
	args = append([]string{"-share", "1"}, args...)
	status = run(t.Context(), args, func(name string) string { return env[name] }, &printer{w: &stdout}, &stderr)
	return status, stdout.String(), stderr.String()
}

var whole probe.Report

// reported is the report of a whole run, in virtual time.
func reported(t *testing.T) *probe.Report {
	t.Helper()
	if whole.Results == nil {
		journal := filepath.Join(t.TempDir(), "journal")
		synctest.Test(t, func(t *testing.T) {
			srv, _ := testkit.NewSandbox(t, hotelstaystest.Config{Webhooks: hotelstaystest.WebhookConfig{StrictCallbacks: true},
				Catalog: hotelstaystest.Catalog{RoomsPerHotel: 1, RatesPerRoom: 2}})
			through := srv.Client()
			defer through.CloseIdleConnections()
			report, err := probe.Run(t.Context(), probe.Config{BaseURL: srv.URL, Credential: testkit.TicketOf(srv), HTTPClient: through,
				Booking: &probe.Booking{MaxTotal: types.Money{Amount: "2000", Currency: "EUR"}, Journal: journal},
				Facts:   &hotelstays.ServiceFacts{NullOrders: true}})
			require.NoError(t, err)
			whole = *report
		})
	}
	report := whole
	report.Results = slices.Clone(whole.Results)
	return &report
}

// No line of a whole run is longer than a terminal's line. Commands and facts may be longer, because users copy them.
func TestOutputFitsATerminal(t *testing.T) {
	report := reported(t)
	report.Notes = []string{strings.Repeat("x", 200), strings.Repeat("x", 73) + " y"} // "Note: " and this text exceed one line
	for _, colour := range []bool{false, true} {
		var stdout bytes.Buffer
		p := &printer{w: &stdout, colour: colour}
		for _, result := range report.Results {
			p.result(result)
		}
		p.end(report)
		out := stdout.String()
		assert.Equal(t, colour, strings.Contains(out, "\x1b["))
		out = regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(out, "")
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, "curl ") && !strings.HasPrefix(line, "\t") {
				assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), width, line)
			}
		}
		assert.Contains(t, out, "  held      ticket/jwt\n")
		assert.Contains(t, out, "  found     list/first-page\n            it is: true\n")
		assert.Contains(t, out, "  not tried limits/above\n            needs -burst\n")
		assert.Contains(t, out, "  broken    orders/empty\n            QueryOrders for an unknown reference succeeds;")
		assert.Contains(t, out, "\ncurl -sS ")
		assert.Contains(t, out, " 1 broken, ")
		assert.Contains(t, out, "Confirmed: []types.OrderStatus{2}")
	}
}

func TestOnlyATerminalGetsColours(t *testing.T) {
	device, err := os.Open(os.DevNull) // a device, like a terminal
	require.NoError(t, err)
	defer device.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	env := func(text string) func(string) string { return func(string) string { return text } }
	assert.True(t, takesColour(device, env("")))
	assert.False(t, takesColour(device, env("1")))
	assert.False(t, takesColour(file, env("")))
}

func TestFlagListPrintsEveryRuleWithoutCredentials(t *testing.T) {
	var stdout bytes.Buffer
	assert.Equal(t, exitHeld, run(t.Context(), []string{"-list"}, func(string) string { return "" }, &printer{w: &stdout}, os.Stderr))
	for _, rule := range probe.Rules() {
		assert.Contains(t, stdout.String(), "\n  "+rule.Name+"\n")
	}
	for line := range strings.Lines(stdout.String()) {
		assert.LessOrEqual(t, len(line), width+1, line)
	}
}

// Other programs and -diff read these reports.
func TestJSONReportIsReadBackUnchanged(t *testing.T) {
	report := reported(t)
	var first, second bytes.Buffer
	require.NoError(t, writeJSON(&first, report))
	name := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(name, first.Bytes(), 0o600))
	read, err := readReport(name)
	require.NoError(t, err)
	require.NoError(t, writeJSON(&second, read))
	assert.Equal(t, first.String(), second.String())
	assert.NotEmpty(t, read.Results[0].Evidence)
}

func TestJUnitReportHasACasePerRule(t *testing.T) {
	report := reported(t)
	var out bytes.Buffer
	require.NoError(t, writeJUnit(&out, report))
	var suite junit
	require.NoError(t, xml.Unmarshal(out.Bytes(), &suite))
	assert.Len(t, suite.Cases, suite.Tests)
	assert.Equal(t, 1, suite.Failures)
	for i, test := range suite.Cases {
		result := report.Results[i]
		assert.Equal(t, result.Name, test.Group+"/"+test.Name)
		assert.Equal(t, result.State == probe.Broken, test.Failure != nil, result.Name)
		assert.Equal(t, result.State == probe.NotTried, test.Skipped != nil, result.Name)
		assert.Equal(t, result.Found, test.Found)
		if test.Failure != nil {
			assert.Equal(t, result.Reason, test.Failure.Message)
			assert.Contains(t, test.Failure.Text, result.Curl)
		}
	}
}

// The HTML page shows texts of the service. A browser must not run such a text as a script.
func TestPageEscapesTextsOfTheService(t *testing.T) {
	report := reported(t)
	const script = `<script>alert(1)</script>`
	report.Results[1].State = probe.Weak
	report.Results[0].State = probe.Broken
	report.Results[0].Reason, report.Results[0].Evidence = script, []probe.Exchange{{Status: 200, Body: `{"a":"` + script + `"}`}}
	var out bytes.Buffer
	require.NoError(t, writeHTML(&out, report))
	page := out.String()
	last := 0
	for _, result := range report.Results {
		assert.Equal(t, 1, strings.Count(page, "<code>"+result.Name+"</code>"), result.Name)
		assert.Equal(t, 1, strings.Count(page, `href="#`+strings.ReplaceAll(result.Name, "/", "%2f")+`"`), result.Name)
		assert.Contains(t, page, html.EscapeString(result.Found))
	}
	for _, state := range []string{"broken", "weak", "found", "held", "not-tried"} {
		at := strings.Index(page, `<h2 id="`+state+`"`)
		assert.True(t, strings.Contains(page, `href="#`+state+`"`) && at > last, state)
		last = at
	}
	assert.Equal(t, 1, strings.Count(page, "needs -burst"), "rules that were not tried for the same reason share a chapter")
	assert.LessOrEqual(t, out.Len(), maxPage)
	assert.Greater(t, out.Len(), maxPage/4, "the page is not shorter than necessary")
	assert.NotContains(t, page, "<script")
	assert.NotContains(t, page, "http-equiv")
	assert.Contains(t, page, "{\n  &#34;a&#34;: &#34;&lt;script&gt;")
	assert.Equal(t, 1, strings.Count(page, "curl -sS "))
	assert.Contains(t, page, "Confirmed: []types.OrderStatus{2}")
}

// A shell may pass a pipe as the file. The program must write into the pipe, and not replace the pipe by a file.
func TestReportIsWrittenInEveryFormatToAFileAPipeAndStandardOutput(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	piped := make(chan []byte)
	go func() {
		text, _ := io.ReadAll(r)
		piped <- text
	}()
	file := filepath.Join(t.TempDir(), "report")
	status, out, complaint := probed(t, hotelstaystest.Config{}, "-run", "orders/empty", "-json", fmt.Sprintf("/dev/fd/%d", w.Fd()),
		"-html", file, "-junit", "-")
	assert.Equal(t, exitHeld, status, complaint)
	require.NoError(t, w.Close())
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	for text, want := range map[string]string{string(<-piped): "{\n", string(page): "<!doctype html>\n", out: "<testsuite "} {
		assert.True(t, strings.HasPrefix(text, want), text)
		assert.Contains(t, text, "orders: []")
	}
}

// Only the owner can read a report, because it contains answers to an account. A failed run does not remove the
// report of an earlier run.
func TestReportReplacesTheOlderReport(t *testing.T) {
	dir := t.TempDir()
	report, link := filepath.Join(dir, "report"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(report, []byte("older"), 0o644))
	require.NoError(t, os.Symlink(report, link))
	for _, args := range []string{"-share 2", "-run none", "-run orders/empty -html /no/such/folder/r.html"} {
		probed(t, hotelstaystest.Config{}, strings.Fields(args+" -json "+report)...)
		testkit.AssertFiles(t, dir, "link", "report")
		testkit.AssertFile(t, report, []byte("older"))
	}
	failing := &output{to: reportFile{}, write: func(io.Writer, *probe.Report) error { return errors.New("disk full") }}
	assert.ErrorContains(t, failing.finish(nil), "disk full", "the error comes before the older report is replaced")

	status, _, complaint := probed(t, hotelstaystest.Config{}, "-run", "orders/empty", "-json", link)
	assert.Equal(t, exitHeld, status, complaint)
	testkit.AssertFiles(t, dir, "link", "report")
	info, err := os.Lstat(report)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	_, err = readReport(report)
	assert.NoError(t, err)
}

// The reports that -diff reads may be from an untrusted source.
func TestDiffPrintsNoControlCharacters(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;title\x07\u009b2J\u202e\r"
	dir := t.TempDir()
	for name, found := range map[string]string{"old": "one", "new": "two"} {
		rule := probe.Rule{Name: "x/y" + hostile, Section: "s" + hostile, Promise: "p" + hostile}
		text, err := json.Marshal(probe.Report{BaseURL: "b" + hostile, Notes: []string{hostile}, Results: []probe.Result{
			{Rule: rule, State: probe.Broken, Found: found + hostile, Reason: "r" + hostile, Curl: "curl\n\t-d x" + hostile},
			{Rule: probe.Rule{Name: name + hostile}, State: "st" + probe.State(hostile)},
		}, Facts: hotelstays.ServiceFacts{RefusalCodes: map[hotelstays.Operation][]int{hotelstays.Operation(found + hostile): {1}}}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	_, out, _ := probed(t, hotelstaystest.Config{}, "-diff", dir+"/old", dir+"/new")
	assert.False(t, strings.ContainsAny(out, "\x1b\x07\u009b\u202e\r"), "%q", out)
	assert.Contains(t, out, "\ncurl\n\t-d x")
}

func TestDiffPrintsTheResultsAndFactsThatChanged(t *testing.T) {
	dir := t.TempDir()
	for name, config := range map[string]hotelstaystest.Config{"old": {}, "new": {Variants: hotelstaystest.Variants{NullOrders: true}}} {
		probed(t, config, "-run", "orders/empty", "-run", map[string]string{"old": "voucher/unknown", "new": "metadata/size-above"}[name],
			"-json", filepath.Join(dir, name))
	}
	status, out, _ := probed(t, hotelstaystest.Config{}, "-diff", dir+"/old", dir+"/new")
	assert.Equal(t, exitBroken, status)
	for _, want := range []string{
		"  held      metadata/size-above\n            before: absent\n",
		"  found     orders/empty\n            orders: null\n            before: found orders: []\n",
		"  gone      voucher/unknown\n            before: held\n",
		"The facts before and now:\n\nhotelstays.ServiceFacts{}\n\nhotelstays.ServiceFacts{\n\tNullOrders: true,\n}\n",
	} {
		assert.Contains(t, out, want)
	}
	status, out, _ = probed(t, hotelstaystest.Config{}, "-diff", dir+"/old", dir+"/old")
	assert.Equal(t, exitHeld, status)
	assert.Contains(t, out, "\nNothing changed.\n")
}

func TestExitStatusTellsHeldBrokenWrongUsageAndFailedApart(t *testing.T) {
	facts := filepath.Join(t.TempDir(), "facts.json")
	require.NoError(t, os.WriteFile(facts, []byte(`{"nullOrders":true}`), 0o600))
	report := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(report, []byte(`{"facts":{"nullOrders":true}}`), 0o600))
	for args, want := range map[string]int{
		"-run orders/empty": exitHeld,
		"-run headers/timestamp -run value -fail-on untried": exitHeld, // a rule that got no answer to judge does not count as untried
		"-help":                               exitHeld,
		"-version":                            exitHeld,
		"-fail-on nothing":                    exitUsage,
		"-run orders/empty -facts " + facts:   exitBroken,
		"-run none":                           exitUsage,
		"-share 2":                            exitUsage,
		"-share NaN":                          exitUsage,
		"-timeout -1s":                        exitUsage,
		"-check-in tomorrow":                  exitUsage,
		"-market x -run orders/empty surplus": exitUsage,
		"-facts none.json":                    exitUsage,
		"-facts " + report:                    exitUsage,
		"-run orders/empty -json /no/such/folder/r.json": exitUsage,
		"-run orders/empty -html /no/such/folder/r.html": exitUsage,
		"-diff " + report:                               exitUsage,
		"-diff " + facts + " " + facts:                  exitUsage, // both files contain facts, not reports
		"-diff none.json none.json":                     exitUsage,
		"-run limits/above":                             exitFailed, // it needs -burst, so nothing was tried
		"-run session/life -patience 5m -timeout 200ms": exitFailed,
	} {
		status, out, complaint := probed(t, hotelstaystest.Config{}, strings.Fields(args)...)
		assert.Equal(t, want, status, "%s\n%s\n%s", args, out, complaint)
		if want != exitFailed {
			assert.Equal(t, want > exitBroken, strings.HasPrefix(complaint, "hotelstays-probe: "), args)
		}
		assert.True(t, args == "-help" || strings.Count(complaint, "\n") <= 1, "%s: %s", args, complaint)
		assert.Equal(t, want == exitBroken, strings.Contains(out, "\ncurl -sS "), args)
	}
	for failOn, want := range map[probe.State][]int{probe.Broken: {1, 0, 0, 0}, probe.Weak: {1, 1, 0, 0}, probe.NotTried: {1, 1, 1, 0}} {
		for i, result := range []probe.Result{{State: probe.Broken}, {State: probe.Weak}, {State: probe.NotTried, Reason: "it is gone"},
			{State: probe.NotTried, Reason: "needs -burst", Rule: probe.Rule{Needs: "-burst"}}} {
			report := &probe.Report{Results: []probe.Result{result, {State: probe.Held}}}
			assert.Equal(t, want[i], (&settings{failOn: failOn}).verdict(report), "%s: %s", failOn, result.State)
		}
	}
	for base, want := range map[string]int{"": exitUsage, "https://hotels.example": exitUsage, "http://127.0.0.1:1": exitFailed} {
		env := map[string]string{"HOTELSTAYS_BASE_URL": base, "HOTELSTAYS_APP_KEY": "key", "HOTELSTAYS_APP_SECRET": "secret"}
		var out, stderr bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		assert.Equal(t, want, run(ctx, nil, func(name string) string { return env[name] }, &printer{w: &out}, &stderr), base)
		assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		assert.Empty(t, out.String())
		cancel()
	}
}

// The output says once that the run ended early, not once for each rule.
func TestRunThatEndsEarlyWritesItsReport(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.json")
	status, out, complaint := probed(t, hotelstaystest.Config{}, "-run", "session/life", "-run", "ticket/wrong-secret",
		"-run", "webhook", "-patience", "5m", "-timeout", "1s", "-json", report)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, out, "waiting for session/life, until ")
	assert.NotContains(t, out, "deadline exceeded")
	assert.NotContains(t, out, "webhook/")
	assert.Contains(t, complaint, "the run ended early; the report has the results until then")
	read, err := readReport(report)
	require.NoError(t, err)
	assert.Positive(t, read.Count(probe.Held))
}

func TestProbeCancelsItsBookingsBeforeItEnds(t *testing.T) {
	port, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := port.Addr().String()
	require.NoError(t, port.Close())
	journal := filepath.Join(t.TempDir(), "journal")
	sandbox := hotelstaystest.Config{ConfirmAfter: hotelstaystest.AtOnce, VoucherDelay: hotelstaystest.AtOnce}
	status, out, complaint := probed(t, sandbox, "-book", "-max-total", "500.50EUR", "-journal", journal,
		"-callback", "http://"+address+"/events", "-listen", address, "-run", "webhook/delivered", "-run", "cancel/fee")
	assert.Equal(t, exitHeld, status, complaint)
	assert.Contains(t, out, "order_created order_paid order_modified order_cancelled")
	assert.Contains(t, out, "waiting for the cancellation of 1 bookings")
	assert.Contains(t, out, "0 held, 2 found, 0 weak, 0 broken, 0 not tried")
	text, err := os.ReadFile(journal)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"state":"cancelled"`)

	// The new sandbox has another port, so the journal belongs to another environment.
	status, out, complaint = probed(t, sandbox, "-cleanup", "-journal", journal)
	assert.Equal(t, exitUsage, status, complaint)
	assert.Contains(t, complaint, "another environment or account")
	assert.Regexp(t, `^cancelled probe-\w+\n$`, out)
}

func TestWrongFlagsForBookingsAreRefused(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, os.WriteFile(journal, []byte("a diary\n"), 0o600))
	for args, says := range map[string]string{
		"-book":                          "-book needs -max-total",
		"-book -max-total 500":           "such as 500EUR",
		"-book -max-total -5EUR":         "such as 500EUR",
		"-max-total 500EUR":              "need -book",
		"-callback https://you.example/": "need -book",
		"-book -cleanup":                 "use either -book or -cleanup",
		"-book -max-total 5EUR -listen nowhere -callback https://you.example/": "choose another",
		"-cleanup -journal " + journal:                                         "not a journal of the probe",
	} {
		status, _, complaint := probed(t, hotelstaystest.Config{}, strings.Fields(args)...)
		assert.Equal(t, exitUsage, status, args)
		assert.Contains(t, complaint, says)
	}
}
