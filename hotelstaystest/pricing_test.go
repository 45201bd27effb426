package hotelstaystest

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"testing"
)

func TestPricesOfRoomsAndTaxesAddUp(t *testing.T) {
	s, u := open(t, Config{Catalog: Catalog{RatesPerRoom: 12}})
	boards, seen := map[string]bool{}, map[string]bool{}
	for code, decimals := range map[string]int{"JPY": 0, "KWD": 3, "AED": 2} {
		rooms := []object{{"adultCount": 2}, {"adultCount": 3, "childrenAges": []int{5}}}
		r := u.header("Currency", code).must(listPath, search(s, object{"roomOccupancies": rooms, "pageSize": 4}))
		for i := range r.list("list") {
			for j := range r.list("list", i, "rooms") {
				for _, p := range r.list("list", i, "rooms", j, "rates") {
					checkPackage(t, p.(object), code, decimals, seen)
					boards[p.(object)["board"].(object)["boardId"].(string)] = true
				}
			}
		}
	}
	failIf(t, len(boards) != 12, "boards seen: %v", boards)
	for _, f := range []string{"full", "partial", "no", "commissionableRate", "grossRate", "respectGrossRate", "packaging", "rateComment"} {
		failIf(t, !seen[f], "no package has %s", f)
	}
}

// checkPackage checks the decimals and sums of a rate package. It adds the names of the package's fields to seen.
func checkPackage(t *testing.T, p object, code string, decimals int, seen map[string]bool) {
	t.Helper()
	num := func(m any) *big.Rat {
		text := m.(object)["amount"].(json.Number).String()
		want := decimals
		if want > 0 {
			want++
		}
		dot := slices.Index([]byte(text), '.')
		failIf(t, m.(object)["currency"] != code || (dot < 0) != (decimals == 0) || (dot >= 0 && len(text)-dot != want),
			"%v is not an amount of %s", m, code)
		v, _ := new(big.Rat).SetString(text)
		return v
	}
	one, all := p["rate"].(object), p["totalRate"].(object)
	for _, f := range []string{"netRate", "grossRate", "commissionableRate"} {
		if one[f] != nil {
			seen[f] = true
			failIf(t, new(big.Rat).Mul(num(one[f]), big.NewRat(2, 1)).Cmp(num(all[f])) != 0, "%s of two rooms is %v, of one %v", f, all[f], one[f])
		}
	}
	tax := p["tax"].(object)
	sum := new(big.Rat)
	for _, item := range tax["items"].([]any) {
		sum.Add(sum, num(item.(object)["amount"]))
	}
	failIf(t, sum.Cmp(num(tax["total"])) != 0, "taxes do not add up: %v", tax)
	for _, f := range p["cancelFees"].([]any) {
		num(f.(object)["fee"])
	}
	seen[p["refundableMode"].(string)] = true
	seen["respectGrossRate"] = seen["respectGrossRate"] || one["respectGrossRate"] == true
	seen["packaging"] = seen["packaging"] || p["includesPackaging"] == true
	seen["rateComment"] = seen["rateComment"] || p["rateComment"] != nil
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
