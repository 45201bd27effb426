// A unit test with a fake instead of the client.

package hotelstays_test

import (
	"context"
	"fmt"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// searcher has the method of the client that the code under test uses.
type searcher interface {
	HotelListStream(context.Context, *hotelstays.HotelListRequest, ...hotelstays.CallOption) *hotelstays.HotelListStream
}

var _ searcher = (*hotelstays.Client)(nil)

// hotelIDsIn is the code under test.
func hotelIDsIn(ctx context.Context, s searcher, destination, currency string) (ids []string, err error) {
	req := &hotelstays.HotelListRequest{DestinationID: destination, CheckIn: "2026-12-24", CheckOut: "2026-12-26",
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}}}
	for hotel, err := range s.HotelListStream(ctx, req, hotelstays.WithCurrency(currency)).Hotels() {
		if err != nil {
			return nil, err
		}
		ids = append(ids, hotel.ID)
	}
	return ids, nil
}

// fakeSearcher records the destination and the options of a search, and finds one hotel.
type fakeSearcher struct {
	destination string
	opts        hotelstays.CallOptions
	optsErr     error
}

func (f *fakeSearcher) HotelListStream(_ context.Context, req *hotelstays.HotelListRequest,
	opts ...hotelstays.CallOption) *hotelstays.HotelListStream {
	f.destination = req.DestinationID
	f.opts, f.optsErr = hotelstays.CallOptionsOf(opts...)
	found := func(yield func(*types.Hotel, error) bool) { yield(&types.Hotel{ID: "hotel-1"}, nil) }
	return hotelstays.NewHotelListStream(found, &hotelstays.HotelListResponse{})
}

// A unit test without a server: the fake sees the options of the call, and returns a stream.
func ExampleCallOptionsOf() {
	fake := new(fakeSearcher)
	ids, err := hotelIDsIn(context.Background(), fake, "city-1", "EUR")
	fmt.Println(ids, err)
	fmt.Println(fake.destination, fake.opts.Currency, fake.optsErr)
	// Output:
	// [hotel-1] <nil>
	// city-1 EUR <nil>
}
