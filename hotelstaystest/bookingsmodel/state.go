// A state: the order at the service, what each worker does, and the time, which jumps to when something may
// change by it. And what the model takes from the SDK beside the transitions of package durable: Book, Cancel,
// and the rules of absence.

package bookingsmodel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

// state is a state of the world. Its times, also those of its bookings, are seconds from now, so that
// states that differ in nothing but the time are one.
type state struct {
	skew      int16 // of the second worker
	row       int32 // the stored booking
	round     uint8
	called    bool // the caller's Send of this round came
	delivered uint8
	told      ending // what was delivered last in this round
	books     [2]book
	workers   [2]worker
	faults    uint8 // that are left, as are these
	wakes     uint8
	acts      uint8

	// Only around a cancellation, whose Cancel is the first of books:
	order   uint8 // its status; 0 while it does not show
	shownBy int16
	left    uint8 // Cancels
	live    bool  // OnCancel has not received how it ended
}

// book is a Book that may make an order, or has made it.
type book struct {
	is bookIs
	by int16 // when it is shown at the latest
}

type bookIs uint8

const (
	noBook bookIs = iota
	flying        // it may arrive
	made          // the order exists
	shown         // QueryOrders returns it
)

// worker is a process that books or polls.
type worker struct {
	does  does
	fresh bool  // the row has not changed since it was read
	still bool  // it stands still while time passes
	mine  int8  // the Book that is under way
	final uint8 // the ending that it will store, the result of Book, or what became of its Cancel
	read  int32 // the booking that it has read
	next  int32 // the booking that it will store, or has a recovery for itself
	at    int16 // a time of its clock
}

type does uint8

const (
	nothing does = iota
	startsBook
	sends
	awaits   // the answer of Book
	recovers // polls by itself, after Book
	endsBook
	polls
	stores // what a poll says
)

// ending is a durable.Ending.
type ending uint8

var endings = []durable.Ending{"", durable.EndingFound, durable.EndingAbsent, durable.EndingFailed, durable.EndingAbandoned}

const (
	found  ending = 1
	absent ending = 2
	failed ending = 3
)

// outcomes are what is delivered.
var outcomes = []*hotelstays.BookingOutcome{found: {State: hotelstays.BookingFound}, absent: {State: hotelstays.BookingAbsent},
	failed: {State: hotelstays.BookingAbsent, Err: hotelstays.ErrRateChanged}}

// before orders workers.
func (a worker) before(b worker) bool {
	if a.does != b.does {
		return a.does > b.does
	}
	if a.still != b.still || a.fresh != b.fresh {
		return a.still && !b.still || a.still == b.still && a.fresh
	}
	return cmp.Compare(a.final, b.final)*16+cmp.Compare(a.read, b.read)*8+cmp.Compare(a.next, b.next)*4+
		cmp.Compare(a.at, b.at)*2+cmp.Compare(a.mine, b.mine) < 0
}

func endingOf(outcome *hotelstays.BookingOutcome) ending {
	return ending(slices.Index(endings, durable.EndingOf(outcome)))
}

// marks are when time must stop next.
type marks struct {
	next  int16
	limit int16 // something has to happen before time passes it
}

func (m *marks) at(t int16) {
	if t > 0 {
		m.next = min(m.next, t)
	}
}

func (m *marks) until(t int16) {
	m.at(t)
	m.limit = min(m.limit, t)
}

// time lets time pass.
func (v *visit) time() {
	m := marks{1<<15 - 1, never}
	waits := false
	for w := range v.from.workers {
		waits = v.standsStill(w, v.mark(&m, w)) || waits
	}
	for _, b := range v.from.books {
		if b.is == flying || b.is == made {
			m.until(b.by - 1)
		}
		m.at(b.by)
	}
	v.pass(m, waits, v.moveAll)
}

// standsStill lets a worker stand still that has something to do, or else reports that time waits for it.
func (v *visit) standsStill(w int, busy bool) (waits bool) {
	if waits = busy && !v.from.workers[w].still; waits {
		v.fault(w, "stands still", func(s *state) { s.workers[w].still = true })
	}
	return waits
}

// pass lets time pass to the next mark, unless something has to happen before. move moves the times of a
// state.
func (v *visit) pass(m marks, waits bool, move func(s *state, by int16)) {
	if waits || m.next > m.limit {
		return
	}
	v.passes = time.Duration(m.next) * second
	v.to(-1, "time passes by "+v.passes.String(), func(s *state) { move(s, m.next) })
	v.passes = 0
}

// mark adds the times that count for a worker, and reports whether it has something to do now.
func (v *visit) mark(m *marks, w int) (busy bool) {
	me, now := v.from.workers[w], v.from.clock(w)
	row := v.rows[v.from.row]
	if row.Ending == "" {
		m.at(clockOf(row.Due) - now)
		for _, mark := range []struct {
			of    time.Time
			later int16
		}{{row.BookBy, 0}, {row.Recovery.EndedAt, 600}, {row.Recovery.EndedAt, 605}, {row.Earlier, 605}} {
			if !mark.of.IsZero() {
				m.at(clockOf(mark.of) + mark.later - now)
			}
		}
	}
	switch me.does {
	case nothing:
		return row.Ending == "" && !row.Due.After(timeOf(now))
	case awaits:
		m.until(v.limit(me) - now)
	case recovers:
		m.until(v.limit(me) - now)
		m.at(clockOf(v.rows[me.next].Recovery.NextPoll) - now)
	default:
		return true
	}
	return false
}

// moveAll moves the times of a booking's state.
func (v *visit) moveAll(s *state, by int16) {
	moveRow := func(number *int32) {
		*number = v.once(key{"pass", *number, by, 0}, func(b durable.Booking) value {
			move(time.Duration(by)*-second, &b.Recovery.EndedAt, &b.Recovery.NextPoll, &b.BookBy, &b.Earlier, &b.Due)
			return value{v.number(b), 0, true}
		}).row
	}
	moveRow(&s.row)
	for i := range s.workers {
		if me := &s.workers[i]; me.does != nothing {
			moveRow(&me.read)
			moveRow(&me.next)
			me.at -= by
		}
	}
	for i := range s.books {
		if s.books[i].is != noBook {
			s.books[i].by -= by
		}
	}
}

// within is ShowsWithin in seconds.
func (m *model) within() int16 { return int16(m.ShowsWithin / second) }

// limit returns when the Book of a worker ends by its clock.
func (v *visit) limit(me worker) int16 {
	return clockOf(v.rows[me.read].BookBy.Add(-durable.ClockMargin))
}

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
		hotelstays.WithHTTPClient(&http.Client{Transport: s}), hotelstays.WithRateLimiter(testkit.NoRateLimits{}))
	if err != nil {
		panic(err)
	}
	s.client = client
	return s
}

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
	return testkit.Reply(status, text), nil
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
