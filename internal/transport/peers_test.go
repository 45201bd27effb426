// HTTP/2 peers on loopback that read a whole request, and then fail in a way that the test chooses.

package transport

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// HTTP/2 frame types and error codes of RFC 9113.
const (
	frameData      = 0x0
	frameHeaders   = 0x1
	frameRSTStream = 0x3
	frameSettings  = 0x4
	frameGoAway    = 0x7
	flagAck        = 0x1
	flagEndStream  = 0x1

	codeNo            = 0x0
	codeInternal      = 0x2
	codeRefusedStream = 0x7
)

// peer counts the requests that it has read completely.
type peer struct {
	url   string
	trust *tls.Config // the configuration of a client that trusts the peer
	whole atomic.Int64
}

// http2Peer reads whole requests and calls act after each request. If act returns false, http2Peer closes the connection.
func http2Peer(t *testing.T, act func(conn net.Conn, stream uint32) bool) *peer {
	p, ts := &peer{}, httptest.NewUnstartedServer(nil)
	ts.TLS = &tls.Config{NextProtos: []string{"h2"}}
	ts.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) {
		in := bufio.NewReader(conn)
		if _, err := io.CopyN(io.Discard, in, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
			return
		}
		writeFrame(conn, frameSettings, 0, 0)
		for {
			kind, flags, stream, err := readFrame(in)
			if err != nil {
				return
			}
			switch {
			case kind == frameSettings && flags&flagAck == 0:
				writeFrame(conn, frameSettings, flagAck, 0)
			case (kind == frameData || kind == frameHeaders) && flags&flagEndStream != 0:
				p.whole.Add(1)
				if !act(conn, stream) {
					return
				}
			}
		}
	}}
	ts.StartTLS()
	t.Cleanup(ts.Close)
	p.url, p.trust = ts.URL, ts.Client().Transport.(*http.Transport).TLSClientConfig
	return p
}

func readFrame(in io.Reader) (kind, flags byte, stream uint32, err error) {
	var head [9]byte
	if _, err = io.ReadFull(in, head[:]); err != nil {
		return 0, 0, 0, err
	}
	size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
	_, err = io.CopyN(io.Discard, in, size)
	return head[3], head[4], binary.BigEndian.Uint32(head[5:]) & 0x7fffffff, err
}

// writeFrame writes a frame whose payload consists of 32-bit numbers.
func writeFrame(conn net.Conn, kind, flags byte, stream uint32, payload ...uint32) {
	frame := binary.BigEndian.AppendUint32([]byte{0, 0, byte(4 * len(payload)), kind, flags}, stream)
	for _, number := range payload {
		frame = binary.BigEndian.AppendUint32(frame, number)
	}
	conn.Write(frame)
}

func rst(code uint32) func(net.Conn, uint32) bool {
	return func(conn net.Conn, stream uint32) bool {
		writeFrame(conn, frameRSTStream, 0, stream, code)
		return true
	}
}

// goAway sends a GOAWAY frame. The frame says that the peer has handled no stream above last.
func goAway(last, code uint32) func(net.Conn, uint32) bool {
	return func(conn net.Conn, _ uint32) bool {
		writeFrame(conn, frameGoAway, 0, 0, last, code)
		return false
	}
}
