// Tests of answers that prove nothing about the order of the request: ambiguous answers, and answers about another
// order.

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

func TestOutcomeOfBookAndCancelIsUnknownIfTheAnswerIsAmbiguous(t *testing.T) {
	for _, body := range []string{`{"code":100000400,"code":0}`, `{"code":0,"code":100000400}`, `{"code":100000400,"Code":0}`,
		`{"code":100000400,"data":{},"data":{}}`} {
		for _, status := range []int{200, 400, 401, 403, 404, 429} {
			for _, op := range []hotelstays.Operation{hotelstays.OpBook, hotelstays.OpCancel} {
				rt := &fixedAnswer{Status: status, Body: body}
				err := operationCalls[op](t.Context(), clientThrough(t, rt, hotelstays.WithMaxAttempts(3)))
				assert.ErrorAs(t, err, new(*hotelstays.OutcomeUnknownError), "%d %s", status, body)
				assert.Len(t, rt.Sent, 1, "%d %s", status, body)
			}
		}
	}
}

// The client refuses a voucher if a reference in the answer differs from the same reference in the request.
func TestVoucherOfAnotherOrderIsRefused(t *testing.T) {
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
			assert.ErrorContains(t, awaitErr, "another order", "the error after the wait has the reason")
			assert.ErrorIs(t, awaitErr, context.DeadlineExceeded)
			assert.Error(t, saveErr)
			assert.NoFileExists(t, path)
		})
	}
}

// Without platformReferenceNo, the answer may be about any order.
func TestVoucherWithoutAPlatformReferenceIsRefused(t *testing.T) {
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

func TestOutcomeOfBookIsUnknownIfTheAnswerHasAnotherReference(t *testing.T) {
	var unknown *hotelstays.OutcomeUnknownError
	for _, other := range []string{"other", "REF-1", "ref-1 "} {
		client := clientThrough(t, saying(`{"code":0,"data":{"hotelOrder":{"platformReferenceNo":"p","customerReferenceNo":"`+other+`"}}}`))
		require.ErrorAs(t, operationCalls[hotelstays.OpBook](t.Context(), client), &unknown, other)
		assert.Equal(t, "ref-1", unknown.CustomerReferenceNo)
	}
	var cause *hotelstays.DecodeError
	require.ErrorAs(t, unknown.Err, &cause, "the cause has a type")
	assert.ErrorContains(t, unknown, "the answer is about another order than the request")
}
