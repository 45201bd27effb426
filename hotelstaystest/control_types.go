// The JSON of the control API.

package hotelstaystest

import (
	"net/http"
	"time"
)

type journalRequest struct {
	Request
	Header http.Header `json:"header"`
	Body   string      `json:"body"`
	Answer string      `json:"answer"`
}

// orderDetails is an order with details that LedgerOrder does not have.
type orderDetails struct {
	LedgerOrder
	HotelConfirmNo string     `json:"hotelConfirmNo"`
	VoucherStatus  string     `json:"voucherStatus"`
	VoucherVersion int        `json:"voucherVersion"`
	CancelRule     CancelRule `json:"cancelRule"`
}

func (s *Server) orderDetails(o *order, now time.Time) orderDetails {
	return orderDetails{s.orders.record(o), o.confirmNo, o.voucherStatus(now), o.voucher.version, o.rule}
}

type controlFault struct {
	Fault
	Delay duration `json:"delay,omitzero"`
	Body  *string  `json:"body,omitempty"` // nil: no body; "" is an empty body
}

func (f *controlFault) fault() Fault {
	out := f.Fault
	out.Delay = time.Duration(f.Delay)
	if f.Body != nil {
		out.Body = []byte(*f.Body)
	}
	return out
}

func newControlFault(f Fault) controlFault {
	out := controlFault{Fault: f, Delay: duration(f.Delay)}
	if f.Body != nil {
		out.Body = new(string(f.Body))
	}
	return out
}

// waitingFault is an injected fault with its id. Its Skip and Times are the numbers that remain.
type waitingFault struct {
	ID int `json:"id"`
	controlFault
}

type controlClock struct {
	Now    time.Time `json:"now"`
	Offset duration  `json:"offset"` // time by which Now is ahead of real time
}

// duration is a time.Duration whose JSON is text, such as "3m0s".
type duration time.Duration

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	return err
}
