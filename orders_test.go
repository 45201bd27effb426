// What CancelAndRead takes for cancelled.

package hotelstays_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// The order that is read back decides; the answer to Cancel counts only where there is no
// order.
func TestTheOrderReadBackDecides(t *testing.T) {
	const cancelled, confirmed = `{"status":3}`, `{"status":2}`
	order := func(status string) string {
		return `{"orders":[{"customerReferenceNo":"ref-1","status":` + status + `}]}`
	}
	for _, tc := range []struct {
		name, cancel, orders string
		verified             bool
	}{
		{"both say cancelled", cancelled, order("3"), true},
		{"the answer says cancelled, the order does not", cancelled, order("2"), false},
		{"the answer does not, the order says cancelled", confirmed, order("3"), true},
		{"the answer says cancelled, no order is there", cancelled, `{"orders":[]}`, true},
		{"the answer does not, no order is there", confirmed, `{"orders":[]}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := clientThrough(t, transportFunc(func(r *http.Request) (*http.Response, error) {
				data := tc.orders
				if strings.HasSuffix(r.URL.Path, "/cancel") {
					data = tc.cancel
				}
				return reply(200, `{"code":0,"data":`+data+`}`), nil
			}))
			outcome, err := client.CancelAndRead(t.Context(), &hotelstays.CancelRequest{SessionID: "s", CustomerReferenceNo: "ref-1", SupplierReferenceNo: "sup-1"},
				hotelstays.WithOrderStates(hotelstays.OrderStates{Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3}}))
			require.NoError(t, err)
			assert.Equal(t, tc.verified, outcome.Verified)
			assert.NotNil(t, outcome.Response)
		})
	}
}
