// The states of vouchers, and waiting for them.

package hotelstays_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The five states of a voucher are values; only a generated one has a voucher.
func TestOrderVoucherStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.Config{VoucherDelay: 5 * time.Second})
		o := findOffer(t, srv, client, 0)
		order := o.Book(t, client, "ref-1")
		for _, tc := range []struct {
			status types.VoucherStatus
			after  func()
		}{
			{types.VoucherNotGenerated, func() {}},
			{types.VoucherPending, func() { srv.ConfirmOrder("ref-1") }},
			{types.VoucherGenerated, func() { time.Sleep(5 * time.Second) }},
			{types.VoucherPending, func() { srv.RegenerateVoucher("ref-1") }},
			{types.VoucherGenerated, func() { time.Sleep(5 * time.Second) }},
			{types.VoucherFailed, func() { srv.FailVoucher("ref-1") }},
			{types.VoucherCancelled, func() {
				_, err := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: o.Session, CustomerReferenceNo: "ref-1",
					SupplierReferenceNo: order.SupplierReferenceNo})
				require.NoError(t, err)
			}},
		} {
			tc.after()
			resp, err := client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"})
			require.NoError(t, err)
			assert.Equal(t, tc.status, resp.Status)
			assert.Equal(t, tc.status == types.VoucherGenerated, resp.Voucher != nil, tc.status)
			assert.Equal(t, "ref-1", resp.CustomerReferenceNo)
			assert.Equal(t, order.PlatformReferenceNo, resp.PlatformReferenceNo)
			assert.Equal(t, order.SupplierReferenceNo, resp.SupplierReferenceNo)
		}
	})
}

func TestOrderVoucherDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.Config{VoucherLinkLifetime: 10 * time.Minute})
		findOffer(t, srv, client, 0).Book(t, client, "ref-1")
		time.Sleep(time.Hour)
		ask := func(inline bool) *types.Voucher {
			t.Helper()
			resp, err := client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1", IncludeDocument: inline})
			require.NoError(t, err)
			require.Equal(t, types.VoucherGenerated, resp.Status)
			return resp.Voucher
		}
		v := ask(true)
		require.NotNil(t, v.Content)
		document, err := base64.StdEncoding.DecodeString(v.Content.Base64)
		require.NoError(t, err)
		assert.True(t, bytes.HasPrefix(document, []byte("%PDF-")))
		digest := sha256.Sum256(document)
		assert.Equal(t, hex.EncodeToString(digest[:]), v.Signature.Digest)
		assert.EqualValues(t, len(document), v.ByteSize)
		assert.EqualValues(t, len(document), v.Content.ByteSize)
		assert.Equal(t, "application/pdf", v.ContentType)
		assert.Equal(t, "application/pdf", v.Content.ContentType)
		assert.Equal(t, 1, v.Version)
		assert.Equal(t, types.Timestamp("2000-01-01T00:03:05Z"), v.IssuedAt)
		assert.EqualValues(t, 600, v.ExpiresIn)
		assert.NotEmpty(t, v.VoucherNumber)
		assert.NotEmpty(t, v.VerifyURL)
		assert.NotEmpty(t, v.DownloadURL)
		assert.NotEmpty(t, v.Signature.Alg)
		assert.NotEmpty(t, v.Signature.KeyID)
		assert.NotEmpty(t, v.Signature.Signature)
		assert.Equal(t, v.IssuedAt, v.Signature.SignedAt)

		assert.Nil(t, ask(false).Content)
		srv.RegenerateVoucher("ref-1")
		time.Sleep(time.Minute)
		newer := ask(true)
		assert.Equal(t, 2, newer.Version)
		assert.Equal(t, v.VoucherNumber, newer.VoucherNumber)
		assert.NotEqual(t, v.Signature.Digest, newer.Signature.Digest)
	})
}

func TestOrderVoucherRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t, hotelstaystest.Config{VoucherSize: 8<<20 + 1})
		one := findOffer(t, srv, client, 0).Book(t, client, "ref-1")
		findOffer(t, srv, client, 1).Book(t, client, "ref-2")
		srv.ShareSupplierReference("ref-1", "ref-2")
		time.Sleep(time.Hour)
		for _, tc := range []struct {
			name string
			req  hotelstays.OrderVoucherRequest
			want error
			code int
		}{
			{"one reference of two orders", hotelstays.OrderVoucherRequest{SupplierReferenceNo: one.SupplierReferenceNo},
				hotelstays.ErrAmbiguousReference, types.CodeAmbiguousReference},
			{"with the platform's reference", hotelstays.OrderVoucherRequest{SupplierReferenceNo: one.SupplierReferenceNo,
				PlatformReferenceNo: one.PlatformReferenceNo}, nil, 0},
			{"an unknown order", hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-9"}, hotelstays.ErrNotFound, types.CodeNotFound},
			{"a large document inline", hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1", IncludeDocument: true},
				hotelstays.ErrVoucherTooLarge, types.CodeVoucherTooLarge},
			{"a large document by its link", hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"}, nil, 0},
		} {
			before := srv.Ledger().Count(hotelstays.OpOrderVoucher)
			resp, err := client.OrderVoucher(t.Context(), &tc.req)
			assert.Equal(t, 1, srv.Ledger().Count(hotelstays.OpOrderVoucher)-before, tc.name)
			if tc.want == nil {
				require.NoError(t, err, tc.name)
				assert.Equal(t, one.PlatformReferenceNo, resp.PlatformReferenceNo, tc.name)
				assert.Greater(t, resp.Voucher.ByteSize, int64(8<<20), tc.name)
				continue
			}
			assert.ErrorIs(t, err, tc.want, tc.name)
			var api *hotelstays.APIError
			require.ErrorAs(t, err, &api, tc.name)
			assert.Equal(t, tc.code, api.Code, tc.name)
		}
	})
}

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
	asks := 0
	client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) {
		asks++
		return reply(200, voucherAnswer("ARCHIVED", nil)), nil
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	resp, err := client.AwaitVoucher(ctx, voucherRef)
	require.NoError(t, err)
	assert.Equal(t, types.VoucherStatus("ARCHIVED"), resp.Status)
	assert.Equal(t, 1, asks)
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
		assert.EqualError(t, err,
			`hotelstays: AwaitVoucher: the voucher of order "ref-1" is still NOT_GENERATED; the caller's ctx ended the wait: context deadline exceeded; call again to continue`)
		require.NotNil(t, resp)
		assert.Equal(t, types.VoucherNotGenerated, resp.Status)
		assert.Equal(t, []float64{0, 5, 10, 20, 50, 80, 110}, pollsSince(srv, start))
		assert.Equal(t, 2*time.Minute, time.Since(start))
	})
	inSandbox(t, hotelstaystest.Config{ConfirmAfter: 7 * time.Second, VoucherDelay: time.Hour},
		func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
			resp, _ := wait(t, client, 15*time.Second)
			require.NotNil(t, resp)
			assert.Equal(t, types.VoucherPending, resp.Status)
		})
	inSandbox(t, never(), func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpOrderVoucher, Kind: hotelstaystest.FaultCut, Times: -1})
		resp, err := wait(t, client, time.Minute)
		assert.Nil(t, resp, "nothing was seen")
		assert.ErrorContains(t, err, "the last poll failed: OrderVoucher: ")
	})
	inSandbox(t, never(), func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
		start := time.Now()
		resp, _ := wait(t, client, 0)
		assert.Nil(t, resp)
		assert.Empty(t, pollsSince(srv, start))

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
	inSandbox(t, hotelstaystest.Config{ConfirmAfter: time.Second, VoucherDelay: hotelstaystest.AtOnce},
		func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
			start, closed := time.Now(), make(chan struct{})
			close(closed)
			_, err := client.AwaitVoucher(t.Context(), voucherRef, hotelstays.WithWakeup(closed))
			require.NoError(t, err)
			assert.Equal(t, []float64{0, 5}, pollsSince(srv, start), "a closed channel wakes nobody")
		})
}

// What may pass is asked again; what will not is returned at once.
func TestAwaitVoucherThroughFailures(t *testing.T) {
	for _, fault := range []hotelstaystest.Fault{status(503, ""), status(429, ""), status(504, "<html>"), {Kind: hotelstaystest.FaultCut},
		{Kind: hotelstaystest.FaultGarbage}, {Kind: hotelstaystest.FaultTruncatedBody}, {Kind: hotelstaystest.FaultEmptyBody}, status(200,
			`{"code":0,"data":{}}`)} {
		opts := hotelstaystest.Config{ConfirmAfter: 30 * time.Second, VoucherDelay: time.Second}
		inSandbox(t, opts, func(t *testing.T, srv *hotelstaystest.Server, client *hotelstays.Client) {
			start := time.Now()
			fault.Operation, fault.Times = hotelstays.OpOrderVoucher, 6 // more than one poll's attempts, or six polls
			srv.Inject(fault)
			resp, err := client.AwaitVoucher(t.Context(), voucherRef)
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
		resp, err = client.AwaitVoucher(t.Context(), voucherRef)
		assert.ErrorIs(t, err, hotelstays.ErrForbidden)
		assert.Equal(t, types.VoucherNotGenerated, resp.Status, "as it was seen before")
		assert.Equal(t, 10*time.Second, time.Since(start))

		before := srv.Ledger().Count("")
		for _, req := range []*hotelstays.OrderVoucherRequest{nil, {}} {
			_, err = client.AwaitVoucher(ctx, req)
			var invalid *hotelstays.ValidationError
			assert.ErrorAs(t, err, &invalid)
		}
		assert.Equal(t, before, srv.Ledger().Count(""))
	})
}
