// CheckAvail and Book against the sandbox.

package hotelstays_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

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
			Gender: "f", PassportNumber: types.NewSecret("XY123456789")})
		req.CallbackURL = "http://127.0.0.1:9/events"
		resp, err := client.Book(t.Context(), req)
		require.NoError(t, err)
		order := resp.HotelOrder
		assert.Equal(t, types.OrderConfirming, order.Status)
		assert.Equal(t, req.Holder, order.Holder)
		assert.Equal(t, o.TotalRate.NetRate, order.NetRate)
		require.Len(t, order.Rooms, 1)
		assert.Equal(t, o.RoomRatePkg, order.Rooms[0].Offer())
		assert.JSONEq(t, `{"roomIndex":1,"firstName":"Guest","lastName":"Two","isChild":true,"age":0,"gender":"f","passportNumber":"6789"}`,
			string(order.Rooms[0].Guests[1].Raw), "an infant's age is sent, and the passport's number itself")
		assert.Zero(t, resp.Meta.MismatchCount)

		booked := srv.Ledger().OrdersFor("ref-1")
		require.Len(t, booked, 1)
		assert.Equal(t, order.PlatformReferenceNo, booked[0].PlatformReferenceNo)
		assert.Equal(t, req.CallbackURL, booked[0].CallbackURL)
		assert.Equal(t, order, o.Book(t, client, "ref-1"), "the reference has its order")
		assert.Len(t, srv.Ledger().Orders(), 1)
	})
}

// Refusals of Book by content and price: nothing is booked, whatever HTTP status carries them.
func TestBookRefusals(t *testing.T) {
	for _, status := range []int{200, 400, 409} {
		inBubble(t, fmt.Sprint("HTTP ", status), func(t *testing.T) {
			srv, client := newSandbox(t, hotelstaystest.Config{Variants: hotelstaystest.Variants{BusinessFailureStatus: status}})
			findOffer(t, srv, client, 0).Book(t, client, "ref-1")
			_, duplicate := client.Book(t.Context(), findOffer(t, srv, client, 0).Request("ref-2"))
			assert.ErrorIs(t, duplicate, hotelstays.ErrDuplicateBooking)
			assert.ErrorContains(t, duplicate, "ref-1", "the message names the booking")

			moving := findOffer(t, srv, client, 1)
			srv.MoveRate(moving.RatePkgID, 5)
			_, moved := client.Book(t.Context(), moving.Request("ref-3"))
			assert.ErrorIs(t, moved, hotelstays.ErrRateChanged)
			for _, err := range []error{duplicate, moved} {
				api := errorAs[*hotelstays.APIError](t, err)
				assert.Equal(t, status, api.HTTPStatus)
				assert.NotErrorAs(t, err, new(*hotelstays.OutcomeUnknownError))
			}
			assert.Len(t, srv.Ledger().Orders(), 1)
			assert.Equal(t, 3, srv.Ledger().Count(hotelstays.OpBook), "no refusal is sent again")
		})
	}
}
