// Rules and their results.

package probe

import (
	"cmp"
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
	// -callback (Booking.Callback), HOTELSTAYS_CLIENT_ID (OAuth) or -patience (Patience). If it is "", the rule only
	// reads. In a Result it may also say that the run got no answer to judge.
	Needs string `json:"needs,omitempty"`

	try func(*run)
}

// sections maps the name of a rule, or of a group of rules, to a section of the API's document. Package judge knows the
// sections of its own rules.
var sections = map[string]string{
	"ticket": "Ticket", "auth": "Authentication", "oauth": "Authentication", "headers": headersAre, "session": headersAre, "limits": "Limits",
	"destinations": "Destinations", "metadata": "HotelsMetadata", "list": "HotelList", "rates": "HotelRates", "check": "CheckAvail",
	"static": "HotelStaticDetail", "orders": "QueryOrders", "order": "QueryOrders", "book": "Book", "voucher": "OrderVoucher",
	"cancel": "Cancel", "webhook": "Events",
	"oauth/voucher-scope": "OrderVoucher", "oauth/limit": "Limits", "destinations/polygon": "Destination", "list/members": "PageResp",
	"metadata/members": "PageResp", "list/decimals": "Shared types", "list/boards": "Shared types", "check/exchange": "Shared types",
	"list/deadlines": offersAre, "rates/room-fees": offersAre, "rates/hotel-id": "Hotel (search and static detail)",
	"rates/all": "Recommended flow", "check/other-session": "Book", "book/token": "Authentication", "book/hotel": "Order",
	"voucher/before": "Voucher status", "voucher/verify": "Voucher", "voucher/cancelled": "Voucher status", "order/guests": "Order",
	"order/refunds": "Order", "order/confirmed": "Order status", "order/cancelled": "Order status", "cancel/refund": "Order",
	"webhook/oauth": "Book",
}

const (
	headersAre = "Common request headers"
	offersAre  = "RoomRatePkg (a priced offer)"
)

func newRule(name, promise, needs string, try func(*run)) Rule {
	group, _, _ := strings.Cut(name, "/")
	rule := Rule{name, cmp.Or(sections[name], sections[group]), promise, needs, try}
	if i := slices.IndexFunc(judge.Rules(), func(r judge.Rule) bool { return r.Name == name }); i >= 0 {
		rule.Section = judge.Rules()[i].Section
	}
	return rule
}

// line is a row in a table of rules.
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

// Rules returns all rules, in the order in which they are tried.
func Rules() []Rule {
	reads := append(slices.Concat(readRequests, ticketRules, oauthRules, limitRules, twinRules, walks, searchRules), emptyOrders)
	books := slices.Concat(bookRules, bookRequests, confirmedRules, filterRules, cancelRules, webhookRules)
	all := judged(slices.Concat(reads, patientRules, books))
	ofReads := slices.DeleteFunc(slices.Clone(all), func(r Rule) bool { return !r.provokedByReads() })
	others := slices.DeleteFunc(all, Rule.provokedByReads)
	// patientRules come after all other reads, because they wait so long that shared sessions may end.
	return slices.Concat(reads, ofReads, patientRules, books, others, settlingRules)
}

func (r Rule) provokedByReads() bool {
	group, _, _ := strings.Cut(r.Name, "/")
	return provoked[group].by != nil && r.Needs == ""
}

// judged returns the rules of package judge, except for rules whose name a rule in own already has.
func judged(own []Rule) (all []Rule) {
	for _, r := range judge.Rules() {
		if !slices.ContainsFunc(own, func(o Rule) bool { return o.Name == r.Name }) {
			group, _, _ := strings.Cut(r.Name, "/")
			how := provoked[group]
			all = append(all, newRule(r.Name, r.Promise, how.needs, func(r *run) {
				if how.by != nil {
					how.by(r)
				}
			}))
		}
	}
	return all
}

// provoked maps a group of the judge's rules to calls that give the judge answers to read. Without these calls, a run that
// selects only rules of the judge would send nothing.
var provoked = map[string]struct {
	needs string
	by    func(*run)
}{
	"envelope":     {"", func(r *run) { r.search(); r.changed(opTicket, obj{"appSecret": wrongSecret}).came() }},
	"ticket":       {"", func(r *run) { r.do(r.lawful(opTicket)).came() }},
	"headers":      {"", func(r *run) { r.search() }},
	"limits":       {"", func(r *run) { r.search() }},
	"destinations": {"", func(r *run) { r.changed(opDestinations, obj{"include": "details"}) }},
	"metadata":     {"", func(r *run) { r.do(r.lawful(opHotelsMetadata)).came() }},
	"list":         {"", func(r *run) { r.search() }},
	"rates":        {"", func(r *run) { r.offer() }},
	"check":        {"", func(r *run) { r.checked() }},
	"orders":       {"", func(r *run) { r.do(r.lawful(opQueryOrders)).came() }},
	"book":         {"-book", func(r *run) { r.current(r.order()) }},
	"order":        {"-book", func(r *run) { r.known(r.spare()) }},
	"voucher":      {"-book", func(r *run) { r.voucher() }},
	"cancel":       {"-book", func(r *run) { r.cancelled() }},
	"webhook":      {"-callback", func(r *run) { r.events() }},
}

// blamed are rules that become Broken, not NotTried, if the step before them breaks: no other rule checks that step.
var blamed = []string{"book/passport-largest", "voucher/form", "cancel/status", "voucher/cancelled", "webhook/delivered"}

// last reports whether a rule is one of the settlingRules, which are tried after the bookings are cancelled.
func (r Rule) last() bool {
	return slices.ContainsFunc(settlingRules, func(other Rule) bool { return other.Name == r.Name })
}

// selected reports whether one of the names is the name of r, of its group or of its section, in upper or lower case.
func (r Rule) selected(names []string) bool {
	group, _, _ := strings.Cut(r.Name, "/")
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(name, r.Name) || strings.EqualFold(name, group) || strings.EqualFold(name, r.Section)
	})
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
	cause error // if an earlier step failed, its error
}

func (u untried) Error() string { return u.why }

// stop ends a rule with an error, like FailNow in a test.
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

// run is the state of one rule while it is tried.
type run struct {
	*session
	name  string
	ctx   context.Context
	log   []*Exchange
	found string
	weak  string
}

// find sets the finding of the rule: how the service behaves on a point that the document leaves open.
func (r *run) find(format string, args ...any) { r.found = fmt.Sprintf(format, args...) }

// suffers gives the rule the state Weak if bad is true. Only the first reason is kept.
func (r *run) suffers(bad bool, format string, args ...any) {
	if bad && r.weak == "" {
		r.weak = fmt.Sprintf(format, args...)
	}
}

func (s *session) try(ctx context.Context, rule Rule) Result {
	res := Result{Rule: rule, State: NotTried}
	res.try = nil
	r := &run{session: s, name: rule.Name, ctx: ctx}
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
		kept := *ex
		kept.raw = nil // the unmasked answer is dropped, because the report outlives the run
		res.Evidence = append(res.Evidence, kept)
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
	return s.bench.over(res, ctx.Err() != nil)
}

type operation = hotelstays.Operation

// Short names, because rules use them everywhere.
const (
	opTicket, opOAuthToken                        = hotelstays.OpTicket, hotelstays.OpOAuthToken
	opDestinations, opHotelsMetadata, opHotelList = hotelstays.OpDestinations, hotelstays.OpHotelsMetadata, hotelstays.OpHotelList
	opHotelStaticDetail, opHotelRates             = hotelstays.OpHotelStaticDetail, hotelstays.OpHotelRates
	opCheckAvail, opBook                          = hotelstays.OpCheckAvail, hotelstays.OpBook
	opQueryOrders, opOrderVoucher, opCancel       = hotelstays.OpQueryOrders, hotelstays.OpOrderVoucher, hotelstays.OpCancel
)

// readOps are the operations that only read, in the order of the document.
var readOps = []operation{opDestinations, opHotelsMetadata, opHotelList, opHotelRates, opCheckAvail, opQueryOrders, opOrderVoucher}
