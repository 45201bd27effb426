package durable

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/keyring"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestSealedRequestDecryptsCompletelyAndOnlyForItsBooking(t *testing.T) {
	ring, err := keyring.New([]types.Secret{types.NewSecret("a key of thirty-two random bytes")})
	require.NoError(t, err)
	req := &hotelstays.BookRequest{SessionID: "session", RatePkgID: "offer", CustomerReferenceNo: "ref-1", CallbackURL: "https://example.com/",
		Expect: &types.RoomRatePkg{RatePkgID: "offer"}, Holder: types.Holder{FirstName: "Holder", LastName: "Family"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", PassportNumber: types.NewSecret("P1234567")}, {RoomIndex: 2}}}
	b := newBooking(hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", Expect: req.Expect, Market: "FR", UserRef: "user-7"}, start)
	opts := []hotelstays.CallOption{hotelstays.WithMarket("FR"), hotelstays.WithUserRef("user-7"), hotelstays.WithLanguage("fr"),
		hotelstays.WithClientIP("192.0.2.1"), hotelstays.WithCurrency("EUR"), hotelstays.WithTraceID("trace"),
		hotelstays.WithTimeout(time.Minute),
		hotelstays.WithTestFlags(map[string]string{"a": "1", "b": "2"}), hotelstays.WithMaxAttempts(1), hotelstays.WithPriority(hotelstays.PriorityInteractive)}
	sealed, err := b.sealRequest(ring, req, opts...)
	require.NoError(t, err)
	assert.NotContains(t, string(sealed), "P1234567")
	got, gotOpts, err := b.openRequest(ring, sealed)
	require.NoError(t, err)
	want, err := hotelstays.CallOptionsOf(opts...)
	require.NoError(t, err)
	asked, err := hotelstays.CallOptionsOf(gotOpts...)
	require.NoError(t, err)
	assert.Equal(t, want, asked)
	for field, value := range reflect.ValueOf(want).Fields() { // every option of Book is stored or refused
		assert.True(t, !value.IsZero() || refusedOptions["With"+field.Name] != nil || slices.Contains(ofOtherMethods, field.Name),
			"a Book may have the option %s: store or refuse it", field.Name)
	}
	assert.Equal(t, "P1234567", got.Guests[0].PassportNumber.Reveal())
	got.Guests[0].PassportNumber = req.Guests[0].PassportNumber
	assert.Equal(t, req, got)

	_, _, err = b.openRequest(ring, nil)
	assert.ErrorContains(t, err, "the booking's stored request is gone")
	text, err := ring.Seal("booking request  ref-1", []byte("text"))
	require.NoError(t, err)
	_, _, err = b.openRequest(ring, text)
	assert.ErrorContains(t, err, "is not a valid request")
	b.Recovery.CustomerReferenceNo = "ref-2"
	_, _, err = b.openRequest(ring, sealed)
	assert.ErrorContains(t, err, "sealed for another place")
}

// refusedOptions are options that cannot be stored with a booking. ofOtherMethods are options that Book does not take.
var (
	refusedOptions = map[string]hotelstays.CallOption{
		"WithRequestID":              hotelstays.WithRequestID(func(context.Context) string { return "id" }),
		"WithClientRequestTimestamp": hotelstays.WithClientRequestTimestamp(func(context.Context, time.Time) string { return "now" }),
		"WithServiceFacts":           hotelstays.WithServiceFacts(hotelstays.ServiceFacts{NullOrders: true}),
		"WithMarket":                 hotelstays.WithMarket("no country"),
		"WithRawData":                hotelstays.WithRawData(),
		"WithHeader":                 hotelstays.WithHeader("X-Gateway", "key"),
		"WithWakeup":                 hotelstays.WithWakeup(make(chan struct{})),
		"WithSaveRecovery":           hotelstays.WithSaveRecovery(func(context.Context, *hotelstays.BookingRecovery) error { return nil }),
	}
	ofOtherMethods = []string{"Parallelism", "BatchSize", "UnsignedVouchers", "MaxVoucherBytes"}
)

func TestSealRequestRefusesOptionsThatItCannotStore(t *testing.T) {
	ring, req := new(keyring.Ring), &hotelstays.BookRequest{}
	for name, opt := range refusedOptions {
		_, err := waiting.sealRequest(ring, req, opt)
		var invalid *hotelstays.ValidationError
		require.ErrorAs(t, err, &invalid, name)
		assert.Equal(t, name, invalid.Fields[0].Path)
		assert.NotEmpty(t, invalid.Fields[0].Problem, name)
	}
	_, err := waiting.sealRequest(ring, req)
	assert.ErrorContains(t, err, "keyring.New")
}
