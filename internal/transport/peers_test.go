// Peers that misbehave: servers of HTTP/1.1 and HTTP/2 on loopback that read a whole request, and then fail in a way that
// the test chooses.

package transport

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// peer counts the requests that it has read completely.
type peer struct {
	url   string
	whole atomic.Int64
}

// testTLS returns the TLS configurations of a server and a client with httptest's own certificate.
func testTLS(t *testing.T) (server, client *tls.Config) {
	ts := httptest.NewTLSServer(nil)
	defer ts.Close()
	return &tls.Config{Certificates: ts.TLS.Certificates}, ts.Client().Transport.(*http.Transport).TLSClientConfig
}

func serve(t *testing.T, l net.Listener, handle func(net.Conn)) {
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
}

func listen(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// http1 reads requests and calls act after each request. If act returns false, http1 closes the connection.
func http1(t *testing.T, act func(net.Conn) bool) *peer {
	p := &peer{}
	l := listen(t)
	p.url = "http://" + l.Addr().String()
	serve(t, l, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			p.whole.Add(1)
			if !act(conn) {
				return
			}
		}
	})
	return p
}

func reset(conn net.Conn) bool {
	conn.(*net.TCPConn).SetLinger(0)
	return false
}

func answer(text string) func(net.Conn) bool {
	return func(conn net.Conn) bool {
		_, err := io.WriteString(conn, text)
		return err == nil
	}
}

// HTTP/2 frame types and error codes of RFC 9113.
const (
	frameData      = 0x0
	frameHeaders   = 0x1
	frameRSTStream = 0x3
	frameSettings  = 0x4
	frameGoAway    = 0x7
	flagAck        = 0x1
	flagEndStream  = 0x1

	codeNo             = 0x0
	codeProtocol       = 0x1
	codeInternal       = 0x2
	codeRefusedStream  = 0x7
	codeCancel         = 0x8
	codeEnhanceYourCal = 0xb
)

// http2Peer reads whole requests over TLS and calls act after each request. If act returns false, http2Peer closes the
// connection.
func http2Peer(t *testing.T, act func(w *frameWriter, stream uint32) bool) (*peer, *tls.Config) {
	server, client := testTLS(t)
	server.NextProtos = []string{"h2"}
	l := tls.NewListener(listen(t), server)
	p := &peer{url: "https://" + l.Addr().String()}
	serve(t, l, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		if _, err := io.CopyN(io.Discard, in, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
			return
		}
		w := &frameWriter{conn}
		w.frame(frameSettings, 0, 0, nil)
		for {
			kind, flags, stream, err := readFrame(in)
			if err != nil {
				return
			}
			switch {
			case kind == frameSettings && flags&flagAck == 0:
				w.frame(frameSettings, flagAck, 0, nil)
			case (kind == frameData || kind == frameHeaders) && flags&flagEndStream != 0:
				p.whole.Add(1)
				if !act(w, stream) {
					return
				}
			}
		}
	})
	return p, client
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

type frameWriter struct{ conn net.Conn }

func (w *frameWriter) frame(kind, flags byte, stream uint32, payload []byte) {
	var b bytes.Buffer
	b.Write([]byte{0, 0, byte(len(payload)), kind, flags})
	binary.Write(&b, binary.BigEndian, stream)
	b.Write(payload)
	w.conn.Write(b.Bytes())
}

func rst(code uint32) func(*frameWriter, uint32) bool {
	return func(w *frameWriter, stream uint32) bool {
		w.frame(frameRSTStream, 0, stream, binary.BigEndian.AppendUint32(nil, code))
		return true
	}
}

// goAway sends a GOAWAY frame. The frame says that the peer has handled no stream above last.
func goAway(last, code uint32) func(*frameWriter, uint32) bool {
	return func(w *frameWriter, _ uint32) bool {
		w.frame(frameGoAway, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), code))
		return false
	}
}
