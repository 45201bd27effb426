//go:build !redis_server

// No test of the adapters leaves a goroutine behind.

package hotelstaysredis

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
