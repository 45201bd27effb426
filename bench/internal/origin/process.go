// The server in a separate process, so that its costs are not those of the clients.

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

// Addresses are the base URLs of a server.
type Addresses struct {
	HTTP1    string // plain HTTP/1.1
	TLSHTTP1 string // TLS, HTTP/1.1
	TLSHTTP2 string // TLS, HTTP/2

	Certificate []byte // of both TLS servers, in PEM
}

// Listen serves on three ports of loopback until it is closed.
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

// Serve runs a server process: it prints its Addresses to standard output, and ends with its
// standard input.
func Serve(where any) error {
	if err := json.NewEncoder(os.Stdout).Encode(where); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// Start runs this program with args, which make it call Serve, and reads its output into
// where. The returned function ends the process.
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

// Trust makes this process trust the server's certificate, so that each client can keep its
// default transport. Call it before the first TLS connection. It does not work on macOS and
// Windows.
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
