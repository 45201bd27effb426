// What the model takes from the SDK: the transitions of package durable, and the rules of absence.

package bookingsmodel

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// Rules are what the workers of a World decide by, as far as a test replaces one by a broken one, to
// see that the search finds it.
type Rules struct {
	Start    func(b durable.Booking, bookBy time.Time) (durable.Booking, error)
	Booked   func(b durable.Booking, at time.Time, outcome *hotelstays.BookingOutcome, err error) *hotelstays.BookingOutcome
	Polled   func(b durable.Booking, at time.Time, o *hotelstays.BookingOutcome, err error) (durable.Booking, *hotelstays.BookingOutcome)
	LastBook func(b durable.Booking) time.Time
	Wake     func(b durable.Booking, now time.Time) (durable.Booking, bool)
	End      func(b durable.Booking, outcome *hotelstays.BookingOutcome) (durable.Booking, bool, error)
	Step     func(r *hotelstays.BookingRecovery, answer Answer) (*hotelstays.BookingOutcome, error)

	StartCancel func(c durable.Cancellation, at, sendBy time.Time, o *types.Order, s hotelstays.OrderStates) (durable.Cancellation, error)
	Answered    func(c durable.Cancellation, at time.Time, r *hotelstays.CancelResponse, err error,
		s hotelstays.OrderStates) durable.Cancellation
	Read func(c durable.Cancellation, at time.Time, o *types.Order, s hotelstays.OrderStates) durable.Cancellation
}

// Real returns the rules of this module.
func Real() *Rules {
	service := newService()
	return &Rules{
		Start:       func(b durable.Booking, bookBy time.Time) (durable.Booking, error) { return b.Start(bookBy) },
		Booked:      durable.Booking.Booked,
		Polled:      durable.Booking.Polled,
		LastBook:    durable.Booking.LastBook,
		Wake:        durable.Booking.Wake,
		End:         durable.Booking.End,
		Step:        service.step,
		StartCancel: durable.Cancellation.Start,
		Answered:    durable.Cancellation.Answered,
		Read:        durable.Cancellation.Read,
	}
}

// Answer is what the service answers.
type Answer int16

// The first three are answers to a poll, the others what becomes of a Book or a Cancel.
const (
	NoOrder  Answer = iota // the poll finds nothing
	HasOrder               // the poll finds the order
	Failed                 // the poll fails
	Made                   // Book returns the order, or Cancel succeeds
	Refused                // Book is refused
	Lost                   // the answer of Book is lost
	Unsent                 // it is too late for Book
)

const reference = "ref-1"

var order = `{"customerReferenceNo": "` + reference + `", "platformReferenceNo": "p-1", "supplierReferenceNo": "s-1"}`

// service is a client and its service, which gives the answer that it is told.
type service struct {
	client *hotelstays.Client
	answer Answer
	end    context.CancelFunc
}

func newService() *service {
	s := &service{}
	client, err := hotelstays.New("https://service.example.com",
		hotelstays.TicketCredential{AppKey: "key", AppSecret: types.NewSecret("secret")},
		hotelstays.WithHTTPClient(&http.Client{Transport: s}), hotelstays.WithRateLimiter(unlimited{}))
	if err != nil {
		panic(err)
	}
	s.client = client
	return s
}

type unlimited struct{}

func (unlimited) Acquire(context.Context, hotelstays.RateLimitKey) (hotelstays.Permit, error) {
	return nil, nil //nolint:nilnil // a nil permit is allowed
}

func (unlimited) Pause(hotelstays.RateLimitKey, time.Time) {}

// RoundTrip answers a request.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	text, status := `{"code": 0, "data": {"orders": []}}`, http.StatusOK
	switch {
	case strings.Contains(r.URL.Path, "ticket"):
		text = `{"code": 0, "data": {"ticket": "ticket", "ttl": 31536000}}`
	case s.answer == HasOrder:
		text = `{"code": 0, "data": {"orders": [` + order + `]}}`
	case s.answer == Failed:
		text = `{"code": 100009999, "msg": "failed", "data": null}`
	case s.answer == Made:
		text = `{"code": 0, "data": {"hotelOrder": ` + order + `}}`
	case s.answer == Refused && strings.HasSuffix(r.URL.Path, "/cancel"):
		text, status = `{"code": 100000400, "msg": "the cutoff has passed", "data": null}`, http.StatusBadRequest
	case s.answer == Refused:
		text = `{"code": 100001111, "msg": "the rate has moved", "data": null}`
	case s.answer == Lost:
		s.end()
		return nil, errors.New("the connection is lost")
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// step is StepRecovery at the time of a recovery's clock.
func (s *service) step(r *hotelstays.BookingRecovery, answer Answer) (*hotelstays.BookingOutcome, error) {
	s.answer = answer
	return s.client.StepRecovery(context.Background(), r)
}

// call is the ctx of a call with an answer.
func (s *service) call(answer Answer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	if s.answer, s.end = answer, cancel; answer == Unsent {
		cancel()
	}
	return ctx, cancel
}

// book is BookAndRecover, which ends with its Book.
func (s *service) book(answer Answer) result {
	ctx, cancel := s.call(answer)
	defer cancel()
	outcome, err := s.client.BookAndRecover(ctx, &hotelstays.BookRequest{SessionID: "session", RatePkgID: "offer",
		CustomerReferenceNo: reference, Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}}})
	return result{outcome, err}
}

// cancel is Cancel.
func (s *service) cancel(answer Answer) (*hotelstays.CancelResponse, error) {
	ctx, cancel := s.call(answer)
	defer cancel()
	return s.client.Cancel(ctx, &hotelstays.CancelRequest{SessionID: "session", CustomerReferenceNo: reference, SupplierReferenceNo: "s-1"},
		hotelstays.WithTraceID("trace"), hotelstays.WithRequestID(func(context.Context) string { return "id" })) // stored with a refusal
}

// move moves times, if they are set.
func move(by time.Duration, times ...*time.Time) {
	for _, t := range times {
		if !t.IsZero() {
			*t = t.Add(by)
		}
	}
}

// movedOutcome returns an outcome with the times of its recovery moved.
func movedOutcome(o *hotelstays.BookingOutcome, by time.Duration) *hotelstays.BookingOutcome {
	if o != nil && o.Recovery != nil {
		move(by, &o.Recovery.EndedAt, &o.Recovery.NextPoll)
	}
	return o
}

// table numbers rows, so that states are small, and remembers what was computed.
type table[Row any] struct {
	rows     []Row
	numbers  map[string]int32
	computed map[key]value
	due      func(Row) time.Time // which is not in its JSON
}

func newTable[Row any](due func(Row) time.Time) table[Row] {
	return table[Row]{numbers: map[string]int32{}, computed: map[key]value{}, due: due}
}

// key is a computation: its kind, the row, and two arguments. value is its result.
type (
	key struct {
		kind       string
		row        int32
		arg, other int16
	}
	value struct {
		row   int32
		other int16
		ok    bool
	}
)

// number returns the number of a row.
func (t *table[Row]) number(row Row) int32 {
	text, err := json.Marshal(row)
	if err != nil {
		panic(err)
	}
	id := string(text) + t.due(row).String()
	n, known := t.numbers[id]
	if !known {
		n = int32(len(t.rows))
		t.numbers[id] = n
		t.rows = append(t.rows, row)
	}
	return n
}

// once computes what was not computed before.
func (t *table[Row]) once(k key, compute func(Row) value) value {
	v, known := t.computed[k]
	if !known {
		v = compute(t.rows[k.row])
		t.computed[k] = v
	}
	return v
}
