// The rows of the page.

package oncall

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/durable"
)

const (
	// overdueAfter is the delay of a worker after which the page marks a row as overdue. It is longer than the lease of
	// a row.
	overdueAfter = 2 * time.Minute
	// provenAfter is the time since Book after which the page marks an open booking as late. If polls are answered,
	// they end a booking within ten minutes.
	provenAfter = 15 * time.Minute
	// stuckAfter is the time after which the page marks a cancellation that was not sent, got no answer, or could not
	// be passed to OnCancel.
	stuckAfter = 30 * time.Minute
	// maxProblems bounds how many problems of a list the page shows.
	maxProblems = 10
)

type row struct {
	Kind      durable.Kind
	Reference string
	Order     string // number of the order, if it is known
	Account   string
	State     string
	Bad       string // one or two words that say why a person should look at the row; empty if nobody has to
	Since     time.Time
	At, Age   string // the field Since as text: At is the time, and Age is how long ago it was
	Why, Next string
	Abandons  bool // whether the row has a button for Abandon
	Retries   bool // whether the row has a button for Retry
}

// rows returns the open rows of a kind. Rows that need a person come before all other rows. In both groups the oldest
// row comes first.
func (h *handler) rows(ctx context.Context, kind durable.Kind) (rows []row, problems []string) {
	now := time.Now()
	switch kind {
	case durable.KindBooking:
		rows, problems = collect(h.List(ctx), now, ofBooking)
	case durable.KindCancel:
		rows, problems = collect(h.Cancellations(ctx), now, ofCancel)
	default:
		rows, problems = collect(h.Orders(ctx), now, ofOrder)
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if (a.Bad == "") != (b.Bad == "") {
			return strings.Compare(b.Bad, a.Bad)
		}
		return a.Since.Compare(b.Since)
	})
	return rows, problems
}

func collect[T any](listed iter.Seq2[T, error], now time.Time, of func(T, time.Time) row) (rows []row, problems []string) {
	for item, err := range listed {
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		r := of(item, now)
		if !r.Since.IsZero() {
			r.At, r.Age = at(r.Since, now), age(now.Sub(r.Since))
		}
		rows = append(rows, r)
	}
	return rows, problems
}

// act describes the next step of a worker. The parameter due is when the step is due. If the worker is late, act marks
// the row as overdue.
func (r *row) act(what string, due, now time.Time) {
	r.Next = fmt.Sprintf("A worker %s at %s.", what, at(due, now))
	if now.Sub(due) > overdueAfter {
		r.Bad = cmp.Or(r.Bad, "overdue")
		r.Next = fmt.Sprintf("A worker was due at %s. Start a process whose Run, or River client, works for this account.", at(due, now))
	}
}

func ofBooking(b durable.Booking, now time.Time) row {
	r := row{Kind: durable.KindBooking, Reference: b.Recovery.CustomerReferenceNo, Account: b.Account(),
		Since: b.Begun, State: string(b.Phase(now))}
	ended := b.Recovery.EndedAt
	if ended.IsZero() {
		ended = b.BookBy
	}
	if r.Since.IsZero() {
		r.Since = ended
	}
	switch b.Phase(now) {
	case durable.PhaseWaiting:
		r.Why, r.Abandons = "It is stored. Nothing was sent yet.", true
		r.act("sends it, if nobody calls Send before,", b.Due, now)
		return r
	case durable.PhaseBooking:
		r.Why, r.Retries = "Its process may still send Book, or poll for the order.", true
		r.Next = fmt.Sprintf("If the outcome is still unknown, workers poll from %s.", at(b.BookBy, now))
		return r
	}
	r.Abandons, r.Retries = true, true
	r.Why = fmt.Sprintf("Book had no answer by %s. Nobody knows yet whether there is an order.", at(ended, now))
	switch {
	case b.Unverified > 0:
		r.Bad = fmt.Sprintf("unverified: %d", b.Unverified)
		r.Why = fmt.Sprintf("Book had no answer by %s. %d polls proved neither an order nor its absence. Ask the service.",
			at(ended, now), b.Unverified)
	case now.Sub(ended) > provenAfter:
		r.Bad = "late"
		r.Why = fmt.Sprintf("Book had no answer by %s, and the booking should have ended ten minutes later. "+
			"Look in the log: OnOutcome may fail.", at(ended, now))
	}
	if b.Problem != "" {
		r.Why += fmt.Sprintf(" The last poll failed: %s.", b.Problem)
	}
	r.act("polls for the order", b.Due, now)
	return r
}

func ofCancel(c durable.Cancellation, now time.Time) row {
	r := row{Kind: durable.KindCancel, Reference: c.CustomerReferenceNo, Order: c.PlatformReferenceNo, Account: c.Account, Since: c.Begun,
		Retries: true}
	step := "reads the order"
	switch {
	case c.Ending != "":
		r.State, step = "ended", "calls OnCancel again"
		r.Why = fmt.Sprintf("It has ended as %s, but OnCancel has not accepted that. Look in the log for its error.", c.Ending)
		if now.Sub(c.Begun) > stuckAfter {
			r.Bad = "not delivered"
		}
	case c.SendBy.IsZero():
		r.State, step = "waiting", "tries again"
		r.Why = "Cancel was not executed yet: its booking is open, its order is not listed, or Cancel did not reach the service."
		if now.Sub(c.Begun) > stuckAfter {
			r.Bad = "not sent"
		}
	case now.Before(c.SendBy):
		r.State, r.Retries, r.Why = "sending", false, "Cancel may be in progress."
	case c.Accepted:
		r.State, r.Why = "accepted", "The service has accepted Cancel. The order is not yet listed as cancelled."
	default:
		r.State = "polling"
		r.Why = fmt.Sprintf("Cancel had no answer by %s. Nobody knows yet whether the order is cancelled.", at(c.SendBy, now))
		if now.Sub(c.SendBy) > stuckAfter {
			r.Bad = "no answer"
		}
	}
	r.act(step, c.Due, now)
	return r
}

func ofOrder(o durable.FollowedOrder, now time.Time) row {
	r := row{Kind: durable.KindOrder, Reference: o.CustomerReferenceNo, Order: o.PlatformReferenceNo, Account: o.Account, Since: o.Since,
		State: "followed", Retries: true, Why: "That was its last change or event."}
	if o.CheckOut != "" {
		r.Why += fmt.Sprintf(" The stay ends on %s.", o.CheckOut)
	}
	if !o.MissingSince.IsZero() {
		r.Bad, r.Why = "missing", fmt.Sprintf("The service has not listed it since %s. Ask the service.", at(o.MissingSince, now))
	}
	if o.Other != "" {
		r.Bad, r.Why = "another order", r.Why+fmt.Sprintf(" The reference has another order: %s.", o.Other)
	}
	r.act("reads the order", o.Due, now)
	return r
}

// view is the data of the template that shows a list.
type view struct {
	Kind       durable.Kind
	Search     string
	Now        string
	All, Found int // number of all rows, and of the rows that the search found
	Bad        int // number of found rows that need a person
	Rows       []row
	Accounts   bool // whether there are several accounts
	From, To   int
	Page, Last int
	Hanging    []string
	Problems   []string
	More       int // number of problems that the page leaves out
	Done       string
}

// view selects the rows whose reference or order number contains the text in the parameter search, and returns one page
// of them.
func (h *handler) view(ctx context.Context, kind durable.Kind, search, page string) *view {
	rows, problems := h.rows(ctx, kind)
	v := &view{Kind: kind, Search: strings.TrimSpace(search), Now: at(time.Now(), time.Now()), All: len(rows), Hanging: h.Hanging()}
	v.Problems = problems[:min(len(problems), maxProblems)]
	v.More = len(problems) - len(v.Problems)
	for _, r := range rows {
		v.Accounts = v.Accounts || r.Account != rows[0].Account
	}
	wanted := strings.ToLower(v.Search)
	rows = slices.DeleteFunc(rows, func(r row) bool {
		return !strings.Contains(strings.ToLower(r.Reference), wanted) && !strings.Contains(strings.ToLower(r.Order), wanted)
	})
	for _, r := range rows {
		if r.Bad != "" {
			v.Bad++
		}
	}
	v.Found, v.Last = len(rows), max(1, (len(rows)+perPage-1)/perPage)
	v.Page, _ = strconv.Atoi(page)
	v.Page = min(max(v.Page, 1), v.Last)
	v.From, v.To = (v.Page-1)*perPage, min(v.Page*perPage, len(rows))
	v.Rows = rows[v.From:v.To]
	v.From++
	return v
}

// Kinds returns the kinds of rows, one for each tab of the page.
func (v *view) Kinds() []durable.Kind {
	return []durable.Kind{durable.KindBooking, durable.KindCancel, durable.KindOrder}
}

// Title returns the heading of the list.
func (v *view) Title() string { return titles[v.Kind].list }

// titles has the words that the page uses for a kind: on its tab, above its list, and for one row.
var titles = map[durable.Kind]struct{ tab, list, one string }{
	durable.KindBooking: {"Bookings", "Open bookings", "booking"},
	durable.KindCancel:  {"Cancellations", "Open cancellations", "cancellation of"},
	durable.KindOrder:   {"Orders", "Followed orders", "followed order"},
}

// Before and After return the numbers of the previous and the next page.
func (v *view) Before() int { return v.Page - 1 }

func (v *view) After() int { return v.Page + 1 }

// Link returns the address of a page of the same list.
func (v *view) Link(page int) string {
	return "./?" + url.Values{"kind": {string(v.Kind)}, "q": {v.Search}, "page": {strconv.Itoa(page)}}.Encode()
}

// age formats a duration, such as "5 min" or "3 days".
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// at formats a time in UTC. It leaves out the date if the date is today.
func at(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}
