// In-memory connections with deadlines: two buffered pipes each. net.Pipe is unbuffered,
// and sockets do not work under testing/synctest.

package hotelstaystest

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

type memListener struct {
	incoming chan net.Conn
	done     chan struct{}
	once     sync.Once
}

func newMemListener() *memListener {
	return &memListener{incoming: make(chan net.Conn), done: make(chan struct{})}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *memListener) Addr() net.Addr { return memAddr("127.0.0.1:80") }

// dial connects to the listener. The parameter from is the client's address.
func (l *memListener) dial(ctx context.Context, from string) (net.Conn, error) {
	up, down := newPipe(), newPipe()
	client := &memConn{in: down, out: up, local: memAddr(from), remote: l.Addr()}
	server := &memConn{in: up, out: down, local: l.Addr(), remote: memAddr(from)}
	select {
	case l.incoming <- server:
		return client, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: l.Addr(), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: l.Addr(), Err: ctx.Err()}
	}
}

// memAddr is an address "ip:port".
type memAddr string

func (a memAddr) Network() string { return "tcp" }
func (a memAddr) String() string  { return string(a) }

type memConn struct {
	in, out       *pipe
	local, remote net.Addr
}

func (c *memConn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *memConn) Write(p []byte) (int, error) { return c.out.write(p) }
func (c *memConn) LocalAddr() net.Addr         { return c.local }
func (c *memConn) RemoteAddr() net.Addr        { return c.remote }

// Close ends both directions of the connection. The peer can still read the bytes that were written before Close.
func (c *memConn) Close() error {
	c.in.closeRead()
	c.out.closeWrite()
	return nil
}

func (c *memConn) SetDeadline(t time.Time) error     { return c.SetReadDeadline(t) }
func (c *memConn) SetReadDeadline(t time.Time) error { c.in.setReadDeadline(t); return nil }
func (c *memConn) SetWriteDeadline(time.Time) error  { return nil } // a write never blocks

// pipe is one direction of a connection, with an unbounded buffer.
type pipe struct {
	mu           sync.Mutex
	changed      *sync.Cond
	buf          []byte
	readClosed   bool
	writeClosed  bool
	readDeadline time.Time
	timer        *time.Timer // wakes a reader at its deadline
}

func newPipe() *pipe {
	p := new(pipe)
	p.changed = sync.NewCond(&p.mu)
	p.timer = time.AfterFunc(time.Hour, p.changed.Broadcast)
	p.timer.Stop()
	return p
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.readClosed:
			return 0, net.ErrClosed
		case past(p.readDeadline):
			return 0, os.ErrDeadlineExceeded
		case len(p.buf) > 0:
			n := copy(b, p.buf)
			p.buf = p.buf[n:]
			if len(p.buf) == 0 {
				p.buf = nil
			}
			return n, nil
		case p.writeClosed:
			return 0, io.EOF
		case len(b) == 0:
			return 0, nil
		}
		p.changed.Wait()
	}
}

func (p *pipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.writeClosed:
		return 0, net.ErrClosed
	case p.readClosed:
		return 0, syscall.EPIPE
	}
	p.buf = append(p.buf, b...)
	p.changed.Broadcast()
	return len(b), nil
}

func (p *pipe) closeRead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readClosed, p.buf = true, nil
	p.timer.Stop()
	p.changed.Broadcast()
}

func (p *pipe) closeWrite() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeClosed = true
	p.changed.Broadcast()
}

func (p *pipe) setReadDeadline(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	p.readDeadline = t
	if !t.IsZero() && !past(t) {
		p.timer.Reset(time.Until(t))
	}
	p.changed.Broadcast()
}

func past(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}
