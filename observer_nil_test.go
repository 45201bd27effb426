// A client without an Observer pays nothing for the possibility of one.

package hotelstays

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNoObserverCostsNothing(t *testing.T) {
	ctx := context.Background()
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		observed, watch := observe(ctx, nil, CallStart{})
		if observed != ctx || watch != nil || watch.timeline() != nil {
			t.Error("something is observed")
		}
		watch.received(nil, "", "")
		watch.end(nil)
	}))
}
