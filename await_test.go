// Which failures a wait outlasts.

package hotelstays_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// A poll that fails with a status that may pass is made again, any other ends the wait.
func TestStatusesThatAWaitOutlasts(t *testing.T) {
	for code, outlasts := range map[int]bool{400: false, 403: false, 404: false, 429: true, 500: true, 501: true, 503: true, 504: true} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newRecoveryWorld(t, hotelstaystest.WithConfirmAfter(time.Second))
				w.offer.book(t, w.client, "ref-1")
				w.Inject(pollAnswer(code, ""))
				client := newClient(t, w.Server, w.cred, hotelstays.WithMaxAttempts(1))
				at(t, 60, w.ClearFaults)

				start := time.Now()
				_, err := client.AwaitOrder(t.Context(), "ref-1")
				assert.Equal(t, outlasts, err == nil, "AwaitOrder: %v", err)
				assert.Equal(t, outlasts, time.Since(start) >= time.Minute)
			})
			synctest.Test(t, func(t *testing.T) {
				w := newRecoveryWorld(t, hotelstaystest.WithConfirmAfter(time.Second))
				w.offer.book(t, w.client, "ref-1")
				time.Sleep(time.Hour) // the voucher is there
				fault := status(code, "")
				fault.Operation, fault.Times = hotelstaystest.OpOrderVoucher, -1
				w.Inject(fault)
				at(t, 60, w.ClearFaults)
				client := newClient(t, w.Server, w.cred, hotelstays.WithMaxAttempts(1))

				start := time.Now()
				_, err := client.AwaitVoucher(t.Context(), &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"})
				assert.Equal(t, outlasts, err == nil, "AwaitVoucher: %v", err)
				assert.Equal(t, outlasts, time.Since(start) >= time.Minute)
			})
		})
	}
}
