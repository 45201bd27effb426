package main

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// withoutService clears the environment that findService reads.
func withoutService(t *testing.T) {
	for _, name := range []string{
		"HOTELSTAYS_BASE_URL", "HOTELSTAYS_APP_KEY", "HOTELSTAYS_APP_SECRET",
		"HOTELSTAYS_ALLOW_BOOKING", "HOTELSTAYS_CALLBACK_URL", "HOTELSTAYS_WEBHOOK_SECRET",
	} {
		t.Setenv(name, "")
	}
}

// The program starts on the sandbox, serves, and ends with ctx.
func TestRun(t *testing.T) {
	withoutService(t)
	log := &logBuffer{}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, settings{addr: "127.0.0.1:0", loseAnswer: true}, slog.New(slog.NewTextHandler(log, nil)))
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
}

func TestOnlyLoopbackIsServed(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:8090", ":8090", "[::]:8090", "192.0.2.1:8090", "127.0.0.1"} {
		_, err := listen(addr)
		assert.ErrorContains(t, err, "-addr", addr)
	}
}

func TestHalfASettingIsRefused(t *testing.T) {
	withoutService(t)
	t.Setenv("HOTELSTAYS_BASE_URL", "https://host.example")
	_, _, err := findService("", false)
	assert.ErrorContains(t, err, "all together, or none of them")
	t.Setenv("HOTELSTAYS_APP_KEY", "key")
	t.Setenv("HOTELSTAYS_APP_SECRET", "secret")
	t.Setenv("HOTELSTAYS_CALLBACK_URL", "https://host.example/hotel-events")
	_, _, err = findService("", false)
	assert.ErrorContains(t, err, "HOTELSTAYS_WEBHOOK_SECRET together")
	t.Setenv("HOTELSTAYS_CALLBACK_URL", "") // as the greeting of hotelstays-sandbox leaves it
	t.Setenv("HOTELSTAYS_WEBHOOK_SECRET", "secret")
	_, _, err = findService("", false)
	assert.NoError(t, err)
}

// On a real service nothing is booked by accident.
func TestARealServiceIsNotBookedByAccident(t *testing.T) {
	withoutService(t)
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	t.Setenv("HOTELSTAYS_BASE_URL", srv.URL)
	t.Setenv("HOTELSTAYS_APP_KEY", srv.AppKey)
	t.Setenv("HOTELSTAYS_APP_SECRET", srv.AppSecret)
	for _, allowed := range []bool{false, true} {
		if allowed {
			t.Setenv("HOTELSTAYS_ALLOW_BOOKING", "1")
		}
		svc, closeService, err := findService("", false)
		require.NoError(t, err)
		s := newTestSite(t, srv, svc)
		address := s.toCheckout()
		w := s.send(http.MethodPost, address+"/book", guests())
		if !allowed {
			assert.Equal(t, http.StatusForbidden, w.Code)
			assert.Contains(t, s.get(address), "Booking is switched off here")
			assert.Contains(t, s.get(address), "come from "+srv.URL+", and nothing can be booked")
			assert.Zero(t, srv.Ledger().Count(types.OpBook))
		} else {
			assert.Equal(t, http.StatusSeeOther, w.Code)
		}

		// Without a signing secret no event can be verified.
		w = s.send(http.MethodPost, eventsPath, nil)
		assert.Equal(t, http.StatusNotFound, w.Code)
		s.engine.close()
		closeService()
	}
}
