// Package transport sends one call and reads its answer.
//
// A Call says what to send; Send sends it in one or more attempts. The function attempt (attempt.go) has the steps of an
// attempt in order. The function verdict (retry.go) decides whether another attempt follows. The file trace.go finds out
// whether a request has left the machine.
package transport

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/wire"
	"github.com/hotelstays/hotelstays-go/pacing"
	"github.com/hotelstays/hotelstays-go/types"
)

// Call describes one operation with its finished body. Send does not change the Call.
type Call struct {
	Operation string
	URL       string
	Header    func() http.Header // returns a new header for each attempt
	Body      []byte             // JSON body; the same for every attempt
	TraceID   string
	// RequestID returns the Request-Id of an attempt. If RequestID is nil, the id is a UUID. Timestamp, if set, returns
	// the Client-Request-Timestamp of an attempt. An error of RequestID or Timestamp ends the call.
	RequestID func(context.Context) (string, error)
	Timestamp func(ctx context.Context, sent time.Time) (string, error)
	// Mutates marks an operation that changes something (Book, Cancel). Its request is sent again only if the service
	// provably did not execute the request.
	Mutates bool
	// SendTimeout sends the remaining time of the call in the header Timeout-Milliseconds.
	SendTimeout bool
	// Timeout is the time limit that the client itself has set on ctx, or 0. Only the texts of errors use Timeout.
	Timeout time.Duration
	// AttemptTimeout limits the time of an attempt after the attempt got its slot. When this time has passed, the call
	// ends. 0: no limit.
	AttemptTimeout time.Duration
	// BodySizeHint is the size of the operation's last whole answer, from which the buffer for the next answer gets its
	// size. BodySizeHint is never nil.
	BodySizeHint *atomic.Int64

	HTTP       *http.Client // attempts use only its Transport, Jar and Timeout, so no redirect is followed
	ErrNotSent error        // an error of the Transport that wraps ErrNotSent proves that nothing was sent
	// ErrProxyAuth ends the call if the Transport's error wraps ErrProxyAuth. The proxy would count each further attempt
	// as a failed log-in.
	ErrProxyAuth error
	RateLimiter  RateLimiter
	TokenSource  TokenSource // nil: no token is sent
	Policy       Policy
	Quota        *RetryQuota // nil: retries are not counted
	Log          *slog.Logger
	// Scrub removes secrets and the attempt's token from a text. If Scrub is nil, texts have no secrets.
	Scrub func(text, token string) string
	// Timeline, if set, records each attempt when it ends.
	Timeline *Timeline
	// Decoder, if set, reads each answer of HTTP 2xx while it arrives.
	Decoder Decoder
	// Streams is true if the Decoder removes the text that it has read. Then only a part of the answer is in memory.
	Streams bool
}

// Decoder decodes an answer while it arrives.
type Decoder interface {
	// DecodeFeed reads as much of the body as the Decoder needs. The transport reads the rest afterwards. The parameter
	// begun is the call's result so far. An error means that the body could not be read. The result again reports
	// whether another attempt may follow.
	DecodeFeed(begun Result, body *wire.Feed) (again bool, err error)
}

// RateLimiter grants the slots of one operation.
type RateLimiter interface {
	Acquire(ctx context.Context) (Permit, error)
	Pause(until time.Time)
}

// Permit is one slot of a rate limit. The transport calls Sent at most once, when the request leaves. The transport
// calls Done exactly once, and then calls no method of the Permit any more.
type Permit interface {
	Sent()
	Done(pacing.PermitResult)
}

// TokenSource supplies tokens.
type TokenSource interface {
	Authorization(ctx context.Context) (Authorization, error)
	// Refused receives a token that the service refused with a 401. It reports whether another token is available now.
	// If the call ends with this 401, the advice becomes part of the call's error. The advice may be empty.
	Refused(ctx context.Context, refused Authorization) (again bool, advice string)
}

// Authorization is a token to send. Each fetched token has its own Generation, because the service may issue the same
// text twice.
type Authorization struct {
	Token      types.Secret
	Generation uint64
}

// Policy limits attempts, waits and the size of an answer.
type Policy struct {
	MaxAttempts   int           // at least 1; attempts that ended in a 429 do not count
	Backoff       time.Duration // upper limit of the first random wait
	MaxBackoff    time.Duration // upper limit of all random waits
	MaxRetryAfter time.Duration // a longer Retry-After ends the call
	MaxBody       int64         // bytes, after decompression
}

// Result is how a call ended.
type Result struct {
	// Answer is the last attempt's answer, or nil. If Answer and Err are both set, the answer was too large, or the call
	// ended before its next attempt.
	Answer *Answer
	Err    error
	// Sent reports whether the last request may have reached the service. It is meaningful only if Answer is nil.
	Sent bool
	// NoToken reports that nothing was sent because there was no token; Err is the reason.
	NoToken bool
	// QuotaSpent reports that another attempt was due, but the quota of retries refused it.
	QuotaSpent bool
	// RequestID is the id of the last request that was sent.
	RequestID string
	// Token is the token of the last attempt in plain text, so that texts can be redacted.
	Token string
	// TokenAdvice is the advice that TokenSource.Refused returned after a 401, or empty.
	TokenAdvice   string
	Attempts      int // number of requests that were sent
	EarlierStatus int // HTTP status of the newest answer before the last attempt, or 0
}

// Answer is an HTTP answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // valid until Release
	Size   int    // size of the received body in bytes; Body is shorter if a Decoder has read a part

	buffer *buffer
}

// Release returns the body's memory to the pool. Do not use the body afterwards.
func (a *Answer) Release() {
	if a != nil && a.buffer != nil {
		a.buffer.release()
		a.buffer, a.Body = nil, nil
	}
}

type run struct {
	*Call
	ctx context.Context // ctx of the call; the ctx of an attempt may end earlier

	attemptsBegun int // also counts attempts that ended while they waited for a slot or a token
	waitedOut     int // attempts that ended in a 429 and do not count towards MaxAttempts
	requestsSent  int
	last          attempt
	lastSentID    string // Request-Id of the newest request
	earlierStatus int
	tokenRenewed  bool
}

// Send makes the attempts of a call. The caller releases the Result's Answer.
func Send(ctx context.Context, call *Call) Result {
	r := &run{Call: call, ctx: ctx}
	for {
		r.try()
		wait, again := r.verdict()
		r.logVerdict(wait, again)
		if !again {
			break
		}
		if err := sleep(ctx, wait); err != nil {
			if r.last.Err != nil {
				err = fmt.Errorf("%w before another attempt; the last attempt failed: %w", err, r.last.Err)
			}
			r.last.Err = err
			break
		}
	}
	if r.last.Answer != nil && !r.last.transient() {
		r.Quota.succeeded()
	}
	return r.result()
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *run) result() Result {
	result := r.last.Result
	result.RequestID, result.Attempts, result.EarlierStatus = r.lastSentID, r.requestsSent, r.earlierStatus
	return result
}
