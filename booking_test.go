// CheckAvail and Book against the sandbox.

package hotelstays_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestAvailableNeedsAnID(t *testing.T) {
	for offer, available := range map[string]bool{`null`: false, `{}`: false, `{"ratePkgId":""}`: false, `{"ratePkgId":"p"}`: true} {
		resp, err := clientThrough(t, &fixedAnswer{Status: 200, Body: `{"code":0,"data":{"status":1,"roomRatePkg":` + offer + `}}`}).
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
