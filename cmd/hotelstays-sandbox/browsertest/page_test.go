//go:build browser

package browsertest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/cmd/hotelstays-sandbox/browsertest"
	"github.com/hotelstays/hotelstays-go/cmd/hotelstays-sandbox/internal/sandboxpage"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

func startSandbox(t *testing.T, config ...hotelstaystest.Config) *hotelstaystest.Server {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.Control.Enabled, c.Control.Page = true, sandboxpage.Handler
	srv := hotelstaystest.NewServer(&c)
	t.Cleanup(srv.Close)
	return srv
}

func openPage(t *testing.T, srv *hotelstaystest.Server, screen browsertest.Screen, query string) *browsertest.Tab {
	t.Helper()
	return browsertest.Open(t, srv.URL+"/_sandbox/"+query, screen)
}

type engine struct {
	*hotelstays.Client
	t   *testing.T
	srv *hotelstaystest.Server
}

func newEngine(t *testing.T, srv *hotelstaystest.Server) *engine {
	t.Helper()
	return &engine{testkit.NewClient(t, srv, testkit.TicketOf(srv)), t, srv}
}

func (e *engine) book(reference, lastName string) error {
	e.t.Helper()
	req := testkit.FindOffer(e.t, e.srv, e.Client, 0).Request(reference)
	req.CallbackURL, req.Guests[0].LastName = "https://engine.example.com/events", lastName
	_, err := e.Book(e.t.Context(), req)
	return err
}

func (e *engine) poll(reference string) {
	e.t.Helper()
	_, err := e.QueryOrders(e.t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{reference}})
	require.NoError(e.t, err)
}

// pictured maps checked pages to the names of their pictures in docs/pictures. With SCREENSHOTS=../../../docs/pictures the tests
// save these pictures.
var pictured = map[string]string{"lost-desktop": "sandbox", "oncall-3-desktop": "oncall", "report-desktop": "probe"}

func checkScreens(p *browsertest.Tab, name string) {
	for _, screen := range browsertest.Screens {
		p.Resize(screen)
		p.Check(name + " on a " + screen.Name)
		if picture := pictured[name+"-"+screen.Name]; picture != "" {
			p.Picture(picture)
		}
	}
}

func TestPageShowsTheStepsOfABookingWhoseAnswerWasLost(t *testing.T) {
	failing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	srv := startSandbox(t, hotelstaystest.Config{
		LateVisibility: time.Minute, Webhooks: hotelstaystest.WebhookConfig{CallbackHandler: failing},
	})
	e := newEngine(t, srv)
	p := openPage(t, srv, browsertest.Screens[0], "")
	p.WaitFor("#state", "live")
	p.WaitFor("#bookings", "No booking yet")
	checkScreens(p, "empty")

	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
	p.WaitFor("#faults-list", "cut on Book")
	require.ErrorAs(t, e.book("trip-1", "One"), new(*hotelstays.OutcomeUnknownError))
	story := []string{"trip-1", "Book", "made the order", "answer was lost"}
	p.WaitFor("#bookings article", story...)
	e.poll("trip-1")
	srv.Advance(time.Minute)
	e.poll("trip-1")
	story = append(story, "QueryOrders", "found nothing", "QueryOrders", "found the order")
	p.WaitFor("#bookings article", story...)
	srv.Advance(5 * time.Minute)
	p.WaitFor("#bookings article", append(story, "The order", "is confirmed")...)
	p.WaitFor("#bookings h3", "confirmed")
	p.Click("#bookings details details summary")
	p.WaitFor("#bookings details details", "order_created", "given-up", "HTTP 503, signature correct")
	checkScreens(p, "lost")
}

// When a newer booking begins, the page collapses an older booking that is confirmed or cancelled and has no pending webhook.
// A booking that the reader has opened stays open.
func TestPageCollapsesAnOlderBookingWhoseOrderIsFinal(t *testing.T) {
	srv := startSandbox(t)
	e := newEngine(t, srv)
	p := openPage(t, srv, browsertest.Screens[2], "")
	p.WaitFor("#state", "live")
	for i, collapsed := range []bool{false, true, true} {
		name := string(rune('a' + i))
		require.NoError(t, e.book("trip-"+name, "N"+name))
		srv.ConfirmOrder("trip-" + name)
		p.WaitFor("#bookings article", "trip-"+name, "confirmed", "made the order")
		p.WaitFor("#bookings article:last-child", "trip-a", "confirmed")
		assert.Equal(t, collapsed, !strings.Contains(p.Text("#booking-1"), "made the order"), "%s", name)
	}
	p.Click("#booking-1 > summary")
	p.WaitFor("#booking-1", "made the order")
	e.poll("trip-a")
	p.WaitFor("#booking-1", "made the order", "found the order")
	p.Check("folded")

	p.Fill("#find-reference", "TRIP-B\n")
	p.WaitFor("#bookings article", "trip-b", "confirmed")
	assert.NotContains(t, p.Text("#bookings"), "trip-a")
	assert.NotContains(t, p.Text("#journal-list"), "trip-a")
	checkScreens(p, "found")
	p.Fill("#find-reference", "nowhere\n")
	p.WaitFor("#bookings", "No booking matches")
}

// The browser opens the page with the control token. Then the buttons and the stream of events must work.
func TestButtonsWorkWithTheControlToken(t *testing.T) {
	srv := startSandbox(t, hotelstaystest.Config{Control: hotelstaystest.ControlConfig{Token: "secret-token"}})
	e := newEngine(t, srv)
	p := openPage(t, srv, browsertest.Screens[0], "?token=secret-token")
	p.WaitFor("#state", "live")
	assert.Equal(t, srv.URL+"/_sandbox/", browsertest.Eval[string](p, `location.href`))
	p.Click("#faults form button") // plans a fault that cuts the connection of the next Book
	p.WaitFor("#faults-list", "cut on Book")
	require.ErrorAs(t, e.book("trip-1", "One"), new(*hotelstays.OutcomeUnknownError))
	assert.Len(t, srv.Ledger().Orders(), 1)
	p.WaitFor("#faults-list", "No fault is waiting")

	p.Click("#bookings article form[data-path$=confirm] button")
	p.WaitFor("#bookings h3", "confirmed")
	p.WaitFor("#message", "Confirm: done")
	p.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[name=percent]").form.noValidate = true`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector("[name=percent]").value = -100`))
	p.Click("form[data-path$=price] button")
	p.WaitFor("#message.bad", "Move the price: ", "percent")
	p.Click(".journal li:has(.ref) summary")
	p.WaitFor(".journal details[open]", "Trace-Id")
	p.Check("clicks")
	p.Click("#clock-title ~ .actions form button")
	p.WaitFor("#clock", "ahead of real time")
}

// Every link, button and field can be reached with the Tab key, and shows that it has the focus. A button keeps the
// focus while the page changes.
func TestTabKeyReachesEveryControl(t *testing.T) {
	srv := startSandbox(t)
	p := openPage(t, srv, browsertest.Screens[2], "")
	p.WaitFor("#state", "live")
	require.NoError(t, newEngine(t, srv).book("trip-1", "One"))
	p.WaitFor("#bookings article", "confirming", "was not sent")
	targets := browsertest.Eval[int](p,
		`[...document.querySelectorAll("a, button, input:not([type=hidden]), select, summary")].filter(e => e.checkVisibility()).length`)
	reached := 0
	for range targets {
		p.Do(chromedp.KeyEvent("\t"))
		visible := browsertest.Eval[bool](p, `(() => {
			const e = document.activeElement, style = getComputedStyle(e), again = "reached" in e.dataset;
			e.dataset.reached = "";
			return !again && e !== document.body && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
		})()`)
		if visible {
			reached++
		}
	}
	assert.Equal(t, targets, reached)

	p.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#bookings form[data-path$=close] button").focus()`))
	srv.ConfirmOrder("trip-1")
	p.WaitFor("#bookings h3", "confirmed")
	focused := browsertest.Eval[string](p, `document.activeElement.textContent`)
	assert.Equal(t, "Sell out", focused)
}

// The page shows texts from clients. A script in such a text must not run.
func TestPageRunsNoScriptOfClients(t *testing.T) {
	const script = `"><script>window.ran = true</script><img src=x onerror="window.ran = true">`
	srv := startSandbox(t)
	e := newEngine(t, srv)
	p := openPage(t, srv, browsertest.Screens[0], "")
	p.WaitFor("#state", "live")
	require.NoError(t, e.book("trip"+script, "</pre>"+script))
	p.WaitFor("#bookings .ref", "trip"+script)
	p.WaitFor("#journal-list", "trip"+script)
	p.Click(".journal li:has(.ref) summary")
	p.WaitFor(".journal li:has(.ref) pre", "lastName", "script")
	ran := browsertest.Eval[bool](p, `window.ran === true`)
	assert.False(t, ran)
}
