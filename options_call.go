// Options of calls: their kinds, and the headers that they set.

package hotelstays

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// CallOption is a setting of one call. It wins over the client's. Every method and helper
// that sends something takes it; what only some of them take has a type of its own.
type CallOption interface {
	IterOption
	WaitOption
	VoucherOption
	applyCall(*settings)
}

// BatchOption is a setting of HotelListBatches.
type BatchOption interface{ applyBatch(*batchSettings) }

// IterOption is a setting of WalkDestinations, HotelsMetadataAll and HotelListBatches.
type IterOption interface {
	BatchOption
	applyIter(*iterSettings)
}

// RecoverOption is a setting of BookAndRecover and RecoverBooking.
type RecoverOption interface{ applyRecover(*recoverSettings) }

// WaitOption is a setting of AwaitOrder, AwaitVoucher, BookAndRecover and RecoverBooking.
type WaitOption interface {
	RecoverOption
	applyWait(*waitSettings)
}

// VoucherOption is a setting of SaveVoucher and DownloadVoucher.
type VoucherOption interface{ applyVoucher(*voucherSettings) }

// JoinCallOptions makes one option of several, for helpers that take another kind as well.
func JoinCallOptions(opts ...CallOption) CallOption {
	opts = slices.Clone(opts)
	return callOption(func(s *settings) { applyAll(opts, s, CallOption.applyCall) })
}

// optionHeader names the optional request headers that callers set.
type optionHeader int

const (
	headerLanguage optionHeader = iota
	headerMarket
	headerUserRef
	headerClientIP
	headerCurrency
	headerTest
	headerTraceID
	headerTimestamp
	headerCount
)

// headerRule says where a header is sent and what it may hold.
type headerRule struct {
	name   string // in net/http's canonical form
	option string
	sentOn func(*operation) bool
	check  func(value string) string // what is wrong with it, or ""
}

func everywhere(*operation) bool     { return true }
func withToken(op *operation) bool   { return !op.noAuth }
func inTheFlow(op *operation) bool   { return op.bookingFlow }
func printable(string) (none string) { return "" }

var headerRules = [headerCount]headerRule{
	headerLanguage:  {"Language", "WithLanguage", everywhere, checkLanguage},
	headerMarket:    {"Market", "WithMarket", withToken, checkMarket},
	headerUserRef:   {"User-Ref", "WithUserRef", withToken, printable},
	headerClientIP:  {"Ip", "WithClientIP", everywhere, checkIP},
	headerCurrency:  {"Currency", "WithCurrency", inTheFlow, checkCurrency},
	headerTest:      {"Test", "WithTestFlags", inTheFlow, printable},
	headerTraceID:   {"Trace-Id", "WithTraceID", everywhere, printable},
	headerTimestamp: {"Client-Request-Timestamp", "WithClientRequestTimestamp", everywhere, printable},
}

// settings are those of a call, or of a client for all its calls.
type settings struct {
	headers [headerCount]string
	timeout time.Duration
	rawData bool
	states  *OrderStates // for AwaitOrder and CancelAndRead
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
	allowUnsigned bool
	maxBytes      int64
}

// applyAll applies opts to the settings of their kind.
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

// option is s as an option of the calls that a helper makes.
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
	if s.timeout == 0 {
		s.timeout = base.timeout
	}
	if s.states == nil {
		s.states = base.states
	}
	return s
}

// misplaced adds a fault for each header of one call that op does not take. Headers of a
// client are left out in silence there.
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
		switch problem := rule.check(value); {
		case strings.TrimSpace(value) == "":
			s.faults.add(rule.option, "is empty; leave the option out instead")
		case !isHeaderValue(value):
			s.faults.add(rule.option, "holds characters that a header cannot carry")
		case problem != "":
			s.faults.add(rule.option, "%s", problem)
		default:
			s.headers[h] = value
		}
	}
}

// WithTraceID sets the identifier that correlates a group of requests. Without it every
// call has a new one, which all its attempts share.
func WithTraceID(id string) CallOption { return withHeader(headerTraceID, id) }

// WithClientRequestTimestamp sends the time at which the client began, as a Unix timestamp
// that you format: its unit is undocumented.
func WithClientRequestTimestamp(unix string) CallOption { return withHeader(headerTimestamp, unix) }

// WithRawData keeps the JSON of the answer's data in ResponseMeta.RawData, for fields that
// the types do not have. Tokens are masked in it.
func WithRawData() CallOption { return callOption(func(s *settings) { s.rawData = true }) }

// WithParallelism sets how many calls an iterator has under way at once, between 1 and
// 1,024. The default is 8 for HotelListBatches, and 1 for WalkDestinations and
// HotelsMetadataAll.
//
// The rate limit holds in any case. To use all of it takes as many calls as may leave while
// one answer is on its way: 20, at 100 a second and 200 ms. More only wait in line, within
// the timeout of their call.
func WithParallelism(n int) IterOption {
	return iterOption(func(s *iterSettings) {
		if n < 1 || n > 1024 {
			s.faults.add("WithParallelism", "is %d; it must lie between 1 and 1024", n)
			return
		}
		s.parallelism = n
	})
}

// WithWakeup makes a helper that waits ask at once whenever wakeup delivers: feed it from a
// webhook. Give each wait its own channel, with room for one: a wake-up that comes during a
// poll is then not lost, and no sender waits. A closed channel is not a wake-up.
func WithWakeup(wakeup <-chan struct{}) WaitOption {
	return waitOption(func(s *waitSettings) {
		if wakeup == nil {
			s.faults.add("WithWakeup", "is nil")
			return
		}
		s.wakeup = wakeup
	})
}

// OrderStates is what the numbers of order states mean, for callers who know. Only 0 and 1
// are documented.
type OrderStates struct {
	Confirmed, Pending, Cancelled []types.OrderStatus
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
