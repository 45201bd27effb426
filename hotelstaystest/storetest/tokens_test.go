// A token store with leases that passes the suite, and stores with a fault that the suite must find.

package storetest_test

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// tokenMap is a token store with leases in memory. A lease is longer than a fetch, so it needs no renewal.
type tokenMap struct {
	mu     sync.Mutex
	tokens map[string]hotelstays.Token
	leases map[string]*time.Time
}

func newTokens() *tokenMap {
	return &tokenMap{tokens: map[string]hotelstays.Token{}, leases: map[string]*time.Time{}}
}

func (m *tokenMap) Load(_ context.Context, key string) (hotelstays.Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tokens[key]
	if !t.Expiry.IsZero() && !t.Expiry.After(time.Now()) {
		return hotelstays.Token{}, nil
	}
	return t, nil
}

func (m *tokenMap) Store(_ context.Context, key string, t hotelstays.Token) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens[key] = t
	return nil
}

func (m *tokenMap) CompareAndDelete(_ context.Context, key string, refused hotelstays.Token) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tokens[key].Value.Equal(refused.Value) {
		delete(m.tokens, key)
	}
	return nil
}

func (m *tokenMap) TryLease(_ context.Context, key string) (release func(), ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if end := m.leases[key]; end != nil && end.After(time.Now()) {
		return nil, false, nil
	}
	end := time.Now().Add(30 * time.Second)
	m.leases[key] = &end
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.leases[key] == &end {
			delete(m.leases, key)
		}
	}, true, nil
}

type ignoresCase struct{ *tokenMap }

func (m ignoresCase) Load(ctx context.Context, key string) (hotelstays.Token, error) {
	return m.tokenMap.Load(ctx, strings.ToLower(key))
}

func (m ignoresCase) Store(ctx context.Context, key string, t hotelstays.Token) error {
	return m.tokenMap.Store(ctx, strings.ToLower(key), t)
}

type ignoresExpiry struct{ *tokenMap }

func (m ignoresExpiry) Store(ctx context.Context, key string, t hotelstays.Token) error {
	return m.tokenMap.Store(ctx, key, hotelstays.Token{Value: t.Value})
}

type deletesAny struct{ *tokenMap }

func (m deletesAny) CompareAndDelete(ctx context.Context, key string, _ hotelstays.Token) error {
	return m.tokenMap.Store(ctx, key, hotelstays.Token{})
}

type deletesInTwoSteps struct{ *tokenMap }

func (m deletesInTwoSteps) CompareAndDelete(ctx context.Context, key string, refused hotelstays.Token) error {
	if t, _ := m.Load(ctx, key); !t.Value.Equal(refused.Value) {
		return nil
	}
	time.Sleep(time.Millisecond)
	return m.Store(ctx, key, hotelstays.Token{})
}

type leasesToAll struct{ *tokenMap }

func (m leasesToAll) TryLease(ctx context.Context, key string) (release func(), ok bool, err error) {
	return m.tokenMap.TryLease(ctx, key+rand.Text())
}

type leasesUntilCtxEnds struct{ *tokenMap }

func (m leasesUntilCtxEnds) TryLease(ctx context.Context, key string) (release func(), ok bool, err error) {
	release, ok, err = m.tokenMap.TryLease(ctx, key)
	if ok {
		context.AfterFunc(ctx, release)
	}
	return release, ok, err
}

var tokenFaults = map[string]func(*tokenMap) hotelstays.TokenLeaser{
	"keys that differ in one byte are different keys":   func(m *tokenMap) hotelstays.TokenLeaser { return ignoresCase{m} },
	"a token is there until its expiry":                 func(m *tokenMap) hotelstays.TokenLeaser { return ignoresExpiry{m} },
	"CompareAndDelete keeps every other token":          func(m *tokenMap) hotelstays.TokenLeaser { return deletesAny{m} },
	"CompareAndDelete never deletes a successor":        func(m *tokenMap) hotelstays.TokenLeaser { return deletesInTwoSteps{m} },
	"only one of many concurrent callers has the lease": func(m *tokenMap) hotelstays.TokenLeaser { return leasesToAll{m} },
	"a live holder keeps the lease":                     func(m *tokenMap) hotelstays.TokenLeaser { return leasesUntilCtxEnds{m} },
}
