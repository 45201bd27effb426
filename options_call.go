// Options of calls: which methods take them, and the headers that they set.

package hotelstays

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// CallOption is an option of one call, and wins over that of the client. One that has no effect on the
// method is a *ValidationError, before anything is sent.
type CallOption interface{ applyCall(*settings) }

// CallOptions is what options of a call ask for, for a fake of the client in a test. A zero field was
// not asked for. Its JSON, such as in a log line, lacks functions, and Header, whose values may be secret.
type CallOptions struct {
	Language, Market, UserRef, ClientIP, Currency, TraceID string

	TestFlags              map[string]string
	Header                 http.Header                                      `json:"-"`
	RequestID              func(context.Context) string                     `json:"-"`
	ClientRequestTimestamp func(ctx context.Context, sent time.Time) string `json:"-"`
	Timeout                time.Duration
	MaxAttempts            int
	Priority               Priority
	ServiceFacts           *ServiceFacts
	RawData                bool
	Parallelism            int
	BatchSize              int
	Wakeup                 <-chan struct{}                               `json:"-"`
	SaveRecovery           func(context.Context, *BookingRecovery) error `json:"-"`
	UnsignedVouchers       bool
	MaxVoucherBytes        int64
}

// CallOptionsOf returns what opts ask for. Its error is a *ValidationError with all invalid options.
// Whether a method takes them, it checks itself.
func CallOptionsOf(opts ...CallOption) (CallOptions, error) {
	var set settings
	applyAll(&set.faults, opts, func(opt CallOption) { opt.applyCall(&set) })
	asked := set.CallOptions
	asked.Language, asked.Market, asked.UserRef = set.headers[headerLanguage], set.headers[headerMarket], set.headers[headerUserRef]
	asked.ClientIP, asked.Currency, asked.TraceID = set.headers[headerClientIP], set.headers[headerCurrency], set.headers[headerTraceID]
	asked.ServiceFacts = set.ServiceFacts.copied()
	if flags := set.headers[headerTest]; flags != "" {
		asked.TestFlags = map[string]string{}
		for pair := range strings.SplitSeq(flags, "&") {
			key, value, _ := strings.Cut(pair, "=")
			asked.TestFlags[key] = value
		}
	}
	return asked, set.faults.err("CallOptionsOf")
}

type optionID int

const (
	headerLanguage optionID = iota
	headerMarket
	headerUserRef
	headerClientIP
	headerCurrency
	headerTest
	headerTraceID
	headerCount

	optionRequestID optionID = iota - 1
	optionTimestamp
	optionTimeout
	optionMaxAttempts
	optionPriority
	optionHeader
	optionServiceFacts
	optionRawData
	optionParallelism
	optionBatchSize
	optionWakeup
	optionSaveRecovery
	optionUnsignedVouchers
	optionMaxVoucherBytes
	optionCount
)

// optionRule says which methods take an option, and which header it sets.
type optionRule struct {
	name   string
	takers takers
	header string            // in net/http's canonical form, or empty
	fits   func(string) bool // reports whether the header may have the value; nil: any
	form   string            // what fits, for errors
}

var optionRules = [optionCount]optionRule{
	headerLanguage: {"WithLanguage", everyCall, "Language", bcp47.MatchString, "a language tag such as en or en-US"},
	headerMarket:   {"WithMarket", withToken, "Market", isCountry, countryForm},
	headerUserRef:  {name: "WithUserRef", takers: withToken, header: "User-Ref"},
	headerClientIP: {"WithClientIP", everyCall, "Ip", isIP, "an IPv4 or IPv6 address"},
	headerCurrency: {"WithCurrency", inBookingFlow, "Currency", isCurrency, "an ISO 4217 code such as EUR"},
	headerTest:     {name: "WithTestFlags", takers: inBookingFlow, header: "Test"},
	headerTraceID:  {name: "WithTraceID", takers: everyCall, header: "Trace-Id"},

	optionRequestID:        {name: "WithRequestID", takers: everyCall},
	optionTimestamp:        {name: "WithClientRequestTimestamp", takers: everyCall},
	optionTimeout:          {name: "WithTimeout", takers: everyCallAndDownload},
	optionMaxAttempts:      {name: "WithMaxAttempts", takers: everyCall},
	optionPriority:         {name: "WithPriority", takers: everyCall},
	optionHeader:           {name: "WithHeader", takers: everyCall},
	optionServiceFacts:     {name: "WithServiceFacts", takers: withFacts},
	optionRawData:          {name: "WithRawData", takers: withResponse},
	optionParallelism:      {name: "WithParallelism", takers: onlyMethods("WalkDestinations", "HotelsMetadataAll", "HotelListBatches")},
	optionBatchSize:        {name: "WithBatchSize", takers: onlyMethods("HotelListBatches")},
	optionWakeup:           {name: "WithWakeup", takers: onlyMethods("AwaitOrder", "AwaitVoucher", "BookAndRecover", "RecoverBooking")},
	optionSaveRecovery:     {name: "WithSaveRecovery", takers: onlyMethods("BookAndRecover", "RecoverBooking")},
	optionUnsignedVouchers: {name: "WithUnsignedVouchers", takers: onlyMethods("SaveVoucher", "OpenVoucher", "DownloadVoucher")},
	optionMaxVoucherBytes:  {name: "WithMaxVoucherBytes", takers: onlyMethods("SaveVoucher", "OpenVoucher", "DownloadVoucher")},
}

type takers struct {
	are string // for errors
	// have reports whether a method takes it. row is that of the operation whose options the
	// method takes, or nil.
	have func(method Operation, row *operation) bool
}

var (
	everyCall = takers{"calls of the API", func(_ Operation, row *operation) bool { return row != nil }}
	// everyCallAndDownload: a link of a document is no operation.
	everyCallAndDownload = takers{everyCall.are, func(method Operation, row *operation) bool {
		return row != nil || method == "DownloadVoucher"
	}}
	withToken = takers{"calls that send a token; a recovery has that of its Book", func(method Operation, row *operation) bool {
		return row != nil && !row.noAuth && !oneOf(method, "RecoverBooking", "StepRecovery")
	}}
	inBookingFlow = takers{onlyMethods(bookingFlow()...).are, func(_ Operation, row *operation) bool {
		return row != nil && row.bookingFlow
	}}
	withFacts = takers{"Book, Cancel, QueryOrders and Do", func(method Operation, row *operation) bool {
		return method == "Do" || row != nil && oneOf(row, operations[OpBook], operations[OpCancel], operations[OpQueryOrders])
	}}
	withResponse = takers{"methods that return a response", func(method Operation, row *operation) bool {
		return row != nil && !oneOf(method, "WalkDestinations", "HotelsMetadataAll", "HotelListStream", "FindOrder", "AwaitOrder",
			"BookAndRecover", "RecoverBooking", "StepRecovery", "SaveVoucher", "OpenVoucher")
	}}
)

func bookingFlow() []Operation {
	flow := maps.Clone(operations)
	maps.DeleteFunc(flow, func(_ Operation, row *operation) bool { return !row.bookingFlow })
	return slices.Sorted(maps.Keys(flow))
}

func onlyMethods(methods ...Operation) takers {
	names := make([]string, len(methods))
	for i, method := range methods {
		names[i] = string(method)
	}
	are, last := strings.Join(names[:len(names)-1], ", "), names[len(names)-1]
	if are != "" {
		are += " and "
	}
	return takers{are + last, func(method Operation, _ *operation) bool { return slices.Contains(methods, method) }}
}

// settings are the options of a call, or of a client for all its calls.
type settings struct {
	CallOptions           // those that set no header
	method      Operation // the operation or helper that was called, for errors
	given       uint32    // a bit for each option
	headers     [headerCount]string
	traceIDFrom func(context.Context) string // of WithTraceIDFrom
	queued      bool                         // the time limit is that of each attempt, and begins with its slot
	validation
}

func applyAll[O any](f *faults, opts []O, apply func(O)) {
	for _, opt := range opts {
		if any(opt) == nil {
			f.add("opts", "holds a nil option")
			continue
		}
		apply(opt)
	}
}

// collect returns the options of a method, with a fault for each that has no effect there. row is that
// of the operation whose options it takes, or nil.
func collect(method Operation, row *operation, opts []CallOption) settings {
	if len(opts) == 0 { // else set would be allocated for all calls
		return settings{method: method}
	}
	set := new(settings)
	applyAll(&set.faults, opts, func(opt CallOption) { opt.applyCall(set) })
	set.method = method
	for o := range optionCount {
		if rule := &optionRules[o]; set.given&(1<<o) != 0 && !rule.takers.have(method, row) {
			set.faults.add(rule.name, "%s does not take it; it is an option of %s", method, rule.takers.are)
		}
	}
	return *set
}

// to returns those of a helper's options that op takes, as the option of a call of it. Faults stay.
func (s settings) to(op Operation) CallOption {
	for o := range optionCount {
		if !optionRules[o].takers.have(op, operations[op]) {
			s.given &^= 1 << o
		}
	}
	return callOption(func(into *settings) { *into = s })
}

// over returns s on top of the client's settings.
func (s settings) over(base *settings) settings {
	for h, value := range s.headers {
		if value == "" {
			s.headers[h] = base.headers[h]
		}
	}
	if len(base.Header) > 0 {
		header := maps.Clone(base.Header)
		maps.Copy(header, s.Header)
		s.Header = header
	}
	s.traceIDFrom = base.traceIDFrom
	s.MaxAttempts = cmp.Or(s.MaxAttempts, base.MaxAttempts)
	s.Timeout = cmp.Or(s.Timeout, base.Timeout)
	s = s.orPriority(base.Priority)
	s.ServiceFacts = cmp.Or(s.ServiceFacts, base.ServiceFacts)
	if s.RequestID == nil {
		s.RequestID = base.RequestID
	}
	if s.ClientRequestTimestamp == nil {
		s.ClientRequestTimestamp = base.ClientRequestTimestamp
	}
	return s
}

// orPriority returns s with a priority, unless it has one.
func (s settings) orPriority(p Priority) settings {
	if s.given&(1<<optionPriority) == 0 {
		s.Priority = p
	}
	return s
}

type callOption func(*settings)

func (o callOption) applyCall(s *settings) { o(s) }

// callOptionFor is the option o. set puts its value into the settings, unless it has a problem.
func callOptionFor(o optionID, problem string, set func(*settings)) callOption {
	return func(s *settings) {
		s.given |= 1 << o
		if problem != "" {
			s.faults.add(optionRules[o].name, "%s", problem)
			return
		}
		set(s)
	}
}

func withHeader(h optionID, value string) callOption {
	problem, rule := headerProblem(value), optionRules[h]
	if problem == "" && rule.fits != nil && !rule.fits(value) {
		problem = fmt.Sprintf("%q is not %s", value, rule.form)
	}
	return callOptionFor(h, problem, func(s *settings) { s.headers[h] = value })
}

func nilProblem(value any) string {
	if isNil(value) {
		return "is nil"
	}
	return ""
}

func positiveProblem[V int64 | time.Duration](value V) string {
	if value <= 0 {
		return fmt.Sprintf("is %v; it must be positive", value)
	}
	return ""
}

func rangeProblem[N int | int64](n, most N) string {
	if n < 1 || n > most {
		return fmt.Sprintf("is %d; it must lie between 1 and %d", n, most)
	}
	return ""
}

// WithTraceID sets the id that correlates a group of requests. By default each call has that of
// WithTraceIDFrom, or a new one.
func WithTraceID(id string) CallOption { return withHeader(headerTraceID, id) }

// WithRawData keeps the JSON of the answer's data in ResponseMeta.RawData. Tokens in it are redacted.
func WithRawData() CallOption {
	return callOptionFor(optionRawData, "", func(s *settings) { s.RawData = true })
}

// WithParallelism sets how many calls an iterator keeps under way, between 1 and 1024. The default is
// 8 for HotelListBatches, and 1 for WalkDestinations and HotelsMetadataAll. Using all of the rate limit
// takes as many as are sent during one answer: 20 for 100 a second and answers of 200 ms. More only
// wait, within their timeouts.
func WithParallelism(n int) CallOption {
	return callOptionFor(optionParallelism, rangeProblem(n, 1024), func(s *settings) { s.Parallelism = n })
}

// WithBatchSize sets how many ids HotelListBatches puts into one request: 200 by default, at
// most types.MaxHotelIDs. An account with a visibility band refuses more than 200.
func WithBatchSize(n int) CallOption {
	return callOptionFor(optionBatchSize, rangeProblem(n, types.MaxHotelIDs), func(s *settings) { s.BatchSize = n })
}

// WithWakeup makes a waiting helper poll at once when wakeup receives a value, for instance from a
// webhook: use WakeHub.Watch. A channel of your own serves one wait, and needs a buffer of one, which
// keeps a wake-up during a poll. A closed channel is not a wake-up.
func WithWakeup(wakeup <-chan struct{}) CallOption {
	return callOptionFor(optionWakeup, nilProblem(wakeup), func(s *settings) { s.Wakeup = wakeup })
}

// WithSaveRecovery makes BookAndRecover call save before Book, and BookAndRecover and
// RecoverBooking after each poll that ctx did not end. If save fails before Book, nothing is
// sent. After a poll its error is returned together with the outcome, which may be a found
// order. Delete what is saved when the outcome is BookingFound or BookingAbsent, or when Book
// is refused.
func WithSaveRecovery(save func(context.Context, *BookingRecovery) error) CallOption {
	return callOptionFor(optionSaveRecovery, nilProblem(save), func(s *settings) { s.SaveRecovery = save })
}

// WithUnsignedVouchers makes SaveVoucher, OpenVoucher and DownloadVoucher accept a voucher without a
// signature block. Only its size is then checked, and its link must not redirect.
func WithUnsignedVouchers() CallOption {
	return callOptionFor(optionUnsignedVouchers, "", func(s *settings) { s.UnsignedVouchers = true })
}

// WithMaxVoucherBytes limits the size of a document of SaveVoucher, OpenVoucher and DownloadVoucher,
// 64 MiB by default. A larger one is a *VoucherError; if the voucher states it, nothing is downloaded.
func WithMaxVoucherBytes(n int64) CallOption {
	return callOptionFor(optionMaxVoucherBytes, positiveProblem(n), func(s *settings) { s.MaxVoucherBytes = n })
}

var bcp47 = regexp.MustCompile(`^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$`)

func isIP(addr string) bool {
	ip, err := netip.ParseAddr(addr)
	return err == nil && ip.Zone() == ""
}

func isCurrency(code string) bool { return isCode(code, 3) }
