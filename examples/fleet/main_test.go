package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

func TestMain(m *testing.M) {
	chaostest.Main(workUntilClosed) // does not return in a worker
	goleak.VerifyTestMain(m)
}

// hasGoodVerdict runs a fleet, and requires a good verdict, and output that matches the patterns.
func hasGoodVerdict(t *testing.T, o options, patterns ...string) {
	t.Helper()
	t.Parallel() // the test waits most of the time
	var out bytes.Buffer
	err := run(t.Context(), o, &out)
	t.Log(out.String())
	require.NoError(t, err)
	for _, pattern := range append(patterns, `process \d was killed`, `stopped in order`, `verdict   good`) {
		assert.Regexp(t, pattern, out.String())
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	assert.NoError(t, options{bookings: 1, workers: 1}.check(nil))
	assert.ErrorContains(t, options{bookings: 1, workers: 1}.check([]string{"extra"}), `"extra"`)
	for want, o := range map[string]options{
		"-bookings is 0": {workers: 1},
		"-workers is 0":  {bookings: 1},
		"-kills is -1":   {bookings: 1, workers: 1, kills: -1},
	} {
		assert.ErrorContains(t, o.check(nil), want)
	}
}

func TestFleetOnSQLiteHasAGoodVerdict(t *testing.T) {
	hasGoodVerdict(t, options{bookings: 12, workers: 3, kills: 2}, `tokens    1, for 5 processes`)
}
