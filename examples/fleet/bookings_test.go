package main

import (
	"database/sql"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// Two processes that take the same booking begin it once, and neither keeps a connection while
// it waits for CheckAvail.
func TestBookingOfTwoProcessesIsBegunOnce(t *testing.T) {
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
				if !begun.Swap(true) { // the other process is faster
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
	w, err = newWorker(cfg)
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
