// What reading a fresh token costs, beside the least that it could cost.

package hotelstays

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestAFreshTokenIsReadWithoutAllocating(t *testing.T) {
	client := clientWithToken(t)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := client.tokens.Authorization(t.Context()); err != nil {
			t.Error(err)
		}
	}))
}

// clientWithToken returns a client that holds a token with an hour to live.
func clientWithToken(t testing.TB) *Client {
	client, err := New("http://127.0.0.1:1", TokenCredential{Token: types.NewSecret("token")})
	require.NoError(t, err)
	held := client.tokens.hold(Token{Value: types.NewSecret("token"), Expiry: time.Now().Add(time.Hour)}, time.Hour)
	t.Cleanup(func() { client.tokens.discard(held) })
	return client
}

// All cores read at the same time, as the callers of one client do.
func BenchmarkTokenRead(b *testing.B) {
	b.Run("cache", func(b *testing.B) {
		client := clientWithToken(b)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			ctx := b.Context()
			for pb.Next() {
				if _, err := client.tokens.Authorization(ctx); err != nil {
					b.Error(err)
				}
			}
		})
	})
	var current atomic.Pointer[heldToken]
	current.Store(&heldToken{authorization: transport.Authorization{Header: "Bearer token"}})
	// accessor is the least that a function can do which returns what the cache does.
	b.Run("accessor", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := authorizationOf(&current); err != nil {
					b.Error(err)
				}
			}
		})
	})
	// pointer is one atomic load, right there: nothing that is shared and can be
	// replaced is read for less.
	b.Run("pointer", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if current.Load().authorization.Header == "" {
					b.Error("no token")
				}
			}
		})
	})
}

//go:noinline
func authorizationOf(current *atomic.Pointer[heldToken]) (transport.Authorization, error) {
	return current.Load().authorization, nil
}
