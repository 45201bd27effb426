// Callback URLs: which ones are public.

package hotelstays_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestValidateCallbackURL(t *testing.T) {
	good := strings.FieldsSeq(`
		https://hooks.example.com https://hooks.example.com:8443/orders?x=1&y=2#z HTTPS://HOOKS.EXAMPLE.COM/
		https://hooks.example.com./orders https://hooks_1.Example.com/x%20y https://hooks.example.com:65535/x
		https://xn--bcher-kva.example/x https://internal.example.com/x https://local.example.com/x https://localhost.example.com/x
		https://10.example.com/x https://8.8.8.8/x https://100.63.255.255/x https://100.128.0.1/x https://172.15.0.1/x https://172.32.0.1/x
		https://[2a00:1450:4001:81b::200e]/x https://[2001:1::1]/x https://[::ffff:8.8.8.8]/x`)
	for raw := range good {
		assert.NoError(t, hotelstays.ValidateCallbackURL(raw), raw)
	}
	bad := []string{
		"", " ", "https://hooks example.com/x", " https://hooks.example.com/x", "https://hooks.example.com/x ",
		"https://hooks.example.com/or ders",
		"https://hooks.example.com/x?a= b", "https://hooks.example.com\n/x", "https://127.0.0.1\\@hooks.example.com/x",
		"https://hooks.example.com\\@127.0.0.1/x",
		"https://boo\u212Aing.example/x", "https://\u0130nternational.example/x", // lower-cased, they are k and i
	}
	bad = append(bad, strings.Fields(`
		hooks.example.com //hooks.example.com/x /orders https: https:// https:///x https:hooks.example.com https://:443/x
		http://hooks.example.com/x HTTP://hooks.example.com/x ftp://hooks.example.com/x file:///etc/passwd javascript:alert(1) data:,x
		https://hooks.example.com:port/x https://hooks.example.com:65536/x https://8.8.8.8:99999999999999999999/x
		https://hooks.example.com/%zz https://[::1/x`)...)
	for _, hosts := range map[string]string{
		"no host":  "%31%32%37.0.0.1 [not-an-address] hooks..example.com .example.com localhost.. hooks.internal.. .",
		"loopback": "127.0.0.1 127.255.255.254 127.0.0.1:8443 [::1] [0:0:0:0:0:0:0:1] 127.0.0.1.",
		"private": "10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 " +
			"[fc00::1] [fd12:3456:789a::1] [fec0::1]",
		"shared":            "100.64.0.0 100.64.0.1 100.100.100.200 100.127.255.255",
		"link-local":        "169.254.169.254 169.254.0.1 [fe80::1] [febf::1]",
		"of no single host": "0.0.0.0 0.1.2.3 192.0.0.192 [::] 255.255.255.255 224.0.0.1 [ff02::1] 240.0.0.1",
		"IPv4 in another notation": "2130706433 0x7f000001 0X7F000001 017700000001 0x7f.0.0.1 0177.0.0.1 127.1 127.0.1 10.1 0 0x0 " +
			"127.0.0.01 127.0.0.0x1 1.2.3.4.5 256.1.1.1",
		"IPv4 inside IPv6": "[::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1] [::ffff:100.64.0.1] [::127.0.0.1] [::7f00:1] " +
			"[64:ff9b::127.0.0.1] [64:ff9b::a00:1] [64:ff9b::6440:1] [64:ff9b::a9fe:a9fe] [64:ff9b::808:808] [64:ff9b:1::7f00:1] " +
			"[2002:7f00:1::1] [2002:a00:1::1] [2002:c0a8:101::1] [2002:808:808::1] [2001::1] [2001:0:7f00:1::] [::ffff:0:127.0.0.1]",
		"IPv6 with a zone": "[fe80::1%25eth0] [2a00:1450:4001:81b::200e%25eth0] [::1%25lo]",
		"no public name": "localhost LOCALHOST localhost. localhost:8443 app.localhost app.LocalHost. intranet intranet. hooks:8443 " +
			"hooks.internal a.b.internal hooks.INTERNAL hooks.internal. printer.local a.b.Local printer.local.",
		"characters of no host": "hooks<1>.example a,b.example hooks.example! $hooks.example",
		"a look-alike":          "ｌocalhost １２７.0.0.1 127。0。0。1 127%E3%80%820%E3%80%820%E3%80%821 hooks.ınternal",
		"behind userinfo":       "hooks.example.com@127.0.0.1 hooks.example.com:443@10.0.0.1 hooks.example.com%2F@localhost @127.0.0.1",
	} {
		for host := range strings.FieldsSeq(hosts) {
			bad = append(bad, "https://"+host+"/x")
		}
	}
	for _, raw := range bad {
		err := hotelstays.ValidateCallbackURL(raw)
		if assert.Error(t, err, raw) {
			assert.Equal(t, []string{"callbackUrl"}, faultPaths(t, err), raw)
		}
	}
}

// A callback needs a ticket. A static token may be one, an OAuth token is not.
func TestCallbackNeedsATicket(t *testing.T) {
	oauth := hotelstays.OAuthCredential{ClientID: "i", ClientSecret: types.NewSecret("s"), Scopes: []types.Scope{types.ScopeBookingWrite}}
	req := edited(goodBook(), func(r *hotelstays.BookRequest) { r.CallbackURL = "https://hooks.example.test/x" })

	for name, cred := range map[string]hotelstays.Credential{"value": oauth, "pointer": &oauth} {
		t.Run(name, func(t *testing.T) {
			_, err := clientWith(t, noSend{t}, cred).Book(t.Context(), req)
			assert.Equal(t, []string{"callbackUrl"}, faultPaths(t, err))

			service := &fixedAnswer{Status: 403} // without a callback the client asks for a token
			_, err = clientWith(t, service, cred).Book(t.Context(), new(goodBook()))
			require.Error(t, err)
			assert.Len(t, service.Sent, 1)
		})
	}
}

// A loopback base URL allows loopback callbacks, but no other private ones.
func TestCallbackToLoopback(t *testing.T) {
	rows := []struct {
		base, callback string
		ok             bool
	}{
		{"http://127.0.0.1:8080", "http://127.0.0.1:9000/x", true},
		{"http://localhost:8080", "http://[::1]:9000/x", true},
		{"https://[::1]:8443", "https://localhost/x", true},
		{"http://127.0.0.1:8080", "https://hooks.example.test/x", true},
		{"http://127.0.0.1:8080", "http://hooks.example.test/x", false},
		{"http://127.0.0.1:8080", "http://10.0.0.1/x", false},
		{"http://127.0.0.1:8080", "https://intranet/x", false},
		{"http://127.0.0.1:8080", "http://localhost@hooks.example.test/x", false},
		{"http://127.0.0.1:8080", "ftp://localhost/x", false},
		{"https://api.example.test", "http://127.0.0.1:9000/x", false},
		{"https://api.example.test", "https://127.0.0.1:9000/x", false},
		{"https://api.example.test", "https://localhost/x", false},
		{"https://10.0.0.1", "https://10.0.0.2/x", false},
	}
	for _, row := range rows {
		t.Run(row.base+" "+row.callback, func(t *testing.T) {
			service := &fixedAnswer{Status: 403}
			c := clientAt(t, row.base, bearerToken("t"), service, hotelstays.WithMaxAttempts(1))
			_, err := c.Book(t.Context(), edited(goodBook(), func(r *hotelstays.BookRequest) { r.CallbackURL = row.callback }))
			if row.ok {
				assert.Len(t, service.Sent, 1)
				return
			}
			assert.Equal(t, []string{"callbackUrl"}, faultPaths(t, err))
			assert.Empty(t, service.Sent)
		})
	}
}

// An accepted URL is https with a host that net/http can reach and that is no single label.
func FuzzCallbackURL(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw string) {
		err := hotelstays.ValidateCallbackURL(raw)
		if err != nil {
			if _, ok := errors.AsType[*hotelstays.ValidationError](err); !ok {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		req, err := http.NewRequest(http.MethodPost, raw, nil)
		if err != nil || req.URL.Scheme != "https" || !strings.ContainsAny(req.URL.Hostname(), ".:") {
			t.Fatalf("%q is accepted: %v", raw, err)
		}
	})
}
