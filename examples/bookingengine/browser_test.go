//go:build browser

// The site in a real browser: go test -tags browser . It needs a Chromium on PATH or in
// CHROME.

package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

//go:embed testdata/checks.js
var pageChecks string

// screens are the tested sizes.
var screens = []struct {
	name          string
	width, height int64
}{
	{"desktop", 1280, 800},
	{"phone", 360, 740},
}

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
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancelBrowser := chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancelBrowser)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	return ctx
}

// tab is a browser's tab.
type tab struct {
	t    *testing.T
	ctx  context.Context
	site *testSite
	size string
}

// openTab opens the site at a size, and watches the console for violations of the security
// policy.
func openTab(t *testing.T, site *testSite, size string, width, height int64) *tab {
	p := &tab{t: t, ctx: startBrowser(t), site: site, size: size}
	var mu sync.Mutex
	var said []string
	require.NoError(t, chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height)))
	console := chromedp.Console(p.ctx)
	var reader sync.WaitGroup
	reader.Go(func() {
		for message, err := range console {
			if err != nil {
				return
			}
			text := fmt.Sprint(message)
			if strings.Contains(text, "status of 4") {
				continue // refused forms and addresses are expected
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
	p.do(chromedp.Navigate(site.base))
	return p
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, steps...))
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

// find waits for an element and returns its middle. It asks the page, because the browser's
// tree of nodes lags behind.
func (p *tab) find(selector string) (x, y float64) {
	p.t.Helper()
	var at []float64
	if !assert.Eventually(p.t, func() bool {
		at, _ = chromedp.Run(p.ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(seek, selector)))
		return len(at) == 2
	}, 20*time.Second, 20*time.Millisecond, "%s should be there", selector) {
		p.t.Fatalf("the page says:\n%s\nthe log:\n%s", p.text("main"), p.site.log.String())
	}
	return at[0], at[1]
}

// click clicks the first element of a selector.
func (p *tab) click(selector string) {
	p.t.Helper()
	x, y := p.find(selector)
	p.do(chromedp.MouseClickXY(x, y))
}

func (p *tab) focus(selector string) {
	p.t.Helper()
	p.find(selector)
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector(%q).focus()`, selector)))
}

// fill replaces the text of a field.
func (p *tab) fill(id, value string) {
	p.t.Helper()
	p.focus("#" + id)
	p.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.select()`), chromedp.KeyEvent(value))
}

// text returns the text of the first element of a selector.
func (p *tab) text(selector string) string {
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector)))
	if err != nil {
		return "" // the page is being replaced
	}
	return strings.TrimSpace(text)
}

// waitFor waits until an element contains a text.
func (p *tab) waitFor(selector, want string) {
	p.t.Helper()
	if !assert.Eventually(p.t, func() bool { return strings.Contains(p.text(selector), want) }, 20*time.Second, 20*time.Millisecond,
		"%s should say %q", selector, want) {
		p.t.Fatalf("the page says:\n%s\nthe log:\n%s", p.text("main"), p.site.log.String())
	}
}

// pictured are the pages in the README.
var pictured = []string{"hotels", "guests", "changed", "confirmed"}

// check runs the checks of every page. If BOOKINGENGINE_SCREENSHOTS is set, it saves pictures
// there.
func (p *tab) check(page string) {
	p.t.Helper()
	p.do(chromedp.Poll[chromedp.Void](`document.readyState === "complete"`)) // with styles
	wrong, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string](pageChecks))
	require.NoError(p.t, err)
	assert.Empty(p.t, wrong, "the page %q at the size of a %s", page, p.size)
	if dir := os.Getenv("BOOKINGENGINE_SCREENSHOTS"); dir != "" && slices.Contains(pictured, page) {
		p.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur(); scrollTo(0, 0)`))
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		require.NoError(p.t, err)
		require.NoError(p.t, os.WriteFile(filepath.Join(dir, page+"-"+p.size+".png"), picture, 0o644))
	}
}

// toGuests goes from the search to the form of the guests, with a refundable offer.
func (p *tab) toGuests() {
	p.t.Helper()
	p.waitFor("h1", "Where would you like to stay?")
	p.check("search")
	p.focus("#adults")
	p.do(chromedp.KeyEvent("\n")) // without a mouse
	p.waitFor("h1", "Hotels in "+p.site.srv.CityName(0))
	p.check("hotels")
	p.click(".cards a.button")
	p.waitFor("h2", "Room")
	p.check("rooms")
	p.click("li:has(p.good) button")
}

// fillGuests enters the guests.
func (p *tab) fillGuests() {
	p.t.Helper()
	for i, name := range []string{"One", "Two"} {
		p.fill(fmt.Sprintf("guest%d_first", i+1), "Guest")
		p.fill(fmt.Sprintf("guest%d_last", i+1), name)
	}
	p.fill("email", "guest@example.com")
}

// A guest books, sees the order change without a reload, gets the voucher, and cancels.
func TestBrowserBooksFromEndToEnd(t *testing.T) {
	for _, screen := range screens {
		t.Run(screen.name, func(t *testing.T) {
			site := startSite(t, hotelstaystest.WithConfirmAfter(-1), hotelstaystest.WithVoucherDelay(0))
			p := openTab(t, site, screen.name, screen.width, screen.height)
			p.toGuests()

			p.waitFor("h1", "Who is travelling?")
			p.check("guests")
			p.click("main button") // the form is empty
			p.waitFor("[role=alert]", "enter the first name")
			p.check("errors")
			p.fillGuests()
			p.click("main button")

			p.waitFor("#panel h2", "Waiting for the hotel to confirm")
			p.check("waiting")
			p.focus("#cancel")
			p.do(chromedp.Evaluate[chromedp.Void](`window.notReloaded = true`))
			orders := site.srv.Ledger().Orders()
			require.Len(t, orders, 1)
			site.srv.ConfirmOrder(orders[0].PlatformReferenceNo)
			p.waitFor("#panel h2", "Your booking is confirmed")
			p.waitFor("#announcement", "Your booking is confirmed")
			p.waitFor("#voucher", "Download the voucher")
			same, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](`window.notReloaded === true && document.activeElement.id === "cancel"`))
			require.NoError(t, err)
			assert.True(t, same, "the page was loaded again, or took the focus away")
			p.check("confirmed")
			p.verifyDownload(orders[0].PlatformReferenceNo)

			p.click("#cancel")
			p.waitFor("h1", "Cancel your booking?")
			assert.Contains(t, p.text(".price"), "Cancelling is free")
			p.check("cancel")
			p.click(".danger")
			p.waitFor("#panel h2", "Your booking is cancelled")
			p.waitFor("#panel", "It costs you nothing.")
			p.check("cancelled")
			assert.Len(t, site.srv.Ledger().Cancellations(), 1)
		})
	}
}

// verifyDownload downloads the voucher and compares it with the issued one.
func (p *tab) verifyDownload(reference string) {
	p.t.Helper()
	dir := p.t.TempDir()
	_, err := chromedp.CallBrowser(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir,
	})
	require.NoError(p.t, err)
	p.click("#voucher")
	var file string
	require.Eventually(p.t, func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "*.pdf"))
		if err != nil || len(files) != 1 {
			return false
		}
		file = files[0]
		return true
	}, time.Minute, 20*time.Millisecond, "the voucher should be downloaded")
	document, err := os.ReadFile(file)
	require.NoError(p.t, err)
	assert.Equal(p.t, "%PDF", string(document[:4]))
	resp, err := p.site.engine.client.OrderVoucher(p.ctx, &hotelstays.OrderVoucherRequest{PlatformReferenceNo: reference})
	require.NoError(p.t, err)
	assert.NoError(p.t, hotelstays.VerifyVoucher(document, resp.Voucher))
	assert.Equal(p.t, resp.Voucher.VoucherNumber+".pdf", filepath.Base(file))
}

// A changed price is shown, and nothing is booked before the guest agrees.
func TestBrowserShowsAMovedPrice(t *testing.T) {
	for _, screen := range screens {
		t.Run(screen.name, func(t *testing.T) {
			site := startSite(t, hotelstaystest.WithConfirmAfter(-1))
			p := openTab(t, site, screen.name, screen.width, screen.height)
			p.toGuests()
			p.waitFor("h1", "Who is travelling?")
			p.fillGuests()
			address, err := chromedp.Run(p.ctx, chromedp.Location())
			require.NoError(t, err)
			site.srv.MoveRate(site.rateOf(strings.TrimPrefix(address, site.base)), 12)
			p.click("main button")
			p.waitFor("h1", "The offer has changed")
			p.check("changed")
			assert.Zero(t, site.srv.Ledger().Count(hotelstaystest.OpBook))
			p.click("main button")
			p.waitFor("h1", "Who is travelling?")
			p.click("main button") // the form was kept
			p.waitFor("#panel h2", "Waiting for the hotel to confirm")
			assert.Len(t, site.srv.Ledger().Orders(), 1)
		})
	}
}

// Error pages pass the same checks.
func TestBrowserTellsBadNews(t *testing.T) {
	for _, screen := range screens {
		t.Run(screen.name, func(t *testing.T) {
			site := startSite(t)
			p := openTab(t, site, screen.name, screen.width, screen.height)
			p.do(chromedp.Navigate(site.base + "/nowhere"))
			p.waitFor("h1", "There is no such page")
			p.check("problem")
			p.click("main a.button")

			p.toGuests()
			p.waitFor("h1", "Who is travelling?")
			p.fillGuests()
			site.srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
			site.srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 503, Times: -1})
			p.click("main button")
			p.waitFor("#panel h2", "We are finding out whether your room is booked")
			p.check("finding out")

			_, choose, offer := site.rooms(60)
			site.srv.CloseRate(offer.Get("offer"))
			p.do(chromedp.Navigate(site.base + site.post(choose, offer)))
			p.waitFor("h1", "This room is sold out")
			p.check("gone")
		})
	}
}

// Every target can be reached with the keyboard and shows its focus.
func TestBrowserShowsTheFocus(t *testing.T) {
	p := openTab(t, startSite(t), "desktop", 1280, 800)
	p.waitFor("h1", "Where would you like to stay?")
	targets, err := chromedp.Run(p.ctx, chromedp.Evaluate[int](`document.querySelectorAll("a, button, input").length`))
	require.NoError(t, err)
	reached := map[string]bool{}
	for range 60 { // a date has several stops
		p.do(chromedp.KeyEvent("\t"))
		where, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`(() => {
			const e = document.activeElement, style = getComputedStyle(e);
			return [e.id || e.textContent.trim(), style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2].join(": ");
		})()`))
		require.NoError(t, err)
		name, visible, _ := strings.Cut(where, ": ")
		if strings.HasPrefix(name, "Skip") && len(reached) > 1 {
			break
		}
		assert.Equal(t, "true", visible, "the focus on %q cannot be seen", name)
		reached[name] = true
	}
	assert.Len(t, reached, targets)
}

// The first hotels can be chosen while the rest is on its way.
func TestHotelsArriveInTheBrowser(t *testing.T) {
	site := startSite(t)
	p := openTab(t, site, "phone", 360, 740)
	site.get(site.searchAddress(60)) // fetches the token
	site.srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpHotelList, Kind: hotelstaystest.FaultSlowBody, BytesPerSecond: 4000})
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.href = %q", site.searchAddress(60))))
	var early int
	require.Eventually(t, func() bool {
		state, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](
			`document.readyState + " " + [...document.querySelectorAll(".cards li a.button")].filter(e => e.checkVisibility()).length`))
		var ready string
		if err == nil {
			_, _ = fmt.Sscan(state, &ready, &early)
		}
		return ready == "loading" && early > 0
	}, 20*time.Second, 20*time.Millisecond)
	assert.Less(t, early, 12)
	p.check("hotels")
	p.waitFor("main", "12\u00a0hotels.")
}
