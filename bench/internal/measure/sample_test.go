package measure

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const megabyte = 1 << 20

func TestTakeMeasuresTheAllocationsOfACall(t *testing.T) {
	call := func(context.Context) (any, error) {
		kept := make([]byte, megabyte)
		_ = append([]byte(nil), kept...) // garbage
		return kept, nil
	}
	s, err := Take(t.Context(), call, Load{Callers: 4, AtLeast: time.Millisecond})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, s.Calls, 4)
	assert.InDelta(t, 2*megabyte, s.Bytes, megabyte/10)
	assert.Greater(t, s.Peak, 1.0*megabyte)
	assert.Greater(t, s.CPU, 0.0)
	assert.Greater(t, s.Wall, 0.0)
	assert.Less(t, s.Allocs, 100.0)
}

func TestTakeDoesNotCountTheWarmUp(t *testing.T) {
	var calls atomic.Int32
	call := func(context.Context) (any, error) {
		return Arrival{Hotel: time.Duration(calls.Add(1)) * time.Second}, nil
	}
	s, err := Take(t.Context(), call, Load{Callers: 3, Warm: true})
	require.NoError(t, err)
	assert.Equal(t, 3, s.Calls)
	assert.EqualValues(t, 6, calls.Load())
	assert.InDelta(t, 5, s.First, 1e-9, "the mean of 4, 5 and 6, without the first call")
}

func TestTakeEndsWithTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	_, err := Take(t.Context(), func(context.Context) (any, error) { return nil, broken }, Load{Callers: 2, AtLeast: time.Hour})
	assert.ErrorIs(t, err, broken)
}

func TestSpreadHasMedianAndRange(t *testing.T) {
	assert.Equal(t, Spread{Median: 2, Least: 1, Most: 9}, SpreadOf([]float64{9, 1, 2}))
	assert.Equal(t, Spread{Median: 2.5, Least: 1, Most: 9}, SpreadOf([]float64{9, 1, 2, 3}))
}
