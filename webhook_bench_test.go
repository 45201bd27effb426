// Benchmark of the signature check, compared with the bare HMAC.

package hotelstays

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

func BenchmarkSignature(b *testing.B) {
	body := []byte(strings.Repeat("x", 1024))
	secret := []byte("a webhook signing secret")
	stamp := fmt.Sprint(time.Now().Unix())
	sum := func() []byte {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(stamp + "."))
		mac.Write(body)
		return mac.Sum(nil)
	}
	want := sum()

	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !hmac.Equal(sum(), want) {
				b.Fatal("not equal")
			}
		}
	})
	b.Run("checked", func(b *testing.B) {
		header := "t=" + stamp + ",v1=" + hex.EncodeToString(want)
		opts := WebhookOptions{Secrets: []types.Secret{types.NewSecret(string(secret))}, Tolerance: time.Hour}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := checkSignature(body, header, opts); err != nil {
				b.Fatal(err)
			}
		}
	})
}
