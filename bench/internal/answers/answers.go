// Package answers makes the answers for the compared clients: the same bytes in every process
// and on every machine.
//
// The answers are made without the SDK's structs, and their keys are in alphabetical order. So no decoder has an advantage
// because of the order of its fields.
package answers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// Page is the number of hotels on the largest page of HotelList.
const Page = 200

// The sizes of the parts of an answer.
const (
	roomsAround = 5 // mean number of rooms of a hotel
	ratesAround = 4 // mean number of rates of a room
)

// Session and RatePkgID are in the answers and in the requests, because a client may compare them.
const (
	Session   = "s-7Qm2VxYt0aLr9KdPz4HcWn8EjUf3Gb6S"
	RatePkgID = "eYRkngouLYmi9j1OhmlM9lALCz2ze9mobIM0RdRTn6NFuyr_PNBu2qyFVBSYEBKqmI_H4CZpo3mBf4IM4kngYm"
)

type (
	object = map[string]any
	list   = []any
)

type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 200))} }

// All returns the JSON answer of each compared operation.
func All() map[hotelstays.Operation][]byte {
	return map[hotelstays.Operation][]byte{
		hotelstays.OpHotelList:  HotelList(Page),
		hotelstays.OpCheckAvail: CheckAvail(),
	}
}

// HotelList returns a page of hotels with prices, with about 25 KB per hotel.
func HotelList(hotels int) []byte {
	g := newGenerator(1)
	var page list
	for i := range hotels {
		page = append(page, g.hotel(i))
	}
	return envelope(object{
		"list":    page,
		"total":   hotels,
		"hasMore": false,
		"basic": object{
			"sessionId":    Session,
			"statusRemark": "Some properties could not be priced in the currency asked for.",
			"notices":      list{"The destination was expanded to its first 2,000 properties."},
			"destination": object{"id": g.uuid(), "type": 6, "countryCode": "AE", "name": text{"Old Harbour", "老港", "الميناء القديم"}.i18n(),
				"coordinates": object{"centerLat": 25.204849, "centerLng": 55.270783}, "parentDestinationId": g.uuid()},
		},
	})
}

// CheckAvail returns an offer that is still available, with exchange rates.
func CheckAvail() []byte {
	g := newGenerator(3)
	offer := g.offer(roomNames[0], 3)
	offer["ratePkgId"] = RatePkgID
	return envelope(object{
		"status":      1,
		"roomRatePkg": offer,
		"exchangeRateSnapshot": object{"date": "2027-02-01", "usd": object{
			"aed": json.Number("3.6725"), "eur": json.Number("0.918437"), "jpy": json.Number("149.8")}},
	})
}

func envelope(data object) []byte {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(object{"code": 0, "msg": "success", "data": data}); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

func (g generator) hotel(i int) object {
	id := g.digits(7)
	h := object{
		"id": id, "platformHotelId": platformID(i), "destinationId": g.uuid(),
		"name": pick(g, hotelNames).i18n(), "rating": 2.5 + float64(g.IntN(6))/2,
		"address": text{fmt.Sprintf("%d Quay Street, Old Harbour", i), fmt.Sprintf("老港码头街%d号", i),
			fmt.Sprintf("%d شارع الرصيف، الميناء القديم", i)}.i18n(),
		"latlngCoordinator": g.place(), "logoURL": g.logo(i), "isAvailable": true,
		"minPrice":            g.money("USD", g.cents()),
		"minPricesByCurrency": list{g.money("USD", g.cents()), g.money("AED", g.cents()), g.money("EUR", g.cents()), g.money("JPY", g.cents())},
	}
	var all list
	for k := range g.around(roomsAround) {
		all = append(all, g.room(id, k, g.around(ratesAround)))
	}
	h["rooms"] = all
	return h
}

func (g generator) room(hotelID string, number, rates int) object {
	name := pick(g, roomNames)
	var all list
	for range rates {
		all = append(all, g.offer(name, 1+g.IntN(5)))
	}
	return object{"roomTypeId": fmt.Sprintf("RT%s-%02d", hotelID, number), "roomTypeName": name.i18n(), "hotelId": hotelID, "rates": all}
}

// offer returns the JSON of a RoomRatePkg. Optional fields are present at random.
func (g generator) offer(room text, nights int) object {
	currency, cents, mode := pick(g, currencies), g.cents(), pick(g, refundableModes)
	o := object{
		"ratePkgId": g.token(60 + g.IntN(61)), "refundableMode": mode,
		"originalRoomNaming": object{"id": g.token(10), "name": room.en, "supplier": 1 + g.IntN(12)},
		"rate":               g.rate(currency, cents), "totalRate": g.rate(currency, cents*int64(nights)),
		"includesPackaging": g.chance(10),
		"checkIn":           "2027-02-20", "checkOut": fmt.Sprintf("2027-02-%02d", 20+nights),
		"board": pick(g, boards).object(),
	}
	if comment := pick(g, comments); comment != "" {
		o["rateComment"] = comment
	}
	if g.chance(75) {
		o["tax"] = object{"total": g.money(currency, cents/8), "items": list{
			object{"taxType": "vat", "taxName": "VAT", "amount": g.money(currency, cents/16), "desc": "5% VAT, included"},
			object{"taxType": "city", "taxName": "City tax", "amount": g.money(currency, cents/16), "desc": "Paid at the property"},
		}}
	}
	if mode != "no" {
		day := 10 + g.IntN(8)
		o["refundableUntil"] = deadline(day)
		o["cancelFees"] = list{
			object{"until": deadline(day), "fee": object{"currency": currency, "amount": 0}},
			object{"until": deadline(day + 1), "fee": g.money(currency, cents/3)},
		}
	}
	return o
}

func deadline(day int) string { return fmt.Sprintf("2027-02-%02dT18:00:00+04:00", day) }

func (g generator) rate(currency string, cents int64) object {
	r := object{"netRate": g.money(currency, cents), "respectGrossRate": g.chance(20)}
	if g.chance(30) {
		r["commissionableRate"] = g.money(currency, cents*108/100)
	}
	if g.chance(60) {
		r["grossRate"] = g.money(currency, cents*115/100)
	}
	return r
}

// money returns an amount. Most amounts have two decimals. Some have none, one or four, because amounts of real
// services vary.
func (g generator) money(currency string, cents int64) object {
	amount := fmt.Sprintf("%d.%02d", cents/100, cents%100)
	switch form := g.IntN(10); {
	case form == 0 || currency == "JPY":
		amount = fmt.Sprint(cents / 100)
	case form == 1:
		amount = fmt.Sprintf("%d.%d", cents/100, cents/10%10)
	case form == 2:
		amount += fmt.Sprintf("%02d", g.IntN(100))
	}
	return object{"currency": currency, "amount": json.Number(amount)}
}

func (g generator) place() object {
	lat, lng := 25+g.Float64()/2, 55+g.Float64()/2
	p := object{"google": point(lat, lng)}
	if g.chance(50) {
		p["gaode"] = point(lat+0.002, lng+0.002)
	}
	return p
}

func point(lat, lng float64) object {
	return object{"lat": json.Number(fmt.Sprintf("%.6f", lat)), "lng": json.Number(fmt.Sprintf("%.6f", lng))}
}

func (g generator) logo(i int) string {
	return fmt.Sprintf("https://images.example.com/hotels/%d/logo_640x480.jpg", 1_000_000+i)
}

func (g generator) cents() int64        { return 4_000 + g.Int64N(90_000) }
func (g generator) chance(pct int) bool { return g.IntN(100) < pct }
func (g generator) around(n int) int    { return n - 2 + g.IntN(5) } // returns a random number, n on average

func (g generator) token(n int) string {
	return g.draw(n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
}

func (g generator) digits(n int) string { return g.draw(n, "123456789") }

func (g generator) uuid() string {
	h := g.draw(32, "0123456789abcdef")
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

func (g generator) draw(n int, from string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = from[g.IntN(len(from))]
	}
	return string(b)
}

func pick[T any](g generator, from []T) T { return from[g.IntN(len(from))] }

// HotelIDs returns the platform ids of the hotels on the page of HotelList.
func HotelIDs() []string {
	ids := make([]string, Page)
	for i := range ids {
		ids[i] = platformID(i)
	}
	return ids
}

func platformID(i int) string { return fmt.Sprintf("PH%08d", 37*i+11) }
