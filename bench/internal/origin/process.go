// The server as a process of its own: what the clients cost can only be told apart
// from what the server costs when the two do not share a process.

package origin

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
)

// Addresses are the base URLs of a running server.
type Addresses struct {
	HTTP1    string // plain HTTP/1.1
	TLSHTTP1 string // TLS, HTTP/1.1
	TLSHTTP2 string // TLS, HTTP/2

	Certificate []byte // of both TLS servers, in PEM
}

// Listen serves on three ports of loopback. Closing ends them.
func Listen(h http.Handler) (Addresses, func()) {
	plain := httptest.NewServer(h)
	one := httptest.NewUnstartedServer(h)
	one.TLS = &tls.Config{NextProtos: []string{"http/1.1"}}
	one.StartTLS()
	two := httptest.NewUnstartedServer(h)
	two.EnableHTTP2 = true
	two.StartTLS()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: two.Certificate().Raw})
	return Addresses{plain.URL, one.URL, two.URL, certificate}, func() { plain.Close(); one.Close(); two.Close() }
}

// Serve is a server process's whole life: it tells where it is on standard output, and
// ends when its standard input does, which is at the latest when its parent ends.
func Serve(where any) error {
	if err := json.NewEncoder(os.Stdout).Encode(where); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// Start runs this very program with args, which make it call Serve, and reads what
// that tells into where. The returned function ends the process.
func Start(where any, args ...string) (stop func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() { in.Close(); _ = cmd.Wait() }
	if err := json.NewDecoder(out).Decode(where); err != nil {
		stop()
		return nil, fmt.Errorf("the server process does not tell where it is: %w", err)
	}
	return stop, nil
}

// Trust makes this process accept the server's certificate everywhere, so that each
// client can keep the transport that it has by default. It must come before the
// first TLS connection, and works where certificates come from files: not on macOS
// or Windows.
func Trust(certificate []byte) (undo func(), err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "roots.pem")
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		return nil, err
	}
	return func() { os.RemoveAll(dir) }, os.Setenv("SSL_CERT_FILE", file)
}
