package hotelstaystest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"testing"
)

// Package judge adds up the prices of rooms and taxes in each answer.
func TestSearchHasEveryKindOfOfferInEachCurrency(t *testing.T) {
	s, u := open(t, Config{Catalog: Catalog{RatesPerRoom: 12}})
	rooms := []object{{"adultCount": 2}, {"adultCount": 3, "childrenAges": []int{5}}}
	kinds := []string{
		`"refundableMode":"full"`, `"refundableMode":"partial"`, `"refundableMode":"no"`, `"commissionableRate":`, `"grossRate":`,
		`"respectGrossRate":true`, `"includesPackaging":true`, `"rateComment":`,
	}
	for _, b := range boards {
		kinds = append(kinds, `"boardId":"`+b.BoardID+`"`)
	}
	for code, amount := range map[string]string{"JPY": `\d+`, "KWD": `\d+\.\d{3}`, "AED": `\d+\.\d\d`} {
		r := u.header("Currency", code).must(listPath, search(s, object{"roomOccupancies": rooms, "pageSize": 4}))
		same(t, bytes.Count(r.body, []byte(`"cancelFees":[`)), bytes.Count(r.body, []byte(`"ratePkgId"`)), "cancelFees")
		for _, kind := range append(kinds, `"netRate":{"currency":"`+code+`","amount":`+amount+`}`) {
			failIf(t, !regexp.MustCompile(kind).Match(r.body), "no offer in %s has %s", code, kind)
		}
	}
}

func TestAmountsInMinorUnitsAreWrittenAndConvertedExactly(t *testing.T) {
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
