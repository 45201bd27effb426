// The retry policy: what may follow an attempt, and after how long.

package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/wire"
)

func (c *Call) checkRetry(ctx context.Context, _ *http.Response, _ error) (bool, error) {
	wait, again := c.verdict(ctx)
	limited := c.last.status() == http.StatusTooManyRequests
	if !again && !limited {
		return false, nil
	}
	c.wait = wait
	attrs := []slog.Attr{
		slog.String("operation", c.Operation), slog.Int("attempt", c.attempts),
		slog.String("request_id", c.last.requestID), slog.String("trace_id", c.Header.Get("Trace-Id")),
		slog.Int("status", c.last.status()), slog.Duration("wait", wait),
	}
	if limited { // it pauses all callers, so it wants a look
		env, _ := wire.Peek(ctx, c.last.answer.Body)
		c.Log.LogAttrs(ctx, slog.LevelWarn, "rate limited", append(attrs, slog.Int("code", env.Code), slog.Bool("again", again))...)
		return again, nil
	}
	if c.last.err != nil {
		attrs = append(attrs, slog.String("error", c.scrubbed(c.last.err)))
	}
	c.Log.LogAttrs(ctx, slog.LevelInfo, "trying again", attrs...)
	return true, nil
}

// verdict decides whether another attempt follows the last one. The table under
// "Retries and unknown outcomes" in package hotelstays is what it does: passing is
// the column of the reads, cannotHaveActed what Book and Cancel need besides.
func (c *Call) verdict(ctx context.Context) (wait time.Duration, again bool) {
	status, after := c.last.status(), c.retryAfter()
	if status == http.StatusTooManyRequests && c.Ceiling != nil {
		c.Ceiling.Pause(time.Now().Add(after))
	}
	if ctx.Err() != nil || c.last.final || (c.Acts && !c.cannotHaveActed(ctx)) {
		return 0, false
	}
	if status == http.StatusUnauthorized {
		return 0, c.renew(ctx)
	}
	if c.tries >= c.Policy.MaxAttempts || !c.passing(status) || after > c.Policy.MaxRetryAfter {
		return 0, false
	}
	wait = after + c.backoff()
	deadline, ok := ctx.Deadline()
	return wait, !ok || time.Until(deadline) > wait
}

// cannotHaveActed is the condition under which Book and Cancel are sent again.
func (c *Call) cannotHaveActed(ctx context.Context) bool {
	if c.last.answer == nil {
		return !c.last.sent
	}
	switch c.last.status() {
	case http.StatusUnauthorized, http.StatusTooManyRequests:
		env, ok := wire.Peek(ctx, c.last.answer.Body)
		return ok && env.Code != 0
	}
	return false
}

// renew drops the refused token, once for a call.
func (c *Call) renew(ctx context.Context) bool {
	if c.renewed || c.Bearer == nil {
		return false
	}
	c.renewed = true
	return c.Bearer.Refused(ctx, c.last.authorization)
}

// passing tells faults that may pass from those that will not.
func (c *Call) passing(status int) bool {
	switch status {
	case 0:
		var cert *tls.CertificateVerificationError
		// crypto/tls has no type for a version that one side does not speak, only this text.
		return !errors.As(c.last.err, &cert) && !strings.Contains(fmt.Sprint(c.last.err), "protocol version")
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// backoff draws the wait with full jitter, so that callers that failed together
// do not come back together.
func (c *Call) backoff() time.Duration {
	top := c.Policy.Backoff << min(c.tries-1, 16)
	return rand.N(min(top, c.Policy.MaxBackoff) + 1)
}

// retryAfter is how long the answer asks to stay away: a second for a 429 that does not
// say.
func (c *Call) retryAfter() time.Duration {
	if c.last.answer == nil {
		return 0
	}
	after, ok := RetryAfter(c.last.answer.Header)
	if !ok && c.last.status() == http.StatusTooManyRequests {
		after = time.Second
	}
	return after
}

// RetryAfter reads the Retry-After header, in seconds or as a date. A date is counted
// from the answer's own: this machine's clock may be another.
func RetryAfter(h http.Header) (time.Duration, bool) {
	value := h.Get("Retry-After")
	if value == "" { // the errors of what follows would be allocations
		return 0, false
	}
	// The form of the seconds is undocumented. A wait beyond all measure is a century.
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, 100*365*24*3600) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(value); err == nil {
		now, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

func (a *attempt) status() int {
	if a.answer == nil {
		return 0
	}
	return a.answer.Status
}
