package durable_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestARequestIsStoredInFullAndForItsBookingAlone(t *testing.T) {
	ring, err := keyring.New([]types.Secret{types.NewSecret("a key of thirty-two random bytes")})
	require.NoError(t, err)
	req := &hotelstays.BookRequest{SessionID: "session", RatePkgID: "offer", CustomerReferenceNo: "ref-1", CallbackURL: "https://example.com/",
		Expect: &types.RoomRatePkg{RatePkgID: "offer"}, Holder: types.Holder{FirstName: "Holder", LastName: "Family"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", PassportNumber: types.NewSecret("P1234567")}, {RoomIndex: 2}}}
	b := durable.New(hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", Expect: req.Expect}, start)
	sealed, err := b.SealRequest(ring, req)
	require.NoError(t, err)
	assert.NotContains(t, string(sealed), "P1234567")
	got, err := b.OpenRequest(ring, sealed)
	require.NoError(t, err)
	assert.Equal(t, "P1234567", got.Guests[0].PassportNumber.Reveal())
	got.Guests[0].PassportNumber = req.Guests[0].PassportNumber
	assert.Equal(t, req, got)

	_, err = b.OpenRequest(ring, nil)
	assert.ErrorContains(t, err, "its request is gone")
	_, err = b.OpenRequest(ring, ring.Seal("booking request  ref-1", []byte("text")))
	assert.ErrorContains(t, err, "is no request")
	b.Recovery.CustomerReferenceNo = "ref-2"
	_, err = b.OpenRequest(ring, sealed)
	assert.ErrorContains(t, err, "moved from another place")
}
