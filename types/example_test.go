// Examples of values: money, dates, texts and secrets.

package types_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/shopspring/decimal"

	"github.com/hotelstays/hotelstays-go/types"
)

// Amounts are the digits that were sent, and arithmetic on them is exact.
func ExampleMoney() {
	var rate types.Rate
	if err := json.Unmarshal([]byte(`{"netRate":{"currency":"KWD","amount":12.500}}`), &rate); err != nil {
		log.Fatal(err)
	}
	fmt.Println(rate.NetRate)
	sent, err := json.Marshal(rate.NetRate)
	fmt.Println(string(sent), err)
	// Output:
	// 12.500 KWD
	// {"currency":"KWD","amount":12.500} <nil>
}

func ExampleMoney_Add() {
	room := types.Money{Currency: "EUR", Amount: "120.50"}
	tax := types.Money{Currency: "EUR", Amount: "8.45"}
	fmt.Println(room.Add(tax))

	_, err := room.Add(types.Money{Currency: "USD", Amount: "8.45"})
	fmt.Println(errors.Is(err, types.ErrCurrencyMismatch))
	// Output:
	// 128.95 EUR <nil>
	// true
}

// Equal takes the place of ==, which Money does not have. Amounts compare by value, however many
// digits they were sent with.
func ExampleMoney_Equal() {
	seen := types.Money{Currency: "EUR", Amount: "120.50"}
	fmt.Println(seen.Cmp(types.Money{Currency: "EUR", Amount: "119"}))
	fmt.Println(seen.Equal(types.Money{Currency: "EUR", Amount: "120.5"}))
	fmt.Println(seen.Equal(types.Money{Currency: "USD", Amount: "120.50"}))
	// Output:
	// 1 <nil>
	// true
	// false
}

// Decimal is for arithmetic that Money does not have, here a margin of 12.5 percent.
// An amount that was not sent is an error, and never 0.
func ExampleMoney_Decimal() {
	net := types.Money{Currency: "EUR", Amount: "240.00"}
	amount, err := net.Decimal()
	if err != nil {
		log.Fatal(err)
	}
	margin := amount.Mul(decimal.RequireFromString("0.125"))
	fmt.Println(amount.Add(margin).StringFixed(2))

	_, err = types.Money{Currency: "EUR"}.Decimal()
	fmt.Println(errors.Is(err, types.ErrAmount))
	// Output:
	// 270.00
	// true
}

// A text prints in English, whether it is a value, a pointer, or missing.
func ExampleI18N_String() {
	var hotel types.Hotel
	if err := json.Unmarshal([]byte(`{"name":{"en":"Harbour Hotel","ar":"فندق الميناء"}}`), &hotel); err != nil {
		log.Fatal(err)
	}
	fmt.Println(hotel.Name, "/", hotel.Name.AR, "/", hotel.Address)
	fmt.Println(types.I18N{AR: "فندق الميناء"})
	// Output:
	// Harbour Hotel / فندق الميناء / <nil>
	// فندق الميناء
}

// A page in Arabic shows the texts that exist in Arabic, and the English ones otherwise.
func ExampleI18N_In() {
	name, board := types.I18N{EN: "Harbour Hotel", AR: "فندق الميناء"}, types.I18N{EN: "Room only"}
	fmt.Println(name.In("ar-AE"), "/", board.In("ar-AE"))
	// Output: فندق الميناء / Room only
}

// What a checkout page says about cancelling, and what it may not say.
func ExampleRoomRatePkg_CancelFeeAt() {
	offer := types.RoomRatePkg{RefundableMode: types.RefundableFull, RefundableUntil: "2027-03-08T18:00:00+04:00",
		CancelFees: []types.CancelFee{
			{Until: "2027-03-08T18:00:00+04:00", Fee: types.Money{Currency: "AED", Amount: "0"}},
			{Until: "2027-03-10T15:00:00+04:00", Fee: types.Money{Currency: "AED", Amount: "492.90"}},
		}}
	for _, day := range []int{1, 9, 11} {
		fmt.Println(offer.CancelFeeAt(time.Date(2027, 3, day, 0, 0, 0, 0, time.UTC)))
	}
	// Output:
	// 0 AED <nil>
	// 492.90 AED <nil>
	// no amount the cost of a cancellation at 2027-03-11T00:00:00Z is unknown: no step of cancelFees covers it
}

// A room of an order has the terms of its offer, and the order those of its rooms.
func ExampleOrder_CancelFeeAt() {
	room := types.OrderRoom{CancelFees: []types.CancelFee{
		{Until: "2027-03-10T15:00:00Z", Fee: types.Money{Currency: "EUR", Amount: "60.00"}}}}
	order := types.Order{Rooms: []types.OrderRoom{room, room}}
	at := time.Date(2027, 3, 9, 0, 0, 0, 0, time.UTC)
	fmt.Println(room.Offer().CancelFeeAt(at))
	fmt.Println(order.CancelFeeAt(at))
	// Output:
	// 60.00 EUR <nil>
	// 120.00 EUR <nil>
}

func ExampleDate_Time() {
	from, err := types.Date("2026-12-24").Time()
	if err != nil {
		log.Fatal(err)
	}
	until, err := types.Date("2026-12-27").Time()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(int(until.Sub(from).Hours()/24), "nights")

	_, err = types.Date("24.12.2026").Time()
	fmt.Println(err)
	// Output:
	// 3 nights
	// "24.12.2026" is not a date of the form YYYY-MM-DD
}

func ExampleDateOf() {
	newYear := time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC)
	fmt.Println(types.DateOf(newYear), types.DateOf(newYear.AddDate(0, 0, 7)))
	// Output: 2026-12-31 2027-01-07
}

// A timestamp is kept as it was sent. One without an offset names no instant.
func ExampleTimestamp_Time() {
	at, err := types.Timestamp("2026-12-24T18:00:00+04:00").Time()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(at.UTC().Format(time.RFC3339))

	_, err = types.Timestamp("2026-12-24T18:00:00").Time()
	fmt.Println(err)
	// Output:
	// 2026-12-24T14:00:00Z
	// "2026-12-24T18:00:00" is not an ISO 8601 instant with a UTC offset
}

// A secret shows itself to nothing that prints or encodes, wherever it stands.
func ExampleNewSecret() {
	guest := types.Guest{RoomIndex: 1, FirstName: "Guest", LastName: "One", PassportNumber: types.NewSecret("X1234567")}
	fmt.Println(guest.PassportNumber)
	fmt.Printf("%q %x\n", guest.PassportNumber, guest.PassportNumber)
	logged, err := json.Marshal(struct{ Passport types.Secret }{guest.PassportNumber})
	fmt.Println(string(logged), err)
	// Output:
	// [redacted]
	// [redacted] [redacted]
	// {"Passport":"[redacted]"} <nil>
}

func ExampleSecret_Reveal() {
	token := types.NewSecret("opaque-token")
	fmt.Println(token, "has", len(token.Reveal()), "characters", token.IsZero())
	// Output: [redacted] has 12 characters false
}

// Equal takes the place of ==, which a Secret does not have.
func ExampleSecret_Equal() {
	one, other := types.NewSecret("secret"), types.NewSecret("secret")
	fmt.Println(one.Equal(other), one.Equal(types.NewSecret("another")))
	// Output: true false
}

// Why a search came out empty, and whether it is worth asking again.
func ExampleEmptyReason_Retryable() {
	for _, code := range []types.EmptyReasonCode{types.EmptyReasonNoSupplierAnswered, types.EmptyReasonNoSupplierPermitted} {
		reason := &types.EmptyReason{Code: code}
		fmt.Println(reason.Code, reason.Retryable())
	}
	// Output:
	// NO_SUPPLIER_ANSWERED true
	// NO_SUPPLIER_PERMITTED false
}

// Your own limiter needs the rate limit of each operation.
func ExampleOperation_RateLimit() {
	for _, op := range []types.Operation{types.OpHotelList, types.OpBook, types.OpHotelIDList} {
		switch n := op.RateLimit(); n {
		case 0:
			fmt.Println(op, "has no documented limit")
		default:
			fmt.Println(op, n, "a second")
		}
	}
	// Output:
	// HotelList 100 a second
	// Book 10 a second
	// HotelIDList has no documented limit
}
