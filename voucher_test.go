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

// voucherAnswer is the answer to OrderVoucher.
func voucherAnswer(status types.VoucherStatus, v *types.Voucher) string {
	data, err := json.Marshal(hotelstays.OrderVoucherResponse{CustomerReferenceNo: "ref-1", PlatformReferenceNo: "P1",
		SupplierReferenceNo: "S1", Status: status, Voucher: v})
	if err != nil {
		panic(err)
	}
	return `{"code":0,"msg":"ok","data":` + string(data) + `}`
}

// orderVoucher asks for the voucher of ref-1, which must be there.
func orderVoucher(t *testing.T, client *hotelstays.Client) *types.Voucher {
	t.Helper()
	resp, err := client.OrderVoucher(t.Context(), voucherRef)
	require.NoError(t, err)
	require.NotNil(t, resp.Voucher)
	return resp.Voucher
}

// inSandbox runs a test in a bubble, with a booking under ref-1.
func inSandbox(t *testing.T, config hotelstaystest.Config, test func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, config)
		findOffer(t, srv, client, 0).Book(t, client, "ref-1")
		test(t, srv, client)
	})
}

// inVoucherSandbox is inSandbox with a voucher that is there.
func inVoucherSandbox(t *testing.T, config hotelstaystest.Config,
	test func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client)) {
	t.Helper()
	config.ConfirmAfter, config.VoucherDelay = hotelstaystest.AtOnce, cmp.Or(config.VoucherDelay, hotelstaystest.AtOnce)
	inSandbox(t, config, test)
}

// pollsSince are the seconds at which the voucher was asked for.
func pollsSince(srv *hotelstaystest.Server, start time.Time) (seconds []float64) {
	for _, r := range srv.Ledger().Requests(hotelstays.OpOrderVoucher) {
		seconds = append(seconds, r.Arrived.Sub(start).Seconds())
	}
	return seconds
}

func never() hotelstaystest.Config {
	return hotelstaystest.Config{ConfirmAfter: hotelstaystest.Never}
}

func TestAwaitVoucherEndsWithAValue(t *testing.T) {
	for status, tc := range map[types.VoucherStatus]struct {
		happens func(*testing.T, *hotelstaystest.Server, *hotelstays.Client)
		polls   []float64
	}{
		types.VoucherGenerated: {func(t *testing.T, srv *hotelstaystest.Server, _ *hotelstays.Client) {
			time.Sleep(47 * time.Second)
			srv.ConfirmOrder("ref-1") // PENDING at 50, there at 52
		}, []float64{0, 5, 10, 20, 50, 80}},
		types.VoucherFailed: {func(t *testing.T, srv *hotelstaystest.Server, _ *hotelstays.Client) {
			time.Sleep(12 * time.Second)
			srv.FailVoucher("ref-1")
		}, []float64{0, 5, 10, 20}},
		types.VoucherCancelled: {func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
			time.Sleep(6 * time.Second)
			srv.SetOrderStatus("ref-1", 3)
		}, []float64{0, 5, 10}},
	} {
		t.Run(string(status), func(t *testing.T) {
			inSandbox(t, never(), func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
				start := time.Now()
				go tc.happens(t, srv, client)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				resp, err := client.AwaitVoucher(ctx, voucherRef)
				require.NoError(t, err)
				assert.Equal(t, status, resp.Status)
				assert.Equal(t, status == types.VoucherGenerated, resp.Voucher != nil)
				assert.Equal(t, tc.polls, pollsSince(srv, start))
				assert.Equal(t, tc.polls[len(tc.polls)-1], time.Since(start).Seconds())
			})
		})
	}
}

// A status that nobody knows yet is the caller's to judge.
func TestAwaitVoucherEndsOnAnUnknownStatus(t *testing.T) {
	answer := &fixedAnswer{status: 200, body: voucherAnswer("ARCHIVED", nil)}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	resp, err := clientThrough(t, answer).AwaitVoucher(ctx, voucherRef)
	require.NoError(t, err)
	assert.Equal(t, types.VoucherStatus("ARCHIVED"), resp.Status)
	assert.Len(t, answer.sent, 1)
}

// The end of ctx returns what was seen last.
func TestAwaitVoucherUntilCtxEnds(t *testing.T) {
	wait := func(t *testing.T, client *hotelstays.Client, d time.Duration) (*hotelstays.OrderVoucherResponse, error) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		resp, err := client.AwaitVoucher(ctx, voucherRef)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return resp, err
	}
	inSandbox(t, never(), func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
		start := time.Now()
		resp, err := wait(t, client, 2*time.Minute)
		assert.EqualError(t, err, `hotelstays: AwaitVoucher: the voucher of order "ref-1" is still NOT_GENERATED; `+
			`the caller's ctx ended the wait: context deadline exceeded; call again to continue`)
		require.NotNil(t, resp)
		assert.Equal(t, types.VoucherNotGenerated, resp.Status)
		assert.Equal(t, []float64{0, 5, 10, 20, 50, 80, 110}, pollsSince(srv, start))
		assert.Equal(t, 2*time.Minute, time.Since(start))
	})
	inSandbox(t, never(), func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpOrderVoucher, Kind: hotelstaystest.FaultCut, Times: -1})
		resp, err := wait(t, client, time.Minute)
		assert.Nil(t, resp, "nothing was seen")
		assert.ErrorContains(t, err, "the last poll failed: OrderVoucher: ")
	})
	inSandbox(t, never(), func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(12*time.Second, cancel)
		resp, err := client.AwaitVoucher(ctx, voucherRef)
		assert.ErrorIs(t, err, context.Canceled)
		assert.NotNil(t, resp)
		assert.Equal(t, 12*time.Second, time.Since(start), "it ends between two polls")
	})
}

func TestAwaitVoucherWakesUp(t *testing.T) {
	inSandbox(t, never(), func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
		start, wakeup := time.Now(), make(chan struct{}, 1)
		go func() {
			time.Sleep(3 * time.Second)
			wakeup <- struct{}{}
			time.Sleep(28 * time.Second)
			srv.ConfirmOrder("ref-1") // there at 36
			time.Sleep(6 * time.Second)
			wakeup <- struct{}{}
		}()
		resp, err := client.AwaitVoucher(t.Context(), voucherRef, hotelstays.WithWakeup(wakeup))
		require.NoError(t, err)
		assert.Equal(t, types.VoucherGenerated, resp.Status)
		assert.Equal(t, []float64{0, 3, 5, 10, 20, 37}, pollsSince(srv, start), "the wake-ups shift no other poll")
	})
}

// What may pass is asked again; what will not is returned at once.
func TestAwaitVoucherThroughFailures(t *testing.T) {
	for _, fault := range []hotelstaystest.Fault{{Kind: hotelstaystest.FaultCut}, {Kind: hotelstaystest.FaultGarbage},
		status(200, `{"code":0,"data":{}}`)} {
		opts := hotelstaystest.Config{ConfirmAfter: 30 * time.Second, VoucherDelay: time.Second}
		inSandbox(t, opts, func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
			start := time.Now()
			fault.Operation, fault.Times = hotelstays.OpOrderVoucher, 6 // more than one poll's attempts, or six polls
			srv.Inject(fault)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			resp, err := client.AwaitVoucher(ctx, voucherRef)
			require.NoError(t, err, fault.Kind)
			assert.Equal(t, types.VoucherGenerated, resp.Status)
			assert.Contains(t, []float64{50, 110}, time.Since(start).Seconds(), fault.Kind)
		})
	}
	inSandbox(t, never(), func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		resp, err := client.AwaitVoucher(ctx, &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "nobody's"})
		assert.ErrorIs(t, err, hotelstays.ErrNotFound)
		assert.Nil(t, resp)
		assert.Zero(t, time.Since(start))
		assert.Equal(t, []float64{0}, pollsSince(srv, start))

		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpOrderVoucher, Kind: hotelstaystest.FaultStatus, Status: 403, Skip: 2})
		resp, err = client.AwaitVoucher(ctx, voucherRef)
		assert.ErrorIs(t, err, hotelstays.ErrForbidden)
		assert.Equal(t, types.VoucherNotGenerated, resp.Status, "as it was seen before")
		assert.Equal(t, 10*time.Second, time.Since(start))

		before := srv.Ledger().Count("")
		_, err = client.AwaitVoucher(t.Context(), nil)
		assert.ErrorAs(t, err, new(*hotelstays.ValidationError))
		assert.Equal(t, before, srv.Ledger().Count(""))
	})
}
