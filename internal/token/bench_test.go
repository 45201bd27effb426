// What reading a fresh token allocates. bench compares its time with the least possible.

package token_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/internal/token"
)

func fresh(t testing.TB) *token.Cache {
	s := &service{lifetime: time.Hour}
	c := s.cache()
	_, err := c.Authorization(t.Context())
	require.NoError(t, err)
	return c
}

func TestFreshTokenIsReadWithoutAllocating(t *testing.T) {
	c := fresh(t)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := c.Authorization(t.Context()); err != nil {
			t.Error(err)
		}
	}))
}
