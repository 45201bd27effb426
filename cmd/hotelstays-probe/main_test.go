package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/probe"
)

// probed runs the program against a sandbox.
func probed(t *testing.T, sandbox hotelstaystest.Config, colour bool, args ...string) (status int, out, complaint string) {
	t.Helper()
	srv := hotelstaystest.NewServer(&sandbox)
	t.Cleanup(srv.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	env := map[string]string{"HOTELSTAYS_BASE_URL": srv.URL, "HOTELSTAYS_APP_KEY": srv.AppKey, "HOTELSTAYS_APP_SECRET": srv.AppSecret,
		"HOTELSTAYS_CLIENT_ID": srv.ClientID, "HOTELSTAYS_CLIENT_SECRET": srv.ClientSecret}
	var stdout, stderr bytes.Buffer
	args = append([]string{"-share", "1"}, args...)
	status = run(t.Context(), args, func(name string) string { return env[name] }, &printer{w: &stdout, colour: colour}, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestOutputFitsATerminal(t *testing.T) {
	for _, colour := range []bool{false, true} {
		status, out, complaint := probed(t, hotelstaystest.Config{Variants: hotelstaystest.Variants{NullOrders: true}}, colour,
			"-run", "QueryOrders", "-run", "limits/above")
		assert.Equal(t, exitHeld, status)
		assert.Empty(t, complaint)
		assert.Equal(t, colour, strings.Contains(out, "\x1b["))
		out = regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(out, "")
		for line := range strings.Lines(out) {
			assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), width, line)
		}
		assert.Contains(t, out, "  found     orders/empty\n            orders: null\n")
		assert.Contains(t, out, "  not tried limits/above\n            needs Config.Burst\n")
		assert.Contains(t, out, "0 held, 3 found out, 0 broken, 1 not tried, in ")
		assert.Contains(t, out, "hotelstays.ServiceFacts{\n\tNullOrders: true,\n}")
	}
}

func TestListSendsNothing(t *testing.T) {
	var stdout bytes.Buffer
	assert.Equal(t, exitHeld, run(t.Context(), []string{"-list"}, func(string) string { return "" }, &printer{w: &stdout}, os.Stderr))
	for _, rule := range probe.Rules() {
		assert.Contains(t, stdout.String(), "\n  "+rule.Name+"\n")
	}
	for line := range strings.Lines(stdout.String()) {
		assert.LessOrEqual(t, len(line), width+1, line)
	}
}

func TestReportIsJSON(t *testing.T) {
	name := filepath.Join(t.TempDir(), "report.json")
	status, _, _ := probed(t, hotelstaystest.Config{}, false, "-run", "orders/empty", "-json", name)
	assert.Equal(t, exitHeld, status)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	_, out, _ := probed(t, hotelstaystest.Config{}, false, "-run", "orders/empty", "-json", "-")
	for _, text := range []string{string(text), out} {
		var report probe.Report
		require.NoError(t, json.Unmarshal([]byte(text), &report))
		assert.Equal(t, "orders: []", report.Results[0].Found)
		assert.Len(t, report.Results[0].Evidence, 1)
	}
}

func TestExitStatuses(t *testing.T) {
	facts := filepath.Join(t.TempDir(), "facts.json")
	require.NoError(t, os.WriteFile(facts, []byte(`{"nullOrders":true}`), 0o600))
	report := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(report, []byte(`{"facts":{"nullOrders":true}}`), 0o600))
	for args, want := range map[string]int{
		"-run orders/empty":                   exitHeld,
		"-help":                               exitHeld,
		"-run orders/empty -facts " + facts:   exitBroken,
		"-run none":                           exitUsage,
		"-share 2":                            exitUsage,
		"-check-in tomorrow":                  exitUsage,
		"-market x -run orders/empty surplus": exitUsage,
		"-facts none.json":                    exitUsage,
		"-facts " + report:                    exitUsage,
		"-run orders/empty -json /no/such/folder/r.json": exitUsage,
		"-run limits/above":                             exitFailed, // it needs -burst, so nothing was tried
		"-run session/life -patience 5m -timeout 200ms": exitFailed,
	} {
		status, out, complaint := probed(t, hotelstaystest.Config{}, false, strings.Fields(args)...)
		assert.Equal(t, want, status, "%s\n%s\n%s", args, out, complaint)
		if want != exitFailed {
			assert.Equal(t, want > exitBroken, strings.HasPrefix(complaint, "hotelstays-probe: "), args)
		}
		assert.True(t, args == "-help" || strings.Count(complaint, "\n") <= 1, "%s: %s", args, complaint)
		assert.Equal(t, want == exitBroken, strings.Contains(out, "\ncurl -sS "), args)
	}
	for base, want := range map[string]int{"": exitUsage, "https://hotels.example": exitUsage, "http://127.0.0.1:1": exitFailed} {
		env := map[string]string{"HOTELSTAYS_BASE_URL": base, "HOTELSTAYS_APP_KEY": "key", "HOTELSTAYS_APP_SECRET": "secret"}
		var out, stderr bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		assert.Equal(t, want, run(ctx, nil, func(name string) string { return env[name] }, &printer{w: &out}, &stderr), base)
		assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
		assert.Empty(t, out.String())
		cancel()
	}
}
