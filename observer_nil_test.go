// A client without an Observer pays nothing for the possibility of one.

package hotelstays

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNoObserverCostsNothing(t *testing.T) {
	a := &answer{ctx: context.Background()}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		watch := a.observe(nil, "https://host.example")
		if a.ctx != context.Background() || watch != nil || watch.timeline() != nil {
			t.Error("something is observed")
		}
		watch.received(a)
		watch.end(nil)
	}))
}
