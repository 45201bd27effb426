// What needs no database: configuration, the job's arguments, endings, pauses.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/hotelstays/hotelstays-go/types"
)

// unconnected are Bookings whose service and database are not there.
func unconnected(t *testing.T) *Bookings {
	t.Helper()
	b, err := New(unconnectedConfig(t))
	require.NoError(t, err)
	return b
}

func unconnectedConfig(t *testing.T) Config {
	t.Helper()
	client, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token")})
	require.NoError(t, err)
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return Config{Client: client, Pool: pool, OnEnd: func(context.Context, pgx.Tx, *Ending) error { return nil }}
}

func TestNewNamesAllFaultsAtOnce(t *testing.T) {
	_, err := New(Config{BookTimeout: -1, MaxWorkers: -1})
	for _, field := range []string{"Client", "Pool", "OnEnd", "BookTimeout", "MaxWorkers"} {
		assert.ErrorContains(t, err, "Config."+field+" ")
	}
}

func TestDefaults(t *testing.T) {
	b := unconnected(t)
	assert.Equal(t, DefaultQueue, b.cfg.Queue)
	assert.Equal(t, DefaultBookTimeout, b.cfg.BookTimeout)
	assert.Equal(t, DefaultMaxWorkers, b.cfg.MaxWorkers)
}

func TestConfigure(t *testing.T) {
	b := unconnected(t)
	cfg := &river.Config{}
	require.NoError(t, b.Configure(cfg))
	assert.Equal(t, DefaultRescueAfter, cfg.RescueStuckJobsAfter)
	assert.Equal(t, river.QueueConfig{MaxWorkers: DefaultMaxWorkers}, cfg.Queues[DefaultQueue])
	assert.Error(t, b.Configure(cfg), "the queue is there already")

	for name, tc := range map[string]struct {
		before, after river.Config
	}{
		"a bound of the caller's":       {river.Config{RescueStuckJobsAfter: time.Hour}, river.Config{RescueStuckJobsAfter: time.Hour}},
		"a job timeout of the caller's": {river.Config{JobTimeout: time.Hour}, river.Config{RescueStuckJobsAfter: time.Hour + time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := tc.before
			require.NoError(t, b.Configure(&cfg))
			assert.Equal(t, tc.after.RescueStuckJobsAfter, cfg.RescueStuckJobsAfter)
		})
	}
	assert.ErrorContains(t, b.Configure(&river.Config{RescueStuckJobsAfter: time.Second}), "at least 1m0s")
	assert.ErrorContains(t, b.Configure(&river.Config{Schema: "other"}), "must be the same")
}

func TestRecoveriesThatCannotBeAskedFor(t *testing.T) {
	b := unconnected(t)
	for name, recovery := range map[string]*hotelstays.BookingRecovery{
		"is nil":                            nil,
		"customerReferenceNo is required":   {Fingerprint: b.account},
		"of another environment or account": {CustomerReferenceNo: "ref-1", Fingerprint: "another"},
	} {
		assert.ErrorContains(t, b.EnqueueTx(t.Context(), nil, recovery), name)
	}
}

func TestBookNeedsAReference(t *testing.T) {
	b := unconnected(t)
	for _, req := range []*hotelstays.BookRequest{nil, {}} {
		_, err := b.Book(t.Context(), req)
		assert.ErrorContains(t, err, "customerReferenceNo")
	}
}

func TestNoDatabaseMeansNothingIsSent(t *testing.T) {
	b := unconnected(t)
	ending, err := b.Book(t.Context(), &hotelstays.BookRequest{CustomerReferenceNo: "ref-1"})
	assert.Nil(t, ending)
	assert.ErrorContains(t, err, "nothing was sent")
	assert.ErrorContains(t, b.Wake(t.Context(), "ref-1"), `reference "ref-1"`)
}

// A job holds what QueryOrders needs and nothing of the guests.
func TestTheJobHoldsNoSecretAndNoGuest(t *testing.T) {
	b := unconnected(t)
	req := &hotelstays.BookRequest{SessionID: "session", RatePkgID: "offer", CustomerReferenceNo: "ref-1",
		Holder: types.Holder{FirstName: "Holder", LastName: "Family"},
		Guests: []types.Guest{{RoomIndex: 1, FirstName: "Guest", LastName: "Family", PassportNumber: types.NewSecret("P1234567")}}}
	args := jobArgs{Reference: "ref-1", Account: b.account, Recovery: *b.cfg.Client.NewBookingRecovery(req)}
	text, err := args.encode()
	require.NoError(t, err)
	assert.JSONEq(t, fmt.Sprintf(`{"reference":"ref-1","account":%[1]q,
		"recovery":{"customerReferenceNo":"ref-1","fingerprint":%[1]q,"sessionId":"session","polls":0}}`, b.account), string(text))
	for _, private := range []string{"P1234567", "Family", "token"} {
		assert.NotContains(t, string(text), private)
	}
}

func TestEndings(t *testing.T) {
	order := &types.Order{PlatformReferenceNo: "order"}
	recovery := &hotelstays.BookingRecovery{}
	outcome := func(s hotelstays.BookingState) *hotelstays.BookingOutcome {
		return &hotelstays.BookingOutcome{State: s, Recovery: recovery}
	}
	found := &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order, Recovery: recovery}
	refused := &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 200, Code: hotelstays.CodeRateChanged}
	reused := &hotelstays.ReferenceReusedError{Order: order}
	unknown := &hotelstays.OutcomeUnknownError{Err: refused}
	for name, tc := range map[string]struct {
		outcome *hotelstays.BookingOutcome
		err     error
		want    *Ending
	}{
		"found":                 {found, nil, &Ending{State: Found, Order: order, Recovery: recovery}},
		"absent":                {outcome(hotelstays.BookingAbsent), nil, &Ending{State: Absent, Recovery: recovery}},
		"refused":               {nil, refused, &Ending{State: Failed, Err: refused}},
		"another's order":       {found, reused, &Ending{State: Reused, Order: order, Err: reused, Recovery: recovery}},
		"unknown":               {outcome(hotelstays.BookingOpen), unknown, nil},
		"unknown, no outcome":   {nil, unknown, nil},
		"unknown, wrapped":      {nil, fmt.Errorf("wrapped: %w", unknown), nil},
		"open":                  {outcome(hotelstays.BookingOpen), nil, nil},
		"unverified":            {outcome(hotelstays.BookingUnverified), nil, nil},
		"open, and an error":    {outcome(hotelstays.BookingOpen), errors.New("odd"), nil},
		"bad input in a worker": {nil, asUnknown(&hotelstays.ValidationError{}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.want != nil {
				tc.want.CustomerReferenceNo = "ref-1"
			}
			assert.Equal(t, tc.want, endingOf("ref-1", tc.outcome, tc.err))
		})
	}
}

func TestPausesDoubleUpToABound(t *testing.T) {
	var pauses []string
	for n := range 11 {
		pauses = append(pauses, doubling(time.Second, n, failurePause).String())
	}
	assert.Equal(t, "1s 2s 4s 8s 16s 32s 1m4s 2m8s 4m16s 5m0s 5m0s", strings.Join(pauses, " "))
	assert.Equal(t, failurePause, doubling(time.Second, 1<<15, failurePause), "no overflow")
	assert.Equal(t, time.Second, doubling(time.Second, -1, failurePause))
	assert.Equal(t, doubtPauseMax, doubling(doubtPause, 9, doubtPauseMax))
}

// The pause after a failure, as River is told it.
func TestNextRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for attempt, pause := range map[int]time.Duration{
			1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 9: 256 * time.Second, 10: 5 * time.Minute, countedFailures: 5 * time.Minute,
		} {
			job := &river.Job[jobArgs]{JobRow: &rivertype.JobRow{Attempt: attempt}}
			assert.Equal(t, time.Now().Add(pause), (&worker{}).NextRetry(job), "attempt %d", attempt)
		}
	})
}

// River gives a job up after its last attempt, when it failed and when its process
// died. The attempts that failures can use up leave plenty for processes.
func TestFailuresLeaveAttempts(t *testing.T) {
	b := unconnected(t)
	for attempt, counted := range map[int]bool{1: true, countedFailures - 1: true, countedFailures: false, 30000: false} {
		w := &worker{b: b}
		row := &rivertype.JobRow{Attempt: attempt}
		// A recovery of another account is a failure that a step can come to without a
		// database.
		err := w.Work(t.Context(), &river.Job[jobArgs]{JobRow: row, Args: jobArgs{
			BookBy: time.Now().Add(-time.Hour), Recovery: hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", Fingerprint: "another"}}})
		var snooze *river.JobSnoozeError
		assert.Equal(t, !counted, errors.As(err, &snooze), "attempt %d: %v", attempt, err)
	}
}

func TestWhatIsUncounted(t *testing.T) {
	w := &worker{b: unconnected(t)}
	job := &river.Job[jobArgs]{JobRow: &rivertype.JobRow{}}
	given := errors.New("given up")
	for name, tc := range map[string]struct {
		panicked  any
		err, want error
	}{
		"success":      {nil, nil, nil},
		"a pause":      {nil, river.JobSnooze(time.Hour), river.JobSnooze(time.Hour)},
		"given up":     {nil, river.JobCancel(given), river.JobCancel(given)},
		"a failure":    {nil, errors.New("failed"), river.JobSnooze(failurePause)},
		"a panic":      {"boom", nil, river.JobSnooze(failurePause)},
		"both of them": {"boom", given, river.JobSnooze(failurePause)},
	} {
		assert.Equal(t, tc.want, w.uncounted(t.Context(), job, tc.panicked, tc.err), name)
	}
}
