// CheckAvail of moved and closed offers.

package hotelstaystest

import (
	"testing"
)

func TestCheckAvail(t *testing.T) {
	s := start(t, Config{NoRateLimits: true})
	in, ids := login(t, s).header("Currency", "AED").find(nil)
	id := object{"ratePkgId": ids[0]}
	r := in.must(availPath, id)
	failIf(t, r.str("status") != "1" || r.at("statusRemark") != nil || r.str("roomRatePkg", "ratePkgId") != ids[0] ||
		r.str("exchangeRateSnapshot", "usd", "aed") == "", "%s", r.body)
	before := r.str("roomRatePkg", "totalRate", "netRate", "amount")
	s.MoveRate(ids[0], 10)
	moved := in.must(availPath, id)
	failIf(t, moved.str("status") != "1" ||
		moved.str("statusRemark") == "" || moved.str("roomRatePkg", "totalRate", "netRate", "amount") == before,
		"after a move: %s", moved.body)
	settled := in.must(availPath, id)
	failIf(t, settled.at("statusRemark") != nil, "the move is reported twice: %s", settled.body)
	_, fresh := in.find(nil)
	for _, f := range fresh {
		told := in.must(availPath, object{"ratePkgId": f})
		failIf(t, told.at("statusRemark") != nil, "a search after the move shows the old price")
	}
	s.CloseRate(ids[0])
	gone := in.must(availPath, id)
	failIf(t, gone.str("status") != "2" || gone.at("roomRatePkg") != nil, "after closing: %s", gone.body)
	_, left := in.find(nil)
	failIf(t, len(left) != len(ids)-1, "searches show a closed offer")
	s.ReopenRate(ids[0])
	failIf(t, in.must(availPath, id).str("status") != "1", "not reopened")
}

func TestCheckAvailVariants(t *testing.T) {
	s := start(t, Config{Variants: Variants{Available: 2}})
	in, ids := login(t, s).header("Currency", "JPY").find(nil)
	s.MoveRate(ids[0], -5)
	delete(in.headers, "Currency")
	r := in.must(availPath, object{"ratePkgId": ids[0]})
	failIf(t, r.str("status") != "2" || r.str("statusRemark") == "", "%s", r.body)
	failIf(t, r.str("roomRatePkg", "rate", "netRate", "currency") != "JPY", "without a Currency header the offer's own currency is lost")
	other := in.header("Currency", "EUR").must(availPath, object{"ratePkgId": ids[0]})
	failIf(t, other.str("roomRatePkg", "rate", "netRate", "currency") != "EUR", "the Currency header is ignored")
}
