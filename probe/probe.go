// Run and Test try the rules, and report the results.

package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/format"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// ErrConfig is wrapped by every error about an invalid Config. If hotelstays.New refuses a value, the error also wraps
// its *hotelstays.ValidationError.
var ErrConfig = errors.New("invalid configuration")

// ErrNotTestEnvironment means that the base URL does not look like a test environment, and Config.ConfirmHost does not
// confirm it. It wraps ErrConfig.
var ErrNotTestEnvironment = fmt.Errorf("%w: the base URL does not look like a test environment", ErrConfig)

// Config says what to probe, and what the run may do. If an optional field is not set, the rules that need it are not
// tried.
type Config struct {
	// BaseURL is the base URL of the service, such as https://api-test.example.
	BaseURL    string
	Credential hotelstays.TicketCredential
	// OAuth, if set, lets rules fetch access tokens.
	OAuth *hotelstays.OAuthCredential
	// Options are options for the clients of the run, such as hotelstays.WithMarket and WithUserRef. Options for the
	// HTTP client and the rate limiter have no effect.
	Options []hotelstays.Option
	// HTTPClient sends the requests. The default has the transport of hotelstays.NewTransport.
	HTTPClient *http.Client
	// ConfirmHost must repeat the host of BaseURL if the host does not look like a test environment: it
	// is not loopback, and has no label such as test, sandbox, staging or uat.
	ConfirmHost string
	// Only selects rules by name, group or section. The default is all.
	Only []string

	// CountryCode is the country in which to look for a city with hotels. By default a few countries are tried.
	CountryCode string
	// DestinationID is the id of the city to search. If it is set, CountryCode is not used.
	DestinationID string
	// CheckIn is the check-in date of the searched stays. The default is 60 days from now.
	CheckIn types.Date
	// Share is the part of each rate limit that the run may use, at most 1. The default is 0.1.
	Share float64
	// Burst lets rules exceed the rate limit of Ticket for a second.
	Burst bool
	// Patience is the maximum time that a rule may wait for the end of a session or of a voucher's link.
	Patience time.Duration
	// Booking, if set, lets rules book and cancel.
	Booking *Booking
	// Facts are the facts that your client uses. A rule is broken if the service contradicts one of these facts.
	Facts *hotelstays.ServiceFacts
	// Progress, if set, is called after each rule.
	Progress func(Result)
	// Waiting, if set, is called before each long wait. Its argument what names the rule or the step that waits. Its
	// argument until is the latest time at which the wait ends.
	Waiting func(what string, until time.Time)
}

// Report is the result of a run.
type Report struct {
	BaseURL string    `json:"baseUrl"`
	Began   time.Time `json:"began"`
	// Ended is the time after the last rule and the last cancellation.
	Ended time.Time `json:"ended"`
	// Notes are remarks about the whole run, for example that this machine's clock is wrong.
	Notes   []string `json:"notes,omitempty"`
	Results []Result `json:"results"`
	// Facts are Config.Facts plus the facts that the run found, for hotelstays.WithServiceFacts.
	Facts hotelstays.ServiceFacts `json:"facts"`
}

// Count returns the number of results that have the given state.
func (r *Report) Count(state State) (n int) {
	for _, result := range r.Results {
		if result.State == state {
			n++
		}
	}
	return n
}

// session is the state that the rules of a run share.
type session struct {
	cfg    Config
	client *hotelstays.Client
	masker *masker
	bench  *bench
	world  world
	facts  hotelstays.ServiceFacts
	notes  []string
	behind time.Duration // how far this machine's clock is behind the service's clock
	http   *http.Client
	// renewed makes a new search and returns its session, for a Cancel after the session of the booking has ended.
	renewed func() string
	*allowance
}

// Run tries the rules one after another. If cfg is invalid, or if the service cannot be reached or gives no
// ticket, Run returns an error and no report. If ctx ends, the remaining rules are not tried, and Run
// returns the report together with the error of ctx. If bookings could not be cancelled, Run returns the
// report together with an error that names them.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if err := cfg.Booking.check(); err != nil {
		return nil, err
	}
	s, err := start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.allow(ctx); err != nil {
		return nil, err
	}
	report := &Report{BaseURL: cfg.BaseURL, Began: time.Now()}
	left := s.tryAll(ctx, selectedRules(cfg.Only), report)
	for _, rule := range lastRules() {
		if result := s.try(context.WithoutCancel(ctx), rule); result.State == Broken || rule.selected(cfg.Only) {
			s.add(ctx, report, result)
		}
	}
	report.Ended, report.Notes, report.Facts = time.Now(), s.notes, s.facts
	if report.Count(NotTried) == len(report.Results) {
		report.Notes = append(report.Notes, "no rule could be tried: "+report.Results[0].Reason)
	}
	return report, errors.Join(ctx.Err(), left)
}

// tryAll tries all rules except for the lastRules. Then it cancels the bookings of the rules, even if a rule panics.
// It returns an error if a booking could not be cancelled.
func (s *session) tryAll(ctx context.Context, rules []Rule, report *Report) (left error) {
	defer func() {
		if left = s.settle(ctx); left == nil {
			return
		}
		left = fmt.Errorf("bookings in the journal %s are not cancelled; try again with -cleanup: %w", s.cfg.Booking.Journal, left)
		if end := recover(); end != nil {
			panic(fmt.Errorf("%v\n%w", end, left))
		}
	}()
	for _, rule := range rules {
		s.add(ctx, report, s.try(ctx, rule))
	}
	return nil
}

// add adds a result to the report. After the end of ctx, add calls Progress only for rules that were tried.
func (s *session) add(ctx context.Context, report *Report, result Result) {
	report.Results = append(report.Results, result)
	if s.cfg.Progress != nil && (ctx.Err() == nil || result.State != NotTried) {
		s.cfg.Progress(result)
	}
}

func (s *session) waits(what string, most time.Duration) {
	if s.cfg.Waiting != nil {
		s.cfg.Waiting(what, time.Now().Add(most))
	}
}

// testingT is the part of *testing.T that Test uses.
type testingT[T any] interface {
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Helper()
	Log(args ...any)
	Run(name string, f func(T)) bool
	Skip(args ...any)
}

// Test is Run for a test suite, with one subtest per rule. The subtest fails if the rule is broken, and is
// skipped if the rule was not tried.
func Test[T testingT[T]](t T, cfg Config) {
	t.Helper()
	report, err := Run(t.Context(), cfg)
	if report == nil {
		t.Fatal(err)
		return
	}
	if err != nil {
		t.Errorf("%v", err)
	}
	for _, result := range report.Results {
		t.Run(result.Name, func(t T) {
			switch result.State {
			case Broken:
				t.Errorf("%s: %s\n%s\n%s", result.Section, result.Promise, result.Reason, result.Curl)
			case Found, Weak:
				t.Log(result.Found + result.Reason)
			case NotTried:
				t.Skip(result.Reason)
			}
		})
	}
	t.Log(strings.Join(append(report.Notes, report.FactsGo()), "\n"))
}

func start(ctx context.Context, cfg Config) (*session, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("%w: HOTELSTAYS_BASE_URL is %q, which is not a URL with a host", ErrConfig, cfg.BaseURL)
	}
	if !looksLikeTest(base.Hostname()) && cfg.ConfirmHost != base.Host {
		return nil, fmt.Errorf("%w: to probe it, confirm its host: -confirm-host %s", ErrNotTestEnvironment, base.Host)
	}
	if !slices.ContainsFunc(Rules(), func(r Rule) bool { return r.selected(cfg.Only) }) {
		return nil, fmt.Errorf("%w: no rule is named %s (-list prints the names)", ErrConfig, strings.Join(cfg.Only, ", "))
	}
	if cfg.Share == 0 {
		cfg.Share = 0.1
	}
	if !(cfg.Share > 0 && cfg.Share <= 1) || cfg.Patience < 0 { // this form also refuses NaN
		return nil, fmt.Errorf("%w: -share must be above 0 and at most 1, and -patience not negative", ErrConfig)
	}
	cfg.CheckIn = cmp.Or(cfg.CheckIn, types.DateOf(time.Now().AddDate(0, 0, 60)))
	s := &session{cfg: cfg, masker: &masker{}}
	s.bench = newBench(s.masker)
	if cfg.Facts != nil {
		s.facts = *cfg.Facts // the run replaces only the facts that it finds itself
	}
	s.masker.add(cfg.Credential.AppSecret.Reveal())
	if cfg.OAuth != nil {
		s.masker.add(cfg.OAuth.ClientSecret.Reveal())
	}
	through := &http.Client{Transport: hotelstays.NewTransport()}
	if cfg.HTTPClient != nil {
		*through = *cfg.HTTPClient
	}
	through.Transport = &recorder{base: cmp.Or[http.RoundTripper](through.Transport, http.DefaultTransport), masker: s.masker, bench: s.bench}
	s.http = through
	s.client, err = hotelstays.New(cfg.BaseURL, cfg.Credential, slices.Concat([]hotelstays.Option{
		hotelstays.WithTimeout(2 * time.Minute), // includes the wait after a Retry-After, at most one minute
	}, cfg.Options, []hotelstays.Option{
		hotelstays.WithHTTPClient(through), hotelstays.WithRateLimiter(newPaced(cfg.Share)),
	})...)
	if err != nil {
		return nil, err
	}
	return s, s.greet(ctx)
}

// greet fetches a ticket, and compares the clocks of this machine and the service. It returns an error if the service
// gives no ticket, because then no rule can be tried.
func (s *session) greet(ctx context.Context) error {
	resp, err := s.client.Ticket(ctx, &hotelstays.TicketRequest{
		AppKey: s.cfg.Credential.AppKey, AppSecret: s.cfg.Credential.AppSecret, TTL: s.cfg.Credential.TTL,
	})
	if err != nil {
		return fmt.Errorf("the service gave no ticket, so nothing was tried: %w", err)
	}
	if served, err := http.ParseTime(resp.Meta.Header.Get("Date")); err == nil {
		s.behind = time.Until(served)
		if off := s.behind.Round(time.Second); off.Abs() > time.Minute {
			s.notes = append(s.notes, fmt.Sprintf("this machine's clock and the service's differ by %s", off.Abs()))
		}
	}
	// The client fetches its token with this call. Otherwise the evidence of a rule would contain the token request.
	_, _ = s.client.FindOrder(ctx, unknownReference)
	return nil
}

// looksLikeTest reports whether a host is this machine, or has a name such as api-test.
func looksLikeTest(host string) bool {
	if host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.") {
		return true
	}
	words := strings.FieldsFunc(strings.ToLower(host), func(c rune) bool { return c == '.' || c == '-' || c == '_' })
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"test", "testing", "sandbox", "staging", "stage", "uat", "qa", "dev", "demo", "preprod"},
			strings.TrimRight(word, "0123456789"))
	})
}

// unknown matches a list without a value in Go syntax, such as "Pending:[]types.OrderStatus(nil), ".
var unknown = regexp.MustCompile(`\w+:\[\][\w.]+\(nil\)(, )?`)

// FactsGo returns the facts as a Go expression, for hotelstays.WithServiceFacts.
func (r *Report) FactsGo() string {
	text, facts := "", reflect.ValueOf(r.Facts)
	for i := range facts.NumField() {
		if field := facts.Field(i); !field.IsZero() {
			text += fmt.Sprintf("%s: %s,\n", facts.Type().Field(i).Name, unknown.ReplaceAllString(fmt.Sprintf("%#v", field), ""))
		}
	}
	if text == "" {
		return "hotelstays.ServiceFacts{}"
	}
	text = "hotelstays.ServiceFacts{\n" + text + "}"
	if pretty, err := format.Source([]byte(text)); err == nil {
		text = string(pretty)
	}
	return text
}
