// The event store: which webhooks were handled, in any process.

package hotelstaysredis

import (
	"cmp"
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

// EventStore is a hotelstays.EventStore, for any number of accounts. A claim belongs to the EventStore that made it: no
// other EventStore can release the claim, and the claim ends by itself with its lease. Any EventStore may call Done.
//
// In a Redis cluster, all events are in one hash slot. A script can only use keys of one hash slot. Two deliveries of an
// event may have only some keys in common, so no key of an event can determine its hash slot. An EventStore is safe for
// concurrent use.
type EventStore struct {
	client redis.UniversalClient
	prefix string
	id     string // random id of this store, which its claims contain
}

var _ hotelstays.EventStore = (*EventStore)(nil)

// NewEventStore returns a store that uses the Redis of client. It opens no connection. nil options mean the defaults.
func NewEventStore(client redis.UniversalClient, opts *EventStoreOptions) (*EventStore, error) {
	if opts == nil {
		opts = new(EventStoreOptions)
	}
	if err := invalid("NewEventStore", checkClient(client), checkPrefix(opts.Prefix)); err != nil {
		return nil, err
	}
	return &EventStore{client: client, prefix: cmp.Or(opts.Prefix, defaultPrefix) + ":{events}:", id: newID()}, nil
}

//go:embed claim.lua
var claimSource string

var (
	claimScript = redis.NewScript(claimSource)
	doneScript  = redis.NewScript(`
for _, key in ipairs(KEYS) do
	redis.call('SET', key, 'done', 'PX', ARGV[1])
end
return 'ok'`)
	// KEYS: the id of this release, then the event's keys. The script releases only once, because go-redis sends a
	// command again if its reply was lost. The repeated command could end a later claim of this store.
	releaseScript = redis.NewScript(`
if not redis.call('SET', KEYS[1], 'released', 'NX', 'PX', 60000) then
	return 'ok'
end
for i = 2, #KEYS do
	local key = KEYS[i]
	local state = redis.call('GET', key)
	if state and string.sub(state, 1, #ARGV[1]) == ARGV[1] then
		redis.call('DEL', key)
	end
end
return 'ok'`)
)

// Claim claims all keys, or no key. If ctx ends during the call, the keys may stay claimed until
// the lease ends.
func (s *EventStore) Claim(ctx context.Context, keys []string, lease time.Duration) (hotelstays.ClaimState, error) {
	state, err := s.run(ctx, claimScript, "claiming", keys, lease, s.id+":"+newID(), lease.Milliseconds())
	return hotelstays.ClaimState(state), err
}

// Done marks all keys as handled. The store forgets them when the time in retention has passed.
func (s *EventStore) Done(ctx context.Context, keys []string, retention time.Duration) error {
	_, err := s.run(ctx, doneScript, "finishing", keys, retention, retention.Milliseconds())
	return err
}

// Release ends this store's claims of the keys, so that the event can be claimed again. Claims of other stores stay.
func (s *EventStore) Release(ctx context.Context, keys []string) error {
	if len(keys) > 0 {
		keys = append([]string{"release:" + newID()}, keys...)
	}
	_, err := s.run(ctx, releaseScript, "releasing", keys, time.Millisecond, s.id+":")
	return err
}

// run runs a script on the keys of one event. The parameter span is the lease or the retention of the event.
func (s *EventStore) run(ctx context.Context, sc *redis.Script, what string, keys []string, span time.Duration,
	args ...any) (reply string, err error) {
	switch {
	case len(keys) == 0:
		err = errors.New("the event has no keys; pass at least one key")
	case span < time.Millisecond:
		err = fmt.Errorf("the lease or retention is %s; it must be at least 1 ms", span)
	default:
		redisKeys := make([]string, len(keys))
		for i, key := range keys {
			redisKeys[i] = s.prefix + key
		}
		reply, err = runScript(ctx, s.client, sc, (*redis.Cmd).Text, redisKeys, args...)
	}
	if err != nil {
		return "", fmt.Errorf("hotelstaysredis: %s an event: %w", what, err)
	}
	return reply, nil
}
