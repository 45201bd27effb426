// What CompareOffer makes of amounts that move against each other, and how it is stored.

package hotelstays_test

import (
	"encoding/json"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// The largest rise of a part's amounts counts, whichever of them falls beside it.
func TestRiseBesideAFall(t *testing.T) {
	offer := func(taxes ...json.Number) *types.RoomRatePkg {
		o := seenOffer()
		o.Tax = &types.Tax{}
		for _, amount := range taxes {
			o.Tax.Items = append(o.Tax.Items, types.TaxItem{TaxName: "Tax", Amount: &types.Money{Currency: "EUR", Amount: amount}})
		}
		return o
	}
	for _, tc := range []struct {
		name      string
		seen, now *types.RoomRatePkg
	}{
		{"the first falls by 5, the second rises by 3", offer("10", "10"), offer("5", "13")},
		{"the first rises by 3, the second falls by 5", offer("10", "10"), offer("13", "5")},
		{"the one in the middle rises by 3", offer("10", "10", "10"), offer("10", "13", "2")},
	} {
		diff := hotelstays.CompareOffer(tc.seen, tc.now)
		assert.False(t, diff.Within(hotelstays.Tolerance{}), tc.name)
		assert.False(t, diff.Within(hotelstays.Tolerance{NetRise: decimal.NewFromFloat(2.99)}), tc.name)
		assert.True(t, diff.Within(hotelstays.Tolerance{NetRise: decimal.NewFromInt(3)}), tc.name)
	}
}

func TestOfferDiffAsJSON(t *testing.T) {
	now := seenOffer()
	now.RefundableMode = types.RefundableNo
	text, err := json.Marshal(hotelstays.CompareOffer(seenOffer(), now))
	require.NoError(t, err)
	assert.JSONEq(t, `{"changes":[{"field":"refundableMode","seen":"full","now":"no"}]}`, string(text))
}
