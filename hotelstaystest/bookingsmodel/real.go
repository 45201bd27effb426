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

// Rules are what the workers of a World decide by. A test replaces one by a broken one, to see that
// the search finds it.
type Rules struct {
	Start        func(b durable.Booking, bookBy time.Time) (durable.Booking, error)
	Booked       func(b durable.Booking, at time.Time, outcome *hotelstays.BookingOutcome, err error) *hotelstays.BookingOutcome
	Polled       func(b durable.Booking, at time.Time, o *hotelstays.BookingOutcome, err error) (durable.Booking, *hotelstays.BookingOutcome)
	Missed       func(b durable.Booking, at time.Time) durable.Booking
	HandOver     func(b durable.Booking, recovery hotelstays.BookingRecovery) (durable.Booking, bool)
	EarlierEnded func(b durable.Booking, at time.Time) (durable.Booking, bool)
	LastBook     func(b durable.Booking) time.Time
	Wake         func(b durable.Booking, now time.Time) (durable.Booking, bool)
	End          func(b durable.Booking, outcome *hotelstays.BookingOutcome) (durable.Booking, bool, error)
	Step         func(r *hotelstays.BookingRecovery, answer Answer) (*hotelstays.BookingOutcome, error)
}

// Real returns the rules of this module.
func Real() *Rules {
	service := newService()
	return &Rules{
		Start:        func(b durable.Booking, bookBy time.Time) (durable.Booking, error) { return b.Start(bookBy) },
		Booked:       durable.Booking.Booked,
		Polled:       durable.Booking.Polled,
		Missed:       durable.Booking.Missed,
		HandOver:     durable.Booking.HandOver,
		EarlierEnded: durable.Booking.EarlierEnded,
		LastBook:     durable.Booking.LastBook,
		Wake:         durable.Booking.Wake,
		End:          durable.Booking.End,
		Step:         service.step,
	}
}

// Answer is what the service answers.
type Answer int16

// The first three are answers to a poll, the others what becomes of a Book.
const (
	NoOrder  Answer = iota // the poll finds nothing
	HasOrder               // the poll finds the order
	Failed                 // the poll fails
	Made                   // Book returns the order
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

// book is BookAndRecover, which ends with its Book.
func (s *service) book(answer Answer) (*hotelstays.BookingOutcome, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if s.answer, s.end = answer, cancel; answer == Unsent {
		cancel()
	}
	return s.client.BookAndRecover(ctx, &hotelstays.BookRequest{SessionID: "session", RatePkgID: "offer", CustomerReferenceNo: reference,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"}, Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}}})
}

// moved returns a recovery with all its times moved.
func moved(r hotelstays.BookingRecovery, by time.Duration) hotelstays.BookingRecovery {
	if !r.EndedAt.IsZero() {
		r.EndedAt = r.EndedAt.Add(by)
	}
	if !r.NextPoll.IsZero() {
		r.NextPoll = r.NextPoll.Add(by)
	}
	return r
}

// movedOutcome returns an outcome with the times of its recovery moved.
func movedOutcome(o *hotelstays.BookingOutcome, by time.Duration) *hotelstays.BookingOutcome {
	if o != nil && o.Recovery != nil {
		r := moved(*o.Recovery, by)
		o.Recovery = &r
	}
	return o
}

// table numbers bookings, so that states are small, and remembers what was computed.
type table struct {
	bookings []durable.Booking
	numbers  map[string]int32
	computed map[key]value
	results  []result
}

// result is what BookAndRecover returned.
type result struct {
	outcome *hotelstays.BookingOutcome
	err     error
}

// key is a computation: its kind, the booking, and two arguments. value is its result.
type (
	key struct {
		kind       string
		booking    int32
		arg, other int16
	}
	value struct {
		booking int32
		other   int16
		ok      bool
	}
)

// number returns the number of a booking.
func (t *table) number(b durable.Booking) int32 {
	text, err := json.Marshal(b)
	if err != nil {
		panic(err)
	}
	id := string(text) + b.Due.String()
	n, known := t.numbers[id]
	if !known {
		n = int32(len(t.bookings))
		t.numbers[id] = n
		t.bookings = append(t.bookings, b)
	}
	return n
}

// once computes what was not computed before.
func (t *table) once(k key, compute func(b durable.Booking) value) value {
	v, known := t.computed[k]
	if !known {
		v = compute(t.bookings[k.booking])
		t.computed[k] = v
	}
	return v
}
