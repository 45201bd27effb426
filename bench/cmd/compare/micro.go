// Small things that are measured by Go's own benchmarks: they live beside the code
// that they measure, and this file runs them in turn.

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

// pair is a benchmark, and what it is held against.
type pair struct {
	what             string
	module, folder   string // where the benchmarks are
	ours, base       string
	oursText, baseIs string
}

const (
	sdk        = "github.com/hotelstays/hotelstays-go"
	thisModule = sdk + "/bench"
)

var (
	tokenRead = pair{"a fresh token, 2 cores contended", sdk, ".", "TokenRead/cache", "TokenRead/pointer", "the cache", "an atomic pointer load"}
	webhook   = pair{"a webhook of 1 KB", thisModule, ".", "VerifyWebhook", "BareHMAC", "VerifyWebhook", "bare HMAC-SHA256"}

	pairs = []pair{
		tokenRead,
		webhook,
		{"a webhook of 1 KB", thisModule, ".", "VerifyWebhook", "StripeValidatePayload", "VerifyWebhook", "stripe-go"},
		{"a voucher of 1 MB", thisModule, ".", "VerifyVoucher", "BareSHA256", "VerifyVoucher", "bare SHA-256"},
		{"an amount", thisModule, ".", "MoneyDecimal", "NewFromString", "Money.Decimal", "decimal.NewFromString"},
		{"a ceiling with room", thisModule, ".", "CeilingWithRoom", "MutexAndClock", "Acquire and Left", "two locks and two looks at the clock"},
		{"a call without a network", thisModule, ".", "Observer/on", "Observer/off", "with an Observer", "without"},
	}
)

// microResult has the benchmarks of a pair for each round.
type microResult struct {
	pair
	ours, base []*parse.Benchmark
}

// ratio is what ours costs in what the other costs, each in its best round: what
// disturbs code that only computes makes it slower, never faster.
func (m microResult) ratio() float64 { return best(m.ours) / best(m.base) }

// rounds is how far the ratios of the rounds lie apart.
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

// runMicro builds the test binaries once and runs each benchmark once a round.
func runMicro(ctx context.Context, p plan) ([]microResult, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binaries := map[string]string{} // by package
	all := make([]microResult, len(pairs))
	for i, pair := range pairs {
		all[i].pair = pair
		key := pair.module + "/" + pair.folder
		if binaries[key] == "" {
			binaries[key] = filepath.Join(dir, fmt.Sprintf("%d.test", i))
			if err := buildTests(ctx, pair, binaries[key]); err != nil {
				return nil, err
			}
		}
	}
	for range p.rounds {
		for i := range all {
			m := &all[i]
			binary := binaries[m.module+"/"+m.folder]
			ours, err := runBenchmark(ctx, binary, m.pair.ours, p)
			if err != nil {
				return nil, err
			}
			base, err := runBenchmark(ctx, binary, m.pair.base, p)
			if err != nil {
				return nil, err
			}
			m.ours, m.base = append(m.ours, ours), append(m.base, base)
		}
	}
	return all, nil
}

func buildTests(ctx context.Context, p pair, into string) error {
	where, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", p.module).Output()
	if err != nil {
		return fmt.Errorf("looking for %s (run this inside its repository): %w", p.module, err)
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", into, ".")
	build.Dir = filepath.Join(strings.TrimSpace(string(where)), p.folder)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the benchmarks of %s: %w\n%s", p.module, err, out)
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
	set, err := parse.ParseSet(strings.NewReader(string(out)))
	if err != nil || len(set) != 1 {
		return nil, fmt.Errorf("benchmark %s: its output is not that of one benchmark:\n%s", name, out)
	}
	for _, results := range set {
		return results[0], nil
	}
	return nil, nil
}
