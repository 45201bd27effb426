// The states of vouchers, and waiting for them.

package hotelstays_test

import (
	"cmp"
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

var (
	voucherRef = &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"}
	voucherDoc = []byte("%PDF-1.4\nA small document.\n%%EOF\n")
	voucherOld = []byte("%PDF-1.4\nThe document that was there before.\n%%EOF\n")
)

func voucherAnswer(status types.VoucherStatus, v *types.Voucher) string {
	data, err := json.Marshal(hotelstays.OrderVoucherResponse{CustomerReferenceNo: "ref-1", PlatformReferenceNo: "P1",
		SupplierReferenceNo: "S1", Status: status, Voucher: v})
	if err != nil {
		panic(err)
	}
	return `{"code":0,"msg":"ok","data":` + string(data) + `}`
}

func orderVoucher(t *testing.T, client *hotelstays.Client) *types.Voucher {
	t.Helper()
	resp, err := client.OrderVoucher(t.Context(), voucherRef)
	require.NoError(t, err)
	require.NotNil(t, resp.Voucher)
	return resp.Voucher
}

// inVoucherSandbox runs a test in a bubble, with a booking under ref-1 whose voucher is there.
func inVoucherSandbox(t *testing.T, config hotelstaystest.Config,
	test func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config.ConfirmAfter, config.VoucherDelay = hotelstaystest.AtOnce, cmp.Or(config.VoucherDelay, hotelstaystest.AtOnce)
		srv, client := newSandbox(t, config)
		findOffer(t, srv, client, 0).Book(t, client, "ref-1")
		test(t, srv, client)
	})
}

// A final status ends the wait, and so does one that nobody knows yet. What may pass is asked again; what
// will not is returned at once, with what was seen before.
func TestAwaitVoucher(t *testing.T) {
	type server = *hotelstaystest.Server
	fault := func(times int, f hotelstaystest.Fault) hotelstaystest.Fault {
		f.Operation, f.Times = hotelstays.OpOrderVoucher, times
		return f
	}
	const waited = `hotelstays: AwaitVoucher: the voucher of order "ref-1" is still NOT_GENERATED; ` +
		`the caller's ctx ended the wait: context deadline exceeded; call again to continue`
	soon := hotelstaystest.Config{ConfirmAfter: 30 * time.Second, VoucherDelay: time.Second}
	for _, tc := range []struct {
		name      string
		config    hotelstaystest.Config // or the order is never confirmed
		reference string                // or ref-1
		at        float64
		happens   func(server)
		fault     hotelstaystest.Fault
		wakeups   []float64
		within    time.Duration // of ctx; 0: an hour
		polls     []float64     // nil: any
		ends      float64
		status    types.VoucherStatus // "" where there is no response
		err       error
		says      string
	}{
		{name: "there", at: 47, happens: func(s server) { s.ConfirmOrder("ref-1") }, polls: []float64{0, 5, 10, 20, 50, 80}, ends: 80,
			status: types.VoucherGenerated}, // PENDING at 50, there at 52
		{name: "failed", at: 12, happens: func(s server) { s.FailVoucher("ref-1") }, polls: []float64{0, 5, 10, 20}, ends: 20,
			status: types.VoucherFailed},
		{name: "cancelled", at: 6, happens: func(s server) { s.SetOrderStatus("ref-1", 3) }, polls: []float64{0, 5, 10}, ends: 10,
			status: types.VoucherCancelled},
		{name: "an unknown status", fault: fault(-1, status(200, voucherAnswer("ARCHIVED", nil))), polls: []float64{0}, status: "ARCHIVED"},
		{name: "until ctx ends", within: 2 * time.Minute, polls: []float64{0, 5, 10, 20, 50, 80, 110}, ends: 120,
			status: types.VoucherNotGenerated, err: context.DeadlineExceeded, says: waited},
		{name: "until ctx ends, and nothing was seen", within: time.Minute, fault: fault(-1, hotelstaystest.Fault{Kind: hotelstaystest.FaultCut}),
			ends: 60, err: context.DeadlineExceeded, says: "the last poll failed: OrderVoucher: "},
		{name: "wake-ups shift no other poll", at: 31, happens: func(s server) { s.ConfirmOrder("ref-1") }, wakeups: []float64{3, 37},
			polls: []float64{0, 3, 5, 10, 20, 37}, ends: 37, status: types.VoucherGenerated}, // there at 36
		{name: "six polls without a status", config: soon, fault: fault(6, status(200, `{"code":0,"data":{}}`)), ends: 110,
			status: types.VoucherGenerated},
		{name: "nobody's", reference: "nobody's", polls: []float64{0}, err: hotelstays.ErrNotFound},
		{name: "forbidden", fault: fault(1, hotelstaystest.Fault{Kind: hotelstaystest.FaultStatus, Status: 403, Skip: 2}),
			polls: []float64{0, 5, 10}, ends: 10, status: types.VoucherNotGenerated, err: hotelstays.ErrForbidden},
	} {
		inBubble(t, tc.name, func(t *testing.T) {
			tc.config.ConfirmAfter = cmp.Or(tc.config.ConfirmAfter, hotelstaystest.Never)
			w := newRecoveryWorld(t, tc.config)
			w.offer.Book(t, w.client, "ref-1")
			start := time.Now()
			at(t, tc.at, func() { tc.happens(w.Server) })
			w.inject(tc.fault)
			ctx := within(t, cmp.Or(tc.within, time.Hour))

			resp, err := w.client.AwaitVoucher(ctx, &hotelstays.OrderVoucherRequest{CustomerReferenceNo: cmp.Or(tc.reference, "ref-1")},
				waking(t, false, tc.wakeups))

			assert.ErrorIs(t, err, tc.err)
			if tc.says != "" {
				assert.ErrorContains(t, err, tc.says)
			}
			assert.Equal(t, tc.ends, time.Since(start).Seconds())
			if tc.polls != nil {
				var polls []float64
				for _, r := range w.Ledger().Requests(hotelstays.OpOrderVoucher) {
					polls = append(polls, r.Arrived.Sub(start).Seconds())
				}
				assert.Equal(t, tc.polls, polls)
			}
			require.Equal(t, tc.status != "", resp != nil)
			if resp != nil {
				assert.Equal(t, tc.status, resp.Status)
				assert.Equal(t, tc.status == types.VoucherGenerated, resp.Voucher != nil)
			}
		})
	}
}
