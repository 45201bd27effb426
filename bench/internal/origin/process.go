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

// Serve is the child's whole life: it tells its addresses on out, and ends when in
// does, which happens at the latest when the parent ends.
func Serve(in io.Reader, out io.Writer) error {
	addresses, _ := Listen(Handler(nil))
	if err := json.NewEncoder(out).Encode(addresses); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, in)
	return err
}

// Start runs this very program with args, which make it call Serve. The returned
// function ends it.
func Start(args ...string) (Addresses, func(), error) {
	var addresses Addresses
	program, err := os.Executable()
	if err != nil {
		return addresses, nil, err
	}
	cmd := exec.Command(program, args...)
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
	stop := func() { in.Close(); _ = cmd.Wait() }
	if err := json.NewDecoder(out).Decode(&addresses); err != nil {
		stop()
		return addresses, nil, fmt.Errorf("the server process told no addresses: %w", err)
	}
	return addresses, stop, nil
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
