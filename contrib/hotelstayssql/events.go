// The event store: which webhooks were handled, in any process.

package hotelstayssql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// EventStoreOptions are the settings of NewEventStore.
type EventStoreOptions struct {
	// Retention is how long HandleTx remembers an event. Default: 7 days; minimum: 1 s. It does not affect Claim
	// and Done, whose callers pass the time.
	Retention time.Duration
}

// EventStore is a hotelstays.EventStore, for any number of accounts. A claim belongs to the EventStore
// that made the claim: no other EventStore can release the claim. At the end of its lease, a claim
// ends by itself. Done works with any EventStore. Some calls also remove expired keys. An EventStore is
// safe for concurrent use.
type EventStore struct {
	db        database
	retention time.Duration
	id        int64
}

var _ hotelstays.EventStore = (*EventStore)(nil)

const (
	defaultRetention = 7 * 24 * time.Hour
	maxKey           = 1024 // bytes
	// On average, one event in pruneEvery removes up to pruneBatch expired keys. That is more keys than pruneEvery
	// events add.
	pruneEvery = 50
	pruneBatch = 200
)

// NewEventStore returns a store that uses the tables of Migrate. It opens no connection. If opts is nil, the
// defaults apply.
func NewEventStore(db *sql.DB, dialect Dialect, opts *EventStoreOptions) (*EventStore, error) {
	if opts == nil {
		opts = new(EventStoreOptions)
	}
	var p problems
	p.checkDatabase(db, dialect)
	s := &EventStore{db: database{db, dialect}, retention: opts.Retention, id: newID()}
	switch {
	case s.retention == 0:
		s.retention = defaultRetention
	case s.retention < time.Second:
		p.add("Retention is %s; it must be at least a second", s.retention)
	}
	if err := p.err("NewEventStore"); err != nil {
		return nil, err
	}
	return s, nil
}

// Claim claims all keys or no key. A key has at most 1024 bytes. If ctx ends during the call,
// the keys may be claimed until the lease ends.
func (s *EventStore) Claim(ctx context.Context, keys []string, lease time.Duration) (hotelstays.ClaimState, error) {
	var state hotelstays.ClaimState
	err := s.withKeys(ctx, s.db.inTx, keys, lease, func(tx *sql.Tx, keys [][]byte) (err error) {
		state, err = s.claimKeys(ctx, tx, keys, newID(), 0, lease)
		if err == nil && state != hotelstays.ClaimGranted {
			err = errRollback
		}
		return err
	})
	if err != nil && !errors.Is(err, errRollback) {
		return "", s.db.failed(err, "claiming an event")
	}
	return state, nil
}

// errRollback makes inTx roll back a transaction that succeeded but must not be committed.
var errRollback = errors.New("nothing to commit")

// claimKeys claims all keys that are free or expired, and returns the claimState of all keys. It writes first, so it
// waits for other transactions with the same keys.
func (s *EventStore) claimKeys(ctx context.Context, tx *sql.Tx, keys [][]byte, claim int64, done int,
	span time.Duration) (hotelstays.ClaimState, error) {
	if err := s.upsert(ctx, tx, keys, claim, done, span,
		replaced("hotelstays_events", "expires_at <= {now}", "store", "claim", "done", "expires_at")); err != nil {
		return "", err
	}
	return s.claimState(ctx, tx, keys, claim)
}

// claimState returns ClaimDone if a key with another claim number is marked as handled. It returns ClaimGranted if all
// keys have the given claim number, and otherwise ClaimBusy.
func (s *EventStore) claimState(ctx context.Context, tx *sql.Tx, keys [][]byte, claim int64) (hotelstays.ClaimState, error) {
	args := []any{claim, claim}
	for _, key := range keys {
		args = append(args, key)
	}
	var own, doneOthers int
	err := tx.QueryRowContext(ctx, s.db.dialect.sql(`SELECT
		COUNT(CASE WHEN claim = ? THEN 1 END), COUNT(CASE WHEN claim <> ? AND done = 1 THEN 1 END)
		FROM hotelstays_events WHERE event_key IN (`+list("?", len(keys))+`)`), args...).Scan(&own, &doneOthers)
	switch {
	case err != nil:
		return "", err
	case doneOthers > 0:
		return hotelstays.ClaimDone, nil
	case own < len(keys):
		return hotelstays.ClaimBusy, nil
	}
	return hotelstays.ClaimGranted, nil
}

// upsert inserts a row for each key. If a row exists, it instead makes the assignments in the parameter assign in that
// row.
func (s *EventStore) upsert(ctx context.Context, tx *sql.Tx, keys [][]byte, claim int64, done int,
	span time.Duration, assign string) error {
	var args []any
	for _, key := range keys {
		args = append(args, key, s.id, claim, done, span.Microseconds())
	}
	_, err := s.db.dialect.exec(ctx, tx, `INSERT INTO hotelstays_events (event_key, store, claim, done, expires_at)
		VALUES `+list("(?, ?, ?, ?, {now} + ?)", len(keys))+` {conflict event_key} `+assign, args...)
	return err
}

// Done marks all keys as handled. The store forgets them when the time in retention has passed.
func (s *EventStore) Done(ctx context.Context, keys []string, retention time.Duration) error {
	err := s.withKeys(ctx, s.db.inTx, keys, retention, func(tx *sql.Tx, keys [][]byte) error {
		return s.upsert(ctx, tx, keys, 0, 1, retention, `
			expires_at = CASE WHEN hotelstays_events.done = 1 AND hotelstays_events.expires_at > {new expires_at}
				THEN hotelstays_events.expires_at ELSE {new expires_at} END,
			done = 1`)
	})
	if err != nil {
		return s.db.failed(err, "finishing an event")
	}
	s.pruneSometimes(ctx)
	return nil
}

// Release ends this store's claims of the keys, so that the event can be claimed again. Claims of other stores stay.
func (s *EventStore) Release(ctx context.Context, keys []string) error {
	if err := s.remove(ctx, keys, `store = ? AND done = 0`, s.id); err != nil {
		return s.db.failed(err, "releasing an event")
	}
	return nil
}

func (s *EventStore) remove(ctx context.Context, keys []string, condition string, args ...any) error {
	return s.withKeys(ctx, s.db.inTx, keys, time.Second, func(tx *sql.Tx, keys [][]byte) error {
		for _, key := range keys {
			_, err := s.db.dialect.exec(ctx, tx, `DELETE FROM hotelstays_events WHERE event_key = ? AND `+condition, append([]any{key}, args...)...)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// HandleTx calls fn in a transaction that also marks the event as handled. If the event was handled
// before, it returns nil without calling fn. If fn fails or panics, nothing is committed, HandleTx
// returns fn's error, and the next delivery calls fn again. If the answer to the commit is lost,
// the next delivery finds out whether the event was handled. A duplicate that arrives during the
// transaction waits for the commit.
//
// fn must return the error of each statement: see Transactions in the package documentation.
//
// HandleTx needs no lease: leave WebhookOptions.Store unset. On SQLite no other process can write
// while fn runs.
func (s *EventStore) HandleTx(ctx context.Context, event *hotelstays.WebhookEvent, fn func(context.Context, *sql.Tx) error) error {
	state, failed := hotelstays.ClaimState(""), error(nil)
	err := s.withKeys(ctx, s.db.inGuardedTx, event.Keys(), s.retention, func(tx *sql.Tx, keys [][]byte) (err error) {
		failed = nil
		claim := newID()
		state, err = s.claimKeys(ctx, tx, keys, claim, 1, s.retention)
		switch {
		case err != nil:
			return err
		case state == hotelstays.ClaimBusy:
			return errors.New("a handler with WebhookOptions.Store has claimed the event; with HandleTx, leave WebhookOptions.Store unset")
		case state == hotelstays.ClaimDone:
			return errRollback
		}
		if failed = fn(ctx, tx); failed != nil {
			return failed
		}
		after, err := s.claimState(ctx, tx, keys, claim)
		if err == nil && after != hotelstays.ClaimGranted {
			err = errUndone
		}
		return err
	})
	switch {
	case failed != nil:
		return failed
	case state == hotelstays.ClaimDone:
		return nil
	case err != nil:
		return s.db.failed(err, "handling an event")
	}
	s.pruneSometimes(ctx)
	return nil
}

// withKeys calls fn in a transaction, with the keys in sorted order. All transactions lock keys in this order, so they
// do not deadlock.
func (s *EventStore) withKeys(ctx context.Context, inTx func(context.Context, func(*sql.Tx) error) error,
	keys []string, span time.Duration, fn func(*sql.Tx, [][]byte) error) error {
	if span < time.Microsecond {
		return fmt.Errorf("the lease or retention is %s; it must be at least 1 µs", span)
	}
	if len(keys) == 0 {
		return errors.New("the event has no keys; pass at least one")
	}
	keys = slices.Sorted(slices.Values(keys))
	var sorted [][]byte
	for _, key := range slices.Compact(keys) {
		if len(key) > maxKey {
			return fmt.Errorf("a key has %d bytes; the limit is %d", len(key), maxKey)
		}
		sorted = append(sorted, []byte(key))
	}
	return inTx(ctx, func(tx *sql.Tx) error { return fn(tx, sorted) })
}

// pruneSometimes calls prune for one event in pruneEvery, to keep the table small. It ignores a failure, because a
// later event prunes again.
func (s *EventStore) pruneSometimes(ctx context.Context) {
	if rand.N(pruneEvery) == 0 {
		_ = s.prune(ctx)
	}
}

func (s *EventStore) prune(ctx context.Context) error {
	rows, err := s.db.QueryContext(ctx, s.db.dialect.sql(`SELECT event_key FROM hotelstays_events
		WHERE expires_at <= {now} ORDER BY expires_at LIMIT ?`), pruneBatch)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var keys []string
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return err
		}
		keys = append(keys, key)
	}
	if err := rows.Err(); err != nil || len(keys) == 0 {
		return err
	}
	return s.remove(ctx, keys, `expires_at <= {now}`)
}
