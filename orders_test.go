// Reading, awaiting and cancelling orders.

package hotelstays_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestQueryOrdersFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		// Three orders, two hours apart; the second is cancelled, the third cannot
		// be cancelled for nothing.
		one := findOffer(t, srv, client, 0, types.RefundableFull).Book(t, client, "ref-1")
		time.Sleep(2 * time.Hour)
		second := findOffer(t, srv, client, 1, types.RefundableFull)
		two := second.Book(t, client, "ref-2")
		time.Sleep(2 * time.Hour)
		findOffer(t, srv, client, 2, types.RefundableNo).Book(t, client, "ref-3")
		_, err := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: second.Session, CustomerReferenceNo: "ref-2",
			SupplierReferenceNo: two.SupplierReferenceNo})
		require.NoError(t, err)

		raw := func(texts ...string) (list []types.StatusFilter) {
			for _, text := range texts {
				list = append(list, types.StatusFilter{Raw: json.RawMessage(text)})
			}
			return list
		}
		stay := &types.TimeWindow{Start: string(checkIn), End: string(checkIn)}
		for _, tc := range []struct {
			name string
			req  hotelstays.QueryOrdersRequest
			want []string
		}{
			{"nothing", hotelstays.QueryOrdersRequest{}, []string{"ref-1", "ref-2", "ref-3"}},
			{"a reference", hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-2"}}, []string{"ref-2"}},
			{"several references", hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-3", "ref-1", "ref-9"}},
				[]string{"ref-1", "ref-3"}},
			{"an unknown reference", hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-9"}}, nil},
			{"a supplier's reference", hotelstays.QueryOrdersRequest{SupplierReferenceNos: []string{one.SupplierReferenceNo}}, []string{"ref-1"}},
			{"two filters that exclude each other", hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-2"},
				SupplierReferenceNos: []string{one.SupplierReferenceNo}}, nil},
			{"check-in", hotelstays.QueryOrdersRequest{CheckInTimeWindow: stay}, []string{"ref-1", "ref-2", "ref-3"}},
			{"check-out", hotelstays.QueryOrdersRequest{CheckOutTimeWindow: stay}, nil},
			{"check-out, open at the end", hotelstays.QueryOrdersRequest{CheckOutTimeWindow: &types.TimeWindow{Start: string(checkIn)}},
				[]string{"ref-1", "ref-2", "ref-3"}},
			{"booking time", hotelstays.QueryOrdersRequest{BookingTimeWindow: &types.TimeWindow{Start: "2000-01-01T01:00:00Z",
				End: "2000-01-01T03:00:00Z"}}, []string{"ref-2"}},
			{"booking time, open at the start", hotelstays.QueryOrdersRequest{BookingTimeWindow: &types.TimeWindow{End: "2000-01-01T03:00:00Z"}},
				[]string{"ref-1", "ref-2"}},
			{"free cancellation", hotelstays.QueryOrdersRequest{FreeCancelTimeWindow: &types.TimeWindow{Start: "2000-03-07", End: "2000-03-07"}},
				[]string{"ref-1", "ref-2"}},
			{"cancellation time", hotelstays.QueryOrdersRequest{CancelledTimeWindow: &types.TimeWindow{Start: "2000-01-01"}}, []string{"ref-2"}},
			{"a status", hotelstays.QueryOrdersRequest{StatusList: raw("1")}, []string{"ref-3"}},
			{"several statuses", hotelstays.QueryOrdersRequest{StatusList: raw("1", "2")}, []string{"ref-1", "ref-3"}},
		} {
			resp, err := client.QueryOrders(t.Context(), &tc.req)
			require.NoError(t, err, tc.name)
			var got []string
			for _, order := range resp.Orders {
				got = append(got, order.CustomerReferenceNo)
			}
			assert.Equal(t, tc.want, got, tc.name)
		}
		_, err = client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{StatusList: raw("9")})
		assert.ErrorIs(t, err, hotelstays.ErrParam)
	})
}

func TestOrderReadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.Config{RequiredGuestFields: []string{"passportNumber"}})
		req := findOffer(t, srv, client, 0).Request("ref-1")
		req.Holder.Phone = &types.Phone{CountryCode: "AE", CountryNumber: 971, Number: "5550100"}
		_, err := client.Book(t.Context(), req)
		assert.ErrorIs(t, err, hotelstays.ErrParam, "the contract asks for a passport")
		req.Guests[0].PassportNumber = types.NewSecret("XY123456789")
		booked, err := client.Book(t.Context(), req)
		require.NoError(t, err, "the number itself is sent, and not its mask")

		resp, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-1"}},
			hotelstays.WithRawData())
		require.NoError(t, err)
		require.Len(t, resp.Orders, 1)
		order := resp.Orders[0]
		assert.JSONEq(t, `{"roomIndex":1,"firstName":"Guest","lastName":"One","passportNumber":"6789"}`, string(order.Rooms[0].Guests[0].Raw))
		assert.NotContains(t, string(resp.Meta.RawData), "XY12345")
		assert.Equal(t, &types.Phone{CountryCode: "AE", Number: "5550100"}, order.Holder.Phone, "reads may leave the calling code out")

		order.Holder.Phone = booked.HotelOrder.Holder.Phone
		assert.Equal(t, *booked.HotelOrder, order, "all else is as booked")
	})
}

// Another account sees none of an account's orders, and cannot touch them.
func TestOrdersOfAnotherAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.Config{
			Accounts: []hotelstaystest.Account{{AppKey: "one", AppSecret: "secret-1"}, {AppKey: "two", AppSecret: "secret-2"}},
		})
		order := findOffer(t, srv, client, 0).Book(t, client, "ref-1")

		stranger := newClient(t, srv, hotelstays.TicketCredential{AppKey: "two", AppSecret: types.NewSecret("secret-2")})
		orders, err := stranger.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-1"}})
		require.NoError(t, err)
		assert.Empty(t, orders.Orders)
		_, notMine := stranger.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{PlatformReferenceNo: order.PlatformReferenceNo})
		_, noSuch := stranger.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{PlatformReferenceNo: "PO0"})
		for _, err := range []error{notMine, noSuch} {
			assert.ErrorIs(t, err, hotelstays.ErrNotFound)
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api)
			assert.Equal(t, types.CodeNotFound, api.Code)
			assert.Equal(t, 404, api.HTTPStatus)
			assert.Equal(t, "order not found", api.Msg)
		}
		own := findOffer(t, srv, stranger, 0)
		_, err = stranger.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: own.Session, CustomerReferenceNo: "ref-1",
			SupplierReferenceNo: order.SupplierReferenceNo})
		assert.ErrorIs(t, err, hotelstays.ErrNotFound)
		own.Book(t, stranger, "ref-1")
		assert.Len(t, srv.Ledger().OrdersFor("ref-1"), 2, "a reference is the account's own")
		assert.Empty(t, srv.Ledger().Cancellations())
	})
}

// Only a complete answer without the order is an OrderNotFoundError, and one call is made.
func TestFindOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		booked := findOffer(t, srv, client, 0).Book(t, client, "ref-1")
		findOffer(t, srv, client, 1).Book(t, client, "ref-2")

		order, err := client.FindOrder(t.Context(), "ref-1")
		require.NoError(t, err)
		assert.Equal(t, booked, order)
		order, err = client.FindOrder(t.Context(), "ref-3")
		assert.Nil(t, order)
		assert.Equal(t, &hotelstays.OrderNotFoundError{CustomerReferenceNo: "ref-3"}, err)
		assert.ErrorIs(t, err, hotelstays.ErrNotFound)
		assert.EqualError(t, err, `hotelstays: no order under reference "ref-3": check the reference, and that this account booked it; `+
			`after a Book with an unknown outcome use RecoverBooking`)
		assert.Equal(t, 2, srv.Ledger().Count(hotelstays.OpQueryOrders))

		_, err = client.FindOrder(t.Context(), "", hotelstays.WithCurrency("USD"))
		assert.Equal(t, []string{"WithCurrency", "customerReferenceNo"}, faultPaths(t, err))
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 404, Body: []byte("<html>")})
		_, err = client.FindOrder(t.Context(), "ref-1")
		require.ErrorAs(t, err, new(*hotelstays.APIError))
		assert.NotErrorIs(t, err, hotelstays.ErrNotFound, "a gateway's page proves nothing")
	})
}

func TestOrderIsConfirmedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.Config{ConfirmAfter: 7 * time.Minute})
		findOffer(t, srv, client, 0).Book(t, client, "ref-1")
		for _, tc := range []struct {
			later     time.Duration
			status    types.OrderStatus
			confirmNo bool
		}{
			{0, types.OrderConfirming, false},
			{7*time.Minute - time.Millisecond, types.OrderConfirming, false},
			{time.Millisecond, 2, true}, // the sandbox's number for confirmed
			{24 * time.Hour, 2, true},
		} {
			time.Sleep(tc.later)
			resp, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-1"}})
			require.NoError(t, err)
			require.Len(t, resp.Orders, 1)
			assert.Equal(t, tc.status, resp.Orders[0].Status)
			assert.Equal(t, tc.confirmNo, resp.Orders[0].HotelConfirmNo != "")
		}
	})
}

func TestCancel(t *testing.T) {
	for mode, free := range map[types.RefundableMode]bool{types.RefundableFull: true, types.RefundablePartial: false,
		types.RefundableNo: false} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t)
				o := findOffer(t, srv, client, 0, mode)
				order := o.Book(t, client, "ref-1")
				cancel := &hotelstays.CancelRequest{SessionID: o.Session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: order.SupplierReferenceNo,
					Reason: "plans changed"}
				resp, err := client.Cancel(t.Context(), cancel)
				require.NoError(t, err)
				assert.Equal(t, new(types.OrderStatus(3)), resp.Status, "the sandbox's number for cancelled")
				fee, err := o.CancelFeeAt(time.Now())
				require.NoError(t, err)
				assert.Equal(t, fee, *resp.ServiceFee)
				assert.Equal(t, free, resp.ServiceFee.Amount == "0.00")

				orders, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{"ref-1"}})
				require.NoError(t, err)
				now := orders.Orders[0]
				assert.Equal(t, *resp.Status, now.Status)
				assert.Equal(t, types.Timestamp("2000-01-01T00:00:00Z"), now.CancelTime)
				assert.Equal(t, "plans changed", now.CancelReason)
				require.NotNil(t, now.RefundedPrice)
				total, err := now.RefundedPrice.Add(*resp.ServiceFee)
				require.NoError(t, err)
				assert.Equal(t, order.NetRate, total, "refund and fee make up the price")
				assert.NotEmpty(t, now.Rooms[0].RefundInfo)

				cancellations := srv.Ledger().Cancellations()
				require.Len(t, cancellations, 1)
				assert.Equal(t, resp.ServiceFee.String(), cancellations[0].ServiceFee)
				_, err = client.Cancel(t.Context(), cancel)
				assert.ErrorIs(t, err, hotelstays.ErrCancelRefused, "it is cancelled already")
				assert.Len(t, srv.Ledger().Cancellations(), 1)
			})
		})
	}
}

func TestCancelRefusals(t *testing.T) {
	at, _ := checkIn.Time()
	for _, tc := range []struct {
		name string
		rule hotelstaystest.CancelRule
		when time.Time
		says string
	}{
		{"a reason is required", hotelstaystest.CancelNeedsReason, time.Time{}, "a reason is required"},
		{"check-in has passed", hotelstaystest.CancelAllowed, at, "check-in has passed"},
		{"the cut-off has passed", hotelstaystest.CancelAllowed, at.Add(-24 * time.Hour), "cut-off has passed"},
		{"the cut-off has passed early", hotelstaystest.CancelCutoffPassed, time.Time{}, "cut-off has passed"},
		{"not by contract", hotelstaystest.CancelForbiddenByContract, time.Time{}, "contract takes no cancellations"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.Config{CancelRule: tc.rule})
				o := findOffer(t, srv, client, 0)
				order := o.Book(t, client, "ref-1")
				time.Sleep(time.Until(tc.when))
				cancel := &hotelstays.CancelRequest{SessionID: o.Session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: order.SupplierReferenceNo}
				before := srv.Ledger().Orders()[0].Status
				_, err := client.Cancel(t.Context(), cancel)
				assert.Equal(t, 1, srv.Ledger().Count(hotelstays.OpCancel), "a refusal is not sent again")
				outcome, readErr := client.CancelAndRead(t.Context(), cancel, sandboxStates)
				assert.Nil(t, outcome)
				assert.Equal(t, 2, srv.Ledger().Count(hotelstays.OpCancel))
				assert.Zero(t, srv.Ledger().Count(hotelstays.OpQueryOrders))
				for _, err := range []error{err, readErr} {
					assert.ErrorIs(t, err, hotelstays.ErrCancelRefused)
					var api *hotelstays.APIError
					require.ErrorAs(t, err, &api)
					assert.Contains(t, api.Msg, tc.says)
					assert.Contains(t, err.Error(), tc.says)
					assert.Equal(t, 400, api.HTTPStatus)
				}
				assert.Empty(t, srv.Ledger().Cancellations())
				assert.Equal(t, before, srv.Ledger().Orders()[0].Status)

				if tc.rule == hotelstaystest.CancelNeedsReason {
					cancel.Reason = "plans changed"
					_, err = client.Cancel(t.Context(), cancel)
					assert.NoError(t, err)
				}
			})
		})
	}
}

func TestCancelOfAnUnknownOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		o := findOffer(t, srv, client, 0)
		order := o.Book(t, client, "ref-1")
		for _, refs := range [][2]string{{"ref-9", order.SupplierReferenceNo}, {"ref-1", "another"}} {
			_, err := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: o.Session, CustomerReferenceNo: refs[0],
				SupplierReferenceNo: refs[1]})
			assert.ErrorIs(t, err, hotelstays.ErrNotFound)
			assert.NotErrorIs(t, err, hotelstays.ErrCancelRefused)
		}
		assert.Empty(t, srv.Ledger().Cancellations())
	})
}

func cancelled(_ *testing.T, w *recoveryWorld) { w.SetOrderStatus("ref-1", 3) }

// The sandbox's numbers of undocumented states.
var sandboxStates = withStates(hotelstays.OrderStates{
	Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3}, Pending: []types.OrderStatus{4}})

func withStates(states hotelstays.OrderStates) hotelstays.SharedOption {
	return hotelstays.WithServiceFacts(hotelstays.ServiceFacts{OrderStates: states})
}

func TestAwaitOrder(t *testing.T) {
	const s = time.Second
	type step struct {
		at     float64
		status types.OrderStatus
	}
	garbage := pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage})
	for _, tc := range []struct {
		name    string
		await   []hotelstays.CallOption
		visible time.Duration
		confirm time.Duration // 0: three minutes
		steps   []step
		poll    hotelstaystest.Fault
		heals   float64
		wakeups []float64
		closed  bool          // the wake-up channel is closed
		within  time.Duration // of ctx; 0: an hour
		polls   []float64
		ends    float64
		status  types.OrderStatus // of the order; -1: there is none
		err     error
	}{
		{name: "decided after three minutes", confirm: 180 * s, polls: []float64{0, 5, 10, 20, 50, 80, 110, 140, 170, 200}, ends: 200, status: 2},
		{name: "decided already", confirm: 1, polls: []float64{0, 5}, ends: 5, status: 2},
		{name: "decided at the time of a poll", confirm: 20 * s, polls: []float64{0, 5, 10, 20}, ends: 20, status: 2},
		{name: "unknown is not decided", confirm: hotelstaystest.Never, steps: []step{{1, 0}, {25, 1}, {60, 5}},
			polls: []float64{0, 5, 10, 20, 50, 80}, ends: 80, status: 5},
		{name: "any other status is decided", confirm: hotelstaystest.Never, steps: []step{{1, 4}}, polls: []float64{0, 5}, ends: 5, status: 4},
		{name: "with states, pending is not", confirm: hotelstaystest.Never, steps: []step{{1, 4}, {15, 2}},
			await: []hotelstays.CallOption{sandboxStates}, polls: []float64{0, 5, 10, 20}, ends: 20, status: 2},
		{name: "with states, cancelled is", confirm: hotelstaystest.Never, steps: []step{{1, 4}, {6, 3}},
			await: []hotelstays.CallOption{sandboxStates}, polls: []float64{0, 5, 10}, ends: 10, status: 3},
		{name: "with states, one that is not named is not", confirm: hotelstaystest.Never, steps: []step{{1, 5}, {30, 2}},
			await: []hotelstays.CallOption{sandboxStates}, polls: []float64{0, 5, 10, 20, 50}, ends: 50, status: 2},
		{name: "with no final state, one that is not named is decided", confirm: hotelstaystest.Never, steps: []step{{1, 4}, {6, 5}},
			await: []hotelstays.CallOption{withStates(hotelstays.OrderStates{Pending: []types.OrderStatus{4}})}, polls: []float64{0, 5, 10}, ends: 10,
			status: 5},
		{name: "stuck", confirm: hotelstaystest.Never, within: 100 * s, polls: []float64{0, 5, 10, 20, 50, 80}, ends: 100, status: 1,
			err: context.DeadlineExceeded},
		{name: "stuck, and past ten minutes", confirm: hotelstaystest.Never, within: 700 * s, ends: 700, status: 1, err: context.DeadlineExceeded,
			polls: []float64{0, 5, 10, 20, 50, 80, 110, 140, 170, 200, 230, 260, 290, 320, 350, 380, 410, 440, 470, 500, 530, 560, 590, 620, 650, 680}},
		{name: "failing polls", confirm: 1, poll: garbage, heals: 60, polls: []float64{0, 5, 10, 20, 50, 80}, ends: 80, status: 2},
		{name: "slow polls", confirm: 60 * s, poll: pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: 12 * s}),
			polls: []float64{0, 20, 50}, ends: 62, status: 2},
		{name: "polls fail until ctx ends", confirm: 1, poll: garbage, within: 30 * s, polls: []float64{0, 5, 10, 20}, ends: 30, status: -1,
			err: context.DeadlineExceeded},
		{name: "polls are forbidden", confirm: 1, poll: pollAnswer(403, ""), polls: []float64{0}, ends: 0, status: -1,
			err: hotelstays.ErrForbidden},
		{name: "visible late", confirm: 1, visible: 60 * s, polls: []float64{0, 5, 10, 20, 50, 80}, ends: 80, status: 2},
		{name: "not there for ten minutes", confirm: 1, visible: time.Hour, ends: 620, status: -1, err: hotelstays.ErrNotFound,
			polls: []float64{0, 5, 10, 20, 50, 80, 110, 140, 170, 200, 230, 260, 290, 320, 350, 380, 410, 440, 470, 500, 530, 560, 590, 620}},
		{name: "a ctx of 300 ms", confirm: hotelstaystest.Never, within: 300 * time.Millisecond, polls: []float64{0}, ends: 0.3, status: 1,
			err: context.DeadlineExceeded},
		{name: "woken", confirm: 30 * s, wakeups: []float64{1, 12, 31}, polls: []float64{0, 1, 5, 10, 12, 20, 31}, ends: 31, status: 2},
		{name: "woken in vain", confirm: 60 * s, wakeups: []float64{1, 2, 31, 32}, polls: []float64{0, 1, 2, 5, 10, 20, 31, 32, 50, 80}, ends: 80,
			status: 2},
		{name: "a closed wake-up channel", confirm: 30 * s, closed: true, polls: []float64{0, 5, 10, 20, 50}, ends: 50, status: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRecoveryWorld(t, hotelstaystest.Config{ConfirmAfter: tc.confirm, LateVisibility: tc.visible})
				w.offer.Book(t, w.client, "ref-1")
				start := time.Now()
				for _, step := range tc.steps {
					at(t, step.at, func() { w.SetOrderStatus("ref-1", step.status) })
				}
				if tc.poll.Kind != "" {
					w.Inject(tc.poll)
				}
				if tc.heals > 0 {
					at(t, tc.heals, w.ClearFaults)
				}
				wakeup := make(chan struct{}, 1)
				for _, second := range tc.wakeups {
					at(t, second, func() { wakeup <- struct{}{} })
				}
				if tc.closed {
					close(wakeup)
				}
				if tc.within == 0 {
					tc.within = time.Hour
				}
				ctx, cancel := context.WithTimeout(t.Context(), tc.within)
				defer cancel()

				order, err := w.client.AwaitOrder(ctx, "ref-1", append(tc.await, hotelstays.WithWakeup(wakeup))...)

				assert.ErrorIs(t, err, tc.err)
				assert.Equal(t, tc.ends, time.Since(start).Seconds())
				assert.Equal(t, tc.polls, w.polls(start))
				if errors.Is(tc.err, hotelstays.ErrNotFound) {
					assert.Equal(t, &hotelstays.OrderNotFoundError{CustomerReferenceNo: "ref-1", Waited: 10 * time.Minute}, err)
				}
				if tc.status < 0 {
					assert.Nil(t, order)
				} else if assert.NotNil(t, order) {
					assert.Equal(t, tc.status, order.Status)
					assert.Equal(t, "ref-1", order.CustomerReferenceNo)
				}
			})
		})
	}
}

// The error of a wait says how far the order was seen, and whose time was up.
func TestAwaitOrderSaysWhatItSaw(t *testing.T) {
	for _, tc := range []struct {
		reference string
		poll      hotelstaystest.Fault
		status    types.OrderStatus
		want      string
	}{
		{"ref-1", hotelstaystest.Fault{}, 5,
			`hotelstays: AwaitOrder: the order under reference "ref-1" has status 5, which is in no list of OrderStates; the caller's ctx ended the wait: context deadline exceeded; call again to continue`},
		{"ref-1", hotelstaystest.Fault{}, 1,
			`hotelstays: AwaitOrder: the order under reference "ref-1" is still open (status 1); the caller's ctx ended the wait: context deadline exceeded; call again to continue`},
		{"ref-2", hotelstaystest.Fault{}, 1,
			`hotelstays: AwaitOrder: no order under reference "ref-2" was seen; the caller's ctx ended the wait: context deadline exceeded; call again to continue`},
		{"ref-1", pollAnswer(503, ""), 1,
			`hotelstays: AwaitOrder: no order under reference "ref-1" was seen; the caller's ctx ended the wait: context deadline exceeded; the last poll failed: QueryOrders: `},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newRecoveryWorld(t, hotelstaystest.Config{ConfirmAfter: hotelstaystest.Never})
			w.offer.Book(t, w.client, "ref-1")
			w.SetOrderStatus("ref-1", tc.status)
			if tc.poll.Kind != "" {
				w.Inject(tc.poll)
			}
			time.Sleep(time.Minute) // the order is being confirmed
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := newClient(t, w.Server, w.cred, hotelstays.WithMaxAttempts(1), sandboxStates).AwaitOrder(ctx, tc.reference)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Contains(t, err.Error(), tc.want)
			assert.Equal(t, 1, strings.Count(err.Error(), "hotelstays: "))
		})
	}
}

// CancelAndRead reads the order back, once, and sends Cancel once, whatever comes.
func TestCancelAndRead(t *testing.T) {
	fault := func(f hotelstaystest.Fault) hotelstaystest.Fault {
		f.Operation = hotelstays.OpCancel
		return f
	}
	cut, madeAndCut := fault(hotelstaystest.Fault{Kind: hotelstaystest.FaultCut}), fault(hotelstaystest.Fault{Kind: hotelstaystest.FaultCut,
		Commit: true})
	timeout := fault(hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 504})
	madeAndTimeout := fault(hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 504, Commit: true})
	garbage := fault(hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage, Commit: true})
	late := fault(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: time.Hour, Commit: true})
	another := fault(status(200, `{"code":0,"data":{"status":2}}`))
	unread := pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage})
	for _, tc := range []struct {
		name         string
		cancel, read hotelstaystest.Fault
		states       bool
		made         bool // the order is cancelled
		response     bool
		order        bool // it was read back
		state        hotelstays.OrderState
		unknown      bool // the error
	}{
		{name: "answered", made: true, response: true, order: true},
		{name: "answered, with states", states: true, made: true, response: true, order: true, state: hotelstays.OrderStateCancelled},
		{name: "answered, not read back", read: unread, made: true, response: true},
		{name: "answered, not read back, with states", read: unread, states: true, made: true, response: true, state: hotelstays.OrderStateCancelled},
		{name: "answered with another status, not read back, with states", cancel: another, read: unread, states: true, response: true,
			state: hotelstays.OrderStateConfirmed},
		{name: "answered without data, not read back, with states", cancel: fault(status(200, `{"code":0}`)), read: unread, states: true,
			response: true},
		{name: "cut", cancel: cut, state: hotelstays.OrderStateOpen, order: true, unknown: true},
		{name: "cut, with states", cancel: cut, states: true, state: hotelstays.OrderStateOpen, order: true, unknown: true},
		{name: "cut, not read back", cancel: cut, read: unread, states: true, unknown: true},
		{name: "made and cut", cancel: madeAndCut, made: true, order: true, unknown: true},
		{name: "made and cut, with states", cancel: madeAndCut, states: true, made: true, order: true, state: hotelstays.OrderStateCancelled},
		{name: "made and cut, not read back", cancel: madeAndCut, read: unread, states: true, made: true, unknown: true},
		{name: "504", cancel: timeout, states: true, state: hotelstays.OrderStateOpen, order: true, unknown: true},
		{name: "made and 504", cancel: madeAndTimeout, made: true, order: true, unknown: true},
		{name: "made and 504, with states", cancel: madeAndTimeout, states: true, made: true, order: true, state: hotelstays.OrderStateCancelled},
		{name: "made and garbage, with states", cancel: garbage, states: true, made: true, order: true, state: hotelstays.OrderStateCancelled},
		{name: "made and no answer in time, with states", cancel: late, states: true, made: true, order: true, state: hotelstays.OrderStateCancelled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRecoveryWorld(t)
				order := w.offer.Book(t, w.client, "ref-1")
				if tc.cancel.Kind != "" {
					w.Inject(tc.cancel)
				}
				if tc.read.Kind != "" {
					w.Inject(tc.read)
				}
				var opts []hotelstays.CallOption
				if tc.states {
					opts = append(opts, sandboxStates)
				}
				outcome, err := w.client.CancelAndRead(t.Context(), &hotelstays.CancelRequest{SessionID: w.offer.Session,
					CustomerReferenceNo: "ref-1", SupplierReferenceNo: order.SupplierReferenceNo}, opts...)

				var unknown *hotelstays.OutcomeUnknownError
				if tc.unknown {
					require.ErrorAs(t, err, &unknown)
					assert.Equal(t, "ref-1", unknown.CustomerReferenceNo)
					assert.Equal(t, hotelstays.OpCancel, unknown.Operation)
					assert.Equal(t, error(unknown), err, "it is a group of a log line")
				} else {
					require.NoError(t, err)
				}
				require.NotNil(t, outcome)
				assert.Equal(t, tc.response, outcome.Response != nil)
				assert.Equal(t, tc.order, outcome.Order != nil)
				assert.Equal(t, tc.state, outcome.State)
				if tc.order {
					assert.Equal(t, tc.made, outcome.Order.CancelTime != "")
				}
				assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpCancel), "Cancel is sent once")
				assert.Len(t, w.polls(time.Now()), 1, "the order is read once")
				assert.Len(t, w.Ledger().Cancellations(), map[bool]int{true: 1}[tc.made])
			})
		})
	}
}

// The order is read on behalf of the user who cancelled it, and without what only
// Cancel takes.
func TestCancelAndReadKeepsTheCallersHeaders(t *testing.T) {
	var headers []http.Header
	client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
		headers = append(headers, r.Header)
		return reply(200, `{"code":0,"data":{"orders":[]}}`), nil
	}))
	_, err := client.CancelAndRead(t.Context(), &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "ref-1",
		SupplierReferenceNo: "sup-1"},
		hotelstays.WithUserRef("user-1"), hotelstays.WithCurrency("EUR"))
	require.NoError(t, err)
	require.Len(t, headers, 2)
	assert.Equal(t, []string{"user-1", "EUR"}, []string{headers[0].Get("User-Ref"), headers[0].Get("Currency")})
	assert.Equal(t, []string{"user-1", ""}, []string{headers[1].Get("User-Ref"), headers[1].Get("Currency")})
}

// A poll that fails with a status that may pass is made again, any other ends the wait.
func TestStatusesThatAWaitOutlasts(t *testing.T) {
	for code, outlasts := range map[int]bool{400: false, 403: false, 404: false, 429: true, 500: true, 501: true, 503: true, 504: true} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			for op, wait := range map[hotelstays.Operation]operationCall{
				hotelstays.OpQueryOrders:  calling((*hotelstays.Client).AwaitOrder, "ref-1"),
				hotelstays.OpOrderVoucher: calling((*hotelstays.Client).AwaitVoucher, voucherRef),
			} {
				synctest.Test(t, func(t *testing.T) {
					w := newRecoveryWorld(t, hotelstaystest.Config{ConfirmAfter: time.Second})
					w.offer.Book(t, w.client, "ref-1")
					time.Sleep(time.Hour) // the voucher is there
					fault := status(code, "")
					fault.Operation, fault.Times = op, -1
					w.Inject(fault)
					at(t, 60, w.ClearFaults)
					client := newClient(t, w.Server, w.cred, hotelstays.WithMaxAttempts(1))

					start := time.Now()
					err := wait(t.Context(), client)
					assert.Equal(t, outlasts, err == nil, "%s: %v", op, err)
					assert.Equal(t, outlasts, time.Since(start) >= time.Minute)
				})
			}
		})
	}
}

// The order that is read back decides; the answer to Cancel counts only where there is no
// order.
func TestCancelAndReadBelievesTheOrder(t *testing.T) {
	const cancelled, confirmed = `{"status":3}`, `{"status":2}`
	order := func(status string) string {
		return `{"orders":[{"customerReferenceNo":"ref-1","status":` + status + `}]}`
	}
	for _, tc := range []struct {
		name, cancel, orders string
		state                hotelstays.OrderState
	}{
		{"both say cancelled", cancelled, order("3"), hotelstays.OrderStateCancelled},
		{"the answer says cancelled, the order does not", cancelled, order("2"), hotelstays.OrderStateConfirmed},
		{"the answer does not, the order says cancelled", confirmed, order("3"), hotelstays.OrderStateCancelled},
		{"the answer says cancelled, no order is there", cancelled, `{"orders":[]}`, hotelstays.OrderStateCancelled},
		{"the answer does not, no order is there", confirmed, `{"orders":[]}`, hotelstays.OrderStateConfirmed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
				data := tc.orders
				if strings.HasSuffix(r.URL.Path, "/cancel") {
					data = tc.cancel
				}
				return reply(200, `{"code":0,"data":`+data+`}`), nil
			}))
			outcome, err := client.CancelAndRead(t.Context(), &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "ref-1",
				SupplierReferenceNo: "sup-1"},
				withStates(hotelstays.OrderStates{Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3}}))
			require.NoError(t, err)
			assert.Equal(t, tc.state, outcome.State)
			assert.NotNil(t, outcome.Response)
		})
	}
}
