//go:build !postgres

// Without PostgreSQL the tests of what needs none are run; see the README for the rest.

package hotelstaysriver

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
