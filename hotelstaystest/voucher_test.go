package hotelstaystest

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/hotelstays/hotelstays-go/types"
)

// download gets a document. headers are pairs of name and value.
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

// withVoucher starts a server with an order "ref" that has a voucher.
func withVoucher(t *testing.T, config Config) *user {
	config.ConfirmAfter, config.VoucherDelay = AtOnce, AtOnce
	_, u := open(t, config)
	u.book("ref", 0)
	return u
}

func TestVoucherLargerThanMaxInlineIsOnlyDownloaded(t *testing.T) {
	u := withVoucher(t, Config{VoucherSize: maxInline + 1, UnsignedVouchers: true}).plain()
	u.refused(voucherPath, object{"customerReferenceNo": "ref", "includeDocument": true}, 400, types.CodeVoucherTooLarge, "downloadUrl")
	r := u.must(voucherPath, object{"customerReferenceNo": "ref"})
	status, doc := u.download(r.str("voucher", "downloadUrl"))
	failIf(t, status != 200 || len(doc) != maxInline+1 || r.at("voucher", "signature") != nil || r.at("voucher", "content") != nil,
		"HTTP %d, %d bytes; %s", status, len(doc), r.body)
	at := withVoucher(t, Config{VoucherSize: maxInline})
	c := &call{account: at.s.AppKey}
	_, err := runOrderVoucher(at.s, c, &orderVoucherRequest{references: references{CustomerReferenceNo: "ref"}, IncludeDocument: true})
	failIf(t, err != nil, "a document exactly at the limit is refused: %v", err)
}

// A client on another machine cannot use a link with a loopback address.
func TestRemoteClientGetsAVoucherLinkItCanReach(t *testing.T) {
	for remote, want := range map[bool]string{true: "http://sandbox:8080/vouchers/", false: "http://127.0.0.1/vouchers/"} {
		u := withVoucher(t, Config{AllowRemote: remote})
		link := u.header("Host", "sandbox:8080").must(voucherPath, object{"customerReferenceNo": "ref"}).str("voucher", "downloadUrl")
		failIf(t, !strings.HasPrefix(link, want), "remote %v: %s", remote, link)
	}
}

func TestPDFHasTheRequestedSizeAndAllItsObjects(t *testing.T) {
	lines := []string{"A line (with brackets) and a \\ backslash", "Ünïcode"}
	natural := len(renderPDF(lines, 0))
	for _, size := range []int{0, natural, natural + 1, natural + 100, 100_003} {
		doc := renderPDF(lines, size)
		same(t, len(doc), max(size, natural))
		_, stream, _ := bytes.Cut(doc, []byte("stream\n"))
		stream, _, _ = bytes.Cut(stream, []byte("\nendstream"))
		failIf(t, !bytes.Contains(doc, fmt.Appendf(nil, "/Length %d >>", len(stream))), "the stream has %d bytes", len(stream))
		xref := bytes.LastIndex(doc, []byte("xref\n0 6\n"))
		failIf(t, !bytes.HasSuffix(doc, fmt.Appendf(nil, "startxref\n%010d\n%%%%EOF\n", xref)), "%d bytes: %q", size, doc[xref:])
		for i, entry := range bytes.Split(doc[xref:], []byte("\n"))[3:8] { // after the lines xref, 0 6 and the free object
			at := must(strconv.Atoi(string(entry[:10])))
			failIf(t, !bytes.HasPrefix(doc[at:], fmt.Appendf(nil, "%d 0 obj\n", i+1)), "entry %d is %q", i+1, entry)
		}
	}
}
