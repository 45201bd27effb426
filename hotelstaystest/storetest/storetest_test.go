// The suites pass correct implementations, catch every planted fault, and have no case that
// catches none.

package storetest_test

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/hotelstaystest/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plantVariable makes TestPlanted run the faulty implementations, in a process of its own.
const plantVariable = "HOTELSTAYS_TEST_PLANTED"

// TestFaultsAreCaught runs TestPlanted in another process, because there it must fail.
func TestFaultsAreCaught(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestPlanted$", "-test.v")
	cmd.Env = append(os.Environ(), plantVariable+"=1")
	output, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != 1 {
		t.Fatalf("the process with the faults ended with %v:\n%s", err, output)
	}
	ran := matches(`(?m)^=== RUN   TestPlanted/(.*)$`, output)
	broken := matches(`(?m)^ *--- FAIL: TestPlanted/(\S*)`, output)
	if !strings.Contains(string(output), "promised: ") || !strings.Contains(string(output), "look at:  ") {
		t.Error("no failure names the promise and where to look")
	}

	for name, want := range planted() {
		if !slices.Contains(broken, subtest(name+"/"+want)) {
			t.Errorf("fault %q is not caught by %q", name, want)
		}
	}
	catching := casesOf(broken)
	for _, name := range casesOf(ran) {
		if !slices.Contains(catching, name) {
			t.Errorf("the case %q catches no fault", name)
		}
	}
}

// casesOf returns suite/case for each suite/fault/case.
func casesOf(names []string) (cases []string) {
	for _, name := range names {
		if parts := strings.Split(name, "/"); len(parts) == 3 {
			cases = append(cases, parts[0]+"/"+parts[2])
		}
	}
	slices.Sort(cases)
	return slices.Compact(cases)
}

func subtest(name string) string { return strings.ReplaceAll(name, " ", "_") }

func matches(pattern string, text []byte) (found []string) {
	for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
		found = append(found, string(match[1]))
	}
	return found
}

// planted returns which case catches a fault, by suite and fault.
func planted() map[string]string {
	all := map[string]string{}
	for _, f := range eventFaults {
		all["events/"+f.name] = f.caughtBy
	}
	for _, f := range slices.Concat(tokenFaults, leaseFaults) {
		all["tokens/"+f.name] = f.caughtBy
	}
	for _, f := range limiterFaults {
		all["limiter/"+f.name] = f.caughtBy
	}
	return all
}

// TestPlanted fails. It is run by TestFaultsAreCaught.
func TestPlanted(t *testing.T) {
	if os.Getenv(plantVariable) == "" {
		return
	}
	for _, f := range eventFaults {
		t.Run("events/"+f.name, func(t *testing.T) { storetest.TestEventStore(t, eventFleet(f.plant), storetest.InBubble()) })
	}
	for _, f := range slices.Concat(tokenFaults, leaseFaults) {
		t.Run("tokens/"+f.name, func(t *testing.T) { storetest.TestTokenLeaser(t, tokenFleet(f.plant), storetest.InBubble()) })
	}
	for _, f := range limiterFaults {
		t.Run("limiter/"+f.name, func(t *testing.T) {
			storetest.TestRateLimiter(t, limiterFleet(f.plant, f.immortal), storetest.InBubble())
		})
	}
}

// hesitate makes room for other callers between two steps.
func hesitate() { time.Sleep(time.Millisecond) }

func cutAt(n int) func(string) string {
	return func(key string) string { return key[:min(n, len(key))] }
}

func trimmed(key string) string { return strings.TrimRight(key, " ") }
