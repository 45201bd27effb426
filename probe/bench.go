// The judge reads every exchange of a run, no matter which rule made it.

package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go/judge"
)

// bench holds the worst verdict of the judge on each rule.
type bench struct {
	judge  *judge.Judge
	masker *masker

	mu    sync.Mutex
	found map[string]verdict
}

// verdict is the state of a rule, with the findings of the exchange that decided it.
type verdict struct {
	state    State
	findings []judge.Finding
	ex       *exchange
}

func newBench(m *masker) *bench {
	return &bench{judge: judge.New(&judge.Options{MemoryAge: 24 * time.Hour}), masker: m, found: map[string]verdict{}}
}

// judges passes an exchange to the judge. For each rule, judges stores the first exchange with the worst verdict.
func (b *bench) judges(ex *exchange) {
	was := b.judge.Look(ex.Exchange)
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range was.Tried {
		now := verdict{state: Held, ex: ex}
		for _, f := range was.Findings {
			if f.Name == name {
				now.state, now.findings = verdicts[f.Grade], append(now.findings, f)
			}
		}
		worse := []State{Held, Found, Weak, Broken}
		if slices.Index(worse, now.state) > slices.Index(worse, b.found[name].state) {
			b.found[name] = now
		}
	}
}

// described returns a finding as a text. If the body in the evidence is cut off, described adds the guilty element to the evidence.
func (b *bench) described(f judge.Finding, of *exchange, evidence *Exchange) string {
	body, header := of.Body, of.Header
	if of.Event {
		body, header = of.RequestBody, of.Request
	}
	p := located(body, f.Path)
	got := p.shown()
	if value := header.Get(f.Path); f.Path == "HTTP status" {
		got = strconv.Itoa(of.Status)
	} else if p.v == (missing{}) && value != "" {
		got = strconv.Quote(value)
	}
	if len(body) > maxExcerpt && p.element != nil && evidence.Element == "" {
		evidence.Element = b.masker.body([]byte(encoded(p.element)), false)
	}
	text := p.named("expected %s, got %s", f.Want, got)
	if f.More > 0 {
		text += fmt.Sprintf(", and %d more", f.More)
	}
	return text
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
	if found.ex == nil {
		rule.Needs = anAnswer
		return Result{Rule: rule, State: NotTried, Reason: "needs " + anAnswer}
	}
	evidence := b.masker.exchange(found.ex)
	var texts []string
	for _, f := range found.findings {
		texts = append(texts, b.described(f, found.ex, &evidence))
	}
	result := Result{Rule: rule, State: found.state, Evidence: []Exchange{evidence}}
	if len(texts) == 0 {
		return result
	}
	result.Curl = evidence.curl()
	result.Reason = b.masker.short(cmp.Or(string(found.findings[0].Operation), "event") + ": " + strings.Join(texts, "; "))
	if result.State == Found {
		result.Found, result.Reason = result.Reason, ""
	}
	return result
}
