package hotelstaysriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

var testKeys = []types.Secret{types.NewSecret("a key of thirty-two random bytes")}

// unconnected returns Bookings that can reach neither a service nor a database.
func unconnected(t *testing.T) *Bookings {
	t.Helper()
	b, err := New(unconnectedConfig(t))
	require.NoError(t, err)
	return b
}

func unconnectedConfig(t *testing.T) Options {
	t.Helper()
	client, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token")})
	require.NoError(t, err)
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return Options{Pool: pool, Options: durable.Options[pgx.Tx]{Client: client, Keys: testKeys,
		OnOutcome: func(context.Context, pgx.Tx, *hotelstays.BookingOutcome) error { return nil }}}
}

func jobOf(t *testing.T, attempt int, a args) *river.Job[bookingJob] {
	t.Helper()
	text, err := json.Marshal(a)
	require.NoError(t, err)
	return &river.Job[bookingJob]{JobRow: &rivertype.JobRow{Attempt: attempt, Kind: a.Kind(), EncodedArgs: text}}
}

func argsOf(t *testing.T, b *Bookings, booking durable.Booking) args {
	t.Helper()
	state, err := json.Marshal(booking)
	require.NoError(t, err)
	return b.store.args(&durable.Row{State: state,
		ID: durable.ID{Account: booking.Account(), Kind: durable.KindBooking, Reference: booking.Recovery.CustomerReferenceNo}})
}

func TestNewNamesEveryInvalidField(t *testing.T) {
	_, err := New(Options{Options: durable.Options[pgx.Tx]{BookTimeout: -1, MaxWorkers: river.QueueNumWorkersMax + 1}})
	for _, field := range []string{"client", "Pool", "key", "OnOutcome", "BookTimeout", "MaxWorkers"} {
		assert.ErrorContains(t, err, field)
	}
	cfg := unconnectedConfig(t)
	cfg.Schema = strings.Repeat("s", 100)
	_, err = New(cfg)
	assert.ErrorContains(t, err, "chema")
}

func TestConfigureDividesTheWorkersAmongTheQueues(t *testing.T) {
	b := unconnected(t)
	cfg := &river.Config{}
	require.NoError(t, b.Configure(cfg))
	assert.Equal(t, defaultRescueAfter, cfg.RescueStuckJobsAfter)
	assert.Equal(t, river.QueueConfig{MaxWorkers: defaultMaxWorkers}, cfg.Queues[defaultQueue])
	taken := &river.Config{Queues: map[string]river.QueueConfig{defaultQueue: {MaxWorkers: 1}}}
	assert.ErrorContains(t, b.Configure(taken), "set another Options.Queue")

	all := unconnectedConfig(t)
	all.OnCancel = func(context.Context, pgx.Tx, *durable.Cancellation) error { return nil }
	all.OnOrder = func(context.Context, pgx.Tx, *durable.OrderChange) error { return nil }
	for maxWorkers, want := range map[int]struct{ total, least int }{0: {defaultMaxWorkers, 2}, 100: {100, 20}, 2: {6, 2}, 1: {3, 1}} {
		all.MaxWorkers = maxWorkers
		b, err := New(all)
		require.NoError(t, err)
		cfg = &river.Config{}
		require.NoError(t, b.Configure(cfg))
		total, least := 0, river.QueueNumWorkersMax
		for _, queue := range cfg.Queues {
			total, least = total+queue.MaxWorkers, min(least, queue.MaxWorkers)
		}
		assert.Len(t, cfg.Queues, 3)
		assert.Equal(t, want.total, total)
		assert.Equal(t, want.least, least, "a queue needs a second worker, because a hanging function blocks one")
	}

	for after, cfg := range map[time.Duration]river.Config{ // Configure keeps the settings of the caller
		time.Hour: {RescueStuckJobsAfter: time.Hour}, time.Hour + time.Minute: {JobTimeout: time.Hour},
	} {
		require.NoError(t, b.Configure(&cfg))
		assert.Equal(t, after, cfg.RescueStuckJobsAfter)
	}
	assert.ErrorContains(t, b.Configure(&river.Config{RescueStuckJobsAfter: time.Second}), "at least 1m0s")
	assert.ErrorContains(t, b.Configure(&river.Config{Schema: "other"}), "must be the same")
}

func TestBeginTxAndCancelTxRefuseInvalidRequests(t *testing.T) {
	b := unconnected(t)
	for name, req := range map[string]*hotelstays.BookRequest{
		"request: is nil":     nil,
		"customerReferenceNo": request(""),
		"character NUL":       request("ref\x00"),
		"tx is nil":           request("ref-1"),
	} {
		assert.ErrorContains(t, b.BeginTx(t.Context(), nil, req), name)
	}
	require.ErrorContains(t, b.CancelTx(t.Context(), nil, durable.CancelOrder{}), "OnCancel")
	cfg := unconnectedConfig(t)
	cfg.OnCancel = func(context.Context, pgx.Tx, *durable.Cancellation) error { return nil }
	b, err := New(cfg)
	require.NoError(t, err)
	require.ErrorContains(t, b.CancelTx(t.Context(), nil, durable.CancelOrder{CustomerReferenceNo: "ref-1"}), "tx is nil")
	require.ErrorContains(t, b.CancelTx(t.Context(), nil, durable.CancelOrder{CustomerReferenceNo: "ref\x00"}), "character NUL")
}

func request(reference string) *hotelstays.BookRequest {
	return &hotelstays.BookRequest{SessionID: "session", RatePkgID: "offer", CustomerReferenceNo: reference,
		Holder: types.Holder{FirstName: "Holder", LastName: "Family"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "Family", PassportNumber: types.NewSecret("P1234567")}}}
}

func TestNoBookIsSentWhileTheDatabaseIsUnavailable(t *testing.T) {
	b := unconnected(t)
	for _, send := range []func() (*hotelstays.BookingOutcome, error){
		func() (*hotelstays.BookingOutcome, error) { return b.Send(t.Context(), "ref-1") },
		func() (*hotelstays.BookingOutcome, error) { return b.Book(t.Context(), request("ref-1")) },
	} {
		outcome, err := send()
		assert.Nil(t, outcome)
		assert.ErrorContains(t, err, "nothing was sent")
	}
	assert.ErrorContains(t, b.Wake(t.Context(), "ref-1"), `reference "ref-1"`)
}

func TestPausesAfterFailuresDoubleUpToFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for attempt, pause := range map[int]time.Duration{
			0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 9: 256 * time.Second,
			10: 5 * time.Minute, countedFailures: 5 * time.Minute, 1 << 15: 5 * time.Minute,
		} {
			job := &river.Job[bookingJob]{JobRow: &rivertype.JobRow{Attempt: attempt}}
			assert.Equal(t, time.Now().Add(pause), (&worker[bookingJob]{}).NextRetry(job), "attempt %d", attempt)
		}
	})
}

// River rescues a job after the job's timeout. A job that sends Book may run as long as Book.
func TestTimeoutOfASendingJobIsLongerThanBook(t *testing.T) {
	b := unconnected(t)
	booking := durable.Booking{Recovery: *b.cfg.Client.NewBookingRecovery(request("ref-1"))}
	timeout := func() time.Duration {
		return (&worker[bookingJob]{b: b, kind: durable.KindBooking}).Timeout(jobOf(t, 1, argsOf(t, b, booking)))
	}
	assert.Greater(t, timeout(), 2*time.Minute)
	booking.BookBy = time.Now()
	assert.LessOrEqual(t, timeout(), workTimeout)
}

// River discards a job after its last attempt, whether the job failed or its process died. So failures use up only some
// attempts, and the other attempts remain for dead processes.
func TestFailuresUseUpOnlySomeAttemptsOfAJob(t *testing.T) {
	b := unconnected(t)
	for attempt, counted := range map[int]bool{1: true, countedFailures - 1: true, countedFailures: false, 30000: false} {
		// A job of another account fails before any use of the database.
		job := jobOf(t, attempt, args{Reference: "ref-1", Account: "another", kind: durable.KindBooking, state: []byte("{}")})
		err := (&worker[bookingJob]{b: b, kind: durable.KindBooking}).Work(t.Context(), job)
		if counted {
			assert.ErrorContains(t, err, "Options.Queue")
		}
		assert.Equal(t, !counted, errors.As(err, new(*river.JobSnoozeError)), "attempt %d: %v", attempt, err)
	}
	given := errors.New("given up")
	for _, asked := range []error{river.JobSnooze(time.Hour), river.JobCancel(given)} { // OnOutcome may return these errors of River
		assert.Equal(t, asked, b.failed(t.Context(), &rivertype.JobRow{Attempt: countedFailures}, &durable.Row{}, asked))
	}
}

// River stores error texts, and the text of a panic may contain anything, such as a request with its token.
func TestTextOfAPanicIsNeitherStoredNorLogged(t *testing.T) {
	var log strings.Builder
	cfg := unconnectedConfig(t)
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	var err error
	cfg.Client, err = hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token-1")},
		hotelstays.WithHTTPClient(&http.Client{Transport: panicking{}}))
	require.NoError(t, err)
	b, err := New(cfg)
	require.NoError(t, err)
	recovery := cfg.Client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref-1"})
	args := argsOf(t, b, durable.Booking{BookBy: time.Now().Add(-time.Hour), Recovery: *recovery})
	for _, attempt := range []int{1, countedFailures} {
		err = (&worker[bookingJob]{b: b, kind: durable.KindBooking}).Work(t.Context(), jobOf(t, attempt, args))
		assert.Equal(t, attempt == countedFailures, errors.As(err, new(*river.JobSnoozeError)))
		assert.NotContains(t, err.Error(), "token-1")
	}
	assert.Contains(t, log.String(), "panicking.RoundTrip", "the stack")
	assert.NotContains(t, log.String(), "token-1")
}

type panicking struct{}

func (panicking) RoundTrip(r *http.Request) (*http.Response, error) { panic(fmt.Sprint(r.Header)) }
