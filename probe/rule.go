// Rules: what is tried, and what came out.

package probe

import (
	"cmp"
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
	Name string `json:"rule"`
	// Section is the section of the API's document.
	Section string `json:"section"`
	// Promise says what must hold, or what is found out.
	Promise string `json:"promise"`
	// Needs is the field of Config that has to be set; "": reading is enough.
	Needs string `json:"needs,omitempty"`

	try func(*run)
}

// given says whether what rules may need is set.
var given = map[string]func(*Config) bool{
	"":         func(*Config) bool { return true },
	"Burst":    func(c *Config) bool { return c.Burst },
	"OAuth":    func(c *Config) bool { return c.OAuth != nil },
	"Patience": func(c *Config) bool { return c.Patience > 0 },
	"Booking":  func(c *Config) bool { return c.Booking != nil },

	"Booking.Callback": func(c *Config) bool { return c.Booking != nil && c.Booking.Callback != nil },
}

// Rules returns all rules, in the order in which they are tried.
func Rules() []Rule {
	return slices.Concat(ticketRules, authRules, oauthRules, answerRules, limitRules,
		destinationRules, metadataRules, listRules, ratesRules, checkRules, orderRules, openRules, patientRules,
		bookRules, voucherRules, cancelRules, webhookRules, openBookingRules)
}

// selected reports whether one of the names is that of r, of its group or of its section, in any case.
func (r Rule) selected(names []string) bool {
	group, _, _ := strings.Cut(r.Name, "/")
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		return strings.EqualFold(name, r.Name) || strings.EqualFold(name, group) || strings.EqualFold(name, r.Section)
	})
}

// State is what came out of a rule. The zero value is not set: no Result of a run has it.
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
	Rule
	State State `json:"state"`
	// Reason is what was expected and what came instead, or why the rule was not tried.
	Reason string `json:"reason,omitempty"`
	// Found is what the service does where the document leaves that open.
	Found string `json:"found,omitempty"`
	// Curl repeats the request whose answer broke the rule. There is none for Book and Cancel.
	Curl     string     `json:"curl,omitempty"`
	Evidence []Exchange `json:"evidence,omitempty"`
}

// untried is why a rule could not be judged.
type untried struct {
	why   string
	cause error // what broke before, if another rule is about that
}

func (u untried) Error() string { return u.why }

// stop ends a rule with an error, as the FailNow of a test does.
type stop struct{ err error }

// breaks ends the rule as broken.
func breaks(wrong bool, format string, args ...any) {
	if wrong {
		panic(stop{fmt.Errorf(format, args...)})
	}
}

// skip ends the rule as not tried.
func skip(unknown bool, format string, args ...any) {
	if unknown {
		panic(stop{untried{fmt.Sprintf(format, args...), nil}})
	}
}

// judge runs a part of a rule until it ends.
func judge(part func()) (err error) {
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

// run is one rule that is being tried.
type run struct {
	*session
	ctx   context.Context
	log   []*Exchange
	found string
	// whole: no other rule is about what this one needs, so that its faults are this one's.
	whole bool
}

// find notes what an open point is.
func (r *run) find(format string, args ...any) { r.found = fmt.Sprintf(format, args...) }

// each judges each operation that only reads, of the given ones. The first that breaks the rule ends it.
func each(ops []operation, try func(*run, operation)) func(*run) {
	return func(r *run) {
		var missing error
		for _, op := range ops {
			err := judge(func() { try(r, op) })
			if err != nil && !errors.As(err, new(untried)) {
				panic(stop{err})
			}
			missing = cmp.Or(missing, err)
		}
		if missing != nil {
			panic(stop{missing})
		}
	}
}

// try tries one rule.
func (s *session) try(ctx context.Context, rule Rule) Result {
	res := Result{Rule: rule, State: NotTried}
	res.try = nil
	r := &run{session: s, ctx: ctx}
	err := judge(func() {
		skip(ctx.Err() != nil, "%v", ctx.Err())
		skip(!given[rule.Needs](&s.cfg), "needs Config.%s", rule.Needs)
		rule.try(r)
	})
	missing := untried{}
	if errors.As(err, &missing) && r.whole && missing.cause != nil {
		err = missing.cause
	}
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
	case errors.As(err, &missing):
		res.Reason = s.masker.short(err.Error())
	default:
		res.State, res.Reason = Broken, s.masker.short(err.Error())
		if n := len(res.Evidence); n > 0 {
			res.Curl = res.Evidence[n-1].curl() // a rule ends with the answer that breaks it
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
	opBook           = hotelstays.OpBook
	opQueryOrders    = hotelstays.OpQueryOrders
	opOrderVoucher   = hotelstays.OpOrderVoucher
	opCancel         = hotelstays.OpCancel
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
	opBook:           "/api/trade/book",
	opQueryOrders:    "/api/trade/queryOrders",
	opOrderVoucher:   "/api/trade/orderVoucher",
	opCancel:         "/api/trade/cancel",

	hotelstays.OpHotelStaticDetail: "/api/search/hotelStaticDetail",
}
