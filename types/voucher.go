// Vouchers: the document that a traveller shows at the hotel.

package types

// VoucherStatus is the state of an order's voucher.
type VoucherStatus string

// The voucher states. No state is an error.
const (
	VoucherGenerated    VoucherStatus = "GENERATED"     // the only status with a document
	VoucherNotGenerated VoucherStatus = "NOT_GENERATED" // no document yet; the booking is valid
	VoucherPending      VoucherStatus = "PENDING"       // the document is being made
	VoucherFailed       VoucherStatus = "FAILED"        // the service tried to make the document, but did not complete it
	VoucherCancelled    VoucherStatus = "CANCELLED"     // the booking is cancelled: no document
)

// Voucher is an issued voucher.
type Voucher struct {
	VoucherNumber string `json:"voucherNumber"`
	// Version counts from 1. A new version replaces the older ones.
	Version     int       `json:"version"`
	IssuedAt    Timestamp `json:"issuedAt"`
	ContentType string    `json:"contentType"`
	// ByteSize is in bytes. Whether it is the size of the issued document is undocumented.
	ByteSize int64 `json:"byteSize"`
	// VerifyURL is the public page of the voucher's QR code. It shows whether the voucher
	// is valid and unaltered.
	VerifyURL string `json:"verifyUrl"`
	// DownloadURL is the link to the document.
	DownloadURL string `json:"downloadUrl"`
	// ExpiresIn is how long DownloadURL works, in seconds.
	ExpiresIn int64 `json:"expiresIn"`
	// Signature is nil if the document was issued before the service began to sign vouchers.
	Signature *VoucherSignature `json:"signature,omitempty"`
	// Content is the document, if it was requested.
	Content *VoucherContent `json:"content,omitempty"`
}

// VoucherSignature proves that a document is unchanged.
type VoucherSignature struct {
	Alg   string `json:"alg"`
	KeyID string `json:"keyId"` // the id of the platform's key that made the signature
	// Digest is the SHA-256 of the issued bytes, in lower-case hex.
	Digest string `json:"digest"`
	// Signature is an HMAC with a key of the platform: callers cannot check it.
	Signature string    `json:"signature"`
	SignedAt  Timestamp `json:"signedAt"`
}

// VoucherContent is a document inside a response.
type VoucherContent struct {
	ContentType string `json:"contentType"`
	ByteSize    int64  `json:"byteSize"`
	Base64      string `json:"base64"`
}
