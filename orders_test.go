// CheckAvail, Book, FindOrder, AwaitOrder and CancelAndRead.

package hotelstays_test

import (
	"cmp"
	"context"
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
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestAvailableIsFalseWithoutARatePkgID(t *testing.T) {
	for offer, available := range map[string]bool{`null`: false, `{}`: false, `{"ratePkgId":""}`: false, `{"ratePkgId":"p"}`: true} {
		resp, err := clientThrough(t, &fixedAnswer{Status: 200, Body: `{"code":0,"data":{"status":1,"roomRatePkg":` + offer + `}}`}).
			CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "p"})
		require.NoError(t, err, offer)
		assert.Equal(t, available, resp.Available(), offer)
	}
}

func TestBookReturnsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		o := findOffer(t, srv, client, 0)
		req := o.Request("ref-1")
		req.Holder.Email, req.Holder.Phone = "guest@example.com", &types.Phone{CountryCode: "AE", CountryNumber: 971, Number: "5550100"}
		req.Guests = append(req.Guests, types.Guest{RoomIndex: 1, FirstName: "Guest", LastName: "Two", IsChild: new(true), Age: new(0),
			Gender: "f", PassportNumber: types.NewSecret("XY123456789")})
		req.CallbackURL = "http://127.0.0.1:9/events"
		resp, err := client.Book(t.Context(), req)
		require.NoError(t, err)
		order := resp.HotelOrder
		assert.Equal(t, types.OrderConfirming, order.Status)
		assert.Equal(t, req.Holder, order.Holder)
		assert.Equal(t, o.TotalRate.NetRate, order.NetRate)
		require.Len(t, order.Rooms, 1)
		assert.Equal(t, o.RoomRatePkg, order.Rooms[0].Offer())
		assert.JSONEq(t, `{"roomIndex":1,"firstName":"Guest","lastName":"Two","isChild":true,"age":0,"gender":"f","passportNumber":"6789"}`,
			string(order.Rooms[0].Guests[1].Raw), "an infant's age and the real passport number are sent")
		assert.Zero(t, resp.Meta.MismatchCount)

		booked := srv.Ledger().OrdersFor("ref-1")
		require.Len(t, booked, 1)
		assert.Equal(t, order.PlatformReferenceNo, booked[0].PlatformReferenceNo)
		assert.Equal(t, req.CallbackURL, booked[0].CallbackURL)
		assert.Equal(t, order, o.Book(t, client, "ref-1"), "a second Book returns the order of the reference")
		assert.Len(t, srv.Ledger().Orders(), 1)
	})
}

// FindOrder makes one call. It returns an OrderNotFoundError only if the answer is complete and lacks the order.
func TestFindOrderNeedsACompleteAnswer(t *testing.T) {
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
		srv.Inject(pollAnswer(404, "<html>"))
		_, err = client.FindOrder(t.Context(), "ref-1")
		require.ErrorAs(t, err, new(*hotelstays.APIError))
		assert.NotErrorIs(t, err, hotelstays.ErrNotFound, "a gateway's page proves nothing")
	})
}

// After a refusal, Cancel and CancelAndRead return only an error. Nothing is sent again, and no order is read.
func TestNoOrderIsReadAfterARefusedCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.Config{CancelRule: hotelstaystest.CancelNeedsReason})
		o := findOffer(t, srv, client, 0)
		order := o.Book(t, client, "ref-1")
		noReason, unknown := cancelling(o, order), cancelling(o, order)
		unknown.SupplierReferenceNo = "another"
		for i, tc := range []struct {
			req  *hotelstays.CancelRequest
			is   error
			says string
		}{
			{noReason, hotelstays.ErrCancelRefused, "a reason is required"},
			{unknown, hotelstays.ErrNotFound, "not found"},
		} {
			resp, err := client.Cancel(t.Context(), tc.req)
			assert.Nil(t, resp)
			assert.Equal(t, 2*i+1, srv.Ledger().Count(hotelstays.OpCancel))
			outcome, readErr := client.CancelAndRead(t.Context(), tc.req, sandboxStates)
			assert.Nil(t, outcome)
			assert.Equal(t, 2*i+2, srv.Ledger().Count(hotelstays.OpCancel))
			for _, err := range []error{err, readErr} {
				assert.ErrorIs(t, err, tc.is)
				assert.ErrorContains(t, err, tc.says)
			}
		}
		assert.Zero(t, srv.Ledger().Count(hotelstays.OpQueryOrders))
		noReason.Reason = "plans changed"
		_, err := client.Cancel(t.Context(), noReason)
		assert.NoError(t, err)
	})
}

func cancelling(o offer, order *types.Order) *hotelstays.CancelRequest {
	return &hotelstays.CancelRequest{SessionID: o.Session, CustomerReferenceNo: "ref-1", SupplierReferenceNo: order.SupplierReferenceNo}
}

// sandboxStates has the numbers that the sandbox uses for states without a documented number.
var sandboxStates = withStates(hotelstays.StatusMeanings{
	Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3}, Pending: []types.OrderStatus{4}})

func withStates(states hotelstays.StatusMeanings) hotelstays.SharedOption {
	return hotelstays.WithServiceFacts(hotelstays.ServiceFacts{StatusMeanings: states})
}

func TestAwaitOrderEndsWithAFinalStatus(t *testing.T) {
	const s = time.Second
	type step struct {
		at     float64
		status types.OrderStatus
	}
	const ended = "; the wait ended with the caller's ctx: context deadline exceeded; "
	garbage := pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage})
	tenMinutes := func(more ...float64) []float64 {
		polls := []float64{0, 5, 10}
		for at := 20.0; at <= 620; at += 30 {
			polls = append(polls, at)
		}
		return append(polls, more...)
	}
	for _, tc := range []struct {
		name    string
		await   []hotelstays.CallOption
		visible time.Duration // QueryOrders lists the order after this time
		confirm time.Duration // the order is confirmed after this time; 0: three minutes
		steps   []step
		poll    hotelstaystest.Fault
		heals   float64 // the second at which the polls stop failing
		wakeups []float64
		closed  bool          // the wake-up channel is closed
		within  time.Duration // the time limit of ctx; 0: an hour
		polls   []float64
		ends    float64
		status  types.OrderStatus // the status of the returned order; -1: no order
		err     error
		says    string
	}{
		{name: "confirmed after three minutes", confirm: 180 * s, polls: []float64{0, 5, 10, 20, 50, 80, 110, 140, 170, 200}, ends: 200,
			status: 2},
		{name: "statuses 0 and 1 are open, status 5 is final", confirm: hotelstaystest.Never, steps: []step{{1, 0}, {25, 1}, {60, 5}},
			polls: []float64{0, 5, 10, 20, 50, 80}, ends: 80, status: 5},
		{name: "with StatusMeanings, a pending status is open", confirm: hotelstaystest.Never, steps: []step{{1, 4}, {15, 2}},
			await: []hotelstays.CallOption{sandboxStates}, polls: []float64{0, 5, 10, 20}, ends: 20, status: 2},
		{name: "with StatusMeanings, a status in no list is open", confirm: hotelstaystest.Never, steps: []step{{1, 5}, {30, 2}},
			await: []hotelstays.CallOption{sandboxStates}, polls: []float64{0, 5, 10, 20, 50}, ends: 50, status: 2},
		{name: "if StatusMeanings lists only pending statuses, others are final", confirm: hotelstaystest.Never, steps: []step{{1, 4}, {6, 5}},
			await: []hotelstays.CallOption{withStates(hotelstays.StatusMeanings{Pending: []types.OrderStatus{4}})},
			polls: []float64{0, 5, 10}, ends: 10, status: 5},
		{name: "if StatusMeanings lists only cancelled statuses, others are open", confirm: hotelstaystest.Never, steps: []step{{1, 5}, {6, 3}},
			await: []hotelstays.CallOption{withStates(hotelstays.StatusMeanings{Cancelled: []types.OrderStatus{3}})},
			polls: []float64{0, 5, 10}, ends: 10, status: 3},
		{name: "the order is still open when ctx ends", confirm: hotelstaystest.Never, within: 700 * s, ends: 700, status: 1,
			err: context.DeadlineExceeded, polls: tenMinutes(650, 680),
			says: `the order under reference "ref-1" is still open (status 1)` + ended + "call again to continue"},
		{name: "no list of StatusMeanings has the status, so the wait ends with ctx", confirm: hotelstaystest.Never, steps: []step{{1, 5}},
			await:  []hotelstays.CallOption{sandboxStates},
			within: 15 * s, polls: []float64{0, 5, 10}, ends: 15, status: 5, err: context.DeadlineExceeded,
			says: `the order under reference "ref-1" has status 5, which is in no list of ServiceFacts.StatusMeanings` + ended +
				"call again to continue"},
		{name: "no order appears before ctx ends", confirm: 1, visible: time.Hour, within: 15 * s, polls: []float64{0, 5, 10}, ends: 15,
			status: -1,
			err:    context.DeadlineExceeded, says: `no order under reference "ref-1" was seen` + ended + "call again to continue"},
		{name: "polls fail for a minute", confirm: 1, poll: garbage, heals: 60, polls: []float64{0, 5, 10, 20, 50, 80}, ends: 80, status: 2},
		{name: "each poll takes 12 s", confirm: 60 * s, poll: pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultDelay, Delay: 12 * s}),
			polls: []float64{0, 20, 50}, ends: 62, status: 2},
		{name: "polls fail until ctx ends", confirm: 1, poll: garbage, within: 30 * s, polls: []float64{0, 5, 10, 20}, ends: 30, status: -1,
			err: context.DeadlineExceeded, says: `no order under reference "ref-1" was seen` + ended + "the last poll failed: QueryOrders: "},
		{name: "the first poll is refused with HTTP 403", confirm: 1, poll: pollAnswer(403, ""), polls: []float64{0}, ends: 0, status: -1,
			err: hotelstays.ErrForbidden},
		{name: "the order appears after a minute", confirm: 1, visible: 60 * s, polls: []float64{0, 5, 10, 20, 50, 80}, ends: 80, status: 2},
		{name: "no order within ten minutes", confirm: 1, visible: time.Hour, ends: 620, status: -1, err: hotelstays.ErrNotFound,
			polls: tenMinutes()},
		{name: "each wake-up causes a poll", confirm: 30 * s, wakeups: []float64{1, 12, 31}, polls: []float64{0, 1, 5, 10, 12, 20, 31},
			ends: 31, status: 2},
		{name: "a closed wake-up channel", confirm: 30 * s, closed: true, polls: []float64{0, 5, 10, 20, 50}, ends: 50, status: 2},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			w := newRecoveryWorld(t, hotelstaystest.Config{ConfirmAfter: tc.confirm, LateVisibility: tc.visible})
			w.offer.Book(t, w.client, "ref-1")
			start := time.Now()
			for _, step := range tc.steps {
				at(t, step.at, func() { w.SetOrderStatus("ref-1", step.status) })
			}
			w.inject(tc.poll)
			at(t, tc.heals, w.ClearFaults)
			ctx := within(t, cmp.Or(tc.within, time.Hour))

			order, err := w.client.AwaitOrder(ctx, "ref-1", append(tc.await, waking(t, tc.closed, tc.wakeups))...)

			assert.ErrorIs(t, err, tc.err)
			if tc.says != "" {
				assert.ErrorContains(t, err, "hotelstays: AwaitOrder: "+tc.says)
				assert.Equal(t, 1, strings.Count(err.Error(), "hotelstays: "))
			}
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
	}
}

func TestCancelAndReadReturnsTheState(t *testing.T) {
	fault := func(f hotelstaystest.Fault) hotelstaystest.Fault {
		f.Operation = hotelstays.OpCancel
		return f
	}
	cut := fault(hotelstaystest.Fault{Kind: hotelstaystest.FaultCut})
	madeAndCut := fault(hotelstaystest.Fault{Kind: hotelstaystest.FaultCut, Commit: true})
	another := fault(status(200, `{"code":0,"data":{"status":2}}`))
	noOrder := pollAnswer(200, `{"code":0,"data":{"orders":[]}}`)
	unread := pollFault(hotelstaystest.Fault{Kind: hotelstaystest.FaultGarbage})
	for _, tc := range []struct {
		name         string
		cancel, read hotelstaystest.Fault
		states       bool
		made         bool // the service has cancelled the order
		response     bool
		order        bool // the order was read back
		state        hotelstays.OrderState
		unknown      bool // the error is an *OutcomeUnknownError
	}{
		{name: "Cancel answered", made: true, response: true, order: true},
		{name: "Cancel answered, with StatusMeanings", states: true, made: true, response: true, order: true,
			state: hotelstays.OrderStateCancelled},
		{name: "Cancel answered, order not read back, with StatusMeanings", read: unread, states: true, made: true, response: true,
			state: hotelstays.OrderStateCancelled},
		{name: "Cancel answered that the order is confirmed, order not read back, with StatusMeanings", cancel: another, read: unread,
			states: true, response: true, state: hotelstays.OrderStateConfirmed},
		{name: "Cancel answered that the order is confirmed, but the order is open, with StatusMeanings", cancel: another, states: true,
			response: true, order: true, state: hotelstays.OrderStateOpen},
		{name: "Cancel answered, no order found, with StatusMeanings", read: noOrder, states: true, made: true, response: true,
			state: hotelstays.OrderStateCancelled},
		{name: "Cancel not executed, the answer is cut off, no order found", cancel: cut, read: noOrder, states: true, unknown: true},
		{name: "Cancel answered without data, order not read back, with StatusMeanings", cancel: fault(status(200, `{"code":0}`)),
			read: unread, states: true, response: true},
		{name: "Cancel not executed, and the answer is cut off", cancel: cut, state: hotelstays.OrderStateOpen, order: true, unknown: true},
		{name: "Cancel not executed, the answer is cut off, order not read back", cancel: cut, read: unread, states: true, unknown: true},
		{name: "Cancel executed, but the answer is cut off", cancel: madeAndCut, made: true, order: true, unknown: true},
		{name: "Cancel executed, but the answer is cut off, with StatusMeanings", cancel: madeAndCut, states: true, made: true, order: true,
			state: hotelstays.OrderStateCancelled},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			w := newRecoveryWorld(t)
			order := w.offer.Book(t, w.client, "ref-1")
			w.inject(tc.cancel, tc.read)
			var opts []hotelstays.CallOption
			if tc.states {
				opts = append(opts, sandboxStates)
			}
			outcome, err := w.client.CancelAndRead(t.Context(), cancelling(w.offer, order), opts...)

			var unknown *hotelstays.OutcomeUnknownError
			if tc.unknown {
				require.ErrorAs(t, err, &unknown)
				assert.Equal(t, "ref-1", unknown.CustomerReferenceNo)
				assert.Equal(t, hotelstays.OpCancel, unknown.Operation)
				assert.Equal(t, error(unknown), err, "the error itself, so that slog logs its attributes")
			} else {
				require.NoError(t, err)
			}
			require.NotNil(t, outcome)
			assert.Equal(t, tc.response, outcome.Response != nil)
			assert.Equal(t, tc.order, outcome.Order != nil)
			assert.Equal(t, cmp.Or(tc.state, hotelstays.OrderStateUnknown), outcome.State)
			if tc.order {
				assert.Equal(t, tc.made, outcome.Order.CancelTime != "")
			}
			assert.Equal(t, 1, w.Ledger().Count(hotelstays.OpCancel), "Cancel is sent once")
			assert.Len(t, w.polls(time.Now()), 1, "the order is read once")
			assert.Len(t, w.Ledger().Cancellations(), map[bool]int{true: 1}[tc.made])
		})
	}
}

// The document says that a reference may match several orders. The client then returns an error, and does not
// choose one of the orders. An order under another reference does not count.
func TestSeveralOrdersUnderOneReferenceAreAnError(t *testing.T) {
	const cancelled, confirmed, other = `{"status":3,"customerReferenceNo":"ref-1","platformReferenceNo":"P-A","supplierReferenceNo":"s-1"}`,
		`{"status":2,"customerReferenceNo":"ref-1","platformReferenceNo":"P-B","supplierReferenceNo":"s-2","holder":{"lastName":"Guestname"}}`,
		`{"status":2,"customerReferenceNo":"ref-2","platformReferenceNo":"P-C"}`
	const twins = `{"status":3,"customerReferenceNo":"ref-1","platformReferenceNo":"P-D","supplierReferenceNo":"s-3"},` +
		`{"status":2,"customerReferenceNo":"ref-1","platformReferenceNo":"P-E","supplierReferenceNo":"s-3"}`
	for orders, count := range map[string]int{
		cancelled + "," + confirmed:               2,
		confirmed + "," + other + "," + cancelled: 2,
		cancelled + "," + twins + "," + confirmed: 4,
	} {
		synctest.Test(t, func(t *testing.T) {
			answer := transportFunc(func(r *http.Request) (*http.Response, error) {
				if !strings.HasSuffix(r.URL.Path, "/queryOrders") {
					return reply(504, ""), nil
				}
				return reply(200, `{"code":0,"data":{"orders":[`+orders+`]}}`), nil
			})
			client := clientThrough(t, answer, sandboxStates)
			begun := time.Now()
			_, found := client.FindOrder(t.Context(), "ref-1")
			_, awaited := client.AwaitOrder(within(t, time.Hour), "ref-1")
			booking := offer{Session: "s"}.Request("ref-1")
			booking.RatePkgID = "p"
			booked, err := client.BookAndRecover(t.Context(), booking)
			require.NoError(t, err)
			recovered, err := client.RecoverBooking(t.Context(), client.NewBookingRecovery(booking))
			require.NoError(t, err)
			stepped, err := client.StepRecovery(t.Context(), client.NewBookingRecovery(booking))
			require.NoError(t, err)
			for _, outcome := range []*hotelstays.BookingOutcome{booked, recovered, stepped} {
				assert.Equal(t, hotelstays.BookingUnverified, outcome.State)
				assert.Nil(t, outcome.Order)
			}
			for _, err := range []error{found, awaited, booked.Err, recovered.Err, stepped.Err} {
				several := errorAs[*hotelstays.AmbiguousReferenceError](t, err)
				assert.Len(t, several.Orders, count)
				assert.Equal(t, hotelstays.KindAmbiguousReference, hotelstays.KindOf(err))
				assert.Contains(t, err.Error(), `"P-A"`)
				assert.Contains(t, err.Error(), `"P-B"`)
				assert.NotContains(t, err.Error(), "Guestname")
			}
			assert.Zero(t, time.Since(begun), "no further poll, because it would list the same orders")

			cancel := cancelling(offer{Session: "s"}, &types.Order{SupplierReferenceNo: "s-1"})
			outcome, err := client.CancelAndRead(t.Context(), cancel)
			require.NoError(t, err)
			assert.Equal(t, hotelstays.OrderStateCancelled, outcome.State, "the state of the order with the supplier's reference")
			cancel.SupplierReferenceNo = "s-3" // in the answer, no order or two orders have this reference
			outcome, err = client.CancelAndRead(t.Context(), cancel)
			errorAs[*hotelstays.OutcomeUnknownError](t, err)
			assert.Nil(t, outcome.Order)
		})
	}
}

// A status that cannot be read is not decoded as 0, because 0 is open.
func TestUnreadableStatusIsNotOpen(t *testing.T) {
	for text, want := range map[string]types.OrderStatus{
		`2`: 2, `2.0`: 2, `20e-1`: 2, `0.0`: 0, `1`: 1, `77`: 77,
		`"cancelled"`: types.OrderStatusUnreadable, `"2"`: types.OrderStatusUnreadable, `true`: types.OrderStatusUnreadable,
		`2.5`: types.OrderStatusUnreadable, `1e-400`: types.OrderStatusUnreadable, `1e999999999`: types.OrderStatusUnreadable,
		`[3]`: types.OrderStatusUnreadable, `{}`: types.OrderStatusUnreadable,
	} {
		inBubble(t, text, func(t *testing.T) {
			answer := transportFunc(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/cancel") {
					return reply(504, ""), nil
				}
				return reply(200, `{"code":0,"data":{"orders":[{"status":`+text+`,"customerReferenceNo":"ref-1","platformReferenceNo":"p"}]}}`), nil
			})
			client := clientThrough(t, answer, sandboxStates)
			state := client.StatusMeanings().StateOf(want)
			resp, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{})
			require.NoError(t, err)
			assert.Equal(t, want, resp.Orders[0].Status)
			outcome, err := client.CancelAndRead(t.Context(), cancelling(offer{Session: "s"}, &types.Order{SupplierReferenceNo: "s"}))
			errorAs[*hotelstays.OutcomeUnknownError](t, err)
			assert.Equal(t, state, outcome.State)
			_, awaited := client.AwaitOrder(within(t, time.Minute), "ref-1")
			if want != types.OrderStatusUnreadable {
				assert.Empty(t, mismatchTexts(resp.Meta))
				return
			}
			assert.Equal(t, hotelstays.OrderStateUnknown, outcome.State)
			require.Len(t, resp.Meta.Mismatches, 1)
			assert.Equal(t, "data.orders[0].status", resp.Meta.Mismatches[0].Path)
			assert.ErrorIs(t, awaited, context.DeadlineExceeded)
			for _, err := range []error{err, awaited} {
				assert.ErrorContains(t, err, "Mismatches")
				assert.NotContains(t, err.Error(), "open")
			}
			began := time.Now()
			order, err := clientThrough(t, answer).AwaitOrder(within(t, time.Minute), "ref-1")
			require.NoError(t, err, "without StatusMeanings any status but 0 and 1 ends the wait")
			assert.Equal(t, want, order.Status)
			assert.Zero(t, time.Since(began))
		})
	}
	for text, want := range map[string]*types.OrderStatus{`3.0`: new(types.OrderStatus(3)), `"cancelled"`: nil, `null`: nil} {
		resp, err := sendCancel(t, clientThrough(t, saying(`{"code":0,"data":{"status":`+text+`}}`)))
		require.NoError(t, err)
		assert.Equal(t, want, resp.Status, text)
	}
}

func TestCancelAndReadPassesOptionsToQueryOrders(t *testing.T) {
	service := &fixedAnswer{Status: 200, Body: `{"code":0,"data":{"orders":[]}}`}
	_, err := clientThrough(t, service).CancelAndRead(t.Context(), &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "ref-1",
		SupplierReferenceNo: "sup-1"}, hotelstays.WithUserRef("user-1"), hotelstays.WithCurrency("EUR"))
	require.NoError(t, err)
	require.Len(t, service.Sent, 2)
	for i, currency := range []string{"EUR", ""} {
		h := service.Sent[i].Header
		assert.Equal(t, []string{"user-1", currency}, []string{h.Get("User-Ref"), h.Get("Currency")})
	}
}

func TestPollsContinueOnlyAfterTemporaryFailures(t *testing.T) {
	for code, outlasts := range map[int]bool{400: false, 403: false, 404: false, 429: true, 500: true, 501: true, 503: true, 504: true} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			for op, wait := range map[hotelstays.Operation]operationCall{
				hotelstays.OpQueryOrders:  testkit.Calling((*hotelstays.Client).AwaitOrder, "ref-1"),
				hotelstays.OpOrderVoucher: testkit.Calling((*hotelstays.Client).AwaitVoucher, voucherRef),
			} {
				synctest.Test(t, func(t *testing.T) {
					w := newRecoveryWorld(t, hotelstaystest.Config{ConfirmAfter: time.Second})
					w.offer.Book(t, w.client, "ref-1")
					time.Sleep(time.Hour) // by then the voucher is ready
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
