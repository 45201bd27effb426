package durable_test

import (
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

// The list has more unreadable rows than fit on one page.
func TestListContinuesAfterUnreadableRows(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		for i := range 350 {
			reference := fmt.Sprintf("%03d", i)
			if e.begin(reference); i < 250 {
				e.change(durable.KindBooking, reference, func(row *durable.Row) { row.State = []byte("{") })
			}
		}
		pages := 0
		e.store.Before = func() error { pages++; return nil }
		var listed, unreadable []string
		for b, err := range e.List(t.Context()) {
			if err != nil {
				unreadable = append(unreadable, err.Error())
			} else {
				listed = append(listed, b.Recovery.CustomerReferenceNo)
			}
			require.LessOrEqual(t, len(listed)+len(unreadable), 350)
		}
		assert.Len(t, unreadable, 250)
		assert.Contains(t, unreadable[0], `"000" was changed by hand`)
		assert.Contains(t, unreadable[0], " List: ")
		assert.Equal(t, 4, pages, "a page has 100 rows")
		assert.Len(t, listed, 100)
	})
}

func TestCancellationIsListedUntilOnCancelHasReceivedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := twoProcesses(t)
		begun := time.Now()
		time.Sleep(time.Minute)
		of := func() (of []any) {
			for c, err := range e.Cancellations(t.Context()) {
				of = append(of, c.CustomerReferenceNo, c.Begun.Equal(begun), c.Ending, c.Err, err)
			}
			return of
		}
		assert.Equal(t, []any{"ref-1", true, durable.CancelEnding(""), nil, nil}, of())
		e.stepOf(durable.KindCancel)
		assert.Empty(t, of())
	})
}

// ref-1 is unverified first, then its order is followed, and then it is cancelled.
func TestListsShowTheStateOfOpenRows(t *testing.T) {
	inBubble(t, func(t *testing.T, e *engine) {
		begun := time.Now().UTC()
		e.lose()
		time.Sleep(20 * time.Minute)
		e.step = polled(hotelstays.BookingUnverified, hotelstays.ErrForbidden)
		e.stepOf(durable.KindBooking)
		b := all(t, e.List(t.Context()))[0]
		assert.Equal(t, []any{begun, 1, hotelstays.KindForbidden}, []any{b.Begun, b.Unverified, b.Problem})
		e.step = polled(hotelstays.BookingOpen, nil)
		time.Sleep(time.Hour)
		e.stepOf(durable.KindBooking)
		assert.Empty(t, e.booking().Problem)

		e.step = polled(hotelstays.BookingFound, nil)
		e.stepOf(durable.KindBooking)
		now := time.Now().UTC()
		order := durable.FollowedOrder{CustomerReferenceNo: "ref-1", PlatformReferenceNo: "order-1", Account: e.Account(),
			Since: now, CheckOut: "2100-01-03", Due: now.Add(time.Minute)}
		assert.Equal(t, []durable.FollowedOrder{order}, all(t, e.Orders(t.Context())))
		time.Sleep(time.Minute)
		e.orders = func([]string) ([]types.Order, error) { return []types.Order{orderUnder("ref-1", "order-2")}, nil }
		e.stepOf(durable.KindOrder)
		order.Other, order.MissingSince, order.Due = "order-2", now.Add(time.Minute), now.Add(2*time.Minute)
		assert.Equal(t, []durable.FollowedOrder{order}, all(t, e.Orders(t.Context())))

		require.NoError(t, e.cancel(toCancel))
		cancel := all(t, e.Cancellations(t.Context()))[0]
		assert.Equal(t, []any{e.Account(), now.Add(time.Minute), time.Time{}}, []any{cancel.Account, cancel.Due, cancel.SendBy})
		e.orders = orderOne
		e.loseCancel()
		assert.False(t, all(t, e.Cancellations(t.Context()))[0].SendBy.IsZero())
	})
}

func all[T any](t *testing.T, list iter.Seq2[T, error]) (items []T) {
	for item, err := range list {
		require.NoError(t, err)
		items = append(items, item)
	}
	return items
}
