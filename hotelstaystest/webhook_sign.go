// Webhook signatures, for the sandbox and for tests of receivers.

package hotelstaystest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"
)

const (
	signatureHeader  = "X-Platform-Signature"
	eventIDHeader    = "X-Platform-Event-Id"
	webhookUserAgent = "platform-webhook/1.0"
)

// SignWebhook returns the X-Platform-Signature of a body: "t=<Unix seconds>,v1=<hex>". The
// secret is the webhook signing secret, never the appSecret.
func SignWebhook(secret string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.", at.Unix())
	mac.Write(body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// NewWebhookRequest returns a request like the sandbox's deliveries. Send it with an http.Client, or
// pass it to a handler's ServeHTTP. With an empty secret the request is unsigned. With an empty eventID
// it has no event id. NewWebhookRequest panics if the URL is invalid.
func NewWebhookRequest(url, secret string, at time.Time, eventID string, body []byte) *http.Request {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		panic("hotelstaystest: NewWebhookRequest: " + err.Error())
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", webhookUserAgent)
	if eventID != "" {
		req.Header.Set(eventIDHeader, eventID)
	}
	if secret != "" {
		req.Header.Set(signatureHeader, SignWebhook(secret, at, body))
	}
	return req
}
