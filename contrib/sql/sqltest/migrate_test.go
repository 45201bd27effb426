package sqltest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
)

func TestMigrateTwice(t *testing.T) {
	on(t, dialects, func(t *testing.T, db *database) {
		require.NoError(t, hotelstayssql.Migrate(t.Context(), db.DB, db.dialect))
		db.exec(t, "INSERT INTO hotelstays_events (event_key, store, claim, done, expires_at) VALUES (?, 1, 1, 1, 1)", []byte("key"))
		require.NoError(t, hotelstayssql.Migrate(t.Context(), db.DB, db.dialect))
		assert.EqualValues(t, 1, db.number(t, "SELECT COUNT(*) FROM hotelstays_events"))
	})
}

func TestMigrateInManyProcessesAtOnce(t *testing.T) {
	on(t, dialects, func(t *testing.T, db *database) {
		var wg sync.WaitGroup
		for range 8 {
			pool := db.open(t)
			wg.Go(func() { assert.NoError(t, hotelstayssql.Migrate(t.Context(), pool, db.dialect)) })
		}
		wg.Wait()
		assert.Equal(t, db.number(t, "SELECT MAX(version) FROM hotelstays_schema"), db.number(t, "SELECT COUNT(*) FROM hotelstays_schema"))
	})
}
