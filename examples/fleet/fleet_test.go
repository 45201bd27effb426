//go:build servers

package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	dir, err := os.MkdirTemp("", "test") // not t.TempDir, which the user postgres cannot read
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Setenv("TMPDIR", dir)
	t.Setenv("HOTELSTAYS_REDIS_ADDR", "")
	t.Setenv("HOTELSTAYS_POSTGRES_URL", "")
	var out bytes.Buffer
	// A wide margin, because the machine may be busy.
	o := options{bookings: 30, workers: 4, kills: 3, restarts: 1, load: 5 * time.Second, margin: 500 * time.Millisecond}
	err = run(t.Context(), o, &out)
	t.Log(out.String())
	require.NoError(t, err)
	for _, what := range []string{"worker-\\d was killed", "Redis crashed", "PostgreSQL crashed",
		`bookings  30 wanted: \d+ found`, `orders    \d+ in the ledger; lost 0, twice 0`, "Ticket calls 1, by 7 processes",
		`0 calls refused \(429\); HotelRates [1-9]\d+ times`, `webhooks  \d+ events, [1-9]\d+ delivered`, "verdict   good"} {
		assert.Regexp(t, what, out.String())
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}
