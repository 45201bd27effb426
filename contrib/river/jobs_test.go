//go:build postgres

package hotelstaysriver

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/bookingstest"
)

// Pools behind a PgBouncer use other query modes.
func TestQueryExecModes(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			w := newWorld(t, nil)
			other := w.reconnect(func(cfg *pgxpool.Config) { cfg.ConnConfig.DefaultQueryExecMode = mode })
			w.World.Bookings = other.Bookings
			w.SendUnknown("ref-1", bookingstest.BookLost)
			w.World.Work()
			require.NoError(t, other.Wake(t.Context(), "ref-1"))
			w.HasState("ref-1", durable.EndingAbsent, time.Minute)
		})
	}
}

// The README's queries find what they promise.
func TestAlerts(t *testing.T) {
	w := newWorld(t, nil)
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, block, _ := strings.Cut(string(page), "```sql\n")
	block, _, _ = strings.Cut(block, "```")
	var queries []string
	for query := range strings.SplitSeq(block, ";") {
		if strings.TrimSpace(query) != "" {
			queries = append(queries, query)
		}
	}
	found := func() (numbers []int) {
		for _, query := range queries {
			tag, err := w.pool.Exec(t.Context(), query)
			require.NoError(t, err)
			numbers = append(numbers, int(tag.RowsAffected()))
		}
		return numbers
	}
	w.Begin("ref-1")
	assert.Equal(t, []int{0, 0, 0, 0, 0}, found())
	w.Fleet.Pass(time.Hour)
	assert.Equal(t, []int{0, 0, 1, 0, 0}, found())
	w.exec(`UPDATE river_job SET attempt = 6, scheduled_at = now(), errors = ARRAY['{"error":"broken"}'::jsonb]`)
	assert.Equal(t, []int{0, 1, 0, 0, 0}, found())
	w.exec(`UPDATE river_job SET attempt = 1, args = args || '{"unverified":2}'`)
	assert.Equal(t, []int{0, 0, 0, 1, 0}, found())
	w.exec(`UPDATE river_job SET attempt = 1, state = 'discarded', finalized_at = now()`)
	assert.Equal(t, []int{1, 0, 0, 0, 1}, found())
}
