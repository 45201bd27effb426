// Package browsertest tests web pages in a real browser. Its own tests check the page of the sandbox, the page
// for people on call and the report of the probe. examples/bookingengine uses it to test its own pages.
//
//	go test -tags browser .
//
// It needs a Chromium on PATH, or its path in CHROME. It is a separate module, because no other package needs the
// browser driver.
package browsertest

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

//go:embed checks.js
var checks string

// patience is the maximum time that a test waits for a text or an element.
const patience = 30 * time.Second

// Screen is the size of a window and its colour scheme, light or dark.
type Screen struct {
	Name          string
	Width, Height int64
	Scheme        string
}

// Screens lists the window sizes and colour schemes in which every page is tested.
var Screens = []Screen{
	{"desktop", 1280, 800, "light"}, {"desktop-dark", 1280, 800, "dark"},
	{"phone", 360, 740, "light"}, {"phone-dark", 360, 740, "dark"},
}

// Tab is a browser's tab.
type Tab struct {
	Ctx     context.Context
	Explain func() string // optional; returns text for the message of a failed wait
	t       *testing.T
}

// Open opens a page. The test fails if the browser's console shows messages, such as violations of the
// security policy. Messages about requests that the server refused are allowed.
func Open(t *testing.T, address string, screen Screen) *Tab {
	t.Helper()
	p := &Tab{Ctx: start(t), t: t}
	p.Resize(screen)
	var mu sync.Mutex
	var said []string
	console := chromedp.Console(p.Ctx)
	var reader sync.WaitGroup
	reader.Go(func() {
		for message, err := range console {
			if err != nil {
				return
			}
			if text := fmt.Sprint(message); !strings.Contains(text, "status of 4") {
				mu.Lock()
				said = append(said, text)
				mu.Unlock()
			}
		}
	})
	t.Cleanup(func() {
		require.NoError(t, chromedp.Cancel(p.Ctx))
		reader.Wait()
		assert.Empty(t, said, "the browser's console")
	})
	p.Do(chromedp.Navigate(address))
	return p
}

// start opens a tab in a headless browser, and returns its context.
func start(t *testing.T) context.Context {
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
	opts := append(chromedp.DefaultExecAllocatorOptions[:], // these options stop the browser's own requests to other machines
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

// Resize changes the size of the window and its colour scheme.
func (p *Tab) Resize(screen Screen) {
	p.t.Helper()
	p.Do(chromedp.EmulateViewport(screen.Width, screen.Height))
	_, err := chromedp.Call(p.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: screen.Scheme}},
	})
	require.NoError(p.t, err)
}

// Do runs actions of the browser driver, and requires that they succeed.
func (p *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.Ctx, steps...))
}

// Eval runs a script and returns its value.
func Eval[T any](p *Tab, script string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.Ctx, chromedp.Evaluate[T](script))
	require.NoError(p.t, err)
	return value
}

// Text returns the text of the first element that matches a selector, or "".
func (p *Tab) Text(selector string) string {
	text, err := chromedp.Run(p.Ctx, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector)))
	if err != nil {
		return "" // the browser is replacing the page, so its text cannot be read
	}
	return strings.TrimSpace(text)
}

// WaitFor waits until the first element that matches a selector contains the texts in this order.
func (p *Tab) WaitFor(selector string, want ...string) {
	p.t.Helper()
	p.eventually(func() bool {
		text := p.Text(selector)
		for _, part := range want {
			_, rest, found := strings.Cut(text, part)
			if !found {
				return false
			}
			text = rest
		}
		return true
	}, "%s should have %q", selector, want)
}

func (p *Tab) eventually(holds func() bool, msg string, args ...any) {
	p.t.Helper()
	if !assert.Eventually(p.t, holds, patience, 20*time.Millisecond, append([]any{msg}, args...)...) {
		explained := ""
		if p.Explain != nil {
			explained = p.Explain()
		}
		p.t.Fatalf("the page:\n%s\n%s", p.Text("body"), explained)
	}
}

// seek is JavaScript that scrolls to the first element that matches a selector, and returns its centre. If the element
// is not visible, the script returns null.
const seek = `(() => {
	const e = document.querySelector(%q);
	if (document.readyState !== "complete" || !e?.checkVisibility()) return null;
	e.scrollIntoView({block: "center", behavior: "instant"});
	const box = e.getBoundingClientRect();
	return [box.x + box.width / 2, box.y + box.height / 2];
})()`

// find waits until an element is visible, and returns its centre. It runs a script in the page, because the driver's
// copy of the document may be outdated.
func (p *Tab) find(selector string) (x, y float64) {
	p.t.Helper()
	var at []float64
	p.eventually(func() bool {
		at, _ = chromedp.Run(p.Ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(seek, selector)))
		return len(at) == 2
	}, "%s should be visible", selector)
	return at[0], at[1]
}

// Click clicks the first element that matches a selector.
func (p *Tab) Click(selector string) {
	p.t.Helper()
	x, y := p.find(selector)
	p.Do(chromedp.MouseClickXY(x, y))
}

// Focus moves the focus to the first element that matches a selector.
func (p *Tab) Focus(selector string) {
	p.t.Helper()
	p.find(selector)
	p.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector(%q).focus()`, selector)))
}

// Fill replaces the text in an input field.
func (p *Tab) Fill(selector, value string) {
	p.t.Helper()
	p.Focus(selector)
	p.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.select()`), chromedp.KeyEvent(value))
}

// Check runs the checks of checks.js, which every page must pass.
func (p *Tab) Check(page string) {
	p.t.Helper()
	p.Do(chromedp.Poll[chromedp.Void](`document.readyState === "complete"`)) // the checks need the styles of the page
	assert.Empty(p.t, Eval[[]string](p, checks), page)
}

// Picture saves the window as a picture if SCREENSHOTS names a directory.
func (p *Tab) Picture(name string) {
	p.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	p.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur(); scrollTo(0, 0)`))
	picture, err := chromedp.Run(p.Ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
}
