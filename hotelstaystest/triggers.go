// Triggers: faults that the value of a request's Test header asks for.

package hotelstaystest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

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

// parseFault reads a kind and fields, such as "status,status=504,commit".
func parseFault(op Operation, reference, text string) (Fault, error) {
	kind, rest, more := strings.Cut(text, ",")
	f := Fault{Operation: op, Kind: FaultKind(kind), Reference: reference}
	for more {
		var field string
		field, rest, more = strings.Cut(rest, ",")
		name, value, _ := strings.Cut(field, "=")
		if err := f.setField(name, value); err != nil {
			return Fault{}, err
		}
	}
	return f, f.validate()
}

// setField sets a field by the name that it has in the control API.
func (f *Fault) setField(name, value string) (err error) {
	switch name {
	case "commit":
		if f.Commit = true; value != "" {
			f.Commit, err = strconv.ParseBool(value)
		}
	case "delay":
		f.Delay, err = time.ParseDuration(value)
	case "skip":
		f.Skip, err = strconv.Atoi(value)
	case "times":
		f.Times, err = strconv.Atoi(value)
	case "status":
		f.Status, err = strconv.Atoi(value)
	case "code":
		f.Code, err = strconv.Atoi(value)
	case "bytesPerSecond":
		f.BytesPerSecond, err = strconv.Atoi(value)
	case "msg":
		f.Msg = value
	case "retryAfter":
		f.RetryAfter = value
	case "field":
		f.Field = value
	default:
		return fmt.Errorf("unknown field %q", name)
	}
	if err != nil {
		return fmt.Errorf("%s has the malformed value %q", name, value)
	}
	return nil
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
