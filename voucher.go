// Vouchers: where the document of an order stands.

package hotelstays

import (
	"cmp"
	"context"
	"strings"

	"github.com/hotelstays/hotelstays-go/types"
)

// OrderVoucherRequest names an order by at least one of its references.
type OrderVoucherRequest struct {
	CustomerReferenceNo string `json:"customerReferenceNo,omitempty"`
	// PlatformReferenceNo is the only reference that never matches two orders.
	PlatformReferenceNo string `json:"platformReferenceNo,omitempty"`
	SupplierReferenceNo string `json:"supplierReferenceNo,omitempty"`
	// IncludeDocument asks for the document inside the answer, as well as the link
	// to it. A document above 8 MB is ErrVoucherTooLarge. OrderVoucher returns it as
	// it came: SaveVoucher verifies it, and so does VerifyVoucher once it is decoded.
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

// anyReference is the reference that an error names the order by.
func (r *OrderVoucherRequest) anyReference() string {
	return cmp.Or(r.PlatformReferenceNo, r.CustomerReferenceNo, r.SupplierReferenceNo)
}

// OrderVoucherResponse says where the voucher of an order stands.
type OrderVoucherResponse struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	PlatformReferenceNo string `json:"platformReferenceNo"`
	SupplierReferenceNo string `json:"supplierReferenceNo"`
	// Status is a value and not an error, whichever it is.
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

// OrderVoucher asks for the voucher of an order. It is made once the supplier
// confirms the booking, so that right after Book there is none yet.
//
// A reference that matches several orders is ErrAmbiguousReference; an order
// that does not exist, or is not the caller's, is ErrNotFound. The key needs
// ScopeBookingRead, else it is ErrForbidden. An answer that names another order than
// req does is a *DecodeError.
func (c *Client) OrderVoucher(ctx context.Context, req *OrderVoucherRequest, opts ...CallOption) (*OrderVoucherResponse, error) {
	return do(ctx, c, OpOrderVoucher, req, opts)
}
