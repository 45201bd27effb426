// The retry policy: whether another attempt follows, and when.

package transport

import (
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
	"github.com/hotelstays/hotelstays-go/types"
)

func (r *run) logVerdict(wait time.Duration, again bool) {
	limited := r.last.status() == http.StatusTooManyRequests
	if !again && !limited {
		return
	}
	attrs := append(r.identity(), slog.Int(LogStatus, r.last.status()), slog.Duration("wait", wait))
	if limited { // a warning, because a 429 pauses all callers
		r.Log.LogAttrs(r.ctx, slog.LevelWarn, "rate limited", append(attrs,
			slog.Duration("pause", r.pause()), slog.Int(LogCode, r.refusalCode()), slog.Bool("again", again))...)
		return
	}
	if r.last.Err != nil {
		attrs = append(attrs, slog.String(LogError, r.scrubbed(r.last.Err)))
	}
	r.Log.LogAttrs(r.ctx, slog.LevelInfo, "trying again", attrs...)
}

// verdict decides whether another attempt follows, and after which wait. It implements the table "Retries and unknown
// outcomes" in the docs of package hotelstays. Reads are sent again if the failure is transient. For Book and Cancel,
// provablyNotExecuted must return true as well.
func (r *run) verdict() (wait time.Duration, again bool) {
	status := r.last.status()
	limited := status == http.StatusTooManyRequests
	if limited {
		r.RateLimiter.Pause(time.Now().Add(r.pause()))
		if r.Policy.MaxAttempts > 1 { // with MaxAttempts 1, even a 429 ends the call
			r.waitedOut++
		}
	}
	if r.ctx.Err() != nil || r.last.permanent || r.Mutates && !r.provablyNotExecuted() {
		return 0, false
	}
	if status == http.StatusUnauthorized {
		return 0, r.renewToken()
	}
	after := r.retryAfter()
	if r.attemptsBegun-r.waitedOut >= r.Policy.MaxAttempts || !r.last.transient() || after > r.Policy.MaxRetryAfter {
		return 0, false
	}
	wait = after + r.backoff()
	if deadline, ok := r.ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return wait, false
	}
	r.last.QuotaSpent = !limited && !r.Quota.take(&r.last) // after a 429 the quota is not used, because the pause limits the traffic
	return wait, !r.last.QuotaSpent
}

// provablyNotExecuted reports whether the service provably did not execute the last request. This is so if the request
// never left, or if an enveloped answer with HTTP 401 or 429 refused the request.
func (r *run) provablyNotExecuted() bool {
	switch r.last.status() {
	case 0:
		return !r.last.Sent
	case http.StatusUnauthorized, http.StatusTooManyRequests:
		return r.refusalCode() != 0
	}
	return false
}

// refusalCode returns the code of an enveloped answer. It returns 0 if the answer is not enveloped, or if ctx has
// ended.
func (r *run) refusalCode() int {
	env, _, ok := wire.Peek(r.ctx, r.last.Answer.Body)
	if !ok {
		return 0
	}
	return env.Code
}

// renewToken reports whether the call can be sent again with another token. It returns true at most once for each call.
func (r *run) renewToken() bool {
	if r.TokenSource == nil {
		return false
	}
	again, advice := r.TokenSource.Refused(r.ctx, r.last.authorization)
	r.last.TokenAdvice = advice
	again = again && !r.tokenRenewed
	r.tokenRenewed = true
	return again
}

// transient reports whether the same request may succeed later.
func (a *attempt) transient() bool {
	switch a.status() {
	case 0:
		var certificate *tls.CertificateVerificationError
		// If client and server have no common TLS version, the error of crypto/tls has no type of its own, only a text.
		return !errors.As(a.Err, &certificate) && !strings.Contains(fmt.Sprint(a.Err), "protocol version")
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// backoff returns a random wait (full jitter), so that callers that failed at the same time do not retry at the same
// time.
func (r *run) backoff() time.Duration {
	longest := r.Policy.Backoff << min(r.attemptsBegun-1, 16)
	return rand.N(min(longest, r.Policy.MaxBackoff))
}

const (
	maxRetryAfter = 24 * time.Hour
	// maxForeignPause limits the pause after a 429 that is not from the service itself, because a pause stops all
	// callers. Such a 429 does not have the code types.CodeRateLimited. A gateway writes {"code":429}, for example.
	maxForeignPause = time.Minute
)

// retryAfter returns the wait that the answer asks for. A 429 without a Retry-After asks for a second.
func (r *run) retryAfter() time.Duration {
	if r.last.Answer == nil {
		return 0
	}
	after, ok := RetryAfter(r.last.Answer.Header)
	if !ok && r.last.status() == http.StatusTooManyRequests {
		return time.Second
	}
	return after
}

// pause returns how long a 429 pauses all callers. The pause may be shorter than the wait that the answer asks for.
func (r *run) pause() time.Duration {
	after := r.retryAfter()
	if after > maxForeignPause && r.refusalCode() != types.CodeRateLimited {
		return maxForeignPause
	}
	return after
}

// RetryAfter reads the Retry-After header: seconds or a date. A date is compared with the answer's own Date, because
// the clock of this machine may differ. A wait of more than a day counts as a day. Any other text, also a negative
// number, counts as no header.
func RetryAfter(h http.Header) (time.Duration, bool) {
	value := h.Get("Retry-After")
	if value == "" { // this check saves the allocations of two parse errors
		return 0, false
	}
	// The API document does not say whether the seconds are a whole number, so 1.5 is accepted, too.
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second)), true
	}
	if at, err := http.ParseTime(value); err == nil {
		now, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		return min(max(0, at.Sub(now)), maxRetryAfter), true
	}
	return 0, false
}
