// The ledger: what the sandbox really did.

package hotelstaystest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// Request is the record of a request.
type Request struct {
	Seq        int64       `json:"number"`    // counted from 1
	Operation  Operation   `json:"operation"` // empty for an unknown path
	Method     string      `json:"method"`
	Path       string      `json:"path"`
	Proto      string      `json:"proto"` // "HTTP/1.1" or "HTTP/2.0"
	ClientIP   string      `json:"client"`
	Arrived    time.Time   `json:"arrived"`
	Header     http.Header `json:"-"` // Authorization and Cookie hold a hash of their values
	BodySHA256 string      `json:"-"` // lower-case hex; empty when the body was not read
	BodySize   int         `json:"bodySize"`

	Status      int       `json:"status"`        // HTTP status of the answer; 0 as long as there is no answer
	Code        int       `json:"code"`          // code of the envelope
	Msg         string    `json:"msg"`           // msg of the envelope
	Cut         bool      `json:"cut"`           // the connection or stream ended without a whole answer
	Done        time.Time `json:"done,omitzero"` // time at which the answer was ready or the connection was cut; zero before that time
	Executed    bool      `json:"executed"`      // the operation succeeded, even if a fault replaced the answer
	Fault       FaultKind `json:"fault"`         // the fault that acted on the request, or empty
	RequestID   string    `json:"requestId"`
	TraceID     string    `json:"traceId"`
	SessionID   string    `json:"sessionId"`
	RateLimited bool      `json:"rateLimited"` // a rate limit refused the request; false for an injected 429

	// Body and Answer are the bodies of the request and of the answer, cut off after 16 KiB. The ledger masks secrets,
	// passport numbers, birth dates, e-mail addresses and phone numbers in both bodies, but not names. References are the
	// customer references and the ids of orders in both bodies. The ledger keeps References, Body and Answer only with
	// [ControlConfig.Enabled].
	References []string `json:"references"`
	Body       string   `json:"-"`
	Answer     string   `json:"-"`
}

// StatusChange is an entry of an order's history.
type StatusChange struct {
	Status types.OrderStatus `json:"status"`
	At     time.Time         `json:"at"`
}

// LedgerOrder is the record of an order.
type LedgerOrder struct {
	Account             string            `json:"account"` // appKey
	CustomerReferenceNo string            `json:"customerReferenceNo"`
	PlatformReferenceNo string            `json:"platformReferenceNo"`
	SupplierReferenceNo string            `json:"supplierReferenceNo"`
	ContentKey          string            `json:"-"` // equal for orders of the same hotel, dates, rooms and guests
	RatePkgID           string            `json:"ratePkgId"`
	CallbackURL         string            `json:"callbackUrl"`
	CreatedAt           time.Time         `json:"createdAt"`
	Status              types.OrderStatus `json:"status"`
	State               string            `json:"state"`   // Status in words
	History             []StatusChange    `json:"history"` // oldest first
	Total               string            `json:"total"`   // net total, such as "120.50 USD"
}

// LedgerCancellation is the record of a successful Cancel.
type LedgerCancellation struct {
	CustomerReferenceNo string    `json:"customerReferenceNo"`
	PlatformReferenceNo string    `json:"platformReferenceNo"`
	Reason              string    `json:"reason"`
	At                  time.Time `json:"at"`
	ServiceFee          string    `json:"serviceFee"` // such as "0.00 USD"
}

// WebhookState is the state of an event's delivery. The State of a [Webhook] is never empty.
type WebhookState string

// The states of an event's delivery.
const (
	WebhookPending   WebhookState = "pending"   // the delivery has not finished, or Close has stopped it
	WebhookDelivered WebhookState = "delivered" // answered with a 2xx status
	WebhookGivenUp   WebhookState = "given-up"  // the last retry failed
	WebhookDropped   WebhookState = "dropped"   // dropped by FaultDrop
	WebhookRefused   WebhookState = "refused"   // the address is not in CallbackHosts, and is not an allowed loopback address
)

// Webhook is the record of a webhook event and its delivery. Only orders with a callbackUrl have events.
type Webhook struct {
	EventID             string           `json:"eventId"`
	Event               types.EventKind  `json:"event"`
	CustomerReferenceNo string           `json:"customerReferenceNo"`
	PlatformReferenceNo string           `json:"platformReferenceNo"`
	URL                 string           `json:"url"`
	EventTime           time.Time        `json:"eventTime"`
	Body                json.RawMessage  `json:"body"` // the body before FaultAlteredBody changes it
	State               WebhookState     `json:"state"`
	Attempts            []WebhookAttempt `json:"attempts"` // oldest first
}

// WebhookAttempt is the record of an attempt to deliver an event.
type WebhookAttempt struct {
	Started   time.Time `json:"started"`
	Done      time.Time `json:"done,omitzero"` // zero if the attempt has not ended
	Signature string    `json:"-"`             // X-Platform-Signature as sent
	Signed    string    `json:"signature"`     // "valid", "invalid", or "none" when it was not signed
	Status    int       `json:"status"`        // HTTP status of the answer; 0 if there is no answer
	Error     string    `json:"error"`         // reason why there is no answer
	Fault     FaultKind `json:"fault"`         // the fault that acted on the attempt, or empty
	Copy      bool      `json:"copy"`          // true for the copy that FaultDuplicate sends
}

// Ledger is the record of a [Server] since its start or the last [Server.Reset]. Its methods return copies. Its counts
// and its lists of orders and cancellations are complete. Of the requests, webhooks and changed orders it keeps only the
// newest: in all, at most [Config.LedgerLimit]. Times come from the sandbox's clock ([Server.Now]).
type Ledger struct {
	mu            sync.Mutex
	log           eventLog
	requests      int64
	counts        map[Operation]int
	limited       map[Operation]int
	cancellations []LedgerCancellation

	tickets, tokens, reused, duplicates atomic.Int64

	clock  *clock
	orders *orderStore
}

func newLedger(limit int, clock *clock, orders *orderStore) *Ledger {
	return &Ledger{log: newEventLog(limit), counts: map[Operation]int{}, limited: map[Operation]int{}, clock: clock, orders: orders}
}

func (l *Ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.reset()
	l.log.note(EntryReset, l.clock.now())
	l.requests, l.counts, l.limited, l.cancellations = 0, map[Operation]int{}, map[Operation]int{}, nil
	for _, count := range []*atomic.Int64{&l.tickets, &l.tokens, &l.reused, &l.duplicates} {
		count.Store(0)
	}
}

func (l *Ledger) arrive(op Operation, r *http.Request, clientIP string) *record {
	req := &Request{
		Operation: op, Method: r.Method, Path: r.URL.Path, Proto: r.Proto, ClientIP: clientIP,
		Header: scrubbed(r.Header), References: []string{},
		RequestID: r.Header.Get("Request-Id"), TraceID: r.Header.Get("Trace-Id"), SessionID: r.Header.Get("Session-Id"),
	}
	rec := new(record)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	l.counts[op]++
	req.Seq, req.Arrived = l.requests, l.clock.now()
	l.log.put(rec, Entry{At: req.Arrived, Kind: EntryRequest, Request: req})
	return rec
}

// updateRequest calls change with a copy of a request's record, and logs the copy.
func (l *Ledger) updateRequest(rec *record, change func(*Request)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	req := *rec.last.Request
	change(&req)
	l.log.put(rec, Entry{At: l.clock.now(), Kind: EntryRequest, Request: &req})
}

func (l *Ledger) rateLimited(rec *record) {
	l.updateRequest(rec, func(req *Request) {
		req.RateLimited = true
		l.limited[req.Operation]++
	})
}

func (l *Ledger) logOrder(rec *record, o LedgerOrder, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.put(rec, Entry{At: at, Kind: EntryOrder, Order: &o})
}

func (l *Ledger) addWebhook(w Webhook) *record {
	rec := new(record)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.put(rec, Entry{At: w.EventTime, Kind: EntryWebhook, Webhook: &w})
	return rec
}

// updateWebhook calls change with a copy of an event's record, and logs the copy.
func (l *Ledger) updateWebhook(rec *record, change func(*Webhook)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := *rec.last.Webhook
	w.Attempts = slices.Clone(w.Attempts)
	change(&w)
	l.log.put(rec, Entry{At: l.clock.now(), Kind: EntryWebhook, Webhook: &w})
}

func (l *Ledger) findWebhook(eventID string) (*record, Webhook) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, rec := range l.log.of(EntryWebhook) {
		if rec.last.Webhook.EventID == eventID {
			return rec, *rec.last.Webhook
		}
	}
	return nil, Webhook{}
}

func (l *Ledger) cancelled(c LedgerCancellation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancellations = append(l.cancellations, c)
}

func (l *Ledger) note(kind EntryKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.note(kind, l.clock.now())
}

// read returns the entries after a sequence number, at most limit, and a channel that is closed when the next entry
// arrives. A number above the last Seq comes from an earlier server, so read then starts at the first entry. Do not
// change a value to which an entry points.
func (l *Ledger) read(after int64, limit int) (entries []Entry, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after > l.log.seq {
		after = 0
	}
	if l.log.news == nil {
		l.log.news = make(chan struct{})
	}
	return l.log.after(after, limit), l.log.news
}

// Entries returns the entries after a sequence number, oldest first. A program that follows the
// ledger passes the last Seq that it has seen.
func (l *Ledger) Entries(after int64) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.log.after(after, math.MaxInt)
	for i := range out {
		out[i] = out[i].clone()
	}
	return out
}

// LastSeq returns the sequence number of the last entry. [Ledger.Entries] with this number returns
// only later entries.
func (l *Ledger) LastSeq() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.seq
}

// Dropped returns how many entries the ledger dropped, the oldest first, to stay within its
// limits.
func (l *Ledger) Dropped() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.dropped
}

// Requests returns the requests of an operation in order of arrival. With an empty op it returns all requests.
func (l *Ledger) Requests(op Operation) []Request {
	var out []Request
	for _, r := range l.kept() {
		if op == "" || r.Operation == op {
			out = append(out, *Entry{Kind: EntryRequest, Request: r}.clone().Request)
		}
	}
	return out
}

// Count returns the number of requests of an operation. With an empty op it counts all requests.
func (l *Ledger) Count(op Operation) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op == "" {
		return int(l.requests)
	}
	return l.counts[op]
}

// RateLimited returns how many requests of an operation a rate limit refused. With an empty op it counts all
// operations. It does not count HTTP 429 from a [Fault].
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

func (l *Ledger) counted() (all, limited map[Operation]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.counts), maps.Clone(l.limited)
}

// kept returns the requests that the ledger still has, in order of arrival. Callers must not change them.
func (l *Ledger) kept() []*Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*Request
	for _, rec := range l.log.of(EntryRequest) {
		out = append(out, rec.last.Request)
	}
	return out
}

// TicketsIssued returns the number of tickets issued.
func (l *Ledger) TicketsIssued() int { return int(l.tickets.Load()) }

// TokensIssued returns the number of OAuth access tokens issued.
func (l *Ledger) TokensIssued() int { return int(l.tokens.Load()) }

// BookingsReused returns how many Book calls returned an order that existed before.
func (l *Ledger) BookingsReused() int { return int(l.reused.Load()) }

// DuplicatesRefused returns how many Book calls failed with [types.CodeDuplicateBooking].
func (l *Ledger) DuplicatesRefused() int { return int(l.duplicates.Load()) }

// Cancellations returns the successful Cancel calls, oldest first.
func (l *Ledger) Cancellations() []LedgerCancellation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.cancellations)
}

// Orders returns every order in its present state, oldest first.
func (l *Ledger) Orders() []LedgerOrder {
	return l.orders.records(func(st *orderStore) []*order { return st.list })
}

// OrdersFor returns the orders with this customerReferenceNo, at most one for each
// account.
func (l *Ledger) OrdersFor(customerReferenceNo string) []LedgerOrder {
	return l.orders.records(func(st *orderStore) []*order { return st.byCustomer[customerReferenceNo] })
}

// Webhooks returns the events, oldest first.
func (l *Ledger) Webhooks() []Webhook { return l.webhooksOf(func(*Webhook) bool { return true }) }

// WebhooksFor returns the events of the orders with this customerReferenceNo.
func (l *Ledger) WebhooksFor(customerReferenceNo string) []Webhook {
	return l.webhooksOf(func(w *Webhook) bool { return w.CustomerReferenceNo == customerReferenceNo })
}

func (l *Ledger) webhooksOf(wanted func(*Webhook) bool) []Webhook {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Webhook
	for _, rec := range l.log.of(EntryWebhook) {
		if wanted(rec.last.Webhook) {
			out = append(out, *rec.last.clone().Webhook)
		}
	}
	return out
}

// scrubbed returns a copy of a header in which each secret is replaced by its hash.
func scrubbed(h http.Header) http.Header {
	c := h.Clone()
	for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization"} {
		for i, v := range c[name] {
			c[name][i] = "sha256:" + sha256Hex([]byte(v))
		}
	}
	return c
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
