// The suites accept correct implementations, and find planted faults.

package storetest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var inBubble = &storetest.Options{InBubble: true}

// sharing returns a function that starts a fleet whose processes share one S, which open makes.
func sharing[S any](open func() S) func(*testing.T) storetest.Fleet[S] {
	return func(*testing.T) storetest.Fleet[S] {
		s := open()
		return storetest.Fleet[S]{Open: func() S { return s }}
	}
}

func TestSuitesAcceptCorrectStores(t *testing.T) {
	storetest.TestEventStore(t, sharing(func() hotelstays.EventStore { return newEvents() }), inBubble)
	storetest.TestTokenLeaser(t, sharing(func() hotelstays.TokenLeaser { return newTokens() }), inBubble)
	storetest.TestEventStore(t, func(*testing.T) storetest.Fleet[hotelstays.EventStore] {
		events := newEvents()
		return storetest.Fleet[hotelstays.EventStore]{Open: func() hotelstays.EventStore { return events }, Advance: events.advance}
	}, nil)
}

// plantVariable, if set, makes TestPlantedFaults run the faulty implementations.
const plantVariable = "HOTELSTAYS_TEST_PLANTED"

// TestSuitesFindPlantedFaults runs TestPlantedFaults in another process, because TestPlantedFaults must fail.
func TestSuitesFindPlantedFaults(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestPlantedFaults$", "-test.v")
	cmd.Env = append(os.Environ(), plantVariable+"=1")
	output, err := cmd.CombinedOutput()
	log := string(output)
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed, log)
	require.Equal(t, 1, failed.ExitCode(), log)
	assert.Contains(t, log, "promised: ")
	mustFail(t, log, eventFaults)
	mustFail(t, log, tokenFaults)
	mustFail(t, log, limiterFaults)
}

// mustFail checks that each fault made its case fail.
func mustFail[F any](t *testing.T, log string, faults map[string]F) {
	t.Helper()
	for name := range faults {
		path := strings.ReplaceAll(name+"/"+name, " ", "_")
		found := strings.Contains(log, "--- FAIL: TestPlantedFaults/"+path+" (")
		assert.True(t, found, "%q found no fault", name)
	}
}

// TestPlantedFaults does nothing by itself. TestSuitesFindPlantedFaults runs it in another process, where it fails on purpose.
func TestPlantedFaults(t *testing.T) {
	if os.Getenv(plantVariable) == "" {
		return
	}
	for name, plant := range eventFaults {
		open := func() hotelstays.EventStore { return plant(newEvents()) }
		t.Run(name, func(t *testing.T) { storetest.TestEventStore(t, sharing(open), inBubble) })
	}
	for name, plant := range tokenFaults {
		open := func() hotelstays.TokenLeaser { return plant(newTokens()) }
		t.Run(name, func(t *testing.T) { storetest.TestTokenLeaser(t, sharing(open), inBubble) })
	}
	for name, plant := range limiterFaults {
		open := func() hotelstays.RateLimiter { return plant(hotelstays.NewRateLimiter(nil)) }
		t.Run(name, func(t *testing.T) {
			storetest.TestRateLimiter(t, sharing(open), inBubble)
			storetest.TestFairRateLimiter(t, sharing(open), inBubble)
		})
	}
}
