// Orders: what Book creates and QueryOrders reads back.

package types

import "encoding/json"

// OrderStatus is where an order stands, 0 to 5.
type OrderStatus int

// The order states whose numbers are documented. The service also speaks of
// confirmed, pending and cancelled orders, but does not show their numbers.
const (
	OrderUnknown    OrderStatus = 0
	OrderConfirming OrderStatus = 1
)

// Order is a booking as the service holds it.
type Order struct {
	Status OrderStatus `json:"status"`
	// StatusRemark is advice for people.
	StatusRemark string `json:"statusRemark,omitempty"`
	CheckIn      Date   `json:"checkIn"`
	CheckOut     Date   `json:"checkOut"`
	NightCount   int    `json:"nightCount,omitempty"`
	RoomCount    int    `json:"roomCount,omitempty"`
	// BookingTime is when the order was created.
	BookingTime Timestamp `json:"bookingTime"`
	// HotelConfirmNo is the hotel's own confirmation number, which may come after
	// the booking.
	HotelConfirmNo string `json:"hotelConfirmNo,omitempty"`
	Holder         Holder `json:"holder"`
	// PlatformReferenceNo is the order's identifier on the platform.
	PlatformReferenceNo string `json:"platformReferenceNo"`
	// CustomerReferenceNo is the caller's own reference, given to Book.
	CustomerReferenceNo string `json:"customerReferenceNo,omitempty"`
	CommissionableRate  *Money `json:"commissionableRate,omitempty"`
	// NetRate and GrossRate are undocumented beside their names: what they cover may
	// differ from the offer's totals.
	NetRate   Money  `json:"netRate"`
	GrossRate *Money `json:"grossRate,omitempty"`
	// RespectGrossRate, when true, binds the seller to GrossRate.
	RespectGrossRate bool `json:"respectGrossRate,omitempty"`
	// CancelTime is undocumented beside its name: it does not prove a cancellation.
	CancelTime   Timestamp `json:"cancelTime,omitempty"`
	CancelReason string    `json:"cancelReason,omitempty"`
	// RefundedPrice is the amount refunded.
	RefundedPrice *Money `json:"refundedPrice,omitempty"`
	// Supplier is the id of the supplier that handled the order.
	Supplier int `json:"supplier,omitempty"`
	// SupplierReferenceNo is the order's identifier at the supplier.
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

// OrderRoom is a booked room: the room, the offer that it was booked under, and
// who sleeps in it.
type OrderRoom struct {
	Room
	RoomRatePkg
	// RoomIndex is the room's number within the order.
	RoomIndex int `json:"roomIndex,omitempty"`
	// Guests stay JSON: their fields are undocumented, except that a passport number is
	// cut to its last four characters.
	Guests []json.RawMessage `json:"guests,omitempty"`
	// RefundInfo stays JSON: the fields of its items are undocumented.
	RefundInfo []json.RawMessage `json:"refundInfo,omitempty"`
}
