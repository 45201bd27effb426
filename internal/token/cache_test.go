// Tests of a cache with many callers: all callers share one fetch, and after refusals and failures the next fetch
// waits.

package token_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/internal/token"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const manyCallers = 1_000

var (
	errRefused      = errors.New("credential refused")
	errFailed       = errors.New("service failed")
	errUnauthorized = errors.New("unauthorized")
)

// service issues tokens, and accepts each token until it is revoked.
type service struct {
	lifetime time.Duration // 0: unknown
	delay    time.Duration // the duration of a fetch
	err      error         // the error of each fetch
	latency  time.Duration // each call takes a random time up to latency
	sameText bool          // all tokens have the same text

	fetches  atomic.Int64
	accepted sync.Map
}

func (s *service) fetch(context.Context) (types.Secret, time.Duration, error) {
	text := "token"
	if n := s.fetches.Add(1); !s.sameText {
		text = fmt.Sprint("token-", n)
	}
	err := s.err
	time.Sleep(s.delay)
	if err != nil {
		return types.Secret{}, 0, err
	}
	s.accepted.Store(text, nil)
	return types.NewSecret(text), s.lifetime, nil
}

func (s *service) revoke() { s.accepted.Clear() }

// cache returns a cache of this service's tokens, as in a separate process.
func (s *service) cache(change ...func(*token.Cache)) *token.Cache {
	c := &token.Cache{
		Secret:    func(context.Context) (types.Secret, error) { return types.NewSecret("secret"), nil },
		Fetch:     func(ctx context.Context, _ types.Secret) (types.Secret, time.Duration, error) { return s.fetch(ctx) },
		Renewable: true,
		Key:       func(types.Secret) string { return sharedKey },
		IsRefusal: func(err error) bool { return errors.Is(err, errRefused) },
		Advise:    func(err error, advice string) error { return fmt.Errorf("%w; %s", err, advice) },
		Log:       slog.New(slog.DiscardHandler),
		Redact: func(text string, secret types.Secret) string {
			return strings.ReplaceAll(text, secret.Reveal(), "[redacted]")
		},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

// call makes a call as the transport does: after a 401 it tries once more.
func (s *service) call(ctx context.Context, c *token.Cache) error {
	for retried := false; ; retried = true {
		authorization, err := c.Authorization(ctx)
		if err != nil {
			return err
		}
		_, accepted := s.accepted.Load(authorization.Token.Reveal())
		time.Sleep(rand.N(s.latency + 1))
		if accepted {
			return nil
		}
		if again, advice := c.Refused(ctx, authorization); !again || retried {
			return fmt.Errorf("%w; %s", errUnauthorized, advice)
		}
	}
}

// callAll makes n calls at the same time through each cache. It returns their errors, and the duration of the longest call.
func (s *service) callAll(ctx context.Context, n int, caches ...*token.Cache) (failed []error, longest time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, c := range caches {
		for range n {
			wg.Go(func() {
				start := time.Now()
				err := s.call(ctx, c)
				mu.Lock()
				defer mu.Unlock()
				longest = max(longest, time.Since(start))
				if err != nil {
					failed = append(failed, err)
				}
			})
		}
	}
	wg.Wait()
	return failed, longest
}

func (s *service) mustCall(t *testing.T, n int, caches ...*token.Cache) time.Duration {
	t.Helper()
	failed, longest := s.callAll(t.Context(), n, caches...)
	require.Empty(t, failed)
	return longest
}

func withCache(t *testing.T, s *service, test func(t *testing.T, s *service, c *token.Cache)) {
	synctest.Test(t, func(t *testing.T) { test(t, s, s.cache()) })
}

func TestCallsUseTheOldTokenWhileItIsRenewed(t *testing.T) {
	for lifetime, window := range map[time.Duration]time.Duration{
		24 * time.Hour:   5 * time.Minute,
		10 * time.Minute: time.Minute, // a tenth of the lifetime, if the lifetime is short
	} {
		t.Run(lifetime.String(), func(t *testing.T) {
			withCache(t, &service{lifetime: lifetime}, func(t *testing.T, s *service, c *token.Cache) {
				s.mustCall(t, 1, c)
				s.delay = 10 * time.Second

				time.Sleep(lifetime - window - time.Second)
				s.mustCall(t, 1, c)
				synctest.Wait()
				assert.EqualValues(t, 1, s.fetches.Load(), "before the window")

				time.Sleep(2 * time.Second)
				assert.Zero(t, s.mustCall(t, manyCallers, c), "the old token is in use")
				time.Sleep(11 * time.Second)
				assert.EqualValues(t, 2, s.fetches.Load())

				time.Sleep(window)
				assert.Zero(t, s.mustCall(t, 100, c), "the new token is in use")
				assert.EqualValues(t, 2, s.fetches.Load())
			})
		})
	}
}

// The 401 comes after the cache has fetched a new token. The 401 is about the old token, even if the new token has the
// same text.
func TestLate401OfAnOldTokenDoesNotDropTheNewToken(t *testing.T) {
	withCache(t, &service{sameText: true}, func(t *testing.T, s *service, c *token.Cache) {
		late, err := c.Authorization(t.Context())
		require.NoError(t, err)
		s.revoke()
		s.mustCall(t, 1, c)
		time.Sleep(time.Minute)
		again, _ := c.Refused(t.Context(), late)
		assert.True(t, again, "the caller tries again")
		s.mustCall(t, 1, c)
		assert.EqualValues(t, 2, s.fetches.Load())
	})
}

// If new tokens do not end the 401s, the cause is not the token. So the cache keeps the token, and renews the token
// after pauses that grow. The advice for the error says when the next renewal is. After a minute without a refusal the
// series begins again.
func TestRepeatedlyRefusedTokensAreRenewedAfterGrowingPauses(t *testing.T) {
	const refused = "a new token was refused, too; check that the account is active, and may call this operation; "
	withCache(t, &service{}, func(t *testing.T, s *service, c *token.Cache) {
		s.mustCall(t, 1, c)
		for range 2 {
			s.fetches.Store(0)
			var asked []float64
			start := time.Now()
			for time.Since(start) < 4*time.Minute {
				before := s.fetches.Load()
				authorization, err := c.Authorization(t.Context())
				require.NoError(t, err, "the token is in use")
				again, advice := c.Refused(t.Context(), authorization)
				_, err = c.Authorization(t.Context())
				require.NoError(t, err)
				fetched := s.fetches.Load() > before
				require.Equal(t, again, fetched)
				if fetched {
					asked = append(asked, time.Since(start).Seconds())
					assert.Equal(t, refused+"the next call uses another token", advice)
				} else {
					assert.Regexp(t, "^"+refused+`the client asks for another token in [1-9]\S*s$`, advice)
					time.Sleep(500 * time.Millisecond)
				}
			}
			assert.Equal(t, []float64{0, 0, 2, 6, 14, 30, 62, 122, 182}, asked)
			time.Sleep(2 * time.Minute)
		}
	})
}

// After an error of any kind, a renewal is tried again 1 s, 2 s and so on up to 30 s later. Each failure is logged. With the
// next token the pauses begin again at 1 s.
func TestFailedRenewalIsRetriedAfterGrowingPauses(t *testing.T) {
	for _, fault := range []error{errFailed, errRefused} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			s := &service{lifetime: time.Hour}
			c := s.cache(func(c *token.Cache) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			for range 2 {
				s.mustCall(t, 1, c)
				time.Sleep(55*time.Minute + time.Millisecond)
				before := s.fetches.Load()
				s.err = fault
				var tries []float64
				for start := time.Now(); time.Since(start) < 2*time.Minute; time.Sleep(time.Second / 2) {
					require.Zero(t, s.mustCall(t, 3, c), "the old token is in use")
					synctest.Wait()
					if n := s.fetches.Load(); n > before {
						tries, before = append(tries, time.Since(start).Seconds()), n
					}
				}
				assert.Equal(t, []float64{0, 1, 3, 7, 15, 31, 61, 91}, tries)
				assert.Equal(t, len(tries), strings.Count(log.String(), "token renewal failed"))
				log.Reset()

				s.err = nil
				time.Sleep(30 * time.Second)
				s.mustCall(t, 1, c) // this call renews the token
				synctest.Wait()
			}
		})
	}
}

// If the service refuses the credential, the cache asks for a token again after the same pauses as after refused
// tokens. All callers share the pauses.
func TestRefusedCredentialIsRetriedAfterGrowingPauses(t *testing.T) {
	withCache(t, &service{err: errRefused, delay: 100 * time.Millisecond}, func(t *testing.T, s *service, c *token.Cache) {
		var tried []string
		start := time.Now()
		for time.Since(start) < 90*time.Second {
			before := s.fetches.Load()
			failed, _ := s.callAll(t.Context(), 10, c)
			require.Len(t, failed, 10)
			for _, err := range failed {
				require.ErrorIs(t, err, errRefused)
				assert.Regexp(t, `^credential refused; (the next call asks for a token again|the client asks for a token again in [1-9]\S*s)$`, err.Error())
			}
			for range s.fetches.Load() - before {
				tried = append(tried, time.Since(start).String())
			}
			time.Sleep(500 * time.Millisecond)
		}
		assert.Equal(t, []string{"100ms", "700ms", "2.8s", "6.9s", "15s", "31.1s", "1m3.2s"}, tried)
		s.err = nil
		time.Sleep(time.Until(start.Add(123200 * time.Millisecond)))
		s.mustCall(t, 100, c)
	})
}

// A caller waits for a token at most until the caller's ctx ends. The fetch that this caller has begun continues for
// other callers. The fetch keeps the values of the first caller's ctx.
func TestFetchOutlivesTheCallerWhoBeganIt(t *testing.T) {
	type traceKey struct{}
	synctest.Test(t, func(t *testing.T) {
		s := &service{lifetime: time.Hour, delay: 5 * time.Second}
		var trace any
		c := s.cache(func(c *token.Cache) {
			c.Fetch = func(ctx context.Context, _ types.Secret) (types.Secret, time.Duration, error) {
				trace = ctx.Value(traceKey{})
				value, lifetime, err := s.fetch(ctx)
				return value, lifetime, errors.Join(err, ctx.Err())
			}
		})
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), traceKey{}, "first"), time.Second)
		defer cancel()
		start := time.Now()
		err := s.call(ctx, c)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(start))

		assert.Equal(t, 4*time.Second, s.mustCall(t, 10, c))
		assert.EqualValues(t, 1, s.fetches.Load())
		assert.Equal(t, "first", trace)
	})
}
