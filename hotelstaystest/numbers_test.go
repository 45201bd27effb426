// Amounts and their conversion.

package hotelstaystest

import (
	"encoding/json"
	"strconv"
	"testing"
)

func TestAmountsAreExact(t *testing.T) {
	for _, tc := range []struct {
		minor    int64
		decimals int
		want     string
	}{{12050, 2, "120.50"}, {5, 2, "0.05"}, {-5, 3, "-0.005"}, {1500, 0, "1500"}, {0, 2, "0.00"}, {9007199254740993, 2, "90071992547409.93"}} {
		b, _ := json.Marshal(currency{decimals: tc.decimals}.money(tc.minor))
		if want := `{"currency":"","amount":` + tc.want + `}`; string(b) != want {
			t.Errorf("%d with %d decimals is %s, want %s", tc.minor, tc.decimals, b, want)
		}
	}
	yen, _ := findCurrency("JPY")
	dinar, _ := findCurrency("KWD")
	failIf(t, yen.fromCents(100) != 151 || dinar.fromCents(100) != 307 || dinar.fromCents(1_000_000_000_00) != 307_150_000_000,
		"%v", "conversion is off: "+strconv.FormatInt(dinar.fromCents(100), 10))
}
