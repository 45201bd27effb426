// The journal: the list of the last requests, the newest first.

package sandboxpage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

const maxJournal = 50 // maximum number of requests on one page

// entry is the template data for one request in the journal.
type entry struct {
	Seq            int64
	Arrived        time.Time
	Name           string
	Class, Outcome string
	Fault          hotelstaystest.FaultKind
	Reference      string
	Details        []detail
	Took           string
	Body, Answer   string
	Curl           string
}

type detail struct{ Name, Value string }

// newJournal returns one page of the requests that match the filter, the newest first.
func newJournal(base string, requests []hotelstaystest.Request, f filter) (newest []entry, page pages) {
	var matching []*hotelstaystest.Request
	for i := range requests {
		if r := &requests[len(requests)-1-i]; f.passesRequest(r) {
			matching = append(matching, r)
		}
	}
	shown, page := pageOf(matching, f.Requests, maxJournal)
	for _, r := range shown {
		newest = append(newest, newEntry(base, r))
	}
	return newest, page
}

func newEntry(base string, r *hotelstaystest.Request) entry {
	e := entry{Seq: r.Seq, Arrived: r.Arrived.UTC(), Name: string(r.Operation), Fault: r.Fault,
		Body: indented(r.Body), Answer: indented(r.Answer), Curl: curl(base, r)}
	if r.Operation == "" {
		e.Name = r.Method + " " + r.Path
	}
	e.Class, e.Outcome = outcome(r)
	if refs := r.References; len(refs) > 0 {
		e.Reference = refs[0]
	}
	add := func(name, value string) {
		if value != "" {
			e.Details = append(e.Details, detail{name, value})
		}
	}
	add("Request", r.Method+" "+r.Path+" "+r.Proto+" from "+r.ClientIP)
	add("Message", r.Msg)
	if !r.Done.IsZero() {
		e.Took = took(r.Done.Sub(r.Arrived))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		add(name, strings.Join(r.Header[name], ", "))
	}
	return e
}

// outcome returns the result of a request as the client sees it, such as "429 rate limit", and a CSS class for it.
func outcome(r *hotelstaystest.Request) (class, text string) {
	switch {
	case r.Done.IsZero():
		return "", "under way"
	case r.Cut && r.Executed:
		return "bad", "answer lost"
	case r.Cut:
		return "bad", "connection cut"
	case r.RateLimited:
		return "warn", "429 rate limit"
	case r.Status >= 400:
		return "bad", fmt.Sprintf("HTTP %d", r.Status)
	case r.Code != 0:
		return "warn", fmt.Sprintf("code %d", r.Code)
	case r.Fault != "" && r.Fault != hotelstaystest.FaultDelay && r.Fault != hotelstaystest.FaultSlowBody:
		return "warn", fmt.Sprintf("HTTP %d, changed by the fault", r.Status)
	}
	return "good", fmt.Sprintf("HTTP %d", r.Status)
}

// took formats the duration of a request, such as "12.3 ms".
func took(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// indented returns JSON with a line for each field. It returns any other text unchanged.
func indented(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

// curl returns a curl command that repeats a request. The token is the shell variable $TOKEN.
func curl(base string, r *hotelstaystest.Request) string {
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	words := []string{"curl -sS -X " + r.Method + " " + quoted(base+r.Path)}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		switch name {
		case "Accept-Encoding", "Connection", "Content-Length", "Cookie", "User-Agent":
		case "Authorization": // a variable stands for the token, because the journal does not keep it
			words = append(words, `-H "Authorization: Bearer $TOKEN"`)
		default:
			words = append(words, "-H "+quoted(name+": "+strings.Join(r.Header[name], ", ")))
		}
	}
	if r.Body != "" {
		words = append(words, "-d "+quoted(r.Body))
	}
	return strings.Join(words, " \\\n  ")
}
