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

// The transports.
const (
	HTTP1    = "HTTP/1.1"
	TLSHTTP1 = "TLS, HTTP/1.1"
	TLSHTTP2 = "TLS, HTTP/2"
)

// Addresses are where a server answers.
type Addresses struct {
	BaseURLs    map[string]string // by transport
	Certificate []byte            // of both TLS servers, in PEM
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
	return Addresses{map[string]string{HTTP1: plain.URL, TLSHTTP1: one.URL, TLSHTTP2: two.URL}, certificate},
		func() { plain.Close(); one.Close(); two.Close() }
}

// Serve runs a server process: it prints its Addresses to standard output, and ends with its
// standard input.
func Serve() error {
	addresses, _ := Listen(Handler(nil))
	if err := json.NewEncoder(os.Stdout).Encode(addresses); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// Start runs this program with an argument that makes it call Serve. The returned function ends
// the process.
func Start(arg string) (addresses Addresses, stop func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return addresses, nil, err
	}
	cmd := exec.Command(program, arg)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return addresses, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return addresses, nil, err
	}
	if err := cmd.Start(); err != nil {
		return addresses, nil, err
	}
	stop = func() { in.Close(); _ = cmd.Wait() }
	if err := json.NewDecoder(out).Decode(&addresses); err != nil {
		stop()
		return addresses, nil, fmt.Errorf("the addresses of the server process: %w", err)
	}
	return addresses, stop, nil
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
