// The event store: which webhooks were handled, for all processes that get them.

package hotelstaysredis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// EventStoreOptions are the settings of NewEventStore.
type EventStoreOptions struct {
	// Prefix begins every key in Redis; "hotelstays" if empty.
	Prefix string
}

// EventStore is a hotelstays.EventStore. A claim belongs to the EventStore that
// made it: no other can give it up, and it ends by itself with its lease. Done
// stands whoever says it, for it means that the event was handled.
//
// All events lie in one slot of a cluster. Copies of an event may have only some of
// their keys in common, so that nothing less lets one step look at all keys; and
// webhooks are few.
//
// It is safe for concurrent use.
type EventStore struct {
	client redis.UniversalClient
	prefix string
	me     string
}

var _ hotelstays.EventStore = (*EventStore)(nil)

// NewEventStore returns a store in the Redis that client reaches. It connects to
// nothing.
func NewEventStore(client redis.UniversalClient, opts EventStoreOptions) (*EventStore, error) {
	var f faults
	f.client(client)
	s := &EventStore{client: client, prefix: f.prefix(opts.Prefix) + ":{events}:", me: newName()}
	if err := f.err("NewEventStore"); err != nil {
		return nil, err
	}
	return s, nil
}

//go:embed claim.lua
var claimSource string

var (
	claimScript = redis.NewScript(claimSource)
	doneScript  = redis.NewScript(`
for _, key in ipairs(KEYS) do
	redis.call('SET', key, 'done', 'PX', ARGV[1])
end
return #KEYS`)
	releaseScript = redis.NewScript(`
for _, key in ipairs(KEYS) do
	local state = redis.call('GET', key)
	if state and string.sub(state, 1, #ARGV[1]) == ARGV[1] then
		redis.call('DEL', key)
	end
end
return #KEYS`)
)

// Claim takes all keys for a lease, or none. A call that ends with its ctx may have
// claimed them all the same, until the lease is over.
func (s *EventStore) Claim(ctx context.Context, keys []string, lease time.Duration) (hotelstays.ClaimState, error) {
	reply, err := s.run(ctx, claimScript, "claiming", keys, lease, s.me+":"+newName(), lease.Milliseconds())
	if err != nil {
		return 0, err
	}
	switch reply {
	case "granted":
		return hotelstays.ClaimGranted, nil
	case "busy":
		return hotelstays.ClaimBusy, nil
	case "done":
		return hotelstays.ClaimDone, nil
	}
	return 0, fmt.Errorf("hotelstaysredis: claiming an event: Redis answered %v", reply)
}

// Done remembers all keys as handled for retention.
func (s *EventStore) Done(ctx context.Context, keys []string, retention time.Duration) error {
	_, err := s.run(ctx, doneScript, "finishing", keys, retention, retention.Milliseconds())
	return err
}

// Release gives up those keys that this store claimed.
func (s *EventStore) Release(ctx context.Context, keys []string) error {
	_, err := s.run(ctx, releaseScript, "releasing", keys, time.Millisecond, s.me+":")
	return err
}

// run runs a script over the keys of one event. A Redis time span has no less than
// a millisecond.
func (s *EventStore) run(ctx context.Context, sc *redis.Script, what string, keys []string, span time.Duration, args ...any) (any, error) {
	reply, err := any(nil), error(nil)
	switch {
	case len(keys) == 0:
		err = errors.New("it has no keys")
	case span < time.Millisecond:
		err = fmt.Errorf("%s is shorter than a millisecond", span)
	default:
		places := make([]string, len(keys))
		for i, key := range keys {
			places[i] = s.prefix + key
		}
		reply, err = script(ctx, s.client, sc, places, args...)
	}
	if err != nil {
		return nil, fmt.Errorf("hotelstaysredis: %s an event: %w", what, err)
	}
	return reply, nil
}
