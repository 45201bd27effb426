// Options: which calls take which, and that helpers hand them on.

package hotelstays_test

import (
	"io"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// A call with an option compiles where the option's type is assignable to the call's: the
// table has every option and every call of the package.
func TestMisplacedOptionsDoNotCompile(t *testing.T) {
	call := []any{hotelstays.WithTraceID, hotelstays.WithClientRequestTimestamp, hotelstays.WithRawData, hotelstays.JoinCallOptions,
		hotelstays.WithLanguage, hotelstays.WithMarket, hotelstays.WithUserRef, hotelstays.WithCurrency, hotelstays.WithClientIP,
		hotelstays.WithTestFlags, hotelstays.WithTimeout, hotelstays.WithOrderStates}
	own := map[string]any{"parallelism": hotelstays.WithParallelism, "batch size": hotelstays.WithBatchSize, "wake-up": hotelstays.WithWakeup,
		"save": hotelstays.WithSaveRecovery, "unsigned": hotelstays.WithUnsignedVouchers, "bytes": hotelstays.WithMaxVoucherBytes,
		"logger": hotelstays.WithLogger}
	takes := map[string][]string{
		"WalkDestinations": {"parallelism"}, "HotelsMetadataAll": {"parallelism"},
		"HotelListBatches": {"parallelism", "batch size"},
		"AwaitOrder":       {"wake-up"}, "AwaitVoucher": {"wake-up"},
		"BookAndRecover": {"wake-up", "save"}, "RecoverBooking": {"wake-up", "save"},
		"SaveVoucher": {"unsigned", "bytes"}, "DownloadVoucher": {"unsigned", "bytes"},
	}
	client, calls := reflect.TypeFor[*hotelstays.Client](), 0
	for method := range client.Methods() {
		if !method.Type.IsVariadic() {
			continue
		}
		calls++
		taken := method.Type.In(method.Type.NumIn() - 1).Elem()
		compiles := func(option any) bool { return reflect.TypeOf(option).Out(0).AssignableTo(taken) }
		for _, option := range call {
			assert.True(t, compiles(option), "%s takes a %s", method.Name, reflect.TypeOf(option).Out(0))
		}
		for name, option := range own {
			assert.Equal(t, slices.Contains(takes[method.Name], name), compiles(option), "%s, %s", method.Name, name)
		}
		delete(takes, method.Name)
	}
	assert.Empty(t, takes)
	assert.Greater(t, calls, 20)
}

// What a helper is given, all its calls are sent with; options after the first do not undo it.
func TestHelpersHandCallOptionsOn(t *testing.T) {
	traced := hotelstays.JoinCallOptions(hotelstays.WithTraceID("trace-1"), hotelstays.WithMarket("AE"), hotelstays.WithRawData(), hotelstays.WithTimeout(7*time.Second))
	service := serviceOf(nil, serving(voucherDoc))
	var calls []*http.Request
	client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
		calls = append(calls, r)
		return service.RoundTrip(r)
	}))

	_, err := client.SaveVoucher(t.Context(), voucherRef, filepath.Join(t.TempDir(), "voucher.pdf"), hotelstays.WithMaxVoucherBytes(1<<20), traced)
	require.NoError(t, err)
	resp, err := client.AwaitVoucher(t.Context(), voucherRef, hotelstays.WithWakeup(make(chan struct{})), traced)
	require.NoError(t, err)
	assert.NotEmpty(t, resp.Meta.RawData)
	require.NoError(t, client.DownloadVoucher(t.Context(), resp.Voucher, io.Discard, traced))

	require.Len(t, calls, 4)
	for i, download := range []bool{false, true, false, true} {
		deadline, _ := calls[i].Context().Deadline()
		assert.InDelta(t, 7, time.Until(deadline).Seconds(), 2, "a timeout bounds call and download alike")
		if download {
			assert.Empty(t, calls[i].Header.Get("Trace-Id")+calls[i].Header.Get("Market"), "the link may be another host's")
			continue
		}
		assert.Equal(t, "trace-1", calls[i].Header.Get("Trace-Id"))
		assert.Equal(t, "AE", calls[i].Header.Get("Market"))
	}
}

// A header that no call of the helper takes is refused, and a nil option wherever it is.
func TestFaultyOptionsOfHelpers(t *testing.T) {
	client := clientThrough(t, transportFunc(func(*http.Request) (*http.Response, error) { panic("sent") }))
	ctx, currency := t.Context(), hotelstays.WithCurrency("USD")
	recovery := client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref-1"})
	path := filepath.Join(t.TempDir(), "voucher.pdf")
	for name, call := range map[string]func() error{
		"AwaitOrder":     func() error { _, err := client.AwaitOrder(ctx, "ref-1", currency); return err },
		"AwaitVoucher":   func() error { _, err := client.AwaitVoucher(ctx, voucherRef, currency); return err },
		"RecoverBooking": func() error { _, err := client.RecoverBooking(ctx, recovery, currency); return err },
		"SaveVoucher":    func() error { _, err := client.SaveVoucher(ctx, voucherRef, path, currency); return err },
		"nil in joined":  func() error { _, err := client.AwaitOrder(ctx, "ref-1", hotelstays.JoinCallOptions(nil)); return err },
		"nil to wait":    func() error { _, err := client.AwaitOrder(ctx, "ref-1", nil); return err },
		"nil to recover": func() error { _, err := client.RecoverBooking(ctx, recovery, nil); return err },
		"nil channel":    func() error { _, err := client.AwaitOrder(ctx, "ref-1", hotelstays.WithWakeup(nil)); return err },
		"nil save": func() error {
			_, err := client.RecoverBooking(ctx, recovery, hotelstays.WithSaveRecovery(nil))
			return err
		},
		"nil to a walk": func() error {
			_, errs := collect(client.WalkDestinations(ctx, &hotelstays.DestinationsRequest{}, nil))
			return errs[0]
		},
		"currency, a walk": func() error {
			_, errs := collect(client.WalkDestinations(ctx, &hotelstays.DestinationsRequest{}, currency))
			return errs[0]
		},
	} {
		var invalid *hotelstays.ValidationError
		assert.ErrorAs(t, call(), &invalid, name)
	}
}

// JoinCallOptions keeps the caller's slice apart from what it made of it.
func TestJoinedOptionsAreACopy(t *testing.T) {
	var sent http.Header
	client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
		sent = r.Header
		return reply(200, `{"code":0,"data":{"orders":[]}}`), nil
	}))
	opts := []hotelstays.CallOption{hotelstays.WithTraceID("first"), hotelstays.WithMarket("AE")}
	joined := hotelstays.JoinCallOptions(opts...)
	opts[0] = hotelstays.WithTraceID("changed")
	_, err := client.QueryOrders(t.Context(), &hotelstays.QueryOrdersRequest{}, joined, hotelstays.WithMarket("FR"))
	require.NoError(t, err)
	assert.Equal(t, "first", sent.Get("Trace-Id"))
	assert.Equal(t, "FR", sent.Get("Market"), "the later option wins")
}
