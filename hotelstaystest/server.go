// Server: its start and end, and its HTTP clients.

package hotelstaystest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a running sandbox. Create it with [NewServer] or [StartServer]. Its methods are safe
// for concurrent use.
type Server struct {
	// URL is the base URL, without a final slash.
	URL string
	// AppKey and AppSecret are the first account's credentials.
	AppKey, AppSecret string
	// ClientID and ClientSecret are the first OAuth client's credentials.
	ClientID, ClientSecret string
	// WebhookSecret signs webhook deliveries. It is empty if they are unsigned.
	WebhookSecret string

	cfg      Config
	key      []byte // random; it signs tickets, sessions, offers and links
	paths    map[string]*operation
	world    *world
	clock    clock
	limiter  rateLimiter
	faults   *faults
	ledger   *Ledger
	ids      seenIDs
	sessions atomic.Int64 // number of sessions and tokens made
	market   *market
	orders   *orderStore
	agenda   *agenda
	webhooks *webhooks
	masker   *masker
	routes   http.Handler // the handler of the control API
	pages    http.Handler // made by [ControlConfig.Page], or nil
	expired  atomic.Int64 // the number of the last session that ExpireSessions ended
	revoked  atomic.Int64 // the number of the last token that RevokeTokens ended

	httpServer *http.Server
	mem        *memListener // nil without InMemory
	cert       *x509.Certificate
	closing    chan struct{}
	closeOnce  sync.Once
	closeMu    sync.Mutex     // keeps enter and Close from running at the same time
	work       sync.WaitGroup // counts the accept loop, connections, handlers and deliveries that Close waits for

	transportMu sync.Mutex
	transports  map[string]*http.Transport // the key is the client's address
}

// NewServer starts a sandbox, by default over http on a free port of 127.0.0.1. Call Close at the
// end. A nil config means all defaults. NewServer panics if the config is invalid or the address
// cannot be used. [StartServer] returns an error instead.
func NewServer(config *Config) *Server {
	s, err := StartServer(config)
	if err != nil {
		panic(err)
	}
	return s
}

// StartServer is like [NewServer], but returns an error instead of a panic. An error about the config
// matches [ErrInvalidConfig].
func StartServer(config *Config) (*Server, error) {
	if config == nil {
		config = new(Config)
	}
	cfg, err := config.complete()
	if err != nil {
		return nil, err
	}
	s := newServer(cfg)
	if err := s.listen(); err != nil {
		return nil, err
	}
	return s, nil
}

func newServer(cfg Config) *Server {
	s := &Server{
		AppKey: cfg.Accounts[0].AppKey, AppSecret: cfg.Accounts[0].AppSecret,
		ClientID: cfg.OAuthClients[0].ClientID, ClientSecret: cfg.OAuthClients[0].ClientSecret,
		WebhookSecret: cfg.Webhooks.Secret,
		cfg:           cfg, key: make([]byte, 32), paths: map[string]*operation{},
		world: newWorld(cfg.Seed, cfg.Catalog), faults: newFaults(cfg.Seed),
		market: newMarket(), closing: make(chan struct{}), transports: map[string]*http.Transport{},
	}
	rand.Read(s.key)
	s.orders = newOrderStore(s)
	s.agenda = newAgenda(&s.orders.mu)
	s.webhooks = newWebhooks(s)
	s.masker = newMasker(&s.cfg)
	s.ledger = newLedger(cfg.LedgerLimit, &s.clock, s.orders)
	for _, op := range operations() {
		s.paths[op.name.Path()] = &op
	}
	return s
}

func (s *Server) listen() error {
	listener, err := s.newListener()
	if err != nil {
		return err
	}
	s.httpServer = &http.Server{
		Handler:        http.HandlerFunc(s.serve),
		ConnState:      s.trackConn,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       log.New(panicsOnly{os.Stderr}, "hotelstaystest: ", 0),
		ConnContext:    func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	if s.mem == nil {
		s.httpServer.ReadHeaderTimeout, s.httpServer.IdleTimeout = time.Minute, 5*time.Minute
	}
	scheme := "http"
	if s.cfg.TLS {
		scheme = "https"
		cert, err := selfSigned(s.cfg.TLSNames)
		if err != nil {
			listener.Close()
			return fmt.Errorf("hotelstaystest: making a certificate: %w", err)
		}
		s.cert = cert.Leaf
		s.httpServer.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
		s.httpServer.Protocols = s.protocols()
	}
	s.URL = scheme + "://127.0.0.1"
	if s.mem == nil {
		s.URL = scheme + "://" + reachable(listener.Addr().(*net.TCPAddr).AddrPort())
	}
	if s.cfg.Control.Enabled {
		s.routes = s.newRoutes()
	}
	if s.cfg.Control.Page != nil {
		s.pages = s.cfg.Control.Page(s)
	}
	s.webhooks.start()
	s.work.Go(s.runAgenda)
	s.work.Go(func() {
		if s.cfg.TLS {
			s.httpServer.ServeTLS(listener, "", "")
		} else {
			s.httpServer.Serve(listener)
		}
	})
	return nil
}

func (s *Server) newListener() (net.Listener, error) {
	if s.cfg.InMemory {
		s.mem = newMemListener()
		return s.mem, nil
	}
	l, err := net.Listen("tcp", s.cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("hotelstaystest: %w", err)
	}
	return l, nil
}

// reachable returns an address that a client can use: it replaces the address of all interfaces (0.0.0.0 or ::) by
// the loopback address.
func reachable(addr netip.AddrPort) string {
	switch addr.Addr() {
	case netip.IPv4Unspecified(), netip.IPv6Unspecified():
		return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), addr.Port()).String()
	}
	return addr.String()
}

// protocols returns the HTTP versions that the server and its clients use over TLS.
func (s *Server) protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(s.cfg.TLS && !s.cfg.HTTP1Only)
	return p
}

// Close stops the server. It closes all connections, including idle connections of its clients,
// ends delayed answers and webhook deliveries, and waits for every goroutine. It may be called more
// than once.
func (s *Server) Close() {
	s.closeOnce.Do(func() {
		s.closeMu.Lock()
		close(s.closing)
		s.closeMu.Unlock()
		s.webhooks.close()
		s.transportMu.Lock()
		for _, t := range s.transports {
			t.CloseIdleConnections()
		}
		s.transportMu.Unlock()
		s.httpServer.Close()
	})
	s.work.Wait()
}

// panicsOnly passes on only the log lines of net/http about panics, which are bugs of the sandbox. It drops all other
// lines, because faults cause them.
type panicsOnly struct{ to io.Writer }

func (p panicsOnly) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("panic serving")) {
		return p.to.Write(line)
	}
	return len(line), nil
}

// trackConn counts a connection in s.work while it is open, because Close waits for s.work.
func (s *Server) trackConn(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew: // the accept loop makes this call, and s.work counts the loop, so Close cannot return before Add
		s.work.Add(1)
		if s.isClosing() {
			c.Close()
		}
	case http.StateClosed, http.StateHijacked:
		s.work.Done()
	}
}

// enter adds one to s.work, for which Close waits, and returns true. If the server is closing, it returns false.
func (s *Server) enter() bool {
	s.closeMu.Lock()
	defer s.closeMu.Unlock()
	if s.isClosing() {
		return false
	}
	s.work.Add(1)
	return true
}

func (s *Server) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// Client returns an HTTP client of the server. With TLS it trusts the server's certificate, and with
// InMemory it dials in memory. Its transport uses no proxy. All clients with the same IP address
// share the transport.
func (s *Server) Client() *http.Client { return s.ClientFrom("127.0.0.1") }

// ClientFrom is like [Server.Client], but the client has this IP address. Rate limits count per address.
// With InMemory, ip can be any IP address. With sockets, it must be an address of this machine, such
// as 127.0.0.2 on Linux.
func (s *Server) ClientFrom(ip string) *http.Client {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		panic(fmt.Sprintf("hotelstaystest: ClientFrom: %v", err))
	}
	s.transportMu.Lock()
	defer s.transportMu.Unlock()
	t := s.transports[ip]
	if t == nil {
		t = s.newTransport(addr)
		s.transports[ip] = t
	}
	return &http.Client{Transport: t}
}

// Certificate returns the certificate of a server with TLS, or nil.
func (s *Server) Certificate() *x509.Certificate { return s.cert }

func (s *Server) newTransport(from netip.Addr) *http.Transport {
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if s.mem != nil {
				return s.mem.dial(ctx, netip.AddrPortFrom(from, 40000).String())
			}
			var d net.Dialer
			if from.String() != "127.0.0.1" {
				d.LocalAddr = &net.TCPAddr{IP: from.AsSlice()}
			}
			return d.DialContext(ctx, network, addr)
		},
		MaxIdleConnsPerHost: 100,
		IdleConnTimeout:     90 * time.Second,
	}
	if s.cfg.TLS {
		pool := x509.NewCertPool()
		pool.AddCert(s.cert)
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		t.Protocols = s.protocols()
	}
	return t
}

// Inject adds a fault. If several faults match a request, only the fault that was injected
// first acts. Inject panics if the fault is invalid or could never act.
func (s *Server) Inject(f Fault) {
	_, err := s.inject(f)
	panicOn("Inject", err)
}

// Faults returns the faults that can still act, in order of injection. Their Skip and Times are
// the numbers that remain.
func (s *Server) Faults() []Fault {
	var out []Fault
	for _, f := range s.faults.all() {
		f.Header, f.Body = f.Header.Clone(), bytes.Clone(f.Body)
		out = append(out, f.Fault)
	}
	return out
}

// ClearFaults removes all faults.
func (s *Server) ClearFaults() { s.removeFaults(func(injectedFault) bool { return true }) }

// Reset returns the server to its initial state. It drops orders, deliveries, faults, tokens, moved
// and closed rates, the counts of rate limits and the ledger's contents, and sets the clock to real
// time. Configuration, sessions and offers stay. A request in progress may still have its effect
// afterwards, but the ledger does not record it. Reset waits for a running [Server.Advance].
func (s *Server) Reset() {
	s.lock()
	defer s.unlock()
	for s.agenda.advancing {
		s.agenda.changed.Wait()
	}
	s.agenda.ahead = nil
	s.clock.offset.Store(0)
	s.orders.reset()
	s.ledger.reset()
	s.market.reset()
	s.RevokeTokens()
	s.faults.reset(s.cfg.Seed)
	s.limiter.reset()
	s.ids.reset()
}

// Config returns the configuration with all defaults. Its field RateLimits contains every operation with a rate limit,
// including the operations that keep the documented limit.
func (s *Server) Config() Config { return s.cfg.clone() }

// Ledger returns the record of the server's requests, orders and webhooks. It can be read after Close.
func (s *Server) Ledger() *Ledger { return s.ledger }

// ExpireSessions expires every session that exists now, and its offers. Afterwards, only Cancel accepts
// these sessions.
func (s *Server) ExpireSessions() { s.expired.Store(s.sessions.Load()) }

// RevokeTokens revokes every ticket and access token issued so far.
func (s *Server) RevokeTokens() { s.revoked.Store(s.sessions.Load()) }
