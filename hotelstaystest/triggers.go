// Triggers: faults that the value of a request's Test header asks for.

package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go/types"
)

// trigger is what a Test header asks for.
type trigger struct {
	fault *Fault  // of this request
	later []Fault // of the order that this Book makes
	err   error   // the value is malformed
}

// readTrigger reads the Test header of a call that takes one. Values that do not begin with
// "sandbox." mean nothing to the sandbox.
func (s *Server) readTrigger(c *call) {
	value := strings.TrimSpace(c.header.Get("Test"))
	if s.cfg.Control.Enabled && c.op.session != sessionNone && strings.HasPrefix(value, "sandbox.") {
		c.trigger = parseTrigger(value, c.op.name)
	}
}

// parseTrigger reads "sandbox.fault=<kind>[,<field>=<value>...]" and
// "sandbox.later=<operation>:<kind>[,<field>=<value>...]", separated by semicolons.
func parseTrigger(value string, op Operation) trigger {
	var t trigger
	for part := range strings.SplitSeq(value, ";") {
		name, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case name == "sandbox.fault" && t.fault == nil:
			f, err := parseFault(op, "", text)
			if err == nil && (f.Skip != 0 || f.Times != 0) {
				err = fmt.Errorf("%s acts on its own request, so it takes no skip and no times", name)
			}
			if err != nil {
				return trigger{err: err}
			}
			t.fault = &f
		case name == "sandbox.later" && op == types.OpBook:
			later, text, _ := strings.Cut(text, ":")
			f, err := parseFault(Operation(later), "of this Book", text)
			if err != nil {
				return trigger{err: err}
			}
			t.later = append(t.later, f)
		default:
			return trigger{err: fmt.Errorf("%q is not a trigger of %s; use sandbox.fault once, with Book sandbox.later too", name, op)}
		}
	}
	return t
}

// triggerFields are the fields of a fault that a trigger may have.
var triggerFields = []string{"commit", "delay", "skip", "times", "status", "code", "bytesPerSecond", "msg", "retryAfter", "field"}

// parseFault reads a kind and fields, such as "status,status=504,commit". Their names and values are
// those of the control API.
func parseFault(op Operation, reference, text string) (Fault, error) {
	kind, rest, more := strings.Cut(text, ",")
	var f controlFault
	for more {
		var field string
		field, rest, more = strings.Cut(rest, ",")
		name, value, given := strings.Cut(field, "=")
		if !slices.Contains(triggerFields, name) {
			return Fault{}, fmt.Errorf("unknown field %q", name)
		}
		if name == "commit" && !given {
			value = "true"
		}
		quoted := fmt.Sprintf(`{%q:%q}`, name, value)
		if decodeStrict([]byte(quoted), &f) != nil && decodeStrict(fmt.Appendf(nil, `{%q:%s}`, name, value), &f) != nil {
			return Fault{}, fmt.Errorf("%s has the malformed value %q", name, value)
		}
	}
	f.Operation, f.Kind, f.Reference = op, FaultKind(kind), reference
	fault := f.fault()
	return fault, fault.validate()
}

// plant injects the faults for calls after this Book, and returns what removes them.
func (s *Server) plant(c *call, body []byte) (remove func()) {
	var req struct{ CustomerReferenceNo string }
	if len(c.trigger.later) > 0 {
		json.Unmarshal(body, &req) // Book refuses what is not readable
	}
	if req.CustomerReferenceNo == "" {
		return func() {}
	}
	ids := map[int]bool{}
	for _, f := range c.trigger.later {
		f.Reference = req.CustomerReferenceNo
		if added, err := s.inject(f); err == nil {
			ids[added.id] = true
		}
	}
	return func() { s.removeFaults(func(f planted) bool { return ids[f.id] }) }
}
