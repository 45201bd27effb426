// A caller may end a ctx with any error as its cause. The client never treats that error as an answer.

package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/internal/test/testsize"
	"github.com/hotelstays/hotelstays-go/types"
)

// causes has errors of other parts of a program, with which the program ends a ctx.
var causes = map[string]error{
	"sentinel":         fmt.Errorf("the booking beside it: %w", hotelstays.ErrRateChanged),
	"validation error": &hotelstays.ValidationError{Operation: hotelstays.OpBook},
	"401":              &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 401, Code: types.CodeUnauthorized},
	"429":              &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 429, Code: types.CodeRateLimited},
	"dial error":       &net.OpError{Op: "dial", Err: errors.New("the caller's database is down")},
	"plain":            errors.New("enough"),
	"canceled":         fmt.Errorf("the server stops: %w", context.Canceled),
}

// untilEnd waits for the end of ctx. It returns the cause, as net/http does, or an error that wraps the cause.
func untilEnd(ctx context.Context, wrapped bool) error {
	<-ctx.Done()
	if wrapped {
		return fmt.Errorf("gateway: %w", context.Cause(ctx))
	}
	return context.Cause(ctx)
}

type causeLimiter struct{ noLimits }

func (causeLimiter) Acquire(ctx context.Context, _ hotelstays.RateLimitRequest) (hotelstays.Permit, error) {
	return nil, untilEnd(ctx, false)
}

// stage is the part of a call during which its ctx ends.
type stage struct {
	sent   bool // whether the request may have arrived
	client func(t *testing.T) *hotelstays.Client
}

// A RoundTripper without events of net/http/httptrace does not say whether it sent the request. So the request counts
// as sent.
var stages = map[string]stage{
	"rate limit": {false, func(t *testing.T) *hotelstays.Client {
		return clientThrough(t, saying(`{}`), hotelstays.WithRateLimiter(causeLimiter{}))
	}},
	"token": {false, func(t *testing.T) *hotelstays.Client {
		return clientWith(t, hanging(false), ticketPair("secret"))
	}},
	"request": {true, func(t *testing.T) *hotelstays.Client {
		return clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(r.Context())
			if trace != nil { // a download of a document has no trace
				trace.GetConn("")
				trace.GotConn(httptrace.GotConnInfo{})
				trace.WroteHeaders()
			}
			return nil, untilEnd(r.Context(), false)
		}))
	}},
	"request, http.Client with a Timeout": {true, func(t *testing.T) *hotelstays.Client {
		return clientThrough(t, nil, hotelstays.WithHTTPClient(&http.Client{Transport: hanging(false), Timeout: time.Hour}))
	}},
	"request, no events":          {true, func(t *testing.T) *hotelstays.Client { return clientThrough(t, hanging(false)) }},
	"request, no events, wrapped": {true, func(t *testing.T) *hotelstays.Client { return clientThrough(t, hanging(true)) }},
	"answer": {true, func(t *testing.T) *hotelstays.Client {
		return clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
			return testkit.ReplyOf(200, io.MultiReader(strings.NewReader(`{"code"`), readerFunc(func([]byte) (int, error) {
				return 0, untilEnd(r.Context(), true)
			}))), nil
		}))
	}},
}

func hanging(wrapped bool) transportFunc {
	return func(r *http.Request) (*http.Response, error) { return nil, untilEnd(r.Context(), wrapped) }
}

// ends has the ways to end a ctx with a cause. The ctx ends after eight seconds.
var ends = map[string]func(context.Context, error) (context.Context, context.CancelFunc){
	"cancelled": func(ctx context.Context, cause error) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(8*time.Second, func() { cancel(cause) })
		return ctx, func() { timer.Stop(); cancel(nil) }
	},
	"timed out": func(ctx context.Context, cause error) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, 8*time.Second, cause)
	},
	"past its deadline": func(ctx context.Context, cause error) (context.Context, context.CancelFunc) {
		return context.WithDeadlineCause(ctx, time.Now().Add(8*time.Second), cause)
	},
}

// The error of a call whose ctx ended wraps ctx.Err(). It contains the text of the cause, but does not wrap the cause.
// The cause does not decide whether the request counts as sent.
func TestErrorOfACallDoesNotWrapTheCauseOfItsCtx(t *testing.T) {
	calls := testkit.Helpers(t.TempDir())
	delete(calls, "ValidateBook") // ValidateBook sends nothing
	mayHaveActed := map[string]bool{"BookAndRecover": true, "CancelAndRead": true}
	for op, call := range operationCalls {
		calls[string(op)] = call
		mayHaveActed[string(op)] = mutating[op]
	}
	withoutToken := map[string]bool{"Ticket": true, "OAuthToken": true, "DownloadVoucher": true}
	portion := testsize.PortionOf(t, 2, 5)
	for causeName, cause := range causes {
		for endName, end := range ends {
			if causeName != "sentinel" && endName != "cancelled" {
				continue // every cause is tested with a cancelled ctx, but only one cause with the other ends
			}
			for stageName, stage := range stages {
				for name, call := range calls {
					if withoutToken[name] && stageName == "token" || name == "DownloadVoucher" && stageName == "rate limit" || !portion.Next() {
						continue
					}
					t.Run(fmt.Sprintf("%s, %s by a %s, during the %s", name, endName, causeName, stageName), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							ctx, cancel := end(t.Context(), cause)
							defer cancel()
							err := call(ctx, stage.client(t))
							kind := hotelstays.KindCanceled
							if ctx.Err() == context.DeadlineExceeded {
								kind = hotelstays.KindTimeout
							}
							if mayHaveActed[name] && stage.sent || name == "RecoverBooking" || name == "StepRecovery" {
								kind = hotelstays.KindOutcomeUnknown
							}
							assert.Equal(t, kind, hotelstays.KindOf(err))
							var failed *hotelstays.TransportError
							if errors.As(err, &failed) {
								assert.Equal(t, stage.sent, failed.Sent)
							}
							assertNothingOf(t, cause, ctx.Err(), err)
							time.Sleep(time.Minute) // the fetch of a token outlives the call
						})
					})
				}
			}
		}
	}
}

// assertNothingOf asserts that err wraps the error of the ctx, and wraps neither the cause nor an error in the cause.
func assertNothingOf(t *testing.T, cause, ended, err error) {
	t.Helper()
	require.ErrorIs(t, err, ended)
	for _, target := range []error{cause, context.Canceled, context.DeadlineExceeded,
		hotelstays.ErrRateChanged, hotelstays.ErrUnauthorized, hotelstays.ErrRateLimited} {
		if !errors.Is(ended, target) {
			assert.NotErrorIs(t, err, target)
		}
	}
	var invalid *hotelstays.ValidationError
	var refusal *hotelstays.APIError
	var dial *net.OpError
	assert.False(t, errors.As(err, &invalid) || errors.As(err, &refusal) || errors.As(err, &dial))
}

func TestErrorOfBookAndRecoverDoesNotWrapTheCauseThatASaveReturned(t *testing.T) {
	for _, cause := range causes {
		for saves := range 2 { // 0: the save before Book fails; 1: the save after the first poll fails
			synctest.Test(t, func(t *testing.T) {
				client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
					if strings.HasSuffix(r.URL.Path, "/trade/book") {
						return nil, io.EOF
					}
					return reply(200, `{"code":0,"data":{"orders":[]}}`), nil
				}))
				ctx, cancel := ends["cancelled"](t.Context(), cause)
				defer cancel()
				saved := 0
				save := hotelstays.WithSaveRecovery(func(ctx context.Context, _ *hotelstays.BookingRecovery) error {
					if saved++; saved <= saves {
						return nil
					}
					return untilEnd(ctx, true)
				})
				_, err := client.BookAndRecover(ctx, bookWithPassport(), save)
				assertNothingOf(t, cause, context.Canceled, err)
			})
		}
	}
}
