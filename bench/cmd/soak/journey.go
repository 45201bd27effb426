// The calls of a caller: a booking from the search to the cancellation, and some content.

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// ticketLife is short, so that tickets are renewed.
	ticketLife  = time.Minute
	callTimeout = 10 * time.Second

	checkIn  types.Date = "2027-03-10"
	checkOut types.Date = "2027-03-13"
)

// journey is one caller. Its failures are expected and counted.
type journey struct {
	client *hotelstays.Client
	place  sandboxPlace
	caller int
	trips  int
}

func (j *journey) travel(ctx context.Context) {
	city := j.place.Cities[(callers*j.trips+j.caller)%len(j.place.Cities)]
	j.trips++
	j.browse(ctx, city)
	offer, session := j.search(ctx, city)
	if offer == nil {
		return
	}
	if order := j.book(ctx, offer, session); order != nil {
		j.fetchVoucher(ctx, order)
		_, _ = j.client.Cancel(ctx, &hotelstays.CancelRequest{SessionID: session, Reason: "the soak is over",
			CustomerReferenceNo: order.CustomerReferenceNo, SupplierReferenceNo: order.SupplierReferenceNo})
	}
}

// browse reads content, one operation a trip, and fetches tokens.
func (j *journey) browse(ctx context.Context, city string) {
	switch j.trips % 6 {
	case 0:
		_, _ = j.client.Destinations(ctx, &hotelstays.DestinationsRequest{})
	case 1:
		for range j.client.HotelsMetadataAll(ctx, &hotelstays.HotelsMetadataRequest{DestinationID: city}) {
		}
	case 2:
		if page, err := j.client.HotelsMetadata(ctx,
			&hotelstays.HotelsMetadataRequest{DestinationID: city}); err == nil && len(page.HotelsMetadata) > 0 {
			_, _ = j.client.HotelStaticDetail(ctx, &hotelstays.HotelStaticDetailRequest{HotelID: page.HotelsMetadata[0].HotelID})
		}
	case 3:
		//lint:ignore SA1019 deprecated, and still an operation like all others
		_, _ = j.client.HotelIDList(ctx, &hotelstays.HotelIDListRequest{RegionCode: 1})
	case 4:
		_, _ = j.client.Ticket(ctx, &hotelstays.TicketRequest{AppKey: j.place.AppKey, AppSecret: types.NewSecret(j.place.AppSecret),
			TTL: ticketLife})
	case 5:
		_, _ = j.client.OAuthToken(ctx, &hotelstays.OAuthTokenRequest{ClientID: j.place.ClientID,
			ClientSecret: types.NewSecret(j.place.ClientSecret)})
	}
}

// search finds an offer of a hotel that depends on the trip.
func (j *journey) search(ctx context.Context, city string) (offer *types.RoomRatePkg, session string) {
	guests := []types.GuestPerRoom{{AdultCount: 2}}
	list, err := j.client.HotelList(ctx, &hotelstays.HotelListRequest{DestinationID: city, CheckIn: checkIn, CheckOut: checkOut,
		RoomOccupancies: guests})
	if err != nil || len(list.List) == 0 {
		return nil, ""
	}
	session = list.Basic.SessionID
	hotel := list.List[j.trips%len(list.List)]
	rates, err := j.client.HotelRates(ctx, &hotelstays.HotelRatesRequest{SessionID: session,
		HotelID: cmp.Or(hotel.PlatformHotelID, hotel.ID), CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: guests})
	if err != nil || len(rates.Rooms) == 0 || len(rates.Rooms[0].Rates) == 0 {
		return nil, ""
	}
	checked, err := j.client.CheckAvail(ctx, &hotelstays.CheckAvailRequest{SessionID: session, RatePkgID: rates.Rooms[0].Rates[0].RatePkgID})
	if err != nil {
		return nil, ""
	}
	return checked.RoomRatePkg, session
}

// book books the offer, and polls for the order even without an answer.
func (j *journey) book(ctx context.Context, offer *types.RoomRatePkg, session string) *types.Order {
	guest := fmt.Sprintf("Guest %d of caller %d", j.trips, j.caller) // duplicates are refused
	reference := uuid.NewString()
	_, _ = j.client.Book(ctx, &hotelstays.BookRequest{
		SessionID: session, CustomerReferenceNo: reference, RatePkgID: offer.RatePkgID, Expect: offer,
		Holder: types.Holder{FirstName: "Guest", LastName: guest},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: guest, PassportNumber: types.NewSecret("X1234567")},
			{RoomIndex: 1, FirstName: "Guest", LastName: "Two"}},
	})
	orders, err := j.client.QueryOrders(ctx, &hotelstays.QueryOrdersRequest{CustomerReferenceNos: []string{reference}})
	if err != nil || len(orders.Orders) == 0 {
		return nil
	}
	return &orders.Orders[0]
}

// fetchVoucher waits for a voucher and downloads it.
func (j *journey) fetchVoucher(ctx context.Context, order *types.Order) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if j.trips%4 != 0 { // only every fourth waits
		_, _ = j.client.OrderVoucher(ctx, &hotelstays.OrderVoucherRequest{PlatformReferenceNo: order.PlatformReferenceNo})
		return
	}
	issued, err := j.client.AwaitVoucher(ctx, &hotelstays.OrderVoucherRequest{PlatformReferenceNo: order.PlatformReferenceNo})
	if err == nil && issued.Voucher != nil {
		_ = j.client.DownloadVoucher(ctx, issued.Voucher, io.Discard)
	}
}
