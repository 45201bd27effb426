// Correct implementations in memory, into which faults are planted.

package storetest_test

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
)

// gate holds the calls of a frozen process.
type gate struct {
	mu    sync.Mutex
	shut  chan struct{} // closed by thaw; nil: open
	blind bool          // to ctx
}

func (g *gate) freeze() (thaw func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := make(chan struct{})
	g.shut = shut
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.shut = nil
		close(shut)
	}
}

func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if g.blind {
		if shut != nil || ctx.Err() != nil {
			time.Sleep(10 * time.Minute)
		}
		return nil
	}
	if shut != nil {
		select {
		case <-shut:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// events is the EventStore of one process, made of functions that can be replaced.
type events struct {
	gate
	claim   func(keys []string, lease time.Duration) hotelstays.ClaimState
	finish  func(keys []string, retention time.Duration)
	release func(keys []string)
}

func (e *events) Claim(ctx context.Context, keys []string, lease time.Duration) (hotelstays.ClaimState, error) {
	if err := e.pass(ctx); err != nil {
		return "", err
	}
	return e.claim(keys, lease), nil
}

func (e *events) Done(ctx context.Context, keys []string, retention time.Duration) error {
	err := e.pass(ctx)
	if err == nil {
		e.finish(keys, retention)
	}
	return err
}

func (e *events) Release(ctx context.Context, keys []string) error {
	err := e.pass(ctx)
	if err == nil {
		e.release(keys)
	}
	return err
}

// eventTable is what event stores share.
type eventTable struct {
	mu    sync.Mutex
	rows  map[string]eventRow
	ahead time.Duration // of its clock
}

type eventRow struct {
	done  bool
	until time.Time
}

func newEventTable() *eventTable { return &eventTable{rows: map[string]eventRow{}} }

func (e *eventTable) open() *events {
	return &events{claim: e.claim, finish: e.finish, release: e.release}
}

func (e *eventTable) advance(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ahead += d
}

func (e *eventTable) setBack(d time.Duration) { e.advance(-d) }

func (e *eventTable) now() time.Time { return time.Now().Add(e.ahead) }

func (e *eventTable) state(keys []string) hotelstays.ClaimState {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.look(keys)
}

func (e *eventTable) look(keys []string) hotelstays.ClaimState {
	state := hotelstays.ClaimGranted
	for _, key := range keys {
		switch row, there := e.rows[key]; {
		case !there || !row.until.After(e.now()):
		case row.done:
			return hotelstays.ClaimDone
		default:
			state = hotelstays.ClaimBusy
		}
	}
	return state
}

func (e *eventTable) put(keys []string, row eventRow) {
	for _, key := range keys {
		e.rows[key] = row
	}
}

func (e *eventTable) claim(keys []string, lease time.Duration) hotelstays.ClaimState {
	e.mu.Lock()
	defer e.mu.Unlock()
	state := e.look(keys)
	if state == hotelstays.ClaimGranted {
		e.put(keys, eventRow{until: e.now().Add(lease)})
	}
	return state
}

func (e *eventTable) finish(keys []string, retention time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.put(keys, eventRow{done: true, until: e.now().Add(retention)})
}

func (e *eventTable) release(keys []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, key := range keys {
		if !e.rows[key].done {
			delete(e.rows, key)
		}
	}
}

// tokens is the TokenLeaser of one process, made of functions that can be replaced.
type tokens struct {
	gate
	load   func(key string) (hotelstays.Token, error)
	store  func(key string, t hotelstays.Token)
	remove func(key string, refused hotelstays.Token) error
	lease  func(ctx context.Context, key string) (release func(), ok bool)
}

func (s *tokens) Load(ctx context.Context, key string) (hotelstays.Token, error) {
	if err := s.pass(ctx); err != nil {
		return hotelstays.Token{}, err
	}
	return s.load(key)
}

func (s *tokens) Store(ctx context.Context, key string, t hotelstays.Token) error {
	err := s.pass(ctx)
	if err == nil {
		s.store(key, t)
	}
	return err
}

func (s *tokens) CompareAndDelete(ctx context.Context, key string, refused hotelstays.Token) error {
	if err := s.pass(ctx); err != nil {
		return err
	}
	return s.remove(key, refused)
}

func (s *tokens) TryLease(ctx context.Context, key string) (release func(), ok bool, err error) {
	if err := s.pass(ctx); err != nil {
		return nil, false, err
	}
	release, ok = s.lease(ctx, key)
	return release, ok, nil
}

// tokenTable is what token stores share. Its leases are longer than a fetch, so that nobody
// renews them.
type tokenTable struct {
	mu     sync.Mutex
	tokens map[string]hotelstays.Token
	leases map[string]*time.Time
}

func newTokenTable() *tokenTable {
	return &tokenTable{tokens: map[string]hotelstays.Token{}, leases: map[string]*time.Time{}}
}

func (s *tokenTable) open() *tokens {
	return &tokens{load: s.load, store: s.store, remove: s.remove,
		lease: func(_ context.Context, key string) (func(), bool) { return s.lease(key, 30*time.Second) }}
}

func (s *tokenTable) load(key string) (hotelstays.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tokens[key]
	if !t.Expiry.IsZero() && !t.Expiry.After(time.Now()) {
		return hotelstays.Token{}, nil
	}
	return t, nil
}

func (s *tokenTable) store(key string, t hotelstays.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[key] = t
}

func (s *tokenTable) remove(key string, refused hotelstays.Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens[key].Value.Equal(refused.Value) {
		delete(s.tokens, key)
	}
	return nil
}

func (s *tokenTable) leased(key string) bool {
	end := s.leases[key]
	return end != nil && end.After(time.Now())
}

func (s *tokenTable) lease(key string, span time.Duration) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leased(key) {
		return nil, false
	}
	end := time.Now().Add(span)
	s.leases[key] = &end
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.leases[key] == &end {
			delete(s.leases, key)
		}
	}, true
}

// limiter is the RateLimiter of one process, made of functions that can be replaced.
type limiter struct {
	acquire func(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error)
	pause   func(key hotelstays.RateLimitKey, until time.Time)
	slow    time.Duration // of Done
	setBack *atomic.Bool  // the clock of its server

	mu  sync.Mutex
	out map[*permit]bool
}

func (l *limiter) Acquire(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	inner, err := l.acquire(ctx, key)
	if err != nil || inner == nil {
		return nil, err
	}
	p := &permit{limiter: l, inner: inner}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out[p] = true
	return p, nil
}

func (l *limiter) Pause(key hotelstays.RateLimitKey, until time.Time) { l.pause(key, until) }

// freeze ends the permits of a process that does not return before its lease ends.
func (l *limiter) freeze() (thaw func()) {
	end := time.AfterFunc(6*time.Second, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for p := range l.out {
			p.inner.Done(hotelstays.PermitResult{})
		}
		clear(l.out)
	})
	return func() { end.Stop() }
}

type permit struct {
	limiter *limiter
	inner   hotelstays.Permit
}

func (p *permit) Sent() {
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	if p.limiter.out[p] {
		p.inner.Sent()
	}
}

func (p *permit) Done(r hotelstays.PermitResult) {
	time.Sleep(p.limiter.slow)
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	if p.limiter.out[p] {
		delete(p.limiter.out, p)
		p.inner.Done(r)
	}
}

// windows is what limiters share.
type windows map[hotelstays.RateLimitKey]*ratelimit.Window

func newWindows(n func(hotelstays.Operation) int, window time.Duration) windows {
	w := windows{}
	for _, op := range []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpBook, hotelstays.OpCheckAvail, hotelstays.OpCancel,
		hotelstays.OpQueryOrders, hotelstays.OpOAuthToken} {
		for _, baseURL := range []string{"https://host.example", "https://other.example"} {
			if limit := n(op); limit > 0 {
				w[hotelstays.RateLimitKey{BaseURL: baseURL, Operation: op}] = ratelimit.NewWindow(limit, window, 10*time.Millisecond)
			}
		}
	}
	return w
}

func (w windows) open() *limiter {
	return &limiter{acquire: w.acquire, pause: w.pause, out: map[*permit]bool{}}
}

func (w windows) acquire(ctx context.Context, key hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	if w[key] == nil {
		return nil, nil
	}
	p, err := w[key].Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return windowPermit{p}, nil
}

func (w windows) pause(key hotelstays.RateLimitKey, until time.Time) {
	if w[key] != nil {
		w[key].Pause(until)
	}
}

type windowPermit struct{ *ratelimit.Permit }

func (p windowPermit) Done(r hotelstays.PermitResult) { p.Permit.Done(ratelimit.Result(r)) }

// fleetOf makes a fleet of processes that can be frozen.
func fleetOf[S any, P interface{ freeze() func() }](open func() S) storetest.Fleet[S] {
	return storetest.Fleet[S]{Open: open, Freeze: func(s S) func() { return any(s).(P).freeze() }}
}
