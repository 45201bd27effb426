package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// withService sets the environment that findService reads.
func withService(t *testing.T, base, key, secret string) {
	for name, value := range map[string]string{
		"HOTELSTAYS_BASE_URL": base, "HOTELSTAYS_APP_KEY": key, "HOTELSTAYS_APP_SECRET": secret,
		"HOTELSTAYS_JOURNAL_KEYS":  strings.Repeat("ab", 32),
		"HOTELSTAYS_ALLOW_BOOKING": "", "HOTELSTAYS_CALLBACK_URL": "", "HOTELSTAYS_WEBHOOK_SECRET": "",
	} {
		t.Setenv(name, value)
	}
}

// The program starts a sandbox, serves pages, ends with ctx, and leaves no file and no goroutine behind.
func TestProgramStartsServesAndEnds(t *testing.T) {
	withService(t, "", "", "")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	var log logBuffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, "0", "", true, slog.New(slog.NewTextHandler(&log, nil)))
	}()
	address := regexp.MustCompile(`address=(http://127\.0\.0\.1:\d+)`)
	require.Eventually(t, func() bool { return address.MatchString(log.String()) }, time.Minute, 10*time.Millisecond)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(address.FindStringSubmatch(log.String())[1])
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	stop()
	assert.NoError(t, <-ended)
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestSiteBooksAtARealServiceOnlyIfTheEnvironmentAllowsIt(t *testing.T) {
	for allow, want := range map[string]int{"": http.StatusForbidden, "1": http.StatusSeeOther} {
		srv := hotelstaystest.NewServer(nil)
		withService(t, srv.URL, srv.AppKey, srv.AppSecret)
		t.Setenv("HOTELSTAYS_ALLOW_BOOKING", allow)
		svc, err := findService("", false)
		require.NoError(t, err)
		s := &testSite{t: t, srv: srv}
		s.start(svc)
		address := s.toCheckout(60)
		page := s.get(address)
		assert.Equal(t, want, s.send(http.MethodPost, address+"/book", guests()).Code)
		if allow == "" {
			assert.Contains(t, page, "Booking is switched off here")
			assert.Contains(t, page, "come from "+srv.URL+", and nothing can be booked")
			assert.Zero(t, srv.Ledger().Count(hotelstays.OpBook))
		}
		assert.Equal(t, http.StatusNotFound, s.send(http.MethodPost, eventsPath, nil).Code, "no secret, so no event can be verified")
		s.engine.close()
		srv.Close()
	}
}

// The keys must not depend on the credential, because the credential can change.
func TestJournalKeysComeOnlyFromTheEnvironment(t *testing.T) {
	old, new := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	withService(t, "https://host.example", "key", "rotated secret")
	t.Setenv("HOTELSTAYS_JOURNAL_KEYS", new+", "+old)
	svc, err := findService("", false)
	require.NoError(t, err)
	require.Len(t, svc.journalKeys, 2)
	assert.Equal(t, strings.Repeat("\xcd", 32), svc.journalKeys[0].Reveal())
	assert.Equal(t, strings.Repeat("\xab", 32), svc.journalKeys[1].Reveal())
}
