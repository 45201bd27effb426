// Go benchmarks of small things. They are beside the code that they measure, and run in turn.

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/benchmark/parse"

	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
)

// pair is a benchmark and the one that it is compared with.
type pair struct {
	what                  string
	pkg                   string // with the benchmarks
	name, against         string // of the benchmarks
	nameText, againstText string
}

const (
	thisModule = "github.com/hotelstays/hotelstays-go/bench"
	tokens     = "github.com/hotelstays/hotelstays-go/internal/token"
)

var (
	tokenRead = pair{"a fresh token, 2 cores contended", tokens, "TokenRead/cache", "TokenRead/pointer", "the cache", "an atomic pointer load"}
	webhook   = pair{"a webhook of 1 KB", thisModule, "VerifyWebhook", "BareHMAC", "VerifyWebhook", "bare HMAC-SHA256"}

	pairs = []pair{
		tokenRead,
		{"a fresh token, 2 cores contended", tokens, "TokenRead/cache", "TokenRead/accessor", "the cache", "a function around such a load"},
		webhook,
		{"a webhook of 1 KB", thisModule, "VerifyWebhook", "StripeValidatePayload", "VerifyWebhook", "stripe-go"},
		{"a voucher of 1 MB", thisModule, "VerifyVoucher", "BareSHA256", "VerifyVoucher", "bare SHA-256"},
		{"an amount", thisModule, "MoneyDecimal", "NewFromString", "Money.Decimal", "decimal.NewFromString"},
		{"a rate limit with room", thisModule, "RateLimitWithRoom", "MutexAndClock", "Acquire, Sent and Done",
			"three locks and three looks at the clock"},
		{"a call without a network", thisModule, "Observer/on", "Observer/off", "with an Observer", "without"},
	}
)

// microResult has the benchmarks of a pair for each round.
type microResult struct {
	pair
	ours, base []*parse.Benchmark
}

// ratio compares the best rounds, because disturbances only ever add time.
func (m microResult) ratio() float64 { return best(m.ours) / best(m.base) }

// rounds is the spread of the ratios.
func (m microResult) rounds() measure.Spread {
	var ratios []float64
	for i := range m.ours {
		ratios = append(ratios, m.ours[i].NsPerOp/m.base[i].NsPerOp)
	}
	return measure.SpreadOf(ratios)
}

func best(all []*parse.Benchmark) float64 {
	least := math.Inf(1)
	for _, b := range all {
		least = min(least, b.NsPerOp)
	}
	return least
}

func (m microResult) allocs() uint64 { return m.ours[0].AllocsPerOp }

// runMicro builds the test binaries, and runs each benchmark once a round.
func runMicro(ctx context.Context, p plan) ([]microResult, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binaries := map[string]string{tokens: filepath.Join(dir, "token.test"), thisModule: filepath.Join(dir, "bench.test")}
	for pkg, binary := range binaries {
		if err := buildTests(ctx, pkg, binary); err != nil {
			return nil, err
		}
	}
	all := make([]microResult, len(pairs))
	for range p.rounds {
		for i, pair := range pairs {
			m := &all[i]
			m.pair = pair
			ours, err := runBenchmark(ctx, binaries[pair.pkg], pair.name, p)
			if err != nil {
				return nil, err
			}
			base, err := runBenchmark(ctx, binaries[pair.pkg], pair.against, p)
			if err != nil {
				return nil, err
			}
			m.ours, m.base = append(m.ours, ours), append(m.base, base)
		}
	}
	return all, nil
}

func buildTests(ctx context.Context, pkg, into string) error {
	where, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return fmt.Errorf("looking for %s (run this inside its repository): %w", pkg, err)
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", into, ".")
	build.Dir = strings.TrimSpace(string(where))
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the benchmarks of %s: %w\n%s", pkg, err, out)
	}
	return nil
}

func runBenchmark(ctx context.Context, binary, name string, p plan) (*parse.Benchmark, error) {
	pattern := "^Benchmark" + strings.ReplaceAll(name, "/", "$/^") + "$"
	out, err := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.cpu=2", "-test.benchmem",
		"-test.bench="+pattern, "-test.benchtime="+p.benchtime.String()).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("benchmark %s: %w\n%s", name, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if b, err := parse.ParseLine(line); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("benchmark %s: its output has no result:\n%s", name, out)
}
