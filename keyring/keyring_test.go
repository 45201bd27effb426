package keyring_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

var (
	oldKey = types.NewSecret("an old key of thirty-two bytes..")
	newKey = types.NewSecret("a new key of thirty-two bytes...")
)

func ring(t *testing.T, keys ...types.Secret) *keyring.Ring {
	t.Helper()
	r, err := keyring.New(keys)
	require.NoError(t, err)
	return r
}

func seal(t *testing.T, r *keyring.Ring, plain string) []byte {
	t.Helper()
	sealed, err := r.Seal("place", []byte(plain))
	require.NoError(t, err)
	return sealed
}

func TestRingOpensDataThatAnotherRingSealedWithTheSameKey(t *testing.T) {
	for _, plain := range []string{"", "text", "\x00\xff"} {
		first := seal(t, ring(t, oldKey), plain)
		second := seal(t, ring(t, oldKey), plain)
		assert.NotEqual(t, first, second, "a new nonce each time")
		for _, sealed := range [][]byte{first, second} {
			got, err := ring(t, newKey, oldKey).Open("place", sealed)
			require.NoError(t, err)
			assert.Equal(t, plain, string(got))
		}
	}
}

func TestRingOpensDataThatAnEarlierVersionOfThePackageSealed(t *testing.T) {
	stored, err := hex.DecodeString("01fed1c7d7c65f5201612e5c672639799640edb5df8c5f8a5fce7644ea26577f1229f427cf4a")
	require.NoError(t, err)
	plain, err := ring(t, oldKey).Open("place", stored)
	require.NoError(t, err)
	assert.Equal(t, "plain", string(plain))
}

func TestRingRefusesChangedDataOtherPlacesAndUnknownKeys(t *testing.T) {
	k := ring(t, oldKey, newKey)
	sealed := seal(t, k, "plain")
	_, err := k.Open("elsewhere", sealed)
	assert.ErrorContains(t, err, "sealed for another place")
	for i := range sealed {
		_, err := k.Open("place", sealed[:i])
		assert.Error(t, err, "%d bytes", i)
		changed := append([]byte(nil), sealed...)
		changed[i] ^= 1
		_, err = k.Open("place", changed)
		assert.Error(t, err, "byte %d", i)
	}
	other := ring(t, newKey)
	_, err = other.Open("place", append([]byte{sealed[0] + 1}, sealed[1:]...))
	assert.ErrorContains(t, err, "was changed", "an unknown version byte")
	_, err = other.Open("place", sealed)
	assert.ErrorContains(t, err, "which is not in Keys")
	assert.NotContains(t, err.Error(), oldKey.Reveal())
	for i := range len(oldKey.Reveal()) - 3 {
		part := oldKey.Reveal()[i : i+4]
		assert.NotContains(t, string(sealed), part, "the key's id reveals nothing of the key")
		assert.NotContains(t, err.Error(), fmt.Sprintf("%x", part))
	}
}

func TestNewRefusesKeysThatAreNot32Bytes(t *testing.T) {
	got, err := keyring.New([]types.Secret{oldKey, types.NewSecret("short-key")})
	assert.Nil(t, got)
	require.EqualError(t, err, "keys[1] has 9 bytes; pass 32 random bytes, not hex or base64 text")
	for _, size := range []int{0, 16, 24, 31, 33, 64} { // 16 and 24 bytes are the sizes of AES-128 and AES-192
		_, err = keyring.New([]types.Secret{types.NewSecret(strings.Repeat("k", size))})
		assert.Error(t, err, "%d bytes", size)
	}
	_, err = keyring.New(nil)
	assert.ErrorContains(t, err, "keys is empty")
}

func TestRingWithoutKeysReturnsErrors(t *testing.T) {
	for _, r := range []*keyring.Ring{nil, {}} {
		_, err := r.Seal("place", nil)
		assert.ErrorContains(t, err, "no key")
		_, err = r.SealToken("place", hotelstays.Token{})
		assert.ErrorContains(t, err, "no key")
		_, err = r.Open("place", seal(t, ring(t, oldKey), "plain"))
		assert.ErrorContains(t, err, "key")
	}
}

func TestRingReturnsTheTokenThatItSealed(t *testing.T) {
	k := ring(t, oldKey)
	want := hotelstays.Token{Value: types.NewSecret("token"), Expiry: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	sealed, err := k.SealToken("place", want)
	require.NoError(t, err)
	got, err := k.OpenToken("place", sealed)
	require.NoError(t, err)
	assert.Equal(t, "token", got.Value.Reveal())
	assert.Equal(t, want.Expiry, got.Expiry)
	_, err = k.OpenToken("place", seal(t, k, "token"))
	assert.ErrorContains(t, err, "is not a token")
}
