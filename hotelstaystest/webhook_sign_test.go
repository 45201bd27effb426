// Signatures, compared with a second implementation of HMAC.

package hotelstaystest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"testing"
	"time"
)

// plainHMAC is HMAC-SHA256 (RFC 2104) for keys of at most 64 bytes.
func plainHMAC(key, text []byte) string {
	inner, outer := bytes.Repeat([]byte{0x36}, 64), bytes.Repeat([]byte{0x5c}, 64)
	for i, k := range key {
		inner[i] ^= k
		outer[i] ^= k
	}
	first := sha256.Sum256(append(inner, text...))
	second := sha256.Sum256(append(outer, first[:]...))
	return hex.EncodeToString(second[:])
}

var signatureForm = regexp.MustCompile(`^t=([0-9]+),v1=([0-9a-f]{64})$`)

// signedAt returns the time of a delivery's signature, or 0 when the signature is wrong.
func signedAt(d delivery, secret string) int64 {
	m := signatureForm.FindStringSubmatch(d.header.Get("X-Platform-Signature"))
	if m == nil || m[2] != plainHMAC([]byte(secret), append([]byte(m[1]+"."), d.body...)) {
		return 0
	}
	var at int64
	fmt.Sscan(m[1], &at)
	return at
}

func TestSignWebhook(t *testing.T) {
	body := []byte(`{"event":"order_paid"}`)
	at := time.Unix(1700000000, 999)
	const want = "t=1700000000,v1=908ff8210b8a9f933df573983cdf7fcc322ffbc67705619911881bac62632066" // from openssl dgst -hmac
	same(t, SignWebhook("golden-secret", at, body), want)
	req := NewWebhookRequest("http://127.0.0.1/x", "golden-secret", at, "evt", body)
	sent, _ := io.ReadAll(req.Body)
	failIf(t, req.Method != "POST" || req.Header.Get("X-Platform-Signature") != want ||
		req.Header.Get("X-Platform-Event-Id") != "evt" || !bytes.Equal(sent, body), "%+v", req)
	bare := NewWebhookRequest("http://127.0.0.1/x", "", at, "", body)
	failIf(t, len(bare.Header.Values("X-Platform-Signature"))+len(bare.Header.Values("X-Platform-Event-Id")) != 0, "%v", bare.Header)
}
