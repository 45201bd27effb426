// Benchmarks of small things beside their least possible cost. cmd/compare runs them in pairs.

package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/bench/internal/answers"
	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/types"
)

// document is as large as a voucher may be.
func document() ([]byte, string) {
	document := []byte(strings.Repeat("0123456789abcdef", 1<<16))
	sum := sha256.Sum256(document)
	return document, hex.EncodeToString(sum[:])
}

func BenchmarkVerifyVoucher(b *testing.B) {
	document, digest := document()
	voucher := &types.Voucher{ByteSize: int64(len(document)), Signature: &types.VoucherSignature{Alg: "HMAC-SHA256", Digest: digest}}
	b.SetBytes(int64(len(document)))
	b.ReportAllocs()
	for b.Loop() {
		if err := hotelstays.VerifyVoucher(document, voucher); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBareSHA256(b *testing.B) {
	document, digest := document()
	b.SetBytes(int64(len(document)))
	b.ReportAllocs()
	for b.Loop() {
		if sum := sha256.Sum256(document); hex.EncodeToString(sum[:]) != digest {
			b.Fatal("not equal")
		}
	}
}

// amounts are typical for searches.
var amounts = []string{"120.50", "1842.5", "99", "0", "310.0735"}

func BenchmarkMoneyDecimal(b *testing.B) {
	var money []types.Money
	for _, amount := range amounts {
		money = append(money, types.Money{Currency: "EUR", Amount: json.Number(amount)})
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range money {
			if _, err := m.Decimal(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkNewFromString(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for _, amount := range amounts {
			if _, err := decimal.NewFromString(amount); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkRateLimitWithRoom(b *testing.B) {
	window, ctx := ratelimit.NewWindow(1024, time.Nanosecond, 0), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		permit, err := window.Acquire(ctx)
		if err != nil {
			b.Fatal(err)
		}
		permit.Sent()
		permit.Done(ratelimit.Result{ArrivedBy: time.Now()})
	}
}

// BenchmarkMutexAndClock is the least cost of an exact rate limit: the times of grant,
// departure and answer, and a lock for each.
func BenchmarkMutexAndClock(b *testing.B) {
	var mu sync.Mutex
	var last time.Time
	b.ReportAllocs()
	for b.Loop() {
		for range 3 {
			mu.Lock()
			last = time.Now()
			mu.Unlock()
		}
	}
	_ = last
}

// answering answers every request with the same bytes, without a network.
type answering string

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	req.Body.Close()
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(a)), Body: io.NopCloser(strings.NewReader(string(a))),
		Header: http.Header{"Content-Type": {"application/json"}}, Request: req}, nil
}

// roomy is a rate limit that is never reached.
type roomy struct{}

func (roomy) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	return nil, nil
}
func (roomy) Pause(hotelstays.RateLimitKey, time.Time) {}

// counting counts calls.
type counting struct{ started, ended int }

func (c *counting) CallStart(ctx context.Context, _ hotelstays.CallStart) context.Context {
	c.started++
	return ctx
}
func (c *counting) CallEnd(context.Context, hotelstays.CallInfo) { c.ended++ }

func BenchmarkObserver(b *testing.B) {
	observer := &counting{}
	for _, with := range []struct {
		name string
		opts []hotelstays.Option
	}{{"off", nil}, {"on", []hotelstays.Option{hotelstays.WithObserver(hotelstays.Observer{CallStart: observer.CallStart,
		CallEnd: observer.CallEnd})}}} {
		b.Run(with.name, func(b *testing.B) {
			client, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token")}, append(with.opts,
				hotelstays.WithHTTPClient(&http.Client{Transport: answering(answers.CheckAvail())}), hotelstays.WithRateLimiter(roomy{}))...)
			if err != nil {
				b.Fatal(err)
			}
			req := &hotelstays.CheckAvailRequest{SessionID: answers.Session, RatePkgID: answers.RatePkgID}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.CheckAvail(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	if observer.started != observer.ended {
		b.Fatalf("%d calls started and %d ended", observer.started, observer.ended)
	}
}
