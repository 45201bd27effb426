// Bookings: the steps of each booking, made from its requests, its order and its webhooks.

package sandboxpage

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	maxBookings   = 20
	maxSteps      = 40 // maximum number of steps that the page shows for a booking
	maxReferences = 3  // a request with more references belongs to no single booking, so only the journal lists it
)

// booking is the template data for the requests, orders and webhooks of one customerReferenceNo.
type booking struct {
	ID        int // identifies the booking in the HTML of the page
	Reference string
	Order     *order
	Steps     []step
	Earlier   int // number of older steps that the page hides
	Webhooks  []webhook
	Failing   int // number of webhooks that were not delivered
	Open      bool

	requests []*hotelstaystest.Request
	orders   []hotelstaystest.LedgerOrder
	first    time.Time
}

type step struct {
	At          time.Time
	Since       string // time since the booking's first step
	Class       string
	Title, Text string
	Fault       hotelstaystest.FaultKind
	Note        string
}

type order struct {
	hotelstaystest.LedgerOrder
	ID          int
	Class, Path string
	States      []string // names of the order statuses, indexed by status number
}

type webhook struct {
	hotelstaystest.Webhook
	Class    string
	Path     string
	Attempts []attempt
}

type attempt struct {
	Class, Text string
	Fault       hotelstaystest.FaultKind
}

// bookings returns a page of the bookings that match a filter, the newest first.
func bookings(srv *hotelstaystest.Server, requests []hotelstaystest.Request, f filter) (shown []*booking, page pages) {
	all, byReference := []*booking{}, map[string]*booking{}
	at := func(reference string, t time.Time) *booking {
		b := byReference[reference]
		if b == nil {
			b = &booking{Reference: reference, first: t}
			byReference[reference] = b
			all = append(all, b)
		}
		if t.Before(b.first) {
			b.first = t
		}
		return b
	}
	customer := map[string]string{} // maps a platformReferenceNo to its customerReferenceNo
	for _, o := range srv.Ledger().Orders() {
		customer[o.PlatformReferenceNo] = o.CustomerReferenceNo
		b := at(o.CustomerReferenceNo, o.CreatedAt)
		b.orders = append(b.orders, o)
	}
	for i := range requests {
		r := &requests[i]
		var of []string
		for _, reference := range r.References {
			if own := cmp.Or(customer[reference], reference); !slices.Contains(of, own) {
				of = append(of, own)
			}
		}
		if len(of) > maxReferences {
			continue
		}
		for _, reference := range of {
			b := at(reference, r.Arrived)
			b.requests = append(b.requests, r)
		}
	}
	slices.SortStableFunc(all, func(a, b *booking) int { return b.first.Compare(a.first) })
	for i, b := range all {
		b.ID = len(all) - i // counted from the oldest booking, so that a new booking does not change the other ids
	}
	matching := slices.DeleteFunc(slices.Clone(all), func(b *booking) bool { return !f.passes(b) })
	shown, page = pageOf(matching, f.Bookings, maxBookings)
	hooks := map[string][]hotelstaystest.Webhook{}
	for _, w := range srv.Ledger().Webhooks() {
		hooks[w.CustomerReferenceNo] = append(hooks[w.CustomerReferenceNo], w)
	}
	numbers := srv.Config().Variants.OrderStatusNumbers
	for i, b := range shown {
		b.addSteps(numbers, hooks[b.Reference])
		b.Open = i == 0 || !b.settled()
	}
	return shown, page
}

// addSteps fills b.Steps with the requests, status changes and webhooks of the booking, in the order of time.
func (b *booking) addSteps(numbers hotelstaystest.OrderStatusNumbers, hooks []hotelstaystest.Webhook) {
	if len(b.orders) > 0 {
		b.Order = newOrder(numbers, b.orders[0], b.ID)
	}
	b.addRequests()
	for _, o := range b.orders {
		for _, change := range o.History[min(1, len(o.History)):] { // the first change is left out, because the step of Book shows it
			b.Steps = append(b.Steps, step{At: change.At, Class: "mark", Title: "The order", Text: "is " + numbers.Name(change.Status) + "."})
		}
	}
	for _, w := range hooks {
		shown := newWebhook(w)
		b.Webhooks = append(b.Webhooks, shown)
		b.Steps = append(b.Steps, step{At: w.EventTime, Class: shown.Class, Title: "Webhook " + string(w.Event), Text: shown.summary()})
		if shown.Class == "bad" {
			b.Failing++
		}
	}
	slices.SortStableFunc(b.Steps, func(x, y step) int { return x.At.Compare(y.At) })
	b.Earlier = max(0, len(b.Steps)-maxSteps)
	b.Steps = b.Steps[b.Earlier:]
	for i := range b.Steps {
		b.Steps[i].Since = since(b.Steps[i].At.Sub(b.first))
	}
}

// settled reports whether the order is confirmed or cancelled, and no webhook is pending.
func (b *booking) settled() bool {
	pending := func(w webhook) bool { return w.State == hotelstaystest.WebhookPending }
	return b.Order != nil && b.Order.Class != "" && !slices.ContainsFunc(b.Webhooks, pending)
}

func (b *booking) addRequests() {
	tries := map[string]int{} // maps an operation and a trace id to the number of attempts
	booked := false
	for _, r := range b.requests {
		s := step{At: r.Arrived, Title: string(r.Operation), Fault: r.Fault}
		if key := string(r.Operation) + " " + r.TraceID; r.TraceID != "" {
			if tries[key]++; tries[key] > 1 {
				s.Title += fmt.Sprintf(" (attempt %d)", tries[key])
			}
		}
		s.Class, s.Note = outcome(r)
		if r.Msg != "" && r.Code != 0 {
			s.Note += ": " + r.Msg
		}
		s.Text = b.did(r, booked)
		if s.Class == "good" || r.Cut || r.Done.IsZero() {
			s.Note = "" // Text already says what happened
		}
		if s.Text == foundNothing {
			s.Class = ""
		}
		booked = booked || r.Operation == "Book" && r.Executed
		b.Steps = append(b.Steps, s)
	}
}

const foundNothing = "found nothing."

// did returns text about the effect of a request, such as "made the order." The text also says if the client did not get
// the answer. The parameter booked is true if an earlier Book has made the order.
func (b *booking) did(r *hotelstaystest.Request, booked bool) string {
	lost := ""
	if r.Cut {
		lost = " The answer was lost: the client does not know."
	}
	switch {
	case r.Done.IsZero():
		return "is in progress."
	case !r.Executed && r.Cut:
		return "was cut off. Nothing was done."
	case !r.Executed:
		return "was refused."
	case r.Operation == "Book" && booked:
		return "returned the same order." + lost
	case r.Operation == "Book":
		return "made the order." + lost
	case r.Operation == "Cancel":
		return "cancelled the order." + lost
	case r.Operation == "QueryOrders" && lost == "":
		if b.Order != nil && strings.Contains(r.Answer, b.Order.PlatformReferenceNo) {
			return "found the order."
		}
		return foundNothing
	}
	return "was answered." + lost
}

// since formats the time since a booking's first step, such as "+2 m 5 s".
func since(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("+%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("+%d m %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("+%d h %d m", int(d.Hours()), int(d.Minutes())%60)
}

func newOrder(n hotelstaystest.OrderStatusNumbers, o hotelstaystest.LedgerOrder, id int) *order {
	out := &order{
		LedgerOrder: o, ID: id, Path: control + "orders/" + url.PathEscape(o.PlatformReferenceNo) + "/",
		Class: map[types.OrderStatus]string{n.Confirmed: "good", n.Cancelled: "bad"}[o.Status],
	}
	for status := range types.OrderStatus(6) {
		out.States = append(out.States, n.Name(status))
	}
	return out
}

func newWebhook(w hotelstaystest.Webhook) webhook {
	classes := map[hotelstaystest.WebhookState]string{hotelstaystest.WebhookDelivered: "good", hotelstaystest.WebhookPending: "warn"}
	out := webhook{Webhook: w, Class: cmp.Or(classes[w.State], "bad"), Path: control + "webhooks/" + url.PathEscape(w.EventID) + "/"}
	for _, a := range w.Attempts {
		out.Attempts = append(out.Attempts, newAttempt(a))
	}
	return out
}

func newAttempt(a hotelstaystest.WebhookAttempt) attempt {
	out := attempt{Class: "bad", Fault: a.Fault, Text: a.Started.UTC().Format("15:04:05.000") + ": "}
	switch {
	case a.Done.IsZero():
		out.Class, out.Text = "", out.Text+"under way"
	case a.Status == 0:
		out.Text += cmp.Or(a.Error, "not sent")
	default:
		out.Text += fmt.Sprintf("HTTP %d", a.Status)
		if a.Status/100 == 2 {
			out.Class = "good"
		}
	}
	if a.Copy {
		out.Text += ", a copy"
	}
	if a.Fault != hotelstaystest.FaultDrop {
		out.Text += map[string]string{"valid": ", signature correct", "invalid": ", signature wrong", "none": ", unsigned"}[a.Signed]
	}
	return out
}

// summary returns text about the delivery of a webhook, such as "was given up after 5 attempts."
func (w *webhook) summary() string {
	n := len(w.Attempts)
	switch w.State {
	case hotelstaystest.WebhookDelivered:
		return fmt.Sprintf("was delivered. Attempts: %d.", n)
	case hotelstaystest.WebhookGivenUp:
		return fmt.Sprintf("was given up after %d attempts.", n)
	case hotelstaystest.WebhookDropped:
		return "was lost by a fault."
	case hotelstaystest.WebhookRefused:
		return "was not sent: its host is neither loopback nor allowed."
	}
	return fmt.Sprintf("is on its way. Attempts so far: %d.", n)
}
