// The faults as texts.

package sandboxpage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestFaultsAreDescribed(t *testing.T) {
	for want, f := range map[string]hotelstaystest.Fault{
		"cut on Book of trip-1, after it is executed, once": {
			Operation: types.OpBook, Kind: hotelstaystest.FaultCut, Commit: true, Reference: "trip-1", Times: 1},
		"status on any operation, HTTP 502, always": {Kind: hotelstaystest.FaultStatus, Status: 502, Times: -1},
		"delay on any operation, 5s, after 2 more requests, 3 times": {
			Kind: hotelstaystest.FaultDelay, Delay: 5 * time.Second, Skip: 2, Times: 3},
	} {
		assert.Equal(t, want, describe(f))
	}
}
