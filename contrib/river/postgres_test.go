//go:build postgres

// Helpers of the tests with PostgreSQL. Each test has its own schema.
//
// A recovery takes ten minutes. Its times are plain data in the job, so a test lets time pass
// by moving them back.

package hotelstaysriver

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/hotelstaystest/chaostest"
	"github.com/hotelstays/hotelstays-go/types"
)

var databaseURL = os.Getenv("HOTELSTAYS_POSTGRES_URL")

// crash restarts PostgreSQL as after a crash.
var crash = chaostest.ShellCrash("HOTELSTAYS_POSTGRES_RESTART")

func TestMain(m *testing.M) {
	chaostest.Main(engine)
	if databaseURL == "" {
		fmt.Fprintln(os.Stderr,
			`HOTELSTAYS_POSTGRES_URL is not set; see the README`)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// patience bounds what a test waits for.
const patience = 30 * time.Second

// newSchema creates a schema with River's tables and the caller's, for one test.
func newSchema(t *testing.T) (schema string, pool *pgxpool.Pool) {
	t.Helper()
	schema = "t" + fmt.Sprint(time.Now().UnixNano())
	pool, err := openPool(t.Context(), schema, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		pool.Reset() // the server may have crashed meanwhile
		_, err := pool.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE")
		require.NoError(t, err)
		pool.Close()
	})
	_, err = pool.Exec(t.Context(), "CREATE SCHEMA "+schema)
	require.NoError(t, err)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: schema})
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `CREATE TABLE bookings (
		reference text PRIMARY KEY, state text NOT NULL DEFAULT 'pending', order_no text NOT NULL DEFAULT '', ended int NOT NULL DEFAULT 0)`)
	require.NoError(t, err)
	return schema, pool
}

func openPool(ctx context.Context, schema string, settings map[string]string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	maps.Copy(cfg.ConnConfig.RuntimeParams, settings)
	return pgxpool.NewWithConfig(ctx, cfg)
}

// world is a sandbox, a client of it, and a database.
type world struct {
	*hotelstaystest.Server
	*Bookings
	t      *testing.T
	client *hotelstays.Client
	pool   *pgxpool.Pool
	schema string
	offers []hotelstays.BookRequest // one of each hotel, without reference and guests
}

func newWorld(t *testing.T, change func(*Config), config ...hotelstaystest.Config) *world {
	t.Helper()
	c := append(config, hotelstaystest.Config{})[0]
	c.NoRateLimits = true
	w := &world{t: t, Server: hotelstaystest.NewServer(&c)}
	t.Cleanup(w.Close)
	var err error
	w.client, err = hotelstays.New(w.URL, hotelstays.TicketCredential{AppKey: w.AppKey, AppSecret: types.NewSecret(w.AppSecret)},
		hotelstays.WithHTTPClient(w.Client()))
	require.NoError(t, err)
	w.schema, w.pool = newSchema(t)
	cfg := Config{Client: w.client, Pool: w.pool, Keys: testKeys, Schema: w.schema, OnOutcome: storeRow, BookTimeout: time.Second}
	if change != nil {
		change(&cfg)
	}
	w.Bookings, err = New(cfg)
	require.NoError(t, err)
	w.offers = findOffers(t, w.client, w.CityName(0))
	return w
}

// reconnect gives the world a pool with changed settings.
func (w *world) reconnect(change func(*pgxpool.Config)) {
	w.t.Helper()
	cfg := w.pool.Config()
	change(cfg)
	pool, err := pgxpool.NewWithConfig(w.t.Context(), cfg)
	require.NoError(w.t, err)
	w.t.Cleanup(pool.Close)
	w.pool, w.cfg.Pool = pool, pool
	w.Bookings, err = New(w.cfg)
	require.NoError(w.t, err)
}

// storeRow is the caller's OnOutcome.
func storeRow(ctx context.Context, tx pgx.Tx, o *hotelstays.BookingOutcome) error {
	order := ""
	if o.Order != nil {
		order = o.Order.PlatformReferenceNo
	}
	reference := o.Recovery.CustomerReferenceNo
	tag, err := tx.Exec(ctx, `UPDATE bookings SET state = $2, order_no = $3, ended = ended + 1 WHERE reference = $1`,
		reference, string(durable.EndingOf(o)), order)
	if err == nil && tag.RowsAffected() != 1 {
		return fmt.Errorf("%d rows of reference %s", tag.RowsAffected(), reference)
	}
	return err
}

// end ends the job of a reference.
func (w *world) end(id int64, reference string, state hotelstays.BookingState) error {
	return w.finish(w.t.Context(), id, func(*lockedJob) *hotelstays.BookingOutcome {
		return &hotelstays.BookingOutcome{State: state, Recovery: &hotelstays.BookingRecovery{CustomerReferenceNo: reference}}
	})
}

// ended returns the recovery of a Book of the reference that has ended some time ago.
func (w *world) ended(reference string, ago time.Duration) *hotelstays.BookingRecovery {
	recovery := w.client.NewBookingRecovery(w.request(reference))
	recovery.EndedAt = time.Now().Add(-ago).UTC().Round(0)
	recovery.NextPoll = recovery.EndedAt
	return recovery
}

// handedOver hands over what the process of a job knows, with an unknown outcome.
func (w *world) handedOver(job *lockedJob, recovery *hotelstays.BookingRecovery) {
	w.t.Helper()
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(w.t, w.handOver(w.t.Context(), job, &hotelstays.BookingOutcome{Recovery: recovery}, nil), &unknown)
}

func findOffers(t *testing.T, client *hotelstays.Client, city string) (offers []hotelstays.BookRequest) {
	t.Helper()
	list, err := client.HotelList(t.Context(), &hotelstays.HotelListRequest{
		DestinationName: city, MaxRatesPerHotel: 1,
		CheckIn: types.DateOf(time.Now().AddDate(0, 2, 0)), CheckOut: types.DateOf(time.Now().AddDate(0, 2, 2)),
		RoomOccupancies: []types.GuestPerRoom{{AdultCount: 1}},
	})
	require.NoError(t, err)
	for _, hotel := range list.List {
		if len(hotel.Rooms) > 0 && len(hotel.Rooms[0].Rates) > 0 {
			rate := hotel.Rooms[0].Rates[0]
			offers = append(offers, hotelstays.BookRequest{SessionID: list.Basic.SessionID, RatePkgID: rate.RatePkgID, Expect: &rate})
		}
	}
	require.NotEmpty(t, offers)
	return offers
}

// request books the first offer under a reference. Each reference has its own guests.
func (w *world) request(reference string) *hotelstays.BookRequest {
	return requestOf(w.offers[0], reference)
}

func requestOf(offer hotelstays.BookRequest, reference string) *hotelstays.BookRequest {
	offer.CustomerReferenceNo = reference
	name := strings.ToUpper(reference)
	offer.Holder = types.Holder{FirstName: "Guest", LastName: name}
	offer.Guests = []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: name}}
	return &offer
}

// begin commits a booking's row and job.
func (w *world) begin(req *hotelstays.BookRequest) {
	w.t.Helper()
	require.NoError(w.t, pgx.BeginFunc(w.t.Context(), w.pool, func(tx pgx.Tx) error {
		if err := w.BeginTx(w.t.Context(), tx, req); err != nil {
			return err
		}
		_, err := tx.Exec(w.t.Context(), `INSERT INTO bookings (reference) VALUES ($1)
			ON CONFLICT (reference) DO UPDATE SET state = 'pending'`, req.CustomerReferenceNo)
		return err
	}))
}

// workers starts a River client, like that of another process.
func (w *world) workers(opts ...func(*river.Config)) *river.Client[pgx.Tx] {
	w.t.Helper()
	cfg := &river.Config{Schema: w.schema, TestOnly: true, FetchPollInterval: 50 * time.Millisecond, FetchCooldown: 20 * time.Millisecond}
	require.NoError(w.t, w.Configure(cfg))
	for _, opt := range opts {
		opt(cfg)
	}
	client, err := river.NewClient(riverpgxv5.New(w.pool), cfg)
	require.NoError(w.t, err)
	require.NoError(w.t, client.Start(context.Background()))
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(w.t, client.StopAndCancel(ctx))
	})
	return client
}

// pass lets time pass for sleeping jobs, and makes due ones available, as River's scheduler
// would do within five seconds.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	require.NoError(w.t, passTime(w.t.Context(), w.pool, d, "true"))
}

// passTime moves the times of sleeping jobs that meet a condition.
func passTime(ctx context.Context, pool *pgxpool.Pool, d time.Duration, condition string) error {
	_, err := pool.Exec(ctx, `UPDATE river_job SET
			scheduled_at = scheduled_at - $1::interval,
			state = CASE WHEN scheduled_at - $1::interval <= now() THEN 'available' ELSE state END,
			args = args || jsonb_strip_nulls(jsonb_build_object('bookBy', (args ->> 'bookBy')::timestamptz - $1::interval,
					'earlier', (args ->> 'earlier')::timestamptz - $1::interval))
				|| jsonb_build_object('recovery', args -> 'recovery' || jsonb_strip_nulls(jsonb_build_object(
					'endedAt', (args #>> '{recovery,endedAt}')::timestamptz - $1::interval,
					'nextPoll', (args #>> '{recovery,nextPoll}')::timestamptz - $1::interval)))
		WHERE state IN ('available', 'scheduled', 'retryable') AND `+condition, d)
	return err
}

// fetch takes the live job of a reference for a worker, as River does.
func (w *world) fetch(reference string) *river.Job[jobArgs] {
	w.t.Helper()
	job := &river.Job[jobArgs]{JobRow: &rivertype.JobRow{Attempt: 1}}
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), `UPDATE river_job SET state = 'running', attempted_at = now()
		WHERE args ->> 'reference' = $1 AND finalized_at IS NULL RETURNING id, attempted_at, args`, reference).
		Scan(&job.ID, &job.AttemptedAt, &job.Args))
	return job
}

// staysOpen lets workers continue a booking whose order appears eight minutes after a Book that
// has ended just now. If one sends it, it is refused.
func (w *world) staysOpen(reference string) {
	w.t.Helper()
	w.Inject(bookRefused)
	before := w.row(reference).Ended
	_, err := w.pool.Exec(w.t.Context(), `UPDATE river_job SET state = 'available', scheduled_at = now() WHERE finalized_at IS NULL`)
	require.NoError(w.t, err)
	w.workers()
	polls := w.Ledger().Count(hotelstays.OpQueryOrders)
	for range 5 {
		w.pass(time.Minute)
		w.eventually("polled", func() bool {
			j := w.job(reference)
			return w.Ledger().Count(hotelstays.OpQueryOrders) > polls && j.State != "running" && j.State != "available"
		})
	}
	assert.Equal(w.t, before, w.row(reference).Ended, "five minutes after Book nothing is proven")
	w.Advance(8 * time.Minute)
	w.hasState(reference, durable.EndingFound, time.Minute)
	assert.Equal(w.t, before+1, w.row(reference).Ended)
}

// row is a row of the caller's table.
type row struct {
	State, Order string
	Ended        int
}

func (w *world) row(reference string) (r row) {
	w.t.Helper()
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), `SELECT state, order_no, ended FROM bookings WHERE reference = $1`, reference).
		Scan(&r.State, &r.Order, &r.Ended))
	return r
}

// job is the latest job of a reference, from River's table.
type job struct {
	State   string
	Attempt int
	Errors  int
	Args    jobArgs
}

func (w *world) job(reference string) (j job) {
	w.t.Helper()
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), `SELECT state::text, attempt, coalesce(cardinality(errors), 0), args
		FROM river_job WHERE args ->> 'reference' = $1 ORDER BY id DESC LIMIT 1`, reference).Scan(&j.State, &j.Attempt, &j.Errors, &j.Args))
	return j
}

// asleep reports whether the only job is not due.
func (w *world) asleep() (asleep bool) {
	w.t.Helper()
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), `SELECT scheduled_at > now() FROM river_job`).Scan(&asleep))
	return asleep
}

func (w *world) eventually(what string, condition func() bool) {
	w.t.Helper()
	require.Eventually(w.t, condition, patience, 20*time.Millisecond, what)
}

// hasState waits until the caller's row has a state, and lets time pass in steps.
func (w *world) hasState(reference string, end durable.Ending, step time.Duration) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%s is %s", reference, end), func() bool {
		if w.row(reference).State == string(end) {
			return true
		}
		if step > 0 {
			w.pass(step)
		}
		return false
	})
}

var (
	bookLost    = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut}
	bookMade    = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultCut, Commit: true}
	bookRefused = hotelstaystest.Fault{Operation: hotelstays.OpBook, Kind: hotelstaystest.FaultStatus, Status: 200,
		Code: types.CodeRateChanged}
	noPoll = hotelstaystest.Fault{Operation: hotelstays.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 200,
		Code: 100009999, Times: -1}
)

// bookUnknown makes a booking with an unknown outcome: no answer comes, and the polls fail.
func (w *world) bookUnknown(reference string, fault hotelstaystest.Fault) {
	w.t.Helper()
	w.begin(w.request(reference))
	w.Inject(fault)
	w.Inject(noPoll)
	defer w.ClearFaults()
	outcome, err := w.Send(w.t.Context(), reference)
	var unknown *hotelstays.OutcomeUnknownError
	require.ErrorAs(w.t, err, &unknown)
	require.Nil(w.t, outcome)
	require.Equal(w.t, reference, unknown.CustomerReferenceNo)
	require.Equal(w.t, row{State: "pending"}, w.row(reference))
}
