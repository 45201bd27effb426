// Prices and terms of offers. They depend only on the seed, the offer, the currency and the calls of
// [Server.MoveRate].

package hotelstaystest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// nightCents returns the price of one room and night in US cents. A room has an extra charge for
// its children, and for its adults after the second. The price of every room of an offer contains the highest of these
// charges.
func (w *world) nightCents(o offer, night time.Time) int64 {
	cents := int64(3500 + w.pick(30_000, forPrice, o.hotel))
	cents += cents * int64(25*o.room) / 100
	cents += cents * int64(8*o.plan) / 100
	if d := night.Weekday(); d == time.Friday || d == time.Saturday {
		cents += cents * 15 / 100
	}
	cents += cents * int64(w.pick(7, forNight, o.hotel, o.room, o.plan, int(night.Unix()/86_400))) / 100
	extra := 0
	for _, r := range o.rooms {
		extra = max(extra, 20*max(0, r.Adults-2)+10*len(r.Children))
	}
	return cents + cents*int64(extra)/100
}

// price is the price of one room, in minor units of the currency.
type price struct {
	currency              currency
	rooms, nights         int64
	net, gross            int64
	commission            int64 // commissionable amount; 0 if no commission is paid
	vat, cityTax          int64
	hasGross, mustRespect bool
}

// cents returns the present price of one room of an offer, in US cents.
func (s *Server) cents(o offer) int64 {
	var cents int64
	for n := range o.nights {
		cents += s.world.nightCents(o, o.checkIn.AddDate(0, 0, n))
	}
	return s.market.moved(o, cents)
}

func (s *Server) price(o offer, c currency) price { return s.world.price(o, c, s.cents(o)) }

// price returns the price of one room in currency c. The parameter cents is the net price in US cents.
func (w *world) price(o offer, c currency, cents int64) price {
	terms := w.hash(forTerms, o.hotel, o.room, o.plan)
	p := price{currency: c, rooms: int64(len(o.rooms)), nights: int64(o.nights), net: c.fromCents(cents)}
	p.mustRespect = terms%5 == 0
	p.hasGross = p.mustRespect || terms%3 != 0
	p.gross = p.net * 118 / 100
	if o.plan%2 == 0 {
		p.commission = p.net * 90 / 100
	}
	p.vat = p.net * 5 / 100
	p.cityTax = c.fromCents(350) * p.nights
	return p
}

func (p price) rate(rooms int64) rate {
	r := rate{NetRate: p.currency.money(p.net * rooms), RespectGrossRate: p.mustRespect}
	if p.hasGross {
		m := p.currency.money(p.gross * rooms)
		r.GrossRate = &m
	}
	if p.commission > 0 {
		m := p.currency.money(p.commission * rooms)
		r.CommissionableRate = &m
	}
	return r
}

// total returns the net price of all rooms.
func (p price) total() int64 { return p.net * p.rooms }

func (p price) tax() *tax {
	vat, levy := p.vat*p.rooms, p.cityTax*p.rooms
	return &tax{
		Total: p.currency.money(vat + levy),
		Items: []taxItem{
			{TaxType: "VAT", TaxName: "Value added tax", Amount: p.currency.money(vat), Desc: "Included in the price"},
			{TaxType: "CITY_TAX", TaxName: "City tax", Amount: p.currency.money(levy), Desc: "Per room and night, to be paid at the hotel"},
		},
	}
}

func (o offer) refundMode() string { return []string{"no", "full", "partial"}[o.plan%3] }

// deadline returns the time until which cancellation is free with the refund mode "full", or costs one night with "partial".
func (o offer) deadline() time.Time { return o.checkIn.AddDate(0, 0, -3).Add(18 * time.Hour) }

// fees returns the steps of the cancellation policy, earliest first.
func (o offer) fees(p price) []feeStep {
	night := p.total() / p.nights
	switch o.refundMode() {
	case "full":
		return []feeStep{{o.deadline(), 0}, {o.checkIn, night}}
	case "partial":
		return []feeStep{{o.deadline(), night}, {o.checkIn, p.total() / 2}}
	}
	return []feeStep{{o.checkIn, p.total()}}
}

type feeStep struct {
	until time.Time
	fee   int64 // fee for all rooms, in minor units of the currency
}

func (o offer) feeAt(p price, at time.Time) int64 {
	for _, step := range o.fees(p) {
		if !at.After(step.until) {
			return step.fee
		}
	}
	return p.total()
}

func (w *world) ratePackage(o offer, id string, p price) roomRatePkg {
	pkg := roomRatePkg{
		RatePkgID: id, RefundableMode: o.refundMode(),
		OriginalRoomNaming: w.roomNaming(o),
		Rate:               p.rate(1), TotalRate: p.rate(p.rooms),
		IncludesPackaging: o.plan > 0 && w.hash(forTerms, o.hotel, o.room, o.plan)%11 == 0,
		CheckIn:           o.checkIn.Format(dateForm), CheckOut: o.checkOut().Format(dateForm),
		Board: w.board(o), Tax: p.tax(),
	}
	if o.refundMode() != "no" {
		pkg.RefundableUntil = stamp(o.deadline())
	}
	for _, step := range o.fees(p) {
		pkg.CancelFees = append(pkg.CancelFees, cancelFee{Until: stamp(step.until), Fee: p.currency.money(step.fee)})
	}
	if o.plan == 0 {
		pkg.RateComment = "The hotel asks for a deposit at check-in."
	}
	return pkg
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

var boards = []board{
	{"RO", i18n{"Room only", "仅客房", "غرفة فقط"}, i18n{"No meals", "不含餐", "بدون وجبات"}},
	{"BB", i18n{"Bed and breakfast", "含早餐", "مبيت وإفطار"}, i18n{"Breakfast", "早餐", "إفطار"}},
	{"HB", i18n{"Half board", "半食宿", "نصف إقامة"}, i18n{"Breakfast and one main meal", "早餐和一顿正餐", "إفطار ووجبة رئيسية"}},
	{"FB", i18n{"Full board", "全食宿", "إقامة كاملة"}, i18n{"Three meals", "三餐", "ثلاث وجبات"}},
	{"AI", i18n{"All inclusive", "全包", "شامل كليا"}, i18n{"Meals and drinks", "餐食和饮料", "وجبات ومشروبات"}},
	{"TI", i18n{"Plan TI", "TI", "TI"}, i18n{"Meal plan TI", "TI 餐食", "خطة TI"}},
	{"BI", i18n{"Plan BI", "BI", "BI"}, i18n{"Meal plan BI", "BI 餐食", "خطة BI"}},
	{"LU", i18n{"Lunch", "午餐", "غداء"}, i18n{"Lunch", "午餐", "غداء"}},
	{"DI", i18n{"Dinner", "晚餐", "عشاء"}, i18n{"Dinner", "晚餐", "عشاء"}},
	{"BD", i18n{"Breakfast and dinner", "早餐和晚餐", "إفطار وعشاء"}, i18n{"Breakfast and dinner", "早餐和晚餐", "إفطار وعشاء"}},
	{"BL", i18n{"Breakfast and lunch", "早餐和午餐", "إفطار وغداء"}, i18n{"Breakfast and lunch", "早餐和午餐", "إفطار وغداء"}},
	{"LD", i18n{"Lunch and dinner", "午餐和晚餐", "غداء وعشاء"}, i18n{"Lunch and dinner", "午餐和晚餐", "غداء وعشاء"}},
}

// board returns an offer's meals. The first rate plan of a room includes no meals.
func (w *world) board(o offer) *board {
	if o.plan == 0 {
		return &boards[0]
	}
	return &boards[w.pick(len(boards), forBoard, o.hotel, o.room, o.plan)]
}

func (w *world) roomKind(hotel, room int, hotelID string) roomKind {
	return roomKind{fmt.Sprintf("RT%d-%d", hotelBase+hotel, room+1), w.roomName(hotel, room), hotelID}
}

func (w *world) roomName(hotel, room int) i18n {
	n := roomKinds[room%len(roomKinds)]
	if round := room / len(roomKinds); round > 0 {
		n = n.plus(" " + strconv.Itoa(round+1))
	}
	return n
}

func (w *world) roomNaming(o offer) *originalRoomNaming {
	return &originalRoomNaming{
		ID:       fmt.Sprintf("%d-R%02d", o.supplier, o.room+1),
		Name:     strings.ToUpper(w.roomName(o.hotel, o.room).En) + fmt.Sprintf(" PLAN %c", 'A'+o.plan),
		Supplier: o.supplier,
	}
}
