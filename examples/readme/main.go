// Readme is the first program of the README. Its tests contain the other blocks of README and guides.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

func main() {
	client, err := hotelstays.NewFromEnv(hotelstays.WithCurrency("EUR")) // or New
	if err != nil {
		log.Fatal(err)
	}
	found, err := client.HotelList(context.Background(), &hotelstays.HotelListRequest{
		DestinationName: strings.Join(os.Args[1:], " "),
		CheckIn:         "2040-03-12",
		CheckOut:        "2040-03-15",
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 2}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(found.List), "hotels in", os.Args[1:]) // if none, check the name of the city
	for _, hotel := range found.List {
		fmt.Println(hotel.Name, "from", hotel.MinPrice)
	}
}
