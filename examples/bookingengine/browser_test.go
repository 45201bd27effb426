//go:build browser

// These tests run the site in a real browser: go test -tags browser . The tests need Chromium on PATH or in CHROME.

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/cmd/hotelstays-sandbox/browsertest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// screens has a light desktop and a dark phone, so the tests cover both sizes and both colour schemes.
var screens = []browsertest.Screen{browsertest.Screens[0], browsertest.Screens[3]}

type tab struct {
	*browsertest.Tab
	t      *testing.T
	site   *testSite
	screen string
}

// openTab starts a site and a browser. The test runs in parallel, because a browser waits most of
// the time.
func openTab(t *testing.T, screen browsertest.Screen, config hotelstaystest.Config) *tab {
	t.Helper()
	t.Parallel()
	site := startSite(t, config)
	p := &tab{browsertest.Open(t, site.base, screen), t, site, screen.Name}
	p.Explain = func() string { return "the log:\n" + site.log.String() }
	return p
}

// pictured lists the pages whose pictures are in the README.
var pictured = []string{"hotels", "guests", "changed", "confirmed"}

func (p *tab) check(page string) {
	p.t.Helper()
	p.Check(page + " on a " + p.screen)
	if slices.Contains(pictured, page) {
		p.Picture(page + "-" + p.screen)
	}
}

func (p *tab) fillGuests() {
	p.t.Helper()
	for _, guest := range p.site.checkoutAt(p.address()).Travellers() {
		p.Fill("#"+guest.Field+"_first", "Guest")
		p.Fill("#"+guest.Field+"_last", guest.Field)
	}
	p.Fill("#email", "guest@example.com")
}

// A guest books, agrees to a changed price, sees the order change without a reload, gets the voucher, and cancels.
func TestGuestBooksAndCancelsInABrowser(t *testing.T) {
	for _, screen := range screens {
		t.Run(screen.Name, func(t *testing.T) {
			p := openTab(t, screen, hotelstaystest.Config{ConfirmAfter: hotelstaystest.Never, VoucherDelay: hotelstaystest.AtOnce})
			ledger := p.site.srv.Ledger()
			p.WaitFor("h1", "Where would you like to stay?")
			p.check("search")
			p.site.srv.Inject(hotelstaystest.Fault{
				Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultSlowBody, BytesPerSecond: 12_000,
			})
			p.Focus("#adults")
			_, err := chromedp.Call(p.Ctx, page.AddScriptToEvaluateOnNewDocument,
				page.AddScriptToEvaluateOnNewDocumentParams{Source: noteEarlyHotels})
			require.NoError(t, err)
			p.Do(chromedp.KeyEvent("\n")) // the key Enter, because the site must work without a mouse
			p.WaitFor("main", "12\u00a0hotels.")
			assert.True(t, browsertest.Eval[bool](p.Tab, `window.earlyHotels === true`))
			p.check("hotels")
			prices := browsertest.Eval[[]float64](p.Tab,
				`[...document.querySelectorAll("#hotels > li")].map((hotel) => Number(hotel.dataset.price))`)
			assert.Len(t, prices, 12)
			assert.IsNonDecreasing(t, prices, "hotels are sorted by the price that is shown")
			p.Click(".cards a.button")
			p.WaitFor("h2", "Room")
			sorted := browsertest.Eval[bool](p.Tab, `[...document.querySelectorAll("main ul.cards")].every((room) => {
				const prices = [...room.querySelectorAll(".price")].map((price) => Number(price.textContent.replace(/[^0-9.]/g, "")));
				return prices.every((price, i) => i === 0 || prices[i - 1] <= price);
			})`)
			assert.True(t, sorted, "the offers of a room are sorted by the price that is shown")
			p.check("rooms")
			p.Click("li:has(p.good) button")

			p.WaitFor("h1", "Who is travelling?")
			p.check("guests")
			p.Click("main button") // send the empty form
			p.WaitFor("[role=alert]", "Room 1, adult 1: Enter the first name")
			p.check("errors")
			p.fillGuests()
			p.site.srv.MoveRate(p.site.checkoutAt(p.address()).Offer.RatePkgID, 12)
			p.Click("main button")
			p.WaitFor("h1", "The offer has changed")
			p.check("changed")
			assert.Zero(t, ledger.Count(hotelstays.OpBook))
			p.Click("main button")
			p.WaitFor("h1", "Who is travelling?")
			p.Click("main button") // send the form again: it still has the guest's input

			p.WaitFor("#panel h2", "Waiting for the hotel to confirm")
			p.check("waiting")
			p.Focus("#cancel")
			p.Do(chromedp.Evaluate[chromedp.Void](`window.notReloaded = true`))
			orders := ledger.Orders()
			require.Len(t, orders, 1)
			p.site.srv.ConfirmOrder(orders[0].PlatformReferenceNo)
			p.WaitFor("#panel h2", "Your booking is confirmed")
			p.WaitFor("#announcement", "Your booking is confirmed")
			p.WaitFor("#voucher", "Download the voucher")
			same := browsertest.Eval[bool](p.Tab, `window.notReloaded === true && document.activeElement.id === "cancel"`)
			assert.True(t, same, "the page was loaded again, or took the focus away")
			p.check("confirmed")
			p.verifyDownload(orders[0].PlatformReferenceNo)

			p.Click("#cancel")
			p.WaitFor("h1", "Cancel your booking?")
			assert.Contains(t, p.Text(".price"), "Cancelling is free")
			p.check("cancel")
			p.Click(".danger")
			p.WaitFor("#panel h2", "Your booking is cancelled")
			p.WaitFor("#panel", "It costs you nothing.")
			p.check("cancelled")
			assert.Len(t, ledger.Cancellations(), 1)
		})
	}
}

// noteEarlyHotels is a script that records whether hotels could be chosen before the last hotel arrived.
const noteEarlyHotels = `new MutationObserver(() => {
	window.earlyHotels ||= document.readyState === "loading" && document.querySelectorAll("#hotels > li").length < 12 &&
		[...document.querySelectorAll("#hotels a.button")].some((e) => e.checkVisibility());
}).observe(document, {childList: true, subtree: true})`

// address returns the path of the page, without the "/book" of a form with errors.
func (p *tab) address() string {
	p.t.Helper()
	address, err := chromedp.Run(p.Ctx, chromedp.Location())
	require.NoError(p.t, err)
	return strings.TrimSuffix(strings.TrimPrefix(address, p.site.base), "/book")
}

// verifyDownload downloads the voucher, and checks its file name and its bytes.
func (p *tab) verifyDownload(reference string) {
	p.t.Helper()
	dir := p.t.TempDir()
	_, err := chromedp.CallBrowser(p.Ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir,
	})
	require.NoError(p.t, err)
	resp, err := p.site.engine.client.OrderVoucher(p.Ctx, &hotelstays.OrderVoucherRequest{PlatformReferenceNo: reference})
	require.NoError(p.t, err)
	p.Click("#voucher")
	require.Eventually(p.t, func() bool { // the file appears before all of it is written
		document, err := os.ReadFile(filepath.Join(dir, resp.Voucher.VoucherNumber+".pdf"))
		return err == nil && hotelstays.VerifyVoucher(document, resp.Voucher) == nil
	}, time.Minute, 20*time.Millisecond, "the voucher should be downloaded as it was issued")
}
