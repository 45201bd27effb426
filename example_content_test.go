// Examples of content: places and hotels, without prices.

package hotelstays_test

import (
	"context"
	"fmt"
	"log"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// An empty request returns the top of the tree. A request with a parent returns the places below the parent.
func ExampleClient_Destinations() {
	ctx := context.Background()
	srv, client := startSandbox()
	defer srv.Close()

	countries, err := client.Destinations(ctx, &hotelstays.DestinationsRequest{})
	if err != nil {
		log.Fatal(err)
	}
	for _, country := range countries.Destinations {
		fmt.Println(country.CountryCode, country.Name)
	}
	below, err := client.Destinations(ctx, &hotelstays.DestinationsRequest{
		ParentDestinationID: countries.Destinations[0].ID, Include: types.DestinationsIncludeDetails,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, place := range below.Destinations {
		fmt.Println(place.NameFull)
	}
	// Output:
	// AE United Arab Emirates
	// CN China
	// FR France
	// White Hills Province, United Arab Emirates
	// Lower Market Province, United Arab Emirates
}

// WalkDestinations yields all places of a country, each parent before its children.
func ExampleClient_WalkDestinations() {
	srv, client := startSandbox()
	defer srv.Close()

	kinds := map[types.DestinationType]int{}
	for place, err := range client.WalkDestinations(context.Background(), &hotelstays.DestinationsRequest{CountryCode: "FR"}) {
		if err != nil {
			fmt.Println(err) // the walk ends here, and is not complete
			return
		}
		kinds[place.Type]++
	}
	fmt.Println("provinces:", kinds[types.DestinationProvinceState])
	fmt.Println("cities with hotels:", kinds[types.DestinationCity])
	// Output:
	// provinces: 2
	// cities with hotels: 8
}

// HotelsMetadata returns one page of a destination's hotels. PlatformHotelID stays the same, so use it as the key of a
// catalogue. A hotel without a PlatformHotelID is not yet matched to the master catalogue.
func ExampleClient_HotelsMetadata() {
	srv, client := startSandbox()
	defer srv.Close()

	page, err := client.HotelsMetadata(context.Background(), &hotelstays.HotelsMetadataRequest{
		DestinationID: srv.CityID(0), Page: &types.PageReq{PageNum: 1, PageSize: 3},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, hotel := range page.HotelsMetadata {
		fmt.Println(hotel.PlatformHotelID, hotel.Name, *hotel.Rating) // Rating is nil if the answer has no rating
	}
	fmt.Println("of", page.Page.Total, "more:", *page.Page.HasMore)
	// Output:
	// PH10000000 Upper White Gate Resort 1 2.8
	// PH10000001 White White Gate Inn 2 2
	// PH10000002 North White Gate Inn 3 4.3
	// of 12 more: true
}

// HotelsMetadataAll yields all hotels of a destination. The client fetches a page when the loop needs it.
func ExampleClient_HotelsMetadataAll() {
	srv, client := startSandbox()
	defer srv.Close()

	catalogue := map[string]*types.HotelMetadata{}
	unmatched := 0
	for hotel, err := range client.HotelsMetadataAll(context.Background(), &hotelstays.HotelsMetadataRequest{DestinationID: srv.CityID(0)}) {
		if err != nil {
			fmt.Println(err) // the loop ends here, and the catalogue is incomplete
			return
		}
		if hotel.PlatformHotelID == "" {
			unmatched++
			continue
		}
		catalogue[hotel.PlatformHotelID] = hotel
	}
	fmt.Println(len(catalogue), "hotels,", unmatched, "not matched yet")
	// Output: 11 hotels, 1 not matched yet
}

// The service marks HotelStaticDetail as under development. In production, use HotelsMetadata.
func ExampleClient_HotelStaticDetail() {
	srv, client := startSandbox()
	defer srv.Close()

	resp, err := client.HotelStaticDetail(context.Background(), &hotelstays.HotelStaticDetailRequest{HotelID: srv.HotelIDs(1)[0]})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Hotel.Name, resp.Hotel.Address)
	// Output: Upper White Gate Resort 1 82 Main Road, White Gate, White Hills Province, United Arab Emirates
}

// HotelIDList lists the ids of the hotels in a region. Only an older variant of the service has this operation.
func ExampleClient_HotelIDList() {
	srv, client := startSandbox()
	defer srv.Close()

	resp, err := client.HotelIDList(context.Background(), &hotelstays.HotelIDListRequest{RegionCode: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(resp.HotelIDList), "hotels")
	// Output: 12 hotels
}
