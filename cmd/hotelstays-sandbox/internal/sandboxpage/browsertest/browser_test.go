//go:build browser

// The page in a real browser. It needs a Chromium on PATH or in CHROME.

package browsertest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "embed"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/cmd/hotelstays-sandbox/internal/sandboxpage"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

//go:embed testdata/checks.js
var pageChecks string

// patience is how long a test waits for something on the page.
const patience = 30 * time.Second

// startBrowser returns the context of a browser's tab.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := os.Getenv("CHROME")
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Fatal("no browser found: apt-get install chromium-headless-shell, or name one in CHROME")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], // no traffic beyond this machine:
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
	)
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	ctx, cancelBrowser := chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancelBrowser)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	return ctx
}

// startSandbox starts a sandbox with the page.
func startSandbox(t *testing.T, opts ...hotelstaystest.Option) *hotelstaystest.Server {
	t.Helper()
	srv := hotelstaystest.NewServer(append(opts, hotelstaystest.WithControl(), func(c *hotelstaystest.Config) {
		c.Control.Page = sandboxpage.Handler
	})...)
	t.Cleanup(srv.Close)
	return srv
}

// tab is a browser's tab with the page.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// openPage opens the page, and watches the console for violations of the security policy.
func openPage(t *testing.T, srv *hotelstaystest.Server, width, height int64, scheme, query string) *tab {
	t.Helper()
	p := &tab{t, startBrowser(t)}
	p.do(chromedp.EmulateViewport(width, height))
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(t, err)
	var mu sync.Mutex
	var said []string
	console := chromedp.Console(p.ctx)
	var reader sync.WaitGroup
	reader.Go(func() {
		for message, err := range console {
			if err != nil {
				return
			}
			text := fmt.Sprint(message)
			if strings.Contains(text, "status of 400") {
				continue // refused buttons are expected
			}
			mu.Lock()
			said = append(said, text)
			mu.Unlock()
		}
	})
	t.Cleanup(func() {
		require.NoError(t, chromedp.Cancel(p.ctx))
		reader.Wait()
		assert.Empty(t, said, "the browser's console")
	})
	p.do(chromedp.Navigate(srv.URL + "/_sandbox/" + query))
	return p
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, steps...))
}

// text returns the text of the first element of a selector.
func (p *tab) text(selector string) string {
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector)))
	if err != nil {
		return "" // the page is being replaced
	}
	return strings.TrimSpace(text)
}

// waitFor waits until the first element of a selector has the texts, in this order.
func (p *tab) waitFor(selector string, want ...string) {
	p.t.Helper()
	inOrder := func() bool {
		text := p.text(selector)
		for _, part := range want {
			_, rest, found := strings.Cut(text, part)
			if !found {
				return false
			}
			text = rest
		}
		return true
	}
	if !assert.Eventually(p.t, inOrder, patience, 20*time.Millisecond, "%s should have %q", selector, want) {
		p.t.Fatalf("it has:\n%s\nthe page:\n%s", p.text(selector), p.text("body"))
	}
}

// save saves a picture if SANDBOXPAGE_SCREENSHOTS names a directory.
func (p *tab) save(name string) {
	p.t.Helper()
	dir := os.Getenv("SANDBOXPAGE_SCREENSHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
}

// seek scrolls to the first element of a selector and returns its middle, or nothing if it is
// not visible.
const seek = `(() => {
	const e = document.querySelector(%q);
	if (document.readyState !== "complete" || !e?.checkVisibility()) return null;
	e.scrollIntoView({block: "center", behavior: "instant"});
	const box = e.getBoundingClientRect();
	return [box.x + box.width / 2, box.y + box.height / 2];
})()`

// click clicks the first element of a selector.
func (p *tab) click(selector string) {
	p.t.Helper()
	var at []float64
	require.Eventually(p.t, func() bool {
		at, _ = chromedp.Run(p.ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(seek, selector)))
		return len(at) == 2
	}, patience, 20*time.Millisecond, "%s should be there", selector)
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// check runs the checks of every page.
func (p *tab) check(name string) {
	p.t.Helper()
	wrong, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](pageChecks))
	require.NoError(p.t, err)
	assert.Empty(p.t, wrong, name)
	p.save(name)
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

// A booking with a lost answer is told in order, while it happens.
func TestLostAnswer(t *testing.T) {
	for _, screen := range []struct {
		name, scheme  string
		width, height int64
	}{
		{"desktop-light", "light", 1280, 800}, {"desktop-dark", "dark", 1280, 800},
		{"phone-light", "light", 360, 740}, {"phone-dark", "dark", 360, 740},
	} {
		t.Run(screen.name, func(t *testing.T) {
			failing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
			srv := startSandbox(t, hotelstaystest.WithLateVisibility(time.Minute), hotelstaystest.WithCallbackHandler(failing))
			e := newEngine(t, srv)
			p := openPage(t, srv, screen.width, screen.height, screen.scheme, "")
			p.waitFor("#state", "live")
			p.waitFor("#bookings", "No booking yet")
			p.check(screen.name + "-empty")

			srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
			p.waitFor("#faults-list", "cut on Book")
			e.loseAnswer("trip-1")
			story := []string{"trip-1", "Book", "made the order", "answer was lost"}
			p.waitFor("#bookings article", story...)
			e.poll("trip-1")
			story = append(story, "QueryOrders", "found nothing")
			p.waitFor("#bookings article", story...)
			srv.Advance(time.Minute)
			e.poll("trip-1")
			story = append(story, "QueryOrders", "found the order")
			p.waitFor("#bookings article", story...)
			srv.Advance(5 * time.Minute)
			p.waitFor("#bookings article", append(story, "The order", "is confirmed")...)
			p.waitFor("#bookings h3", "confirmed")
			p.click("#bookings summary")
			p.waitFor("#bookings details", "order_created", "given-up", "HTTP 503, signature correct")
			p.check(screen.name)
		})
	}
}

// A fault that is set by a click acts.
func TestFaultByClick(t *testing.T) {
	srv := startSandbox(t)
	e := newEngine(t, srv)
	p := openPage(t, srv, 1280, 800, "light", "")
	p.waitFor("#state", "live")
	p.click("#faults form button") // loses a Book's answer
	p.waitFor("#faults-list", "cut on Book")
	e.loseAnswer("trip-1")
	assert.Len(t, srv.Ledger().Orders(), 1)
	p.waitFor("#faults-list", "None")

	p.click("#bookings article form[data-path$=confirm] button")
	p.waitFor("#bookings h3", "confirmed")
	p.waitFor("#message", "Confirm: done")
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[name=percent]").form.noValidate = true`),
		chromedp.Evaluate[chromedp.Void](`document.querySelector("[name=percent]").value = -100`))
	p.click("form[data-path$=price] button")
	p.waitFor("#message.bad", "Move: ", "percent")
	p.click(".journal li:has(.ref) summary")
	p.waitFor(".journal details[open]", "Trace-Id")
	p.check("clicks")
	p.click("#clock-title ~ .actions form button")
	p.waitFor("#clock", "ahead of real time")
}

// A browser that opened the page with the control token may use its buttons and its events.
func TestPageWithToken(t *testing.T) {
	srv := startSandbox(t, func(c *hotelstaystest.Config) { c.Control.Token = "secret-token" })
	p := openPage(t, srv, 1280, 800, "light", "?token=secret-token")
	p.waitFor("#state", "live")
	p.click("#faults form button")
	p.waitFor("#faults-list", "cut on Book")
	address, err := chromedp.Run(p.ctx, chromedp.Location())
	require.NoError(t, err)
	assert.Equal(t, srv.URL+"/_sandbox/", address)
}

// Every target can be reached with the keyboard and shows its focus. A button keeps the focus
// while the page changes.
func TestKeyboard(t *testing.T) {
	srv := startSandbox(t)
	p := openPage(t, srv, 360, 740, "light", "")
	p.waitFor("#state", "live")
	require.NoError(t, newEngine(t, srv).book("trip-1", types.Guest{FirstName: "Guest", LastName: "One"}))
	p.waitFor("#bookings article", "confirming", "was not sent")
	targets, err := chromedp.Run(p.ctx, chromedp.Evaluate[int](
		`[...document.querySelectorAll("a, button, input:not([type=hidden]), select, summary")].filter(e => e.checkVisibility()).length`))
	require.NoError(t, err)
	reached := 0
	for range targets {
		p.do(chromedp.KeyEvent("\t"))
		visible, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](`(() => {
			const e = document.activeElement, style = getComputedStyle(e), again = "reached" in e.dataset;
			e.dataset.reached = "";
			return !again && e !== document.body && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
		})()`))
		require.NoError(t, err)
		if visible {
			reached++
		}
	}
	assert.Equal(t, targets, reached)

	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#bookings form[data-path$=close] button").focus()`))
	srv.ConfirmOrder("trip-1")
	p.waitFor("#bookings h3", "confirmed")
	focused, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`document.activeElement.textContent`))
	require.NoError(t, err)
	assert.Equal(t, "Sell out", focused)
}

// The newest of many requests are shown, and the others can be reached.
func TestManyRequests(t *testing.T) {
	const kept, sent = 10_000, 10_500
	srv := startSandbox(t, hotelstaystest.WithLedgerLimit(kept), hotelstaystest.WithoutRateLimits())
	client := srv.Client()
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for range sent / 4 {
				resp, err := client.Post(srv.URL+"/api/auth/ticket", "application/json", strings.NewReader(`{"appKey":"nobody"}`))
				if !assert.NoError(t, err) {
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	senders.Wait()
	p := openPage(t, srv, 1280, 800, "light", "")
	p.waitFor("#journal .note", "10500 requests since the start; the oldest 500 were dropped")
	rows, err := chromedp.Run(p.ctx, chromedp.Evaluate[int](`document.querySelectorAll(".journal li").length`))
	require.NoError(t, err)
	assert.Equal(t, 50, rows)
	p.do(chromedp.Poll[chromedp.Void](`performance.getEntriesByName("first-contentful-paint").length > 0`))
	paint, err := chromedp.Run(p.ctx, chromedp.Evaluate[float64](`performance.getEntriesByName("first-contentful-paint")[0].startTime`))
	require.NoError(t, err)
	t.Logf("first paint after %.0f ms", paint)
	p.waitFor(".journal .n", "10500")
	p.click(".pages a")
	p.waitFor(".journal .n", "10450")
	p.check("many")
}

// Texts of clients are shown, and run nothing.
func TestNoScriptRuns(t *testing.T) {
	const script = `"><script>window.ran = true</script><img src=x onerror="window.ran = true">`
	srv := startSandbox(t)
	e := newEngine(t, srv)
	p := openPage(t, srv, 1280, 800, "light", "")
	p.waitFor("#state", "live")
	require.NoError(t, e.book("trip"+script, types.Guest{FirstName: script, LastName: "</pre>" + script}))
	p.waitFor("#bookings .ref", "trip"+script)
	p.waitFor("#journal-list", "trip"+script)
	p.click(".journal li:has(.ref) summary")
	p.waitFor(".journal li:has(.ref) pre", "firstName", "script")
	p.do(chromedp.Navigate(srv.URL + "/_sandbox/?q=" + url.QueryEscape(script)))
	p.waitFor("#journal-list", "none matches")
	ran, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](`window.ran === true`))
	require.NoError(t, err)
	assert.False(t, ran)
}
