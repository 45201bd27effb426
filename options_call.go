// Options of calls: the methods that take them, and the headers that they set.

package hotelstays

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/clone"
	"github.com/hotelstays/hotelstays-go/types"
)

// CallOption is an option of one call. It wins over the same option of the client. An option that has no effect on the
// method is a *ValidationError, before anything is sent.
type CallOption interface{ applyCall(*settings) }

// CallOptions holds the values of call options, for a fake of the client in a test. A zero field was not set. The JSON
// lacks functions, and Header, whose values may be secret.
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

// CallOptionsOf returns the values of opts. The error is a *ValidationError with all invalid options. CallOptionsOf does
// not check whether a method takes the options.
func CallOptionsOf(opts ...CallOption) (CallOptions, error) {
	var set settings
	eachOption(&set.faults, opts, func(opt CallOption) { opt.applyCall(&set) })
	return *clone.Of(&set.CallOptions), set.faults.err("CallOptionsOf")
}

// optionRow is what the client knows about an option, besides its field in CallOptions.
type optionRow struct {
	name  string
	scope optionScope
	given uint64 // the bit of this option in settings.given
	// The other fields are empty if the option sets no header.
	header string                  // the name of the header in the canonical form of net/http
	value  func(*settings) *string // returns a pointer to the value of the header
	fits   func(string) bool       // reports whether a value is valid; nil accepts every value
	form   string                  // describes a valid value, for error texts
}

var optionRows []*optionRow

func newRow(name string, scope optionScope) *optionRow {
	row := &optionRow{name: name, scope: scope, given: 1 << len(optionRows)}
	optionRows = append(optionRows, row)
	return row
}

func headerRow(name string, scope optionScope, header string, value func(*settings) *string, fits func(string) bool, form string) *optionRow {
	row := newRow(name, scope)
	row.header, row.value, row.fits, row.form = header, value, fits, form
	return row
}

var (
	optLanguage = headerRow("WithLanguage", everyCall, "Language", func(s *settings) *string { return &s.Language },
		bcp47.MatchString, "a language tag such as en or en-US")
	optMarket    = headerRow("WithMarket", withToken, "Market", func(s *settings) *string { return &s.Market }, isCountry, countryForm)
	optUserRef   = headerRow("WithUserRef", withToken, "User-Ref", func(s *settings) *string { return &s.UserRef }, nil, "")
	optClientIP  = headerRow("WithClientIP", everyCall, "Ip", func(s *settings) *string { return &s.ClientIP }, isIP, "an IPv4 or IPv6 address")
	optCurrency  = headerRow("WithCurrency", inBookingFlow, "Currency", func(s *settings) *string { return &s.Currency }, isCurrency, "an ISO 4217 code such as EUR")
	optTestFlags = headerRow("WithTestFlags", inBookingFlow, "Test", func(s *settings) *string { return &s.test }, nil, "")
	optTraceID   = headerRow("WithTraceID", everyCall, "Trace-Id", func(s *settings) *string { return &s.TraceID }, nil, "")

	optRequestID    = newRow("WithRequestID", everyCall)
	optTimestamp    = newRow("WithClientRequestTimestamp", everyCall)
	optTimeout      = newRow("WithTimeout", everyCallAndDownload)
	optMaxAttempts  = newRow("WithMaxAttempts", everyCall)
	optPriority     = newRow("WithPriority", everyCall)
	optHeader       = newRow("WithHeader", everyCall)
	optServiceFacts = newRow("WithServiceFacts", withFacts)

	// These options are only for calls.
	optRawData          = newRow("WithRawData", withResponse)
	optParallelism      = newRow("WithParallelism", onlyMethods("WalkDestinations", "HotelsMetadataAll", "HotelListBatches"))
	optBatchSize        = newRow("WithBatchSize", onlyMethods("HotelListBatches"))
	optWakeup           = newRow("WithWakeup", onlyMethods("AwaitOrder", "AwaitVoucher", "BookAndRecover", "RecoverBooking"))
	optSaveRecovery     = newRow("WithSaveRecovery", onlyMethods("BookAndRecover", "RecoverBooking"))
	optUnsignedVouchers = newRow("WithUnsignedVouchers", onlyMethods("SaveVoucher", "OpenVoucher", "DownloadVoucher"))
	optMaxVoucherBytes  = newRow("WithMaxVoucherBytes", onlyMethods("SaveVoucher", "OpenVoucher", "DownloadVoucher"))
)

type optionScope struct {
	methods string // the methods in words, for error texts
	// has reports whether a method takes the option. The parameter row is the operation whose options the method takes,
	// such as Book for ValidateBook, or nil.
	has func(method Operation, row *operation) bool
}

var (
	everyCall = optionScope{"calls of the API", func(_ Operation, row *operation) bool { return row != nil }}
	// everyCallAndDownload is like everyCall, but also has DownloadVoucher, which is not an operation.
	everyCallAndDownload = optionScope{everyCall.methods, func(method Operation, row *operation) bool {
		return row != nil || method == "DownloadVoucher"
	}}
	withToken = optionScope{"calls that send a token; a recovery uses the value of its Book", func(method Operation, row *operation) bool {
		return row != nil && !row.noAuth && !oneOf(method, "RecoverBooking", "StepRecovery")
	}}
	inBookingFlow = optionScope{onlyMethods(flowOperations()...).methods, func(_ Operation, row *operation) bool {
		return row != nil && row.bookingFlow
	}}
	withFacts = optionScope{"Book, Cancel, QueryOrders and Do", func(method Operation, row *operation) bool {
		return method == "Do" || row != nil && oneOf(row, operations[OpBook], operations[OpCancel], operations[OpQueryOrders])
	}}
	withResponse = optionScope{"methods that return a response", func(method Operation, row *operation) bool {
		return row != nil && !oneOf(method, "WalkDestinations", "HotelsMetadataAll", "HotelListStream", "FindOrder", "AwaitOrder",
			"BookAndRecover", "RecoverBooking", "StepRecovery", "SaveVoucher", "OpenVoucher")
	}}
)

func flowOperations() []Operation {
	flow := maps.Clone(operations)
	maps.DeleteFunc(flow, func(_ Operation, row *operation) bool { return !row.bookingFlow })
	return slices.Sorted(maps.Keys(flow))
}

func onlyMethods(methods ...Operation) optionScope {
	names := make([]string, len(methods))
	for i, method := range methods {
		names[i] = string(method)
	}
	are, last := strings.Join(names[:len(names)-1], ", "), names[len(names)-1]
	if are != "" {
		are += " and "
	}
	return optionScope{are + last, func(method Operation, _ *operation) bool { return slices.Contains(methods, method) }}
}

// settings are the options of a call, or of a client for all its calls.
type settings struct {
	CallOptions
	test   string // the value of the header Test, made from TestFlags
	queued bool   // a token request: its time limit begins when the rate limiter grants a slot
	given  uint64 // has a bit for each option of the call, but not for options of the client
	faults
}

func (s *settings) has(o *optionRow) bool { return s.given&o.given != 0 }

func eachOption[O any](f *faults, opts []O, apply func(O)) {
	for _, opt := range opts {
		if any(opt) == nil {
			f.add("opts", "contains a nil option")
			continue
		}
		apply(opt)
	}
}

// forCall returns one CallOption with all options of s that op accepts, and with all faults of s.
func (s settings) forCall(op Operation) CallOption {
	for _, o := range optionRows {
		if !o.scope.has(op, operations[op]) {
			s.given &^= o.given
		}
	}
	return callOption(func(call *settings) { *call = s })
}

type callOption func(*settings)

func (o callOption) applyCall(s *settings) { o(s) }

func (o *optionRow) option(problem string, set func(*settings)) callOption {
	return func(s *settings) {
		s.given |= o.given
		if problem != "" {
			s.faults.add(o.name, "%s", problem)
			return
		}
		set(s)
	}
}

func (o *optionRow) text(text string) callOption {
	problem := headerProblem(text)
	if problem == "" && o.fits != nil && !o.fits(text) {
		problem = fmt.Sprintf("%q is not %s", text, o.form)
	}
	return o.option(problem, func(s *settings) { *o.value(s) = text })
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

// WithTraceID sets the id that correlates a group of requests. By default each call has the id of WithTraceIDFrom, or a new
// id.
func WithTraceID(id string) CallOption { return optTraceID.text(id) }

// WithRawData keeps the JSON of the answer's data in ResponseMeta.RawData. Tokens in it are redacted.
func WithRawData() CallOption {
	return optRawData.option("", func(s *settings) { s.RawData = true })
}

// WithParallelism sets how many calls an iterator makes at the same time, between 1 and 1024. The default is 8 for
// HotelListBatches, and 1 for WalkDestinations and HotelsMetadataAll. To use a whole rate limit, multiply the limit by
// the time of an answer: for 100 requests per second and answers of 0.2 s, set 20 calls. More calls only wait for the
// rate limit, while their timeouts run.
func WithParallelism(n int) CallOption {
	return optParallelism.option(rangeProblem(n, 1024), func(s *settings) { s.Parallelism = n })
}

// WithBatchSize sets how many ids HotelListBatches puts into one request: 200 by default, at most types.MaxHotelIDs. For an
// account with a visibility band the service refuses more than 200.
func WithBatchSize(n int) CallOption {
	return optBatchSize.option(rangeProblem(n, types.MaxHotelIDs), func(s *settings) { s.BatchSize = n })
}

// WithWakeup makes a waiting helper poll immediately when wakeup receives a value, for instance after a webhook: use
// WakeHub.Watch. Your own channel serves one wait, and needs a buffer of one, so that a wake-up during a poll is not lost. A
// closed channel is not a wake-up.
func WithWakeup(wakeup <-chan struct{}) CallOption {
	return optWakeup.option(nilProblem(wakeup), func(s *settings) { s.Wakeup = wakeup })
}

// WithSaveRecovery makes BookAndRecover call the function save before Book. BookAndRecover and RecoverBooking also call save
// after each poll, unless ctx ended during the poll. If save fails before Book, nothing is sent. If save fails after a poll,
// its error is returned together with the outcome, which may be a found order. Delete the
// saved recovery when the outcome is BookingFound or BookingAbsent, or when Book is refused.
func WithSaveRecovery(save func(context.Context, *BookingRecovery) error) CallOption {
	return optSaveRecovery.option(nilProblem(save), func(s *settings) { s.SaveRecovery = save })
}

// WithUnsignedVouchers makes SaveVoucher, OpenVoucher and DownloadVoucher accept a voucher without a signature block. For
// such a voucher the client checks only the size of the document, and follows no redirect.
func WithUnsignedVouchers() CallOption {
	return optUnsignedVouchers.option("", func(s *settings) { s.UnsignedVouchers = true })
}

// WithMaxVoucherBytes limits the size of a document of SaveVoucher, OpenVoucher and DownloadVoucher, 64 MiB by default. A
// larger document is a *VoucherError. If the voucher states a larger size, nothing is downloaded.
func WithMaxVoucherBytes(n int64) CallOption {
	return optMaxVoucherBytes.option(positiveProblem(n), func(s *settings) { s.MaxVoucherBytes = n })
}

var bcp47 = regexp.MustCompile(`^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$`)

func isIP(addr string) bool {
	ip, err := netip.ParseAddr(addr)
	return err == nil && ip.Zone() == ""
}

func isCurrency(code string) bool { return isCode(code, 3) }
