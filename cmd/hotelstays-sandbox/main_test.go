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

	"github.com/stretchr/testify/assert"
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
		want string // part of the error text
	}{
		"address of all interfaces":    {[]string{"-listen", ":8080"}, "1 or localhost, or set -allow-remote"},
		"unknown flag":                 {[]string{"-port", "80"}, "-port"},
		"stray arguments":              {[]string{"serve"}, `"serve"`},
		"time without a unit":          {[]string{"-confirm-after", "20"}, "missing unit"},
		"negative time":                {[]string{"-confirm-after", "-1s"}, "-confirm-after"},
		"certificate file without TLS": {[]string{"-tls-ca", "ca.pem"}, "needs -tls"},
		"certificate name without TLS": {[]string{"-tls-name", "sandbox"}, "-tls-name needs -tls"},
		"missing configuration file":   {[]string{"-config", "/nowhere/config.json"}, "/nowhere"},
		"invalid configuration file":   {[]string{"-config", bad}, "seed"},
		"missing token file":           {[]string{"-control-token-file", "/nowhere/token"}, "/nowhere"},
		"empty token file":             {[]string{"-control-token-file", blank}, "is empty"},
		"callback host with a scheme":  {[]string{"-allow-callback", "http://engine"}, "-allow-callback"},
	} {
		var stderr strings.Builder
		assert.Equal(t, 2, run(t.Context(), tc.args, io.Discard, &stderr), name)
		assert.Contains(t, stderr.String(), tc.want, name)
	}
	var help strings.Builder
	assert.Zero(t, run(t.Context(), []string{"-h"}, io.Discard, &help))
	assert.Contains(t, help.String(), "-listen")
	var version strings.Builder
	assert.Zero(t, run(t.Context(), []string{"-version"}, &version, io.Discard))
	assert.Contains(t, version.String(), "hotelstays-sandbox ")
	args := []string{"-listen", "127.0.0.1:0", "-tls", "-tls-ca", "/nowhere/ca.pem"}
	assert.Equal(t, 1, run(t.Context(), args, io.Discard, io.Discard), "the program cannot write the certificate file")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// start runs the program on a free port until the test ends. It returns the script that the program prints.
func start(t *testing.T, args ...string) (greeting string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"-listen", "127.0.0.1:0"}, args...), in, io.Discard)
		in.Close()
	}()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		assert.Zero(t, <-done)
	})
	text := make([]byte, 4096)
	n, err := out.Read(text)
	require.NoError(t, err)
	return string(text[:n])
}

// runGreeting runs the printed script in a shell in which go and curl only print their arguments. It returns the
// exported variables without the prefix HOTELSTAYS_, and the arguments of go and curl under the keys "go" and "curl".
func runGreeting(t *testing.T, greeting string) map[string]string {
	t.Helper()
	script := exec.CommandContext(t.Context(), "sh", "-eu")
	script.Env = []string{"PATH=" + os.Getenv("PATH")}
	script.Stdin = strings.NewReader(`go() { printf 'go=%s\0' "$*"; }; curl() { printf 'curl='; printf '%s\n' "$@"; printf '\0'; }` +
		"\n" + greeting + "\nenv -0")
	out, err := script.CombinedOutput()
	require.NoError(t, err, "%s in\n%s", out, greeting)
	values := map[string]string{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		values[strings.TrimPrefix(name, "HOTELSTAYS_")] = value
	}
	return values
}

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

func TestProgramPrintsAShellScript(t *testing.T) {
	const city = "White Gate"
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "config.json", `{"accounts":[{"appKey":"it's \"mine\"","appSecret":"$HOME \\"}],"webhooks":{"secret":"a b"}}`)
	jar, _ := cookiejar.New(nil) // with -allow-remote, the page needs the cookie that its URL with the token sets
	insecure := &http.Client{Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer insecure.CloseIdleConnections()
	for name, args := range map[string][]string{
		"plain": nil, "file": {"-config", "config.json"}, "remote": {"-allow-remote"}, "TLS": {"-tls"},
		"certificate": {"-tls", "-tls-ca", "it's a ca.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			greeting := start(t, args...)
			values := runGreeting(t, greeting)
			page := regexp.MustCompile(`(?m)^# Page: (\S+)$`).FindStringSubmatch(greeting)
			require.Len(t, page, 2)
			assert.Equal(t, http.StatusOK, get(t, insecure, page[1]))
			assert.Equal(t, cmp.Or(map[string]string{"file": "a b"}[name], "sandbox-webhook-secret"), values["WEBHOOK_SECRET"])
			client, err := hotelstays.New(values["BASE_URL"], hotelstays.TicketCredential{
				AppKey: values["APP_KEY"], AppSecret: types.NewSecret(values["APP_SECRET"]),
			}, hotelstays.WithHTTPClient(insecure))
			require.NoError(t, err)
			quickstart := "run ./examples/quickstart -destination " + city
			if name == "TLS" { // a Go program needs the certificate file of -tls-ca
				quickstart = ""
			}
			assert.Equal(t, quickstart, values["go"])
			found, err := client.HotelList(t.Context(), &hotelstays.HotelListRequest{
				DestinationName: city, CheckIn: "2040-03-12", CheckOut: "2040-03-15", RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
			})
			require.NoError(t, err)
			assert.NotEmpty(t, found.List)
			curl := strings.Split(strings.TrimSpace(values["curl"]), "\n")
			resp, err := insecure.Post(curl[len(curl)-1], "application/json", strings.NewReader(curl[slices.Index(curl, "-d")+1]))
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, http.StatusOK, resp.StatusCode, curl)
			if name == "certificate" {
				assert.Equal(t, filepath.Join(dir, "it's a ca.pem"), values["SANDBOX_CA"])
				assert.Contains(t, curl, values["SANDBOX_CA"])
			}
		})
	}
}

func TestFlagsOverrideTheConfigurationFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	write(t, file, `{"addr":"127.0.0.1:7","seed":3,"confirmAfter":"1m","tls":true,"tlsNames":["a"],"webhooks":{"callbackHosts":["b"]}}`)
	args := []string{"-config", file, "-listen", "127.0.0.1:8", "-confirm-after", "never", "-tls-name", "c", "-no-control"}
	set, err := parse(args, io.Discard)
	require.NoError(t, err)
	set.config.Control.Page = nil // functions cannot be compared
	assert.Equal(t, hotelstaystest.Config{
		Addr: "127.0.0.1:8", Seed: 3, ConfirmAfter: hotelstaystest.Never, TLS: true, TLSNames: []string{"a", "c"},
		Webhooks: hotelstaystest.WebhookConfig{CallbackHosts: []string{"b"}},
	}, set.config)
	write(t, file, `{"seed":3}`)
	set, err = parse([]string{"-config", file}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, defaultAddr, set.config.Addr)
}

func TestFlagNoControlServesOnlyTheAPI(t *testing.T) {
	greeting := start(t, "-no-control")
	assert.Equal(t, http.StatusNotFound, get(t, http.DefaultClient, runGreeting(t, greeting)["BASE_URL"]+"/_sandbox/"))
	assert.NotContains(t, greeting, "Page")
}

// The sandbox prints the control token, or reads it from a file.
func TestControlAPIRequiresTheControlToken(t *testing.T) {
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
			values, token := runGreeting(t, greeting), "token-from-the-file"
			if name == "made" {
				token = values["CONTROL_TOKEN"]
			} else {
				assert.NotContains(t, greeting, token)
			}
			ledger := values["BASE_URL"] + "/_sandbox/ledger"
			assert.Equal(t, http.StatusUnauthorized, get(t, http.DefaultClient, ledger))
			assert.Equal(t, http.StatusOK, get(t, http.DefaultClient, ledger, "Authorization", "Bearer "+token))
		})
	}
}

func TestServerWithControlAPIRefusesUnknownHostNames(t *testing.T) {
	base := runGreeting(t, start(t, "-control-host", "sandbox"))["BASE_URL"]
	for host, want := range map[string][]int{"sandbox:8080": {200, 405}, "localhost": {200, 405}, "evil.example": {403, 403}} {
		assert.Equal(t, want, []int{
			get(t, http.DefaultClient, base+"/_sandbox/ledger", "Host", host), get(t, http.DefaultClient, base+"/api/auth/ticket", "Host", host),
		}, host)
	}
}

func TestClientTrustsTheCertificateThatFlagTLSCAWrites(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	write(t, file, "an older certificate")
	base := runGreeting(t, start(t, "-tls", "-tls-name", "sandbox", "-tls-name", "192.0.2.7", "-tls-ca", file))["BASE_URL"]
	pem, err := os.ReadFile(file)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(pem), "%s", pem)
	for name, want := range map[string]bool{"127.0.0.1": true, "sandbox": true, "192.0.2.7": true, "localhost": true, "other": false} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}}
		client := &http.Client{Transport: transport}
		if want {
			assert.Equal(t, http.StatusOK, get(t, client, base+"/_sandbox/ledger", "Host", name), name)
		} else if _, err := client.Get(base); err == nil {
			t.Errorf("the certificate has the name %s", name)
		}
		transport.CloseIdleConnections()
	}
}
