// The JSON of the control API.

package hotelstaystest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

type controlEntry struct {
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Kind    string          `json:"kind"` // "request", "order", "webhook" or a Change
	Request *controlRequest `json:"request,omitempty"`
	Order   *controlOrder   `json:"order,omitempty"`
	Webhook *controlWebhook `json:"webhook,omitempty"`
}

func (s *Server) controlEntry(e Entry) controlEntry {
	out := controlEntry{Seq: e.Seq, At: e.At, Kind: string(e.Change)}
	switch {
	case e.Request != nil:
		r := newControlRequest(e.Request)
		out.Kind, out.Request = "request", &r
	case e.Order != nil:
		o := s.controlOrder(*e.Order)
		out.Kind, out.Order = "order", &o
	case e.Webhook != nil:
		w := s.controlWebhook(*e.Webhook)
		out.Kind, out.Webhook = "webhook", &w
	}
	return out
}

type controlRequest struct {
	Number      int       `json:"number"`
	Operation   Operation `json:"operation"`
	Method      string    `json:"method"`
	Path        string    `json:"path"`
	Proto       string    `json:"proto"`
	Client      string    `json:"client"`
	Arrived     time.Time `json:"arrived"`
	Done        time.Time `json:"done,omitzero"`
	BodySize    int       `json:"bodySize"`
	Status      int       `json:"status"`
	Code        int       `json:"code"`
	Msg         string    `json:"msg"`
	Cut         bool      `json:"cut"`
	Executed    bool      `json:"executed"`
	RateLimited bool      `json:"rateLimited"`
	Fault       FaultKind `json:"fault"`
	RequestID   string    `json:"requestId"`
	TraceID     string    `json:"traceId"`
	SessionID   string    `json:"sessionId"`
	References  []string  `json:"references"` // to orders, in the bodies
}

func newControlRequest(r *Request) controlRequest {
	out := controlRequest{
		Number: r.Seq, Operation: r.Operation, Method: r.Method, Path: r.Path, Proto: r.Proto, Client: r.ClientIP,
		Arrived: r.Arrived, Done: r.Done, BodySize: r.BodySize, Status: r.Status, Code: r.Code, Msg: r.Msg, Cut: r.Cut,
		Executed: r.Executed, RateLimited: r.RateLimited, Fault: r.Fault,
		RequestID: r.RequestID, TraceID: r.TraceID, SessionID: r.SessionID, References: []string{},
	}
	if r.bodies != nil && r.bodies.references != nil {
		out.References = r.bodies.references
	}
	return out
}

// journalRequest is a request with its bodies.
type journalRequest struct {
	controlRequest
	Attempt int         `json:"attempt"` // among the kept requests with the same Trace-Id; 0: it has none
	Header  http.Header `json:"header"`
	Body    string      `json:"body"`
	Answer  string      `json:"answer"`
}

type controlStatus struct {
	Status int       `json:"status"`
	At     time.Time `json:"at"`
}

type controlOrder struct {
	Account             string          `json:"account"`
	CustomerReferenceNo string          `json:"customerReferenceNo"`
	PlatformReferenceNo string          `json:"platformReferenceNo"`
	SupplierReferenceNo string          `json:"supplierReferenceNo"`
	RatePkgID           string          `json:"ratePkgId"`
	CallbackURL         string          `json:"callbackUrl"`
	CreatedAt           time.Time       `json:"createdAt"`
	Status              int             `json:"status"`
	State               string          `json:"state"`
	History             []controlStatus `json:"history"`
	Total               string          `json:"total"`
}

func (s *Server) controlOrder(o Order) controlOrder {
	out := controlOrder{
		Account: o.Account, CustomerReferenceNo: o.CustomerReferenceNo, PlatformReferenceNo: o.PlatformReferenceNo,
		SupplierReferenceNo: o.SupplierReferenceNo, RatePkgID: o.RatePkgID, CallbackURL: o.CallbackURL,
		CreatedAt: o.CreatedAt, Status: o.Status, State: s.stateName(o.Status), Total: o.Total,
	}
	for _, change := range o.History {
		out.History = append(out.History, controlStatus(change))
	}
	return out
}

// stateName is the word for a status.
func (s *Server) stateName(status int) string {
	switch n := s.cfg.Variants.OrderStatusNumbers; status {
	case statusUnknown:
		return "unknown"
	case statusConfirming:
		return "confirming"
	case n.Confirmed:
		return "confirmed"
	case n.Cancelled:
		return "cancelled"
	case n.Pending:
		return "pending"
	}
	return fmt.Sprintf("status %d", status)
}

// orderDetails is an order with what its ledger record does not have.
type orderDetails struct {
	controlOrder
	HotelConfirmNo string     `json:"hotelConfirmNo"`
	HotelID        string     `json:"hotelId"`
	HotelName      string     `json:"hotelName"`
	CheckIn        string     `json:"checkIn"`
	CheckOut       string     `json:"checkOut"`
	Holder         string     `json:"holder"`
	Guests         []string   `json:"guests"`
	VisibleAt      time.Time  `json:"visibleAt"` // to QueryOrders
	VoucherStatus  string     `json:"voucherStatus"`
	VoucherVersion int        `json:"voucherVersion"`
	CancelRule     CancelRule `json:"cancelRule"`
	CancelReason   string     `json:"cancelReason"`
}

func (s *Server) orderDetails(o *order, now time.Time) orderDetails {
	out := orderDetails{
		controlOrder: s.controlOrder(o.record()), HotelConfirmNo: o.confirmNo,
		HotelID: sourceID(o.offer.supplier, o.offer.hotel), HotelName: s.world.hotelName(o.offer.hotel).En,
		CheckIn: o.offer.checkIn.Format(dateForm), CheckOut: o.offer.checkOut().Format(dateForm),
		Holder: o.holder.FirstName + " " + o.holder.LastName, Guests: []string{},
		VisibleAt: o.visible, VoucherStatus: o.voucherStatus(now), VoucherVersion: o.voucher.version,
		CancelRule: o.rule, CancelReason: o.cancelReason,
	}
	for _, g := range o.guests {
		out.Guests = append(out.Guests, g.FirstName+" "+g.LastName)
	}
	return out
}

type controlWebhook struct {
	EventID             string            `json:"eventId"`
	Event               types.WebhookKind `json:"event"`
	CustomerReferenceNo string            `json:"customerReferenceNo"`
	PlatformReferenceNo string            `json:"platformReferenceNo"`
	URL                 string            `json:"url"`
	EventTime           time.Time         `json:"eventTime"`
	Body                string            `json:"body"`
	State               WebhookState      `json:"state"`
	Attempts            []controlAttempt  `json:"attempts"`
}

type controlAttempt struct {
	Started   time.Time `json:"started"`
	Done      time.Time `json:"done,omitzero"`
	Status    int       `json:"status"`
	Error     string    `json:"error"`
	Fault     FaultKind `json:"fault"`
	Copy      bool      `json:"copy"`
	Signature string    `json:"signature"` // "valid", "invalid", or "none" when it was not signed
}

func (s *Server) controlWebhook(w Webhook) controlWebhook {
	out := controlWebhook{
		EventID: w.EventID, Event: w.Event, CustomerReferenceNo: w.CustomerReferenceNo, PlatformReferenceNo: w.PlatformReferenceNo,
		URL: w.URL, EventTime: w.EventTime, Body: string(w.Body), State: w.State, Attempts: []controlAttempt{},
	}
	for _, a := range w.Attempts {
		out.Attempts = append(out.Attempts, controlAttempt{a.Started, a.Done, a.Status, a.Error, a.Fault, a.Copy, s.checkSignature(w.Body, a)})
	}
	return out
}

// checkSignature checks the signature of an attempt as a receiver does.
func (s *Server) checkSignature(body []byte, a WebhookAttempt) string {
	if a.Signature == "" {
		return "none"
	}
	at, _, _ := strings.Cut(strings.TrimPrefix(a.Signature, "t="), ",")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || a.Fault == FaultAlteredBody || !sameText(a.Signature, SignWebhook(s.WebhookSecret, time.Unix(seconds, 0), body)) {
		return "invalid"
	}
	return "valid"
}

// controlFault is a fault as a client sends it.
type controlFault struct {
	Operation      Operation   `json:"operation,omitempty"`
	Kind           FaultKind   `json:"kind"`
	Reference      string      `json:"reference,omitempty"`
	Skip           int         `json:"skip,omitempty"`
	Times          int         `json:"times,omitempty"`
	Probability    float64     `json:"probability,omitempty"`
	Commit         bool        `json:"commit,omitempty"`
	Delay          duration    `json:"delay,omitzero"`
	Status         int         `json:"status,omitempty"`
	Code           int         `json:"code,omitempty"`
	Msg            string      `json:"msg,omitempty"`
	RetryAfter     string      `json:"retryAfter,omitempty"`
	Header         http.Header `json:"header,omitempty"`
	Body           *string     `json:"body,omitempty"` // "" is a body, too
	Field          string      `json:"field,omitempty"`
	BytesPerSecond int         `json:"bytesPerSecond,omitempty"`
}

func (f *controlFault) fault() Fault {
	out := Fault{
		Operation: f.Operation, Kind: f.Kind, Reference: f.Reference, Skip: f.Skip, Times: f.Times, Probability: f.Probability,
		Commit: f.Commit, Delay: time.Duration(f.Delay), Status: f.Status, Code: f.Code, Msg: f.Msg, RetryAfter: f.RetryAfter,
		Header: f.Header, Field: f.Field, BytesPerSecond: f.BytesPerSecond,
	}
	if f.Body != nil {
		out.Body = []byte(*f.Body)
	}
	return out
}

func newControlFault(f Fault) controlFault {
	out := controlFault{
		Operation: f.Operation, Kind: f.Kind, Reference: f.Reference, Skip: f.Skip, Times: f.Times, Probability: f.Probability,
		Commit: f.Commit, Delay: duration(f.Delay), Status: f.Status, Code: f.Code, Msg: f.Msg, RetryAfter: f.RetryAfter,
		Header: f.Header, Field: f.Field, BytesPerSecond: f.BytesPerSecond,
	}
	if f.Body != nil {
		body := string(f.Body)
		out.Body = &body
	}
	return out
}

// waitingFault is a fault with its number. Skip and Times are what is left of them.
type waitingFault struct {
	ID int `json:"id"`
	controlFault
}

type controlDue struct {
	At        time.Time `json:"at"`
	Kind      DueKind   `json:"kind"`
	Reference string    `json:"reference"`
	Attempt   int       `json:"attempt"`
}

type controlClock struct {
	Now    time.Time    `json:"now"`
	Offset duration     `json:"offset"` // from real time
	Done   []controlDue `json:"done,omitempty"`
}

// duration is a time.Duration that JSON has as text, such as "3m0s".
type duration time.Duration

// MarshalText returns the text of [time.Duration.String].
func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads text for [time.ParseDuration].
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	return err
}
