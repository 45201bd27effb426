//go:build browser

package browsertest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/cmd/hotelstays-sandbox/browsertest"
)

// The report has held, found, broken and untried rules.
func TestReportOfTheProbeIsReadable(t *testing.T) {
	srv := startSandbox(t)
	page, facts := filepath.Join(t.TempDir(), "report.html"), filepath.Join(t.TempDir(), "facts.json")
	require.NoError(t, os.WriteFile(facts, []byte(`{"nullOrders":true}`), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "run", "github.com/hotelstays/hotelstays-go/cmd/hotelstays-probe", "-html", page,
		"-facts", facts, "-share", "1", "-run", "QueryOrders", "-run", "HotelRates", "-run", "headers",
		"-run", "ticket/ttl-above", "-run", "limits/at")
	cmd.Env = append(os.Environ(), "HOTELSTAYS_BASE_URL="+srv.URL, "HOTELSTAYS_APP_KEY="+srv.AppKey, "HOTELSTAYS_APP_SECRET="+srv.AppSecret)
	out, err := cmd.CombinedOutput()
	assert.Equal(t, 1, cmd.ProcessState.ExitCode(), "%v: %s", err, out)

	p := browsertest.Open(t, "file://"+page, browsertest.Screens[0])
	p.WaitFor("main", "1 broken", "held", "broken", "orders/empty", "curl", "Facts for the client")
	checkScreens(p, "report")
	p.Do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach(d => d.open = true)`))
	p.WaitFor("main", "Request-Id", "[masked]")
	checkScreens(p, "report-open")
}
