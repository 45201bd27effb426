// Examples of searches: hotels and offers with prices.

package hotelstays_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// HotelList returns one page of hotels in a city, here the cheapest first. The offers are valid in the session of the
// answer.
func ExampleClient_HotelList() {
	srv, client := startSandbox()
	defer srv.Close()

	found, err := client.HotelList(context.Background(), &hotelstays.HotelListRequest{
		DestinationName: srv.CityName(0),
		CheckIn:         "2040-03-12",
		CheckOut:        "2040-03-15",
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2, ChildrenAges: []int{4}}},
		SortBy:          types.SortPriceAsc, PageSize: 3, MaxRatesPerHotel: 1,
	}, hotelstays.WithCurrency("EUR"))
	if err != nil {
		log.Fatal(err)
	}
	for _, hotel := range found.List {
		fmt.Println(hotel.Name, "from", hotel.MinPrice)
	}
	fmt.Println("of", found.Total, "hotels, session:", found.Basic.SessionID != "")
	// Output:
	// Upper White Gate Suites 10 from 229.69 EUR
	// Golden White Gate Resort 7 from 252.48 EUR
	// North White Gate Inn 3 from 310.03 EUR
	// of 12 hotels, session: true
}

// An empty list is not an error. EmptyReason says whether the account is the cause, and whether a retry can help.
func ExampleClient_HotelList_empty() {
	srv, client := startSandbox(hotelstaystest.Config{EmptyReason: &types.EmptyReason{Code: types.EmptyReasonNoSupplierAnswered}})
	defer srv.Close()

	found, err := client.HotelList(context.Background(), citySearch(srv))
	if err != nil {
		log.Fatal(err)
	}
	switch reason := found.Basic.EmptyReason; {
	case len(found.List) > 0:
		fmt.Println("found", len(found.List))
	case reason == nil:
		fmt.Println("the suppliers have nothing")
	case reason.Retryable():
		fmt.Println("ask again later:", reason.Code)
	default:
		fmt.Println("the account has to be changed:", reason.Code)
	}
	// Output: ask again later: NO_SUPPLIER_ANSWERED
}

// HotelListPages yields all pages of a search, in one session. The client fetches a page when the loop needs it.
func ExampleClient_HotelListPages() {
	srv, client := startSandbox()
	defer srv.Close()

	hotels, pages := 0, 0
	search := citySearch(srv)
	search.PageSize = 5
	for page, err := range client.HotelListPages(context.Background(), search) {
		if err != nil {
			log.Fatal(err)
		}
		pages++
		hotels += len(page.List)
	}
	fmt.Println(hotels, "hotels on", pages, "pages")
	// Output: 12 hotels on 3 pages
}

// HotelListStream yields the first hotels of a long page while the rest of the page arrives.
func ExampleClient_HotelListStream() {
	srv, client := startSandbox()
	defer srv.Close()

	search := client.HotelListStream(context.Background(), citySearch(srv))
	hotels := 0
	for hotel, err := range search.Hotels() {
		if err != nil {
			fmt.Println("discard the hotels so far:", err)
			return
		}
		hotels++
		_ = hotel // show the hotel
	}
	page, _ := search.Response()
	fmt.Println(hotels, "of", page.Total, "hotels")
	// Output: 12 of 12 hotels
}

// HotelListBatches searches any number of hotels, in parallel batches. The error of a failed batch names its hotels. The other batches
// continue.
func ExampleClient_HotelListBatches() {
	srv, client := startSandbox()
	defer srv.Close()
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpHotelList, Kind: hotelstaystest.FaultStatus,
		Status: 400}) // one batch is refused

	offers := map[string]string{} // by hotel, the session of its offers; each batch has its own session
	var failed []string
	for page, err := range client.HotelListBatches(context.Background(), &hotelstays.HotelListRequest{
		HotelIDs: srv.HotelIDs(100), CheckIn: arrival, CheckOut: departure, RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}},
		MaxRatesPerHotel: 1,
	}, hotelstays.WithBatchSize(20), hotelstays.WithParallelism(4)) {
		var batch *hotelstays.BatchError
		switch {
		case errors.As(err, &batch):
			failed = append(failed, batch.HotelIDs...)
		case err != nil:
			fmt.Println(err)
			return
		default:
			for _, hotel := range page.List {
				offers[hotel.PlatformHotelID] = page.Basic.SessionID
			}
		}
	}
	fmt.Println(len(offers), "hotels have offers,", len(failed), "failed")
	// Output: 80 hotels have offers, 20 failed
}

// HotelRates returns all offers of one hotel, from all suppliers. Pass the session of the search.
func ExampleClient_HotelRates() {
	ctx := context.Background()
	srv, client := startSandbox(hotelstaystest.Config{Catalog: hotelstaystest.Catalog{RoomsPerHotel: 2, RatesPerRoom: 2}})
	defer srv.Close()
	rooms := []types.GuestPerRoom{{AdultCount: 2}}

	found, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
		DestinationID: srv.CityID(0), CheckIn: arrival, CheckOut: departure, RoomOccupancies: rooms, MaxRatesPerHotel: 1,
	})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := client.HotelRates(ctx, &hotelstays.HotelRatesRequest{
		SessionID: found.Basic.SessionID, HotelID: srv.HotelIDs(1)[0], CheckIn: arrival, CheckOut: departure, RoomOccupancies: rooms,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, room := range resp.Rooms {
		for _, rate := range room.Rates {
			fmt.Println(room.RoomTypeName, rate.RefundableMode, rate.TotalRate.NetRate)
		}
	}
	// Output:
	// Standard Room no 830.16 USD
	// Standard Room full 882.23 USD
	// Superior Room no 1027.73 USD
	// Superior Room full 1092.05 USD
}

// citySearch searches a city for two adults, like ExampleClient_HotelList.
func citySearch(srv *hotelstaystest.Server) *hotelstays.HotelListRequest {
	return &hotelstays.HotelListRequest{
		DestinationID: srv.CityID(0), CheckIn: arrival, CheckOut: departure, RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}},
	}
}
