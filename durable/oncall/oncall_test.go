package oncall_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/durable/oncall"
)

// work is a durable.Bookings with given rows. It records the actions of persons.
type work struct {
	durable.Bookings[any]
	account  string // the account of the last action
	bookings []durable.Booking
	cancels  []durable.Cancellation
	orders   []durable.FollowedOrder
	broken   []error // errors at the end of each list
	refuses  error
	done     []string
	hanging  []string
}

func listed[T any](items []T, broken []error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
		for _, err := range broken {
			if !yield(*new(T), err) {
				return
			}
		}
	}
}

func (w *work) List(context.Context) iter.Seq2[durable.Booking, error] {
	return listed(w.bookings, w.broken)
}

func (w *work) Cancellations(context.Context) iter.Seq2[durable.Cancellation, error] {
	return listed(w.cancels, w.broken)
}

func (w *work) Orders(context.Context) iter.Seq2[durable.FollowedOrder, error] {
	return listed(w.orders, w.broken)
}

func (w *work) Hanging() []string { return w.hanging }

func (w *work) ForAccount(account string) durable.Bookings[any] {
	w.account = account
	return w
}

func (w *work) did(what, reference string) error {
	w.done = append(w.done, what+" "+reference)
	return w.refuses
}

func (w *work) Retry(_ context.Context, reference string) error   { return w.did("retry", reference) }
func (w *work) Wake(_ context.Context, reference string) error    { return w.did("wake", reference) }
func (w *work) Abandon(_ context.Context, reference string) error { return w.did("abandon", reference) }

// page is the Handler under the path /oncall.
type page struct {
	http.Handler
	t   *testing.T
	log bytes.Buffer
}

func newPage(t *testing.T, w *work) *page {
	p := &page{t: t}
	p.Handler = http.StripPrefix("/oncall", oncall.Handler[any](w, &oncall.Options{Logger: slog.New(slog.NewTextHandler(&p.log, nil)),
		User: func(r *http.Request) string { return r.Header.Get("Remote-User") }}))
	return p
}

// send sends a form, or a GET request if form is nil.
func (p *page) send(address string, form url.Values, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/oncall/"+address, nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, "/oncall/"+address, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Remote-User", "ada")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

func (p *page) get(address string) string {
	p.t.Helper()
	w := p.send(address, nil)
	require.Equal(p.t, http.StatusOK, w.Code, w.Body)
	return w.Body.String()
}

var (
	references = regexp.MustCompile(`<h2>(.*?)</h2>`)
	tags       = regexp.MustCompile(`<span class="tag(?: bad)?">(.*?)</span>`)
)

// found returns the text of the first group of each match.
func found(in *regexp.Regexp, text string) (all []string) {
	for _, match := range in.FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

// booking returns a booking whose Book ended some time ago.
func booking(reference string, ended time.Duration) durable.Booking {
	now := time.Now()
	return durable.Booking{Begun: now.Add(-ended), BookBy: now.Add(-ended), Due: now,
		Recovery: hotelstays.BookingRecovery{CustomerReferenceNo: reference, EndedAt: now.Add(-ended), Fingerprint: "account-1"}}
}

func TestRowShowsItsStateProblemAndActions(t *testing.T) {
	const nobody, overdue = "", "overdue"
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	bookings := func(change func(b *durable.Booking)) *work {
		b := booking("ref-1", time.Minute)
		change(&b)
		return &work{bookings: []durable.Booking{b}}
	}
	cancels := func(c durable.Cancellation) *work {
		c.Due = now
		if c.Begun.IsZero() {
			c.Begun = ago(time.Minute)
		}
		return &work{cancels: []durable.Cancellation{c}}
	}
	orders := func(o durable.FollowedOrder) *work {
		o.Since, o.Due = now, now
		return &work{orders: []durable.FollowedOrder{o}}
	}
	for name, tc := range map[string]struct {
		work       *work
		kind       durable.Kind
		state, bad string
		may        string
	}{
		"a booking waits for Send": {bookings(func(b *durable.Booking) { b.BookBy, b.Recovery.EndedAt = time.Time{}, time.Time{} }),
			durable.KindBooking, "waiting", nobody, "abandon"},
		"Book may be in progress": {bookings(func(b *durable.Booking) { b.BookBy, b.Recovery.EndedAt = ago(-time.Minute), time.Time{} }),
			durable.KindBooking, "booking", nobody, "retry"},
		"the process of a booking died": {bookings(func(b *durable.Booking) { b.Begun, b.Recovery.EndedAt = time.Time{}, time.Time{} }),
			durable.KindBooking, "polling", nobody, "retry abandon"},
		"workers poll for a booking": {bookings(func(*durable.Booking) {}), durable.KindBooking, "polling", nobody, "retry abandon"},
		"polls prove nothing": {bookings(func(b *durable.Booking) { b.Unverified, b.Problem = 3, hotelstays.KindForbidden }),
			durable.KindBooking, "polling", "unverified: 3", "retry abandon"},
		"OnOutcome fails": {&work{bookings: []durable.Booking{booking("ref-1", time.Hour)}}, durable.KindBooking, "polling", "late",
			"retry abandon"},
		"no worker runs": {bookings(func(b *durable.Booking) { b.Due = ago(3 * time.Minute) }), durable.KindBooking, "polling", overdue,
			"retry abandon"},
		"a cancellation waits": {cancels(durable.Cancellation{}), durable.KindCancel, "waiting", nobody, "retry"},
		"a cancellation waits for an hour": {cancels(durable.Cancellation{Begun: ago(time.Hour)}), durable.KindCancel,
			"waiting", "not sent", "retry"},
		"Cancel is in progress": {cancels(durable.Cancellation{SendBy: ago(-time.Minute)}), durable.KindCancel,
			"sending", nobody, ""},
		"Cancel had no answer": {cancels(durable.Cancellation{SendBy: ago(time.Minute)}), durable.KindCancel,
			"polling", nobody, "retry"},
		"Cancel had no answer for an hour": {cancels(durable.Cancellation{SendBy: ago(time.Hour)}), durable.KindCancel,
			"polling", "no answer", "retry"},
		"Cancel was accepted": {cancels(durable.Cancellation{SendBy: ago(time.Hour), Accepted: true}),
			durable.KindCancel, "accepted", nobody, "retry"},
		"OnCancel fails": {cancels(durable.Cancellation{Begun: ago(time.Hour), Ending: durable.CancelDone}),
			durable.KindCancel, "ended", "not delivered", "retry"},
		"an order is followed": {orders(durable.FollowedOrder{CheckOut: "2100-01-03"}), durable.KindOrder, "followed", nobody,
			"retry"},
		"an order is missing": {orders(durable.FollowedOrder{MissingSince: ago(time.Hour)}), durable.KindOrder,
			"followed", "missing", "retry"},
		"the reference has another order": {orders(durable.FollowedOrder{MissingSince: now, Other: "order-2"}),
			durable.KindOrder, "followed", "another order", "retry"},
	} {
		t.Run(name, func(t *testing.T) {
			text := newPage(t, tc.work).get("?kind=" + string(tc.kind))
			want := []string{tc.state}
			if tc.bad != "" {
				want = append(want, tc.bad)
			}
			assert.Equal(t, want, found(tags, text))
			assert.Equal(t, tc.may, strings.Join(found(regexp.MustCompile(`href="act\?do=(\w+)`), text), " "))
		})
	}
}

func TestUrgentRowsComeFirstAndPagesHaveFiftyRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &work{}
		for i := range 1_000 {
			w.bookings = append(w.bookings, booking(fmt.Sprintf("trip-%04d", i), time.Duration(i%300)*time.Second))
		}
		w.bookings[7].Unverified = 1
		p := newPage(t, w)
		first := found(references, p.get(""))
		assert.Equal(t, []string{"trip-0007", "trip-0299", "trip-0599"}, first[:3])
		assert.Len(t, first, 50)
		seen := map[string]bool{}
		for page := 1; page <= 20; page++ {
			for _, reference := range found(references, p.get(fmt.Sprint("?page=", page))) {
				assert.False(t, seen[reference])
				seen[reference] = true
			}
		}
		assert.Len(t, seen, 1_000)
		for page, same := range map[string]string{"0": "1", "-3": "1", "x": "1", "21": "20"} {
			assert.Equal(t, found(references, p.get("?page="+same)), found(references, p.get("?page="+page)))
		}
		assert.Equal(t, []string{"trip-0321"}, found(references, p.get("?q=+TRIP-0321+")))
		assert.Len(t, found(references, p.get("?q=trip-04&page=2")), 50)
		assert.Empty(t, found(references, p.get("?q=nothing")))
	})
}

func TestSearchOnThePageFindsOrderNumbers(t *testing.T) {
	w := &work{orders: []durable.FollowedOrder{{CustomerReferenceNo: "a", PlatformReferenceNo: "order-1"},
		{CustomerReferenceNo: "b", PlatformReferenceNo: "order-2"}}}
	assert.Equal(t, []string{"b"}, found(references, newPage(t, w).get("?kind=order&q=order-2")))
}

func TestPageListsHangingCalls(t *testing.T) {
	assert.Contains(t, newPage(t, &work{hanging: []string{"OnOutcome trip-1"}}).get(""), "OnOutcome trip-1")
}

// The page shows account names only if the rows belong to several accounts.
func TestActionIsCalledForTheAccountOfItsRow(t *testing.T) {
	w := &work{bookings: []durable.Booking{booking("ref-1", 0), booking("ref-2", 0)}}
	p := newPage(t, w)
	assert.NotContains(t, p.get(""), "Account account-1")
	w.bookings[1].Recovery = w.bookings[0].Recovery
	w.bookings[1].Recovery.Fingerprint = "account-2"
	assert.Contains(t, p.get(""), "Account account-1")
	const row = "do=abandon&kind=booking&account=account-2&reference=ref-1"
	assert.Contains(t, p.get(""), strings.ReplaceAll(row, "&", "&amp;"))
	assert.Contains(t, p.get("act?"+row), `name="account" value="account-2"`)
	form, err := url.ParseQuery(row + "&reason=x")
	require.NoError(t, err)
	assert.Equal(t, http.StatusSeeOther, p.send("act", form).Code)
	assert.Equal(t, []string{"account-2", "abandon ref-1"}, append([]string{w.account}, w.done...))
}

func TestPageNeverSaysThatNothingIsOpenIfAListFails(t *testing.T) {
	empty := newPage(t, &work{}).get("")
	w := &work{broken: []error{errors.New("the database <fails>")}}
	p := newPage(t, w)
	answer := p.send("", nil)
	assert.Equal(t, http.StatusInternalServerError, answer.Code)
	assert.Contains(t, answer.Body.String(), "the database &lt;fails&gt;")
	assert.Contains(t, p.log.String(), "the database <fails>")
	const nothing = "Nothing is open."
	assert.Equal(t, []bool{true, false}, []bool{strings.Contains(empty, nothing), strings.Contains(answer.Body.String(), nothing)})
	w.bookings = []durable.Booking{booking("ref-1", 0)}
	for range 20 {
		w.broken = append(w.broken, errors.New("a row was changed by hand"))
	}
	assert.LessOrEqual(t, strings.Count(p.get(""), "changed by hand"), 10)
}

func TestActionNeedsAReasonAndIsLogged(t *testing.T) {
	failed := errors.New("the call of Book may still be in progress")
	form := func(do, kind, reason string) url.Values {
		return url.Values{"do": {do}, "kind": {kind}, "reference": {"a/b?c"}, "reason": {reason}}
	}
	for name, tc := range map[string]struct {
		form    url.Values
		refuses error
		status  int
		done    []string
		logged  string
	}{
		"retry":                      {form("retry", "booking", "we asked"), nil, 303, []string{"retry a/b?c"}, "action=retry"},
		"retry of a cancellation":    {form("retry", "cancellation", "x"), nil, 303, []string{"wake a/b?c"}, "action=wake"},
		"retry of a followed order":  {form("retry", "order", "x"), nil, 303, []string{"wake a/b?c"}, "action=wake"},
		"abandon":                    {form("abandon", "booking", "no order"), nil, 303, []string{"abandon a/b?c"}, `reason="no order" user=ada`},
		"abandon of an order":        {form("abandon", "order", "x"), nil, 303, []string{"abandon a/b?c"}, "action=abandon"},
		"a refused action":           {form("abandon", "booking", "x"), failed, 409, []string{"abandon a/b?c"}, "error=" + fmt.Sprintf("%q", failed)},
		"no reason":                  {form("abandon", "booking", " "), nil, 422, nil, ""},
		"a reason of 501 characters": {form("retry", "booking", strings.Repeat("ä", 501)), nil, 422, nil, ""},
		"a reason of 500 characters": {form("retry", "booking", strings.Repeat("ä", 500)), nil, 303, []string{"retry a/b?c"}, "ä"},
		"no reference":               {url.Values{"do": {"retry"}, "reason": {"x"}}, nil, 404, nil, ""},
		"a form of 1 MiB":            {form("retry", "booking", strings.Repeat("x", 1<<20)), nil, 404, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &work{bookings: []durable.Booking{booking("a/b?c", 0)}, refuses: tc.refuses}
			p := newPage(t, w)
			answer := p.send("act", tc.form)
			assert.Equal(t, tc.status, answer.Code)
			assert.Equal(t, tc.done, w.done)
			assert.Contains(t, p.log.String(), tc.logged)
			if tc.status == http.StatusSeeOther {
				assert.Contains(t, p.log.String(), "level=WARN")
				shown := p.get(strings.TrimPrefix(answer.Header().Get("Location"), "./"))
				assert.Contains(t, shown, `role="status"`)
			}
			if tc.status == http.StatusConflict || tc.status == http.StatusUnprocessableEntity {
				assert.Contains(t, answer.Body.String(), `name="reference" value="a/b?c"`)
				assert.Regexp(t, `role="alert"|aria-invalid`, answer.Body.String())
			}
		})
	}
}

func TestConfirmationPageChangesNothing(t *testing.T) {
	w := &work{bookings: []durable.Booking{booking("ref-1", 0)}}
	p := newPage(t, w)
	assert.Equal(t, []string{"polling"}, found(tags, p.get("act?do=abandon&reference=ref-1")))
	assert.Empty(t, found(tags, p.get("act?do=retry&reference=given-up")))
	assert.Equal(t, http.StatusNotFound, p.send("act?do=retry", nil).Code)
	assert.Empty(t, w.done)
}

// Each answer has the security headers.
func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	w := &work{bookings: []durable.Booking{booking("ref-1", 0)}}
	p := newPage(t, w)
	form := url.Values{"do": {"abandon"}, "reference": {"ref-1"}, "reason": {"x"}}
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://elsewhere.example"}} {
		assert.Equal(t, http.StatusForbidden, p.send("act", form, header...).Code)
	}
	assert.Empty(t, w.done)
	for _, address := range []string{"", "act?reference=ref-1", "static/page.css", "nowhere"} {
		h := p.send(address, nil).Header()
		assert.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'")
		assert.NotContains(t, h.Get("Content-Security-Policy"), "script")
		assert.Equal(t, "no-store", h.Get("Cache-Control"))
	}
}

// No page shows a UserRef or a session. Each page escapes texts of callers, such as references.
func TestPageHidesGuestsAndSessions(t *testing.T) {
	b := booking(`<script>"x"`, 0)
	b.Recovery.UserRef, b.Recovery.SessionID = "guest@example.com", "session-1"
	p := newPage(t, &work{bookings: []durable.Booking{b}})
	for _, address := range []string{"", "act?do=retry&reference=" + url.QueryEscape(b.Recovery.CustomerReferenceNo)} {
		text := p.get(address)
		assert.NotContains(t, text, "guest@example.com")
		assert.NotContains(t, text, "session-1")
		assert.NotContains(t, text, "<script")
		assert.Contains(t, text, "&lt;script&gt;")
	}
}
