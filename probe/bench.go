// The judge reads every exchange of a run, no matter which rule made it.

package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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

// judges passes an exchange to the judge. For each rule, judges stores the first exchange with the worst verdict.
func (b *bench) judges(ex *exchange) {
	was := b.judge.Look(ex.Exchange)
	masked := sync.OnceValue(func() Exchange { return b.masker.exchange(ex) })
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range was.Tried {
		result := &Result{State: Held}
		var findings []judge.Finding
		for _, f := range was.Findings {
			if f.Name == name {
				findings = append(findings, f)
			}
		}
		if len(findings) > 0 {
			result.State = verdicts[findings[0].Grade]
		}
		worse := []State{Held, Found, Weak, Broken}
		if known := b.found[name]; known != nil && slices.Index(worse, known.State) >= slices.Index(worse, result.State) {
			continue
		}
		result.Evidence = []Exchange{masked()}
		for _, f := range findings {
			b.adds(result, f, ex)
		}
		b.found[name] = result
	}
}

// adds puts a finding about an exchange into the result of the rule that the exchange breaks.
func (b *bench) adds(result *Result, f judge.Finding, of *exchange) {
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
		result.Curl = result.Evidence[0].curl()
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

// anAnswer is the value of Result.Needs if the rule applied to no answer of the run.
const anAnswer = "an answer to which the rule applies"

// result returns what the judge has found about a rule.
func (b *bench) result(rule Rule) Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := b.found[rule.Name]
	if found == nil {
		rule.Needs = anAnswer
		return Result{Rule: rule, State: NotTried, Reason: "needs " + anAnswer}
	}
	result := *found
	result.Rule, result.Reason = rule, b.masker.short(found.Reason)
	if result.State == Found {
		result.Found, result.Reason = result.Reason, ""
	}
	return result
}
