package hotelstaysotel_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestErrorTypes(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	cause := errors.New("cause")
	api := func(op hotelstays.Operation, status, code int) error {
		return &hotelstays.APIError{Operation: op, HTTPStatus: status, Code: code}
	}
	noAnswer := func(err error) error {
		return &hotelstays.TransportError{Operation: hotelstays.OpDestinations, Attempts: 1, Err: err}
	}
	noToken := func(err error) error {
		return &hotelstays.TransportError{Operation: hotelstays.OpDestinations, NoToken: true, Err: err}
	}
	for _, tc := range []struct {
		kind string
		err  error
	}{
		{"outcome_unknown", &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: noAnswer(context.DeadlineExceeded)}},
		{"outcome_unknown", &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: api(hotelstays.OpBook, 504, 0)}},
		{"timeout", noAnswer(fmt.Errorf("waiting: %w", context.DeadlineExceeded))},
		{"timeout", noAnswer(fmt.Errorf("%w before another attempt, after: %w", context.DeadlineExceeded,
			api(hotelstays.OpDestinations, 503, 0)))},
		{"canceled", noAnswer(context.Canceled)},
		{"unauthorized", noToken(api(hotelstays.OpTicket, 401, types.CodeUnauthorized))},
		{"timeout", noToken(noAnswer(context.DeadlineExceeded))},
		{"unreadable_answer", noToken(&hotelstays.DecodeError{Operation: hotelstays.OpTicket, Err: cause})},
		{"dial", noToken(noAnswer(&net.OpError{Op: "dial", Err: cause}))},
		{"no_slot", noToken(&hotelstays.TransportError{Operation: hotelstays.OpTicket, Err: cause})},
		{"_OTHER", noToken(cause)},
		{"certificate", noAnswer(&tls.CertificateVerificationError{Err: cause})},
		{"dial", noAnswer(&net.OpError{Op: "dial", Err: cause})},
		{"no_answer", noAnswer(&net.OpError{Op: "read", Err: cause})},
		{"no_answer", noAnswer(cause)},
		{"unreadable_answer", &hotelstays.DecodeError{Operation: hotelstays.OpDestinations, HTTPStatus: 200, Err: cause}},
		{"parameter_refused", api(hotelstays.OpDestinations, 400, types.CodeParam)},
		{"unauthorized", api(hotelstays.OpDestinations, 401, types.CodeUnauthorized)},
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
		{"refused", api(hotelstays.OpDestinations, 307, 0)},
		{"refused", api(hotelstays.OpBook, 200, 100009999)},
		{"refused", api(hotelstays.OpBook, 418, 0)},
		{"validation", &hotelstays.ValidationError{}}, // of helpers, from here on
		{"reference_reused", &hotelstays.ReferenceReusedError{}},
		{"incomplete_listing", &hotelstays.PageError{}},
		{"batch", &hotelstays.BatchError{Err: cause}},
		{"voucher", &hotelstays.VoucherError{Err: hotelstays.ErrVoucherAltered}},
		{"voucher_not_ready", &hotelstays.VoucherError{Err: hotelstays.ErrVoucherNotReady}},
		{"no_voucher", &hotelstays.VoucherError{Err: hotelstays.ErrNoVoucher}},
		{"_OTHER", cause},
	} {
		assert.Contains(t, string(readme), "`"+tc.kind+"`")
		t.Run(fmt.Sprintf("%s %v", tc.kind, tc.err), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				info := hotelstays.CallInfo{Operation: hotelstays.OpDestinations, BaseURL: r.srv.URL, Err: tc.err}
				ctx := r.observer.CallStart(t.Context(), hotelstays.CallStart{Operation: hotelstays.OpDestinations, BaseURL: r.srv.URL})
				r.observer.CallEnd(ctx, info)
				assert.Equal(t, tc.kind, r.last().attrs["error.type"])
				assert.Contains(t, r.collect()["hotelstays.client.call.duration"], "error.type="+tc.kind+",hotelstays.operation.name=Destinations")
			})
		})
	}
}

// If the failure came after the last answer, or before anything was sent, the limiter failed
// and not the service.
func TestErrorTypesOfALimiter(t *testing.T) {
	cause := errors.New("cause")
	answered, unanswered := hotelstays.AttemptInfo{HTTPStatus: 503}, hotelstays.AttemptInfo{Err: cause}
	for _, err := range []error{cause, &net.OpError{Op: "dial", Err: cause}, &tls.CertificateVerificationError{Err: cause}} {
		for _, attempts := range [][]hotelstays.AttemptInfo{nil, {answered}, {unanswered, answered}} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				ctx := r.observer.CallStart(t.Context(), hotelstays.CallStart{Operation: hotelstays.OpDestinations, BaseURL: r.srv.URL})
				r.observer.CallEnd(ctx, hotelstays.CallInfo{Operation: hotelstays.OpDestinations, BaseURL: r.srv.URL, Attempts: attempts,
					Err: &hotelstays.TransportError{Operation: hotelstays.OpDestinations, Attempts: len(attempts), Err: err}})
				assert.Equal(t, "no_slot", r.last().attrs["error.type"], "%T after %d attempts", err, len(attempts))
			})
		}
	}
}

// The code is that of the call itself, not of the call for its token.
func TestCodeOfAnotherCallIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for _, op := range []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpBook} {
			err := &hotelstays.APIError{Operation: op, HTTPStatus: 400, Code: 100000400}
			ctx := r.observer.CallStart(t.Context(), hotelstays.CallStart{Operation: hotelstays.OpBook})
			r.observer.CallEnd(ctx, hotelstays.CallInfo{Operation: hotelstays.OpBook, BaseURL: r.srv.URL, Err: err})
			_, coded := r.last().attrs["hotelstays.code"]
			assert.Equal(t, op == hotelstays.OpBook, coded)
		}
		ctx := r.observer.CallStart(t.Context(), hotelstays.CallStart{Operation: hotelstays.OpBook})
		r.observer.CallEnd(ctx, hotelstays.CallInfo{Operation: hotelstays.OpBook, BaseURL: r.srv.URL,
			Err: &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 502}})
		assert.NotContains(t, r.last().attrs, "hotelstays.code", "an answer without one")
	})
}
