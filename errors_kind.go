// What errors have in common: a kind, for metrics and HTTP statuses, and the parts of a text.

package hotelstays

import (
	"fmt"
	"net/http"
	"strings"
)

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

// failure is the error of one call: what happened, and apart from it the next step.
type failure interface {
	kindError
	fact() string        // without operation, ids and advice
	description() string // without advice
	next() string
	// markUnknown makes the failure the cause of an unknown outcome: no refusal, without
	// a sentinel that says so, and without advice of its own.
	markUnknown()
}

func isFailure(err error) bool {
	_, ok := err.(failure)
	return ok
}

// outcome is the part that failures share.
type outcome struct {
	unknown bool
	noQuota bool // another attempt would have followed
}

func (o *outcome) markUnknown() { o.unknown = true }

func (o *outcome) advice(next string) string {
	switch {
	case o.unknown:
		return "; the outcome is unknown: do not send it again, ask QueryOrders first"
	case o.noQuota:
		next = "not retried, because many calls fail; " + next
	case next == "":
		return ""
	}
	return "; " + next
}

// description is what a failure of an operation was, with the id that the service's
// logs have.
func description(op Operation, fact, requestID string) string {
	if requestID == "" {
		return fmt.Sprintf("%s: %s", op, fact)
	}
	return fmt.Sprintf("%s: %s, request id %s", op, fact, requestID)
}

// fact is the text of an error without its prefix and its advice, to be part of another.
func fact(err error) string {
	if err == nil {
		return "no cause given"
	}
	if f, ok := err.(failure); ok {
		return f.description()
	}
	return strings.TrimPrefix(err.Error(), "hotelstays: ")
}
