// The states of a voucher, its references and its document.

package hotelstaystest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
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
		want := func(status string) *reply {
			t.Helper()
			r := u.must(voucherPath, object{"customerReferenceNo": "ref", "includeDocument": true})
			failIf(t, r.str("status") != status || (r.at("voucher") != nil) != (status == "GENERATED"), "got %s, want %s", r.body, status)
			return r
		}
		downloads := func(status int, link string, headers ...string) []byte {
			t.Helper()
			got, doc := u.download(link, headers...)
			same(t, got, status, link)
			return doc
		}
		want("NOT_GENERATED")
		s.Advance(time.Minute)
		want("PENDING")
		s.Advance(10 * time.Second)
		r := want("GENERATED")
		link := r.str("voucher", "downloadUrl")
		doc := downloads(200, link)
		inline, _ := base64.StdEncoding.DecodeString(r.str("voucher", "content", "base64"))
		failIf(t, !bytes.Equal(doc, inline), "the inline document is another")
		for field, want := range map[string]string{
			"byteSize": strconv.Itoa(len(doc)), "expiresIn": "60", "version": "1", "issuedAt": "2000-01-01T00:01:10Z",
		} {
			same(t, r.str("voucher", field), want, field)
		}
		same(t, r.str("voucher", "signature", "digest"), sha256Hex(doc))
		page := downloads(200, r.str("voucher", "verifyUrl"))
		failIf(t, !bytes.Contains(page, []byte("V000000001, version 1: GENERATED")), "%s", page)
		downloads(400, link, "Authorization", "Bearer "+u.token)
		downloads(403, link+"0") // forged
		s.Advance(time.Minute - 1)
		downloads(200, link)
		s.Advance(1)
		downloads(403, link)

		fresh := want("GENERATED").str("voucher", "downloadUrl")
		s.RegenerateVoucher("ref")
		want("PENDING")
		downloads(410, fresh)
		s.Advance(10 * time.Second)
		second := want("GENERATED")
		failIf(t, second.str("voucher", "version") != "2" || second.str("voucher", "signature", "digest") == sha256Hex(doc),
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
	u.refused(voucherPath, object{}, 400, types.CodeParam, "platformReferenceNo")
	platform, supplier := a.str("hotelOrder", "platformReferenceNo"), a.str("hotelOrder", "supplierReferenceNo")
	for _, tc := range []struct {
		customer, platform, supplier any
		found                        bool
	}{
		{nil, nil, supplier, true}, {nil, platform, supplier, true}, {"a", nil, supplier, true},
		{"none", nil, supplier, false}, {"a", nil, "none", false}, {"b", platform, nil, false}, {"none", nil, nil, false},
	} {
		body := with(object{"customerReferenceNo": tc.customer, "platformReferenceNo": tc.platform, "supplierReferenceNo": tc.supplier}, nil)
		if tc.found {
			same(t, u.must(voucherPath, body).str("customerReferenceNo"), "a")
		} else {
			u.refused(voucherPath, body, 404, types.CodeNotFound, "order not found")
		}
	}
	for name, reference := range map[string]string{"customer": "a", "platform": platform, "supplier": supplier} {
		u.stranger().refused(voucherPath, object{name + "ReferenceNo": reference}, 404, types.CodeNotFound, "order not found")
	}
}

// issued opens a server with a voucher.
func issued(t *testing.T, config Config) *user {
	config.ConfirmAfter, config.VoucherDelay = AtOnce, AtOnce
	_, u := open(t, config)
	u.book("ref", 0)
	return u
}

func TestVoucherSizes(t *testing.T) {
	u := issued(t, Config{VoucherSize: maxInline + 1, UnsignedVouchers: true})
	u.refused(voucherPath, object{"customerReferenceNo": "ref", "includeDocument": true}, 400, types.CodeVoucherTooLarge, "downloadUrl")
	r := u.must(voucherPath, object{"customerReferenceNo": "ref"})
	status, doc := u.download(r.str("voucher", "downloadUrl"))
	failIf(t, status != 200 || len(doc) != maxInline+1 || r.at("voucher", "signature") != nil || r.at("voucher", "content") != nil,
		"HTTP %d, %d bytes; %s", status, len(doc), r.body)
	at := issued(t, Config{VoucherSize: maxInline})
	c := &call{account: at.s.AppKey}
	_, err := runOrderVoucher(at.s, c, &orderVoucherRequest{references: references{CustomerReferenceNo: "ref"}, IncludeDocument: true})
	failIf(t, err != nil, "exactly at the limit: %v", err)
}

// A client elsewhere does not reach the sandbox under its loopback address.
func TestVoucherLinksOfRemoteClients(t *testing.T) {
	for remote, want := range map[bool]string{true: "http://sandbox:8080/vouchers/", false: "http://127.0.0.1/vouchers/"} {
		u := issued(t, Config{AllowRemote: remote})
		link := u.header("Host", "sandbox:8080").must(voucherPath, object{"customerReferenceNo": "ref"}).str("voucher", "downloadUrl")
		failIf(t, !strings.HasPrefix(link, want), "remote %v: %s", remote, link)
	}
}

var (
	pdfForm = regexp.MustCompile(`(?s)^%PDF-1\.4\n.*\n(xref\n0 6\n0000000000 65535 f \n)((?:\d{10} 00000 n \n){5})trailer\n.*\n` +
		`startxref\n(\d+)\n%%EOF\n$`)
	pdfStream = regexp.MustCompile(`(?s)/Length (\d+) >>\nstream\n(.*?)\nendstream`)
)

func TestRenderPDF(t *testing.T) {
	lines := []string{"A line (with brackets) and a \\ backslash", "Ünïcode"}
	natural := len(renderPDF(lines, 0))
	for _, size := range []int{
		0, natural, natural + 1, natural + 2, natural + 99, natural + 100, natural + 101, natural + 102, 5000, 99_990, 100_003, 1 << 20,
	} {
		doc := renderPDF(lines, size)
		failIf(t, !bytes.Equal(doc, renderPDF(lines, size)), "not the same bytes every time")
		same(t, len(doc), max(size, natural))
		parts := pdfForm.FindSubmatchIndex(doc)
		stopIf(t, parts == nil, "%d bytes: %.200q", size, doc)
		same(t, must(strconv.Atoi(string(doc[parts[6]:parts[7]]))), parts[2], "startxref")
		for i, entry := range strings.Split(strings.TrimSuffix(string(doc[parts[4]:parts[5]]), "\n"), "\n") {
			at := must(strconv.Atoi(entry[:10]))
			failIf(t, !bytes.HasPrefix(doc[at:], fmt.Appendf(nil, "%d 0 obj\n", i+1)), "entry %d is %q", i+1, entry)
		}
		stream := pdfStream.FindSubmatch(doc)
		same(t, string(stream[1]), strconv.Itoa(len(stream[2])), "the stream's length")
	}
}
