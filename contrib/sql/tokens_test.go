package hotelstayssql

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestTokenStoreRefusesWhatCannotWork(t *testing.T) {
	_, err := NewTokenStore(nil, "", TokenStoreOptions{FetchLease: time.Millisecond})
	for _, fault := range []string{"hotelstayssql: NewTokenStore: ", "the database is nil",
		"the dialect", "keys is empty", "FetchLease is 1ms"} {
		assert.ErrorContains(t, err, fault)
	}
	db := sql.OpenDB(&fake{})
	defer db.Close()
	s, err := NewTokenStore(db, MySQL, TokenStoreOptions{Keys: []types.Secret{types.NewSecret("a key of thirty-two random bytes")}})
	require.NoError(t, err)
	assert.ErrorContains(t, s.Store(t.Context(), "key", hotelstays.Token{}), "hotelstayssql: storing the token: it is empty")
	late := hotelstays.Token{Value: types.NewSecret("late"), Expiry: time.Now()}
	assert.ErrorContains(t, s.Store(t.Context(), "key", late), "it has expired")
}
