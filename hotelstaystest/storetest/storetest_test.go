// The suites accept correct implementations, and find every planted fault. Each case of a suite finds at least one fault.

package storetest_test

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	assert.True(t, strings.Contains(log, "promised: ") && strings.Contains(log, "look at:  "), "failures name the promise and where to look")
	for suite, its := range planted {
		for _, f := range its.faults {
			caught := strings.Contains(log, "--- FAIL: TestPlantedFaults/"+strings.ReplaceAll(suite+"/"+f.name+"/"+f.caughtBy, " ", "_")+" (")
			assert.True(t, caught, "%s: fault %q is not caught by %q", suite, f.name, f.caughtBy)
		}
	}
	catches := map[string]bool{}
	for _, run := range regexp.MustCompile(`--- (FAIL|PASS): TestPlantedFaults/(\w+)/[^/\s]+/(\S+)`).FindAllStringSubmatch(log, -1) {
		name := run[2] + "/" + run[3]
		catches[name] = catches[name] || run[1] == "FAIL"
	}
	for name, fault := range catches {
		assert.True(t, fault, "the case %q catches no fault", name)
	}
}

// plantedFault has the name of a fault, and of the case that finds the fault. An implementation behaves faultily if its field
// fault is this name.
type plantedFault struct{ name, caughtBy string }

// planted maps each suite to its planted faults, and to a function that runs the suite with a fault.
var planted = map[string]struct {
	faults []plantedFault
	run    func(t *testing.T, fault string)
}{
	"events": {eventFaults, func(t *testing.T, fault string) {
		storetest.TestEventStore(t, eventFleet(fault), &storetest.Options{InBubble: true})
	}},
	"tokens": {tokenFaults, func(t *testing.T, fault string) {
		storetest.TestTokenLeaser(t, tokenFleet(fault), &storetest.Options{InBubble: true})
	}},
	"limiter": {limiterFaults, func(t *testing.T, fault string) {
		storetest.TestRateLimiter(t, limiterFleet(fault), &storetest.Options{InBubble: true})
		storetest.TestFairRateLimiter(t, limiterFleet(fault), &storetest.Options{InBubble: true})
	}},
}

// TestPlantedFaults does nothing by itself. TestSuitesFindPlantedFaults runs it in another process, where it fails on purpose.
func TestPlantedFaults(t *testing.T) {
	if os.Getenv(plantVariable) == "" {
		return
	}
	for suite, its := range planted {
		for _, f := range its.faults {
			t.Run(suite+"/"+f.name, func(t *testing.T) { its.run(t, f.name) })
		}
	}
}

// The faults that both kinds of store can have.
const (
	ignoresCase   = "compares keys regardless of case"
	ignoresBlanks = "ignores trailing blanks"
	cutsKeys      = "cuts long keys"
	waitsOn       = "ignores the end of ctx"
)

// changeKey returns the key under which a store with this fault stores the value of a key.
func changeKey(fault, key string) string {
	switch fault {
	case ignoresCase:
		return strings.ToLower(key)
	case ignoresBlanks:
		return strings.TrimRight(key, " ")
	case cutsKeys:
		return key[:min(len(key), 254)]
	}
	return key
}

func changeKeys(fault string, keys []string) []string {
	keys = slices.Clone(keys)
	for i := range keys {
		keys[i] = changeKey(fault, keys[i])
	}
	return keys
}

// hesitate unlocks mu for a moment, so that other callers act between two steps.
func hesitate(mu *sync.Mutex) {
	mu.Unlock()
	time.Sleep(time.Millisecond)
	mu.Lock()
}

// gate blocks the calls of a frozen process.
type gate struct {
	shut  atomic.Pointer[chan struct{}] // closed by thaw; nil if the process is not frozen
	blind bool                          // whether calls ignore ctx
}

func (g *gate) freeze() (thaw func()) {
	shut := make(chan struct{})
	g.shut.Store(&shut)
	return func() {
		g.shut.Store(nil)
		close(shut)
	}
}

// pass waits until the process is not frozen. It returns the error of ctx if ctx ends first.
func (g *gate) pass(ctx context.Context) error {
	shut := g.shut.Load()
	if g.blind {
		if shut != nil || ctx.Err() != nil {
			time.Sleep(10 * time.Minute)
		}
		return nil
	}
	if shut != nil {
		select {
		case <-*shut:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// fleetOf returns a fleet whose processes can be frozen.
func fleetOf[S any, P interface{ freeze() func() }](open func() S) storetest.Fleet[S] {
	return storetest.Fleet[S]{Open: open, Freeze: func(s S) func() { return any(s).(P).freeze() }}
}
