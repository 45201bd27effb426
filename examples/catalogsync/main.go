// Catalogsync writes the whole catalogue of hotels into a file, one JSON object per line. If it is
// killed, the next run continues.
//
//	go run -C examples/catalogsync . -o "$PWD/hotels.jsonl"
//
// It runs against a sandbox in this process. With HOTELSTAYS_BASE_URL, HOTELSTAYS_APP_KEY and
// HOTELSTAYS_APP_SECRET it runs against that service.
//
// It reads many cities at the same time, within the rate limits. FILE.part has a line for each complete city, with its
// hotels. If FILE.part exists, a run removes an incomplete last line, and reads only the missing cities. So the program
// may be killed at any point. FILE is always complete, and the next run replaces it. Do not write the same file with
// two runs at the same time.
//
// A hotel that several cities list is written once. The program recognises it by its platformHotelId, because its
// hotelId belongs to a supplier and may change. Use platformHotelId as the key in a database, too. Some hotels have no
// platformHotelId, because they are not matched to the master catalogue. They are written for each city that lists them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// atOnce is the maximum number of cities that are read at the same time, and of concurrent calls of the walk. The number
// may be high, because the client keeps the rate limits.
const atOnce = 32

func main() {
	file := flag.String("o", "hotels.jsonl", "the `file` to write")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unexpected argument %q: set the file with -o\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *file); err != nil {
		fmt.Fprintln(os.Stderr, "stopped:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	service := os.Getenv("HOTELSTAYS_BASE_URL")
	if service+os.Getenv("HOTELSTAYS_APP_KEY")+os.Getenv("HOTELSTAYS_APP_SECRET") == "" {
		srv := hotelstaystest.NewServer(&hotelstaystest.Config{
			LedgerLimit: 1, Catalog: hotelstaystest.Catalog{Countries: 5, ProvincesPerCountry: 10, CitiesPerProvince: 10, HotelsPerCity: 60},
		})
		defer srv.Close()
		service = "sandbox"
		os.Setenv("HOTELSTAYS_BASE_URL", srv.URL)
		os.Setenv("HOTELSTAYS_APP_KEY", srv.AppKey)
		os.Setenv("HOTELSTAYS_APP_SECRET", srv.AppSecret)
	}
	client, err := hotelstays.NewFromEnv()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()

	c, err := openCatalogue(file, service)
	if err != nil {
		return err
	}
	defer c.close()
	if err := fetch(ctx, client, c); err != nil {
		return fmt.Errorf("%w\n%d hotels are stored: run the program again to continue", err, c.hotels)
	}
	return c.finish()
}

// fetch walks the tree of destinations, and reads the hotels of each city that is not in the catalogue yet. The walk
// waits while atOnce cities are being read.
func fetch(ctx context.Context, client *hotelstays.Client, c *catalogue) error {
	everywhere := &hotelstays.DestinationsRequest{Include: types.DestinationsIncludeDetails}
	// This call returns every country, so c.expected is known from the start. The walk reaches the last country only near its end.
	top, err := client.Destinations(ctx, everywhere)
	if err != nil {
		return err
	}
	for _, place := range top.Destinations {
		if place.Extra != nil && place.Extra.HotelCount != nil {
			c.expected += *place.Extra.HotelCount
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	group.Go(func() error {
		for place, err := range client.WalkDestinations(ctx, everywhere, hotelstays.WithParallelism(atOnce)) {
			if err != nil {
				return err
			}
			if place.Type == types.DestinationCity && !c.done[place.ID] {
				group.Go(func() error { return fetchCity(ctx, client, c, place.ID) })
			}
		}
		return nil
	})
	return group.Wait()
}

func fetchCity(ctx context.Context, client *hotelstays.Client, c *catalogue, city string) error {
	var hotels []*types.HotelMetadata
	req := &hotelstays.HotelsMetadataRequest{DestinationID: city}
	for hotel, err := range client.HotelsMetadataAll(ctx, req, hotelstays.WithParallelism(4)) {
		if err != nil {
			return err
		}
		hotels = append(hotels, hotel)
	}
	return c.add(city, hotels)
}

// catalogue collects the hotels in the file FILE.part. When FILE.part is complete, finish makes FILE from it.
type catalogue struct {
	file, service string
	part          *os.File
	done          map[string]bool // cities that an earlier run has read

	mu               sync.Mutex
	size             int64 // number of bytes in the complete lines of part
	hotels, expected int
	shown            time.Time
}

// entry is a line of FILE.part.
type entry struct {
	Service string                 `json:"service"`
	City    string                 `json:"city"`
	Hotels  []*types.HotelMetadata `json:"hotels"`
}

// openCatalogue starts a catalogue, or continues the catalogue of an earlier run. It removes an incomplete last line.
func openCatalogue(file, service string) (*catalogue, error) {
	part, err := os.OpenFile(file+".part", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	c := &catalogue{file: file, service: service, part: part, done: map[string]bool{}}
	for e, err := range c.entries() {
		if err != nil {
			c.close()
			return nil, fmt.Errorf("continuing %s: %w", part.Name(), err)
		}
		c.done[e.City] = true
		c.hotels += len(e.Hotels)
	}
	return c, part.Truncate(c.size)
}

// entries yields the complete lines of FILE.part, and counts their bytes in size.
func (c *catalogue) entries() iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		c.size = 0
		for lines := bufio.NewReader(io.NewSectionReader(c.part, 0, 1<<62)); ; {
			line, err := lines.ReadBytes('\n')
			var e entry
			switch {
			case errors.Is(err, io.EOF), err == nil && json.Unmarshal(line, &e) != nil: // a line that is incomplete or damaged ends the entries
				return
			case err == nil && e.Service != c.service:
				err = fmt.Errorf("the file belongs to another service, %s: remove it, or set another file with -o", e.Service)
			}
			if !yield(e, err) || err != nil {
				return
			}
			c.size += int64(len(line))
		}
	}
}

// add writes a city after the last complete line. It overwrites the remains of a failed write.
func (c *catalogue) add(city string, hotels []*types.HotelMetadata) error {
	line, err := json.Marshal(entry{c.service, city, hotels})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.part.WriteAt(append(line, '\n'), c.size); err != nil {
		return err
	}
	c.size += int64(len(line)) + 1
	c.hotels += len(hotels)
	c.show()
	return nil
}

// show prints the progress at most every two seconds.
func (c *catalogue) show() {
	if time.Since(c.shown) >= 2*time.Second {
		fmt.Fprintf(os.Stderr, "%d of %d hotels\n", c.hotels, max(c.expected, c.hotels))
		c.shown = time.Now()
	}
}

// finish writes each hotel once into a new file, and gives the file its final name.
func (c *catalogue) finish() error {
	whole, err := os.Create(c.file + ".new")
	if err != nil {
		return err
	}
	defer os.Remove(whole.Name()) // after the rename, Remove has no effect
	out, seen, written := bufio.NewWriter(whole), map[string]bool{}, 0
	lines := json.NewEncoder(out)
	for e, err := range c.entries() {
		if err != nil {
			return errors.Join(err, whole.Close())
		}
		for _, hotel := range e.Hotels {
			if seen[hotel.PlatformHotelID] && hotel.PlatformHotelID != "" {
				continue
			}
			seen[hotel.PlatformHotelID] = true
			written++
			if err := lines.Encode(hotel); err != nil {
				return errors.Join(err, whole.Close())
			}
		}
	}
	if err := errors.Join(out.Flush(), whole.Sync(), whole.Close()); err != nil {
		return err
	}
	if err := os.Rename(whole.Name(), c.file); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d hotels are in %s\n", written, c.file)
	return os.Remove(c.part.Name())
}

// close keeps FILE.part for the next run, unless FILE.part is empty.
func (c *catalogue) close() {
	if info, err := c.part.Stat(); err == nil && info.Size() == 0 {
		os.Remove(c.part.Name())
	}
	c.part.Close()
}
