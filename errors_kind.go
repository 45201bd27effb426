// The kinds of errors.

package hotelstays

// ErrorKind is the kind of an error, for labels of metrics and for HTTP statuses. The list may grow. The sentinels of a
// *WebhookError share KindWebhook; ErrVoucherAltered, ErrVoucherLinkExpired and ErrVoucherUnsigned share KindVoucher.
type ErrorKind string

// The kinds that KindOf returns.
const (
	// The kinds from KindOutcomeUnknown to KindWebhook each belong to an error type.

	KindOutcomeUnknown  ErrorKind = "outcome_unknown" // Book, Cancel or a Do without Idempotent may have been executed
	KindTransport       ErrorKind = "transport"
	KindValidation      ErrorKind = "validation"
	KindDecode          ErrorKind = "unreadable_answer"
	KindReferenceReused ErrorKind = "reference_reused"
	KindPage            ErrorKind = "incomplete_listing"
	KindBatch           ErrorKind = "batch"
	KindVoucher         ErrorKind = "voucher"
	KindWebhook         ErrorKind = "webhook"

	// The kinds from KindParam to KindNoVoucher each belong to a sentinel.

	KindParam              ErrorKind = "parameter_refused"
	KindUnauthorized       ErrorKind = "unauthorized"
	KindForbidden          ErrorKind = "forbidden"
	KindNotFound           ErrorKind = "not_found" // also the kind of an *OrderNotFoundError
	KindRateLimited        ErrorKind = "rate_limited"
	KindDuplicateBooking   ErrorKind = "duplicate_booking"
	KindVoucherTooLarge    ErrorKind = "voucher_too_large"
	KindAmbiguousReference ErrorKind = "ambiguous_reference"
	KindRateChanged        ErrorKind = "rate_changed"
	KindCancelRefused      ErrorKind = "cancel_refused"
	KindInvalidScope       ErrorKind = "invalid_scope"
	KindUpstreamTimeout    ErrorKind = "upstream_timeout"
	KindProxyAuth          ErrorKind = "proxy_authentication"
	KindVoucherNotReady    ErrorKind = "voucher_not_ready"
	KindNoVoucher          ErrorKind = "no_voucher"

	KindCanceled    ErrorKind = "canceled"     // a ctx was cancelled
	KindTimeout     ErrorKind = "timeout"      // a deadline or a time limit passed
	KindServerError ErrorKind = "server_error" // HTTP 5xx
	KindRefused     ErrorKind = "refused"      // a refusal whose code has no sentinel, for example a code of ServiceFacts.RefusalCodes
	KindUnexpected  ErrorKind = "unexpected"   // any other answer, for example a redirect, or a page of a proxy
	KindOther       ErrorKind = "other"        // an error of another package, such as the error of your own function
)
