// The ledger: what the sandbox really did.

package hotelstaystest

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Request is the record of a request.
type Request struct {
	Seq        int       // counted from 1
	Operation  Operation // empty for an unknown path
	Method     string
	Path       string
	Proto      string // "HTTP/1.1" or "HTTP/2.0"
	ClientIP   string
	Arrived    time.Time
	Header     http.Header // Authorization holds a hash of its value
	BodySHA256 string      // lower-case hex; empty when the body was not read
	BodySize   int

	Status      int       // HTTP status of the answer; 0: none, or not yet
	Code        int       // of the envelope
	Msg         string    // of the envelope
	Cut         bool      // the connection or stream ended without a whole answer
	Done        time.Time // when the answer was ready or the connection cut; zero before
	Executed    bool      // the operation succeeded, whatever the answer
	Fault       FaultKind // that acted on the request, or empty
	RequestID   string
	TraceID     string
	SessionID   string
	RateLimited bool // refused by a rate limit, not by an injected 429
}

// StatusChange is an entry of an order's history.
type StatusChange struct {
	Status int
	At     time.Time
}

// Order is the record of an order.
type Order struct {
	Account             string // appKey
	CustomerReferenceNo string
	PlatformReferenceNo string
	SupplierReferenceNo string
	ContentKey          string // equal for orders of the same hotel, dates, rooms and guests
	RatePkgID           string
	CallbackURL         string
	CreatedAt           time.Time
	Status              int
	History             []StatusChange // oldest first
	Total               string         // net, such as "120.50 USD"
}

// Cancellation is the record of a successful Cancel.
type Cancellation struct {
	CustomerReferenceNo string
	PlatformReferenceNo string
	Reason              string
	At                  time.Time
	ServiceFee          string // such as "0.00 USD"
}

// Ledger is the record of a [Server]. Its methods return copies. Counts cover the server's
// whole life; of requests and webhooks it keeps the last ones ([WithLedgerLimit]).
type Ledger struct {
	mu       sync.Mutex
	limit    int
	seq      int
	requests []*Request
	counts   map[Operation]int
	limited  map[Operation]int

	tickets, tokens    int
	reused, duplicates int
	cancellations      []Cancellation
	webhooks           []*Webhook
	orders             func() []Order
}

func newLedger(limit int, orders func() []Order) *Ledger {
	return &Ledger{limit: limit, counts: map[Operation]int{}, limited: map[Operation]int{}, orders: orders}
}

func (l *Ledger) arrive(op Operation, r *http.Request, clientIP string) *Request {
	rec := &Request{
		Operation: op, Method: r.Method, Path: r.URL.Path, Proto: r.Proto, ClientIP: clientIP,
		Header:    scrubbed(r.Header),
		RequestID: r.Header.Get("Request-Id"), TraceID: r.Header.Get("Trace-Id"), SessionID: r.Header.Get("Session-Id"),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	rec.Arrived = time.Now()
	l.seq++
	rec.Seq = l.seq
	l.counts[op]++
	if len(l.requests)-l.limit >= l.limit { // drop the older half at once
		l.requests = append([]*Request(nil), l.requests[len(l.requests)-l.limit:]...)
	}
	l.requests = append(l.requests, rec)
	return rec
}

func (l *Ledger) update(rec *Request, change func(*Request)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(rec)
}

func (l *Ledger) add(counter *int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*counter++
}

func (l *Ledger) rateLimited(rec *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rec.RateLimited = true
	l.limited[rec.Operation]++
}

func (l *Ledger) cancelled(c Cancellation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancellations = append(l.cancellations, c)
}

// Requests returns the requests of an operation in order of arrival. An empty op means
// all.
func (l *Ledger) Requests(op Operation) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.requests[max(0, len(l.requests)-l.limit):]
	var out []Request
	for _, rec := range kept {
		if op == "" || rec.Operation == op {
			c := *rec
			c.Header = rec.Header.Clone()
			out = append(out, c)
		}
	}
	return out
}

// Count returns the number of requests of an operation. An empty op means all.
func (l *Ledger) Count(op Operation) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op == "" {
		return l.seq
	}
	return l.counts[op]
}

// Counts returns the number of requests of each operation.
func (l *Ledger) Counts() map[Operation]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.counts)
}

// RateLimited returns how many requests of an operation a rate limit refused. An empty op
// means all. Injected 429s do not count.
func (l *Ledger) RateLimited(op Operation) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op != "" {
		return l.limited[op]
	}
	n := 0
	for _, c := range l.limited {
		n += c
	}
	return n
}

// TicketsIssued returns the number of tickets issued.
func (l *Ledger) TicketsIssued() int { return l.read(&l.tickets) }

// TokensIssued returns the number of OAuth access tokens issued.
func (l *Ledger) TokensIssued() int { return l.read(&l.tokens) }

// BookingsReused returns how many Book calls returned an order that existed before.
func (l *Ledger) BookingsReused() int { return l.read(&l.reused) }

// DuplicatesRefused returns how many Book calls failed with [CodeDuplicateBooking].
func (l *Ledger) DuplicatesRefused() int { return l.read(&l.duplicates) }

func (l *Ledger) read(counter *int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return *counter
}

// Cancellations returns the successful Cancel calls, oldest first.
func (l *Ledger) Cancellations() []Cancellation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Cancellation(nil), l.cancellations...)
}

// Orders returns every order in its present state, oldest first.
func (l *Ledger) Orders() []Order { return l.orders() }

// OrdersFor returns the orders with this customerReferenceNo, at most one for each
// account.
func (l *Ledger) OrdersFor(customerReferenceNo string) []Order {
	var out []Order
	for _, o := range l.orders() {
		if o.CustomerReferenceNo == customerReferenceNo {
			out = append(out, o)
		}
	}
	return out
}

// scrubbed copies a header and hashes its secret.
func scrubbed(h http.Header) http.Header {
	c := h.Clone()
	for i, v := range c["Authorization"] {
		c["Authorization"][i] = "sha256:" + sha256Hex([]byte(v))
	}
	return c
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
