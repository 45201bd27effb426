package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/internal/test/memstore"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

type options = durable.Options[*memstore.Tx]

func inBubble(t *testing.T, test func(t *testing.T, e *engine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newEngine(t)) })
}

// work does the next step of the stored row of ref-1.
func (e *engine) work(kind durable.Kind) (time.Time, error) {
	return e.Work(e.t.Context(), e.row(kind, "ref-1"), 10)
}

// lose begins ref-1, whose Book gets no answer.
func (e *engine) lose() { e.loseAll("ref-1") }

// loseAll begins bookings whose Book gets no answer.
func (e *engine) loseAll(references ...string) {
	for _, reference := range references {
		e.loseWith(reference)
	}
}

func (e *engine) loseWith(reference string, opts ...hotelstays.CallOption) {
	e.book = lostAnswer
	require.NoError(e.t, e.beginTx(requestOf(reference), opts...))
	_, err := e.Send(e.t.Context(), reference)
	require.Error(e.t, err)
}

func polled(state hotelstays.BookingState, err error) func(*hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) {
	return func(r *hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) {
		outcome := &hotelstays.BookingOutcome{State: state, Err: err, Recovery: r}
		if state == hotelstays.BookingFound {
			o := orderUnder("ref-1", "order-1")
			outcome.Order = &o
		}
		return outcome, nil
	}
}

func TestNewEngineNamesTheInvalidOption(t *testing.T) {
	for name, change := range map[string]func(o *options){
		"the client is nil":             func(o *options) { o.Client = (*hotelstays.Client)(nil) },
		"Client and Clients are set":    func(o *options) { o.Clients = func(string) durable.BookingClient { return nil } },
		"keys is empty":                 func(o *options) { o.Keys = nil },
		"OnOutcome is required":         func(o *options) { o.OnOutcome = nil },
		"must not be negative":          func(o *options) { o.BookTimeout = -1 },
		"MaxWorkers":                    func(o *options) { o.MaxWorkers = -1 },
		"PollInterval must not be nega": func(o *options) { o.PollInterval = -1 },
	} {
		o := newEngine(t).options
		change(&o)
		_, err := durable.NewEngine(memstore.New(), o)
		assert.ErrorContains(t, err, name)
	}
	e := newEngine(t)
	e.reopen(func(o *options) { o.Client = e.Client })
	e.reopen(func(o *options) { o.Client = e })
	const warning = "StatusMeanings.Cancelled is not set"
	assert.Contains(t, e.log.String(), warning)
	e.log.Reset()
	onCancel := e.options.OnCancel
	e.reopen(func(o *options) { o.OnCancel = nil })
	assert.ErrorContains(t, e.cancel(toCancel), "OnCancel is required")
	e.Client = testkit.ClientThrough(t, testkit.Saying(`{}`), hotelstays.WithServiceFacts(hotelstays.ServiceFacts{StatusMeanings: states}))
	e.reopen(func(o *options) { o.OnCancel = onCancel })
	assert.NotContains(t, e.log.String(), warning)
}

func TestEngineHasTheDocumentedDefaults(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.reopen(func(o *options) { o.Logger = nil })
		working, most := 0, 0
		e.book = func() (*hotelstays.BookingOutcome, error) {
			e.note(func() { working++; most = max(most, working) })
			time.Sleep(10 * time.Second)
			e.note(func() { working-- })
			return nil, refused
		}
		for i := range 30 {
			e.begin(fmt.Sprint("ref-", i))
		}
		assert.Equal(t, 2*time.Minute+durable.ClockMargin, time.Until(e.row(durable.KindBooking, "ref-1").Due))
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Minute+durable.ClockMargin+2*time.Second, stop)
		require.NoError(t, e.Run(ctx, e.store))
		assert.Equal(t, []int{8, 8}, []int{most, len(e.outcomes)}, "two workers are kept for cancellations and orders")
		assert.Equal(t, 2*time.Minute, e.limit, "the time limit of Book")
	})
}

// Run looks for the due rows of its account every second, or every PollInterval. The kinds take turns in being first.
func TestRunLooksForDueRowsOncePerPollInterval(t *testing.T) {
	const b, c, o = durable.KindBooking, durable.KindCancel, durable.KindOrder
	for interval, kinds := range map[time.Duration][]durable.Kind{0: {b, c, o, c, o, b, o, b, c}, 2 * time.Second: {b, c, o, c, o, b}} {
		inBubble(t, func(t *testing.T, e *engine) {
			e.reopen(func(o *options) { o.PollInterval = interval })
			var looks []durable.DueLook
			q, began := queue{Store: e.store, look: func(_ context.Context, look durable.DueLook) { looks = append(looks, look) }}, time.Now()
			e.runOn(q, 2*time.Second+1)
			require.Len(t, looks, len(kinds))
			for i, kind := range kinds {
				at := began.Add(time.Duration(i/3) * max(interval, time.Second))
				assert.Equal(t, durable.DueLook{Kind: kind, Account: e.Account(), At: at, Limit: 110, Each: 12},
					looks[i], "with ten workers, of which two are kept for the other kinds")
			}
			e.reopen(func(o *options) { o.MaxWorkers = 300 })
			looks = nil
			e.runOn(q, time.Second/2)
			assert.Equal(t, 1, looks[0].Each)
		})
	}
}

func TestProcessWithoutOnCancelAndOnOrderWakesCancellationsAndOrders(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.booked()
		require.NoError(t, e.cancel(toCancel))
		kinds := []durable.Kind{durable.KindCancel, durable.KindOrder}
		for _, kind := range kinds {
			e.dueIn(time.Hour, kind)
		}
		e.reopen(func(o *options) { o.OnCancel, o.OnOrder = nil, nil })
		require.NoError(t, e.Wake(t.Context(), "ref-1"))
		for _, kind := range kinds {
			assert.False(t, e.row(kind, "ref-1").Due.After(time.Now()), kind)
		}
	})
}

func TestWakeAndRetryMakeARowDueNow(t *testing.T) {
	wake := func(e *engine) error { return e.Wake(e.t.Context(), "ref-1") }
	for name, tc := range map[string]struct {
		kind    durable.Kind
		prepare func(e *engine)
		wake    func(e *engine) error
	}{
		"Wake of a booking":        {durable.KindBooking, (*engine).lose, wake},
		"Wake of a followed order": {durable.KindOrder, (*engine).booked, wake},
		"Retry of a booking":       {durable.KindBooking, (*engine).lose, func(e *engine) error { return e.Retry(e.t.Context(), "ref-1") }},
		"Wake of a cancellation": {durable.KindCancel, func(e *engine) {
			e.booked()
			require.NoError(e.t, e.cancel(toCancel))
			e.orders = func([]string) ([]types.Order, error) { return nil, nil }
			e.stepOf(durable.KindCancel)
		}, wake},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				tc.prepare(e)
				e.dueIn(time.Hour, tc.kind)
				e.reopen(func(o *options) {
					if o.PollInterval = time.Hour; tc.kind == durable.KindCancel {
						o.OnOrder = nil
					}
				})
				var looks atomic.Int32
				e.orders = func([]string) ([]types.Order, error) { looks.Add(1); return nil, nil }
				e.step = func(r *hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) {
					looks.Add(1)
					return polled(hotelstays.BookingFound, nil)(r)
				}
				time.AfterFunc(time.Minute, func() {
					before := looks.Load()
					assert.NoError(t, tc.wake(e))
					synctest.Wait()
					assert.Greater(t, looks.Load(), before, "Run looks immediately")
				})
				e.runFor(2 * time.Minute)
			})
		})
	}
	inBubble(t, func(t *testing.T, e *engine) {
		e.booked()
		require.NoError(t, e.cancel(toCancel))
		e.orders = orderOne
		e.dueIn(time.Hour, durable.KindOrder)
		_, err := e.work(durable.KindCancel)
		require.NoError(t, err)
		assert.False(t, e.row(durable.KindOrder, "ref-1").Due.After(time.Now()), "Cancel makes its followed order due")
	})
	inBubble(t, func(t *testing.T, e *engine) {
		assert.NoError(t, e.Wake(t.Context(), "unknown"))
		assert.NoError(t, e.Unfollow(t.Context(), "unknown"))
		e.begin("ref-1")
		row := e.row(durable.KindBooking, "ref-1")
		assert.NoError(t, e.Wake(t.Context(), "ref-1"))
		assert.Equal(t, row, e.row(durable.KindBooking, "ref-1"), "the booking waits for Send")
		assert.ErrorIs(t, e.Retry(t.Context(), "unknown"), durable.ErrNotBegun)
	})
}

// The service may send two webhooks at the same time. The second webhook changes a row that is already due because of
// the first webhook.
func TestWakeDoesNotDelayADueRow(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.reopen(func(o *options) { o.PollInterval = time.Hour })
		e.booked()
		e.orders = func([]string) ([]types.Order, error) { return nil, nil }
		wake := func() { require.NoError(t, e.Wake(t.Context(), "ref-1")) }
		wake()
		second := sync.OnceFunc(wake)
		e.runOn(queue{Store: e.store, lease: func(rows []durable.Row) []durable.Row { second(); return rows }}, time.Second)
		assert.Len(t, e.asked, 1)
		e.orders = func(of []string) ([]types.Order, error) { // a webhook comes during a read
			if len(e.asked) == 2 {
				wake()
			}
			return orderOne(of)
		}
		wake()
		e.runFor(time.Second)
		assert.Len(t, e.asked, 3)
		assert.NotContains(t, e.log.String(), "a step failed")
	})
}

// An error of OnOutcome may match any error of this package. The Engine must not mistake the error of OnOutcome for its
// own.
func TestFailedOnOutcomeIsCalledAgainWhateverItsError(t *testing.T) {
	for _, matches := range []error{errors.New("failed"), durable.ErrMoved, durable.ErrNotBegun, durable.ErrAlreadyBooked,
		durable.ErrAlreadyStarted, durable.ErrConflictingOutcome, unknown, refused} {
		for name, prepare := range map[string]func(e *engine){
			"sent by a worker": func(e *engine) { e.begin("ref-1"); e.book = found },
			"polled":           func(e *engine) { e.lose(); e.step = polled(hotelstays.BookingFound, nil) },
		} {
			t.Run(name+", "+matches.Error(), func(t *testing.T) {
				inBubble(t, func(t *testing.T, e *engine) {
					calls := 0
					e.reopen(func(o *options) {
						o.OnOutcome = func(context.Context, *memstore.Tx, *hotelstays.BookingOutcome) error {
							if calls++; calls == 1 {
								return matches
							}
							return nil
						}
					})
					prepare(e)
					time.Sleep(3 * time.Minute)
					e.runFor(30 * time.Second)
					assert.Equal(t, 1, calls)
					assert.Contains(t, e.log.String(), "a step failed; it is tried again later")
					assert.Contains(t, e.log.String(), "OnOutcome: ")
					assert.Empty(t, e.Hanging())
					e.step = polled(hotelstays.BookingFound, nil)
					e.runFor(3 * time.Minute)
					assert.Equal(t, []any{2, durable.EndingFound}, []any{calls, e.booking().Ending})
				})
			})
		}
	}
}

func TestBookAndCancelHaveBookTimeoutAndTheStoredOptions(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.book = found
		require.NoError(t, e.beginTx(requestOf("ref-1"), hotelstays.WithLanguage("de"), hotelstays.WithCurrency("EUR")))
		_, err := e.Send(t.Context(), "ref-1", hotelstays.WithMarket("FR"))
		var invalid *hotelstays.ValidationError
		require.ErrorAs(t, err, &invalid, "workers would poll without the option")
		_, err = e.Send(t.Context(), "ref-1", hotelstays.WithBatchSize(2))
		require.ErrorAs(t, err, &invalid, "Book does not take the option")
		require.Equal(t, durable.PhaseWaiting, e.booking().Phase(time.Now()))
		page, stop := e.Watch("ref-1")
		defer stop()
		_, err = e.Send(t.Context(), "ref-1", hotelstays.WithLanguage("fr"))
		require.NoError(t, err)
		assert.Len(t, page, 1)
		got, err := hotelstays.CallOptionsOf(e.given...)
		require.NoError(t, err)
		assert.Equal(t, []any{"fr", "EUR", 2 * time.Minute}, []any{got.Language, got.Currency, e.limit})

		require.NoError(t, e.store.InTx(t.Context(), false, func(ctx context.Context, tx *memstore.Tx) error {
			return e.CancelTx(ctx, tx, toCancel, hotelstays.WithLanguage("it"))
		}))
		e.orders = func(of []string) ([]types.Order, error) {
			go func() { // another transaction locks the store for ten seconds
				_ = e.store.InTx(t.Context(), false, func(context.Context, *memstore.Tx) error { time.Sleep(10 * time.Second); return nil })
			}()
			synctest.Wait()
			return orderOne(of)
		}
		var sendBy time.Time
		e.answer = func() { sendBy = e.cancellation().SendBy }
		began := time.Now()
		e.stepOf(durable.KindCancel)
		assert.Equal(t, []string{"supplier-order-1"}, e.cancels)
		got, err = hotelstays.CallOptionsOf(e.given...)
		require.NoError(t, err)
		assert.Equal(t, "it", got.Language)
		assert.Equal(t, hotelstays.PriorityInteractive, e.priority)
		assert.Equal(t, 110*time.Second, e.limit, "Cancel ends two minutes after the order was read")
		assert.Equal(t, 2*time.Minute+durable.ClockMargin, sendBy.Sub(began))

		e.limit = 0
		_, err = e.Engine.Book(t.Context(), requestOf("ref-2"), hotelstays.WithMarket("FR"), hotelstays.WithUserRef("user"))
		require.NoError(t, err)
		assert.Equal(t, 2*time.Minute, e.limit)
		assert.ErrorAs(t, e.beginTx(&hotelstays.BookRequest{CustomerReferenceNo: "ref-3"}), &invalid)
		_, err = e.Engine.Book(t.Context(), &hotelstays.BookRequest{CustomerReferenceNo: "ref-3"})
		assert.ErrorAs(t, err, &invalid)
		_, err = e.Engine.Book(t.Context(), requestOf("ref-3"), hotelstays.WithHeader("X-Gateway", "key"))
		assert.ErrorAs(t, err, &invalid)
		assert.ErrorAs(t, e.beginTx(requestOf("ref-3"), hotelstays.WithHeader("X-Gateway", "key")), &invalid)
		_, err = e.Engine.Book(t.Context(), requestOf("ref-3"), hotelstays.WithBatchSize(2))
		assert.ErrorAs(t, err, &invalid, "Book does not accept this option")
		assert.Nil(t, e.row(durable.KindBooking, "ref-3"))
	})
}

// The ctx ends during Book, and during Cancel.
func TestOutcomeIsStoredAlthoughItsCtxHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		ctx, cancel := context.WithCancel(t.Context())
		e.begin("ref-1")
		e.book = func() (*hotelstays.BookingOutcome, error) { cancel(); return found() }
		_, err := e.Send(ctx, "ref-1")
		require.NoError(t, err)
		assert.Equal(t, durable.EndingFound, e.booking().Ending)
		require.NoError(t, e.cancel(toCancel))
		e.orders = orderOne
		ctx, cancel = context.WithCancel(t.Context())
		e.answer = cancel
		_, err = e.Work(ctx, e.row(durable.KindCancel, "ref-1"), 10)
		require.NoError(t, err)
		assert.Equal(t, []durable.CancelEnding{durable.CancelDone}, e.cancelled)
	})
}

// While a worker polls for a booking, another call or worker may change the row.
func TestPollStoresOnlyAnOrderIfItsRowHasChanged(t *testing.T) {
	const found, absent = hotelstays.BookingFound, hotelstays.BookingAbsent
	const unverified, open = hotelstays.BookingUnverified, hotelstays.BookingOpen
	wake := func(e *engine) { require.NoError(e.t, e.Wake(e.t.Context(), "ref-1")) }
	ends := func(as durable.Ending) func(e *engine) {
		return func(e *engine) {
			e.changeBooking(func(row *durable.Row, b *durable.StoredBooking) { b.Ending, row.Life = as, durable.Over })
		}
	}
	begins := func(e *engine) {
		ends(durable.EndingAbsent)(e)
		e.begin("ref-1")
	}
	anew := func(e *engine) { // a person deletes the row, and the reference is used again
		e.store.Delete(e.id(durable.KindBooking, "ref-1"))
		e.begin("ref-1")
	}
	for name, tc := range map[string]struct {
		state     hotelstays.BookingState
		after     time.Duration // time from the end of Book until the poll
		meanwhile func(e *engine)
		ending    durable.Ending
		delivered int
		moved     bool
		log       string
	}{
		"the poll ends as found":                                {found, 0, nil, durable.EndingFound, 1, false, ""},
		"the poll ends as found, while a webhook wakes the row": {found, 0, wake, durable.EndingFound, 1, false, ""},
		"the poll ends as found, after another worker found it": {found, 0, ends(durable.EndingFound), durable.EndingFound, 0, false, ""},
		"the poll ends as found, after another worker proved absence": {found, 0, ends(durable.EndingAbsent), durable.EndingAbsent, 0, false,
			"two outcomes"},
		"the poll ends as found, but the next round began":       {found, 0, begins, "", 0, true, ""},
		"the poll ends as found, but the row was deleted":        {found, 0, anew, "", 0, true, ""},
		"the poll ends as absent":                                {absent, time.Hour, nil, durable.EndingAbsent, 1, false, ""},
		"the poll ends as absent, while a webhook wakes the row": {absent, time.Hour, wake, "", 0, true, ""},
		"the poll ends as absent, but the next round began":      {absent, time.Hour, begins, "", 0, true, ""},
		"the poll ends as absent, but too early":                 {absent, 10*time.Minute + durable.ClockMargin - 1, nil, "", 0, false, ""},
		"the poll ends as open, while a webhook wakes the row":   {open, 0, wake, "", 0, true, ""},
		"the poll ends as unverified":                            {unverified, time.Hour, nil, "", 0, false, "still unverified"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				e.lose()
				time.Sleep(tc.after)
				e.log.Reset()
				page, stop := e.Watch("ref-1")
				defer stop()
				e.step = func(r *hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) {
					if tc.meanwhile != nil {
						tc.meanwhile(e)
					}
					r.Polls++
					outcome, err := polled(tc.state, nil)(r)
					time.Sleep(time.Second)
					return outcome, err
				}
				due, err := e.work(durable.KindBooking)
				if tc.moved {
					require.ErrorIs(t, err, durable.ErrMoved)
				} else {
					require.NoError(t, err)
					assert.Equal(t, tc.ending != "", due.IsZero())
				}
				assert.Equal(t, []any{tc.ending, tc.delivered, tc.delivered}, []any{e.booking().Ending, len(e.outcomes), len(page)})
				assert.Contains(t, e.log.String(), tc.log)
				assert.Equal(t, tc.log == "", e.log.String() == "")
				if tc.ending != "" {
					due, err = e.work(durable.KindBooking)
					assert.Equal(t, []any{true, nil}, []any{due.IsZero(), err}, "nothing is left to do")
				}
			})
		})
	}
}

// The process of a booking died during Book. The next process polls at its start with SingleProcess, and otherwise
// at the end of BookTimeout.
func TestSingleProcessPollsInterruptedBookingsImmediately(t *testing.T) {
	for single, want := range map[bool]time.Duration{true: 0, false: hotelstays.OpBook.Timeout() + durable.ClockMargin} {
		t.Run(fmt.Sprint("SingleProcess=", single), func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				e.loseAll("ref-2") // SingleProcess does not change a booking whose Book has ended
				later := e.row(durable.KindBooking, "ref-2")
				later.Due = time.Now().Add(time.Hour)
				e.store.Put(*later)
				e.begin("ref-1")
				died := make(chan struct{})
				e.book = func() (*hotelstays.BookingOutcome, error) { <-died; return lostAnswer() }
				var processes sync.WaitGroup
				defer processes.Wait()
				earlier := e.Engine
				processes.Go(func() { _, _ = earlier.Send(context.Background(), "ref-1") })
				defer close(died)
				synctest.Wait()

				started := time.Now()
				e.step = polled(hotelstays.BookingFound, nil)
				e.reopen(func(o *options) { o.SingleProcess = single })
				ctx, stop := context.WithCancel(t.Context())
				processes.Go(func() { assert.NoError(t, e.Run(ctx, e.store)) })
				defer stop()
				for synctest.Wait(); e.booking().Ending == "" && time.Since(started) < time.Hour; synctest.Wait() {
					time.Sleep(time.Second)
				}
				assert.Equal(t, want, time.Since(started))
				assert.Equal(t, later.State, e.row(durable.KindBooking, "ref-2").State)
			})
		})
	}
}

// interrupted begins ref-1, and the process dies during Book. Book has certainly ended after the duration within.
func (e *engine) interrupted(within time.Duration) {
	e.begin("ref-1")
	e.changeBooking(func(row *durable.Row, b *durable.StoredBooking) {
		b.BookBy = time.Now().Add(within)
		row.Due, row.Sealed = b.BookBy, nil
	})
}

// The dead process cannot report the booking, so the worker that polls first logs it.
func TestUnknownOutcomeOfADeadProcessIsLoggedOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.interrupted(time.Minute)
		e.log.Reset()
		require.NoError(t, e.Wake(t.Context(), "ref-1"))
		e.runFor(30 * time.Second)
		require.Empty(t, e.log.String(), "its Book may still be in progress")
		e.runFor(5 * time.Minute)
		assert.Equal(t, 1, strings.Count(e.log.String(), "ended during Book, so the outcome is unknown"))
		assert.Contains(t, e.log.String(),
			"reference=ref-1 begun=2000-01-01T00:00:00.000Z absenceProvenAt=2000-01-01T00:11:05.000Z")
	})
}

// The step of a worker does not fail if the worker's Book gets no answer, or if a call of Send or Abandon was faster.
func TestWorkerSendsOnlyWaitingBookings(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(e *engine)
		want      error
	}{
		"the worker's Book has no answer": {nil, durable.ErrMoved},
		"Send has no answer":              {func(e *engine) { e.book = lostAnswer; _, _ = e.Send(e.t.Context(), "ref-1") }, durable.ErrMoved},
		"Send found the order":            {func(e *engine) { e.book = found; e.send() }, nil},
		"the booking was abandoned":       {func(e *engine) { require.NoError(e.t, e.Abandon(e.t.Context(), "ref-1")) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				e.begin("ref-1")
				row := e.row(durable.KindBooking, "ref-1")
				if tc.meanwhile != nil {
					tc.meanwhile(e)
				}
				e.book = lostAnswer
				_, err := e.Work(t.Context(), row, 10)
				assert.ErrorIs(t, err, tc.want)
				assert.NotContains(t, e.log.String(), "a step failed")
			})
		})
	}
}

// want is the number of bookings and of cancellations that have a worker at the same time. A free worker takes the
// next row.
func TestBookingsAndCancellationsShareTheWorkers(t *testing.T) {
	for workers, want := range map[int][]int{1: {1, 0}, 2: {2, 0}, 3: {2, 1}, 5: {3, 1}} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				e.reopen(func(o *options) { o.MaxWorkers, o.PollInterval = workers, time.Hour })
				var bookings, cancels atomic.Int32
				e.book = func() (*hotelstays.BookingOutcome, error) {
					bookings.Add(1)
					time.Sleep(10 * time.Second)
					return nil, refused
				}
				e.orders = func(of []string) ([]types.Order, error) {
					return []types.Order{orderUnder(of[0], strings.Replace(of[0], "ref", "order", 1))}, nil
				}
				e.answer = func() {
					cancels.Add(1)
					time.Sleep(10 * time.Second)
				}
				named := toCancel
				named.CustomerReferenceNo, named.PlatformReferenceNo = "ref-2", "order-2"
				require.NoError(t, e.cancel(named))
				book := e.book
				e.book = found
				e.begin("ref-1") // the order of ref-1 is followed, so Run reads it
				e.send()
				e.book = book
				for i := range 4 {
					e.begin(fmt.Sprint("booking-", i))
				}
				time.Sleep(3 * time.Minute)
				time.AfterFunc(5*time.Second, func() { assert.Equal(t, want, []int{int(bookings.Load()), int(cancels.Load())}) })
				e.runFor(time.Minute)
				assert.Equal(t, []int{5, 1}, []int{len(e.outcomes), len(e.cancelled)})
				assert.NotContains(t, e.log.String(), "level=ERROR")
			})
		})
	}
}

// After a Book with an unknown outcome workers poll immediately, unless the unknown outcome cannot be stored.
func TestUnknownOutcomeOfBookIsStoredForWorkersOrLogged(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.begin("ref-1")
		e.book = func() (*hotelstays.BookingOutcome, error) {
			e.change(durable.KindBooking, "ref-1", func(row *durable.Row) { row.State = []byte("{") })
			return lostAnswer()
		}
		_, err := e.Send(t.Context(), "ref-1")
		require.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
		assert.Contains(t, e.log.String(), "cannot store that the outcome of a Book is unknown")
	})
	inBubble(t, func(t *testing.T, e *engine) {
		e.reopen(func(o *options) { o.PollInterval = time.Hour })
		e.step = polled(hotelstays.BookingFound, nil)
		time.AfterFunc(time.Minute, e.lose)
		e.runFor(2 * time.Minute)
		assert.Equal(t, durable.EndingFound, e.booking().Ending)
		assert.Equal(t, 55*time.Second, e.limit, "a poll leaves time to store its result within the lease")
	})
}

// The process ends while it reads many rows. Then other processes read these rows immediately.
func TestInterruptedReadOfManyRowsIsRepeatedImmediately(t *testing.T) {
	for _, kind := range []durable.Kind{durable.KindBooking, durable.KindOrder} {
		inBubble(t, func(t *testing.T, e *engine) {
			if kind == durable.KindBooking {
				e.loseAll("ref-1", "ref-2")
			} else {
				e.followed(2)
			}
			time.Sleep(2 * time.Minute)
			ctx, stop := context.WithCancel(t.Context())
			e.orders = func([]string) ([]types.Order, error) { stop(); return nil, ctx.Err() }
			require.NoError(t, e.Run(ctx, e.store))
			assert.Len(t, e.asked, 1)
			assert.NotContains(t, e.log.String(), "cannot be read")
			for _, reference := range []string{"ref-1", "ref-2"} {
				assert.WithinDuration(t, time.Now(), e.row(kind, reference).Due, 0)
			}
		})
	}
}

// A function of the caller hangs when the ctx of Run ends. Run returns 15 seconds later.
func TestRunEndsAlthoughAFunctionHangs(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.reopen(func(o *options) {
			o.OnOutcome = func(context.Context, *memstore.Tx, *hotelstays.BookingOutcome) error {
				time.Sleep(time.Hour)
				return nil
			}
		})
		e.begin("ref-1")
		e.book = found
		time.Sleep(3 * time.Minute)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		began := time.Now()
		assert.ErrorContains(t, e.Run(ctx, e.store), `["OnOutcome ref-1"]`)
		assert.Equal(t, 16*time.Second, time.Since(began))
		time.Sleep(time.Hour)
	})
}

// The order of each user needs its own request. If the worker does not begin a read within 20 seconds after the lease
// began, the row is due again immediately.
func TestOrdersOfManyUsersAreReadOneAfterTheOther(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.reopen(func(o *options) { o.MaxWorkers = 1 })
		e.book = found
		for i := range 5 {
			reference := fmt.Sprint("ref-", i)
			require.NoError(t, e.beginTx(requestOf(reference), hotelstays.WithUserRef(reference)))
			_, err := e.Send(t.Context(), reference)
			require.NoError(t, err)
		}
		time.Sleep(2 * time.Minute)
		e.orders = func([]string) ([]types.Order, error) { time.Sleep(15 * time.Second); return nil, errFailed }
		time.AfterFunc(time.Second, func() {
			assert.Equal(t, 59*time.Second, time.Until(e.row(durable.KindOrder, "ref-4").Due), "one worker has leased all rows")
		})
		e.runFor(50 * time.Second)
		assert.Equal(t, [][]string{{"ref-0"}, {"ref-1"}, {"ref-2"}, {"ref-3"}}, e.asked)
	})
}

// followed books ref-1 to ref-n. Their orders are followed, and are due.
func (e *engine) followed(n int) {
	e.book = found
	for i := range n {
		reference := fmt.Sprint("ref-", i+1)
		e.begin(reference)
		_, err := e.Send(e.t.Context(), reference)
		require.NoError(e.t, err)
	}
	time.Sleep(time.Minute)
}

// followChanged is like followed, but the orders have changed.
func (e *engine) followChanged(n int) {
	e.followed(n)
	e.orders = func(of []string) (orders []types.Order, _ error) {
		for _, reference := range of {
			o := orderUnder(reference, "order-1")
			o.HotelConfirmNo = reference
			orders = append(orders, o)
		}
		return orders, nil
	}
}

// Each answer has at most two orders. No answer says that more orders follow.
func TestOrdersOfAllPagesAreRead(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.followChanged(5)
		all := e.orders
		e.orders = func(of []string) ([]types.Order, error) {
			orders, err := all(of)
			return orders[:min(len(orders), 2)], err
		}
		e.runFor(10 * time.Second)
		assert.Len(t, e.changes, 5)
		requests := make([]int, 0, 3)
		for _, of := range e.asked {
			requests = append(requests, len(of))
		}
		assert.Equal(t, []int{5, 3, 1}, requests)
	})
}

// One worker has found all bookings by one request. Their steps use the free workers, of which two are kept for the
// other kinds.
func TestBookingsFoundByOneRequestUseTheFreeWorkers(t *testing.T) {
	for _, bookings := range []int{3, 6} {
		inBubble(t, func(t *testing.T, e *engine) {
			e.reopen(func(o *options) { o.MaxWorkers = 5 })
			for i := range bookings {
				e.loseAll(fmt.Sprint("ref-", i+1))
			}
			e.orders = func(of []string) (orders []types.Order, _ error) {
				for _, reference := range of {
					orders = append(orders, orderUnder(reference, "order-1"))
				}
				return orders, nil
			}
			time.Sleep(time.Second)
			working, most := 0, 0
			e.step = func(r *hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) {
				e.note(func() { working++; most = max(most, working) })
				time.Sleep(time.Second)
				e.note(func() { working-- })
				return polled(hotelstays.BookingFound, nil)(r)
			}
			e.runFor(time.Second / 2)
			assert.Equal(t, []int{1, 3}, []int{len(e.asked), most})
		})
	}
}

// OnOrder is slow. A row whose lease leaves too little time is due again immediately. A row whose OnOrder has failed is due
// after a pause.
func TestRowWithTooLittleLeaseTimeIsDueAgainImmediately(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		delivered := map[string]time.Duration{}
		var began time.Time
		e.reopen(func(o *options) {
			o.MaxWorkers = 1
			o.OnOrder = func(ctx context.Context, _ *memstore.Tx, change *durable.OrderChange) error {
				select {
				case <-time.After(30 * time.Second):
					delivered[change.After.CustomerReferenceNo] = time.Since(began)
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		})
		e.followChanged(3)
		began = time.Now()
		e.runFor(150 * time.Second)
		assert.Equal(t, map[string]time.Duration{"ref-1": 30 * time.Second, "ref-3": (55 + 30) * time.Second, "ref-2": (55 + 60 + 30) * time.Second},
			delivered)
	})
}

// After the lease the poll is repeated. If the process of the poll ends, another process repeats it immediately.
func TestFailedPollIsRepeatedAfterTheLease(t *testing.T) {
	for name, ends := range map[string]bool{"the poll fails": false, "the process of the poll ends": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, e *engine) {
				e.lose()
				time.Sleep(time.Second)
				ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
				defer stop()
				polls, failed := 0, time.Now()
				e.step = func(*hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) {
					time.Sleep(time.Second / 2) // Run looks for work each second, so not at the moment when the poll ends
					polls++
					if failed = time.Now(); ends {
						stop()
					}
					return nil, errFailed
				}
				require.NoError(t, e.Run(ctx, e.store))
				wait := time.Minute
				if ends {
					wait = 0
				}
				assert.Equal(t, []any{1, wait}, []any{polls, e.row(durable.KindBooking, "ref-1").Due.Sub(failed)})
				assert.Equal(t, !ends, strings.Contains(e.log.String(), "level=ERROR msg=\"a step failed; it is tried again later\" kind=booking"))
				_, err := e.work(durable.KindBooking)
				assert.ErrorIs(t, err, errFailed)
			})
		})
	}
}

func TestEngineWaitsForADatabaseOnlyALimitedTime(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		var sent time.Time
		e.book = func() (*hotelstays.BookingOutcome, error) {
			go e.lockStore()
			synctest.Wait()
			sent = time.Now()
			return found()
		}
		e.begin("ref-1")
		_, err := e.Send(t.Context(), "ref-1")
		require.Error(t, err)
		assert.Equal(t, 10*time.Second, time.Since(sent), "the limit for storing the result of Book")
		time.Sleep(time.Minute)
	})
	inBubble(t, func(t *testing.T, e *engine) {
		e.lose()
		e.reopen(func(*options) {}) // so that no earlier call has woken Run of this process
		time.Sleep(time.Hour)
		var limits []time.Duration
		var leases []time.Time
		look := func(ctx context.Context, _ durable.DueLook) {
			end, _ := ctx.Deadline()
			limits = append(limits, time.Until(end))
		}
		lease := func(rows []durable.Row) []durable.Row {
			if len(rows) > 0 {
				leases = append(leases, time.Now())
			}
			return nil
		}
		e.runOn(queue{e.store, look, lease}, time.Minute)
		assert.Equal(t, 10*time.Second, limits[0], "the limit for a look for work")
		assert.Equal(t, 5*time.Second, leases[1].Sub(leases[0]), "the pause after another process has leased the row")
	})
	inBubble(t, func(t *testing.T, e *engine) {
		ctx, stop := context.WithCancel(t.Context())
		e.log.Reset()
		require.NoError(t, e.Run(ctx, queue{Store: e.store, look: func(context.Context, durable.DueLook) { stop() }}))
		assert.Empty(t, e.log.String(), "the process ends during a look")
	})
}

func TestUnreadableRowTakesNoWorker(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.reopen(func(o *options) { o.MaxWorkers = 1 })
		e.book = found
		e.begin("bad")
		e.change(durable.KindBooking, "bad", func(row *durable.Row) { row.State = []byte("{") })
		time.Sleep(time.Second)
		e.begin("ref-1")
		time.Sleep(time.Hour)
		e.runFor(time.Second / 2)
		assert.Len(t, e.outcomes, 1)
	})
}
