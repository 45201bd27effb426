// Catalogsync writes the whole catalogue of hotels into a file, one JSON object a line, and
// continues where it was killed.
//
//	go run -C examples/catalogsync . -o "$PWD/hotels.jsonl"
//
// It runs against a sandbox in this process. With HOTELSTAYS_BASE_URL, HOTELSTAYS_APP_KEY and
// HOTELSTAYS_APP_SECRET it runs against that service.
//
// It reads the hotels city by city, many cities at a time, within the rate limits. Until all
// are there, the hotels are in FILE.part, and FILE.journal lists the complete cities and where
// each one ends. A run that finds a journal drops everything after the last complete city, and
// reads only the missing cities. So the program may be killed at any point. An existing FILE is
// complete, and another run replaces it. FILE.lock keeps two runs from writing one file.
//
// A hotel that several cities list is written once. It is recognised by its platformHotelId,
// because its hotelId belongs to a supplier and may change. Key a database on platformHotelId,
// too. A hotel that is not matched to the master catalogue has none, and is written for each
// city that lists it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// atOnce is how many cities are read at once, and how many calls of the walk are under way. The
// client keeps the rate limits.
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
	svc, closeSandbox, err := findService()
	if err != nil {
		return err
	}
	defer closeSandbox()
	client, err := hotelstays.New(svc.baseURL, svc.credential)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()

	c, err := openCatalogue(file, svc.name, newProgress(os.Stderr, term.IsTerminal(int(os.Stderr.Fd()))))
	if err != nil {
		return err
	}
	defer c.close()
	if err := fetch(ctx, client, c); err != nil {
		return fmt.Errorf("%w\n%d hotels are kept: run it again to continue", err, c.hotels)
	}
	return c.finish()
}

// fetch walks the tree and reads the hotels of each missing city. The walk waits while atOnce
// cities are being read.
func fetch(ctx context.Context, client *hotelstays.Client, c *catalogue) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	group.Go(func() error {
		everywhere := &hotelstays.DestinationsRequest{Include: types.DestinationsIncludeDetails}
		for place, err := range client.WalkDestinations(ctx, everywhere, hotelstays.WithParallelism(atOnce)) {
			if err != nil {
				return err
			}
			if place.Type == types.DestinationCountry && place.Extra != nil && place.Extra.HotelCount != nil {
				c.expect(*place.Extra.HotelCount)
			}
			if place.Type == types.DestinationCity && !c.done[place.ID] {
				group.Go(func() error { return fetchCity(ctx, client, c, place.ID) })
			}
		}
		return nil
	})
	return group.Wait()
}

// fetchCity reads all hotels of a city, then adds them.
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

// catalogue is the unfinished file.
type catalogue struct {
	file          string
	service       string
	lock          *flock.Flock // ends with the process
	part, journal *os.File
	done          map[string]bool // cities of earlier runs

	mu                    sync.Mutex
	partSize, journalSize int64           // of the complete cities
	seen                  map[string]bool // by platformHotelId
	hotels                int
	progress              *progress
}

// entry is a line of the journal: a city, and where its hotels end in the part.
type entry struct {
	Service string `json:"service"`
	City    string `json:"city"`
	End     int64  `json:"end"`
}

// openCatalogue starts a catalogue, or continues that of an earlier run.
func openCatalogue(file, service string, p *progress) (*catalogue, error) {
	if info, err := os.Stat(file); file == "" || err == nil && info.IsDir() {
		return nil, fmt.Errorf("%q is not a file: set a file with -o", file)
	}
	c := &catalogue{file: file, service: service, lock: flock.New(file + ".lock"), progress: p,
		done: map[string]bool{}, seen: map[string]bool{}}
	if err := c.open(); err != nil {
		c.close()
		return nil, err
	}
	p.show(c.hotels, 0)
	return c, nil
}

// open locks and opens the files, and keeps their complete cities.
func (c *catalogue) open() error {
	mine, err := c.lock.TryLock()
	if err == nil && mine {
		mine, err = c.lockIsThere()
	}
	if err == nil && !mine {
		err = fmt.Errorf("another run is writing %s: wait for it, or set another file with -o", c.file)
	}
	if err != nil {
		return err
	}
	if c.journal, err = os.OpenFile(c.file+".journal", os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	if c.part, err = os.OpenFile(c.file+".part", os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	if err := c.resume(); err != nil {
		return fmt.Errorf("continuing %s: %w", c.part.Name(), err)
	}
	return errors.Join(c.part.Truncate(c.partSize), c.journal.Truncate(c.journalSize))
}

// resume reads the cities of the journal and their hotels, up to the first city that is not
// complete in the part.
func (c *catalogue) resume() error {
	if info, err := c.part.Stat(); err != nil || info.Size() == 0 { // a journal alone belongs to a finished file
		return err
	}
	journal, part := bufio.NewReader(c.journal), bufio.NewReader(c.part)
	for {
		var e entry
		length, err := readLine(journal, &e)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if e.Service != c.service {
			return fmt.Errorf("it belongs to another service, %s: remove it and %s.journal, or set another file with -o", e.Service, c.file)
		}
		var hotels []types.HotelMetadata
		at := c.partSize
		for at < e.End {
			var hotel types.HotelMetadata
			length, err := readLine(part, &hotel)
			if err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			at += length
			hotels = append(hotels, hotel)
		}
		if at != e.End {
			return nil
		}
		for _, hotel := range hotels {
			c.seen[hotel.PlatformHotelID] = true
		}
		c.done[e.City] = true
		c.hotels += len(hotels)
		c.partSize, c.journalSize = at, c.journalSize+length
	}
}

// readLine reads a line into v and returns its length. An incomplete or damaged line is the
// end.
func readLine(r *bufio.Reader, v any) (int64, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return 0, err
	}
	if json.Unmarshal(line, v) != nil {
		return 0, io.EOF
	}
	return int64(len(line)), nil
}

// add writes the new hotels of a city, and then its entry in the journal. Both go where the
// last complete city ends, over the remains of a failed write.
func (c *catalogue) add(city string, hotels []*types.HotelMetadata) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lines bytes.Buffer
	encoder, written := json.NewEncoder(&lines), 0
	for _, hotel := range hotels {
		if c.seen[hotel.PlatformHotelID] && hotel.PlatformHotelID != "" {
			continue
		}
		c.seen[hotel.PlatformHotelID] = true
		if err := encoder.Encode(hotel); err != nil {
			return err
		}
		written++
	}
	end := c.partSize + int64(lines.Len())
	line, err := json.Marshal(entry{c.service, city, end})
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if _, err := c.part.WriteAt(lines.Bytes(), c.partSize); err != nil {
		return err
	}
	if _, err := c.journal.WriteAt(line, c.journalSize); err != nil {
		return err
	}
	c.partSize, c.journalSize = end, c.journalSize+int64(len(line))
	c.hotels += written
	c.progress.show(c.hotels, 0)
	return nil
}

// expect raises the expected number of hotels.
func (c *catalogue) expect(hotels int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress.show(c.hotels, hotels)
}

// finish moves the file to its place.
func (c *catalogue) finish() error {
	if err := errors.Join(c.part.Sync(), c.part.Close(), c.journal.Close()); err != nil {
		return err
	}
	if err := os.Rename(c.part.Name(), c.file); err != nil {
		return err
	}
	if err := os.Remove(c.journal.Name()); err != nil {
		return err
	}
	c.progress.finish(c.hotels, c.file)
	return nil
}

// lockIsThere reports whether the locked file still has its name: a run that ends removes it.
func (c *catalogue) lockIsThere() (bool, error) {
	locked, err := c.lock.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(c.lock.Path())
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(locked, named), err
}

func (c *catalogue) close() {
	c.part.Close()
	c.journal.Close()
	if c.lock.Locked() {
		os.Remove(c.lock.Path()) // while it is locked
	}
	c.lock.Close()
}

// progress shows a bar on a terminal, and a line every two seconds elsewhere.
type progress struct {
	out      io.Writer
	bar      *progressbar.ProgressBar // nil: no terminal
	expected int
	shown    time.Time
}

func newProgress(out io.Writer, terminal bool) *progress {
	p := &progress{out: out}
	if terminal {
		p.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(out), progressbar.OptionSetDescription("hotels"),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("hotels"),
			progressbar.OptionThrottle(100*time.Millisecond))
	}
	return p
}

// show shows the number of hotels, and expects more.
func (p *progress) show(hotels, more int) {
	p.expected += more
	total := max(p.expected, hotels) // those of an earlier run are there before they are expected
	switch {
	case total == 0: // nothing is known yet
	case p.bar != nil:
		p.bar.ChangeMax(total)
		_ = p.bar.Set(hotels)
	case time.Since(p.shown) >= 2*time.Second:
		fmt.Fprintf(p.out, "%d of %d hotels\n", hotels, total)
		p.shown = time.Now()
	}
}

func (p *progress) finish(hotels int, file string) {
	if p.bar != nil {
		fmt.Fprintln(p.out)
	}
	fmt.Fprintf(p.out, "%d hotels are in %s\n", hotels, file)
}

type service struct {
	name       string // in the journal
	baseURL    string
	credential hotelstays.TicketCredential
}

// findService returns the service of the environment, or starts a sandbox.
func findService() (svc *service, closeSandbox func(), err error) {
	base, key, secret := os.Getenv("HOTELSTAYS_BASE_URL"), os.Getenv("HOTELSTAYS_APP_KEY"), os.Getenv("HOTELSTAYS_APP_SECRET")
	switch {
	case base != "" && key != "" && secret != "":
		return &service{base, base, hotelstays.TicketCredential{AppKey: key, AppSecret: types.NewSecret(secret)}}, func() {}, nil
	case base != "" || key != "" || secret != "":
		return nil, nil, errors.New("set all of HOTELSTAYS_BASE_URL, HOTELSTAYS_APP_KEY and HOTELSTAYS_APP_SECRET, or none for the sandbox")
	}
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{
		LedgerLimit: 1, Catalog: hotelstaystest.Catalog{Countries: 5, ProvincesPerCountry: 10, CitiesPerProvince: 10, HotelsPerCity: 60},
	})
	credential := hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)}
	return &service{"sandbox", srv.URL, credential}, srv.Close, nil
}
