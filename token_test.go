// The token that all callers of a client share, and clients that share a store.

package hotelstays_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// Tickets that are accepted and do not last are fetched ever more rarely, and the error says when.
func TestTicketsThatDoNotLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAuthWorld(t, 0)
		for range 3 {
			assert.Empty(t, callAll(t.Context(), w.client))
			w.RevokeTokens()
		}
		failed := callAll(t.Context(), w.client)
		require.Len(t, failed, 1)
		assert.ErrorContains(t, failed[0], "another one is asked for in 2s")
		time.Sleep(2 * time.Second)
		assert.Empty(t, callAll(t.Context(), w.client))
		assert.Equal(t, 4, w.Ledger().TicketsIssued())
	})
}

func TestTokenStoreIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		w := newAuthWorld(t, time.Hour, hotelstays.WithTokenStore(store))
		other := w.connect(t, w.cred, hotelstays.WithTokenStore(store))
		both := func() {
			for _, c := range []*hotelstays.Client{w.client, other} {
				require.Empty(t, callAll(t.Context(), slices.Repeat([]*hotelstays.Client{c}, 10)...))
				synctest.Wait() // for a renewal
			}
		}
		both()
		assert.Equal(t, 1, w.Ledger().TicketsIssued())
		time.Sleep(56 * time.Minute)
		both()
		assert.Equal(t, 2, w.Ledger().TicketsIssued(), "the first to renew renews for both")
		w.RevokeTokens()
		both()
		assert.Equal(t, 3, w.Ledger().TicketsIssued(), "the first to be refused deletes it for both")
		assert.WithinDuration(t, time.Now().Add(time.Hour), store.held[w.URL+" ticket:"+w.AppKey].Expiry, time.Second)
		assert.Len(t, store.held, 1)
	})
}

// Tokens of other environments, credentials and scopes are other tokens. One that the
// caller got elsewhere is not shared.
func TestKeysOfATokenStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryStore()
		w := newAuthWorld(t, time.Hour, hotelstays.WithTokenStore(store))
		oauth := func(scopes ...types.Scope) hotelstays.Credential {
			return hotelstays.OAuthCredential{ClientID: w.ClientID, ClientSecret: types.NewSecret(w.ClientSecret), Scopes: scopes}
		}
		clients := []*hotelstays.Client{w.client}
		for _, cred := range []hotelstays.Credential{
			oauth(types.ScopeBookingRead),
			oauth(types.ScopeSearchRead, types.ScopeBookingRead), oauth(types.ScopeBookingRead, types.ScopeSearchRead),
			hotelstays.TokenCredential{Token: types.NewSecret("token")},
		} {
			clients = append(clients, w.connect(t, cred, hotelstays.WithTokenStore(store)))
		}
		callAll(t.Context(), clients...)
		assert.ElementsMatch(t, []string{
			w.URL + " ticket:" + w.AppKey,
			w.URL + " oauth:" + w.ClientID + ":booking:read",
			w.URL + " oauth:" + w.ClientID + ":booking:read search:read",
		}, slices.Collect(maps.Keys(store.held)))
	})
}

func TestTokenDamagedByItsStoreIsNotSent(t *testing.T) {
	for name, damage := range map[string]func(hotelstays.Token) hotelstays.Token{
		"kept as JSON": func(token hotelstays.Token) (kept hotelstays.Token) {
			text, _ := json.Marshal(token)
			_ = json.Unmarshal(text, &kept)
			return kept
		},
		"kept with a line break": func(token hotelstays.Token) hotelstays.Token {
			token.Value = types.NewSecret(token.Value.Reveal() + "\n")
			return token
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			log, written, _ := logOf(t, slog.LevelWarn)
			store := &damagingStore{newMemoryStore(), damage}
			w := newAuthWorld(t, time.Hour, hotelstays.WithTokenStore(store))
			other := w.connect(t, w.cred, hotelstays.WithTokenStore(store), hotelstays.WithLogger(log))
			for _, c := range []*hotelstays.Client{w.client, other} {
				require.Empty(t, callAll(t.Context(), c))
			}
			assert.Equal(t, 2, w.Ledger().TicketsIssued())
			assert.Equal(t, 2, w.Ledger().Count(hotelstays.OpQueryOrders), "no call is refused for its token")
			assert.Contains(t, written.String(), "token store failed")
		})
	}
}

type damagingStore struct {
	*sharedTokens
	damage func(hotelstays.Token) hotelstays.Token
}

func (s *damagingStore) Store(ctx context.Context, key string, token hotelstays.Token) error {
	return s.sharedTokens.Store(ctx, key, s.damage(token))
}

func TestLeasedTicketIsFetchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &leasingStore{sharedTokens: newMemoryStore()}
		w := newAuthWorld(t, time.Hour)
		clients := make([]*hotelstays.Client, 10)
		for i := range clients {
			clients[i] = w.connect(t, w.cred, hotelstays.WithTokenStore(store))
		}
		w.Inject(hotelstaystest.Fault{Operation: hotelstays.OpTicket, Kind: hotelstaystest.FaultDelay, Delay: 5 * time.Second})
		assert.Empty(t, callAll(t.Context(), clients...))
		assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpTicket))
	})
}

func newMemoryStore() *sharedTokens { return &sharedTokens{held: map[string]hotelstays.Token{}} }

type leasingStore struct {
	*sharedTokens
	leased bool
}

func (s *leasingStore) TryLease(context.Context, string) (release func(), ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leased {
		return nil, false, nil
	}
	s.leased = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leased = false
	}, true, nil
}
