// Options of calls: their types, and the headers that they set.

package hotelstays

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"time"
)

// CallOption is an option of one call. It wins over the option of the client. Every method
// and helper that sends a request takes it.
type CallOption interface {
	IterOption
	WaitOption
	VoucherOption
	applyCall(*settings)
}

// BatchOption is an option of HotelListBatches.
type BatchOption interface{ applyBatch(*batchSettings) }

// IterOption is an option of WalkDestinations, HotelsMetadataAll and HotelListBatches.
type IterOption interface {
	BatchOption
	applyIter(*iterSettings)
}

// RecoverOption is an option of BookAndRecover and RecoverBooking.
type RecoverOption interface{ applyRecover(*recoverSettings) }

// WaitOption is an option of AwaitOrder, AwaitVoucher, BookAndRecover and RecoverBooking.
type WaitOption interface {
	RecoverOption
	applyWait(*waitSettings)
}

// VoucherOption is an option of SaveVoucher, OpenVoucher and DownloadVoucher.
type VoucherOption interface{ applyVoucher(*voucherSettings) }

// JoinCallOptions joins options, so that []CallOption can be passed where another type of
// option is expected.
func JoinCallOptions(opts ...CallOption) CallOption {
	opts = slices.Clone(opts)
	return callOption(func(s *settings) { applyAll(opts, s, CallOption.applyCall) })
}

type optionHeader int

const (
	headerLanguage optionHeader = iota
	headerMarket
	headerUserRef
	headerClientIP
	headerCurrency
	headerTest
	headerTraceID
	headerCount
)

type headerRule struct {
	name   string // in net/http's canonical form
	option string
	sentOn func(*operation) bool
	check  func(value string) string // returns the fault, or ""
}

func everywhere(*operation) bool       { return true }
func withToken(op *operation) bool     { return !op.noAuth }
func inBookingFlow(op *operation) bool { return op.bookingFlow }
func unchecked(string) (none string)   { return "" }

var headerRules = [headerCount]headerRule{
	headerLanguage: {"Language", "WithLanguage", everywhere, checkLanguage},
	headerMarket:   {"Market", "WithMarket", withToken, checkMarket},
	headerUserRef:  {"User-Ref", "WithUserRef", withToken, unchecked},
	headerClientIP: {"Ip", "WithClientIP", everywhere, checkIP},
	headerCurrency: {"Currency", "WithCurrency", inBookingFlow, checkCurrency},
	headerTest:     {"Test", "WithTestFlags", inBookingFlow, unchecked},
	headerTraceID:  {"Trace-Id", "WithTraceID", everywhere, unchecked},
}

// settings are the options of a call, or of a client for all its calls.
type settings struct {
	headers   [headerCount]string
	requestID func() (string, error)
	timestamp func(time.Time) (string, error)
	timeout   time.Duration
	rawData   bool
	recovers  bool // a poll of a recovery, which no quota refuses
	queued    bool // the time limit is that of each attempt, and begins with its slot
	facts     *ServiceFacts
	validation
}

type iterSettings struct {
	settings
	parallelism int
}

type batchSettings struct {
	iterSettings
	size int
}

type waitSettings struct {
	settings
	wakeup <-chan struct{}
}

type recoverSettings struct {
	waitSettings
	save func(context.Context, *BookingRecovery) error
}

type voucherSettings struct {
	settings
	method        Operation // that was called, for errors
	allowUnsigned bool
	maxBytes      int64
}

func applyAll[O any, S interface{ problems() *faults }](opts []O, into S, apply func(O, S)) {
	for _, opt := range opts {
		if any(opt) == nil {
			into.problems().add("opts", "holds a nil option")
			continue
		}
		apply(opt, into)
	}
}

func (s *settings) problems() *faults { return &s.faults }

func collect(opts []CallOption) (set settings) {
	applyAll(opts, &set, CallOption.applyCall)
	return set
}

// option returns s as an option of the calls that a helper makes.
func (s settings) option() CallOption {
	return callOption(func(into *settings) { *into = s })
}

// forOperation returns s without the headers that op does not take.
func (s settings) forOperation(op Operation) settings {
	for h := range s.headers {
		if !headerRules[h].sentOn(operations[op]) {
			s.headers[h] = ""
		}
	}
	return s
}

// over returns s on top of the client's settings.
func (s settings) over(base *settings) settings {
	for h, value := range s.headers {
		if value == "" {
			s.headers[h] = base.headers[h]
		}
	}
	if s.requestID == nil {
		s.requestID = base.requestID
	}
	if s.timestamp == nil {
		s.timestamp = base.timestamp
	}
	if s.timeout == 0 {
		s.timeout = base.timeout
	}
	if s.facts == nil {
		s.facts = base.facts
	}
	return s
}

// misplaced adds a fault for each header of the call that op does not take. Headers of the
// client are silently left out.
func (s *settings) misplaced(name Operation, op *operation) {
	for h, value := range s.headers {
		if rule := headerRules[h]; value != "" && !rule.sentOn(op) {
			s.faults.add(rule.option, "%s does not take the header %s", name, rule.name)
		}
	}
}

type callOption func(*settings)

func (o callOption) applyCall(s *settings)           { o(s) }
func (o callOption) applyIter(s *iterSettings)       { o(&s.settings) }
func (o callOption) applyBatch(s *batchSettings)     { o(&s.settings) }
func (o callOption) applyWait(s *waitSettings)       { o(&s.settings) }
func (o callOption) applyRecover(s *recoverSettings) { o(&s.settings) }
func (o callOption) applyVoucher(s *voucherSettings) { o(&s.settings) }

type iterOption func(*iterSettings)

func (o iterOption) applyIter(s *iterSettings)   { o(s) }
func (o iterOption) applyBatch(s *batchSettings) { o(&s.iterSettings) }

type batchOption func(*batchSettings)

func (o batchOption) applyBatch(s *batchSettings) { o(s) }

type waitOption func(*waitSettings)

func (o waitOption) applyWait(s *waitSettings)       { o(s) }
func (o waitOption) applyRecover(s *recoverSettings) { o(&s.waitSettings) }

type recoverOption func(*recoverSettings)

func (o recoverOption) applyRecover(s *recoverSettings) { o(s) }

type voucherOption func(*voucherSettings)

func (o voucherOption) applyVoucher(s *voucherSettings) { o(s) }

func withHeader(h optionHeader, value string) callOption {
	return func(s *settings) {
		rule := headerRules[h]
		if problem := cmp.Or(headerProblem(value), rule.check(value)); problem != "" {
			s.faults.add(rule.option, "%s", problem)
			return
		}
		s.headers[h] = value
	}
}

// WithTraceID sets the id that correlates a group of requests. By default every call has a
// new one, which its attempts share.
func WithTraceID(id string) CallOption { return withHeader(headerTraceID, id) }

// WithRawData keeps the JSON of the answer's data in ResponseMeta.RawData, for fields that
// the types lack. Tokens in it are redacted.
func WithRawData() CallOption { return callOption(func(s *settings) { s.rawData = true }) }

// WithParallelism sets how many calls an iterator keeps under way, between 1 and 1024. The
// default is 8 for HotelListBatches, and 1 for WalkDestinations and HotelsMetadataAll.
//
// The rate limit still applies. Using all of it takes as many calls as are sent during one
// answer: 20 for a limit of 100 a second and answers of 200 ms. More calls only wait, within
// their timeouts.
func WithParallelism(n int) IterOption {
	return iterOption(func(s *iterSettings) {
		if n < 1 || n > 1024 {
			s.faults.add("WithParallelism", "is %d; it must lie between 1 and 1024", n)
			return
		}
		s.parallelism = n
	})
}

// WithWakeup makes a waiting helper poll at once when wakeup receives a value, for instance
// from a webhook: use WakeHub.Watch. A channel of your own needs a buffer of one, and serves
// one wait: a wake-up during a poll is then kept, and the sender does not block. A closed
// channel is not a wake-up.
func WithWakeup(wakeup <-chan struct{}) WaitOption {
	return waitOption(func(s *waitSettings) {
		if wakeup == nil {
			s.faults.add("WithWakeup", "is nil")
			return
		}
		s.wakeup = wakeup
	})
}

var bcp47 = regexp.MustCompile(`^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$`)

func checkLanguage(tag string) string {
	if !bcp47.MatchString(tag) {
		return fmt.Sprintf("%q is not a language tag such as en or en-US", tag)
	}
	return ""
}

func checkMarket(code string) string {
	if !isCode(code, 2) {
		return fmt.Sprintf("%q is not an ISO 3166-1 alpha-2 code such as AE", code)
	}
	return ""
}

func checkCurrency(code string) string {
	if !isCode(code, 3) {
		return fmt.Sprintf("%q is not an ISO 4217 code such as EUR", code)
	}
	return ""
}

func checkIP(addr string) string {
	if ip, err := netip.ParseAddr(addr); err != nil || ip.Zone() != "" {
		return fmt.Sprintf("%q is not an IPv4 or IPv6 address", addr)
	}
	return ""
}
