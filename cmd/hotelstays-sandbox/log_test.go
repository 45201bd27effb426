package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestLogHasOneLinePerRequestAndNoSecret(t *testing.T) {
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{Control: hotelstaystest.ControlConfig{Enabled: true}})
	defer srv.Close()
	var log strings.Builder
	stop := logRequests(srv.Ledger(), slog.NewJSONHandler(&log, nil))
	post := func(path, body, trace string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer hidden-token"}, "Trace-Id": {trace}}
		if resp, err := srv.Client().Do(req); err == nil {
			resp.Body.Close()
		}
	}
	post("/api/auth/ticket", `{"appKey":"`+srv.AppKey+`","appSecret":"`+srv.AppSecret+`"}`, "trace-1")
	post("/api/trade/queryOrders", `{"customerReferenceNos":["trip-1"]}`, "trace-2")
	srv.Inject(hotelstaystest.Fault{Kind: hotelstaystest.FaultCut})
	post("/elsewhere", "{}", "trace-3")
	stop()
	var got []map[string]any
	for line := range strings.Lines(log.String()) {
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		assert.IsType(t, 1.5, entry["ms"])
		for _, name := range []string{"time", "level", "msg", "ms"} {
			delete(entry, name)
		}
		got = append(got, entry)
	}
	assert.Equal(t, []map[string]any{
		{"n": 1.0, "operation": "Ticket", "traceId": "trace-1", "status": 200.0, "code": 0.0},
		{"n": 2.0, "operation": "QueryOrders", "reference": "trip-1", "traceId": "trace-2", "status": 401.0,
			"code": float64(types.CodeUnauthorized)},
		{"n": 3.0, "path": "/elsewhere", "traceId": "trace-3", "fault": "cut", "cut": true},
	}, got)
	assert.NotContains(t, log.String(), "hidden-token")
	assert.NotContains(t, log.String(), srv.AppSecret)
}

func TestRequestIsLoggedOnceWhenItsAnswerHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := hotelstaystest.NewServer(&hotelstaystest.Config{InMemory: true})
		defer srv.Close()
		srv.Inject(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Minute})
		var text strings.Builder
		log := requestLog{ledger: srv.Ledger(), to: slog.New(slog.NewTextHandler(&text, nil))}
		var calls sync.WaitGroup
		calls.Go(func() {
			if resp, err := srv.Client().Post(srv.URL, "application/json", strings.NewReader("{}")); err == nil {
				resp.Body.Close()
			}
		})
		synctest.Wait()
		log.catchUp()
		assert.Empty(t, text.String())
		calls.Wait()
		log.catchUp()
		log.catchUp()
		assert.Equal(t, 1, strings.Count(text.String(), "\n"), text.String())
		assert.Contains(t, text.String(), "ms=60000")
	})
}
