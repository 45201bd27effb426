// Recovery shows a program that is killed during Book, starts again and finds its order.
//
//	go run ./examples/recovery
//
// The first process runs a sandbox, which makes the order immediately, but answers Book a minute later. The second
// process is a booking engine. It stores its recovery on disk, calls Book, and is killed before the answer. The third
// process is the engine again. It reads the recovery and finds the order.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 0:
		err = direct(ctx)
	case len(args) == 3 && args[0] == "engine":
		err = engine(ctx, args[1], args[2])
	default:
		fmt.Fprintf(os.Stderr, "unexpected argument %q: this program takes no arguments\n", args[0])
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stopped:", err)
		os.Exit(1)
	}
}

// direct starts the sandbox and the engine, kills the engine and starts it again. The sandbox refuses the first Book,
// answers the second Book a minute late, and lets the first poll fail.
func direct(ctx context.Context) error {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: 429, RetryAfter: "1"})
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: time.Minute, Commit: true})
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultCut})
	fmt.Println("sandbox:  refuses the first Book with a 429, makes the order on the second, and answers it a minute late")

	dir, err := os.MkdirTemp("", "recovery")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	start := func() (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, self, "engine", filepath.Join(dir, "recovery.json"), srv.CityName(0))
		cmd.Env = append(os.Environ(),
			"HOTELSTAYS_BASE_URL="+srv.URL, "HOTELSTAYS_APP_KEY="+srv.AppKey, "HOTELSTAYS_APP_SECRET="+srv.AppSecret)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd, cmd.Start()
	}

	first, err := start()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	for len(srv.Ledger().Orders()) == 0 {
		select {
		case err := <-ended:
			return fmt.Errorf("the engine did not book: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := first.Process.Kill(); err != nil { // the order exists, but the engine still waits for the answer to Book
		return err
	}
	<-ended
	fmt.Println("director: killed the engine while it was waiting for Book")

	second, err := start()
	if err != nil {
		return err
	}
	if err := second.Wait(); err != nil {
		return fmt.Errorf("the second engine: %w", err)
	}
	ledger := srv.Ledger()
	fmt.Printf("sandbox:  %d Book requests, the first was refused, and %d order exists\n",
		ledger.Count(hotelstays.OpBook), len(ledger.Orders()))
	if len(ledger.Orders()) != 1 {
		return errors.New("the sandbox must have exactly one order")
	}
	return nil
}

// engine books, or continues the recovery of an earlier run.
func engine(ctx context.Context, file, city string) error {
	client, err := hotelstays.NewFromEnv()
	if err != nil {
		return err
	}
	var outcome *hotelstays.BookingOutcome
	stored, readErr := os.ReadFile(file)
	switch {
	case readErr == nil:
		var recovery hotelstays.BookingRecovery
		if err := json.Unmarshal(stored, &recovery); err != nil {
			return err
		}
		fmt.Println("engine:   continues, and looks for reference", recovery.CustomerReferenceNo)
		outcome, err = client.RecoverBooking(ctx, &recovery)
	case !errors.Is(readErr, fs.ErrNotExist): // the file may contain an unfinished booking, so do not book again
		return readErr
	default:
		var req *hotelstays.BookRequest
		if req, err = findOffer(ctx, client, city); err != nil {
			return err
		}
		fmt.Println("engine:   stores the recovery, then calls Book for reference", req.CustomerReferenceNo)
		outcome, err = client.BookAndRecover(ctx, req, hotelstays.WithSaveRecovery(
			func(_ context.Context, r *hotelstays.BookingRecovery) error { return store(file, r) }))
	}
	if err != nil {
		return err
	}
	switch outcome.State {
	case hotelstays.BookingFound:
		fmt.Println("engine:   found order", outcome.Order.PlatformReferenceNo)
		return nil
	case hotelstays.BookingAbsent:
		return errors.New("no order exists: check the offer again, then book under the same reference")
	default:
		return errors.New("nobody knows yet whether an order exists: do not book again, keep polling")
	}
}

// store writes a recovery atomically.
func store(file string, recovery *hotelstays.BookingRecovery) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), "new")
	if err != nil {
		return err
	}
	err = json.NewEncoder(tmp).Encode(recovery)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

// findOffer returns a request that books the city's first offer.
func findOffer(ctx context.Context, client *hotelstays.Client, city string) (*hotelstays.BookRequest, error) {
	list, err := client.HotelList(ctx, &hotelstays.HotelListRequest{
		DestinationName: city,
		CheckIn:         types.DateOf(time.Now().AddDate(0, 2, 0)),
		CheckOut:        types.DateOf(time.Now().AddDate(0, 2, 2)),
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
	})
	if err != nil {
		return nil, err
	}
	offer := list.List[0].Rooms[0].Rates[0]
	return &hotelstays.BookRequest{
		SessionID: list.Basic.SessionID, CustomerReferenceNo: uuid.NewString(), RatePkgID: offer.RatePkgID,
		Holder: types.Holder{FirstName: "Guest", LastName: "One"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}},
		Expect: &offer,
	}, nil
}
