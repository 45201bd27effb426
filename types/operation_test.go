package types

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOperationRateLimit(t *testing.T) {
	for op, want := range map[Operation]int{
		OpTicket: 5, OpOAuthToken: 0, OpHotelIDList: 0,
		OpDestinations: 100, OpHotelsMetadata: 100, OpHotelStaticDetail: 100,
		OpHotelList: 100, OpHotelRates: 100, OpCheckAvail: 10, OpBook: 10,
		OpQueryOrders: 50, OpOrderVoucher: 50, OpCancel: 10, "other": 0,
	} {
		assert.Equal(t, want, op.RateLimit(), op)
	}
}
