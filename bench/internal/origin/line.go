// A network between the clients and the server.

package origin

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Line is a simulated network without packet loss: a round-trip time, a rate that all its connections share, and the
// slow start of TCP.
type Line struct {
	RoundTrip time.Duration
	Rate      int // Mbit/s
}

// Near is a line within a data centre. Far is the line of a traveller.
var Near, Far = Line{0, 1000}, Line{50 * time.Millisecond, 200}

func (l Line) String() string {
	return fmt.Sprintf("%d ms, %d Mbit/s", l.RoundTrip.Milliseconds(), l.Rate)
}

const (
	segment       = 8 << 10       // number of bytes that are sent as one piece
	initialWindow = 10 * 1460     // TCP window of a new connection, in bytes
	largestWindow = 32 << 20      // maximum TCP window, in bytes: the limit of the receiver
	idleTimeout   = 200e6         // nanoseconds; after a round trip and this time without data, the TCP window is initialWindow again
	shortQueue    = 2 * 1_000_000 // nanoseconds; if the line needs more time for the waiting bytes, answer waits for the line
)

type shared struct {
	Line
	mu   sync.Mutex
	free time.Time // time at which the line has sent all waiting bytes
}

// through starts a proxy that simulates the line to the server at target. It returns the address of the proxy. Like
// httptest, it panics if no port is free.
func (l Line) through(target string) (address string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	line := &shared{Line: l}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go line.connect(client, target)
		}
	}()
	return listener.Addr().String(), func() { listener.Close() }
}

func (l *shared) connect(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	time.Sleep(l.RoundTrip) // simulates the TCP handshake
	go func() {
		requests := later(server, func(int) {})
		defer close(requests)
		_ = chunks(client, func(b []byte) { requests <- packet{b, time.Now().Add(l.RoundTrip / 2)} })
	}()
	l.answer(client, server)
}

// answer forwards the server's bytes to the client, with the speed of the line and of the TCP window.
func (l *shared) answer(client, server net.Conn) {
	var mu sync.Mutex
	acknowledged := sync.NewCond(&mu)
	window, flight, last := initialWindow, 0, time.Now()
	answers := later(client, func(n int) {
		time.AfterFunc(l.RoundTrip/2, func() {
			mu.Lock()
			flight -= n
			window = min(window+n, largestWindow)
			mu.Unlock()
			acknowledged.Signal()
		})
	})
	defer close(answers)
	_ = chunks(server, func(b []byte) {
		mu.Lock()
		if flight == 0 && time.Since(last) > l.RoundTrip+idleTimeout {
			window = initialWindow
		}
		for flight > 0 && flight+len(b) > window {
			acknowledged.Wait()
		}
		flight += len(b)
		last = time.Now()
		mu.Unlock()
		sent := l.send(len(b))
		answers <- packet{b, sent.Add(l.RoundTrip / 2)}
		if ahead := time.Until(sent); ahead > shortQueue {
			time.Sleep(ahead)
		}
	})
}

// send reserves the line for n bytes. It returns the time at which the line has sent the last byte.
func (l *shared) send(n int) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(n) * 8 * time.Microsecond / time.Duration(l.Rate))
	return l.free
}

// packet holds bytes and the time at which they reach the receiver.
type packet struct {
	bytes []byte
	at    time.Time
}

// later returns a channel for packets. Each packet is written to the connection at the packet's time. After that, the
// function arrived is called with the length of the packet.
func later(to net.Conn, arrived func(n int)) chan<- packet {
	packets := make(chan packet, 1<<14)
	go func() {
		defer to.Close()
		for p := range packets {
			time.Sleep(time.Until(p.at))
			_, _ = to.Write(p.bytes) // if the connection is closed, chunks can no longer read, and then no further packets come
			arrived(len(p.bytes))
		}
	}()
	return packets
}

// chunks calls f with each piece of bytes that it reads, until the read fails.
func chunks(from io.Reader, f func([]byte)) error {
	for {
		b := make([]byte, segment)
		n, err := from.Read(b)
		if n > 0 {
			f(b[:n])
		}
		if err != nil {
			return err
		}
	}
}

// Over returns the key in Addresses.BaseURLs for a transport over a line, such as "TLS, HTTP/2, 50 ms, 200 Mbit/s".
func Over(transport string, line Line) string { return transport + ", " + line.String() }
