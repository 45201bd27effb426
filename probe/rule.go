// Rules and their results.

package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/judge"
)

// Rule checks one promise of the API's document, or answers one question that the document leaves open.
type Rule struct {
	// Name is unique, and begins with its group, such as "ticket/ttl".
	Name string `json:"rule"`
	// Section is the heading of the section in the API's document.
	Section string `json:"section"`
	// Promise is a sentence that must hold, or a question that the rule answers.
	Promise string `json:"promise"`
	// Needs names the option of the program without which the rule is not tried: -book (Config.Booking), -burst (Burst),
	// -callback (Booking.Callback), HOTELSTAYS_CLIENT_ID (OAuth) or -patience (Patience). If Needs is "", the
	// rule makes and changes no order. In a Result, Needs may also say that the run got no answer to which the rule applies.
	Needs string `json:"needs,omitempty"`

	try func(*run) // nil: package judge tries the rule with each answer
}

var sections = map[string]string{
	"ticket": "Ticket", "auth": "Authentication", "oauth": "Authentication", "headers": headersAre, "session": headersAre, "limits": "Limits",
	"destinations": "Destinations", "metadata": "HotelsMetadata", "list": "HotelList", "rates": "HotelRates", "check": "CheckAvail",
	"static": "HotelStaticDetail", "orders": "QueryOrders", "order": "QueryOrders", "book": "Book", "voucher": "OrderVoucher",
	"cancel": "Cancel", "webhook": "Events",
}

const headersAre = "Common request headers"

func newRule(name, promise, needs string, try func(*run)) Rule {
	return Rule{name, sections[groupOf(name)], promise, needs, try}
}

func groupOf(name string) string {
	group, _, _ := strings.Cut(name, "/")
	return group
}

type line struct {
	name, promise string
	try           func(*run)
}

func rules(needs string, lines []line) (all []Rule) {
	for _, l := range lines {
		all = append(all, newRule(l.name, l.promise, needs, l.try))
	}
	return all
}

// given maps each value of Rule.Needs to a check whether a Config has that option.
var given = map[string]func(*Config) bool{
	"":                     func(*Config) bool { return true },
	"-burst":               func(c *Config) bool { return c.Burst },
	"HOTELSTAYS_CLIENT_ID": func(c *Config) bool { return c.OAuth != nil },
	"-patience":            func(c *Config) bool { return c.Patience > 0 },
	"-book":                func(c *Config) bool { return c.Booking != nil },
	"-callback":            func(c *Config) bool { return c.Booking != nil && c.Booking.Callback != nil },
}

// Rules returns all rules, in the order of their results.
func Rules() []Rule { return slices.Concat(triedRules(), lastRules()) }

// triedRules returns the rules that are tried before the cancellations.
func triedRules() []Rule {
	// patientRules come after all other reads, because they wait so long that shared sessions may end.
	return slices.Concat(readRequests, ticketRules, oauthRules, limitRules, twinRules, walks, searchRules, []Rule{emptyOrders},
		patientRules, bookRules, bookRequests, confirmedRules, filterRules, cancelRules, webhookRules)
}

// lastRules returns the rules whose results are known only after the cancellations.
func lastRules() []Rule {
	all := slices.Clone(settlingRules)
	for _, r := range judge.Rules() {
		all = append(all, Rule{r.Name, r.Section, r.Promise, "", nil})
	}
	return all
}

// blamed are rules that need an earlier step, such as a second booking, which no other rule checks. If the step fails because
// of the service, these rules become Broken, not NotTried.
var blamed = []string{"book/passport-largest", "cancel/status", "voucher/cancelled", "webhook/delivered"}

// selected reports whether names is empty, or has the name of r, of its group or of its section, in upper or lower case.
func (r Rule) selected(names []string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(name, r.Name) || strings.EqualFold(name, groupOf(r.Name)) || strings.EqualFold(name, r.Section)
	})
}

// selectedRules returns the rules to try before the cancellations. If names select one of the lastRules,
// selectedRules also returns the other rules of its group, because the last rule judges their answers and bookings.
func selectedRules(names []string) []Rule {
	groups := slices.Clone(names)
	for _, r := range lastRules() {
		if r.selected(names) && len(names) > 0 {
			groups = append(groups, groupOf(r.Name))
		}
	}
	return slices.DeleteFunc(triedRules(), func(r Rule) bool { return !r.selected(groups) })
}

// State is the verdict on a rule. No Result of a run has the zero value.
type State string

// The states of a result.
const (
	Held     State = "held"      // the service does what the document promises
	Found    State = "found"     // an open point of the document: Result.Found says what the service does
	Weak     State = "weak"      // the document allows what the service does, but clients have trouble with it
	Broken   State = "broken"    // the service contradicts the document
	NotTried State = "not tried" // Result.Reason says why
)

// Result is the result of one rule.
type Result struct {
	Rule
	State State `json:"state"`
	// Reason depends on State. Broken: what was expected, and what came instead. Weak: which behaviour troubles clients.
	// NotTried: why the rule was not tried.
	Reason string `json:"reason,omitempty"`
	// Found is how the service behaves on a point that the document leaves open.
	Found string `json:"found,omitempty"`
	// Curl is a command that repeats the request whose answer broke the rule. It is empty for Book and Cancel.
	Curl     string     `json:"curl,omitempty"`
	Evidence []Exchange `json:"evidence,omitempty"`
}

// untried is the error of a rule that could not be judged.
type untried struct {
	why   string
	cause error // the error of an earlier step that failed, or nil
}

func (u untried) Error() string { return u.why }

// stop is the value with which breaks and skip panic, to end a rule. The function attempt recovers it.
type stop struct{ err error }

// breaks ends the rule with the state Broken if wrong is true.
func breaks(wrong bool, format string, args ...any) {
	if wrong {
		panic(stop{fmt.Errorf(format, args...)})
	}
}

// skip ends the rule with the state NotTried if unknown is true.
func skip(unknown bool, format string, args ...any) {
	if unknown {
		panic(stop{untried{fmt.Sprintf(format, args...), nil}})
	}
}

// attempt calls a part of a rule, and returns the error with which breaks or skip ended it.
func attempt(part func()) (err error) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case stop:
			err = end.err
		default:
			err = fmt.Errorf("a fault of this program, not of the service; please report it: %v", end)
		}
	}()
	part()
	return nil
}

type run struct {
	*session
	rule  Rule
	ctx   context.Context
	log   []*exchange
	found string
	weak  string
}

func (r *run) find(format string, args ...any) { r.found = fmt.Sprintf(format, args...) }

// suffers gives the rule the state Weak if bad is true. Only the first reason is kept.
func (r *run) suffers(bad bool, format string, args ...any) {
	if bad && r.weak == "" {
		r.weak = fmt.Sprintf(format, args...)
	}
}

func (s *session) try(ctx context.Context, rule Rule) Result {
	if rule.try == nil {
		return s.bench.result(rule)
	}
	res := Result{Rule: rule, State: NotTried}
	res.try = nil
	r := &run{session: s, rule: rule, ctx: ctx}
	err := attempt(func() {
		skip(!given[rule.Needs](&s.cfg), "needs %s", rule.Needs)
		rule.try(r)
	})
	missing := untried{}
	if errors.As(err, &missing) && missing.cause != nil && slices.Contains(blamed, rule.Name) {
		err = missing.cause
	}
	res.Found = s.masker.short(r.found)
	for _, ex := range r.log[max(0, len(r.log)-maxEvidence):] {
		res.Evidence = append(res.Evidence, s.masker.exchange(ex))
	}
	switch {
	case ctx.Err() != nil:
		res.Reason = "the run ended before this rule"
	case err != nil && !errors.As(err, &missing):
		res.State, res.Reason = Broken, s.masker.short(err.Error())
		if n := len(res.Evidence); n > 0 {
			res.Curl = res.Evidence[n-1].curl() // the last answer broke the rule
		}
	case r.weak != "":
		res.State, res.Reason = Weak, s.masker.short(r.weak)
	case err != nil:
		res.Reason = s.masker.short(err.Error())
	case r.found != "":
		res.State = Found
	default:
		res.State = Held
	}
	return res
}

type operation = hotelstays.Operation

// These names are shorter than the names in package hotelstays, because many rules use them.
const (
	opTicket, opOAuthToken                        = hotelstays.OpTicket, hotelstays.OpOAuthToken
	opDestinations, opHotelsMetadata, opHotelList = hotelstays.OpDestinations, hotelstays.OpHotelsMetadata, hotelstays.OpHotelList
	opHotelStaticDetail, opHotelRates             = hotelstays.OpHotelStaticDetail, hotelstays.OpHotelRates
	opCheckAvail, opBook                          = hotelstays.OpCheckAvail, hotelstays.OpBook
	opQueryOrders, opOrderVoucher, opCancel       = hotelstays.OpQueryOrders, hotelstays.OpOrderVoucher, hotelstays.OpCancel
)

var readOps = []operation{opDestinations, opHotelsMetadata, opHotelList, opHotelRates, opCheckAvail, opQueryOrders, opOrderVoucher}
