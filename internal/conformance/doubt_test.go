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
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
)

// A document is saved only of a voucher that is generated, and of the order that
// was asked for.
func TestSaveVoucherOfTheRightOrder(t *testing.T) {
	const voucher = `"voucher":{"voucherNumber":"v","version":1,"byteSize":3,` +
		`"signature":{"digest":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},"content":{"base64":"YWJj"}}`
	cases := []struct {
		answer string
		err    error
	}{
		{`"status":"GENERATED","platformReferenceNo":"p","customerReferenceNo":"mine"`, nil},
		{`"status":"GENERATED","platformReferenceNo":"p"`, nil},
		{`"status":"CANCELLED","platformReferenceNo":"p"`, hotelstays.ErrNoVoucher},
		{`"status":"FAILED","platformReferenceNo":"p"`, hotelstays.ErrNoVoucher},
		{`"status":"PENDING","platformReferenceNo":"p"`, hotelstays.ErrVoucherNotReady},
	}
	for _, c := range cases {
		path := filepath.Join(t.TempDir(), "voucher.pdf")
		client := clientThrough(t, saying(`{"code":0,"data":{`+c.answer+`,`+voucher+`}}`))
		_, err := client.SaveVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "mine"}, path)
		assert.ErrorIs(t, err, c.err, c.answer)
		if c.err == nil {
			assert.FileExists(t, path)
		} else {
			assert.NoFileExists(t, path)
		}
	}
}

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
			ctx := testkit.Within(t, time.Minute)
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
			ctx := testkit.Within(t, time.Hour)
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

// Only a poll ten minutes after the Book decides that there is no order, whatever
// the stored value says, and times that cannot be start the schedule again.
func TestOddRecoveriesDoNotDecideEarly(t *testing.T) {
	for name, change := range map[string]func(r *hotelstays.BookingRecovery){
		"polls used up, no time":  func(r *hotelstays.BookingRecovery) { r.Polls = 6 },
		"polls used up, just now": func(r *hotelstays.BookingRecovery) { r.Polls, r.EndedAt = 6, time.Now() },
		"next poll in a year": func(r *hotelstays.BookingRecovery) {
			r.EndedAt, r.NextPoll = time.Now(), time.Now().Add(8760*time.Hour)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			srv, client := newSandbox(t)
			recovery := client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "nobody"})
			change(recovery)
			start := time.Now()
			outcome, err := client.RecoverBooking(t.Context(), recovery)
			require.NoError(t, err, name)
			assert.Equal(t, hotelstays.BookingAbsent, outcome.State, name)
			assert.GreaterOrEqual(t, time.Since(start), 10*time.Minute, name)
			assert.Less(t, time.Since(start), 13*time.Minute, name)
			assert.Positive(t, srv.Ledger().Count(hotelstays.OpQueryOrders))
		})
	}
}
