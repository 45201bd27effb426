// Rules that compare the offers of an answer with its request and with earlier answers.

package judge

import (
	"bytes"
	"math"
	"strings"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// tax requires that the total of taxes is the sum of its items.
func tax(x *exam, o value) {
	written := o.get("total")
	total := written.money()
	sum, n, known := 0.0, 0, total.known()
	for item := range o.get("items").all() {
		part := item.get("amount").money()
		sum, n, known = sum+part.amount, n+1, known && part.known()
		x.is("value/tax", !known || part.currency == total.currency, item, "the currency of the total")
	}
	x.is("value/tax", !known || n == 0 || differAtMost(total.amount, sum, 0.02), written, "the sum of the items")
}

func differAtMost(a, b, most float64) bool { return a-b <= most && b-a <= most }

func aRoom(x *exam, room value) {
	hotel := room.get("hotelId")
	hotelID := hotel.str()
	x.property("rates/hotel", x.asked.get("hotelId").str(), hotel)
	for o := range room.get("rates").all() {
		now, id := x.offer(o, x.search()), o.get("ratePkgId")
		now.hotel = hotelID
		key := x.memory.key("offer", x.session, id.str())
		was, known := x.memory.get(key).(*offer)
		x.is("value/offer", !known || was.search != now.search || was.price == now.price, id, "another id for another price")
		x.memory.put(key, now)
	}
}

// offer judges an offer of a search, and returns the values that later answers are compared with.
func (x *exam) offer(o value, asked *search) *offer {
	one, all := o.get("rate"), o.get("totalRate")
	highest := all.get("grossRate")
	net, gross := all.get("netRate").money(), highest.money()
	p := priced{net: net, lowest: net.amount, highest: max(net.amount, gross.amount)}
	if alone := bytes.Equal(one.raw(), all.raw()); !alone || asked.rooms > 1 {
		a, b := one.get("netRate").money(), one.get("grossRate").money()
		x.total(one.get("netRate", "amount"), a, net, asked)
		x.total(one.get("grossRate", "amount"), b, gross, asked)
		p.lowest = min(p.lowest, a.amount)
	}
	x.is("value/gross", gross.known() || !all.get("respectGrossRate").yes(), all, "a grossRate, because respectGrossRate is true")
	x.is("value/gross", !gross.known() || gross.currency != net.currency || gross.amount >= net.amount, highest, "at least netRate")
	p.highest += o.get("tax", "total").money().amount * float64(max(asked.rooms, 1))
	x.prices = append(x.prices, p)
	now := &offer{search: asked, price: net, mode: o.get("refundableMode").byte()}
	x.terms(o, now, p.highest)
	return now
}

// total requires that the total is the price of one room times the number of rooms, if all rooms are equal.
func (x *exam) total(written value, one, all money, asked *search) {
	if !one.known() || !all.known() || !asked.equal || asked.rooms == 0 {
		return
	}
	rounded := 1e-6
	if asked.rooms > 1 { // the service may have rounded the rate of one room
		_, decimals, _ := strings.Cut(written.str(), ".")
		rounded += float64(asked.rooms) * math.Pow10(-min(len(decimals), 2)) // even an amount with more digits may be rounded to cents
	}
	x.is("offer/total", differAtMost(one.amount*float64(asked.rooms), all.amount, rounded), written, "the total divided by the number of rooms")
}

func (x *exam) terms(o value, now *offer, highest float64) {
	fees, free := o.get("cancelFees"), value{}
	for step := range fees.all() {
		fee := step.get("fee")
		cost := fee.money()
		if cost.known() && cost.amount == 0 {
			free = step.get("until")
		}
		x.is("value/currency", !cost.known() || cost.currency == now.price.currency, fee, "the currency of the rates")
		x.is("value/terms", cost.amount <= highest+0.02 || cost.currency != now.price.currency, fee, "no more than the offer costs")
	}
	full := now.mode == types.RefundableFull[0]
	if !fees.first().there() || !full && now.mode != types.RefundableNo[0] {
		return
	}
	x.is("value/terms", full == (free.document != nil), fees, "a step free of charge if refundableMode is full, and no such step if it is no")
	if until := o.get("refundableUntil"); full && until.there() && (x.op == "CheckAvail" || !bytes.Equal(until.raw(), free.raw())) {
		end, err := time.Parse(time.RFC3339, until.str())
		x.is("value/terms", err != nil || end.After(x.Time) && (!free.there() || sameTime(free.str(), until.str())), until,
			"the end of the last step free of charge, in the future")
	}
}

func sameTime(a, b string) bool {
	x, err := time.Parse(time.RFC3339, a)
	y, failed := time.Parse(time.RFC3339, b)
	return err != nil || failed != nil || x.Sub(y).Abs() < time.Second
}

func checkAvail(x *exam, o value) {
	is, id := o.get("roomRatePkg"), x.asked.get("ratePkgId").str()
	status := x.memory.key("status with a package", o.get("status").str())
	if x.is("value/package", is.there() || x.memory.get(status) == nil, is, "a roomRatePkg, as before with this status"); !is.there() {
		return
	}
	x.memory.put(status, true)
	if snapshot := o.get("exchangeRateSnapshot", "usd"); snapshot.there() {
		for rate := range snapshot.all() {
			n, ok := rate.number()
			x.is("", ok && len(rate.key()) == 3 && rate.key() == strings.ToLower(rate.key()), rate, "the rate of a currency in lower case")
			x.is("value/plausible", n > 0, rate, "a rate above 0")
		}
		currency := strings.ToLower(is.get("totalRate", "netRate").money().currency)
		x.is("value/exchange", currency == "usd" || snapshot.get(currency).there(), snapshot, "a rate for the currency of the offer")
	}
	was := x.offered()
	if was == nil {
		return
	}
	now := x.offer(is, was.search)
	now.hotel = was.hotel
	remarked := strings.Contains(string(o.raw()), `"statusRemark"`)
	// The answer to an earlier CheckAvail may already have announced this price with a statusRemark.
	checked := recall[offer](x.memory, "checked", now.price.currency, x.session, id)
	told := remarked || checked != nil && now.price == checked.price
	x.is("check/same", told || now.price.currency != was.price.currency || now.price == was.price, is.get("totalRate", "netRate", "amount"),
		"the price of the offer, or a statusRemark")
	x.is("value/terms", told || now.mode == was.mode, is.get("refundableMode"), "the refundableMode of the offer, or a statusRemark")
	for _, id := range []string{id, is.get("ratePkgId").str()} {
		x.memory.put(x.memory.key("offer", x.session, id), now)
		x.memory.put(x.memory.key("checked", now.price.currency, x.session, id), now)
	}
}

// offered returns the remembered offer that the request names, or nil.
func (x *exam) offered() *offer {
	return recall[offer](x.memory, "offer", x.session, x.asked.get("ratePkgId").str())
}
