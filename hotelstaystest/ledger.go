// The ledger: the record of what the sandbox truly did.

package hotelstaystest

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Request is the record of one request that reached the sandbox. Times are the
// sandbox's clock.
type Request struct {
	Seq        int       // 1 for the first request of the server
	Operation  Operation // empty for a path that names no operation
	Method     string
	Path       string
	Proto      string // "HTTP/1.1" or "HTTP/2.0"
	ClientIP   string
	Arrived    time.Time
	Header     http.Header // a copy; Authorization is replaced by a hash of itself
	BodySHA256 string      // lower-case hex; empty when the body was not read
	BodySize   int

	Status      int       // HTTP status answered; 0 when no answer was begun, or not yet
	Code        int       // code in the envelope answered
	Msg         string    // msg in the envelope answered
	Cut         bool      // the connection or stream was ended instead of a whole answer
	Done        time.Time // when the answer was handed over, or the connection cut; zero while at work
	Executed    bool      // the operation was carried out and succeeded, whatever was answered
	Fault       FaultKind // the fault that acted on the request, or empty
	RequestID   string
	TraceID     string
	SessionID   string
	RateLimited bool // refused by the sandbox's own ceiling (an injected 429 is a fault)
}

// StatusChange is one step of an order's life.
type StatusChange struct {
	Status int
	At     time.Time
}

// Order is the record of an order that the sandbox holds.
type Order struct {
	Account             string // the appKey of the account it belongs to
	CustomerReferenceNo string
	PlatformReferenceNo string
	SupplierReferenceNo string
	ContentKey          string // equal for orders of the same hotel, dates, rooms and guests
	RatePkgID           string
	CallbackURL         string
	CreatedAt           time.Time
	Status              int
	History             []StatusChange // first the status at creation
	Total               string         // net total as the wire has it, such as "120.50 USD"
}

// Cancellation is the record of a cancellation that was carried out.
type Cancellation struct {
	CustomerReferenceNo string
	PlatformReferenceNo string
	Reason              string
	At                  time.Time
	ServiceFee          string // such as "0.00 USD"
}

// Ledger reads the record of a [Server]. Everything it returns is a copy. Counts are
// exact for the server's whole life; the requests themselves are kept up to
// [WithLedgerLimit].
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

// arrive begins the record of a request.
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
	if len(l.requests)-l.limit >= l.limit { // drop the older half at once: amortised, in order
		l.requests = append([]*Request(nil), l.requests[len(l.requests)-l.limit:]...)
	}
	l.requests = append(l.requests, rec)
	return rec
}

// update changes a record under the ledger's lock.
func (l *Ledger) update(rec *Request, change func(*Request)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(rec)
}

// add counts something under the ledger's lock.
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

// Requests returns the requests of an operation in order of arrival; the empty
// operation stands for all.
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

// Count returns how many requests of an operation arrived; the empty operation
// stands for all.
func (l *Ledger) Count(op Operation) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op == "" {
		return l.seq
	}
	return l.counts[op]
}

// Counts returns how many requests of each operation arrived.
func (l *Ledger) Counts() map[Operation]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.counts)
}

// RateLimited returns how many requests of an operation the sandbox's own ceilings
// refused; the empty operation stands for all.
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

// TicketsIssued returns how many tickets were made.
func (l *Ledger) TicketsIssued() int { return l.read(&l.tickets) }

// TokensIssued returns how many OAuth access tokens were made.
func (l *Ledger) TokensIssued() int { return l.read(&l.tokens) }

// BookingsReused returns how many Book calls were answered with the order that
// their reference already had.
func (l *Ledger) BookingsReused() int { return l.read(&l.reused) }

// DuplicatesRefused returns how many Book calls were refused because their content
// was that of an active booking under another reference.
func (l *Ledger) DuplicatesRefused() int { return l.read(&l.duplicates) }

func (l *Ledger) read(counter *int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return *counter
}

// Cancellations returns the cancellations carried out by Cancel, in order.
func (l *Ledger) Cancellations() []Cancellation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Cancellation(nil), l.cancellations...)
}

// Orders returns every order with its state as of now, in the order they were made.
func (l *Ledger) Orders() []Order { return l.orders() }

// OrdersFor returns the orders with this customerReferenceNo: more than one only
// when several accounts used it.
func (l *Ledger) OrdersFor(customerReferenceNo string) []Order {
	var out []Order
	for _, o := range l.orders() {
		if o.CustomerReferenceNo == customerReferenceNo {
			out = append(out, o)
		}
	}
	return out
}

// scrubbed copies a header without its secret.
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
