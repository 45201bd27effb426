// An example of several calls under way: the catalogue at the pace of the ceilings.

package hotelstays_test

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// The whole catalogue: while the tree is walked, the hotels of the cities that it
// has shown are read, many cities at a time. The client keeps the ceilings, and
// nothing of the catalogue stays in memory but the ids of the places.
func ExampleClient_WalkDestinations_wholeCatalogue() {
	srv := hotelstaystest.NewServer(hotelstaystest.WithInMemory())
	defer srv.Close()
	client, err := hotelstays.New(srv.URL,
		hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		hotelstays.WithHTTPClient(srv.Client()))
	if err != nil {
		log.Fatal(err)
	}

	var hotels atomic.Int64
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(32) // cities at a time; the walk waits while there are as many
	group.Go(func() error {
		for place, err := range client.WalkDestinations(ctx, &hotelstays.DestinationsRequest{}, hotelstays.WithParallelism(32)) {
			if err != nil {
				return err
			}
			if place.Type != types.DestinationCity {
				continue // the hotels are in the cities
			}
			group.Go(func() error {
				req := &hotelstays.HotelsMetadataRequest{DestinationID: place.ID}
				for _, err := range client.HotelsMetadataAll(ctx, req, hotelstays.WithParallelism(4)) {
					if err != nil {
						return err
					}
					hotels.Add(1)
				}
				return nil
			})
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(hotels.Load(), "hotels")
	// Output: 234 hotels
}
