// A client without an Observer pays nothing for the possibility of one.

package hotelstays

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNoObserverCostsNothing(t *testing.T) {
	c, x := &Client{}, &exchange{}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		ctx, watch := c.observe(context.Background(), OpBook, "trace")
		if ctx != context.Background() || watch != nil || watch.timeline() != nil {
			t.Error("something is observed")
		}
		watch.sent(x)
		watch.end(nil)
	}))
}
