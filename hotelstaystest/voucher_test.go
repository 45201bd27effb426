// The states of a voucher, its references and its document.

package hotelstaystest

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// download gets a document, with headers.
func (u *user) download(link string, headers ...string) (int, []byte) {
	u.t.Helper()
	r, err := u.get(link, headers...)
	stopIf(u.t, err != nil, "%v", err)
	return r.status, r.body
}

func (u *user) get(link string, headers ...string) (*reply, error) {
	return exchange(u.t, u.http, "GET", link, nil, func(r *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
	})
}

func TestVoucherStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, u := open(t, Config{ConfirmAfter: time.Minute, VoucherDelay: 10 * time.Second, VoucherLinkLifetime: time.Minute})
		in, order := u.book("ref", 0)
		ask := func() *reply {
			t.Helper()
			return u.must(voucherPath, object{"customerReferenceNo": "ref", "includeDocument": true})
		}
		want := func(status string) *reply {
			t.Helper()
			r := ask()
			failIf(t, r.str("status") != status || (r.at("voucher") != nil) != (status == "GENERATED"), "got %s, want %s", r.body, status)
			return r
		}
		want("NOT_GENERATED")
		s.Advance(time.Minute)
		want("PENDING")
		s.Advance(10 * time.Second)
		r := want("GENERATED")
		link := r.str("voucher", "downloadUrl")
		status, doc := u.download(link)
		inline, _ := base64.StdEncoding.DecodeString(r.str("voucher", "content", "base64"))
		failIf(t, status != 200 || !bytes.Equal(doc, inline) || sha256Hex(doc) != r.str("voucher", "signature", "digest") ||
			r.str("voucher", "byteSize") != strconv.Itoa(len(doc)), "download: HTTP %d, %d bytes; %.500s", status, len(doc), r.body)
		failIf(t, r.str("voucher", "expiresIn") != "60" ||
			r.str("voucher", "version") != "1" || r.str("voucher", "issuedAt") != "2000-01-01T00:01:10Z",
			"%v", r.at("voucher"))
		if status, page := u.download(r.str("voucher", "verifyUrl")); status != 200 || !bytes.Contains(page, []byte("GENERATED")) {
			t.Errorf("verify page: HTTP %d %s", status, page)
		}
		if status, _ := u.download(link, "Authorization", "Bearer "+u.token); status != 400 {
			t.Errorf("a download with Authorization: HTTP %d", status)
		}
		if status, _ := u.download(link + "0"); status != 403 {
			t.Errorf("a forged link: HTTP %d", status)
		}
		s.Advance(time.Minute - 1)
		if status, _ := u.download(link); status != 200 {
			t.Errorf("just before its end: HTTP %d", status)
		}
		s.Advance(1)
		if status, _ := u.download(link); status != 403 {
			t.Errorf("at its end: HTTP %d", status)
		}
		fresh := ask().str("voucher", "downloadUrl")
		s.RegenerateVoucher("ref")
		want("PENDING")
		if status, _ := u.download(fresh); status != 410 {
			t.Errorf("a superseded version: HTTP %d", status)
		}
		s.Advance(10 * time.Second)
		second := want("GENERATED")
		failIf(t, second.str("voucher", "version") != "2" ||
			second.str("voucher", "signature", "digest") == r.str("voucher", "signature", "digest"),
			"%v", second.at("voucher"))
		s.FailVoucher("ref")
		want("FAILED")
		in.must(cancelPath, cancellation("ref", order))
		want("CANCELLED")
		same(t, s.Ledger().Count(OpVoucherDownload), 6)
	})
}

func TestVoucherReferences(t *testing.T) {
	_, u := open(t, Config{Accounts: twoAccounts})
	_, a := u.book("a", 0)
	in, ids := u.find(nil)
	in.must(bookPath, booking("b", ids[0], guests("Second", "Guest")))
	supplier := a.str("hotelOrder", "supplierReferenceNo")
	u.refused(voucherPath, object{}, 400, types.CodeParam, "platformReferenceNo")
	for _, more := range []object{{}, {"platformReferenceNo": a.str("hotelOrder", "platformReferenceNo")}, {"customerReferenceNo": "a"}} {
		r := u.must(voucherPath, with(object{"supplierReferenceNo": supplier}, more))
		failIf(t, r.str("customerReferenceNo") != "a", "%s", r.body)
	}
	for _, other := range []object{
		{"supplierReferenceNo": supplier, "customerReferenceNo": "none"}, {"supplierReferenceNo": "none", "customerReferenceNo": "a"},
		{"platformReferenceNo": a.str("hotelOrder", "platformReferenceNo"), "customerReferenceNo": "b"},
	} {
		u.refused(voucherPath, other, 404, types.CodeNotFound, "")
	}
	none := u.refused(voucherPath, object{"customerReferenceNo": "none"}, 404, types.CodeNotFound, "")
	theirs := u.stranger().refused(voucherPath, object{"customerReferenceNo": "a"}, 404, types.CodeNotFound, "")
	failIf(t, none.msg != theirs.msg, "another account sees that the order exists")
}

func TestVoucherSizes(t *testing.T) {
	with := func(size int) *user {
		_, u := open(t, Config{ConfirmAfter: AtOnce, VoucherDelay: AtOnce, VoucherSize: size, UnsignedVouchers: true})
		u.book("ref", 0)
		return u
	}
	u := with(maxInline + 1)
	u.refused(voucherPath, object{"customerReferenceNo": "ref", "includeDocument": true}, 400, types.CodeVoucherTooLarge, "downloadUrl")
	r := u.must(voucherPath, object{"customerReferenceNo": "ref"})
	status, doc := u.download(r.str("voucher", "downloadUrl"))
	failIf(t, status != 200 || len(doc) != maxInline+1 || r.at("voucher", "signature") != nil || r.at("voucher", "content") != nil,
		"HTTP %d, %d bytes; %s", status, len(doc), r.body)
	at := with(maxInline)
	c := &call{account: at.s.AppKey}
	_, err := runOrderVoucher(at.s, c, &orderVoucherRequest{references{CustomerReferenceNo: "ref"}, true})
	failIf(t, err != nil, "exactly at the limit: %v", err)
}

// A client elsewhere does not reach the sandbox under its loopback address.
func TestVoucherLinksOfRemoteClients(t *testing.T) {
	for remote, want := range map[bool]string{true: "http://sandbox:8080/vouchers/", false: "http://127.0.0.1/vouchers/"} {
		_, u := open(t, Config{ConfirmAfter: AtOnce, VoucherDelay: AtOnce, AllowRemote: remote})
		u.book("ref", 0)
		r := u.header("Host", "sandbox:8080").must(voucherPath, object{"customerReferenceNo": "ref"})
		link := r.str("voucher", "downloadUrl")
		failIf(t, !strings.HasPrefix(link, want), "remote %v: %s", remote, link)
	}
}
