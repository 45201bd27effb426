// Answers that prove nothing, and what the client makes of them.

package conformance_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// The voucher of another order is refused, by whichever of its references it shows.
func TestVoucherOfAnotherOrder(t *testing.T) {
	asked := &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "c", PlatformReferenceNo: "p", SupplierReferenceNo: "s"}
	for answer, good := range map[string]bool{
		`"customerReferenceNo":"c","platformReferenceNo":"p","supplierReferenceNo":"s"`: true,
		`"platformReferenceNo":"p"`:                               true,
		`"customerReferenceNo":"other","platformReferenceNo":"p"`: false,
		`"platformReferenceNo":"other"`:                           false,
		`"platformReferenceNo":"p","supplierReferenceNo":"other"`: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			client := clientThrough(t, saying(`{"code":0,"data":{"status":"GENERATED","voucher":{"voucherNumber":"v",`+
				`"downloadUrl":"https://host.example/v"}`+
				","+answer+"}}"))
			path := filepath.Join(t.TempDir(), "voucher.pdf")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := client.OrderVoucher(ctx, asked)
			_, awaitErr := client.AwaitVoucher(ctx, asked)
			if good {
				assert.NoError(t, err, answer)
				assert.NoError(t, awaitErr, answer)
				return
			}
			_, saveErr := client.SaveVoucher(ctx, asked, path)
			var unread *hotelstays.DecodeError
			require.ErrorAs(t, err, &unread, answer)
			assert.ErrorContains(t, err, "another order")
			assert.ErrorContains(t, awaitErr, "another order", "it asks again, and says what came")
			assert.ErrorIs(t, awaitErr, context.DeadlineExceeded)
			assert.Error(t, saveErr)
			assert.NoFileExists(t, path)
		})
	}
}

// The platform's reference is required: without one the answer may be of any order.
func TestVoucherOfNoOrder(t *testing.T) {
	for _, order := range []string{``, `,"platformReferenceNo":""`, `,"PlatformReferenceNo":"p"`, `,"customerReferenceNo":"c"`} {
		client := clientThrough(t, saying(`{"code":0,"data":{"status":"NOT_GENERATED"`+order+`}}`))
		_, err := client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "c"})
		var unread *hotelstays.DecodeError
		assert.ErrorAs(t, err, &unread, order)
	}
	client := clientThrough(t, saying(`{"code":0,"data":{"platformReferenceNo":"p"}}`))
	_, err := client.OrderVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "c"})
	assert.ErrorContains(t, err, "data.status is missing")
}

func TestBookAnsweredWithAnotherReference(t *testing.T) {
	var err error
	var unknown *hotelstays.OutcomeUnknownError
	for _, other := range []string{"other", "REF-1", "ref-1 "} {
		client := clientThrough(t, saying(`{"code":0,"data":{"hotelOrder":{"platformReferenceNo":"p","customerReferenceNo":"`+other+`"}}}`))
		err = operationCalls[hotelstays.OpBook](t.Context(), client)
		require.ErrorAs(t, err, &unknown, other)
		assert.Equal(t, "ref-1", unknown.CustomerReferenceNo)
	}
	var cause *hotelstays.DecodeError
	require.ErrorAs(t, err, &cause, "it is of a type, and says where to look")
	assert.ErrorContains(t, err, "it is of another order")
}

// Orders that are all of others prove no absence, for any of the helpers; nor does an
// answer without a list of orders, or one that says that it is not the whole list.
func TestOrdersOfOthersProveNothing(t *testing.T) {
	const notApplied = "the filter was not applied"
	for data, why := range map[string]string{
		`{"orders":[{"status":2,"customerReferenceNo":"other"}]}`: notApplied,
		`{"orders":[{"status":2,"customerReferenceNo":123}]}`:     notApplied,
		`{"orders":[{"status":2,"customerReferenceNo":""}]}`:      notApplied,
		`{}`:                               "data.orders is missing",
		`{"orders":null}`:                  "ServiceFacts.NullOrders",
		`{"orders":[],"hasMore":true}`:     `"hasMore" indicates further orders`,
		`{"orders":[],"page":{"total":1}}`: `"page"."total" indicates further orders`,
	} {
		synctest.Test(t, func(t *testing.T) {
			client := clientThrough(t, saying(`{"code":0,"data":`+data+`}`))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			_, err := client.AwaitOrder(ctx, "ref-1")
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, hotelstays.ErrNotFound)
			assert.ErrorContains(t, err, why)
			_, err = client.FindOrder(t.Context(), "ref-1")
			assert.Equal(t, hotelstays.KindDecode, hotelstays.KindOf(err))
			assert.NotErrorIs(t, err, hotelstays.ErrNotFound)
			assert.ErrorContains(t, err, why)

			outcome, err := client.RecoverBooking(t.Context(), client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref-1"}))
			require.NoError(t, err)
			assert.Equal(t, hotelstays.BookingUnverified, outcome.State)
			assert.ErrorContains(t, outcome.Err, why)
		})
	}
}
