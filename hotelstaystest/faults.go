// Faults: their kinds, and the choice of the fault that acts on a request.

package hotelstaystest

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// FaultKind is the effect of a [Fault].
type FaultKind string

// The kinds of fault. Faults that change the true answer always execute the operation. The other
// faults execute it only with [Fault.Commit].
const (
	// FaultDelay waits for Delay, then executes the operation. With Commit it executes the
	// operation first.
	FaultDelay FaultKind = "delay"
	// FaultStatus answers Status (default 503) with Code and Msg in the envelope, or with
	// Body.
	FaultStatus FaultKind = "status"
	// FaultCutBeforeRead closes the connection without reading the body of the request.
	FaultCutBeforeRead FaultKind = "cut-before-read"
	// FaultCut reads the request and closes the connection. Over HTTP/2 this also ends all other
	// streams of the connection.
	FaultCut FaultKind = "cut"
	// FaultCutMidResponse closes the connection after half of the true answer.
	FaultCutMidResponse FaultKind = "cut-mid-response"
	// FaultResetStream reads the request and resets the HTTP/2 stream. Over HTTP/1.1 it
	// acts like FaultCut.
	FaultResetStream FaultKind = "reset-stream"
	// FaultGarbage answers Status (default 200) with Body, by default an HTML page.
	FaultGarbage FaultKind = "garbage"
	// FaultTruncatedBody sends the first half of the true body as a complete HTTP
	// response.
	FaultTruncatedBody FaultKind = "truncated-body"
	// FaultEmptyBody answers Status (default 200) without a body.
	FaultEmptyBody FaultKind = "empty-body"
	// FaultWrongType changes the JSON type of the value at Field, a path such as
	// "data.hotelOrder.status" or "data.list.0.rating". The default is "data".
	FaultWrongType FaultKind = "wrong-type"
	// FaultSlowBody sends the true answer in ten pieces, spread over the time in Delay. If BytesPerSecond is set, it
	// sends the answer at this rate instead.
	FaultSlowBody FaultKind = "slow-body"
	// FaultAlteredBody flips a bit in the middle of the true body.
	FaultAlteredBody FaultKind = "altered-body"
)

// The kinds of fault of webhook deliveries, for [OpWebhook] only. FaultDelay and FaultAlteredBody
// also act on deliveries. Later events of the order do not wait for a delayed event.
// FaultAlteredBody flips the bit after signing. Skip and Times count delivery attempts.
const (
	// FaultDuplicate sends a webhook attempt twice. The copy follows after Delay. Only the answer to the original
	// decides on a retry.
	FaultDuplicate FaultKind = "duplicate"
	// FaultBadSignature signs a webhook attempt with a wrong secret.
	FaultBadSignature FaultKind = "bad-signature"
	// FaultDrop drops a webhook event. The event is neither sent nor retried.
	FaultDrop FaultKind = "drop"
)

// FaultKinds returns all kinds of fault.
func FaultKinds() []FaultKind { return slices.Clone(faultKinds) }

// faultKinds lists every FaultKind. A new kind also needs a description in openapi.json.
var faultKinds = []FaultKind{
	FaultDelay, FaultStatus, FaultCutBeforeRead, FaultCut, FaultCutMidResponse, FaultResetStream, FaultGarbage,
	FaultTruncatedBody, FaultEmptyBody, FaultWrongType, FaultSlowBody, FaultAlteredBody,
	FaultDuplicate, FaultBadSignature, FaultDrop,
}

var webhookKinds = []FaultKind{FaultDelay, FaultAlteredBody, FaultDuplicate, FaultBadSignature, FaultDrop}

// Fault is a failure that a test injects. With zero values in Operation, Skip, Times and Probability it acts once, on
// the next request.
type Fault struct {
	Operation Operation `json:"operation,omitempty"` // empty: every operation except OpWebhook
	Kind      FaultKind `json:"kind"`
	// Reference, if set, limits the fault to requests that name this customerReferenceNo or platformReferenceNo, or
	// to webhooks of that order. Operation must then be Book, QueryOrders, OrderVoucher, Cancel or Webhook. Faults
	// without Reference act before faults with Reference.
	Reference   string        `json:"reference,omitempty"`
	Skip        int           `json:"skip,omitempty"`        // number of matching requests that pass before the fault acts
	Times       int           `json:"times,omitempty"`       // how often the fault acts; 0: once, -1: always
	Probability float64       `json:"probability,omitempty"` // probability that the fault acts on a matching request; 0: always
	Commit      bool          `json:"commit,omitempty"`      // the operation is executed before the fault acts
	Delay       time.Duration `json:"delay,omitempty"`       // wait before the fault acts; ends early if the client disconnects
	Status      int           `json:"status,omitempty"`      // HTTP status
	Code        int           `json:"code,omitempty"`        // code in the envelope; default: the sandbox's code for Status, or 100000500
	Msg         string        `json:"msg,omitempty"`         // msg in the envelope; default: the status text
	RetryAfter  string        `json:"retryAfter,omitempty"`  // Retry-After header
	Header      http.Header   `json:"header,omitempty"`      // additional response headers
	Body        []byte        `json:"body,omitempty"`        // response body instead of the envelope
	Field       string        `json:"field,omitempty"`       // path of the value that FaultWrongType changes
	// BytesPerSecond is the rate of FaultSlowBody, before compression. If it is 0, the body takes Delay.
	BytesPerSecond int `json:"bytesPerSecond,omitempty"`
}

func (f *Fault) validate() error {
	onlyWebhooks := []FaultKind{FaultDuplicate, FaultBadSignature, FaultDrop}
	switch {
	case f.Operation != OpWebhook && slices.Contains(onlyWebhooks, f.Kind):
		return badField("operation", "fault %s needs operation %s", f.Kind, OpWebhook)
	case !slices.Contains(faultKinds, f.Kind):
		return badField("kind", "unknown fault kind %q", f.Kind)
	case f.Operation != "" && !slices.Contains(Operations(), f.Operation):
		return badField("operation", "fault %s: %q is not an operation", f.Kind, f.Operation)
	case f.Operation == OpWebhook && !slices.Contains(webhookKinds, f.Kind):
		return badField("kind", "fault %s does not act on webhooks", f.Kind)
	case f.Operation == OpWebhook && f.Commit:
		return badField("commit", "fault %s: a webhook executes no operation, so commit is not allowed", f.Kind)
	case f.Reference != "" && !slices.Contains(referenceOps, f.Operation):
		return badField("reference", "fault %s with a reference needs one of the operations %q", f.Kind, referenceOps)
	case f.Reference != "" && f.Kind == FaultCutBeforeRead:
		return badField("reference", "fault %s does not read the request, so it cannot find the reference; use %s", f.Kind, FaultCut)
	case f.Skip < 0:
		return badField("skip", "fault %s: skip cannot be negative", f.Kind)
	case f.Times < -1:
		return badField("times", "fault %s: times cannot be below -1", f.Kind)
	case f.Delay < 0:
		return badField("delay", "fault %s: delay cannot be negative", f.Kind)
	case f.BytesPerSecond < 0 || f.BytesPerSecond > 0 && (f.Kind != FaultSlowBody || f.Delay > 0):
		return badField("bytesPerSecond", "fault %s: bytesPerSecond is only for %s, and not together with delay", f.Kind, FaultSlowBody)
	case !(f.Probability >= 0 && f.Probability <= 1):
		return badField("probability", "fault %s: probability must be between 0 and 1", f.Kind)
	case f.Commit && f.Kind == FaultCutBeforeRead:
		return badField("commit", "fault %s does not read the request, so commit is impossible; use %s", f.Kind, FaultCut)
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return badField("status", "fault %s: status %d is not a final HTTP status", f.Kind, f.Status)
	}
	return nil
}

var referenceOps = []Operation{opBook, opQueryOrders, opOrderVoucher, opCancel, OpWebhook}

// keepsAnswer reports whether the fault sends the true answer, late or changed, instead of replacing it.
func (f *Fault) keepsAnswer() bool {
	switch f.Kind {
	case FaultStatus, FaultCut, FaultResetStream, FaultGarbage, FaultEmptyBody:
		return false
	}
	return true
}

const maxFaults = 10_000 // maximum number of waiting faults

type injectedFault struct {
	Fault
	id int
}

type faults struct {
	mu     sync.Mutex
	list   []injectedFault
	lastID int
	rng    *rand.Rand
}

func newFaults(seed uint64) *faults {
	fs := new(faults)
	fs.reset(seed)
	return fs
}

func (fs *faults) reset(seed uint64) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list, fs.rng = nil, rand.New(rand.NewPCG(seed, 0x666175))
}

func (fs *faults) add(f Fault) (injectedFault, error) {
	if err := f.validate(); err != nil {
		return injectedFault{}, err
	}
	f.Header = f.Header.Clone()
	f.Body = bytes.Clone(f.Body)
	if f.Times == 0 {
		f.Times = 1
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if len(fs.list) >= maxFaults {
		return injectedFault{}, refuse(http.StatusConflict, "", "there are %d faults already; remove some", maxFaults)
	}
	fs.lastID++
	added := injectedFault{f, fs.lastID}
	fs.list = append(fs.list, added)
	return added, nil
}

func (fs *faults) remove(matches func(injectedFault) bool) int {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	before := len(fs.list)
	fs.list = slices.DeleteFunc(fs.list, matches)
	return before - len(fs.list)
}

func (fs *faults) hasReference(op Operation) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.ContainsFunc(fs.list, func(f injectedFault) bool { return f.Operation == op && f.Reference != "" })
}

// all returns the faults that can still act. Skip and Times in the result are the numbers that remain.
func (fs *faults) all() []injectedFault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return slices.Clone(fs.list)
}

// pick returns the fault that acts on a request, or nil. Among the matching faults it takes the first whose Skip is used
// up and whose Probability lets the fault act. If references are given, only faults with a Reference match. Otherwise
// only faults without a Reference match.
func (fs *faults) pick(op Operation, references ...string) *Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for i := range fs.list {
		f := &fs.list[i]
		switch {
		case f.Operation != op && (f.Operation != "" || op == OpWebhook):
			continue
		case f.Reference == "" && len(references) > 0, f.Reference != "" && !slices.Contains(references, f.Reference):
			continue
		case f.Skip > 0:
			f.Skip--
			continue
		case f.Probability > 0 && fs.rng.Float64() >= f.Probability:
			continue
		}
		taken := f.Fault
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				fs.list = slices.Delete(fs.list, i, i+1)
			}
		}
		return &taken
	}
	return nil
}

func (s *Server) inject(f Fault) (injectedFault, error) {
	added, err := s.faults.add(f)
	if err == nil {
		s.ledger.note(EntryFaults)
	}
	return added, err
}

func (s *Server) removeFaults(matches func(injectedFault) bool) int {
	n := s.faults.remove(matches)
	if n > 0 {
		s.ledger.note(EntryFaults)
	}
	return n
}

// pickFault picks the fault that acts on a request or delivery, and adds an entry to the ledger.
func (s *Server) pickFault(op Operation, references ...string) *Fault {
	f := s.faults.pick(op)
	if f == nil && len(references) > 0 {
		f = s.faults.pick(op, references...)
	}
	if f != nil {
		s.ledger.note(EntryFaults)
	}
	return f
}
