// Signatures, compared with those of OpenSSL.

package hotelstaystest

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"
)

// signedAt returns the time of a delivery's signature, or 0 when the signature is wrong.
func signedAt(d delivery, secret string) (at int64) {
	sent := d.header.Get("X-Platform-Signature")
	if _, err := fmt.Sscanf(sent, "t=%d,v1=", &at); err != nil || sent != SignWebhook(secret, time.Unix(at, 0), d.body) {
		return 0
	}
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
