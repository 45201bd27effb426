// The codes in the envelopes of answers.

package types

// The documented codes. The service may send others.
const (
	CodeParam              = 100000400
	CodeUnauthorized       = 100000401
	CodeNotFound           = 100000404
	CodeRateLimited        = 100000429
	CodeDuplicateBooking   = 100001003
	CodeVoucherTooLarge    = 100001005
	CodeAmbiguousReference = 100001008
	CodeRateChanged        = 100001111
)
