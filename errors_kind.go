// The kinds of errors, for metrics and for HTTP statuses.

package hotelstays

import (
	"context"
	"errors"
	"net/http"
)

// KindOf returns the kind of err, or an empty string for nil.
//
// An *OutcomeUnknownError decides wherever it is in the chain of err. A token that could not
// be fetched and the end of a ctx come next. Otherwise the outermost error of this package
// decides: pass BatchError.Err for the kind of its cause.
func KindOf(err error) ErrorKind {
	if err == nil {
		return ""
	}
	if _, ok := errors.AsType[*OutcomeUnknownError](err); ok {
		return KindOutcomeUnknown
	}
	kind := KindOther
	if own, ok := errors.AsType[kindError](err); ok {
		kind = own.kind()
	}
	switch {
	case kind == KindOutcomeUnknown || kind == KindNoToken || kind == KindRateLimited:
		return kind
	case errors.Is(err, context.Canceled):
		return KindCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	case kind != KindOther:
		return kind
	}
	for _, c := range conditions {
		if errors.Is(err, c.err) {
			return c.kind
		}
	}
	return KindOther
}

// ErrorKind is the kind of an error, for labels of metrics and for HTTP statuses. The list may
// grow.
type ErrorKind string

// The kinds that KindOf returns.
const (
	// KindOutcomeUnknown: a Book or a Cancel may have been carried out.
	KindOutcomeUnknown ErrorKind = "outcome_unknown"
	// KindCanceled and KindTimeout: a ctx was cancelled; a deadline or a time limit passed.
	KindCanceled ErrorKind = "canceled"
	KindTimeout  ErrorKind = "timeout"
	// KindNoToken: no token could be fetched; the cause is the error of that fetch.
	KindNoToken ErrorKind = "no_token"
	// KindTransport: any other *TransportError.
	KindTransport ErrorKind = "transport"

	// KindValidation to KindWebhook are the kinds of the other error types.
	KindValidation      ErrorKind = "validation"
	KindDecode          ErrorKind = "unreadable_answer"
	KindReferenceReused ErrorKind = "reference_reused"
	KindPage            ErrorKind = "incomplete_listing"
	KindBatch           ErrorKind = "batch"
	KindVoucher         ErrorKind = "voucher"
	KindWebhook         ErrorKind = "webhook"

	// KindVoucherNotReady and KindNoVoucher: a *VoucherError with ErrVoucherNotReady. The first
	// is one that AwaitVoucher waits for, the second any other, as of a cancelled order.
	KindVoucherNotReady ErrorKind = "voucher_not_ready"
	KindNoVoucher       ErrorKind = "no_voucher"

	// KindParam to KindUpstreamTimeout are the kinds of the sentinels: ErrParam and so on.
	KindParam              ErrorKind = "parameter_refused"
	KindUnauthorized       ErrorKind = "unauthorized"
	KindForbidden          ErrorKind = "forbidden"
	KindNotFound           ErrorKind = "not_found"
	KindRateLimited        ErrorKind = "rate_limited"
	KindDuplicateBooking   ErrorKind = "duplicate_booking"
	KindVoucherTooLarge    ErrorKind = "voucher_too_large"
	KindAmbiguousReference ErrorKind = "ambiguous_reference"
	KindRateChanged        ErrorKind = "rate_changed"
	KindCancelRefused      ErrorKind = "cancel_refused"
	KindInvalidScope       ErrorKind = "invalid_scope"
	KindUpstreamTimeout    ErrorKind = "upstream_timeout"

	// KindProxyAuth: a proxy on the way asks for authentication (HTTP 407).
	KindProxyAuth ErrorKind = "proxy_authentication"

	// KindServerError, KindRedirect and KindRefused: an *APIError without a sentinel, with HTTP
	// 5xx, with HTTP 3xx, or any other.
	KindServerError ErrorKind = "server_error"
	KindRedirect    ErrorKind = "redirect"
	KindRefused     ErrorKind = "refused"

	// KindOther: none of these, such as an error of your own function.
	KindOther ErrorKind = "other"
)

// HTTPStatus returns the status with which a service of yours answers if its call of the API
// failed in this way:
//
//	202  the outcome is unknown: the caller asks for the booking later
//	400  the request is at fault
//	404  there is no such order, or no voucher
//	409  the offer or the order does not allow it
//	503  the caller may try again in a moment, or for a voucher in a few minutes
//	504  there was no answer in time
//	502  the API, or your access to it, is at fault
//	500  the error is not of this package
func (k ErrorKind) HTTPStatus() int {
	switch k {
	case "": // of a nil error
		return http.StatusOK
	case KindOutcomeUnknown:
		return http.StatusAccepted
	case KindValidation, KindParam, KindWebhook, KindVoucherTooLarge:
		return http.StatusBadRequest
	case KindNotFound, KindNoVoucher:
		return http.StatusNotFound
	case KindRateChanged, KindDuplicateBooking, KindReferenceReused, KindAmbiguousReference, KindCancelRefused:
		return http.StatusConflict
	case KindRateLimited, KindCanceled, KindVoucherNotReady:
		return http.StatusServiceUnavailable
	case KindTimeout, KindUpstreamTimeout:
		return http.StatusGatewayTimeout
	case KindOther:
		return http.StatusInternalServerError
	}
	return http.StatusBadGateway
}

// kindError is every error type of the package that has a kind of its own.
type kindError interface {
	error
	kind() ErrorKind
}
