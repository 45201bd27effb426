package sqltest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/types"
)

// hold claims an event and leases the fetch of a token, and then does nothing.
func hold(ctx context.Context, db *database) error {
	events, err := hotelstayssql.NewEventStore(db.DB, db.dialect, hotelstayssql.EventStoreOptions{})
	if err != nil {
		return err
	}
	tokens, err := hotelstayssql.NewTokenStore(db.DB, db.dialect, hotelstayssql.TokenStoreOptions{Keys: []types.Secret{key}})
	if err != nil {
		return err
	}
	if _, err := events.Claim(ctx, []string{"a", "b"}, time.Hour); err != nil {
		return err
	}
	if _, _, err := tokens.TryLease(ctx, tokenKey); err != nil {
		return err
	}
	ready()
	<-ctx.Done()
	return nil
}

func TestAProcessDiesWhileItHolds(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		events, tokens := newEvents(t, db.DB, db.dialect), newTokens(t, db)
		claim := func(key string) hotelstays.ClaimState {
			state, err := events.Claim(t.Context(), []string{key}, time.Minute)
			require.NoError(t, err)
			return state
		}
		lease := func() (ok bool) {
			release, ok, err := tokens.TryLease(t.Context(), tokenKey)
			require.NoError(t, err)
			if ok {
				release()
			}
			return ok
		}
		other := db.start(t, "hold")
		assert.False(t, lease())
		other.Kill()
		assert.Equal(t, hotelstays.ClaimBusy, claim("a"))
		db.pass(t, "hotelstays_events", "expires_at", time.Hour)
		db.pass(t, "hotelstays_tokens", "lease_until", 5*time.Second)
		assert.Equal(t, hotelstays.ClaimGranted, claim("a"))
		assert.Equal(t, hotelstays.ClaimGranted, claim("b"))
		assert.True(t, lease())
	})
}
