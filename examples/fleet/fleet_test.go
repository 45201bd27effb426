//go:build servers

// A whole run, with a Redis and a PostgreSQL of its own: it needs redis-server and
// PostgreSQL on the machine.

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
	dir, err := os.MkdirTemp("", "test") // not t.TempDir, which the user of PostgreSQL cannot look into
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Setenv("TMPDIR", dir)
	t.Setenv("HOTELSTAYS_REDIS_ADDR", "")
	t.Setenv("HOTELSTAYS_POSTGRES_URL", "")
	var out bytes.Buffer
	// A wide margin: other things may run on this machine, and this may be a race build.
	err = run(t.Context(), options{bookings: 30, workers: 4, kills: 3, restarts: 1, load: 5 * time.Second, margin: 500 * time.Millisecond}, &out)
	t.Log(out.String())
	require.NoError(t, err)
	for _, what := range []string{"worker-\\d was killed", "Redis crashed", "PostgreSQL crashed",
		`bookings  30 asked for: \d+ found`, `orders    \d+ in the ledger; lost 0, twice 0`, "Ticket calls 1, by 7 processes",
		`0 calls refused \(429\); HotelRates [1-9]\d+ times`, `webhooks  \d+ events, [1-9]\d+ delivered`, "verdict   good"} {
		assert.Regexp(t, what, out.String())
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}
