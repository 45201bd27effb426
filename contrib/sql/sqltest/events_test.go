package sqltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	hotelstayssql "github.com/hotelstays/hotelstays-go/contrib/sql"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func TestEventStore(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		storetest.TestEventStore(t, func(t *testing.T) storetest.Fleet[hotelstays.EventStore] {
			links := map[hotelstays.EventStore]*link{}
			return storetest.Fleet[hotelstays.EventStore]{
				Open: func() hotelstays.EventStore {
					pool, link := db.process(t)
					s, err := hotelstayssql.NewEventStore(pool, db.dialect, hotelstayssql.EventStoreOptions{})
					require.NoError(t, err)
					links[s] = link
					return s
				},
				Freeze:  func(s hotelstays.EventStore) func() { return links[s].freeze() },
				Advance: func(d time.Duration) { db.pass(t, "hotelstays_events", "expires_at", d) },
			}
		})
	})
}
