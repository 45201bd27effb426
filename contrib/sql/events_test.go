package hotelstayssql

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEventStoreRefusesWhatCannotWork(t *testing.T) {
	_, err := NewEventStore(nil, "oracle", EventStoreOptions{Retention: time.Millisecond})
	for _, fault := range []string{"hotelstayssql: NewEventStore: ", "the database is nil", `"oracle"`, "Retention is 1ms"} {
		assert.ErrorContains(t, err, fault)
	}
	db := sql.OpenDB(&fake{})
	defer db.Close()
	s, err := NewEventStore(db, MySQL, EventStoreOptions{})
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), nil, time.Minute)
	assert.ErrorContains(t, err, "hotelstayssql: claiming an event: no keys")
	_, err = s.Claim(t.Context(), []string{"key"}, time.Nanosecond)
	assert.ErrorContains(t, err, "1ns is shorter than a microsecond")
	assert.ErrorContains(t, s.Done(t.Context(), []string{"key"}, 0), "finishing an event: 0s is shorter")
	assert.ErrorContains(t, s.Release(t.Context(), nil), "releasing an event: no keys")
	_, err = s.Claim(t.Context(), []string{strings.Repeat("x", maxKey+1)}, time.Minute)
	assert.ErrorContains(t, err, "a key has 1025 bytes; at most 1024 are possible")
}
