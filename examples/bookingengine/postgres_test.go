//go:build servers

// The site on PostgreSQL: go test -tags servers . It needs the server of
// HOTELSTAYS_POSTGRES_URL.

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/contrib/sql/journaltest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestPostgreSQL(t *testing.T) {
	address := os.Getenv("HOTELSTAYS_POSTGRES_URL")
	server, err := sql.Open("pgx", address)
	require.NoError(t, err)
	name := fmt.Sprintf("bookingengine%d", os.Getpid())
	_, err = server.ExecContext(t.Context(), "CREATE SCHEMA "+name)
	require.NoError(t, err)
	t.Cleanup(func() { // after the pools of the site
		_, err := server.ExecContext(context.Background(), "DROP SCHEMA "+name+" CASCADE")
		require.NoError(t, err)
		server.Close()
	})

	s := &testSite{t: t, srv: hotelstaystest.NewServer(&hotelstaystest.Config{ConfirmAfter: time.Second, VoucherDelay: hotelstaystest.AtOnce})}
	defer s.srv.Close()
	s.db = address + "&search_path=" + name
	s.start(sandboxService(s.srv, "http://127.0.0.1"))
	defer func() { s.engine.close() }()
	shows := func(address, want string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(s.get(address), want) }, time.Minute, 50*time.Millisecond, want)
	}
	s.srv.Inject(hotelstaystest.Fault{Operation: types.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second, Commit: true})
	order, reference := s.toOrder()
	require.Eventually(t, func() bool { return len(s.srv.Ledger().OrdersFor(reference)) == 1 }, time.Minute, 50*time.Millisecond)
	s.restart(true, 0)
	require.NoError(t, journaltest.PassTime(t.Context(), s.engine.db.DB, hotelstayssql.PostgreSQL, bookTimeout, nil))
	shows(order, "Your booking is confirmed")
	shows(order, "Download the voucher")
	assert.Equal(t, http.StatusOK, s.send(http.MethodGet, order+"/voucher", nil).Code)
	for range 3 {
		s.post(order+"/cancel", free)
	}
	shows(order, "Your booking is cancelled")
	assert.Equal(t, 1, s.srv.Ledger().Count(types.OpBook))
	assert.Equal(t, 1, s.srv.Ledger().Count(types.OpCancel))
}
