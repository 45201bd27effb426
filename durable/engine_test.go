package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

var refused, reused, unknown, states, toCancel = durable.Refused, durable.Reused, durable.Unknown, durable.States, durable.ToCancel

// engine is an Engine with a Store in memory. It is also the Client that the Engine calls, and plays the service.
type engine struct {
	*hotelstays.Client
	*durable.Engine[*memstore.Tx]

	t         *testing.T
	store     *memstore.Store
	options   durable.Options[*memstore.Tx]
	book      func() (*hotelstays.BookingOutcome, error)
	step      func(*hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) // if set, replaces StepRecovery
	orders    func(references []string) ([]types.Order, error)
	answer    func()                  // called before Cancel returns
	lost      error                   // the error that Cancel returns
	given     []hotelstays.CallOption // options of the last Book or Cancel
	limit     time.Duration           // time limit of the last Book or Cancel
	asked     [][]string              // the references of each QueryOrders
	priority  hotelstays.Priority     // priority of the last QueryOrders
	cancels   []string                // supplierReferenceNos of the calls of Cancel
	outcomes  []durable.Ending
	cancelled []durable.CancelEnding
	changes   []string // HotelConfirmNos that OnOrder received
	log       logText
	mu        sync.Mutex // guards what workers record
}

// logText is a log that several workers write. It asserts that each line about a row names its reference.
type logText struct {
	t    *testing.T
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Regexp(l.t, `reference[= ]\S|rows=|StatusMeanings|cannot look for due rows|a step panicked`, string(line))
	return l.text.Write(line)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logText) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

func (e *engine) note(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
}

func newEngine(t *testing.T) *engine { return newEngineOn(t, memstore.New()) }

func newEngineOn(t *testing.T, store *memstore.Store) *engine {
	e := &engine{t: t, store: store, log: logText{t: t}}
	e.Client = testkit.ClientThrough(t, testkit.Saying(`{"code": 0, "data": {"orders": []}}`))
	e.options = durable.Options[*memstore.Tx]{Client: e,
		Keys:   []types.Secret{types.NewSecret("a key of thirty-two random bytes")},
		Logger: slog.New(slog.NewTextHandler(&e.log, nil)),
		OnOutcome: func(_ context.Context, tx *memstore.Tx, outcome *hotelstays.BookingOutcome) error {
			assert.True(t, tx.Guarded)
			assert.NotEmpty(t, outcome.Recovery.CustomerReferenceNo)
			e.note(func() { e.outcomes = append(e.outcomes, durable.EndingOf(outcome)) })
			return nil
		},
		OnCancel: func(_ context.Context, tx *memstore.Tx, c *durable.Cancellation) error {
			assert.True(t, tx.Guarded)
			e.note(func() { e.cancelled = append(e.cancelled, c.Ending) })
			return nil
		},
		OnOrder: func(_ context.Context, tx *memstore.Tx, change *durable.OrderChange) error {
			assert.True(t, tx.Guarded)
			assert.Equal(t, e.Account(), change.Account)
			assert.Equal(t, change.After.PlatformReferenceNo, change.Before.PlatformReferenceNo)
			e.note(func() { e.changes = append(e.changes, change.After.HotelConfirmNo) })
			return nil
		}}
	var err error
	e.Engine, err = durable.NewEngine(e.store, e.options)
	require.NoError(t, err)
	return e
}

// reopen starts another process, with changed options.
func (e *engine) reopen(change func(o *durable.Options[*memstore.Tx])) {
	change(&e.options)
	var err error
	e.Engine, err = durable.NewEngine(e.store, e.options)
	require.NoError(e.t, err)
}

func (e *engine) called(ctx context.Context, opts []hotelstays.CallOption) {
	limit, _ := ctx.Deadline()
	e.note(func() { e.given, e.limit = opts, time.Until(limit) })
}

func (e *engine) StepRecovery(ctx context.Context, recovery *hotelstays.BookingRecovery,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	e.called(ctx, opts)
	if e.step == nil {
		return e.Client.StepRecovery(ctx, recovery, opts...)
	}
	return e.step(recovery)
}

func (e *engine) BookAndRecover(ctx context.Context, req *hotelstays.BookRequest,
	opts ...hotelstays.CallOption) (*hotelstays.BookingOutcome, error) {
	e.called(ctx, opts)
	outcome, err := e.book()
	if outcome != nil {
		recovery := *e.NewBookingRecovery(req, opts...)
		recovery.EndedAt = time.Now()
		recovery.NextPoll = time.Now()
		outcome.Recovery = &recovery
	}
	return outcome, err
}

func (e *engine) QueryOrders(_ context.Context, req *hotelstays.QueryOrdersRequest,
	opts ...hotelstays.CallOption) (*hotelstays.QueryOrdersResponse, error) {
	asked, err := hotelstays.CallOptionsOf(opts...)
	require.NoError(e.t, err)
	assert.Equal(e.t, 20*time.Second, asked.Timeout)
	e.note(func() { e.asked, e.priority = append(e.asked, req.CustomerReferenceNos), asked.Priority })
	orders, err := e.orders(req.CustomerReferenceNos)
	return &hotelstays.QueryOrdersResponse{Orders: orders}, err
}

func (e *engine) Cancel(ctx context.Context, req *hotelstays.CancelRequest,
	opts ...hotelstays.CallOption) (*hotelstays.CancelResponse, error) {
	e.called(ctx, opts)
	e.note(func() { e.cancels = append(e.cancels, req.SupplierReferenceNo) })
	assert.Equal(e.t, toCancel.Reason, req.Reason)
	if e.answer != nil {
		e.answer()
	}
	return &hotelstays.CancelResponse{}, e.lost
}

func requestOf(reference string) *hotelstays.BookRequest {
	return &hotelstays.BookRequest{SessionID: "session", RatePkgID: "offer", CustomerReferenceNo: reference,
		Holder: types.Holder{FirstName: "Ada", LastName: "Smith"}, Guests: []types.Guest{{RoomIndex: 1, FirstName: "Ada", LastName: "Smith"}}}
}

func (e *engine) beginTx(req *hotelstays.BookRequest, opts ...hotelstays.CallOption) error {
	return e.store.InTx(e.t.Context(), false, func(ctx context.Context, tx *memstore.Tx) error { return e.BeginTx(ctx, tx, req, opts...) })
}

func (e *engine) begin(reference string) { require.NoError(e.t, e.beginTx(requestOf(reference))) }

// booked begins ref-1, whose Book makes order-1.
func (e *engine) booked() {
	e.book = found
	e.begin("ref-1")
	e.send()
}

// send sends ref-1, and requires that the outcome is known.
func (e *engine) send() {
	_, err := e.Send(e.t.Context(), "ref-1")
	require.NoError(e.t, err)
}

func (e *engine) cancel(req durable.CancelOrder) error {
	return e.store.InTx(e.t.Context(), false, func(ctx context.Context, tx *memstore.Tx) error { return e.CancelTx(ctx, tx, req) })
}

func (e *engine) id(kind durable.Kind, reference string) durable.ID {
	return durable.ID{Account: e.Account(), Kind: kind, Reference: reference}
}

func (e *engine) row(kind durable.Kind, reference string) *durable.Row {
	row, err := e.store.Read(e.t.Context(), e.id(kind, reference))
	require.NoError(e.t, err)
	return row
}

// change changes a row, like another process or a person.
func (e *engine) change(kind durable.Kind, reference string, change func(row *durable.Row)) {
	row := e.row(kind, reference)
	change(row)
	e.store.Put(*row)
}

// dueIn makes a row of ref-1 due later.
func (e *engine) dueIn(d time.Duration, kind durable.Kind) {
	e.change(kind, "ref-1", func(row *durable.Row) { row.Due = time.Now().Add(d) })
}

// edit changes the state of a row of ref-1, like another version of this package or a person.
func (e *engine) edit(kind durable.Kind, old, with string) {
	e.change(kind, "ref-1", func(row *durable.Row) { row.State = []byte(strings.Replace(string(row.State), old, with, 1)) })
}

// changeBooking changes the row and the booking of ref-1.
func (e *engine) changeBooking(change func(row *durable.Row, b *durable.StoredBooking)) {
	e.change(durable.KindBooking, "ref-1", func(row *durable.Row) {
		b := e.booking()
		change(row, &b)
		var err error
		row.State, err = json.Marshal(b)
		require.NoError(e.t, err)
	})
}

func (e *engine) booking() (b durable.StoredBooking) {
	require.NoError(e.t, json.Unmarshal(e.row(durable.KindBooking, "ref-1").State, &b))
	return b
}

func (e *engine) cancellation() (c durable.StoredCancellation) {
	require.NoError(e.t, json.Unmarshal(e.row(durable.KindCancel, "ref-1").State, &c))
	return c
}

func (e *engine) runFor(d time.Duration) { e.runOn(queue{Store: e.store}, d) }

// confirmedOrder returns order-1, which has changed since Book.
func confirmedOrder([]string) ([]types.Order, error) {
	o := orderUnder("ref-1", "order-1")
	o.HotelConfirmNo = "H-1"
	return []types.Order{o}, nil
}

// queue is a Queue that calls look before Due. If lease is set, Postpone changes only the rows that lease returns.
type queue struct {
	*memstore.Store
	look  func(ctx context.Context, look durable.DueLook)
	lease func(rows []durable.Row) []durable.Row
}

func (q queue) Due(ctx context.Context, look durable.DueLook) ([]durable.Row, error) {
	if q.look != nil {
		q.look(ctx, look)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return q.Store.Due(ctx, look)
}

func (q queue) Postpone(ctx context.Context, rows []durable.Row, due func(durable.Row) time.Time) ([]durable.Row, error) {
	if q.lease != nil {
		rows = q.lease(rows)
	}
	return q.Store.Postpone(ctx, rows, due)
}

// runOn runs the engine on another queue than its store.
func (e *engine) runOn(q queue, d time.Duration) {
	ctx, cancel := context.WithTimeout(e.t.Context(), d)
	defer cancel()
	require.NoError(e.t, e.Run(ctx, q))
}

func orderUnder(reference, number string) types.Order {
	return types.Order{CustomerReferenceNo: reference, PlatformReferenceNo: number, SupplierReferenceNo: "supplier-" + number,
		Status: 1, CheckIn: "2100-01-01", CheckOut: "2100-01-03"}
}

// found returns the results of a Book that has made order-1 under ref-1.
func found() (*hotelstays.BookingOutcome, error) {
	o := orderUnder("ref-1", "order-1")
	return &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: &o}, nil
}

func lostAnswer() (*hotelstays.BookingOutcome, error) {
	return &hotelstays.BookingOutcome{State: hotelstays.BookingOpen}, unknown
}

// A process is frozen during Book. Meanwhile other processes work on the booking, and the booking may begin a new round.
func TestLateResultOfBookNeverLosesAnOrder(t *testing.T) {
	absent := func() (*hotelstays.BookingOutcome, error) {
		return &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent}, nil
	}
	refusal := func() (*hotelstays.BookingOutcome, error) { return nil, refused }
	late := func() (*hotelstays.BookingOutcome, error) { time.Sleep(time.Hour); return lostAnswer() }
	atBookBy := func() (*hotelstays.BookingOutcome, error) {
		time.Sleep(2*time.Minute + durable.ClockMargin)
		return lostAnswer()
	}
	conflict := durable.ErrConflictingOutcome
	for name, tc := range map[string]struct {
		book      func() (*hotelstays.BookingOutcome, error)
		round     int            // the stored round when Book ends
		ending    durable.Ending // the stored ending when Book ends
		stored    durable.Ending // the stored ending afterwards
		delivered int            // how many outcomes OnOutcome receives
		earlier   bool           // the round waits for the order of the first Book
		err       error
	}{
		"Book ends as unknown, in the same round": {lostAnswer, 1, "", "", 0, false, unknown},
		"Book ends as unknown and no outcome, in the same round": {func() (*hotelstays.BookingOutcome, error) { return nil, unknown }, 1, "",
			"", 0, false, unknown},
		"Book ends as found, in the same round":         {found, 1, "", durable.EndingFound, 1, false, nil},
		"Book ends as refused, in the same round":       {refusal, 1, "", durable.EndingFailed, 1, false, nil},
		"Book ends as found, after a poll has found it": {found, 1, durable.EndingFound, durable.EndingFound, 0, false, nil},
		"Book ends as found, after absence was proven": {found, 1, durable.EndingAbsent, durable.EndingAbsent, 0,
			false, conflict},
		"Book ends as unknown, in an open later round":               {lostAnswer, 2, "", "", 0, true, unknown},
		"Book ends as found, in an open later round":                 {found, 2, "", "", 0, true, conflict},
		"Book ends as refused, in an open later round":               {refusal, 2, "", "", 0, false, nil},
		"Book ends as absent, in an open later round":                {absent, 2, "", "", 0, false, nil},
		"Book ends as found, after a later round has found an order": {found, 2, durable.EndingFound, durable.EndingFound, 0, false, nil},
		"Book ends as unknown, after a later round was refused": {lostAnswer, 2, durable.EndingFailed, durable.EndingFailed, 0,
			false, unknown},
		"Book ends as unknown after BookBy, after a later round was refused": {late, 2, durable.EndingFailed, "", 0, false, unknown},
		"Book ends as unknown at BookBy, after a later round was refused": {atBookBy, 2, durable.EndingFailed, durable.EndingFailed, 0,
			false, unknown},
		"Book ends as unknown, after a later round was abandoned": {lostAnswer, 2, durable.EndingAbandoned, "", 0, false, unknown},
		"Book ends as found, after a later round was refused":     {found, 2, durable.EndingFailed, durable.EndingFailed, 0, false, conflict},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				e.begin("ref-1")
				e.book = func() (*hotelstays.BookingOutcome, error) {
					e.changeBooking(func(row *durable.Row, b *durable.StoredBooking) {
						b.Round = tc.round
						if b.Ending = tc.ending; tc.ending != "" {
							row.Life = durable.Over
						}
					})
					return tc.book()
				}
				_, err := e.Send(t.Context(), "ref-1")
				switch {
				case errors.Is(tc.err, unknown):
					_, is := errors.AsType[*hotelstays.OutcomeUnknownError](err)
					assert.True(t, is, "%v", err)
				default:
					assert.ErrorIs(t, err, tc.err)
					if tc.err != nil {
						assert.ErrorContains(t, err, "but that was not stored")
					}
				}
				b := e.booking()
				assert.Equal(t, []any{tc.stored, tc.round}, []any{b.Ending, b.Round})
				assert.Len(t, e.outcomes, tc.delivered)
				assert.Equal(t, tc.earlier, !b.Earlier.IsZero())
			})
		})
	}
}

// An unreadable row does not count as ended, so no booking is lost.
func TestMethodsReturnAnErrorForAnUnreadableRow(t *testing.T) {
	replace := func(old, with string) func(row *durable.Row) {
		return func(row *durable.Row) { row.State = []byte(strings.Replace(string(row.State), old, with, 1)) }
	}
	for why, change := range map[string]func(row *durable.Row){
		"the row's field Life is 0":                        func(row *durable.Row) { row.Life = 0 },
		`the row's state belongs to the reference "ref-2"`: replace("ref-1", "ref-2"),
		"to another account":                               replace(`"fingerprint":"`, `"fingerprint":"other`),
		`the booking's ending is "found"`:                  replace(`"round":1`, `"round":1,"ending":"found"`),
		"a column is NULL":                                 func(row *durable.Row) { row.Unreadable = errors.New("a column is NULL") },
	} {
		inBubble(t, func(t *testing.T, e *engine) {
			e.begin("ref-1")
			row := e.row(durable.KindBooking, "ref-1")
			change(row)
			e.store.Put(*row)
			_, err := e.Send(t.Context(), "ref-1")
			require.ErrorContains(t, err, why)
			require.NotErrorIs(t, err, durable.ErrNotBegun)
			require.ErrorContains(t, e.beginTx(requestOf("ref-1")), why)
			require.ErrorContains(t, e.cancel(toCancel), why)
			_, err = e.Work(t.Context(), row, 10)
			require.ErrorContains(t, err, "the booking row")
			require.ErrorContains(t, err, why)
			assert.NotEmpty(t, e.row(durable.KindBooking, "ref-1").Sealed, "the request is kept")
			if row.Life == durable.Open { // Run looks only for open rows
				time.Sleep(3 * time.Minute)
				e.runFor(6 * time.Minute)
				assert.Equal(t, 2, strings.Count(e.log.String(), "level=ERROR msg=\"a row cannot be worked on\""), "once in five minutes")
				assert.NotContains(t, e.log.String(), "a step failed")
			}
		})
	}
}

func TestRunPostponesUnreadableRows(t *testing.T) {
	for _, kind := range []durable.Kind{durable.KindCancel, durable.KindOrder} {
		inBubble(t, func(t *testing.T, e *engine) {
			e.booked()
			require.NoError(t, e.cancel(toCancel))
			for _, other := range []durable.Kind{durable.KindCancel, durable.KindOrder} {
				if other != kind {
					e.store.Delete(e.id(other, "ref-1"))
				}
			}
			e.edit(kind, "{", "")
			_, err := e.work(kind)
			require.ErrorContains(t, err, "the "+string(kind)+" row")
			if kind == durable.KindCancel {
				require.ErrorContains(t, e.cancel(toCancel), "changed by hand")
			}
			time.Sleep(2 * time.Minute)
			e.runFor(time.Minute)
			assert.Equal(t, 1, strings.Count(e.log.String(), "a row cannot be worked on"))
			assert.NotContains(t, e.log.String(), "a step failed")
		})
	}
}

// The stored request names guests, so it is erased as soon as nobody needs it.
func TestRequestIsErasedAfterBookAndAbandon(t *testing.T) {
	for name, end := range map[string]func(e *engine){
		"Book is sent": (*engine).lose,
		"Abandon":      func(e *engine) { e.begin("ref-1"); require.NoError(e.t, e.Abandon(e.t.Context(), "ref-1")) },
	} {
		inBubble(t, func(t *testing.T, e *engine) {
			end(e)
			assert.Empty(t, e.row(durable.KindBooking, "ref-1").Sealed, name)
		})
	}
}

// A newer process of the fleet has stored fields that this version does not know.
func TestRowsKeepFieldsOfANewerVersion(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.begin("ref-1")
		e.edit(durable.KindBooking, `{`, `{"ending":"","newer":12345678901234567890,`)
		e.edit(durable.KindBooking, `"recovery":{`, `"recovery":{"inner":[1],`)
		e.book = found
		e.send()
		state := string(e.row(durable.KindBooking, "ref-1").State)
		assert.Contains(t, state, `"newer":12345678901234567890`)
		assert.Contains(t, state, `"inner":[1]`)
		assert.Contains(t, state, `"ending":"found"`)
	})
	inBubble(t, func(t *testing.T, e *engine) {
		e.lose()
		e.edit(durable.KindBooking, `{`, `{"newer":1,`)
		require.NoError(t, e.Abandon(t.Context(), "ref-1"))
		require.NoError(t, e.Retry(t.Context(), "ref-1"))
		assert.NotContains(t, string(e.row(durable.KindBooking, "ref-1").State), "ending", "a known field can be removed")
	})
	inBubble(t, func(t *testing.T, e *engine) {
		e.begin("ref-1")
		e.book = func() (*hotelstays.BookingOutcome, error) {
			e.edit(durable.KindBooking, `"recovery":{`, `"recovery":{"expect":{"newer":1},`)
			return lostAnswer()
		}
		_, err := e.Send(t.Context(), "ref-1")
		require.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
		assert.NotContains(t, string(e.row(durable.KindBooking, "ref-1").State), "newer", "its object was removed")
	})
}

func TestRunIgnoresAnotherOrderUnderTheSameReference(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		o, other := orderUnder("ref-1", "order-1"), orderUnder("ref-1", "order-9")
		e.orders = func([]string) ([]types.Order, error) { return []types.Order{other, o}, nil }
		e.book = found
		assert.ErrorIs(t, e.cancel(toCancel), durable.ErrNothingToCancel, "nothing was booked")
		e.begin("ref-1")
		assert.ErrorIs(t, e.beginTx(requestOf("ref-1")), durable.ErrAlreadyBegun)
		_, err := e.Engine.Book(t.Context(), requestOf("ref-1"))
		assert.ErrorIs(t, err, durable.ErrAlreadyBegun)
		assert.Equal(t, errFailed, e.InTx(t.Context(), func(context.Context, *memstore.Tx) error { return errFailed }))
		assert.ErrorContains(t, e.Retry(t.Context(), "ref-1"), "the booking was not sent yet")
		assert.ErrorIs(t, e.Retry(t.Context(), "ref-9"), durable.ErrNotBegun)
		keys := e.options.Keys
		e.reopen(func(o *options) { o.Keys = []types.Secret{types.NewSecret("another key of thirty-two bytes.")} })
		_, err = e.Send(t.Context(), "ref-1")
		assert.ErrorContains(t, err, "the booking's stored request")
		e.reopen(func(o *options) { o.Keys = keys })
		_, err = e.Send(t.Context(), "ref-1")
		require.NoError(t, err)
		assert.ErrorIs(t, e.beginTx(requestOf("ref-1")), durable.ErrAlreadyBooked)
		e.runFor(10 * time.Minute)
		assert.Empty(t, e.changes)
		assert.Equal(t, 1, strings.Count(e.log.String(), "another order is under the reference"))
		o.HotelConfirmNo, other.HotelConfirmNo = "H-1", "H-9"
		e.runFor(10 * time.Minute)
		assert.Equal(t, []string{"H-1"}, e.changes)
		assert.Equal(t, hotelstays.PriorityBackground, e.priority, "nobody waits for the read of a followed order")

		require.NoError(t, e.cancel(toCancel))
		assert.ErrorIs(t, e.cancel(toCancel), durable.ErrAlreadyCancelling)
		e.runFor(time.Minute)
		assert.Equal(t, []string{"supplier-order-1"}, e.cancels)
		assert.Equal(t, []durable.CancelEnding{durable.CancelDone}, e.cancelled)
		assert.ErrorIs(t, e.cancel(toCancel), durable.ErrAlreadyCancelled)
	})
}

// Bookings that are due at the same time share a request. The service refuses every request with ref-3 and other references.
func TestRefusedPollForManyBookingsIsDivided(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		references := []string{"ref-1", "ref-2", "ref-3", "ref-4"}
		e.loseAll(references...)
		e.orders = func(of []string) ([]types.Order, error) {
			if len(of) > 1 && slices.Contains(of, "ref-3") || of[0] == "ref-4" {
				return nil, &hotelstays.APIError{Operation: hotelstays.OpQueryOrders, HTTPStatus: 400, Code: 7}
			}
			return nil, nil
		}
		var alone []string
		e.step = func(r *hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) {
			e.note(func() { alone = append(alone, r.CustomerReferenceNo) })
			r.NextPoll = time.Now().Add(31 * time.Second)
			return polled(hotelstays.BookingOpen, nil)(r)
		}
		for reference, due := range map[string]time.Time{"a first": time.Now().Add(-time.Hour), "z last": time.Now().Add(time.Second)} {
			e.begin(reference) // a worker, and not the caller, sends the booking
			e.change(durable.KindBooking, reference, func(row *durable.Row) { row.Due = due })
		}
		e.loseWith("ref-5", hotelstays.WithUserRef("user"))
		e.book = func() (*hotelstays.BookingOutcome, error) { return nil, refused }
		time.Sleep(time.Second)
		e.runFor(time.Second / 2)
		assert.Equal(t, hotelstays.PriorityInteractive, e.priority)
		divided := [][]string{{"ref-1", "ref-2"}, {"ref-3", "ref-4"}, {"ref-3"}, {"ref-4"}}
		assert.ElementsMatch(t, append(divided, references), e.asked)
		assert.ElementsMatch(t, []string{"ref-4", "ref-5"}, alone, "ref-4 is refused, and ref-5 has another user")
		assert.Equal(t, []durable.Ending{durable.EndingFailed, durable.EndingFailed}, e.outcomes)
		for _, reference := range references {
			due := e.row(durable.KindBooking, reference).Due
			assert.Equal(t, 31*time.Second, time.Until(due).Round(time.Second), "as after a poll for only this booking")
		}
	})
}

// A refused read of many orders does not mean that the orders are missing.
func TestRefusedReadOfManyOrdersIsDivided(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.followed(3)
		e.orders = func(of []string) ([]types.Order, error) {
			if slices.Contains(of, "ref-3") {
				return nil, &hotelstays.APIError{Operation: hotelstays.OpQueryOrders, HTTPStatus: 400, Code: 7}
			}
			return []types.Order{orderUnder(of[0], "order-1")}, nil
		}
		e.runFor(time.Second / 2)
		assert.Equal(t, [][]string{{"ref-1", "ref-2", "ref-3"}, {"ref-1"}, {"ref-2", "ref-3"}, {"ref-2"}, {"ref-3"}}, e.asked)
		assert.NotContains(t, e.log.String(), "disappeared")
	})
}

// All polls begin immediately, because Run looks for more due rows without a pause while workers are free. Each order
// that is found gets its own worker.
func TestRowsOfOneUserShareARequest(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.reopen(func(o *options) { o.PollInterval = time.Hour })
		made := []string{"ref-000", "ref-001", "ref-002", "french-1", "french-2"}
		for i := range 250 {
			e.loseWith(fmt.Sprintf("ref-%03d", i))
		}
		for _, reference := range made[3:] {
			e.loseWith(reference, hotelstays.WithMarket("FR"))
		}
		e.orders = func(of []string) (orders []types.Order, _ error) {
			time.Sleep(10 * time.Second)
			for _, reference := range made {
				if slices.Contains(of, reference) {
					orders = append(orders, orderUnder(reference, "order-1"))
				}
			}
			return orders, nil
		}
		e.step = func(r *hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) {
			time.Sleep(10 * time.Second)
			return polled(hotelstays.BookingFound, nil)(r)
		}
		time.Sleep(time.Second)
		time.AfterFunc(5*time.Second, func() { e.note(func() { assert.Len(t, e.asked, 4, "all polls begin immediately") }) })
		e.runFor(25 * time.Second)
		assert.Equal(t, []int{4, 5}, []int{len(e.asked), len(e.outcomes)})
		for _, references := range e.asked {
			assert.LessOrEqual(t, len(references), 100)
		}
		time.Sleep(time.Minute)
		e.runFor(25 * time.Second)
		assert.Subset(t, e.asked, [][]string{made[:3], made[3:]}, "their orders are followed")
	})
}

// The text of a panic may quote a request with personal data.
func TestErrorAfterAPanicDoesNotQuoteThePanic(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.reopen(func(o *options) {
			o.OnOutcome = func(context.Context, *memstore.Tx, *hotelstays.BookingOutcome) error { panic("passport 12345678") }
		})
		e.begin("ref-1")
		e.book = found
		_, err := e.work(durable.KindBooking)
		require.ErrorContains(t, err, "a panic of type string")
		assert.Contains(t, e.log.String(), "a step panicked")
		assert.NotContains(t, err.Error()+e.log.String(), "12345678")
	})
	inBubble(t, func(t *testing.T, e *engine) { // the panic is in a request for several rows
		e.loseAll("ref-1", "ref-2")
		e.orders = func([]string) ([]types.Order, error) { panic("passport 12345678") }
		time.Sleep(time.Second)
		e.runFor(time.Second)
		assert.Contains(t, e.log.String(), "a step panicked")
	})
}

// A function of the caller, such as OnOutcome, hangs although its ctx has ended. The log must say so, and no other process may
// call the function for this row.
func TestHangingFunctionIsLoggedAndKeepsItsRow(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(e *engine)
		held      bool
		late      bool
	}{
		"the row is open":               {func(*engine) {}, true, false},
		"a person has ended the row":    {func(e *engine) { e.endByHand(durable.KindBooking) }, false, false},
		"a person has deleted the row":  {func(e *engine) { e.store.Delete(e.id(durable.KindBooking, "ref-1")) }, false, false},
		"another transaction is active": {(*engine).lockStore, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				e.reopen(func(o *options) {
					o.OnOutcome = func(context.Context, *memstore.Tx, *hotelstays.BookingOutcome) error {
						time.Sleep(10 * time.Minute)
						return nil
					}
				})
				e.begin("ref-1")
				e.book = found
				go func() { _, _ = e.Send(t.Context(), "ref-1") }()
				time.Sleep(3 * time.Minute)
				assert.Equal(t, []string{"OnOutcome ref-1"}, e.Hanging())
				assert.Equal(t, 9, strings.Count(e.log.String(), "level=ERROR msg=\"OnOutcome has not returned, though its ctx has ended"))
				tc.meanwhile(e)
				row := e.row(durable.KindBooking, "ref-1")
				time.Sleep(90 * time.Second)
				if tc.held {
					assert.Greater(t, time.Until(e.row(durable.KindBooking, "ref-1").Due), 30*time.Second)
				} else {
					assert.Equal(t, row, e.row(durable.KindBooking, "ref-1"))
				}
				assert.Equal(t, tc.late, strings.Contains(e.log.String(), "another process may call OnOutcome as well"))
				time.Sleep(10 * time.Minute)
				assert.Empty(t, e.Hanging())
			})
		})
	}
}

// lockStore locks the store for a minute: other transactions wait.
func (e *engine) lockStore() {
	assert.NoError(e.t, e.store.InTx(e.t.Context(), false, func(context.Context, *memstore.Tx) error { time.Sleep(time.Minute); return nil }))
}

// A row is busy while a worker of the database's scheduler works on it. Retry waits for the end of this work, because the
// worker may have asked the service too early.
func TestRetryWaitsForABusyRow(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.lose()
		row, began := e.row(durable.KindBooking, "ref-1"), time.Now()
		row.Busy = true
		e.store.Put(*row)
		busy := e.row(durable.KindBooking, "ref-1")
		require.ErrorIs(t, e.Retry(t.Context(), "ref-1"), context.DeadlineExceeded)
		assert.Equal(t, 5*time.Second, time.Since(began))
		assert.Equal(t, busy, e.row(durable.KindBooking, "ref-1"))
		time.AfterFunc(2010*time.Millisecond, func() {
			row.Busy = false
			e.store.Put(*row)
		})
		require.NoError(t, e.Retry(t.Context(), "ref-1"))
		assert.Equal(t, 7050*time.Millisecond, time.Since(began), "Retry tries again every 50 ms")
	})
}
