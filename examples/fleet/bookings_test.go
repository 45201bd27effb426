package main

import (
	"database/sql"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// testWorker returns a worker with one booking, whose first round found no order. During each
// CheckAvail it calls what during points to.
func testWorker(t *testing.T) (w *worker, during *func()) {
	t.Helper()
	srv := hotelstaystest.NewServer(nil)
	t.Cleanup(srv.Close)
	target, err := url.Parse(srv.URL)
	require.NoError(t, err)
	during = new(func())
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Transport: srv.Client().Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			if strings.HasSuffix(r.In.URL.Path, "/checkAvail") {
				(*during)()
			}
			r.SetURL(target)
		},
	})
	t.Cleanup(proxy.Close)
	cfg := config{URL: proxy.URL, City: srv.CityName(0), AppKey: srv.AppKey, AppSecret: srv.AppSecret, Key: make([]byte, 32)}
	_, drop, err := createDatabase(t.Context(), options{bookings: 1}, &cfg)
	require.NoError(t, err)
	t.Cleanup(drop)
	w, err = newWorker(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.db.Close()) })
	w.offer, err = w.search(t.Context())
	require.NoError(t, err)
	w.exec(t, `UPDATE bookings SET state = 'absent', rounds = 1`)
	return w, during
}

func (w *worker) exec(t *testing.T, statement string) {
	t.Helper()
	_, err := w.db.ExecContext(t.Context(), statement)
	assert.NoError(t, err)
}

// has reports that there are so many bookings in a state and a round, and so many entries of the journal.
func (w *worker) has(t *testing.T, state string, round, entries int) {
	t.Helper()
	var bookings, begun int
	require.NoError(t, w.db.QueryRowContext(t.Context(), `SELECT COUNT(*), (SELECT COUNT(*) FROM hotelstays_journal) FROM bookings
		WHERE state = $1 AND rounds = $2`, state, round).Scan(&bookings, &begun))
	assert.Equal(t, []int{1, entries}, []int{bookings, begun})
}

func TestBookingIsClaimedWithoutAnOpenTransaction(t *testing.T) {
	w, during := testWorker(t)
	*during = func() {
		assert.Zero(t, w.db.Stats().InUse, "connections")
		_, _, err := w.claim(t.Context())
		assert.ErrorIs(t, err, sql.ErrNoRows, "it is claimed")
	}
	reference, err := w.begin(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "fleet-1", reference)
	w.has(t, "pending", 2, 1)

	w.exec(t, `DELETE FROM hotelstays_journal`) // as if its worker had died before
	w.exec(t, `UPDATE bookings SET state = 'absent', claimed_until = 0`)
	_, err = w.begin(t.Context())
	require.NoError(t, err, "the claim has expired")
	w.has(t, "pending", 3, 1)
}

// A worker whose claim has expired does not begin a booking that another worker has taken.
func TestBookingThatWasTakenMeanwhileIsNotBegun(t *testing.T) {
	w, during := testWorker(t)
	*during = func() { w.exec(t, `UPDATE bookings SET rounds = 2`) }
	_, err := w.begin(t.Context())
	require.ErrorContains(t, err, "another process")
	w.has(t, "absent", 2, 0)
}
