package bench

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// randomText returns a text that may contain quotes, control characters and non-ASCII characters.
func randomText(r *rand.Rand, most int) string {
	text := make([]rune, 1+r.IntN(most))
	for i := range text {
		text[i] = rune(r.IntN([]int{0x80, 0x3000}[r.IntN(2)]))
	}
	return string(text)
}

// randomBody returns the JSON of an event, with random extra fields and white space.
func randomBody(r *rand.Rand) []byte {
	event := map[string]any{"customerReferenceNo": randomText(r, 40), "event": "order_paid", "eventTime": r.Int64N(1 << 50)}
	for range r.IntN(10) {
		event["x"+randomText(r, 10)] = []any{randomText(r, 300), r.Float64(), nil}
	}
	body, err := json.MarshalIndent(event, "", strings.Repeat(" ", r.IntN(3)))
	if err != nil {
		panic(err)
	}
	return append(body, strings.Repeat("\n", r.IntN(3))...)
}

func ours(body []byte, header, secret string) error {
	_, err := hotelstays.VerifyWebhook(body, http.Header{"X-Platform-Signature": {header}},
		hotelstays.VerifyWebhookOptions{Secrets: []types.Secret{types.NewSecret(secret)}})
	return err
}

// Stripe's package and the SDK accept each other's signatures. Both refuse a request if its body, its signature, its time or
// the secret was changed. This test does not test the known differences between the two packages: times in the future,
// empty secrets, signs and spaces in the header, and malformed values besides a good signature.
func TestStripeAndTheSDKAgreeOnSignatures(t *testing.T) {
	r := rand.New(rand.NewPCG(85, 4))
	for i := range 3000 {
		body, secret := randomBody(r), "s"+randomText(r, 60)
		at := time.Now().Add(-time.Duration(r.IntN(280)) * time.Second)
		theirs := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret, Timestamp: at})
		signed := hotelstaystest.SignWebhook(secret, at, body)
		if theirs.Header != signed {
			t.Fatalf("body %d: the package of Stripe signs %q, and the SDK %q", i, theirs.Header, signed)
		}
		agree := func(what string, want bool, body []byte, header, secret string) {
			t.Helper()
			they, we := webhook.ValidatePayload(body, header, secret), ours(body, header, secret)
			if (they == nil) != want || (we == nil) != want {
				t.Fatalf("body %d, %s: accepted should be %t, but Stripe returns %v, and the SDK %v; header %q, body %q",
					i, what, want, they, we, header, body)
			}
		}
		agree("as signed", true, body, signed, secret)
		agree("besides other signatures", true, body, strings.Replace(signed, ",", ",v0=abc,v1="+strings.Repeat("ab", 32)+",", 1), secret)
		agree("another secret", false, body, signed, secret+"x")

		changed := append([]byte(nil), body...)
		changed[r.IntN(len(changed))] ^= 1 << r.IntN(8)
		agree("another body", false, changed, signed, secret)
		agree("a cut body", false, body[:r.IntN(len(body))], signed, secret)

		other := fmt.Sprintf("t=%d,%s", at.Unix()-1, signed[strings.Index(signed, "v1="):])
		agree("another time", false, body, other, secret)
		agree("another signature", false, body, signed[:len(signed)-2]+hex.EncodeToString([]byte{byte(r.IntN(256))}), secret+"y")
		agree("too old", false, body, hotelstaystest.SignWebhook(secret, time.Now().Add(-time.Duration(302+r.IntN(1e6))*time.Second),
			body), secret)
		agree("no signature", false, body, fmt.Sprintf("t=%d", at.Unix()), secret)
		agree("no time", false, body, signed[strings.Index(signed, "v1="):], secret)
	}
}
