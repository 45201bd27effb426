// Orders: Book creates them, and QueryOrders reads them.

package types

import (
	"errors"
	"time"
)

// OrderStatus is the state of an order, from 0 to 5, or OrderStatusUnreadable.
type OrderStatus int

// The order states with documented numbers. The numbers of confirmed, pending and cancelled
// are undocumented.
const (
	OrderUnknown    OrderStatus = 0
	OrderConfirming OrderStatus = 1
)

// OrderStatusUnreadable is set by the client if the status in the answer is not a JSON number;
// ResponseMeta.Mismatches lists the field. The state of the order is then unknown. Two orders with
// OrderStatusUnreadable may have different states.
const OrderStatusUnreadable OrderStatus = -1

// Order is a booking as the service stores it.
type Order struct {
	Status OrderStatus `json:"status"`
	// StatusRemark is a text for people.
	StatusRemark string `json:"statusRemark,omitempty"`
	CheckIn      Date   `json:"checkIn"`
	CheckOut     Date   `json:"checkOut"`
	NightCount   int    `json:"nightCount,omitempty"`
	RoomCount    int    `json:"roomCount,omitempty"`
	// BookingTime is when the order was created.
	BookingTime Timestamp `json:"bookingTime"`
	// HotelConfirmNo is the hotel's confirmation number. It may be set after the booking.
	HotelConfirmNo string `json:"hotelConfirmNo,omitempty"`
	Holder         Holder `json:"holder"`
	// PlatformReferenceNo is the order's id on the platform.
	PlatformReferenceNo string `json:"platformReferenceNo"`
	// CustomerReferenceNo is your reference, from BookRequest.
	CustomerReferenceNo string `json:"customerReferenceNo,omitempty"`
	CommissionableRate  *Money `json:"commissionableRate,omitempty"`
	// What NetRate and GrossRate cover is undocumented. They may differ from the offer's
	// totals.
	NetRate   Money  `json:"netRate"`
	GrossRate *Money `json:"grossRate,omitempty"`
	// RespectGrossRate reports whether the seller must honour GrossRate.
	RespectGrossRate bool `json:"respectGrossRate,omitempty"`
	// CancelTime has no documented meaning. It does not prove a cancellation.
	CancelTime    Timestamp `json:"cancelTime,omitempty"`
	CancelReason  string    `json:"cancelReason,omitempty"`
	RefundedPrice *Money    `json:"refundedPrice,omitempty"`
	// Supplier is the supplier's id.
	Supplier int `json:"supplier,omitempty"`
	// SupplierReferenceNo is the order's id at the supplier. Cancel needs it.
	SupplierReferenceNo string          `json:"supplierReferenceNo"`
	Hotel               *OrderHotelInfo `json:"hotel,omitempty"`
	// Rooms has one entry for each booked room.
	Rooms []OrderRoom `json:"rooms,omitempty"`
}

// OrderHotelInfo is the hotel of an order.
type OrderHotelInfo struct {
	HotelID           string             `json:"hotelId,omitempty"`
	DestinationID     string             `json:"destinationId,omitempty"`
	Name              *I18N              `json:"name,omitempty"`
	Rating            *float64           `json:"rating,omitempty"`
	Address           *I18N              `json:"address,omitempty"`
	LatlngCoordinator *LatlngCoordinator `json:"latlngCoordinator,omitempty"`
	LogoURL           string             `json:"logoURL,omitempty"`
}

// OrderRoom is a booked room with its offer and its guests. RoomRatePkg documents the fields of the offer. Whether
// the rates and fees are per room or for the whole order is undocumented.
type OrderRoom struct {
	RoomTypeID         string              `json:"roomTypeId"`
	RoomTypeName       I18N                `json:"roomTypeName"`
	HotelID            string              `json:"hotelId"`
	Rates              []RoomRatePkg       `json:"rates,omitempty"`
	RatePkgID          string              `json:"ratePkgId"`
	RefundableMode     RefundableMode      `json:"refundableMode,omitempty"`
	RefundableUntil    Timestamp           `json:"refundableUntil,omitempty"`
	CancelFees         []CancelFee         `json:"cancelFees,omitempty"`
	OriginalRoomNaming *OriginalRoomNaming `json:"originalRoomNaming,omitempty"`
	Rate               Rate                `json:"rate"`
	TotalRate          Rate                `json:"totalRate"`
	RateComment        string              `json:"rateComment,omitempty"`
	IncludesPackaging  bool                `json:"includesPackaging,omitempty"`
	CheckIn            Date                `json:"checkIn"`
	CheckOut           Date                `json:"checkOut"`
	Board              *Board              `json:"board,omitempty"`
	Tax                *Tax                `json:"tax,omitempty"`
	// RoomIndex is the room's number within the order.
	RoomIndex  int          `json:"roomIndex,omitempty"`
	Guests     []OrderGuest `json:"guests,omitempty"`
	RefundInfo []RefundItem `json:"refundInfo,omitempty"`
}

// CancelFeeAt returns the fee of cancelling the order at t: the sum of Offer().CancelFeeAt of its rooms. Whether the
// service gives each room the fee of the whole order is undocumented; if it does, the sum is too high. The error
// says that the order has no rooms, or why the fee of a room is unknown.
func (o Order) CancelFeeAt(t time.Time) (sum Money, err error) {
	if len(o.Rooms) == 0 {
		return sum, errors.New("the cancellation fee is unknown: the order has no rooms; read the order again, or ask the service")
	}
	for i, room := range o.Rooms {
		fee, err := room.Offer().CancelFeeAt(t)
		if err == nil && i > 0 {
			fee, err = sum.Add(fee)
		}
		if err != nil {
			return Money{}, err
		}
		sum = fee
	}
	return sum, nil
}

// Offer returns the fields that the room shares with an offer, for example for CancelFeeAt. The offer shares the lists and
// pointers of the room.
func (r OrderRoom) Offer() RoomRatePkg {
	return RoomRatePkg{
		RatePkgID: r.RatePkgID, RefundableMode: r.RefundableMode, RefundableUntil: r.RefundableUntil, CancelFees: r.CancelFees,
		OriginalRoomNaming: r.OriginalRoomNaming, Rate: r.Rate, TotalRate: r.TotalRate, RateComment: r.RateComment,
		IncludesPackaging: r.IncludesPackaging, CheckIn: r.CheckIn, CheckOut: r.CheckOut, Board: r.Board, Tax: r.Tax,
	}
}
