// Rules: what is tried, and what came out.

package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotelstays/hotelstays-go"
)

// Rule is one promise of the document, or one point that it leaves open.
type Rule struct {
	// Name is unique, and begins with its group, such as "ticket/ttl".
	Name string
	// Section is the section of the API's document.
	Section string
	// Promise says what must hold, or what is found out.
	Promise string
	// Needs is what has to be allowed or given; 0: reading is enough.
	Needs Need

	try func(*run) error
}

// Need is a set of what rules need beyond reading.
type Need int

// What a rule may need.
const (
	NeedBurst    Need = 1 << iota // Config.Burst
	NeedOAuth                     // Config.OAuth
	NeedPatience                  // Config.Patience
)

var needs = []struct {
	need  Need
	name  string
	given func(*Config) bool
}{
	{NeedBurst, "Burst", func(c *Config) bool { return c.Burst }},
	{NeedOAuth, "OAuth", func(c *Config) bool { return c.OAuth != nil }},
	{NeedPatience, "Patience", func(c *Config) bool { return c.Patience > 0 }},
}

// String names what is needed, as the fields of Config.
func (n Need) String() string {
	var names []string
	for _, row := range needs {
		if n&row.need != 0 {
			names = append(names, row.name)
		}
	}
	return strings.Join(names, ", ")
}

// Rules returns all rules, in the order in which they are tried.
func Rules() []Rule {
	return slices.Concat(ticketRules, authRules, oauthRules, answerRules, limitRules,
		destinationRules, metadataRules, listRules, ratesRules, checkRules, orderRules, patientRules)
}

// selected reports whether one of the names is that of r, of its group or of its section, in any case.
func (r Rule) selected(names []string) bool {
	group, _, _ := strings.Cut(r.Name, "/")
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(name, r.Name) || strings.EqualFold(name, group) || strings.EqualFold(name, r.Section)
	})
}

// State is what came out of a rule.
type State string

// The states of a result.
const (
	Held     State = "held"      // the service does what the document promises
	Found    State = "found"     // an open point: Result.Found is what the service does
	Broken   State = "broken"    // the service does something else
	NotTried State = "not tried" // Result.Reason says why
)

// Result is what came out of one rule.
type Result struct {
	Rule    string `json:"rule"`
	Section string `json:"section"`
	Promise string `json:"promise"`
	State   State  `json:"state"`
	// Reason is what was expected and what came instead, or why the rule was not tried.
	Reason string `json:"reason,omitempty"`
	// Found is what the service does where the document leaves that open.
	Found string `json:"found,omitempty"`
	// Curl repeats the last request of a broken rule.
	Curl     string     `json:"curl,omitempty"`
	Evidence []Exchange `json:"evidence,omitempty"`
}

// untried is why a rule could not be judged.
type untried struct {
	why   string
	cause error // what went wrong before, if another rule is about that
}

func (u untried) Error() string { return u.why }

func notTried(format string, args ...any) error { return untried{fmt.Sprintf(format, args...), nil} }

// needed makes what a rule could not get the reason why it was not tried.
func needed(what string, err error) error {
	if err == nil {
		return nil
	}
	return untried{fmt.Sprintf("needs %s: %v", what, err), err}
}

// blame makes what a rule needed a fault of its own, because no other rule is about it.
func blame(err error) error {
	if missing := (untried{}); errors.As(err, &missing) && missing.cause != nil {
		return missing.cause
	}
	return err
}

// first returns the first error that breaks the rule, or else the first one.
func first(errs ...error) error {
	var why error
	for _, err := range errs {
		if err != nil && !errors.As(err, new(untried)) {
			return err
		}
		if why == nil {
			why = err
		}
	}
	return why
}

// stop ends a rule with an error, as the FailNow of a test does.
type stop struct{ err error }

// check ends the rule if there is an error.
func check(err error) {
	if err != nil {
		panic(stop{err})
	}
}

// breaks ends the rule as broken.
func breaks(wrong bool, format string, args ...any) {
	if wrong {
		panic(stop{fmt.Errorf(format, args...)})
	}
}

// must returns a value, or ends the rule.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// judge runs a rule until it ends.
func (r *run) judge(rule Rule) (err error) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case stop:
			err = end.err
		default:
			err = notTried("this rule cannot judge what the service answered: %v", end)
		}
	}()
	return rule.try(r)
}

// run is one rule that is being tried.
type run struct {
	*session
	ctx   context.Context
	log   []*Exchange
	found string
}

// find notes what an open point is.
func (r *run) find(format string, args ...any) { r.found = fmt.Sprintf(format, args...) }

// try tries one rule.
func (s *session) try(ctx context.Context, rule Rule) Result {
	res := Result{Rule: rule.Name, Section: rule.Section, Promise: rule.Promise, State: NotTried}
	var missing Need
	for _, row := range needs {
		if rule.Needs&row.need != 0 && !row.given(&s.cfg) {
			missing |= row.need
		}
	}
	if missing != 0 {
		res.Reason = fmt.Sprintf("needs Config.%s", missing)
		return res
	}
	r := &run{session: s, ctx: ctx}
	err := r.judge(rule)
	res.Found = s.masker.short(r.found)
	for _, ex := range r.log {
		kept := *ex
		kept.raw = nil // the report outlives the run
		res.Evidence = append(res.Evidence, kept)
	}
	switch {
	case ctx.Err() != nil:
		res.Reason = ctx.Err().Error()
	case err == nil && r.found != "":
		res.State = Found
	case err == nil:
		res.State = Held
	case errors.As(err, new(untried)):
		res.Reason = s.masker.short(err.Error())
	default:
		res.State, res.Reason = Broken, s.masker.short(err.Error())
		if n := len(res.Evidence); n > 0 {
			res.Curl = res.Evidence[n-1].curl()
		}
	}
	return res
}

type operation = hotelstays.Operation

// Short names, because rules are full of them.
const (
	opTicket         = hotelstays.OpTicket
	opOAuthToken     = hotelstays.OpOAuthToken
	opDestinations   = hotelstays.OpDestinations
	opHotelsMetadata = hotelstays.OpHotelsMetadata
	opHotelList      = hotelstays.OpHotelList
	opHotelRates     = hotelstays.OpHotelRates
	opCheckAvail     = hotelstays.OpCheckAvail
	opQueryOrders    = hotelstays.OpQueryOrders
	opOrderVoucher   = hotelstays.OpOrderVoucher
)

// readOps are the operations that change nothing, in the order of the document.
var readOps = []operation{opDestinations, opHotelsMetadata, opHotelList, opHotelRates, opCheckAvail, opQueryOrders, opOrderVoucher}

var paths = map[operation]string{ //nolint:gosec // they hold no secrets
	opTicket:         "/api/auth/ticket",
	opOAuthToken:     "/api/v1/oauth/token",
	opDestinations:   "/api/search/destinations",
	opHotelsMetadata: "/api/search/hotelsMetadata",
	opHotelList:      "/api/search/hotelList",
	opHotelRates:     "/api/search/hotelRates",
	opCheckAvail:     "/api/search/checkAvail",
	opQueryOrders:    "/api/trade/queryOrders",
	opOrderVoucher:   "/api/trade/orderVoucher",
}
