// The journal: requests, newest first, with search and pages.

package sandboxpage

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

const journalPage = 50 // requests on a page

type journal struct {
	Text      string // searched for
	Operation hotelstaystest.Operation
	Requests  []entry
	Note      string
	Newer     string // URLs of other pages
	Older     string
}

// entry is a request of the journal.
type entry struct {
	Seq            int64
	Arrived        time.Time
	Name           string
	Class, Outcome string
	Fault          hotelstaystest.FaultKind
	Reference      string
	Details        []detail
	Body, Answer   string
}

type detail struct{ Name, Value string }

func newJournal(ledger *hotelstaystest.Ledger, requests []hotelstaystest.Request, query url.Values) journal {
	j := journal{Text: strings.TrimSpace(query.Get("q")), Operation: hotelstaystest.Operation(query.Get("operation"))}
	before, err := strconv.ParseInt(query.Get("before"), 10, 64)
	if err == nil {
		j.Newer = j.url(0)
	}
	found, last := 0, int64(0)
	for i := len(requests) - 1; i >= 0; i-- {
		r := &requests[i]
		if err == nil && r.Seq >= before || !j.matches(r) {
			continue
		}
		if found++; found > journalPage {
			j.Older = j.url(last)
			break
		}
		j.Requests, last = append(j.Requests, newEntry(r)), r.Seq
	}
	j.Note = fmt.Sprintf("%d requests since the start", ledger.Count(""))
	if kept := len(requests); kept < ledger.Count("") {
		j.Note += fmt.Sprintf("; the oldest %d were dropped to save memory", ledger.Count("")-kept)
	}
	if found == 0 {
		j.Note += "; none matches"
	}
	j.Note += "."
	return j
}

func (j *journal) url(before int64) string {
	query := url.Values{}
	for name, value := range map[string]string{"q": j.Text, "operation": string(j.Operation)} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if before > 0 {
		query.Set("before", strconv.FormatInt(before, 10))
	}
	return control + "?" + query.Encode() + "#journal"
}

func (j *journal) matches(r *hotelstaystest.Request) bool {
	if j.Operation != "" && r.Operation != j.Operation {
		return false
	}
	return j.Text == "" || contains(r, strings.ToLower(j.Text))
}

// contains searches a request for a text in lower case.
func contains(r *hotelstaystest.Request, text string) bool {
	parts := []string{string(r.Operation), r.Path, r.RequestID, r.TraceID, r.Msg, r.Body, r.Answer}
	for name, values := range r.Header {
		parts = append(parts, name+": "+strings.Join(values, ", "))
	}
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(strings.ToLower(part), text) })
}

func newEntry(r *hotelstaystest.Request) entry {
	e := entry{Seq: r.Seq, Arrived: r.Arrived.UTC(), Name: string(r.Operation), Fault: r.Fault,
		Body: r.Body, Answer: r.Answer}
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
		add("Took", r.Done.Sub(r.Arrived).Round(time.Microsecond).String())
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		add(name, strings.Join(r.Header[name], ", "))
	}
	return e
}

// outcome returns the class of a request and what the client has of it.
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
		return "warn", fmt.Sprintf("HTTP %d, spoiled", r.Status)
	}
	return "good", fmt.Sprintf("HTTP %d", r.Status)
}
