// Faults: what they are, and how the next one is chosen.

package hotelstaystest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// FaultKind says what a [Fault] does.
type FaultKind string

// The kinds of fault. Those that need the true answer to spoil it always carry the
// operation out; for the others [Fault.Commit] decides.
const (
	// FaultDelay waits for Delay, then answers as usual: before the operation is
	// carried out, or after it with Commit.
	FaultDelay FaultKind = "delay"
	// FaultStatus answers with Status (default 503): {code, msg} in the envelope,
	// or Body as it is, when there is one.
	FaultStatus FaultKind = "status"
	// FaultCutBeforeRead closes the connection without reading the body.
	FaultCutBeforeRead FaultKind = "cut-before-read"
	// FaultCut closes the connection after the request was read, without an answer.
	// Over HTTP/2 everything else on that connection ends with it.
	FaultCut FaultKind = "cut"
	// FaultCutMidResponse closes the connection in the middle of the true answer.
	FaultCutMidResponse FaultKind = "cut-mid-response"
	// FaultResetStream ends the exchange without an answer: over HTTP/2 by a reset
	// of the stream alone, over HTTP/1.1 like FaultCut.
	FaultResetStream FaultKind = "reset-stream"
	// FaultGarbage answers 200 (or Status) with Body, by default an HTML page.
	FaultGarbage FaultKind = "garbage"
	// FaultTruncatedBody sends the first half of the true body as a complete HTTP
	// response.
	FaultTruncatedBody FaultKind = "truncated-body"
	// FaultEmptyBody answers 200 (or Status) without a body.
	FaultEmptyBody FaultKind = "empty-body"
	// FaultWrongType answers with the true JSON in which the value at Field (a path
	// such as "data.hotelOrder.status" or "data.list.0.rating"; default "data") has
	// another JSON type.
	FaultWrongType FaultKind = "wrong-type"
	// FaultSlowBody sends the true answer in pieces over Delay.
	FaultSlowBody FaultKind = "slow-body"
	// FaultWrongDigest makes OrderVoucher state the digest of other bytes; for
	// OpOrderVoucher alone.
	FaultWrongDigest FaultKind = "wrong-digest"
	// FaultAlteredBody flips a bit in the middle of the true answer; meant for
	// VoucherDownload.
	FaultAlteredBody FaultKind = "altered-body"
	// FaultWrongSize makes OrderVoucher state one byte more than the document has;
	// for OpOrderVoucher alone.
	FaultWrongSize FaultKind = "wrong-size"
	// FaultExpiredLink makes VoucherDownload refuse a link as expired.
	FaultExpiredLink FaultKind = "expired-link"
)

// The kinds of fault of webhook deliveries, for [OpWebhook] alone. Of the kinds above,
// two act on deliveries as well: FaultDelay, behind which later events of the order do
// not wait, and FaultAlteredBody, which flips a bit of the body after it was signed.
// What Skip and Times count are attempts to deliver an event.
const (
	// FaultDuplicate sends an attempt twice: at once, or the second Delay later. How
	// the first is answered decides whether there is a retry.
	FaultDuplicate FaultKind = "duplicate"
	// FaultReorder holds an event back until the order's next event has had its first
	// attempt, at most for Delay (default a minute).
	FaultReorder FaultKind = "reorder"
	// FaultBadSignature signs an attempt with another secret.
	FaultBadSignature FaultKind = "bad-signature"
	// FaultDrop loses an event: nothing is sent, nor tried again.
	FaultDrop FaultKind = "drop"
)

// webhookKinds are the faults that a delivery knows.
var webhookKinds = []FaultKind{FaultDelay, FaultAlteredBody, FaultDuplicate, FaultReorder, FaultBadSignature, FaultDrop}

// Fault is a failure on demand. The zero values mean: every operation, from the
// next request on, once, for certain.
type Fault struct {
	Operation   Operation // empty: every operation, but no webhook delivery
	Kind        FaultKind
	Skip        int           // let this many matching requests pass first
	Times       int           // how often it acts; 0 means once, -1 always
	Probability float64       // of acting on a matching request; 0 means certain. Drawn from the server's seed
	Commit      bool          // carry the operation out before the fault acts
	Delay       time.Duration // wait this long before acting; ends early when the client goes or the server closes
	Status      int           // HTTP status
	Code        int           // code in the envelope; default: the documented one for Status, else CodeUpstream
	Msg         string        // msg in the envelope; default: the status text
	RetryAfter  string        // Retry-After header
	Header      http.Header   // further response headers
	Body        []byte        // body instead of an envelope
	Field       string        // for FaultWrongType
}

// validate refuses a fault that cannot do what it says.
func (f *Fault) validate() error {
	switch f.Kind {
	case FaultDelay, FaultStatus, FaultCutBeforeRead, FaultCut, FaultCutMidResponse, FaultResetStream, FaultGarbage,
		FaultTruncatedBody, FaultEmptyBody, FaultWrongType, FaultSlowBody, FaultAlteredBody,
		FaultExpiredLink:
	case FaultWrongDigest, FaultWrongSize:
		if f.Operation != OpOrderVoucher {
			return fmt.Errorf("fault %s: it acts on the answers of OrderVoucher; set Operation to OpOrderVoucher", f.Kind)
		}
	case FaultDuplicate, FaultReorder, FaultBadSignature, FaultDrop:
		if f.Operation != OpWebhook {
			return fmt.Errorf("fault %s: it acts on webhook deliveries; set Operation to OpWebhook", f.Kind)
		}
	default:
		return fmt.Errorf("unknown fault kind %q", f.Kind)
	}
	switch {
	case !f.Operation.faulty():
		return fmt.Errorf("fault %s: %q is not an operation", f.Kind, f.Operation)
	case f.Operation == OpWebhook && (f.Commit || !slices.Contains(webhookKinds, f.Kind)):
		return fmt.Errorf("fault %s: not one of a webhook delivery (or with Commit, which it does not know)", f.Kind)
	case f.Skip < 0, f.Times < -1, f.Delay < 0:
		return fmt.Errorf("fault %s: Skip and Delay cannot be negative, nor Times below -1", f.Kind)
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("fault %s: Probability must be between 0 and 1", f.Kind)
	case f.Commit && f.Kind == FaultCutBeforeRead:
		return fmt.Errorf("fault %s: nothing is read, so nothing can be carried out; use %s", f.Kind, FaultCut)
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("fault %s: status %d is not a final HTTP status", f.Kind, f.Status)
	}
	return nil
}

// faulty tells the operations that faults can be for.
func (op Operation) faulty() bool {
	switch op {
	case "", OpVoucherDownload, OpVoucherVerify, OpWebhook:
		return true
	}
	return op.documented()
}

// keepsAnswer says whether the fault spoils the true answer, which it then needs.
func (f *Fault) keepsAnswer() bool {
	switch f.Kind {
	case FaultStatus, FaultCut, FaultResetStream, FaultGarbage, FaultEmptyBody, FaultExpiredLink:
		return false
	}
	return true
}

// faults holds the faults that wait for their request.
type faults struct {
	mu   sync.Mutex
	list []*Fault
	rng  *rand.Rand
}

func newFaults(seed uint64) *faults { return &faults{rng: rand.New(rand.NewPCG(seed, 0x666175))} }

// add puts a fault at the end of the list.
func (fs *faults) add(f Fault) {
	f.Header = f.Header.Clone()
	f.Body = bytes.Clone(f.Body)
	if f.Times == 0 {
		f.Times = 1
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = append(fs.list, &f)
}

func (fs *faults) clear() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = nil
}

// pick chooses the fault for a request: the first that matches, is past its Skip
// and wins its draw. Nil means none.
func (fs *faults) pick(op Operation) *Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for i, f := range fs.list {
		if f.Operation != op && (f.Operation != "" || op == OpWebhook) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Probability > 0 && fs.rng.Float64() >= f.Probability {
			continue
		}
		taken := *f
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				fs.list = append(fs.list[:i:i], fs.list[i+1:]...)
			}
		}
		return &taken
	}
	return nil
}
