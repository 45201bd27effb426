// Wake-ups, and the waits that receive them.

package hotelstays_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// pending reports whether a wake-up waits on a channel, and takes it.
func pending(wakeup <-chan struct{}) bool {
	select {
	case <-wakeup:
		return true
	default:
		return false
	}
}

func TestWakeHub(t *testing.T) {
	var hub hotelstays.WakeHub
	hub.Wake("ref-1") // nobody watches
	one, stopOne := hub.Watch("ref-1")
	two, stopTwo := hub.Watch("ref-1")
	other, stopOther := hub.Watch("ref-2")
	assert.False(t, pending(one), "a wake-up from before Watch")

	hub.Wake("ref-1")
	hub.Wake("ref-1")
	assert.True(t, pending(one), "it is kept until the wait begins")
	assert.False(t, pending(one), "two wake-ups are one")
	assert.True(t, pending(two), "all watchers are woken")
	assert.False(t, pending(other))

	stopOne()
	stopOne()
	hub.Wake("ref-1")
	assert.False(t, pending(one))
	assert.True(t, pending(two), "another watcher stays")
	stopTwo()
	stopOther()
	assert.Equal(t, 0, hub.References())
	assert.Zero(t, testing.AllocsPerRun(100, func() { hub.Wake("ref-1") }))
}

// Watchers come and go while events come: each watcher is woken by a Wake after its Watch, and
// nothing is left.
func TestWakeHubUnderLoad(t *testing.T) {
	var hub hotelstays.WakeHub
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for range 200 {
				wakeup, stop := hub.Watch([]string{"ref-1", "ref-2"}[i%2])
				hub.Wake("ref-1")
				hub.Wake("ref-2")
				<-wakeup
				stop()
			}
		})
	}
	work.Wait()
	assert.Equal(t, 0, hub.References())
}
