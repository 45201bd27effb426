package sqltest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
)

// The limit of pages stands for a full disk: SQLite reports both in the same way.
func TestTheDiskIsFull(t *testing.T) {
	db := create(t, hotelstayssql.SQLite)
	db.createTables(t)
	full := newEvents(t, db.openWith(t, map[string]string{"max_page_count": "20"}), db.dialect)
	handled := 0
	var failure error
	for ; failure == nil && handled < 1000; handled++ {
		id := strings.Repeat("x", handled)
		failure = full.HandleTx(t.Context(), event(id, id), insert(handled))
	}
	assert.ErrorContains(t, failure, "full")
	assert.EqualValues(t, handled-1, db.handled(t), "what was committed stays")
	assert.EqualValues(t, 2*(handled-1), db.number(t, "SELECT COUNT(*) FROM hotelstays_events"))
	last := strings.Repeat("x", handled-1)
	require.NoError(t, newEvents(t, db.DB, db.dialect).HandleTx(t.Context(), event(last, last), insert(handled)), "there is room again")
	assert.EqualValues(t, handled, db.handled(t))
}

// Text of SQL in a key is a key.
func TestKeysWithSQL(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		s := newEvents(t, db.DB, db.dialect)
		keys := []string{`'); DROP TABLE hotelstays_events; --`, `\'; DELETE FROM hotelstays_events; #`, "$1 ? {now} {conflict a} {new a}", "\x00\xff"}
		require.NoError(t, s.Done(t.Context(), keys[:3], time.Hour))
		require.NoError(t, s.Release(t.Context(), keys))
		for i, key := range keys {
			state, err := s.Claim(t.Context(), []string{key}, time.Hour)
			require.NoError(t, err)
			assert.Equal(t, i == 3, state == hotelstays.ClaimGranted, key)
		}
		assert.EqualValues(t, 4, db.number(t, "SELECT COUNT(*) FROM hotelstays_events"))
	})
}
