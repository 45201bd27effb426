// The log has one line for each request, and no secrets.

package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestLogOfRequests(t *testing.T) {
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{Control: hotelstaystest.ControlConfig{Enabled: true}})
	defer srv.Close()
	var log strings.Builder
	handler, err := logHandler("json", &log)
	require.NoError(t, err)
	stop := logRequests(srv.Ledger(), handler)
	post := func(path, body, trace string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer hidden-token")
		req.Header.Set("Trace-Id", trace)
		if resp, err := srv.Client().Do(req); err == nil {
			resp.Body.Close()
		}
	}
	post("/api/auth/ticket", `{"appKey":"`+srv.AppKey+`","appSecret":"`+srv.AppSecret+`"}`, "trace-1")
	post("/api/trade/queryOrders", `{"customerReferenceNos":["trip-1"]}`, "trace-2")
	srv.Inject(hotelstaystest.Fault{Kind: hotelstaystest.FaultCut})
	post("/elsewhere", "{}", "trace-3")
	stop()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines:\n%s", len(lines), log.String())
	}
	for i, want := range []map[string]any{
		{"n": 1.0, "operation": "Ticket", "traceId": "trace-1", "status": 200.0, "code": 0.0},
		{"n": 2.0, "operation": "QueryOrders", "reference": "trip-1", "traceId": "trace-2", "status": 401.0,
			"code": float64(types.CodeUnauthorized)},
		{"n": 3.0, "path": "/elsewhere", "traceId": "trace-3", "fault": "cut", "cut": true},
	} {
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &got))
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %v, want %v", name, got[name], value)
			}
		}
		if _, ok := got["ms"].(float64); !ok || len(got) != len(want)+4 { // time, level, msg, ms
			t.Errorf("%s", lines[i])
		}
	}
	for _, secret := range []string{"hidden-token", srv.AppSecret} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

func TestLogWaitsForAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := hotelstaystest.NewServer(&hotelstaystest.Config{InMemory: true})
		defer srv.Close()
		srv.Inject(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Minute})
		var text strings.Builder
		log := requestLog{ledger: srv.Ledger(), to: slog.New(slog.NewTextHandler(&text, nil))}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := srv.Client().Post(srv.URL, "application/json", strings.NewReader("{}")); err == nil {
				resp.Body.Close()
			}
		}()
		synctest.Wait()
		log.catchUp()
		if text.Len() > 0 {
			t.Errorf("logged too early: %s", text.String())
		}
		<-done
		log.catchUp()
		log.catchUp()
		if lines := strings.Count(text.String(), "\n"); lines != 1 || !strings.Contains(text.String(), "ms=60000") {
			t.Errorf("%d lines: %s", lines, text.String())
		}
	})
}
