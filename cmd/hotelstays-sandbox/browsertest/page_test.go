//go:build browser

// The page in a real browser. It needs a Chromium on PATH or in CHROME.

package browsertest_test

import (
	"net/http"
	"net/url"
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
	"github.com/hotelstays/hotelstays-go/types"
)

// startSandbox starts a sandbox with the page.
func startSandbox(t *testing.T, config ...hotelstaystest.Config) *hotelstaystest.Server {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.Control.Enabled, c.Control.Page = true, sandboxpage.Handler
	srv := hotelstaystest.NewServer(&c)
	t.Cleanup(srv.Close)
	return srv
}

// openPage opens the page.
func openPage(t *testing.T, srv *hotelstaystest.Server, screen browsertest.Screen, query string) *browsertest.Tab {
	t.Helper()
	return browsertest.Open(t, srv.URL+"/_sandbox/"+query, screen)
}

// engine is a client of the sandbox.
type engine struct {
	t      *testing.T
	client *hotelstays.Client
	city   string
}

func newEngine(t *testing.T, srv *hotelstaystest.Server) *engine {
	t.Helper()
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		hotelstays.WithHTTPClient(srv.Client()))
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return &engine{t, client, srv.CityName(0)}
}

// book searches and books.
func (e *engine) book(reference string, guest types.Guest) error {
	e.t.Helper()
	found, err := e.client.HotelList(e.t.Context(), &hotelstays.HotelListRequest{
		DestinationName: e.city, CheckIn: "2040-03-12", CheckOut: "2040-03-15", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
	})
	require.NoError(e.t, err)
	offer := found.List[0].Rooms[0].Rates[0]
	guest.RoomIndex = 1
	_, err = e.client.Book(e.t.Context(), &hotelstays.BookRequest{
		SessionID: found.Basic.SessionID, RatePkgID: offer.RatePkgID, CustomerReferenceNo: reference,
		CallbackURL: "https://engine.example.com/events",
		Holder:      types.Holder{FirstName: "Guest", LastName: "One"}, Guests: []types.Guest{guest},
	})
	return err
}

// loseAnswer books, and expects no answer.
func (e *engine) loseAnswer(reference string) {
	e.t.Helper()
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(e.t, e.book(reference, types.Guest{FirstName: "Guest", LastName: "One"}), &unknown)
}

func (e *engine) poll(reference string) {
	e.t.Helper()
	_, err := e.client.QueryOrders(e.t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{reference}})
	require.NoError(e.t, err)
}

// checkScreens checks the page at both sizes and in both colour schemes.
func checkScreens(p *browsertest.Tab, name string) {
	for _, screen := range browsertest.Screens {
		p.Resize(screen)
		p.Check(name + " on a " + screen.Name)
		p.Picture(name + "-" + screen.Name)
	}
}

// A booking with a lost answer is told in order, while it happens.
func TestLostAnswer(t *testing.T) {
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
	e.loseAnswer("trip-1")
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

// A settled booking folds when another one comes, unless the reader has opened it.
func TestSettledBookingsFold(t *testing.T) {
	srv := startSandbox(t)
	e := newEngine(t, srv)
	p := openPage(t, srv, browsertest.Screens[2], "")
	p.WaitFor("#state", "live")
	for i, folded := range []bool{false, true, true} {
		name := string(rune('a' + i))
		require.NoError(t, e.book("trip-"+name, types.Guest{FirstName: "Guest", LastName: "N" + name}))
		srv.ConfirmOrder("trip-" + name)
		p.WaitFor("#bookings article", "trip-"+name, "confirmed", "made the order")
		p.WaitFor("#bookings article:last-child", "trip-a", "confirmed")
		assert.Equal(t, folded, !strings.Contains(p.Text("#booking-1"), "made the order"), "%s", name)
	}
	p.Click("#booking-1 > summary")
	p.WaitFor("#booking-1", "made the order")
	e.poll("trip-a")
	p.WaitFor("#booking-1", "made the order", "found the order")
	p.Check("folded")
}

// A fault that is set by a click acts.
func TestFaultByClick(t *testing.T) {
	srv := startSandbox(t)
	e := newEngine(t, srv)
	p := openPage(t, srv, browsertest.Screens[0], "")
	p.WaitFor("#state", "live")
	p.Click("#faults form button") // loses a Book's answer
	p.WaitFor("#faults-list", "cut on Book")
	e.loseAnswer("trip-1")
	assert.Len(t, srv.Ledger().Orders(), 1)
	p.WaitFor("#faults-list", "None")

	p.Click("#bookings article form[data-path$=confirm] button")
	p.WaitFor("#bookings h3", "confirmed")
	p.WaitFor("#message", "Confirm: done")
	p.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[name=percent]").form.noValidate = true`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector("[name=percent]").value = -100`))
	p.Click("form[data-path$=price] button")
	p.WaitFor("#message.bad", "Move: ", "percent")
	p.Click(".journal li:has(.ref) summary")
	p.WaitFor(".journal details[open]", "Trace-Id")
	p.Check("clicks")
	p.Click("#clock-title ~ .actions form button")
	p.WaitFor("#clock", "ahead of real time")
}

// A browser that opened the page with the control token may use its buttons and its events.
func TestPageWithToken(t *testing.T) {
	srv := startSandbox(t, hotelstaystest.Config{Control: hotelstaystest.ControlConfig{Token: "secret-token"}})
	p := openPage(t, srv, browsertest.Screens[0], "?token=secret-token")
	p.WaitFor("#state", "live")
	p.Click("#faults form button")
	p.WaitFor("#faults-list", "cut on Book")
	address, err := chromedp.Run(p.Ctx, chromedp.Location())
	require.NoError(t, err)
	assert.Equal(t, srv.URL+"/_sandbox/", address)
}

// Every target can be reached with the keyboard and shows its focus. A button keeps the focus
// while the page changes.
func TestKeyboard(t *testing.T) {
	srv := startSandbox(t)
	p := openPage(t, srv, browsertest.Screens[2], "")
	p.WaitFor("#state", "live")
	require.NoError(t, newEngine(t, srv).book("trip-1", types.Guest{FirstName: "Guest", LastName: "One"}))
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

// The newest requests are shown, and the others can be reached.
func TestManyRequests(t *testing.T) {
	srv := startSandbox(t, hotelstaystest.Config{LedgerLimit: 100, NoRateLimits: true})
	for range 120 {
		resp, err := srv.Client().Post(srv.URL+"/api/auth/ticket", "application/json", strings.NewReader(`{"appKey":"nobody"}`))
		require.NoError(t, err)
		resp.Body.Close()
	}
	p := openPage(t, srv, browsertest.Screens[0], "")
	p.WaitFor("#journal .note", "120 requests since the start; the oldest 20 were dropped")
	p.WaitFor(".journal .n", "120")
	p.Click(".pages a")
	p.WaitFor(".journal .n", "70")
	p.Check("many")
}

// Texts of clients are shown, and run nothing.
func TestNoScriptRuns(t *testing.T) {
	const script = `"><script>window.ran = true</script><img src=x onerror="window.ran = true">`
	srv := startSandbox(t)
	e := newEngine(t, srv)
	p := openPage(t, srv, browsertest.Screens[0], "")
	p.WaitFor("#state", "live")
	require.NoError(t, e.book("trip"+script, types.Guest{FirstName: script, LastName: "</pre>" + script}))
	p.WaitFor("#bookings .ref", "trip"+script)
	p.WaitFor("#journal-list", "trip"+script)
	p.Click(".journal li:has(.ref) summary")
	p.WaitFor(".journal li:has(.ref) pre", "firstName", "script")
	p.Do(chromedp.Navigate(srv.URL + "/_sandbox/?q=" + url.QueryEscape(script)))
	p.WaitFor("#journal-list", "none matches")
	ran := browsertest.Eval[bool](p, `window.ran === true`)
	assert.False(t, ran)
}
