// Recovery books a hotel, is killed during Book, starts again and finds its order.
//
//	go run ./examples/recovery
//
// There are three processes: this one, the director; a sandbox, which makes the order at once
// but answers Book a minute later; and a booking engine, which is killed in that minute. The
// engine has stored its recovery on disk before Book.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func main() {
	role := direct
	if len(os.Args) > 1 {
		role = map[string]func() error{"sandbox": sandbox, "engine": engine}[os.Args[1]]
	}
	if role == nil {
		role = func() error { return fmt.Errorf("unexpected argument %q: it takes none", os.Args[1]) }
	}
	if err := role(); err != nil {
		fmt.Fprintln(os.Stderr, "stopped:", err)
		os.Exit(1)
	}
}

// direct starts the sandbox and the engine, kills the engine and starts it again.
func direct() error {
	dir, err := os.MkdirTemp("", "recovery")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	service, err := start("sandbox")
	if err != nil {
		return err
	}
	defer service.cmd.Process.Kill()
	address := service.line()
	fmt.Println("sandbox:  refuses the first Book with a 429, makes the order on the second, and answers it a minute late")

	first, err := start("engine", dir, address)
	if err != nil {
		return err
	}
	if service.line() != "committed" { // the order exists, its answer is not sent
		return errors.New("the engine did not book")
	}
	if err := first.cmd.Process.Kill(); err != nil {
		return err
	}
	first.cmd.Wait()
	fmt.Println("director: killed the engine while it was waiting for Book")

	second, err := start("engine", dir, address)
	if err != nil {
		return err
	}
	if err := second.cmd.Wait(); err != nil {
		return fmt.Errorf("the second engine: %w", err)
	}
	service.in.Close() // the sandbox prints its ledger and ends
	fmt.Println("sandbox: ", service.line())
	return service.cmd.Wait()
}

// process runs this program again.
type process struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Scanner // nil: it writes to the terminal
}

func start(args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, args...)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if args[0] == "engine" {
		p.cmd.Stdout = os.Stdout
		return p, p.cmd.Start()
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	return p, p.cmd.Start()
}

func (p *process) line() string {
	p.out.Scan()
	return p.out.Text()
}

type address struct{ URL, AppKey, AppSecret, City string }

// sandbox serves until its input ends, then prints its ledger. The first Book is refused, the
// second is answered a minute late, and the first poll fails.
func sandbox() error {
	srv := hotelstaystest.NewServer(nil)
	defer srv.Close()
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: 429, RetryAfter: "1"})
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultDelay, Delay: time.Minute, Commit: true})
	srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultCut})
	json.NewEncoder(os.Stdout).Encode(address{srv.URL, srv.AppKey, srv.AppSecret, srv.CityName(0)})

	go func() {
		for len(srv.Ledger().Orders()) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Println("committed")
	}()
	io.Copy(io.Discard, os.Stdin)

	ledger := srv.Ledger()
	fmt.Printf("%d Book requests, the first was refused, and %d order exists\n", ledger.Count(hotelstays.OpBook), len(ledger.Orders()))
	if len(ledger.Orders()) != 1 {
		return errors.New("there should be one order")
	}
	return nil
}

// engine books, or continues the recovery of an earlier run.
func engine() error {
	if len(os.Args) != 4 {
		return errors.New("usage: recovery engine DIR ADDRESS")
	}
	var a address
	if err := json.Unmarshal([]byte(os.Args[3]), &a); err != nil {
		return err
	}
	client, err := hotelstays.New(a.URL, hotelstays.TicketCredential{AppKey: a.AppKey, AppSecret: types.NewSecret(a.AppSecret)})
	if err != nil {
		return err
	}
	ctx, file := context.Background(), filepath.Join(os.Args[2], "recovery.json")

	if stored, err := os.ReadFile(file); err == nil {
		return resume(ctx, client, stored)
	}
	return book(ctx, client, a.City, file)
}

// book stores the recovery, then books.
func book(ctx context.Context, client *hotelstays.Client, city, file string) error {
	req, err := findOffer(ctx, client, city)
	if err != nil {
		return err
	}
	stored, err := json.Marshal(client.NewBookingRecovery(req))
	if err != nil {
		return err
	}
	if err := store(file, stored); err != nil {
		return err
	}
	fmt.Println("engine:   stored the recovery, calls Book for reference", req.CustomerReferenceNo)
	resp, err := client.Book(ctx, req)
	var unknown *hotelstays.OutcomeUnknownError
	switch {
	case errors.As(err, &unknown): // the same as after a restart
		return resume(ctx, client, stored)
	case err != nil:
		return err
	}
	fmt.Println("engine:   booked", resp.HotelOrder.PlatformReferenceNo)
	return nil
}

// resume finds out what happened to a booking.
func resume(ctx context.Context, client *hotelstays.Client, stored []byte) error {
	var recovery hotelstays.BookingRecovery
	if err := json.Unmarshal(stored, &recovery); err != nil {
		return err
	}
	fmt.Println("engine:   continues, and looks for reference", recovery.CustomerReferenceNo)
	outcome, err := client.RecoverBooking(ctx, &recovery)
	if err != nil {
		return err
	}
	switch outcome.State {
	case hotelstays.BookingFound:
		fmt.Println("engine:   found order", outcome.Order.PlatformReferenceNo)
		return nil
	case hotelstays.BookingAbsent:
		return errors.New("there is no order: check the offer again, then book under the same reference")
	default:
		return errors.New("the order is unverified: do not book again, keep polling")
	}
}

// store writes a file atomically.
func store(file string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), "new")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

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
	for _, hotel := range list.List {
		for _, room := range hotel.Rooms {
			for _, rate := range room.Rates {
				return &hotelstays.BookRequest{
					SessionID:           list.Basic.SessionID,
					CustomerReferenceNo: "example-" + time.Now().UTC().Format("20060102150405"),
					RatePkgID:           rate.RatePkgID,
					Holder:              types.Holder{FirstName: "Guest", LastName: "One"},
					Guests:              []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "One"}},
					Expect:              &rate,
				}, nil
			}
		}
	}
	return nil, errors.New("no hotel has an offer")
}
