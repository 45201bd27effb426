package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain runs the program itself in the workers of a test.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "worker" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// Without the servers the error names the packages, and no file is left behind.
func TestServersAreMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("HOTELSTAYS_REDIS_ADDR", "")
	t.Setenv("HOTELSTAYS_POSTGRES_URL", "")
	_, err := startEngines(t.Context())
	require.ErrorContains(t, err, "apt-get install redis-server postgresql")
	assert.NotContains(t, err.Error(), "\n")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestNamedRedisIsNotThere(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("HOTELSTAYS_REDIS_ADDR", "127.0.0.1:1")
	t.Setenv("HOTELSTAYS_POSTGRES_URL", "postgres://127.0.0.1:1/")
	_, err := startEngines(t.Context())
	require.ErrorContains(t, err, "HOTELSTAYS_REDIS_ADDR")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestFlagsThatCannotWork(t *testing.T) {
	require.NoError(t, options{bookings: 1, workers: 1, margin: time.Millisecond}.check())
	err := options{workers: 65, kills: -1, restarts: -1, load: -1}.check()
	for _, flag := range []string{"-bookings is 0", "-workers is 65", "-kills is -1", "-restarts is -1", "-for is -1ns", "-margin is 0s"} {
		assert.ErrorContains(t, err, flag)
	}
}
