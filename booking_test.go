// CheckAvail and Book against the sandbox.

package hotelstays_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestOfferHoldsInItsOwnSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		mixed := findOffer(t, srv, client, 0)
		mixed.Session = findOffer(t, srv, client, 0).Session
		_, err := client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: mixed.Session, RatePkgID: mixed.RatePkgID})
		assert.ErrorIs(t, err, hotelstays.ErrParam)
		_, err = client.Book(t.Context(), mixed.Request("ref-1"))
		assert.ErrorIs(t, err, hotelstays.ErrParam)
		assert.Empty(t, srv.Ledger().Orders())
	})
}

// The life of a session is undocumented. The error of a refused one says to search again,
// except after Cancel, which has an order.
func TestRefusedSessionLeadsToANewSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		ended := findOffer(t, srv, client, 0)
		ended.Session = "ended"
		_, rates := client.HotelRates(t.Context(), &hotelstays.HotelRatesRequest{SessionID: ended.Session,
			HotelID: "1", CheckIn: checkIn, CheckOut: checkOut, RoomOccupancies: twoAdults()})
		_, avail := client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: ended.Session, RatePkgID: ended.RatePkgID})
		_, book := client.Book(t.Context(), ended.Request("ref-1"))
		for _, err := range []error{rates, avail, book} {
			assert.ErrorIs(t, err, hotelstays.ErrParam)
			assert.ErrorContains(t, err, "search again if the session is refused")
		}
		_, cancel := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: ended.Session, CustomerReferenceNo: "ref-1",
			SupplierReferenceNo: "s"})
		require.Error(t, cancel)
		assert.NotContains(t, cancel.Error(), "search again")
	})
}

// Whether 1 or 2 means available is undocumented, so the result must not depend on it.
func TestCheckAvail(t *testing.T) {
	for _, available := range []int{1, 2} {
		t.Run(fmt.Sprint("available is ", available), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.Config{Variants: hotelstaystest.Variants{Available: available}})
				o := findOffer(t, srv, client, 0)
				check := func() *hotelstays.CheckAvailResponse {
					t.Helper()
					resp, err := client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: o.Session, RatePkgID: o.RatePkgID},
						hotelstays.WithRawData())
					require.NoError(t, err)
					return resp
				}
				still := check()
				assert.True(t, still.Available())
				assert.EqualValues(t, available, still.Status)
				assert.Equal(t, o.RoomRatePkg, *still.RoomRatePkg)
				assert.Equal(t, types.Date("2000-01-01"), still.ExchangeRateSnapshot.Date)
				assert.Equal(t, json.Number("1.000000"), still.ExchangeRateSnapshot.USD["usd"])
				assert.NotContains(t, string(still.Meta.RawData), "statusRemark")

				srv.MoveRate(o.RatePkgID, 10)
				moved := check()
				assert.True(t, moved.Available())
				dearer, err := moved.RoomRatePkg.TotalRate.NetRate.Cmp(o.TotalRate.NetRate)
				require.NoError(t, err)
				assert.Equal(t, 1, dearer)
				assert.Contains(t, string(moved.Meta.RawData), "statusRemark")

				srv.CloseRate(o.RatePkgID)
				gone := check()
				assert.False(t, gone.Available())
				assert.EqualValues(t, 3-available, gone.Status)
				assert.Nil(t, gone.RoomRatePkg)
				assert.Nil(t, gone.ExchangeRateSnapshot)

				srv.ReopenRate(o.RatePkgID)
				assert.True(t, check().Available())
			})
		})
	}
}

// An offer without its id cannot be booked.
func TestAvailableNeedsAnID(t *testing.T) {
	for offer, available := range map[string]bool{`null`: false, `{}`: false, `{"ratePkgId":""}`: false, `{"ratePkgId":"p"}`: true} {
		resp, err := clientThrough(t, &fixedAnswer{status: 200, body: `{"code":0,"data":{"status":1,"roomRatePkg":` + offer + `}}`}).
			CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: "s", RatePkgID: "p"})
		require.NoError(t, err, offer)
		assert.Equal(t, available, resp.Available(), offer)
	}
}

func TestBook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		o := findOffer(t, srv, client, 0)
		req := o.Request("ref-1")
		req.Holder.Email, req.Holder.Phone = "guest@example.com", &types.Phone{CountryCode: "AE", CountryNumber: 971, Number: "5550100"}
		req.Guests = append(req.Guests, types.Guest{RoomIndex: 1, FirstName: "Guest", LastName: "Two", IsChild: new(true), Age: new(0),
			Gender: "f"})
		req.CallbackURL = "http://127.0.0.1:9/events"
		resp, err := client.Book(t.Context(), req)
		require.NoError(t, err)
		order := resp.HotelOrder
		assert.Equal(t, types.OrderConfirming, order.Status)
		assert.NotEmpty(t, order.StatusRemark)
		assert.Equal(t, "ref-1", order.CustomerReferenceNo)
		assert.NotEmpty(t, order.PlatformReferenceNo)
		assert.NotEmpty(t, order.SupplierReferenceNo)
		assert.Empty(t, order.HotelConfirmNo)
		assert.Equal(t, checkIn, order.CheckIn)
		assert.Equal(t, checkOut, order.CheckOut)
		assert.Equal(t, 3, order.NightCount)
		assert.Equal(t, 1, order.RoomCount)
		assert.Equal(t, types.Timestamp("2000-01-01T00:00:00Z"), order.BookingTime)
		assert.Equal(t, req.Holder, order.Holder)
		assert.Equal(t, o.TotalRate.NetRate, order.NetRate)
		assert.Equal(t, o.TotalRate.GrossRate, order.GrossRate)
		assert.Equal(t, srv.CityID(0), order.Hotel.DestinationID)
		assert.Nil(t, order.RefundedPrice)
		require.Len(t, order.Rooms, 1)
		room := order.Rooms[0]
		assert.Equal(t, 1, room.RoomIndex)
		assert.Equal(t, o.RoomRatePkg, room.Offer())
		assert.NotEmpty(t, room.RoomTypeID)
		require.Len(t, room.Guests, 2)
		assert.JSONEq(t, `{"roomIndex":1,"firstName":"Guest","lastName":"Two","isChild":true,"age":0,"gender":"f"}`, string(room.Guests[1].Raw),
			"an infant's age is sent")
		assert.Zero(t, resp.Meta.MismatchCount)

		booked := srv.Ledger().OrdersFor("ref-1")
		require.Len(t, booked, 1)
		assert.Equal(t, order.PlatformReferenceNo, booked[0].PlatformReferenceNo)
		assert.Equal(t, order.NetRate.String(), booked[0].Total)
		assert.Equal(t, req.CallbackURL, booked[0].CallbackURL)
		request := srv.Ledger().Requests(hotelstays.OpBook)[0]
		assert.Equal(t, o.Session, request.Header.Get("Session-Id"))
		assert.Equal(t, request.RequestID, resp.Meta.RequestID)
	})
}

func TestBookSeveralRooms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		search := searchCity(srv)
		search.RoomOccupancies = []types.GuestPerRoom{{AdultCount: 2}, {AdultCount: 1, ChildrenAges: []int{0, 11}}}
		list, err := client.HotelList(t.Context(), search)
		require.NoError(t, err)
		rate := list.List[0].Rooms[0].Rates[0]
		twice, err := rate.Rate.NetRate.Add(rate.Rate.NetRate)
		require.NoError(t, err)
		assert.Equal(t, twice, rate.TotalRate.NetRate)

		req := offer{RoomRatePkg: rate, Session: list.Basic.SessionID}.Request("ref-1")
		req.Guests = append(req.Guests, types.Guest{RoomIndex: 2, FirstName: "Guest", LastName: "Two"})
		resp, err := client.Book(t.Context(), req)
		require.NoError(t, err)
		assert.Equal(t, 2, resp.HotelOrder.RoomCount)
		require.Len(t, resp.HotelOrder.Rooms, 2)
		assert.Contains(t, string(resp.HotelOrder.Rooms[1].Guests[0].Raw), "Two")

		req.CustomerReferenceNo, req.Guests[1].RoomIndex = "ref-2", 3
		_, err = client.Book(t.Context(), req)
		assert.ErrorIs(t, err, hotelstays.ErrParam, "there is no third room")
	})
}

// One reference is one order, however often and with whatever offer it is sent.
func TestBookIsIdempotent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		o := findOffer(t, srv, client, 0)
		first := o.Book(t, client, "ref-1")
		assert.Equal(t, first, o.Book(t, client, "ref-1"))
		assert.Equal(t, first, findOffer(t, srv, client, 1).Book(t, client, "ref-1"))
		assert.Len(t, srv.Ledger().Orders(), 1)
		assert.Equal(t, 2, srv.Ledger().BookingsReused())

		_, err := client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: o.Session, CustomerReferenceNo: "ref-1",
			SupplierReferenceNo: first.SupplierReferenceNo})
		require.NoError(t, err)
		again := o.Book(t, client, "ref-1")
		assert.NotEmpty(t, again.CancelTime, "the existing order comes back even when it is cancelled")
		assert.Len(t, srv.Ledger().Orders(), 1)
	})
}

func TestConcurrentBooksOfOneReference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := newSandbox(t)
		o := findOffer(t, srv, client, 0)
		orders := make([]*types.Order, 25)
		var wg sync.WaitGroup
		for i := range orders {
			wg.Go(func() {
				resp, err := client.Book(t.Context(), o.Request("ref-1"))
				if assert.NoError(t, err) {
					orders[i] = resp.HotelOrder
				}
			})
		}
		wg.Wait()
		for _, order := range orders {
			assert.Equal(t, orders[0], order)
		}
		assert.Len(t, srv.Ledger().Orders(), 1)
		assert.Equal(t, len(orders), srv.Ledger().Count(hotelstays.OpBook))
		assert.Zero(t, srv.Ledger().RateLimited(""))
	})
}

// Refusals of Book by content and price: nothing is booked, whatever HTTP status
// carries them.
func TestBookRefusals(t *testing.T) {
	for _, status := range []int{200, 400, 409} {
		t.Run(fmt.Sprint("HTTP ", status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, client := newSandbox(t, hotelstaystest.Config{Variants: hotelstaystest.Variants{BusinessFailureStatus: status}})
				o := findOffer(t, srv, client, 0)
				first := o.Book(t, client, "ref-1")

				_, err := client.Book(t.Context(), findOffer(t, srv, client, 0).Request("ref-2"))
				assert.ErrorIs(t, err, hotelstays.ErrDuplicateBooking)
				var api *hotelstays.APIError
				require.ErrorAs(t, err, &api)
				assert.Equal(t, types.CodeDuplicateBooking, api.Code)
				assert.Equal(t, status, api.HTTPStatus)
				assert.Contains(t, api.Msg, "ref-1", "the message names the booking")
				assert.Empty(t, srv.Ledger().OrdersFor("ref-2"))
				assert.Equal(t, 1, srv.Ledger().DuplicatesRefused())

				_, err = client.Cancel(t.Context(), &hotelstays.CancelRequest{SessionID: o.Session, CustomerReferenceNo: "ref-1",
					SupplierReferenceNo: first.SupplierReferenceNo})
				require.NoError(t, err)
				o.Book(t, client, "ref-2")

				moving := findOffer(t, srv, client, 1)
				srv.MoveRate(moving.RatePkgID, 5)
				_, err = client.Book(t.Context(), moving.Request("ref-3"))
				assert.ErrorIs(t, err, hotelstays.ErrRateChanged)
				var unknown *hotelstays.OutcomeUnknownError
				assert.NotErrorAs(t, err, &unknown)
				assert.Empty(t, srv.Ledger().OrdersFor("ref-3"))

				now, err := client.CheckAvail(t.Context(), &hotelstays.CheckAvailRequest{SessionID: moving.Session, RatePkgID: moving.RatePkgID})
				require.NoError(t, err)
				order := moving.Book(t, client, "ref-3")
				assert.Equal(t, now.RoomRatePkg.TotalRate.NetRate, order.NetRate)
				assert.NotEqual(t, moving.TotalRate.NetRate, order.NetRate)
				assert.Equal(t, 5, srv.Ledger().Count(hotelstays.OpBook), "no refusal is sent again")
			})
		})
	}
}
