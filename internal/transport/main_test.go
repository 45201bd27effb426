// Helpers of the tests in this package.

package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/pacing"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const nowhere = "http://127.0.0.1:1"

var quick = Policy{MaxAttempts: 3, Backoff: time.Microsecond, MaxBackoff: time.Millisecond, MaxRetryAfter: time.Second, MaxBody: 1 << 20}

func newCall(rt http.RoundTripper, url string) *Call {
	return &Call{
		Operation: "Test", URL: url, Header: func() http.Header { return http.Header{} }, Body: []byte(`{"book":"me"}`), TraceID: "t",
		BodySizeHint: new(atomic.Int64), HTTP: &http.Client{Transport: rt}, RateLimiter: &recording{}, Policy: quick,
		Log: slog.New(slog.DiscardHandler),
	}
}

// do sends one call through rt and releases its answer.
func do(t *testing.T, rt http.RoundTripper, url string, change func(*Call)) Result {
	t.Helper()
	c := newCall(rt, url)
	if change != nil {
		change(c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r := Send(ctx, c)
	r.Answer.Release()
	return r
}

func mutates(c *Call) { c.Mutates = true }

func newTransport(t *testing.T, config *tls.Config) *http.Transport {
	tr := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: config != nil}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func grants(n int) *recording {
	limiter := &recording{}
	limiter.acquire = func() error {
		if limiter.asked > n {
			return errors.New("closed")
		}
		return nil
	}
	return limiter
}

// logTo logs to w without times and without the attributes that differ between runs.
func logTo(w io.Writer, without ...string) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || slices.Contains(without, a.Key) {
				return slog.Attr{}
			}
			return a
		},
	}))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func reply(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for pair := range slices.Chunk(header, 2) {
		if pair[1] != "" {
			h.Set(pair[0], pair[1])
		}
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
}

func replies(status int, body string, header ...string) roundTripper {
	return func(*http.Request) (*http.Response, error) { return reply(status, body, header...), nil }
}

func fails(err error) roundTripper {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// tokenSeries is a TokenSource. After each call of Refused, it returns a new token.
type tokenSeries struct {
	n     int
	err   error
	reads int    // the number of calls of Authorization that succeed before err
	read  func() // if set, each call of Authorization calls this function
}

func (b *tokenSeries) Authorization(context.Context) (Authorization, error) {
	if b.read != nil {
		b.read()
	}
	if b.reads--; b.reads >= 0 {
		return Authorization{}, nil
	}
	return Authorization{Token: types.NewSecret(fmt.Sprint("token-", b.n))}, b.err
}

func (b *tokenSeries) Refused(context.Context, Authorization) (bool, string) {
	b.n++
	return true, ""
}

// recording is a rate limiter that grants every slot, and records the calls of its methods.
type recording struct {
	sent, done atomic.Int64
	results    []pacing.PermitResult
	pauses     []time.Time
	asked      int          // the number of calls of Acquire
	acquire    func() error // if set, Acquire returns its error
}

func (c *recording) Acquire(context.Context) (Permit, error) {
	c.asked++
	if c.acquire != nil {
		if err := c.acquire(); err != nil {
			return nil, err
		}
	}
	return (*permit)(c), nil
}

func (c *recording) Pause(until time.Time) { c.pauses = append(c.pauses, until) }

// settled returns the number of calls of Sent, and the number of calls of Done.
func (c *recording) settled() [2]int64 { return [2]int64{c.sent.Load(), c.done.Load()} }

type permit recording

func (p *permit) Sent() { p.sent.Add(1) }

func (p *permit) Done(r pacing.PermitResult) {
	p.done.Add(1)
	p.results = append(p.results, r)
}
