// What the model takes from the SDK beside the transitions of package durable: Book, Cancel, and the rules of absence.

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
	"github.com/hotelstays/hotelstays-go/types"
)

// reply is what the service answers.
type reply int16

// The first three are answers to a poll, the others what becomes of a Book or a Cancel.
const (
	replyNone    reply = iota // the poll finds nothing
	replyOrder                // the poll finds the order
	replyFailed               // the poll fails
	replyMade                 // Book returns the order, or Cancel succeeds
	replyRefused              // Book is refused
	replyLost                 // the answer of Book is lost
	replyUnsent               // it is too late for Book
)

const reference = "ref-1"

var order = `{"customerReferenceNo": "` + reference + `", "platformReferenceNo": "p-1", "supplierReferenceNo": "s-1"}`

// service is a client and its service, which gives the answer that it is told.
type service struct {
	client *hotelstays.Client
	answer reply
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
	case s.answer == replyOrder:
		text = `{"code": 0, "data": {"orders": [` + order + `]}}`
	case s.answer == replyFailed:
		text = `{"code": 100009999, "msg": "failed", "data": null}`
	case s.answer == replyMade:
		text = `{"code": 0, "data": {"hotelOrder": ` + order + `}}`
	case s.answer == replyRefused && strings.HasSuffix(r.URL.Path, "/cancel"):
		text, status = `{"code": 100000400, "msg": "the cutoff has passed", "data": null}`, http.StatusBadRequest
	case s.answer == replyRefused:
		text = `{"code": 100001111, "msg": "the rate has moved", "data": null}`
	case s.answer == replyLost:
		s.end()
		return nil, errors.New("the connection is lost")
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// step is StepRecovery at the time of a recovery's clock.
func (s *service) step(r *hotelstays.BookingRecovery, answer reply) (*hotelstays.BookingOutcome, error) {
	s.answer = answer
	return s.client.StepRecovery(context.Background(), r)
}

// call is the ctx of a call with an answer.
func (s *service) call(answer reply) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	if s.answer, s.end = answer, cancel; answer == replyUnsent {
		cancel()
	}
	return ctx, cancel
}

// book is BookAndRecover, which ends with its Book.
func (s *service) book(answer reply) result {
	ctx, cancel := s.call(answer)
	defer cancel()
	outcome, err := s.client.BookAndRecover(ctx, &hotelstays.BookRequest{SessionID: "session", RatePkgID: "offer",
		CustomerReferenceNo: reference, Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}}})
	return result{outcome, err}
}

// cancel is Cancel.
func (s *service) cancel(answer reply) (*hotelstays.CancelResponse, error) {
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
