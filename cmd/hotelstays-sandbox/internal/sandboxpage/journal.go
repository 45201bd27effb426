// The journal: the last requests, newest first.

package sandboxpage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

const maxJournal = 50 // requests

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

func newJournal(requests []hotelstaystest.Request) (newest []entry) {
	for _, r := range slices.Backward(requests[max(0, len(requests)-maxJournal):]) {
		newest = append(newest, newEntry(&r))
	}
	return newest
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
