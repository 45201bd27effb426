// CheckAvail and Book of moved and closed offers.

package hotelstaystest

import (
	"fmt"
	"testing"

	"github.com/hotelstays/hotelstays-go/types"
)

func TestMovedAndClosedOffers(t *testing.T) {
	s, u := open(t)
	in, ids := u.header("Currency", "AED").find(nil)
	check := func(id, status string, remark bool) (price string) {
		t.Helper()
		r := in.must(availPath, object{"ratePkgId": id})
		failIf(t, r.str("status") != status || (r.at("statusRemark") != nil) != remark, "%s", r.body)
		if status == "2" {
			same(t, r.at("roomRatePkg"), nil)
			return ""
		}
		same(t, r.str("roomRatePkg", "ratePkgId"), id)
		same(t, r.str("exchangeRateSnapshot", "usd", "aed"), "3.672500")
		return fmt.Sprint(r.at("roomRatePkg", "totalRate", "netRate"))
	}
	before := check(ids[0], "1", false)
	s.MoveRate(ids[0], 10)
	in.refused(bookPath, booking("moved", ids[0], nil), 200, types.CodeRateChanged, "ARI")
	moved := check(ids[0], "1", true)
	failIf(t, moved == before, "a move changes nothing")
	same(t, check(ids[0], "1", false), moved)
	_, fresh := in.find(nil)
	for _, id := range fresh {
		check(id, "1", false)
	}
	booked := fmt.Sprint(in.must(bookPath, booking("moved", ids[0], nil)).at("hotelOrder", "netRate"))
	same(t, booked, moved)
	s.MoveRate(ids[0], 50)
	same(t, fmt.Sprint(u.must(queryPath, object{}).at("orders", 0, "netRate")), booked, "after a later move")

	s.CloseRate(ids[1])
	check(ids[1], "2", true)
	in.refused(bookPath, booking("closed", ids[1], guests("Second", "Guest")), 200, types.CodeRateChanged, "")
	_, left := in.find(nil)
	same(t, len(left), len(ids)-1)
}

func TestCheckAvailVariants(t *testing.T) {
	s, u := open(t, Config{Variants: Variants{Available: 2}})
	in, ids := u.header("Currency", "JPY").find(nil)
	s.MoveRate(ids[0], -5)
	delete(in.headers, "Currency")
	r := in.must(availPath, object{"ratePkgId": ids[0]})
	failIf(t, r.str("status") != "2" || r.str("statusRemark") == "", "%s", r.body)
	same(t, r.str("roomRatePkg", "rate", "netRate", "currency"), "JPY", "of the search")
	other := in.header("Currency", "EUR").must(availPath, object{"ratePkgId": ids[0]})
	same(t, other.str("roomRatePkg", "rate", "netRate", "currency"), "EUR")
}
