// The promises of a TokenStore.

package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// TestTokenStore tests a TokenStore. The function start must start a fleet for one case.
func TestTokenStore(t *testing.T, start func(t *testing.T) Fleet[hotelstays.TokenStore], opts *Options) {
	t.Helper()
	runAll(t, start, opts, tokenPromises, func(*tokenCase) {})
}

type tokenCase = run[hotelstays.TokenStore]

const (
	saysStored  = "Store stores t under key until t.Expiry, if Expiry is set"
	saysRefused = "CompareAndDelete deletes the token under key if it is still the refused one"
)

var tokenPromises = []promise[hotelstays.TokenStore]{
	{"Load returns what was stored", "it must store Token.Value.Reveal(); it may round Expiry down, to a second",
		"how Store writes value and expiry (JSON redacts the value), and the time zone of the expiry", loadReturnsStored},
	{"every process loads the token", "TokenStore shares tokens between processes; Load returns the token under key, or a zero Token",
		"where Store stores the token; does a missing row cause an error?", everyProcessLoads},
	{"a later token replaces an earlier one", saysStored + "; zero means unknown",
		"Store: does it insert, and keep an existing row? How does it store a zero Expiry?", laterReplaces},
	{"Load returns a token until its expiry", saysStored,
		"the expiry that Store stores, its unit, and the clock it is compared with", tokenUntilExpiry},
	{"an expired token is never loaded", saysStored, "Store with an Expiry in the past: an error is fine", pastExpiry},
	{"keys that differ in one byte are different keys", "keys are compared byte by byte",
		"the collation of the column (case, accents, trailing blanks), its length, and how keys are escaped", tokenKeysDiffer},
	{"CompareAndDelete deletes the refused token for all processes", saysRefused + "; only the values are compared",
		"CompareAndDelete: does a missing row cause an error? It must not compare Expiry, which Load may have rounded", deletesRefused},
	{"CompareAndDelete keeps every other token", saysRefused, "CompareAndDelete: does it compare, and does it look at the key?", keepsOthers},
	{"CompareAndDelete never deletes a successor", saysRefused + "; a successor that is stored meanwhile stays",
		"CompareAndDelete: it must compare and delete in one step", successorStays},
	{"concurrent callers load whole tokens", "methods must be safe for concurrent use",
		"whether Store writes value and expiry in one step", wholeTokens},
	{"methods return when ctx ends", "methods must return when ctx ends",
		"what the methods wait for: a lock, a connection, a retry", tokensReturn},
}

// newToken returns a token that is valid for an hour.
func newToken(value string) hotelstays.Token {
	return hotelstays.Token{Value: types.NewSecret(value), Expiry: time.Now().Add(time.Hour)}
}

func store[S any](c *run[S], s hotelstays.TokenStore, key string, t hotelstays.Token) {
	c.Helper()
	c.mustNot(s.Store(c.Context(), key, t), "Store(%q)", key)
}

func load[S any](c *run[S], s hotelstays.TokenStore, key string) hotelstays.Token {
	c.Helper()
	t, err := s.Load(c.Context(), key)
	c.mustNot(err, "Load(%q)", key)
	return t
}

func compareAndDelete[S any](c *run[S], s hotelstays.TokenStore, key string, refused hotelstays.Token) {
	c.Helper()
	c.mustNot(s.CompareAndDelete(c.Context(), key, refused), "CompareAndDelete(%q)", key)
}

// wantToken loads a token, and fails the test unless the token equals want. Failures show the token, because tokens of
// the suites are not secret.
func wantToken[S any](c *run[S], s hotelstays.TokenStore, key string, want hotelstays.Token) {
	c.Helper()
	got := load(c, s, key)
	if !got.Value.Equal(want.Value) || got.Expiry.IsZero() != want.Expiry.IsZero() {
		c.broken("Load(%q) returned %q with the expiry %v instead of %q with %v", key, got.Value.Reveal(), got.Expiry,
			want.Value.Reveal(), want.Expiry)
	}
}

func wantNone[S any](c *run[S], s hotelstays.TokenStore, key string) {
	c.Helper()
	if got := load(c, s, key); !got.Value.IsZero() || !got.Expiry.IsZero() {
		c.broken("Load(%q) returned the token %q with the expiry %v instead of a zero Token", key, got.Value.Reveal(), got.Expiry)
	}
}

func loadReturnsStored(c *tokenCase) {
	for _, value := range []string{"short", strings.Repeat("long", 2000),
		`"quoted" 'and' \escaped; --`, "trailing==", "CASE", "case", "%5B$1?{}[]*"} {
		k, want := key(), newToken(value)
		store(c, c.a, k, want)
		wantToken(c, c.a, k, want)
		got := load(c, c.a, k).Expiry
		if early := want.Expiry.Sub(got); early < 0 || early >= time.Second {
			c.broken("a token with the expiry %v was loaded with %v", want.Expiry, got)
		}
	}
}

func everyProcessLoads(c *tokenCase) {
	k, want := key(), newToken("token")
	wantNone(c, c.b, k)
	store(c, c.a, k, want)
	wantToken(c, c.b, k, want)
	wantToken(c, c.Open(), k, want)
}

func laterReplaces(c *tokenCase) {
	k, lasting := key(), hotelstays.Token{Value: types.NewSecret("second")}
	store(c, c.a, k, newToken("first"))
	store(c, c.b, k, lasting)
	if !c.isWaiting() {
		c.pass(1000 * time.Hour)
	}
	wantToken(c, c.a, k, lasting)
	store(c, c.a, k, newToken("third"))
	wantToken(c, c.b, k, newToken("third"))
}

func tokenUntilExpiry(c *tokenCase) {
	var k string
	c.halfway(func(life time.Duration) {
		// The token lives a second longer than life, because a store may round the expiry down to a second.
		k = key()
		store(c, c.a, k, hotelstays.Token{Value: types.NewSecret("short-lived"), Expiry: time.Now().Add(life + time.Second)})
	}, func() string {
		if load(c, c.b, k).Value.IsZero() {
			return "there is no token"
		}
		return ""
	})
	c.pass(slack)
	wantNone(c, c.b, k)
	wantNone(c, c.a, k)
}

func pastExpiry(c *tokenCase) {
	for _, expiry := range []time.Time{time.Now(), time.Now().Add(-time.Hour), time.Unix(1, 0)} {
		k := key()
		_ = c.a.Store(c.Context(), k, hotelstays.Token{Value: types.NewSecret("late"), Expiry: expiry})
		wantNone(c, c.a, k)
	}
}

func tokenKeysDiffer(c *tokenCase) {
	all := similarKeys()
	long := key() + strings.Repeat("x", 900)
	all = append(all, "https://host.example "+key(), long, long+"a", long+"b")
	value := func(i int) hotelstays.Token { return newToken(fmt.Sprintf("token %d", i)) }
	for i, key := range all {
		store(c, c.a, key, value(i))
	}
	for i, key := range all {
		wantToken(c, c.b, key, value(i))
	}
	for i, key := range all {
		if i%2 == 0 {
			compareAndDelete(c, c.b, key, value(i))
		}
	}
	for i, key := range all {
		if i%2 == 0 {
			wantNone(c, c.a, key)
		} else {
			wantToken(c, c.a, key, value(i))
		}
	}
}

func deletesRefused(c *tokenCase) {
	k, refused := key(), newToken("refused")
	compareAndDelete(c, c.a, k, refused) // does nothing
	for _, expiry := range []time.Time{{}, time.Now().Add(time.Minute), refused.Expiry} {
		store(c, c.a, k, refused)
		compareAndDelete(c, c.b, k, hotelstays.Token{Value: refused.Value, Expiry: expiry})
		wantNone(c, c.a, k)
		wantNone(c, c.b, k)
	}
	store(c, c.a, k, newToken("successor"))
	wantToken(c, c.b, k, newToken("successor"))
}

func keepsOthers(c *tokenCase) {
	k, other, want := key(), key(), newToken("Successor")
	store(c, c.a, k, want)
	store(c, c.a, other, want)
	for _, refused := range []string{"refused", "", "successor", "Successor ", "Succ", "%"} {
		compareAndDelete(c, c.a, k, hotelstays.Token{Value: types.NewSecret(refused), Expiry: want.Expiry})
		wantToken(c, c.a, k, want)
	}
	compareAndDelete(c, c.a, k, want)
	wantNone(c, c.a, k)
	wantToken(c, c.a, other, want)
}

func successorStays(c *tokenCase) {
	for range 50 {
		k, refused, successor := key(), newToken("refused"), newToken("successor")
		store(c, c.a, k, refused)
		err := atOnce(3, func(i int) error {
			if i == 0 {
				return c.b.Store(c.Context(), k, successor)
			}
			return c.a.CompareAndDelete(c.Context(), k, refused)
		})
		c.mustNot(err, "a concurrent Store or CompareAndDelete of the same key")
		wantToken(c, c.a, k, successor)
	}
}

func wholeTokens(c *tokenCase) {
	k, begin := key(), time.Now().Truncate(time.Second)
	all := make([]hotelstays.Token, 8)
	for i := range all {
		all[i] = hotelstays.Token{Value: types.NewSecret(fmt.Sprint(i)), Expiry: begin.Add(time.Duration(i+1) * time.Hour)}
	}
	store(c, c.a, k, all[0])
	err := atOnce(8, func(caller int) error {
		s := c.both[caller%2]
		for range 30 {
			time.Sleep(rand.N(time.Millisecond))
			if caller < 4 {
				if err := s.Store(c.Context(), k, all[rand.IntN(len(all))]); err != nil {
					return err
				}
				continue
			}
			got, err := s.Load(c.Context(), k)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(all, func(t hotelstays.Token) bool { return t.Value.Equal(got.Value) && t.Expiry.Equal(got.Expiry) }) {
				return fmt.Errorf("a call of Load returned the token %q with the expiry %v, which nobody stored", got.Value.Reveal(), got.Expiry)
			}
		}
		return nil
	})
	if err != nil {
		c.broken("concurrent callers: %v", err)
	}
}

func tokensReturn(c *tokenCase) {
	k := key()
	c.returnsWithCtx(c.a, []call{
		{"Load", func(ctx context.Context) error { _, err := c.a.Load(ctx, k); return err }},
		{"Store", func(ctx context.Context) error { return c.a.Store(ctx, k, newToken("token")) }},
		{"CompareAndDelete", func(ctx context.Context) error { return c.a.CompareAndDelete(ctx, k, newToken("token")) }},
	})
}
