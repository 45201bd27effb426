// Vouchers: the document that a traveller shows at the hotel.

package types

// VoucherStatus is where the voucher of an order stands.
type VoucherStatus string

// The voucher states. None of them is an error.
const (
	VoucherGenerated    VoucherStatus = "GENERATED"     // issued and current; the only one with a document
	VoucherNotGenerated VoucherStatus = "NOT_GENERATED" // the booking is valid, its voucher is not issued yet
	VoucherPending      VoucherStatus = "PENDING"       // a number is reserved, the document is being made
	VoucherFailed       VoucherStatus = "FAILED"        // generation was tried and did not complete
	VoucherCancelled    VoucherStatus = "CANCELLED"     // of a cancelled booking; no document is given out
)

// Voucher is an issued voucher.
type Voucher struct {
	VoucherNumber string `json:"voucherNumber"`
	// Version counts from 1; a newer version supersedes the older ones.
	Version     int       `json:"version"`
	IssuedAt    Timestamp `json:"issuedAt"`
	ContentType string    `json:"contentType"`
	// ByteSize is the size of the document in bytes.
	ByteSize int64 `json:"byteSize"`
	// VerifyURL is the public page of the voucher's QR code. It shows whether the voucher
	// is valid and unaltered.
	VerifyURL string `json:"verifyUrl"`
	// DownloadURL is where the document lies, for ExpiresIn seconds.
	DownloadURL string `json:"downloadUrl"`
	// ExpiresIn is how long DownloadURL stays valid, in seconds.
	ExpiresIn int64 `json:"expiresIn"`
	// Signature is nil for documents that were made before signing existed.
	Signature *VoucherSignature `json:"signature,omitempty"`
	// Content is the document itself, present only when it was asked for.
	Content *VoucherContent `json:"content,omitempty"`
}

// VoucherSignature is what proves that a document is as issued.
type VoucherSignature struct {
	Alg   string `json:"alg"`
	KeyID string `json:"keyId"` // which of the platform's keys signed
	// Digest is the SHA-256 of the issued bytes, in lower-case hex.
	Digest string `json:"digest"`
	// Signature is a detached HMAC that only the platform can check.
	Signature string    `json:"signature"`
	SignedAt  Timestamp `json:"signedAt"`
}

// VoucherContent is a document inside a response.
type VoucherContent struct {
	ContentType string `json:"contentType"`
	ByteSize    int64  `json:"byteSize"`
	Base64      string `json:"base64"`
}
