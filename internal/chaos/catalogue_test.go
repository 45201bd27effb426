// The whole catalogue: every place and every hotel once, as fast as the rate limits allow, in
// memory that does not grow with the catalogue.
//
// HOTELSTAYS_CATALOGUE_CITIES sets the number of cities; with 20000 the test reads a million hotels.

package chaos_test

//lint:file-ignore SA1019 a deprecated operation is tested like any other

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

const (
	// catalogueLatency is the time of an answer: calls one after another would use a tenth of the
	// rate limit.
	catalogueLatency = 100 * time.Millisecond
	// catalogueGrowth limits what is kept: the client keeps the ids of the places, the sandbox those
	// of the requests.
	catalogueGrowth = 16 << 20
)

// Two shapes: in one the places take more calls than the hotels, in the other fewer.
func TestCatalogueAtTheRateLimits(t *testing.T) {
	cities := int(chaosSetting(t, "HOTELSTAYS_CATALOGUE_CITIES", uint64(howMany(t, "cities", 2000, 400, 200))))
	shapes := []struct {
		name          string
		cities        int
		hotelsPerCity int
		pageSize      int
	}{
		{"a page for each city", cities, 50, types.MaxMetadataPageSize},
		{"five pages for each city", cities / 2, 100, 20},
	}
	for _, tc := range shapes[:howMany(t, "shapes", 2, 2, 1)] {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { readCatalogue(t, tc.cities, tc.hotelsPerCity, tc.pageSize) })
		})
	}
}

// readCatalogue reads a catalogue and checks what came, how fast, and in how much memory.
func readCatalogue(t *testing.T, cities, hotelsPerCity, pageSize int) {
	w := newWorld(t, hotelstaystest.Config{LedgerLimit: 1000, Catalog: hotelstaystest.Catalog{
		Countries: 20, ProvincesPerCountry: cities / 200, CitiesPerProvince: 10, HotelsPerCity: hotelsPerCity,
		EmptyEvery: -1, UnmatchedEvery: -1, RoomsPerHotel: 1, RatesPerRoom: 1,
	}})
	srv := w.Server
	require.Equal(t, cities, srv.CityCount())
	for _, op := range []hotelstaystest.Operation{hotelstays.OpDestinations, hotelstays.OpHotelsMetadata} {
		srv.Inject(fault{Operation: op, Kind: hotelstaystest.FaultDelay, Delay: catalogueLatency, Times: -1})
	}
	_, err := w.client.HotelIDList(t.Context(), &hotelstays.HotelIDListRequest{RegionCode: 1}) // fetches the token
	require.NoError(t, err)

	read := &hotelTally{expected: srv.HotelCount(), seed: maphash.MakeSeed()}
	start := time.Now()
	require.NoError(t, eachHotel(t.Context(), w.client, pageSize, read.add))
	elapsed := time.Since(start)

	read.check(t, srv)
	assert.Zero(t, srv.Ledger().RateLimited(""))
	places, pages := srv.Ledger().Count(hotelstays.OpDestinations), srv.Ledger().Count(hotelstays.OpHotelsMetadata)
	assert.Equal(t, 1+20+cities/10+cities, places, "a call for each place, and the first")
	assert.Equal(t, cities*hotelsPerCity/min(pageSize, hotelsPerCity), pages)

	// A hundred calls may leave at once, and a hundred more with each second.
	ideal := time.Duration((max(places, pages)-1)/100) * time.Second
	share := ideal.Seconds() / elapsed.Seconds()
	t.Logf("%d hotels in %d cities: %d calls of Destinations, %d of HotelsMetadata, in %s of virtual time; the rate limits allow %s: %.1f %%",
		read.expected, cities, places, pages, elapsed, ideal, 100*share)
	assert.LessOrEqual(t, elapsed, max(ideal*100/97, ideal+time.Second), "a small catalogue ends within a second of the ideal")
}

// eachHotel reads the hotels of each city while the walk looks for more cities.
func eachHotel(ctx context.Context, client *hotelstays.Client, pageSize int, visit func(*types.HotelMetadata)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(32)
	group.Go(func() error {
		for place, err := range client.WalkDestinations(ctx, &hotelstays.DestinationsRequest{}, hotelstays.WithParallelism(32)) {
			if err != nil {
				return err
			}
			if place.Type != types.DestinationCity {
				continue
			}
			group.Go(func() error {
				req := &hotelstays.HotelsMetadataRequest{DestinationID: place.ID, Page: &types.PageReq{PageSize: pageSize}}
				for hotel, err := range client.HotelsMetadataAll(ctx, req, hotelstays.WithParallelism(4)) {
					if err != nil {
						return err
					}
					visit(hotel)
				}
				return nil
			})
		}
		return nil
	})
	return group.Wait()
}

// hotelTally notes which hotels came, without allocating, and the live memory after each tenth.
type hotelTally struct {
	expected int
	seed     maphash.Seed
	n        atomic.Int64
	sum      atomic.Uint64 // of a hash of each
	mu       sync.Mutex
	live     []int
}

func (h *hotelTally) add(hotel *types.HotelMetadata) {
	n := int(h.n.Add(1))
	h.sum.Add(maphash.String(h.seed, hotel.PlatformHotelID))
	if n%(h.expected/10) == 0 {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.live = append(h.live, testkit.LiveHeap())
	}
}

func (h *hotelTally) check(t *testing.T, srv *hotelstaystest.Server) {
	t.Helper()
	require.Len(t, h.live, 10)
	first, peak := h.live[0], slices.Max(h.live)
	t.Logf("live heap: %d kB after a tenth, at most %d kB", first>>10, peak>>10)
	assert.Less(t, peak, first+catalogueGrowth)

	require.EqualValues(t, h.expected, h.n.Load())
	var want uint64
	for _, id := range srv.HotelIDs(h.expected) {
		want += maphash.String(h.seed, id)
	}
	assert.Equal(t, want, h.sum.Load(), "every hotel once")
}
