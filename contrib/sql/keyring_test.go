package hotelstayssql

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/types"
)

var (
	oldKey = types.NewSecret("an old key of thirty-two bytes..")
	newKey = types.NewSecret("a new key of thirty-two bytes...")
)

func ring(t *testing.T, keys ...types.Secret) keyring {
	t.Helper()
	var p problems
	k := newKeyring(keys, &p)
	require.Empty(t, p)
	return k
}

func TestKeyringOpensWhatItSealed(t *testing.T) {
	for _, plain := range []string{"", "text", "\x00\xff"} {
		first := ring(t, oldKey).seal("place", []byte(plain))
		second := ring(t, oldKey).seal("place", []byte(plain))
		assert.NotEqual(t, first, second, "a new nonce each time")
		for _, sealed := range [][]byte{first, second} {
			got, err := ring(t, newKey, oldKey).open("place", sealed)
			require.NoError(t, err)
			assert.Equal(t, plain, string(got))
		}
	}
}

func TestKeyringRefusesWhatWasChanged(t *testing.T) {
	k := ring(t, oldKey, newKey)
	sealed := k.seal("place", []byte("plain"))
	_, err := k.open("elsewhere", sealed)
	assert.ErrorIs(t, err, errDamaged)
	for i := range sealed {
		_, err := k.open("place", sealed[:i])
		assert.Error(t, err, "%d bytes", i)
		changed := append([]byte(nil), sealed...)
		changed[i] ^= 1
		_, err = k.open("place", changed)
		assert.Error(t, err, "byte %d", i)
	}
	_, err = ring(t, newKey).open("place", sealed)
	assert.ErrorContains(t, err, "which is not in Keys")
	assert.NotContains(t, err.Error(), oldKey.Reveal())
}

func TestKeyringRefusesKeysOfAnotherSize(t *testing.T) {
	var p problems
	newKeyring([]types.Secret{oldKey, types.NewSecret("short-key")}, &p)
	require.ErrorContains(t, p.err("New"), "hotelstayssql: New: Keys[1] has 9 bytes; it must have 32")
	assert.NotContains(t, p.err("New").Error(), "short-key")
	p = nil
	newKeyring(nil, &p)
	assert.ErrorContains(t, p.err("New"), "Keys is empty")
}
