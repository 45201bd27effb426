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

// Money keeps the digits that the service sent. Add and Cmp are exact, and refuse amounts in two currencies. Equal compares
// by value; == does not compile.
func ExampleMoney() {
	var rate types.Rate
	if err := json.Unmarshal([]byte(`{"netRate":{"currency":"KWD","amount":12.500}}`), &rate); err != nil {
		log.Fatal(err)
	}
	room, tax := rate.NetRate, types.Money{Currency: "KWD", Amount: "0.25"}
	fmt.Println(room, room.Equal(types.Money{Currency: "KWD", Amount: "12.5"}))
	fmt.Println(room.Add(tax))
	fmt.Println(room.Cmp(tax))
	_, err := room.Add(types.Money{Currency: "USD", Amount: "8.45"})
	fmt.Println(errors.Is(err, types.ErrCurrencyMismatch))
	sent, err := json.Marshal(room)
	fmt.Println(string(sent), err)
	// Output:
	// 12.500 KWD true
	// 12.750 KWD <nil>
	// 1 <nil>
	// true
	// {"currency":"KWD","amount":12.500} <nil>
}

// Decimal is for arithmetic that Money lacks, here a margin of 12.5 percent. A missing amount is an error,
// never 0.
func ExampleMoney_Decimal() {
	net := types.Money{Currency: "EUR", Amount: "240.00"}
	amount, err := net.Decimal()
	if err != nil {
		log.Fatal(err)
	}
	margin := amount.Mul(decimal.RequireFromString("0.125"))
	fmt.Println(types.NewMoney("EUR", amount.Add(margin).Round(2)))

	_, err = types.Money{Currency: "EUR"}.Decimal()
	fmt.Println(errors.Is(err, types.ErrAmount))
	// Output:
	// 270.00 EUR
	// true
}

// A text prints in English, and a missing text prints <nil>. The method In returns another language if the text has it.
func ExampleI18N_String() {
	var hotel types.Hotel
	if err := json.Unmarshal([]byte(`{"name":{"en":"Harbour Hotel","ar":"فندق الميناء"}}`), &hotel); err != nil {
		log.Fatal(err)
	}
	fmt.Println(hotel.Name, "/", hotel.Name.AR, "/", hotel.Address)
	fmt.Println(hotel.Name.In("ar-AE"), "/", (&types.I18N{EN: "Room only"}).In("ar-AE"))
	// Output:
	// Harbour Hotel / فندق الميناء / <nil>
	// فندق الميناء / Room only
}

// A checkout page shows the fee. If CancelFeeAt returns an error, it shows CancelFees and RateComment instead.
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
	// no amount the cancellation fee at 2027-03-11T00:00:00Z is unknown: no step of cancelFees covers it
}

// The fee of an order is the sum of the fees of its rooms.
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
	fmt.Println(int(until.Sub(from).Hours()/24), "nights, and a week on it is", types.DateOf(until.AddDate(0, 0, 7)))

	_, err = types.Date("24.12.2026").Time()
	fmt.Println(err)
	// Output:
	// 3 nights, and a week on it is 2027-01-03
	// "24.12.2026" is not a date of the form YYYY-MM-DD
}

// A Timestamp keeps the text that the service sent. If the text has no UTC offset, Time returns an error.
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
	// "2026-12-24T18:00:00" is not an ISO 8601 time with a UTC offset
}

// Printing or encoding a value never shows a secret in it. Equal compares two secrets; == does not compile.
func ExampleNewSecret() {
	guest := types.Guest{RoomIndex: 1, FirstName: "Guest", LastName: "One", PassportNumber: types.NewSecret("X1234567")}
	fmt.Println(guest.PassportNumber)
	fmt.Printf("%q %x\n", guest.PassportNumber, guest.PassportNumber)
	logged, err := json.Marshal(struct{ Passport types.Secret }{guest.PassportNumber})
	fmt.Println(string(logged), err)
	fmt.Println(len(guest.PassportNumber.Reveal()), guest.PassportNumber.IsZero(), guest.PassportNumber.Equal(types.NewSecret("X1234567")))
	// Output:
	// [redacted]
	// [redacted] [redacted]
	// {"Passport":"[redacted]"} <nil>
	// 8 false true
}

// Retryable reports whether a search that found nothing may find hotels later.
func ExampleEmptyReason_Retryable() {
	for _, code := range []types.EmptyReasonCode{types.EmptyReasonNoSupplierAnswered, types.EmptyReasonNoSupplierPermitted} {
		reason := &types.EmptyReason{Code: code}
		fmt.Println(reason.Code, reason.Retryable())
	}
	// Output:
	// NO_SUPPLIER_ANSWERED true
	// NO_SUPPLIER_PERMITTED false
}

// A middleware can find the operation of a request by the path of its URL.
func ExampleOperationAt() {
	op := types.OperationAt("/gateway/api/trade/book")
	fmt.Println(op, op.Path())
	// Output:
	// Book /api/trade/book
}

// Your own limiter needs the rate limit of each operation.
func ExampleOperation_RateLimit() {
	for _, op := range []types.Operation{"HotelList", "Book", "HotelIDList"} {
		switch n := op.RateLimit(); n {
		case 0:
			fmt.Println(op, "has no documented limit")
		default:
			fmt.Println(op, n, "a second; a call lasts at most", op.Timeout())
		}
	}
	// Output:
	// HotelList 100 a second; a call lasts at most 1m0s
	// Book 10 a second; a call lasts at most 2m0s
	// HotelIDList has no documented limit
}
