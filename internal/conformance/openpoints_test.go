// The client does not guess what the API document leaves open. docs/open-points.md names a test for each open point.

package conformance_test

import (
	"encoding/json"
	gotypes "go/types"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestConstantsAreTheDocumentedValuesAndOtherStatusesAreKept(t *testing.T) {
	documented := map[string][]string{
		"VoucherStatus":       {`"CANCELLED"`, `"FAILED"`, `"GENERATED"`, `"NOT_GENERATED"`, `"PENDING"`},
		"RefundableMode":      {`"full"`, `"no"`, `"partial"`},
		"Gender":              {`"FEMALE"`, `"MALE"`, `"OTHER"`, `"UNSPECIFIED"`},
		"EmptyReasonCode":     {`"ALL_SUPPLIERS_EXCLUDED"`, `"NO_SUPPLIER_ANSWERED"`, `"NO_SUPPLIER_ENABLED"`, `"NO_SUPPLIER_PERMITTED"`},
		"BoardID":             {`"AI"`, `"BB"`, `"BD"`, `"BI"`, `"BL"`, `"DI"`, `"FB"`, `"HB"`, `"LD"`, `"LU"`, `"RO"`, `"TI"`},
		"DestinationType":     {"0", "1", "10", "11", "12", "2", "3", "4", "5", "6", "7", "8", "9"},
		"DestinationsInclude": {`"details"`, `"standard"`},
		"SortBy":              {`"distance-asc"`, `"price-asc"`, `"price-desc"`, `"rating-desc"`},
		"Scope":               {`"booking:cancel"`, `"booking:read"`, `"booking:write"`, `"content:read"`, `"search:read"`},
	}
	got := map[string][]string{}
	for name, object := range exported(t) {
		constant, ok := object.(*gotypes.Const)
		if kind, named := object.Type().(*gotypes.Named); ok && named && strings.HasPrefix(name, "types.") {
			got[kind.Obj().Name()] = append(got[kind.Obj().Name()], constant.Val().ExactString())
		}
	}
	for name, values := range documented {
		assert.ElementsMatch(t, got[name], values, name)
	}
	assert.ElementsMatch(t, []string{"0", "1", strconv.Itoa(int(types.OrderStatusUnreadable))}, got["OrderStatus"], "the document gives no other number a meaning")
	assert.Empty(t, got["AvailabilityStatus"], "the document names no value")

	for _, number := range []string{"2", "5", "77"} {
		var order types.Order
		require.NoError(t, json.Unmarshal([]byte(`{"status":`+number+`}`), &order))
		back, err := json.Marshal(order)
		require.NoError(t, err)
		assert.Contains(t, string(back), `"status":`+number, "an undocumented number is kept")
	}
}
