package main

import (
	"bytes"
	"database/sql"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

func TestMain(m *testing.M) {
	chaostest.Main(workUntilClosed) // does not return in a worker
	goleak.VerifyTestMain(m)
}

// hasGoodVerdict runs a fleet, and requires a good verdict, and output that matches the patterns.
func hasGoodVerdict(t *testing.T, o options, patterns ...string) {
	t.Helper()
	t.Parallel() // the test waits most of the time
	var out bytes.Buffer
	err := run(t.Context(), o, &out)
	t.Log(out.String())
	require.NoError(t, err)
	for _, pattern := range append(patterns, `process \d was killed`, `stopped in order`, `verdict   good`) {
		assert.Regexp(t, pattern, out.String())
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	assert.NoError(t, options{bookings: 1, workers: 1}.check(nil))
	assert.ErrorContains(t, options{bookings: 1, workers: 1}.check([]string{"extra"}), `"extra"`)
	for want, o := range map[string]options{
		"-bookings is 0": {workers: 1},
		"-workers is 0":  {bookings: 1},
		"-kills is -1":   {bookings: 1, workers: 1, kills: -1},
	} {
		assert.ErrorContains(t, o.check(nil), want)
	}
}

func TestFleetOnSQLiteHasAGoodVerdict(t *testing.T) {
	hasGoodVerdict(t, options{bookings: 12, workers: 3, kills: 2}, `tokens    1, for 5 processes`)
}

// During CheckAvail no process keeps a database connection.
func TestOnlyOneOfTwoProcessesBeginsABooking(t *testing.T) {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	target, err := url.Parse(srv.URL)
	require.NoError(t, err)
	var w *worker
	begin := func() error { _, err := w.begin(t.Context()); return err }
	var begun atomic.Bool
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Transport: srv.Client().Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if strings.HasSuffix(r.In.URL.Path, "/checkAvail") {
				assert.Zero(t, w.db.Stats().InUse, "connections")
				if !begun.Swap(true) { // here the other process begins the booking first
					assert.NoError(t, begin())
				}
			}
		},
	})
	defer proxy.Close()
	cfg := config{URL: proxy.URL, City: srv.CityName(0), AppKey: srv.AppKey, AppSecret: srv.AppSecret, Key: make([]byte, 32)}
	_, drop, err := createDatabase(t.Context(), options{bookings: 1}, &cfg)
	require.NoError(t, err)
	defer drop()
	w, err = newWorker(t.Context(), cfg)
	require.NoError(t, err)
	defer w.db.Close()
	w.offer, err = w.search(t.Context())
	require.NoError(t, err)

	require.ErrorIs(t, begin(), durable.ErrAlreadyBegun)
	var rounds, entries int
	require.NoError(t, w.db.QueryRowContext(t.Context(), `SELECT rounds, (SELECT COUNT(*) FROM hotelstays_journal) FROM bookings
		WHERE state = 'pending'`).Scan(&rounds, &entries))
	assert.Equal(t, []int{1, 1}, []int{rounds, entries})
	require.ErrorIs(t, begin(), sql.ErrNoRows, "there is no other one")
}
