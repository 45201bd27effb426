// Flags, the greeting, the certificate, and who may use the control API.

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestWrongUsageIsRefused(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "config.json")
	write(t, bad, `{"seed":"x"}`)
	blank := filepath.Join(t.TempDir(), "token")
	write(t, blank, " \t\n")
	for name, tc := range map[string]struct {
		args []string
		want string // in the error
	}{
		"every address":   {[]string{"-listen", ":8080"}, "loopback"},
		"public address":  {[]string{"-listen", "0.0.0.0:8080"}, "loopback"},
		"other machine":   {[]string{"-listen", "192.0.2.1:80"}, "loopback"},
		"unknown flag":    {[]string{"-port", "80"}, "-port"},
		"stray arguments": {[]string{"serve"}, `"serve"`},
		"time":            {[]string{"-confirm-after", "20"}, "missing unit"},
		"negative time":   {[]string{"-confirm-after", "-1s"}, "confirmAfter"},
		"log form":        {[]string{"-log", "xml"}, `"xml"`},
		"certificate":     {[]string{"-tls-ca", "ca.pem"}, "needs -tls"},
		"name":            {[]string{"-tls-name", "sandbox"}, "tlsNames"},
		"no file":         {[]string{"-config", "/nowhere/config.json"}, "/nowhere"},
		"bad file":        {[]string{"-config", bad}, "seed"},
		"no token":        {[]string{"-control-token-file", "/nowhere/token"}, "/nowhere"},
		"blank token":     {[]string{"-control-token-file", blank}, "is empty"},
		"callback":        {[]string{"-allow-callback", "http://engine"}, "callbackHosts"},
	} {
		var stderr strings.Builder
		if got := run(t.Context(), tc.args, io.Discard, &stderr); got != 2 || !strings.Contains(stderr.String(), tc.want) {
			t.Errorf("%s: exit %d, %q", name, got, stderr.String())
		}
	}
	var help strings.Builder
	if got := run(t.Context(), []string{"-h"}, io.Discard, &help); got != 0 || !strings.Contains(help.String(), "-listen") {
		t.Errorf("-h: exit %d, %q", got, help.String())
	}
	args := []string{"-listen", "127.0.0.1:0", "-tls", "-tls-ca", "/nowhere/ca.pem"}
	if got := run(t.Context(), args, io.Discard, io.Discard); got != 1 {
		t.Errorf("a certificate that cannot be written: exit %d", got)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// start runs the program on a free port until the test ends. It returns the greeting.
func start(t *testing.T, args ...string) (greeting string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"-listen", "127.0.0.1:0", "-log", "off"}, args...), in, io.Discard)
		in.Close()
	}()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if got := <-done; got != 0 {
			t.Errorf("exit %d", got)
		}
	})
	text := make([]byte, 4096)
	n, err := out.Read(text)
	require.NoError(t, err)
	return string(text[:n])
}

// said runs a greeting as a shell script, in which go and curl only print their arguments. It returns
// what the script exports without the prefix HOTELSTAYS_, and the arguments as "go" and "curl".
func said(t *testing.T, greeting string) map[string]string {
	t.Helper()
	script := exec.CommandContext(t.Context(), "sh", "-eu")
	script.Env = []string{"PATH=" + os.Getenv("PATH")}
	script.Stdin = strings.NewReader(`go() { printf 'go=%s\0' "$*"; }; curl() { printf 'curl='; printf '%s\n' "$@"; printf '\0'; }` +
		"\n" + greeting + "\nenv -0")
	out, err := script.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s in\n%s", err, out, greeting)
	}
	values := map[string]string{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		values[strings.TrimPrefix(name, "HOTELSTAYS_")] = value
	}
	return values
}

// get returns the status of an answer.
func get(t *testing.T, client *http.Client, url string, header ...string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := client.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	return resp.StatusCode
}

// Each line of the greeting can be pasted into a shell.
func TestGreetingIsAShellScript(t *testing.T) {
	const city = "White Gate"
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "config.json", `{"accounts":[{"appKey":"it's \"mine\"","appSecret":"$HOME \\"}],"webhooks":{"secret":"a b"}}`)
	jar, _ := cookiejar.New(nil) // of the page
	insecure := &http.Client{Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer insecure.CloseIdleConnections()
	for name, args := range map[string][]string{
		"plain": nil, "file": {"-config", "config.json"}, "remote": {"-allow-remote"}, "TLS": {"-tls"},
		"certificate": {"-tls", "-tls-ca", "it's a ca.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			greeting := start(t, args...)
			values := said(t, greeting)
			page := regexp.MustCompile(`(?m)^# Page: (\S+)$`).FindStringSubmatch(greeting)
			if page == nil || get(t, insecure, page[1]) != http.StatusOK {
				t.Errorf("page %q", page)
			}
			if want := map[string]string{"file": "a b"}[name]; values["WEBHOOK_SECRET"] != cmp.Or(want, "sandbox-webhook-secret") {
				t.Errorf("webhook secret %q", values["WEBHOOK_SECRET"])
			}
			client, err := hotelstays.New(values["BASE_URL"], hotelstays.TicketCredential{
				AppKey: values["APP_KEY"], AppSecret: types.NewSecret(values["APP_SECRET"]),
			}, hotelstays.WithHTTPClient(insecure))
			require.NoError(t, err)
			quickstart := "run ./examples/quickstart -destination " + city
			if name == "TLS" { // no file has its certificate
				quickstart = ""
			}
			if values["go"] != quickstart {
				t.Errorf("go %s", values["go"])
			}
			found, err := client.HotelList(t.Context(), &hotelstays.HotelListRequest{
				DestinationName: city, CheckIn: "2040-03-12", CheckOut: "2040-03-15", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
			})
			if err != nil || len(found.List) == 0 {
				t.Errorf("search in %q: %v", city, err)
			}
			curl := strings.Split(strings.TrimSpace(values["curl"]), "\n")
			resp, err := insecure.Post(curl[len(curl)-1], "application/json", strings.NewReader(curl[slices.Index(curl, "-d")+1]))
			require.NoError(t, err)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("curl %q: HTTP %d", curl, resp.StatusCode)
			}
			if file := values["SANDBOX_CA"]; name == "certificate" && (file != filepath.Join(dir, "it's a ca.pem") || !slices.Contains(curl, file)) {
				t.Errorf("certificate in %q; curl %q", file, curl)
			}
		})
	}
}

func TestFlagsOverrideTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	write(t, file, `{"addr":"127.0.0.1:7","seed":3,"confirmAfter":"1m","tls":true,"tlsNames":["a"],"webhooks":{"callbackHosts":["b"]}}`)
	args := []string{"-config", file, "-listen", "127.0.0.1:8", "-confirm-after", "never", "-tls-name", "c", "-no-control"}
	set, err := parse(args, io.Discard)
	require.NoError(t, err)
	c := set.config
	if c.Addr != "127.0.0.1:8" || c.Seed != 3 || c.ConfirmAfter != hotelstaystest.Never || !c.TLS || strings.Join(c.TLSNames, " ") != "a c" ||
		strings.Join(c.Webhooks.CallbackHosts, " ") != "b" || c.Control.Enabled {
		t.Errorf("%+v", c)
	}
	write(t, file, `{"seed":3}`)
	if set, err = parse([]string{"-config", file}, io.Discard); err != nil || set.config.Addr != defaultAddr {
		t.Errorf("without an addr: %+v, %v", set, err)
	}
}

func TestWithoutControl(t *testing.T) {
	greeting := start(t, "-no-control")
	base := said(t, greeting)["BASE_URL"]
	if got := get(t, http.DefaultClient, base+"/_sandbox/"); got != http.StatusNotFound || strings.Contains(greeting, "Page") {
		t.Errorf("HTTP %d, %s", got, greeting)
	}
}

// Another machine needs the token, which is in the greeting or in a file.
func TestControlToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "token-from-the-file\n")
	config := filepath.Join(t.TempDir(), "config.json")
	write(t, config, `{"control":{"token":"token-from-the-file"}}`)
	for name, args := range map[string][]string{
		"made": {"-allow-remote"}, "file": {"-allow-remote", "-control-token-file", file}, "file on loopback": {"-control-token-file", file},
		"configuration": {"-allow-remote", "-config", config},
	} {
		t.Run(name, func(t *testing.T) {
			greeting := start(t, args...)
			values, token := said(t, greeting), "token-from-the-file"
			base := values["BASE_URL"]
			if name == "made" {
				token = values["CONTROL_TOKEN"]
			} else if strings.Contains(greeting, token) {
				t.Errorf("the token of the file is printed:\n%s", greeting)
			}
			for path, want := range map[string]int{"/_sandbox/": 401, "/_sandbox/ledger": 401, "/_sandbox/?token=" + token: 303, "/healthz": 200} {
				noFollow := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
				if got := get(t, noFollow, base+path); got != want {
					t.Errorf("%s: HTTP %d, want %d", path, got, want)
				}
			}
			if got := get(t, http.DefaultClient, base+"/_sandbox/ledger", "Authorization", "Bearer "+token); got != http.StatusOK {
				t.Errorf("with the token: HTTP %d", got)
			}
		})
	}
}

func TestControlHosts(t *testing.T) {
	base := said(t, start(t, "-control-host", "sandbox"))["BASE_URL"]
	for host, want := range map[string]map[string]int{
		"sandbox:8080": {"/_sandbox/ledger": 200, "/api/auth/ticket": 405},
		"localhost":    {"/_sandbox/ledger": 200, "/api/auth/ticket": 405},
		"evil.example": {"/_sandbox/ledger": 403, "/api/auth/ticket": 403},
	} {
		for path, want := range want {
			if got := get(t, http.DefaultClient, base+path, "Host", host); got != want {
				t.Errorf("%s%s: HTTP %d, want %d", host, path, got, want)
			}
		}
	}
}

// A client that trusts the written file reaches the sandbox under each name of the certificate.
func TestCertificateFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	write(t, file, "an older certificate")
	base := said(t, start(t, "-tls", "-tls-name", "sandbox", "-tls-ca", file))["BASE_URL"]
	pem, err := os.ReadFile(file)
	require.NoError(t, err)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatalf("no certificate in %s", pem)
	}
	for name, want := range map[string]bool{"": true, "sandbox": true, "localhost": true, "other": false} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}}
		client := &http.Client{Transport: transport}
		resp, err := client.Get(base + "/healthz")
		if (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
		if err == nil {
			resp.Body.Close()
			if got := get(t, client, base+"/_sandbox/ledger", "Host", cmp.Or(name, "localhost")); got != http.StatusOK {
				t.Errorf("the control API at %q: HTTP %d", name, got)
			}
		}
		transport.CloseIdleConnections()
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".hotelstays*")); len(left) > 0 {
		t.Errorf("left %s", left)
	}
}
