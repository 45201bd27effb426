package durable_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestSealRequestKeepsAllForOneBooking(t *testing.T) {
	ring, err := keyring.New([]types.Secret{types.NewSecret("a key of thirty-two random bytes")})
	require.NoError(t, err)
	req := &hotelstays.BookRequest{SessionID: "session", RatePkgID: "offer", CustomerReferenceNo: "ref-1", CallbackURL: "https://example.com/",
		Expect: &types.RoomRatePkg{RatePkgID: "offer"}, Holder: types.Holder{FirstName: "Holder", LastName: "Family"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", PassportNumber: types.NewSecret("P1234567")}, {RoomIndex: 2}}}
	b := durable.New(hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", Expect: req.Expect, Market: "FR", UserRef: "user-7"}, start)
	opts := []hotelstays.CallOption{hotelstays.WithMarket("FR"), hotelstays.WithUserRef("user-7"), hotelstays.WithLanguage("fr"),
		hotelstays.WithClientIP("192.0.2.1"), hotelstays.WithCurrency("EUR"), hotelstays.WithTraceID("trace"), hotelstays.WithTimeout(time.Minute),
		hotelstays.WithTestFlags(map[string]string{"a": "1", "b": "2"}), hotelstays.WithHeader("X-Gateway", "key"), hotelstays.WithMaxAttempts(1)}
	sealed, err := b.SealRequest(ring, req, opts...)
	require.NoError(t, err)
	assert.NotContains(t, string(sealed), "P1234567")
	got, gotOpts, err := b.OpenRequest(ring, sealed)
	require.NoError(t, err)
	want, err := hotelstays.CallOptionsOf(opts...)
	require.NoError(t, err)
	asked, err := hotelstays.CallOptionsOf(gotOpts...)
	require.NoError(t, err)
	assert.Equal(t, want, asked)
	assert.Equal(t, "P1234567", got.Guests[0].PassportNumber.Reveal())
	got.Guests[0].PassportNumber = req.Guests[0].PassportNumber
	assert.Equal(t, req, got)

	_, _, err = b.OpenRequest(ring, nil)
	assert.ErrorContains(t, err, "its request is gone")
	_, _, err = b.OpenRequest(ring, ring.Seal("booking request  ref-1", []byte("text")))
	assert.ErrorContains(t, err, "is no request")
	b.Recovery.CustomerReferenceNo = "ref-2"
	_, _, err = b.OpenRequest(ring, sealed)
	assert.ErrorContains(t, err, "moved from another place")
}

func TestOptionsThatAreNoDataAreNotStored(t *testing.T) {
	for name, opt := range map[string]hotelstays.CallOption{
		"WithRequestID":              hotelstays.WithRequestID(func(context.Context) string { return "id" }),
		"WithClientRequestTimestamp": hotelstays.WithClientRequestTimestamp(func(context.Context, time.Time) string { return "now" }),
		"WithServiceFacts":           hotelstays.WithServiceFacts(hotelstays.ServiceFacts{NullOrders: true}),
		"WithRawData":                hotelstays.WithRawData(),
	} {
		_, err := waiting.SealRequest(nil, &hotelstays.BookRequest{}, opt)
		var invalid *hotelstays.ValidationError
		require.ErrorAs(t, err, &invalid)
		assert.Equal(t, name, invalid.Fields[0].Path)
	}
}
