// Answers that faults change.

package hotelstaystest

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"testing"
)

func TestWrongType(t *testing.T) {
	body := []byte(`{"code":0,"data":{"list":[{"rating":4.5,"id":"x"}]}}`)
	for path, want := range map[string]string{
		"":                   `{"code":0,"data":"of the wrong type"}`,
		"code":               `{"code":"of the wrong type","data":{"list":[{"rating":4.5,"id":"x"}]}}`,
		"data.list.0.rating": `{"code":0,"data":{"list":[{"rating":"of the wrong type","id":"x"}]}}`,
		"data.list.0.id":     `{"code":0,"data":{"list":[{"rating":4.5,"id":{"unexpected":true}}]}}`,
		"data.list.5.id":     string(body),
		"data.list.x.id":     string(body),
		"data.none.id":       string(body),
		"code.none":          string(body),
	} {
		var got, wanted any
		err := errors.Join(json.Unmarshal(wrongType(body, path), &got), json.Unmarshal([]byte(want), &wanted))
		failIf(t, err != nil || !reflect.DeepEqual(got, wanted), "%s: %v, want %v (%v)", path, got, wanted, err)
	}
}

func TestVoucherFaults(t *testing.T) {
	s := start(t, Config{NoRateLimits: true, ConfirmAfter: AtOnce, VoucherDelay: AtOnce, VoucherSize: 100_000})
	u := login(t, s)
	u.book("ref", 0)
	honest := u.must(voucherPath, object{"customerReferenceNo": "ref"})
	link, size := honest.str("voucher", "downloadUrl"), honest.str("voucher", "byteSize")
	_, doc := u.download(link)
	stopIf(t, size != strconv.Itoa(len(doc)), "%s bytes are stated, %d sent", size, len(doc))

	s.Inject(Fault{Operation: OpVoucherDownload, Kind: FaultTruncatedBody})
	if status, half := u.download(link); status != 200 || !bytes.Equal(half, doc[:len(doc)/2]) {
		t.Errorf("truncated: HTTP %d, %d bytes", status, len(half))
	}

	s.Inject(Fault{Operation: OpVoucherDownload, Kind: FaultCutMidResponse})
	half, err := u.get(link)
	failIf(t, err == nil || half.status != 200 || half.header.Get("Content-Length") != size || !bytes.Equal(half.body, doc[:len(doc)/2]),
		"cut: HTTP %d, %d bytes, %v, %v", half.status, len(half.body), half.header, err)

	s.Inject(Fault{Operation: OpVoucherDownload, Kind: FaultExpiredLink})
	if status, text := u.download(link); status != 403 || !bytes.Contains(text, []byte("expired")) {
		t.Errorf("expired: HTTP %d, %s", status, text)
	}
	if status, again := u.download(link); status != 200 || !bytes.Equal(again, doc) {
		t.Errorf("afterwards: HTTP %d", status)
	}
}
