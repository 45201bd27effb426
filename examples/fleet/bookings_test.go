//go:build servers

package main

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstaysriver "github.com/hotelstays/hotelstays-go/contrib/river"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// beforeCheckAvail calls a function before each CheckAvail is sent.
type beforeCheckAvail struct {
	http.RoundTripper
	do func()
}

func (b *beforeCheckAvail) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(strings.ToLower(r.URL.Path), "checkavail") {
		b.do()
	}
	return b.RoundTripper.RoundTrip(r)
}

// testWorker returns a worker with one booking, whose first round found no order.
func testWorker(t *testing.T) (w *worker, before *beforeCheckAvail) {
	t.Helper()
	dir, err := os.MkdirTemp("", "test") // not t.TempDir, which the user postgres cannot read
	require.NoError(t, err)
	e := &engines{dir: dir}
	t.Cleanup(e.stop)
	require.NoError(t, os.Chmod(dir, 0o711))
	require.NoError(t, e.createPostgres(t.Context()))
	db, err := createDatabase(t.Context(), e.postgresURL, 1)
	require.NoError(t, err)
	t.Cleanup(db.drop)
	srv := hotelstaystest.NewServer()
	t.Cleanup(srv.Close)
	before = &beforeCheckAvail{RoundTripper: srv.Client().Transport}
	client, err := hotelstays.New(srv.URL, hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		hotelstays.WithHTTPClient(&http.Client{Transport: before}))
	require.NoError(t, err)
	bookings, err := hotelstaysriver.New(hotelstaysriver.Config{Client: client, Pool: db.Pool, Schema: db.schema, OnOutcome: storeOutcome})
	require.NoError(t, err)
	w = &worker{db: db, client: client, bookings: bookings}
	w.offer, err = findOffer(t.Context(), client, srv.CityName(0))
	require.NoError(t, err)
	w.exec(t, `UPDATE bookings SET state = 'absent', rounds = 1`)
	return w, before
}

func (w *worker) exec(t *testing.T, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // a row may be locked
	defer cancel()
	_, err := w.db.Exec(ctx, sql)
	assert.NoError(t, err)
}

func (w *worker) count(t *testing.T, sql string) (n int) {
	t.Helper()
	require.NoError(t, w.db.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

// No transaction is open during CheckAvail.
func TestNoTransactionIsOpenDuringCheckAvail(t *testing.T) {
	w, before := testWorker(t)
	var open []int
	before.do = func() {
		open = append(open, w.count(t, `SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND xact_start IS NOT NULL AND pid <> pg_backend_pid()`))
	}
	req, err := w.enqueue(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "fleet-1", req.CustomerReferenceNo)
	assert.Equal(t, []int{0}, open)
	assert.Equal(t, 1, w.count(t, `SELECT count(*) FROM bookings WHERE state = 'pending' AND rounds = 2`))
	assert.Equal(t, 1, w.count(t, `SELECT count(*) FROM river_job`))
}

// A claimed booking is not taken by others until the claim expires.
func TestAClaimedBookingIsNotTaken(t *testing.T) {
	w, before := testWorker(t)
	before.do = func() {
		_, err := w.enqueue(t.Context())
		assert.ErrorIs(t, err, pgx.ErrNoRows)
	}
	_, err := w.enqueue(t.Context())
	require.NoError(t, err)

	w.exec(t, `DELETE FROM river_job; UPDATE bookings SET state = 'absent', claimed_until = now()`) // its worker died
	before.do = func() {}
	req, err := w.enqueue(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "fleet-1", req.CustomerReferenceNo)
}

// A worker whose claim has expired does not enqueue a booking that another worker has taken.
func TestABookingThatWasTakenMeanwhile(t *testing.T) {
	w, before := testWorker(t)
	before.do = func() { w.exec(t, `UPDATE bookings SET rounds = 2`) }
	_, err := w.enqueue(t.Context())
	require.ErrorContains(t, err, "another worker")
	assert.Zero(t, w.count(t, `SELECT count(*) FROM river_job`))
	assert.Equal(t, 1, w.count(t, `SELECT count(*) FROM bookings WHERE state = 'absent' AND rounds = 2`))
}
