// Small things beside their least possible cost, as Go benchmarks.

package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stripe/stripe-go/v85/webhook"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/measure"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/internal/token"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/pacing"
	"github.com/hotelstays/hotelstays-go/types"
)

// comparison is a small thing and the one that it is compared with.
type comparison struct {
	what       string
	ours, base benchmark
}

type benchmark struct {
	name   string
	run    func(*testing.B)
	ns     []float64 // of an operation, in each round
	allocs int64
}

// ratio compares the best rounds, because disturbances only ever add time.
func (c comparison) ratio() float64 { return slices.Min(c.ours.ns) / slices.Min(c.base.ns) }

// rounds is the spread of the ratios.
func (c comparison) rounds() measure.Spread {
	var ratios []float64
	for i := range c.ours.ns {
		ratios = append(ratios, c.ours.ns[i]/c.base.ns[i])
	}
	return measure.SpreadOf(ratios)
}

// measureSmall runs each benchmark once a round, in turn and on two cores.
func measureSmall(rounds int, benchtime time.Duration) ([]comparison, error) {
	if err := flag.Set("test.benchtime", benchtime.String()); err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	all := comparisons()
	for range rounds {
		for i := range all {
			for _, b := range []*benchmark{&all[i].ours, &all[i].base} {
				result := testing.Benchmark(b.run)
				if result.N == 0 {
					return nil, fmt.Errorf("the benchmark of %s failed", b.name)
				}
				b.ns = append(b.ns, float64(result.T.Nanoseconds())/float64(result.N))
				b.allocs = result.AllocsPerOp()
			}
		}
	}
	return all, nil
}

func comparisons() []comparison {
	verify, bare, theirs := webhooks()
	document := []byte(strings.Repeat("0123456789abcdef", 1<<16))
	sum := sha256.Sum256(document)
	voucher := &types.Voucher{ByteSize: int64(len(document)), Signature: &types.VoucherSignature{Alg: "HMAC-SHA256",
		Digest: hex.EncodeToString(sum[:])}}
	window := ratelimit.NewWindow(1024, time.Nanosecond, 0)
	return []comparison{
		{"a fresh token, 2 cores contended", benchmark{name: "the cache", run: readToken},
			benchmark{name: "an atomic pointer load", run: loadPointer}},
		{"a webhook of 1 KB", loop("VerifyWebhook", verify), loop("bare HMAC-SHA256", bare)},
		{"a webhook of 1 KB", loop("VerifyWebhook", verify), loop("stripe-go", theirs)},
		{"a voucher of 1 MB", loop("VerifyVoucher", func() error { return hotelstays.VerifyVoucher(document, voucher) }),
			loop("bare SHA-256", func() error { return unequal(sha256.Sum256(document) == sum) })},
		{"an amount", loop("Money.Decimal", func() error { return eachAmount(types.Money.Decimal) }),
			loop("decimal.NewFromString", func() error {
				return eachAmount(func(m types.Money) (decimal.Decimal, error) { return decimal.NewFromString(m.Amount.String()) })
			})},
		{"a rate limit with room", loop("Acquire, Sent and Done", func() error {
			permit, err := window.Acquire(context.Background(), pacing.Caller{})
			if err == nil {
				permit.Sent()
				permit.Done(types.PermitResult{ArrivedBy: time.Now()})
			}
			return err
		}), loop("three locks, three clock reads", lock)},
	}
}

func loop(name string, f func() error) benchmark {
	return benchmark{name: name, run: func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
	}}
}

// unequal returns an error unless two results are equal.
func unequal(equal bool) error {
	if !equal {
		return errors.New("not equal")
	}
	return nil
}

func readToken(b *testing.B) {
	secret := types.NewSecret("secret")
	c := &token.Cache{
		Secret: func(context.Context) (types.Secret, error) { return secret, nil },
		Fetch: func(context.Context, types.Secret) (types.Secret, time.Duration, error) {
			return types.NewSecret("token"), time.Hour, nil
		},
		Key: func(types.Secret) string { return "" },
		Log: slog.New(slog.DiscardHandler),
	}
	ctx := context.Background()
	if _, err := c.Authorization(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Authorization(ctx); err != nil {
				b.Error(err)
			}
		}
	})
}

func loadPointer(b *testing.B) {
	var current atomic.Pointer[transport.Authorization]
	current.Store(&transport.Authorization{Token: types.NewSecret("token")})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if current.Load().Token.IsZero() {
				b.Error("no token")
			}
		}
	})
}

// webhooks verify the signature of one event: by the SDK, by an HMAC alone, and by Stripe's package.
func webhooks() (verify, bare, theirs func() error) {
	body := []byte(`{"customerReferenceNo":"ref-1","hotelConfirmNo":"HC-1","event":"order_modified","eventTime":946684800123,"note":"`)
	body = append(body, strings.Repeat("x", 1024-len(body)-2)+`"}`...)
	const secret = "a webhook signing secret"
	now := time.Now()
	signature := hotelstaystest.SignWebhook(secret, now, body)
	header := http.Header{"X-Platform-Signature": {signature}}
	opts := hotelstays.VerifyWebhookOptions{Secrets: []types.Secret{types.NewSecret(secret)}, Tolerance: time.Hour}
	stamp := fmt.Appendf(nil, "%d.", now.Unix())
	sum := func() []byte {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(stamp)
		mac.Write(body)
		return mac.Sum(nil)
	}
	want := sum()
	return func() error {
			_, err := hotelstays.VerifyWebhook(body, header, opts)
			return err
		}, func() error {
			return unequal(hmac.Equal(sum(), want))
		}, func() error { return webhook.ValidatePayloadWithTolerance(body, signature, secret, time.Hour) }
}

// amounts are typical for searches.
var amounts = []json.Number{"120.50", "1842.5", "99", "0", "310.0735"}

func eachAmount(parse func(types.Money) (decimal.Decimal, error)) error {
	for _, amount := range amounts {
		if _, err := parse(types.Money{Currency: "EUR", Amount: amount}); err != nil {
			return err
		}
	}
	return nil
}

var (
	mu   sync.Mutex
	last time.Time
)

// lock is the least cost of an exact rate limit: the times of grant, departure and answer, and
// a lock for each.
func lock() error {
	for range 3 {
		mu.Lock()
		last = time.Now()
		mu.Unlock()
	}
	return nil
}
