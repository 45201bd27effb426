// The judge reads every exchange of a run, no matter which rule made it.

package probe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/judge"
)

// bench holds the findings of the judge, by rule.
type bench struct {
	judge  *judge.Judge
	masker *masker

	mu    sync.Mutex
	found map[string]*Result
}

func newBench(m *masker) *bench {
	return &bench{judge: judge.New(&judge.Options{MemoryAge: 24 * time.Hour}), masker: m, found: map[string]*Result{}}
}

// judges passes an exchange to the judge. For each rule it keeps the first exchange with the worst verdict.
func (b *bench) judges(of judge.Exchange, ex *Exchange) {
	was := b.judge.Look(of)
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := *ex
	kept.raw = nil // the unmasked answer is dropped, because the report outlives the run
	for name := range was.Tried {
		result := &Result{State: Held, Evidence: []Exchange{kept}}
		for _, f := range was.Findings {
			if f.Name == name {
				b.adds(result, f, of)
			}
		}
		verdicts := []State{Held, Found, Weak, Broken}
		if known := b.found[name]; known == nil || slices.Index(verdicts, known.State) < slices.Index(verdicts, result.State) {
			b.found[name] = result
		}
	}
}

// adds puts a finding about an exchange into the result of the rule that the exchange breaks.
func (b *bench) adds(result *Result, f judge.Finding, of judge.Exchange) {
	body, header := of.Body, of.Header
	if of.Event {
		body, header = of.RequestBody, of.Request
	}
	p := located(body, f.Path)
	got := p.shown()
	if value := header.Get(f.Path); f.Path == "HTTP status" {
		got = strconv.Itoa(of.Status)
	} else if p.v == strange("nothing") && value != "" {
		got = fmt.Sprintf("%q", value)
	}
	if result.Reason == "" {
		result.State, result.Curl = verdicts[f.Grade], result.Evidence[0].curl()
		result.Reason = cmp.Or(string(f.Operation), "event") + ": "
	} else {
		result.Reason += "; "
	}
	result.Reason += p.named("expected %s, got %s", f.Want, got)
	if f.More > 0 {
		result.Reason += fmt.Sprintf(", and %d more", f.More)
	}
	if ex := &result.Evidence[0]; len(body) > maxExcerpt && p.element != nil && ex.Element == "" {
		ex.Element = b.masker.body([]byte(encoded(p.element)), false)
	}
}

// verdicts maps the judge's grade of a finding to the state of the rule.
var verdicts = map[judge.Grade]State{judge.Violation: Broken, judge.Doubt: Weak, judge.Hint: Found}

// anAnswer is the Needs of a judge's rule that applied to no answer of the run.
const anAnswer = "an answer to which the rule applies"

// over returns the result of a rule, changed by what the judge has found so far. If ended is true, no rule becomes
// NotTried.
func (b *bench) over(res Result, ended bool) Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.found[res.Name]
	switch {
	case res.State == Broken, !slices.ContainsFunc(judge.Rules(), func(r judge.Rule) bool { return r.Name == res.Name }):
	case v != nil && v.State == Broken:
		res.State, res.Reason, res.Curl, res.Evidence = Broken, b.masker.short(v.Reason), v.Curl, v.Evidence
	case v != nil && v.State == Weak && res.State != Weak:
		res.State, res.Reason, res.Evidence = Weak, b.masker.short(v.Reason), v.Evidence
	case ended, res.State == NotTried:
	case v == nil && res.State == Held:
		res.State, res.Needs, res.Reason = NotTried, anAnswer, "needs "+anAnswer
	case v != nil && v.State == Found:
		res.State, res.Evidence = Found, v.Evidence
		res.Found = b.masker.short(strings.TrimPrefix(res.Found+"; "+v.Reason, "; "))
	case v != nil && len(res.Evidence) == 0:
		res.Evidence = v.Evidence
	}
	return res
}

// recall changes the results in the report by what the judge found after the rules were tried. It also adds broken
// rules that were not selected.
func (b *bench) recall(report *Report) {
	for i, result := range report.Results {
		if result.State != Broken {
			report.Results[i] = b.over(result, true)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.found)) {
		named := func(r Rule) bool { return r.Name == name }
		if b.found[name].State == Broken && !slices.ContainsFunc(report.Results, func(r Result) bool { return named(r.Rule) }) {
			all := Rules()
			rule := all[slices.IndexFunc(all, named)]
			rule.try = nil
			report.Results = append(report.Results, b.over(Result{Rule: rule}, true))
		}
	}
}
