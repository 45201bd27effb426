package durable_test

import (
	"context"
	"fmt"
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
	"github.com/hotelstays/hotelstays-go/types"
)

func TestFailedReadNeverEndsACancellation(t *testing.T) {
	foreign := func([]string) ([]types.Order, error) { return []types.Order{orderUnder("ref-9", "order-9")}, nil }
	failed := func([]string) ([]types.Order, error) { return nil, errFailed }
	for name, tc := range map[string]struct {
		sent  bool
		read  func([]string) ([]types.Order, error)
		after time.Duration // time until the next read
	}{
		"the read fails before Cancel":                        {false, failed, time.Minute},
		"the read fails after Cancel":                         {true, failed, 5 * time.Minute},
		"the answer has only an order that was not requested": {false, foreign, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, e := twoProcesses(t)
				if tc.sent {
					e.loseCancel()
				}
				time.Sleep(time.Hour)
				e.orders = tc.read
				due, err := e.work(durable.KindCancel)
				require.NoError(t, err)
				assert.Equal(t, tc.after, time.Until(due))
				assert.Contains(t, e.log.String(), "orders cannot be read")
				stored := e.row(durable.KindCancel, "ref-1")
				ctx, cancel := context.WithCancel(t.Context())
				e.orders = func(of []string) ([]types.Order, error) { cancel(); return tc.read(of) }
				e.log.Reset()
				_, err = e.Work(ctx, stored, 10)
				require.Error(t, err, "the process ends")
				assert.Equal(t, stored, e.row(durable.KindCancel, "ref-1"))
				assert.Empty(t, e.log.String())
				assert.Empty(t, e.cancelled)
			})
		})
	}
}

// Nobody knows which of the two orders the abandoned booking has made.
func TestCancellationWithTwoPossibleOrdersIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := twoProcesses(t)
		e.orders = twoOrders
		e.stepOf(durable.KindCancel)
		assert.Empty(t, e.cancels)
		assert.Equal(t, []durable.CancelEnding{durable.CancelRefused}, e.cancelled)
		assert.Contains(t, e.cancellation().Problem, "order-1, order-2")
	})
	synctest.Test(t, func(t *testing.T) { // Cancel was sent, for an order that has no number
		_, e := twoProcesses(t)
		e.loseCancel()
		e.edit(durable.KindCancel, `"platformReferenceNo":"order-1",`, "")
		time.Sleep(5 * time.Minute)
		e.orders = twoOrders
		e.stepOf(durable.KindCancel)
		assert.Empty(t, e.cancellation().Ending)
	})
}

// Watch reports only the successful call of OnCancel.
func TestOnCancelIsCalledAgainAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other, e := twoProcesses(t)
		other.reopen(func(o *options) { o.OnCancel = nil })
		other.runFor(time.Minute)
		assert.Empty(t, other.cancels, "a process without OnCancel leaves the cancellation to others")
		calls := 0
		e.reopen(func(o *options) {
			o.OnCancel = func(context.Context, *memstore.Tx, *durable.Cancellation) error {
				if calls++; calls == 1 {
					return errFailed
				}
				return nil
			}
		})
		page, stop := e.Watch("ref-1")
		defer stop()
		e.runFor(50 * time.Second)
		assert.Equal(t, []int{1, 0}, []int{calls, len(page)})
		another := toCancel
		another.PlatformReferenceNo = "order-2"
		assert.ErrorIs(t, e.cancel(another), durable.ErrAlreadyCancelled, "OnCancel must receive the first cancellation")
		e.runFor(time.Minute)
		assert.Equal(t, []int{2, 1}, []int{calls, len(page)})
		assert.Len(t, e.cancels, 1)
	})
}

func TestWaitingCancellationMakesItsBookingDue(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.lose()
		row := e.row(durable.KindBooking, "ref-1")
		row.Due = time.Now().Add(time.Hour)
		e.store.Put(*row)
		require.NoError(t, e.cancel(toCancel))
		e.stepOf(durable.KindCancel)
		assert.False(t, e.row(durable.KindBooking, "ref-1").Due.After(time.Now()))
		assert.Empty(t, e.asked, "the order is read only after the booking has ended")
		assert.Zero(t, e.cancellation().Bound)
		row.Busy = true
		e.store.Put(*row)
		busy, began := e.row(durable.KindBooking, "ref-1"), time.Now()
		e.stepOf(durable.KindCancel)
		assert.Equal(t, []any{busy, began}, []any{e.row(durable.KindBooking, "ref-1"), time.Now()}, "a worker polls already")
		e.book = func() (*hotelstays.BookingOutcome, error) {
			booking := e.row(durable.KindBooking, "ref-1")
			require.NoError(t, e.cancel(toCancel))
			e.stepOf(durable.KindCancel)
			assert.Equal(t, booking, e.row(durable.KindBooking, "ref-1"), "its Book may be in progress")
			return lostAnswer()
		}
		e.store.Delete(e.id(durable.KindBooking, "ref-1"))
		e.store.Delete(e.id(durable.KindCancel, "ref-1"))
		e.begin("ref-1")
		_, err := e.Send(t.Context(), "ref-1")
		require.Error(t, err)
		e.step = func(r *hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) {
			e.stepOf(durable.KindCancel) // during the poll, the step of the cancellation makes the booking due again
			return polled(hotelstays.BookingOpen, nil)(r)
		}
		_, err = e.work(durable.KindBooking)
		assert.ErrorIs(t, err, durable.ErrMoved)
	})
}

// A scheduler calls Work with a row of an account that the client does not serve, and then with an unreadable row.
func TestRowOfAnotherAccountWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.begin("ref-1")
		row := e.row(durable.KindBooking, "ref-1")
		row.Account = "another"
		due, err := e.Work(t.Context(), row, 10)
		assert.Equal(t, []any{time.Minute, nil}, []any{time.Until(due), err})
		assert.Contains(t, e.log.String(), "account without a client")
		row.Unreadable = errFailed
		_, err = e.Work(t.Context(), row, 10)
		assert.ErrorContains(t, err, "changed by hand")
	})
}

// Steps of one account may use all workers of a scheduler, but a row has only one worker.
func TestSchedulerHasAtMostOneWorkerPerRow(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		var books atomic.Int32
		e.book = func() (*hotelstays.BookingOutcome, error) {
			books.Add(1)
			time.Sleep(time.Minute)
			return nil, refused
		}
		var working sync.WaitGroup
		defer working.Wait()
		for i := range 4 {
			reference := fmt.Sprint("ref-", i)
			e.begin(reference)
			row := e.row(durable.KindBooking, reference)
			working.Go(func() { _, _ = e.Work(t.Context(), row, 4) })
		}
		synctest.Wait()
		assert.EqualValues(t, 4, books.Load())
		_, err := e.work(durable.KindBooking)
		assert.ErrorIs(t, err, durable.ErrMoved)
	})
}

// A step that only reads must end within its lease.
func TestStepThatSendsMayOutlastItsLease(t *testing.T) {
	const sends, reads = 3 * time.Minute, 55 * time.Second
	synctest.Test(t, func(t *testing.T) {
		_, e := twoProcesses(t)
		assert.Equal(t, sends, e.Timeout(e.row(durable.KindCancel, "ref-1")))
		e.loseCancel()
		assert.Equal(t, reads, e.Timeout(e.row(durable.KindCancel, "ref-1")))
	})
	inBubble(t, func(t *testing.T, e *engine) {
		e.begin("ref-1")
		assert.Equal(t, sends, e.Timeout(e.row(durable.KindBooking, "ref-1")))
		e.book = found
		e.send()
		assert.Equal(t, reads, e.Timeout(e.row(durable.KindBooking, "ref-1")))
		assert.Equal(t, reads, e.Timeout(e.row(durable.KindOrder, "ref-1")))
	})
}

// A person has ended the rows in the database, but the scheduler calls Work with them.
func TestWorkDoesNothingWithRowsThatWereEndedByHand(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		e.booked()
		require.NoError(t, e.cancel(toCancel))
		e.store.Delete(e.id(durable.KindBooking, "ref-1"))
		e.lose()
		e.step = func(*hotelstays.BookingRecovery) (*hotelstays.BookingOutcome, error) {
			assert.Fail(t, "a worker polls for the booking")
			return nil, errFailed
		}
		for _, kind := range []durable.Kind{durable.KindBooking, durable.KindCancel, durable.KindOrder} {
			e.endByHand(kind)
			due, err := e.work(kind)
			assert.Equal(t, []any{true, nil}, []any{due.IsZero(), err}, kind)
		}
		assert.Empty(t, e.asked)
		_, err := e.Send(t.Context(), "ref-1")
		assert.ErrorIs(t, err, durable.ErrNotBegun)
	})
}

func TestUnsentCancellationEndedByHandMayBeginAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(e *engine)
		want   error
	}{
		"nothing was sent": {func(*engine) {}, nil},
		"Cancel was sent":  {(*engine).loseCancel, durable.ErrAlreadyCancelling},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, e := twoProcesses(t)
				tc.before(e)
				e.endByHand(durable.KindCancel)
				assert.ErrorIs(t, e.cancel(toCancel), tc.want)
			})
		})
	}
}
