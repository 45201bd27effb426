// The rate limits of the operations.

package hotelstays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/ratelimit"
	"github.com/hotelstays/hotelstays-go/pacing"
)

// RateLimiter keeps each operation within its rate limit. The service counts requests by endpoint and client IP address
// over a rolling second. The default limiter knows only the requests of its client, and of clients made by its
// WithCredential and With. If other clients of the process have the same IP address, give all these clients one
// NewRateLimiter. If other processes share the address, use contrib/hotelstaysredis or your own limiter.
//
// Each key needs its own budget, also OpTicket and OpOAuthToken, because a call may hold its slot while the token is
// fetched. If processes share a limiter, the limiter must free the slots of a process that dies. It must keep the limit
// even if the clock from which it reads the time is set back. Implementations must be safe for concurrent use. Package
// hotelstaystest/storetest tests implementations.
type RateLimiter interface {
	// Acquire waits for a slot. When ctx ends, it returns an error that wraps the error of ctx. If the deadline of ctx is
	// before the end of a pause, Acquire may immediately return an error that wraps ErrRateLimited: the call then fails. An
	// operation without a rate limit never waits, unless it is paused; its permit may be nil.
	Acquire(ctx context.Context, req RateLimitRequest) (Permit, error)
	// Pause stops granting slots of the key until the given time, also to callers that already wait. If several pauses
	// overlap, the latest end counts. The client calls Pause after a 429, with a time of at most a day ahead.
	Pause(key RateLimitKey, until time.Time)
}

// RateLimitKey identifies a budget, which is a number of requests per second. Further fields may follow, so compare keys
// as a whole.
type RateLimitKey struct {
	BaseURL   string // the client's base URL: scheme and host in lower case, no default port, no final slash
	Operation Operation
}

// RateLimitRequest describes the call that needs a slot. Further fields may follow.
type RateLimitRequest struct {
	Key RateLimitKey // the budget from which the call needs a slot
	// Account is the Client.Account of the calling client. Accounts with one client IP address share a budget.
	Account  string
	Priority Priority // set by WithPriority
}

// Priority is how urgent a call is among the calls that wait for one budget. A higher priority is served first, but each
// priority gets at least a tenth of the slots that it needs.
type Priority int

const (
	PriorityBackground  Priority = -1 // nobody waits for the answer, as in a catalogue sync
	PriorityDefault     Priority = 0  // most calls
	PriorityInteractive Priority = 1  // a person waits for the answer
)

// String returns a word: interactive, default or background.
func (p Priority) String() string {
	switch {
	case p > 0:
		return "interactive"
	case p < 0:
		return "background"
	}
	return "default"
}

// Permit is a granted slot. Its methods must not block, and are not called concurrently.
type Permit interface {
	// Sent is called when the request leaves, at most once.
	Sent()
	// Done is called once, when the answer has begun or the attempt has failed. If Sent was not called before, no request
	// was sent, and the slot is free immediately.
	Done(PermitResult)
}

// PermitResult says when the request arrived at the service, as far as the answer proves it. It is zero if there was no
// answer.
type PermitResult = pacing.PermitResult

// RateLimiterOptions are the settings of NewRateLimiter.
type RateLimiterOptions struct {
	// Margin is the time that a slot stays taken beyond the second of the rate limit. 0 means 10 ms; a negative value
	// means no margin. The second begins when the request arrived, or when it left if its arrival is unknown. The
	// limiter adapts to longer network delays itself. Raise the margin if 429s still come, for instance because answers
	// lack Server-Cost-Milliseconds and delays vary. A margin of 100 ms costs a tenth of the limit.
	Margin time.Duration
	// Processes is how many processes share the client IP address and have no common limiter; 0 means 1. Each process
	// gets an equal part of every rate limit. If the part is less than one request per second, a process sends one
	// request in several seconds. The service then refuses some requests if all processes send in the same second.
	Processes int
	// Weight, if set, returns how many slots an account gets in each of its turns; less than 1 means 1. The parameter
	// account is RateLimitRequest.Account. Weight must be safe for concurrent use, and must not block.
	Weight func(account string) int
}

// NewRateLimiter returns a limiter for the clients of one process that share a client IP address. nil options are the
// defaults.
//
// Among calls of one priority, accounts that wait for one budget take turns, so that a busy account delays only itself.
// Within an account, the first caller is served first. An account that waits alone gets all slots.
func NewRateLimiter(opts *RateLimiterOptions) RateLimiter {
	opts = cmp.Or(opts, &RateLimiterOptions{})
	return &processLimiter{weight: opts.Weight, windows: ratelimit.Windows[RateLimitKey]{
		Margin:    max(0, cmp.Or(opts.Margin, 10*time.Millisecond)),
		Processes: max(1, opts.Processes),
		Limit:     func(key RateLimitKey) int { return key.Operation.RateLimit() },
	}}
}

type processLimiter struct {
	windows ratelimit.Windows[RateLimitKey]
	weight  func(account string) int
}

func (l *processLimiter) Acquire(ctx context.Context, req RateLimitRequest) (Permit, error) {
	caller := pacing.Caller{Account: req.Account, Priority: int(req.Priority)}
	if l.weight != nil {
		caller.Weight = l.weight(req.Account)
	}
	permit, err := l.windows.Acquire(ctx, req.Key, caller)
	switch {
	case errors.Is(err, ratelimit.ErrPaused):
		return nil, fmt.Errorf("%w: %w", ErrRateLimited, err)
	case err != nil:
		return nil, err
	case permit == nil:
		return unlimited{}, nil
	}
	return permit, nil
}

func (l *processLimiter) Pause(key RateLimitKey, until time.Time) { l.windows.Pause(key, until) }

type unlimited struct{}

func (unlimited) Sent()             {}
func (unlimited) Done(PermitResult) {}
