package hotelstaysredis

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// slotOf computes CLUSTER KEYSLOT: CRC16 (XMODEM) of the text in the first non-empty braces,
// or of the whole key.
func slotOf(key string) uint16 {
	if _, after, found := strings.Cut(key, "{"); found {
		if tag, _, closed := strings.Cut(after, "}"); closed && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc % 16384
}

func TestSlotOf(t *testing.T) {
	assert.Equal(t, uint16(12739), slotOf("123456789"), "the check value of the CRC, 0x31C3")
	assert.Equal(t, slotOf("a"), slotOf("b{a}c"))
	assert.NotEqual(t, slotOf("a"), slotOf("b{}a"))
}

// Every script of every adapter uses keys of one slot only.
func TestKeysOfAScriptShareASlot(t *testing.T) {
	withMini(t, func(t *testing.T, m *mini) {
		l := m.connect()
		defer l.Close()
		scripts := map[string]bool{}
		slots := map[uint16]bool{}
		var mu sync.Mutex
		look := func(cmd redis.Cmder) {
			if cmd.Name() != "evalsha" {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			args := cmd.Args()
			scripts[args[1].(string)] = true
			n, err := strconv.Atoi(strings.TrimSpace(toText(args[2])))
			require.NoError(t, err)
			require.NotZero(t, n)
			for _, key := range args[3 : 3+n] {
				assert.Equal(t, slotOf(toText(args[3])), slotOf(toText(key)), "%v", args[3:3+n])
			}
			slots[slotOf(toText(args[3]))] = true
		}
		l.before.Store(&look)

		limiter, err := NewRateLimiter(l, RateLimiterOptions{})
		require.NoError(t, err)
		p := &process{limiter, l}
		p.take(t, budget(hotelstays.OpBook), 10)
		p.take(t, budget(hotelstays.OpBook), 1)
		p.take(t, budget(hotelstays.OpCancel), 1)
		synctest.Wait()

		events := newEvents(t, l)
		keys := []string{"one", "another"}
		require.Equal(t, hotelstays.ClaimGranted, claim(t, events, keys...))
		require.NoError(t, events.Release(t.Context(), keys))
		require.NoError(t, events.Done(t.Context(), keys, time.Hour))

		tokens := newTokens(t, l, TokenStoreOptions{})
		mustStore(t, tokens, types.NewSecret("token"))
		release := mustLease(t, tokens)
		time.Sleep(defaultFetchLease)
		release()
		require.NoError(t, tokens.CompareAndDelete(t.Context(), tokenKey, hotelstays.Token{Value: types.NewSecret("token")}))

		for _, s := range []*redis.Script{
			turnScript, claimScript, doneScript, releaseScript, storeToken, leaseFetch, compareAndDelete, renewLease,
		} {
			assert.True(t, scripts[s.Hash()], "a script was not run")
		}
		assert.Len(t, slots, 3, "the rate limits, the events, one token")
	})
}

func toText(arg any) string {
	switch v := arg.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	}
	return ""
}
