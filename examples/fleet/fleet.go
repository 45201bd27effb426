// The test of the fleet: the sandbox, the workers that are killed, and the verdict.

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql"
	"github.com/hotelstays/hotelstays-go/contrib/hotelstayssql/journaltest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
)

// restartVariable holds a shell command that crashes PostgreSQL and starts it again, as
// .ci/services does. If the variable is empty, PostgreSQL does not crash.
const restartVariable = "HOTELSTAYS_POSTGRES_RESTART"

// run starts the sandbox and the workers, and prints the verdict. A bad verdict is an error.
func run(ctx context.Context, o options, out io.Writer) error {
	began, seed, workers := time.Now(), mathrand.Uint64(), make(balancer, o.workers)
	sandbox := chaostest.Config(seed)
	sandbox.ConfirmAfter, sandbox.Webhooks.CallbackHandler, sandbox.NoRateLimits = 2*time.Second, workers.handler(), o.redis == ""
	srv := hotelstaystest.NewServer(sandbox)
	defer srv.Close()
	chaostest.Inject(srv)
	srv.Inject(hotelstaystest.Fault{Operation: hotelstaystest.OpWebhook, Kind: hotelstaystest.FaultDuplicate, Probability: 0.3, Times: -1})

	cfg := config{URL: srv.URL, City: srv.CityName(0), AppKey: srv.AppKey, AppSecret: srv.AppSecret, WebhookSecret: srv.WebhookSecret,
		Key: make([]byte, 32), Redis: o.redis}
	_, _ = rand.Read(cfg.Key) // never fails
	db, drop, err := createDatabase(ctx, o, &cfg)
	if err != nil {
		return err
	}
	defer drop()

	started, said := 0, time.Now()
	var fleet chaostest.Fleet
	fleet = chaostest.Fleet{
		Bookings: o.bookings, Processes: o.workers, Kills: o.kills, Seed: seed, Grace: 2 * grace,
		Start: func(i int) (*chaostest.Process, error) {
			started++
			return workers.start(i, cfg)
		},
		Ended: func(ctx context.Context) (ended int, err error) {
			var events int
			err = db.QueryRowContext(ctx, `SELECT COUNT(*), (SELECT COUNT(DISTINCT id) FROM events) FROM bookings
				WHERE state = 'found' OR state = 'absent' AND rounds >= $1`, maxRounds).Scan(&ended, &events)
			if events < 3*len(srv.Ledger().Orders()) { // three events for each order: created, paid and modified
				ended-- // the run must not end before all webhooks have arrived
			}
			if err == nil && time.Since(said) >= 5*time.Second {
				said = time.Now()
				fleet.Logf("%d of %d bookings have ended, with %d events", ended, o.bookings, events)
			}
			return ended, err
		},
		Hurry: func(ctx context.Context, d time.Duration) { // errors do not matter, because the database may be restarting
			_ = journaltest.PassTime(ctx, db, cfg.Dialect, d, journaltest.PollsOnly)
		},
		Logf: func(format string, args ...any) {
			fmt.Fprintf(out, "%5.1f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
		},
	}
	if o.postgres != "" && os.Getenv(restartVariable) != "" {
		fleet.Crashes = append(fleet.Crashes, chaostest.ShellCrash(restartVariable))
	}
	if err := fleet.Survive(ctx); err != nil {
		return err
	}
	fleet.Logf("all bookings have ended, and the workers have stopped in order")
	return judge(ctx, out, o, srv.Ledger(), db, started)
}

// balancer holds the address of each worker that has started.
type balancer []atomic.Pointer[url.URL]

// handler sends each webhook to a random worker.
func (b balancer) handler() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(cmp.Or(b[mathrand.IntN(len(b))].Load(), b[0].Load()))
		},
		Transport: &http.Transport{DisableKeepAlives: true},
		ErrorLog:  log.New(io.Discard, "", 0), // no log: errors are expected when workers are killed, and the sandbox delivers again
	}
}

// start returns when the worker is ready for webhooks.
func (b balancer) start(i int, cfg config) (*chaostest.Process, error) {
	p, err := chaostest.Start(cfg)
	if err != nil {
		return nil, err
	}
	address, err := p.Line()
	if err != nil {
		return nil, fmt.Errorf("worker %d did not start: %w", i, cmp.Or(p.Wait(), err))
	}
	b[i].Store(&url.URL{Scheme: "http", Host: address})
	return p, nil
}

// createDatabase creates a SQLite file, or a schema in PostgreSQL. It inserts one row for each booking that the workers
// must make.
func createDatabase(ctx context.Context, o options, cfg *config) (db *sql.DB, drop func(), err error) {
	var remove func()
	if o.postgres == "" {
		dir, err := os.MkdirTemp("", "fleet")
		if err != nil {
			return nil, nil, err
		}
		cfg.Dialect, cfg.DSN = hotelstayssql.SQLite, filepath.Join(dir, "fleet.db")
		remove = func() { _ = os.RemoveAll(dir) }
	} else if remove, err = createSchema(ctx, o.postgres, cfg); err != nil {
		return nil, nil, err
	}
	db, err = openDatabase(ctx, *cfg, &hotelstayssql.OpenOptions{Migrate: true})
	if err != nil {
		remove()
		return nil, nil, err
	}
	drop = func() {
		_ = db.Close()
		remove()
	}
	_, err = db.ExecContext(ctx, tables)
	if err == nil {
		_, err = db.ExecContext(ctx, `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1)
			INSERT INTO bookings (reference) SELECT 'fleet-' || n FROM numbers`, o.bookings)
	}
	if err != nil {
		drop()
	}
	return db, drop, err
}

func createSchema(ctx context.Context, address string, cfg *config) (remove func(), err error) {
	server, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("-postgres is not a URL") // the text of err would contain the password
	}
	db, err := sql.Open(drivers[hotelstayssql.PostgreSQL], address)
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(0) // no idle connections, because they would not survive a crash of the server
	schema, query := "fleet_"+strings.ToLower(rand.Text()), server.Query()
	query.Set("search_path", schema)
	server.RawQuery = query.Encode()
	cfg.Dialect, cfg.DSN = hotelstayssql.PostgreSQL, server.String()
	if _, err := db.ExecContext(ctx, "CREATE SCHEMA "+schema); err != nil {
		_ = db.Close()
		return nil, err
	}
	return func() {
		_, _ = db.Exec("DROP SCHEMA " + schema + " CASCADE")
		_ = db.Close()
	}, nil
}

// judge compares the workers' tables with the ledger, and prints the verdict. A bad verdict is an error.
func judge(ctx context.Context, out io.Writer, o options, ledger *hotelstaystest.Ledger, db *sql.DB, processes int) error {
	begun, outcomes, err := readOutcomes(ctx, db)
	if err != nil {
		return err
	}
	var handled, distinct, deliveries int
	if err := db.QueryRowContext(ctx, `SELECT COUNT(id), COUNT(DISTINCT id) FROM events`).Scan(&handled, &distinct); err != nil {
		return err
	}
	events := ledger.Webhooks()
	for _, e := range events {
		deliveries += len(e.Attempts)
	}
	orders := len(ledger.Orders())
	fmt.Fprintf(out, "\nbookings  %d of %d made; %d rounds without an order\n", orders, o.bookings, len(outcomes)-orders)
	fmt.Fprintf(out, "tokens    %d, for %d processes\n", ledger.TicketsIssued(), processes)
	fmt.Fprintf(out, "webhooks  %d events in %d deliveries; %d handled, %d twice\n", len(events), deliveries, distinct, handled-distinct)
	if searches := ledger.Requests(hotelstays.OpHotelList); o.redis != "" {
		lasted := searches[len(searches)-1].Arrived.Sub(searches[0].Arrived)
		fmt.Fprintf(out, "limits    %d calls refused (429); %.0f searches a second, the limit is %d\n",
			ledger.RateLimited(""), float64(len(searches))/lasted.Seconds(), hotelstays.OpHotelList.RateLimit())
	}

	problems := chaostest.Check(ledger, begun, outcomes)
	if distinct != len(events) || handled != len(events) {
		problems = errors.Join(problems, errors.New("events were lost, or handled twice"))
	}
	if ledger.TicketsIssued() != 1 || ledger.RateLimited("") != 0 {
		problems = errors.Join(problems, errors.New("the token or the rate limits were not shared"))
	}
	if problems != nil {
		return fmt.Errorf("the verdict is bad:\n%w", problems)
	}
	fmt.Fprintln(out, "verdict   good: nothing lost, nothing twice")
	return nil
}

// readOutcomes returns how many rounds of each booking were begun, and the stored outcomes, oldest first.
func readOutcomes(ctx context.Context, db *sql.DB) (begun map[string]int, all []chaostest.Outcome, err error) {
	begun = map[string]int{}
	rows, err := db.QueryContext(ctx, `SELECT reference, rounds, COALESCE(round, 0), COALESCE(outcomes.order_no, ''), COALESCE(at, 0)
		FROM bookings LEFT JOIN outcomes USING (reference) ORDER BY at`)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var o chaostest.Outcome
		var rounds int
		var at int64
		if err := rows.Scan(&o.Reference, &rounds, &o.Round, &o.OrderNo, &at); err != nil {
			return nil, nil, err
		}
		begun[o.Reference] = rounds
		if o.At = time.UnixMicro(at); o.Round > 0 {
			all = append(all, o)
		}
	}
	return begun, all, rows.Err()
}
