// Rules of vouchers.

package probe

import (
	"bytes"
	"encoding/base64"
	"errors"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// voucher is an issued one, and the order that has it.
type voucher struct {
	*answer
	hotelstays.OrderVoucherResponse
	order  *types.Order
	passed []types.OrderStatus // before it was confirmed, beside 0 and 1
}

// longestLink is how long a rule waits for the end of a link. The order has to be cancelled within a day.
const longestLink = 2 * time.Hour

// confirming is how long a confirmation may take, which takes 3 to 10 minutes.
const confirming = 15 * time.Minute

// lasting is how long a status has to stay, because an order may show it later than its voucher does.
const lasting = time.Minute

// voucherOf asks for the voucher of an order.
func (r *run) voucherOf(o *types.Order) (*answer, hotelstays.OrderVoucherResponse) {
	a := r.get(opOrderVoucher, obj{"platformReferenceNo": o.PlatformReferenceNo})
	resp := *read[hotelstays.OrderVoucherResponse](a)
	return a, resp
}

// voucher waits for the voucher, which is produced when the order is confirmed.
func (r *run) voucher() *voucher {
	return r.world.voucher.get(r, "a confirmed order with a voucher", func() *voucher {
		b, v := r.order(), &voucher{}
		seen, since := []types.OrderStatus{-1}, time.Time{}
		took, found := r.poll(confirming, 10*time.Second, func() bool {
			v.answer, v.OrderVoucherResponse = r.voucherOf(b.order)
			_, v.order = r.current(b)
			skip(v.order == nil, "QueryOrders does not have the order")
			if status := v.order.Status; status != seen[len(seen)-1] {
				seen, since = append(seen, status), time.Now()
			}
			return v.Status == types.VoucherGenerated && v.Voucher != nil && v.order.Status > types.OrderConfirming &&
				time.Since(since) >= lasting
		})
		r.suffers(!found && v.Status == types.VoucherGenerated && v.Voucher == nil, "after %s the voucher is GENERATED, without a document", took)
		skip(!found, "after %s the voucher is %s, and the order has status %d", took, v.Status, v.order.Status)
		slices.Sort(seen)
		v.passed = slices.DeleteFunc(slices.Compact(seen), func(status types.OrderStatus) bool {
			return status == v.order.Status || status <= types.OrderConfirming
		})
		r.log[len(r.log)-1], r.log[len(r.log)-2] = r.log[len(r.log)-2], r.log[len(r.log)-1] // rules judge the voucher
		return v
	})
}

// download returns the document behind a voucher's link, unless it is another one than was issued. It is
// no evidence, because it has the names of guests, and the link is a secret.
func (r *run) download(v types.Voucher) ([]byte, error) {
	r.masker.add(v.DownloadURL)
	var document bytes.Buffer
	v.Content = nil // else nobody asks for what is behind the link
	err := r.client.DownloadVoucher(r.ctx, &v, &document)
	return document.Bytes(), err
}

var voucherRules = []Rule{
	{"voucher/form", "OrderVoucher", "status and voucher have the documented form", "-book", func(r *run) {
		r.whole = true
		r.voucher()
	}},
	{"voucher/digest", "OrderVoucher", "digest is that of the linked document; whether byteSize is its size", "-book", func(r *run) {
		v := r.voucher().Voucher
		document, err := r.download(*v)
		breaks(errors.Is(err, hotelstays.ErrVoucherAltered), "%v", err)
		skip(err != nil, "%v", err)
		r.find("byteSize is its size: %t", v.ByteSize == int64(len(document)))
	}},
	{"voucher/inline", "OrderVoucher", "includeDocument returns the document with that digest; what byteSize is", "-book", func(r *run) {
		a := r.get(opOrderVoucher, obj{"platformReferenceNo": r.voucher().order.PlatformReferenceNo, "includeDocument": true})
		skip(a.refusal() && *a.Code == types.CodeVoucherTooLarge, "it is above 8 MB")
		v := read[hotelstays.OrderVoucherResponse](a).Voucher
		breaks(v == nil || v.Content == nil, "there is no voucher.content")
		document, err := base64.StdEncoding.DecodeString(v.Content.Base64)
		breaks(err != nil, "voucher.content is no base64")
		r.find("content.byteSize is its size: %t", v.Content.ByteSize == int64(len(document)))
	}},
	{"voucher/references", "OrderVoucher", "each of the three references finds the voucher", "-book", func(r *run) {
		v := r.voucher()
		for name, value := range map[string]string{"customerReferenceNo": r.order().entry.reference(),
			"supplierReferenceNo": v.order.SupplierReferenceNo} {
			if value == "" {
				continue
			}
			a := r.get(opOrderVoucher, obj{name: value})
			if a.came(); a.Code != nil && *a.Code == types.CodeAmbiguousReference {
				continue // several orders have it
			}
			found := read[hotelstays.OrderVoucherResponse](a)
			breaks(found.PlatformReferenceNo != v.order.PlatformReferenceNo, "%s finds another order", name)
		}
	}},
	{"voucher/link", "OrderVoucher", "a link works just as long as expiresIn says; what an expired one gets", "-book", func(r *run) {
		_, resp := r.voucherOf(r.voucher().order)
		skip(resp.Voucher == nil, "there is no voucher any more")
		v := *resp.Voucher
		life, began := time.Duration(v.ExpiresIn)*time.Second, time.Now()
		skip(life > r.cfg.Patience || life > longestLink, "the link lives for %s, and -patience is %s, at most %s", life, r.cfg.Patience,
			longestLink)
		r.wait(life - 5*time.Second)
		_, err := r.download(v)
		breaks(errors.Is(err, hotelstays.ErrVoucherLinkExpired), "%s after its voucher the link is refused: %v", time.Since(began), err)
		skip(err != nil, "%v", err)
		r.wait(time.Until(began.Add(life + 5*time.Second)))
		_, err = r.download(v)
		breaks(err == nil, "%s after its voucher the link works", time.Since(began))
		skip(!errors.Is(err, hotelstays.ErrVoucherLinkExpired), "%v", err)
		r.find("%v", err)
	}},
}
