// What changed from one report to another.

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/probe"
)

// gone is the state of a rule that the newer report does not have.
const gone probe.State = "gone"

func readReport(name string) (*probe.Report, error) {
	report := &probe.Report{}
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, report)
	}
	if err == nil && len(report.Results) == 0 {
		err = errors.New("not written by -json")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return report, nil
}

// diff prints the rules whose state or finding changed from the first file to the second, and the facts if they did. It
// reports whether anything changed.
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
		fmt.Fprintf(p.w, "\nThe facts before and now:\n\n%s\n\n%s\n", before.FactsGo(), after.FactsGo())
	}
	if !changed {
		p.line(0, "Nothing changed.")
	}
	return changed, nil
}
