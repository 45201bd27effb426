// The server in a separate process, so that its costs are not measured.

package origin

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

// The keys of the transports in Addresses.BaseURLs.
const (
	HTTP1    = "HTTP/1.1"
	TLSHTTP1 = "TLS, HTTP/1.1"
	TLSHTTP2 = "TLS, HTTP/2"
)

// Addresses has the base URLs of the servers, and their TLS certificate.
type Addresses struct {
	BaseURLs    map[string]string // each key is a transport, such as TLSHTTP1, or a result of Over
	Certificate []byte            // of the two TLS servers, in PEM
}

// Listen starts a server for each of the three transports, and a proxy to the TLS servers for each line. The returned
// function closes them.
func Listen(h http.Handler) (Addresses, func()) {
	servers := map[string]*httptest.Server{HTTP1: httptest.NewServer(h)}
	for name, protocol := range map[string]string{TLSHTTP1: "http/1.1", TLSHTTP2: "h2"} {
		s := httptest.NewUnstartedServer(h)
		s.TLS = &tls.Config{NextProtos: []string{protocol, "http/1.1"}} // the server must also serve clients without HTTP/2
		s.EnableHTTP2 = name == TLSHTTP2
		s.StartTLS()
		servers[name] = s
	}
	addresses := Addresses{map[string]string{}, pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: servers[TLSHTTP2].Certificate().Raw})}
	var stops []func()
	for name, s := range servers {
		addresses.BaseURLs[name] = s.URL
		stops = append(stops, s.Close)
		if s.TLS == nil {
			continue
		}
		for _, line := range []Line{Near, Far} {
			address, stop := line.through(s.Listener.Addr().String())
			addresses.BaseURLs[Over(name, line)] = "https://" + address
			stops = append(stops, stop)
		}
	}
	return addresses, func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// Serve is the main function of the process that Start starts. It prints the Addresses to standard output, and serves
// until standard input is closed.
func Serve(struct{}) error {
	addresses, _ := Listen(Handler(nil))
	if err := json.NewEncoder(os.Stdout).Encode(addresses); err != nil {
		return err
	}
	<-chaostest.UntilClosed().Done()
	return nil
}

// Start starts the servers in a second process of this program. The program's main function must pass Serve to
// [chaostest.Main]. The returned function ends the process.
func Start() (addresses Addresses, stop func(), err error) {
	process, err := chaostest.Start(struct{}{})
	if err != nil {
		return addresses, nil, err
	}
	line, err := process.Line()
	if err == nil {
		err = json.Unmarshal([]byte(line), &addresses)
	}
	if err != nil {
		process.Kill()
		return addresses, nil, fmt.Errorf("reading the addresses of the server process: %w", err)
	}
	return addresses, func() { _ = process.Close() }, nil
}

// Trust makes this process trust the server's certificate, so that each client can keep its
// default transport. Call Trust before the first TLS connection. On macOS and Windows, Trust has no
// effect, because Go ignores SSL_CERT_FILE there.
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
