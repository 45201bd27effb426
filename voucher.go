// Vouchers: OrderVoucher, AwaitVoucher, and the errors of vouchers.

package hotelstays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/hotelstays/hotelstays-go/types"
)

// OrderVoucherRequest selects an order by at least one of its references.
type OrderVoucherRequest struct {
	CustomerReferenceNo string `json:"customerReferenceNo,omitempty"`
	// PlatformReferenceNo is the only reference that never matches two orders.
	PlatformReferenceNo string `json:"platformReferenceNo,omitempty"`
	SupplierReferenceNo string `json:"supplierReferenceNo,omitempty"`
	// IncludeDocument requests the document itself, in addition to its link. For a document above 8 MB the error is
	// ErrVoucherTooLarge. OrderVoucher does not verify the document. DownloadVoucher, SaveVoucher and OpenVoucher verify
	// it.
	IncludeDocument bool `json:"includeDocument,omitempty"`
}

func (r *OrderVoucherRequest) validate(v *validation) {
	if strings.TrimSpace(r.CustomerReferenceNo+r.PlatformReferenceNo+r.SupplierReferenceNo) == "" {
		v.add("platformReferenceNo", "is required, unless customerReferenceNo or supplierReferenceNo is set")
	}
	v.text("customerReferenceNo", r.CustomerReferenceNo)
	v.text("platformReferenceNo", r.PlatformReferenceNo)
	v.text("supplierReferenceNo", r.SupplierReferenceNo)
}

func (r *OrderVoucherRequest) anyReference() string {
	return cmp.Or(r.PlatformReferenceNo, r.CustomerReferenceNo, r.SupplierReferenceNo)
}

// OrderVoucherResponse holds the state of an order's voucher, and the voucher.
type OrderVoucherResponse struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	PlatformReferenceNo string `json:"platformReferenceNo"`
	SupplierReferenceNo string `json:"supplierReferenceNo"`
	// Status is the state of the voucher. OrderVoucher returns each status without an error. With VoucherGenerated the
	// service sends a Voucher.
	Status  types.VoucherStatus `json:"status"`
	Voucher *types.Voucher      `json:"voucher"`
	Meta    ResponseMeta        `json:"-"`
}

func (r *OrderVoucherRequest) parts() parts { return parts{body: r} }

func (r *OrderVoucherRequest) check(resp *OrderVoucherResponse, _ *exchange) error {
	switch {
	case resp.Status == "":
		return missing("data.status")
	case resp.PlatformReferenceNo == "":
		return missing("data.platformReferenceNo")
	case !sameReference(r.CustomerReferenceNo, resp.CustomerReferenceNo),
		!sameReference(r.PlatformReferenceNo, resp.PlatformReferenceNo),
		!sameReference(r.SupplierReferenceNo, resp.SupplierReferenceNo):
		return errOtherOrder
	}
	return nil
}

// OrderVoucher returns the voucher of an order. The service makes the voucher once the supplier confirms the booking. The
// error is
//
//   - ErrAmbiguousReference if the reference matches several orders;
//   - ErrNotFound if the account has no such order;
//   - ErrForbidden if the token lacks types.ScopeBookingRead;
//   - a *DecodeError if the answer is about another order.
func (c *Client) OrderVoucher(ctx context.Context, req *OrderVoucherRequest, opts ...CallOption) (*OrderVoucherResponse, error) {
	return invoke(ctx, c, OpOrderVoucher, req, opts)
}

// AwaitVoucher polls the voucher of an order, like AwaitOrder, until its status is neither NOT_GENERATED nor PENDING.
// VoucherFailed and VoucherCancelled also end the wait, without an error. When ctx ends, the last answer comes with the error.
func (c *Client) AwaitVoucher(ctx context.Context, req *OrderVoucherRequest, opts ...CallOption) (*OrderVoucherResponse, error) {
	set := c.collect("AwaitVoucher", operations[OpOrderVoucher], opts)
	if err := checkCall(ctx, c, OpOrderVoucher, req, set); err != nil {
		return nil, err
	}
	return helped(ctx, c, "AwaitVoucher", func(ctx context.Context) (seen *OrderVoucherResponse, err error) {
		err = await(ctx, set.Wakeup, func() (done bool, err error) {
			resp, err := c.OrderVoucher(ctx, req, set.forCall(OpOrderVoucher))
			if err != nil {
				return false, err
			}
			seen = resp
			return !inPreparation(resp.Status), nil
		}, func() string { return voucherProgress(req, seen) })
		return seen, err
	})
}

func inPreparation(status types.VoucherStatus) bool {
	return status == types.VoucherNotGenerated || status == types.VoucherPending
}

func voucherProgress(req *OrderVoucherRequest, seen *OrderVoucherResponse) string {
	if seen == nil {
		return fmt.Sprintf("AwaitVoucher: no answer about the voucher of order %q", req.anyReference())
	}
	return fmt.Sprintf("AwaitVoucher: the voucher of order %q is still %s", req.anyReference(), seen.Status)
}

// VoucherError reports that there is no verified document: it could not be fetched, verified or written. No byte of an
// unverified document was returned.
type VoucherError struct {
	Reference     string // a reference of the order, which only SaveVoucher and OpenVoucher set
	VoucherNumber string // empty if there is no voucher
	Version       int
	Status        types.VoucherStatus // set if the error is ErrVoucherNotReady or ErrNoVoucher
	Err           error               // a sentinel such as ErrVoucherNotReady, an error of OrderVoucher, or another cause
	Detail        string
}

// Error names the voucher, the cause and the next step.
func (e *VoucherError) Error() string {
	text := "hotelstays: voucher"
	if e.VoucherNumber != "" {
		text += fmt.Sprintf(" %q version %d", e.VoucherNumber, e.Version)
	}
	if e.Reference != "" {
		text += fmt.Sprintf(" of order %q", e.Reference)
	}
	text += ": " + strings.TrimPrefix(fmt.Sprint(e.Err), "hotelstays: ")
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	switch {
	case errors.Is(e.Err, ErrVoucherAltered):
		text += "; do not use the document; call OrderVoucher again; if the error remains, report it to the supplier"
	case errors.Is(e.Err, ErrVoucherLinkExpired):
		text += "; call OrderVoucher for a new link"
	}
	return text
}

// Unwrap returns Err.
func (e *VoucherError) Unwrap() error { return e.Err }

func (e *VoucherError) again() bool {
	return Retryable(e.Err) || strings.HasSuffix(e.Detail, tryLater)
}

func (e *VoucherError) kind() ErrorKind {
	if kind := KindOf(e.Err); kind != KindOther && kind != "" {
		return kind
	}
	return KindVoucher
}

func (e *VoucherError) details() details { return details{reference: e.Reference} }

// LogValue returns attributes for slog: the kind, the reference, the text, and the details of Err.
func (e *VoucherError) LogValue() slog.Value { return logValue(e) }

func voucherError(v *types.Voucher, err error, format string, args ...any) error {
	return &VoucherError{VoucherNumber: v.VoucherNumber, Version: v.Version, Err: err, Detail: fmt.Sprintf(format, args...)}
}

func ofOrder(reference string, err error) error {
	switch e := err.(type) {
	case *VoucherError:
		e.Reference = reference
		return e
	case *ValidationError:
		return e
	}
	return &VoucherError{Reference: reference, Err: err}
}
