// Faults: their kinds, and which one a request meets.

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

// FaultKind is the effect of a [Fault].
type FaultKind string

// The kinds of fault. Those that spoil the true answer always execute the operation. The
// others execute it only with [Fault.Commit].
const (
	// FaultDelay waits for Delay, then executes the operation. With Commit it executes
	// first.
	FaultDelay FaultKind = "delay"
	// FaultStatus answers Status (default 503) with Code and Msg in the envelope, or with
	// Body.
	FaultStatus FaultKind = "status"
	// FaultCutBeforeRead closes the connection without reading the body.
	FaultCutBeforeRead FaultKind = "cut-before-read"
	// FaultCut reads the request and closes the connection, over HTTP/2 with all its
	// other streams.
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
	// FaultSlowBody sends the true answer in ten pieces over Delay, or at BytesPerSecond.
	FaultSlowBody FaultKind = "slow-body"
	// FaultWrongDigest makes OrderVoucher answer a wrong digest. For OpOrderVoucher only.
	FaultWrongDigest FaultKind = "wrong-digest"
	// FaultAlteredBody flips a bit in the middle of the true body.
	FaultAlteredBody FaultKind = "altered-body"
	// FaultWrongSize makes OrderVoucher answer a byteSize that is one too high. For
	// OpOrderVoucher only.
	FaultWrongSize FaultKind = "wrong-size"
	// FaultExpiredLink answers like a downloadUrl that has expired.
	FaultExpiredLink FaultKind = "expired-link"
)

// The kinds of fault of webhook deliveries, for [OpWebhook] only. FaultDelay and
// FaultAlteredBody act on deliveries as well: later events of the order do not wait for a
// delayed one, and the bit flips after signing. Skip and Times count delivery attempts.
const (
	// FaultDuplicate sends an attempt twice, the copy after Delay. Only the answer to the
	// original decides on a retry.
	FaultDuplicate FaultKind = "duplicate"
	// FaultReorder holds an event back until the first attempt of the order's next event,
	// at most for Delay (default a minute).
	FaultReorder FaultKind = "reorder"
	// FaultBadSignature signs an attempt with a wrong secret.
	FaultBadSignature FaultKind = "bad-signature"
	// FaultDrop loses an event: it is not sent and not retried.
	FaultDrop FaultKind = "drop"
)

var webhookKinds = []FaultKind{FaultDelay, FaultAlteredBody, FaultDuplicate, FaultReorder, FaultBadSignature, FaultDrop}

// Fault is a failure on demand. With zero values in Operation, Skip, Times and
// Probability it acts once, on the next request.
type Fault struct {
	Operation   Operation // empty: every operation except OpWebhook
	Kind        FaultKind
	Skip        int           // matching requests that pass first
	Times       int           // how often it acts; 0: once, -1: always
	Probability float64       // that it acts on a matching request; 0: always
	Commit      bool          // execute the operation before the fault acts
	Delay       time.Duration // before it acts; ends early when the client leaves
	Status      int           // HTTP status
	Code        int           // in the envelope; default: the code of Status, or CodeUpstream
	Msg         string        // in the envelope; default: the status text
	RetryAfter  string        // header
	Header      http.Header   // more response headers
	Body        []byte        // instead of the envelope
	Field       string        // for FaultWrongType
	// BytesPerSecond is the rate of FaultSlowBody, before compression; 0: Delay decides.
	BytesPerSecond int
}

func (f *Fault) validate() error {
	switch f.Kind {
	case FaultDelay, FaultStatus, FaultCutBeforeRead, FaultCut, FaultCutMidResponse, FaultResetStream, FaultGarbage,
		FaultTruncatedBody, FaultEmptyBody, FaultWrongType, FaultSlowBody, FaultAlteredBody,
		FaultExpiredLink:
	case FaultWrongDigest, FaultWrongSize:
		if f.Operation != OpOrderVoucher {
			return fmt.Errorf("fault %s needs Operation OpOrderVoucher", f.Kind)
		}
	case FaultDuplicate, FaultReorder, FaultBadSignature, FaultDrop:
		if f.Operation != OpWebhook {
			return fmt.Errorf("fault %s needs Operation OpWebhook", f.Kind)
		}
	default:
		return fmt.Errorf("unknown fault kind %q", f.Kind)
	}
	switch {
	case !f.Operation.faulty():
		return fmt.Errorf("fault %s: %q is not an operation", f.Kind, f.Operation)
	case f.Operation == OpWebhook && (f.Commit || !slices.Contains(webhookKinds, f.Kind)):
		return fmt.Errorf("fault %s does not act on webhooks, or Commit is set", f.Kind)
	case f.Skip < 0, f.Times < -1, f.Delay < 0:
		return fmt.Errorf("fault %s: Skip and Delay cannot be negative, Times cannot be below -1", f.Kind)
	case f.BytesPerSecond < 0 || f.BytesPerSecond > 0 && (f.Kind != FaultSlowBody || f.Delay > 0):
		return fmt.Errorf("fault %s: BytesPerSecond is the rate of %s, without Delay", f.Kind, FaultSlowBody)
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("fault %s: Probability must be between 0 and 1", f.Kind)
	case f.Commit && f.Kind == FaultCutBeforeRead:
		return fmt.Errorf("fault %s reads no request, so Commit cannot act; use %s", f.Kind, FaultCut)
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("fault %s: status %d is not a final HTTP status", f.Kind, f.Status)
	}
	return nil
}

// faulty reports whether a fault can name op.
func (op Operation) faulty() bool {
	switch op {
	case "", OpVoucherDownload, OpVoucherVerify, OpWebhook:
		return true
	}
	return op.documented()
}

// keepsAnswer reports whether the fault needs the true answer.
func (f *Fault) keepsAnswer() bool {
	switch f.Kind {
	case FaultStatus, FaultCut, FaultResetStream, FaultGarbage, FaultEmptyBody, FaultExpiredLink:
		return false
	}
	return true
}

type faults struct {
	mu   sync.Mutex
	list []*Fault
	rng  *rand.Rand
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

// add adds a fault unless it is invalid.
func (fs *faults) add(f Fault) error {
	if err := f.validate(); err != nil {
		return err
	}
	f.Header = f.Header.Clone()
	f.Body = bytes.Clone(f.Body)
	if f.Times == 0 {
		f.Times = 1
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = append(fs.list, &f)
	return nil
}

func (fs *faults) waiting() []Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	out := make([]Fault, len(fs.list))
	for i, f := range fs.list {
		out[i] = *f
		out[i].Header, out[i].Body = f.Header.Clone(), bytes.Clone(f.Body)
	}
	return out
}

func (fs *faults) clear() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = nil
}

// pick returns the fault that a request meets, or nil: the first that matches, has no
// Skip left and wins its draw.
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
