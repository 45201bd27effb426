// Vouchers: the state of an order's voucher, and waiting for it.

package hotelstays

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// OrderVoucherRequest names an order by at least one of its references.
type OrderVoucherRequest struct {
	CustomerReferenceNo string `json:"customerReferenceNo,omitempty"`
	// PlatformReferenceNo is the only reference that never matches two orders.
	PlatformReferenceNo string `json:"platformReferenceNo,omitempty"`
	SupplierReferenceNo string `json:"supplierReferenceNo,omitempty"`
	// IncludeDocument asks for the document inside the answer, as well as the link to
	// it. A document above 8 MB is ErrVoucherTooLarge. OrderVoucher does not verify it:
	// SaveVoucher does, and so does VerifyVoucher once it is decoded.
	IncludeDocument bool `json:"includeDocument,omitempty"`
}

func (r *OrderVoucherRequest) validate(v *validation) {
	if strings.TrimSpace(r.CustomerReferenceNo+r.PlatformReferenceNo+r.SupplierReferenceNo) == "" {
		v.add("platformReferenceNo", "is empty, and so are customerReferenceNo and supplierReferenceNo: one of the three is required")
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
	// Status is never an error, whichever it is.
	Status types.VoucherStatus `json:"status"`
	// Voucher is present when Status is VoucherGenerated.
	Voucher *types.Voucher `json:"voucher"`
	Meta    ResponseMeta   `json:"-"`
}

func (r *OrderVoucherRequest) parts() parts { return parts{body: r} }

func (r *OrderVoucherRequest) check(resp *OrderVoucherResponse, _ *answer) error {
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

func (r *OrderVoucherResponse) meta() *ResponseMeta { return &r.Meta }

// OrderVoucher asks for the voucher of an order. It is made once the supplier confirms the
// booking: right after Book there is none yet.
//
// A reference that matches several orders is ErrAmbiguousReference; an order that does not
// exist, or is not the caller's, is ErrNotFound. Without ScopeBookingRead it is
// ErrForbidden. An answer that names another order than req does is a *DecodeError.
func (c *Client) OrderVoucher(ctx context.Context, req *OrderVoucherRequest, opts ...CallOption) (*OrderVoucherResponse, error) {
	return invoke(ctx, c, OpOrderVoucher, req, opts)
}

// AwaitVoucher polls the voucher of an order until it is neither NOT_GENERATED nor PENDING:
// at once, then at the times of AwaitOrder, and when WithWakeup fires. VoucherFailed and
// VoucherCancelled end the wait, too, and are no errors.
//
// Polls that fail are made again; a refusal that will not change is returned. When ctx ends,
// the last answer is returned with the error, or nil if none came. As in AwaitOrder, only
// ctx bounds the wait.
func (c *Client) AwaitVoucher(ctx context.Context, req *OrderVoucherRequest, opts ...WaitOption) (*OrderVoucherResponse, error) {
	var set waitSettings
	applyAll(opts, &set, WaitOption.applyWait)
	var seen *OrderVoucherResponse
	var failed error // the last poll's
	start := time.Now()
	for {
		resp, err := c.OrderVoucher(ctx, req, set.option())
		failed = err
		switch {
		case err != nil && !transient(err):
			return seen, err
		case err == nil && resp.Status != types.VoucherNotGenerated && resp.Status != types.VoucherPending:
			return resp, nil
		case err == nil:
			seen = resp
		}
		if err := waitUntil(ctx, awaitNext(start), set.wakeup); err != nil {
			return seen, waitEnded(voucherAwaited(req, seen), err, failed)
		}
	}
}

// voucherAwaited says how far the awaited voucher was seen.
func voucherAwaited(req *OrderVoucherRequest, seen *OrderVoucherResponse) string {
	if seen == nil {
		return fmt.Sprintf("AwaitVoucher: no answer about the voucher of order %q was seen", req.anyReference())
	}
	return fmt.Sprintf("AwaitVoucher: the voucher of order %q is still %s", req.anyReference(), seen.Status)
}
