// Bookingengine is a small booking engine: a web application that finds hotels, checks prices,
// books, follows an order live, serves its voucher and cancels it.
//
//	go run .
//
// The program uses a sandbox in this process, and a temporary database. The README says how to use a real service, and
// describes each file. With -lose-answer the sandbox makes the first order, cuts the connection, and hides the order
// for half a minute. The page then shows what a guest sees if the outcome of a booking is unknown.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

func main() {
	port := flag.String("port", "8090", "the `port` of 127.0.0.1 to listen on")
	db := flag.String("db", "", "the SQLite `file` of the bookings (default bookings.db)")
	loseAnswer := flag.Bool("lose-answer", false, "let the sandbox lose its answer to the first booking")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "unexpected argument %q; -help lists the flags\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *port, *db, *loseAnswer, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, "stopped:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. Then it closes in this order: pages, bookings, client, database, sandbox.
func run(ctx context.Context, port, file string, loseAnswer bool, log *slog.Logger) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)) // loopback only, because the site has no login
	if err != nil {
		return err
	}
	defer listener.Close()
	base := "http://" + listener.Addr().String()
	svc, err := findService(base, loseAnswer)
	if err != nil {
		return err
	}
	if svc.Sandbox != nil {
		defer svc.Sandbox.Close()
		if file != "" {
			return errors.New("-db needs a service that outlives this program: start the sandbox as another program, as the README shows")
		}
		dir, err := os.MkdirTemp("", "bookingengine")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		file = filepath.Join(dir, "bookings.db")
	}
	db, err := openDatabase(ctx, cmp.Or(file, "bookings.db"), log)
	if err != nil {
		return err
	}
	defer db.Close()
	engine, err := newEngine(svc, db, log)
	if err != nil {
		return err
	}
	defer engine.close()
	log.Info("open the booking engine in a browser", "address", base, "service", svc.BaseURL, "sandbox", svc.Sandbox != nil)
	return serve(ctx, listener, engine)
}

func serve(ctx context.Context, listener net.Listener, e *engine) error {
	server := &http.Server{
		Handler:           newSite(ctx, e),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute, // live pages extend their own deadline
		IdleTimeout:       2 * time.Minute,
	}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		ended <- errors.Join(server.Shutdown(grace), server.Close()) // after the grace, Close ends the requests that still run
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// eventsPath is the path that receives webhooks.
const eventsPath = "/hotel-events"

type service struct {
	BaseURL string
	Sandbox *hotelstaystest.Server // nil for a real service
	MayBook bool
	Cities  []string // cities that the search form suggests; a real engine takes them from WalkDestinations

	credential hotelstays.TicketCredential
	// journalKeys encrypt the bookings that wait for Book and the orders that the journal follows. Keep the keys when the process
	// restarts or the credential changes.
	journalKeys []types.Secret
	// callbackURL is the address to which the service sends the events of orders, signed with webhookSecret. It is
	// empty without webhooks.
	callbackURL   string
	webhookSecret types.Secret
	pause         time.Duration       // pause after which the journal looks for work again; 0 means the journal's default
	options       []hotelstays.Option // options of the client; without WithServiceFacts, pages show less about the status of an order
}

// findService returns the service that the environment variables name. Without these variables it starts a sandbox. If
// loseAnswer is true, the sandbox loses an answer to Book.
func findService(site string, loseAnswer bool) (*service, error) {
	base, key, secret := os.Getenv("HOTELSTAYS_BASE_URL"), os.Getenv("HOTELSTAYS_APP_KEY"), os.Getenv("HOTELSTAYS_APP_SECRET")
	callback, signed := os.Getenv("HOTELSTAYS_CALLBACK_URL"), os.Getenv("HOTELSTAYS_WEBHOOK_SECRET")
	if base+key+secret == "" {
		return startSandbox(site, loseAnswer)
	}
	keys, err := journalKeys(os.Getenv("HOTELSTAYS_JOURNAL_KEYS"))
	if err != nil {
		return nil, err
	}
	return &service{
		BaseURL: base, journalKeys: keys, MayBook: os.Getenv("HOTELSTAYS_ALLOW_BOOKING") == "1",
		credential:  hotelstays.TicketCredential{AppKey: key, AppSecret: types.NewSecret(secret)},
		callbackURL: callback, webhookSecret: types.NewSecret(signed),
	}, nil
}

// journalKeys reads hexadecimal keys, separated by commas. The first key encrypts. Every key can decrypt.
func journalKeys(text string) (keys []types.Secret, err error) {
	for key := range strings.SplitSeq(text, ",") {
		decoded, err := hex.DecodeString(strings.TrimSpace(key))
		if err != nil || len(decoded) != 32 {
			return nil, errors.New("set HOTELSTAYS_JOURNAL_KEYS to 64 hexadecimal digits, which you make once and keep: openssl rand -hex 32")
		}
		keys = append(keys, types.NewSecret(string(decoded)))
	}
	return keys, nil
}

// startSandbox starts a sandbox whose hotels confirm within seconds.
func startSandbox(site string, loseAnswer bool) (*service, error) {
	config := &hotelstaystest.Config{ConfirmAfter: 8 * time.Second, VoucherDelay: 2 * time.Second}
	if loseAnswer {
		config.ConfirmAfter, config.LateVisibility = time.Minute, 20*time.Second
	}
	srv, err := hotelstaystest.StartServer(config)
	if err != nil {
		return nil, err
	}
	if loseAnswer {
		srv.Inject(hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true})
	}
	return sandboxService(srv, site), nil
}

// sandboxService returns the service of a sandbox that sends webhooks to the site.
func sandboxService(srv *hotelstaystest.Server, site string) *service {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	svc := &service{
		BaseURL: srv.URL, Sandbox: srv, MayBook: true,
		credential:  hotelstays.TicketCredential{AppKey: srv.AppKey, AppSecret: types.NewSecret(srv.AppSecret)},
		journalKeys: []types.Secret{types.NewSecret(string(key))}, // a new random key, because no booking outlives this process
		callbackURL: site + eventsPath, webhookSecret: types.NewSecret(srv.WebhookSecret),
		options: []hotelstays.Option{hotelstays.WithServiceFacts(hotelstays.ServiceFacts{StatusMeanings: hotelstays.StatusMeanings{
			Confirmed: []types.OrderStatus{2}, Cancelled: []types.OrderStatus{3}, Pending: []types.OrderStatus{4}, // numbers of the sandbox
		}})},
	}
	for i := range srv.CityCount() {
		svc.Cities = append(svc.Cities, srv.CityName(i))
	}
	return svc
}
