package hotelstaysotel_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

var (
	errCause    = errors.New("cause")
	dial        = &net.OpError{Op: "dial", Err: errCause}
	certificate = &tls.CertificateVerificationError{Err: errCause}
)

// The README lists every error type. The span has the service's code only if the service refused the call itself, not
// the request for its token.
func TestEachErrorHasAnErrorTypeThatTheREADMELists(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	api := func(op hotelstays.Operation, status, code int) error {
		return &hotelstays.APIError{Operation: op, HTTPStatus: status, Code: code}
	}
	noAnswer := func(err error) error {
		return &hotelstays.TransportError{Operation: hotelstays.OpDestinations, Attempts: 1, Err: err}
	}
	noToken := func(err error) error {
		return &hotelstays.TransportError{Operation: hotelstays.OpDestinations, NoToken: true, Err: err}
	}
	codes := map[string]any{"parameter_refused": int64(types.CodeParam), "rate_limited": int64(types.CodeRateLimited),
		"outcome_unknown": int64(types.CodeRateChanged), "refused": int64(types.CodeRateChanged - 1)}
	withRig(t, func(t *testing.T, r *rig) {
		for _, c := range []struct {
			kind string
			err  error
		}{
			{"outcome_unknown", &hotelstays.OutcomeUnknownError{Err: api(hotelstays.OpDestinations, 500, types.CodeRateChanged)}},
			{"timeout", noAnswer(fmt.Errorf("waiting: %w", context.DeadlineExceeded))},
			{"canceled", noAnswer(context.Canceled)},
			{"unauthorized", noToken(api(hotelstays.OpTicket, 401, types.CodeUnauthorized))},
			{"timeout", noToken(noAnswer(context.DeadlineExceeded))},
			{"unreadable_answer", noToken(&hotelstays.DecodeError{Operation: hotelstays.OpTicket, Err: errCause})},
			{"dial", noToken(noAnswer(dial))},
			{"no_slot", noToken(&hotelstays.TransportError{Operation: hotelstays.OpTicket, Err: errCause})},
			{"_OTHER", noToken(errCause)},
			{"certificate", noAnswer(certificate)},
			{"dial", noAnswer(dial)},
			{"not_sent", noAnswer(fmt.Errorf("breaker: %w", hotelstays.ErrNotSent))},
			{"no_answer", noAnswer(&net.OpError{Op: "read", Err: errCause})},
			{"no_answer", noAnswer(errCause)},
			{"_OTHER", errCause}, // such as a panic
			// The SDK's own kinds:
			{"unreadable_answer", &hotelstays.DecodeError{Operation: hotelstays.OpDestinations, HTTPStatus: 200, Err: errCause}},
			{"parameter_refused", api(hotelstays.OpDestinations, 400, types.CodeParam)},
			{"forbidden", api(hotelstays.OpDestinations, 403, 0)},
			{"not_found", api(hotelstays.OpCancel, 404, types.CodeNotFound)},
			{"rate_limited", api(hotelstays.OpDestinations, 429, types.CodeRateLimited)},
			{"duplicate_booking", api(hotelstays.OpBook, 400, types.CodeDuplicateBooking)},
			{"voucher_too_large", api(hotelstays.OpOrderVoucher, 400, types.CodeVoucherTooLarge)},
			{"ambiguous_reference", api(hotelstays.OpOrderVoucher, 400, types.CodeAmbiguousReference)},
			{"rate_changed", api(hotelstays.OpBook, 400, types.CodeRateChanged)},
			{"cancel_refused", api(hotelstays.OpCancel, 400, types.CodeParam)},
			{"invalid_scope", &hotelstays.APIError{Operation: hotelstays.OpOAuthToken, HTTPStatus: 400, Msg: "invalid_scope"}},
			{"upstream_timeout", api(hotelstays.OpDestinations, 504, 0)},
			{"server_error", api(hotelstays.OpDestinations, 503, 0)},
			{"proxy_authentication", api(hotelstays.OpDestinations, 407, 0)},
			{"refused", api(hotelstays.OpDestinations, 200, types.CodeRateChanged-1)},
			{"unexpected", api(hotelstays.OpDestinations, 307, 0)},
			{"validation", &hotelstays.ValidationError{}}, // only helpers return this error and the errors below
			{"reference_reused", &hotelstays.ReferenceReusedError{}},
			{"incomplete_listing", &hotelstays.PageError{}},
			{"batch", &hotelstays.BatchError{Err: errCause}},
			{"voucher", &hotelstays.VoucherError{Err: hotelstays.ErrVoucherAltered}},
			{"voucher_not_ready", &hotelstays.VoucherError{Err: hotelstays.ErrVoucherNotReady}},
			{"no_voucher", &hotelstays.VoucherError{Err: hotelstays.ErrNoVoucher}},
		} {
			assert.Contains(t, string(readme), "`"+c.kind+"`")
			got := r.report(hotelstays.CallInfo{Operation: hotelstays.OpDestinations, Err: c.err})
			assert.Equal(t, c.kind, value(got.Attributes, "error.type"), "%v", c.err)
			assert.Equal(t, codes[c.kind], value(got.Attributes, "hotelstays.code"), "%v", c.err)
			records, _ := r.export()
			assert.Contains(t, strings.Join(records, "\n"), "call.duration error="+c.kind+" of=Destinations: ")
		}
	})
}

func TestEventOfEachFailedAttemptHasItsErrorType(t *testing.T) {
	withRig(t, func(t *testing.T, r *rig) {
		for _, c := range []struct {
			kind   any
			status int
			err    error
		}{
			{nil, 503, nil}, {"unreadable_answer", 200, errCause}, {"timeout", 0, context.DeadlineExceeded}, {"canceled", 0, context.Canceled},
			{"dial", 0, dial}, {"certificate", 0, certificate}, {"no_answer", 0, errCause},
			{"not_sent", 0, fmt.Errorf("breaker: %w", hotelstays.ErrNotSent)},
		} {
			got := r.report(hotelstays.CallInfo{Attempts: []hotelstays.AttemptInfo{{HTTPStatus: c.status, Err: c.err}}})
			assert.Equal(t, c.kind, value(got.Events[0].Attributes, "error.type"), "%d %v", c.status, c.err)
		}
	})
}

// If a call fails after an answer, or before its request was sent, the rate limiter has failed, not the service.
func TestFailureOfTheRateLimiterHasErrorTypeNoSlot(t *testing.T) {
	answered, unanswered := hotelstays.AttemptInfo{HTTPStatus: 503}, hotelstays.AttemptInfo{Err: errCause}
	withRig(t, func(t *testing.T, r *rig) {
		for _, err := range []error{errCause, dial, certificate} {
			for _, attempts := range [][]hotelstays.AttemptInfo{nil, {answered}, {unanswered, answered}} {
				got := r.report(hotelstays.CallInfo{Attempts: attempts, Err: &hotelstays.TransportError{Attempts: len(attempts), Err: err}})
				assert.Equal(t, "no_slot", value(got.Attributes, "error.type"), "%T after %d attempts", err, len(attempts))
			}
		}
	})
}
