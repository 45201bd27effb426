// What needs no database: configuration, the job's arguments, endings, pauses.

package hotelstaysriver

import (
	"context"
	"encoding/json"
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
	return Config{Client: client, Pool: pool, OnOutcome: func(context.Context, pgx.Tx, *hotelstays.BookingOutcome) error { return nil }}
}

func TestNewNamesAllFaultsAtOnce(t *testing.T) {
	_, err := New(Config{BookTimeout: -1, MaxWorkers: -1})
	for _, field := range []string{"Client", "Pool", "OnOutcome", "BookTimeout", "MaxWorkers"} {
		assert.ErrorContains(t, err, "Config."+field+" ")
	}
}

func TestDefaults(t *testing.T) {
	b := unconnected(t)
	assert.Equal(t, defaultQueue, b.cfg.Queue)
	assert.Equal(t, defaultBookTimeout, b.cfg.BookTimeout)
	assert.Equal(t, defaultMaxWorkers, b.cfg.MaxWorkers)
}

func TestConfigure(t *testing.T) {
	b := unconnected(t)
	cfg := &river.Config{}
	require.NoError(t, b.Configure(cfg))
	assert.Equal(t, defaultRescueAfter, cfg.RescueStuckJobsAfter)
	assert.Equal(t, river.QueueConfig{MaxWorkers: defaultMaxWorkers}, cfg.Queues[defaultQueue])
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
	outcome, err := b.Book(t.Context(), &hotelstays.BookRequest{CustomerReferenceNo: "ref-1"})
	assert.Nil(t, outcome)
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
	text, err := json.Marshal(args)
	require.NoError(t, err)
	assert.JSONEq(t, fmt.Sprintf(`{"reference":"ref-1","account":%[1]q,
		"recovery":{"customerReferenceNo":"ref-1","fingerprint":%[1]q,"sessionId":"session","polls":0}}`, b.account), string(text))
	for _, private := range []string{"P1234567", "Family", "token"} {
		assert.NotContains(t, string(text), private)
	}
}

func TestFinalOutcome(t *testing.T) {
	order := &types.Order{PlatformReferenceNo: "order"}
	enqueued, polled := &hotelstays.BookingRecovery{}, &hotelstays.BookingRecovery{Polls: 1}
	in := func(s hotelstays.BookingState) *hotelstays.BookingOutcome {
		return &hotelstays.BookingOutcome{State: s, Err: errors.New("an earlier poll failed"), Recovery: polled}
	}
	found := &hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order, Recovery: polled}
	refused := &hotelstays.APIError{Operation: hotelstays.OpBook, HTTPStatus: 200, Code: hotelstays.CodeRateChanged}
	reused := &hotelstays.ReferenceReusedError{Order: order}
	unknown := &hotelstays.OutcomeUnknownError{Err: refused}
	for name, tc := range map[string]struct {
		outcome *hotelstays.BookingOutcome
		err     error
		want    *hotelstays.BookingOutcome
		ending  ending
	}{
		"found":  {found, nil, found, endingFound},
		"absent": {in(hotelstays.BookingAbsent), nil, &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Recovery: polled}, endingAbsent},
		"refused": {nil, refused,
			&hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Err: refused, Recovery: enqueued}, endingFailed},
		"another order": {found, reused,
			&hotelstays.BookingOutcome{State: hotelstays.BookingFound, Order: order, Err: reused, Recovery: polled}, endingReused},
		"unknown":               {in(hotelstays.BookingOpen), unknown, nil, ""},
		"unknown, no outcome":   {nil, unknown, nil, ""},
		"unknown, wrapped":      {nil, fmt.Errorf("wrapped: %w", unknown), nil, ""},
		"open":                  {in(hotelstays.BookingOpen), nil, nil, ""},
		"unverified":            {in(hotelstays.BookingUnverified), nil, nil, ""},
		"open, and an error":    {in(hotelstays.BookingOpen), errors.New("some error"), nil, ""},
		"bad input in a worker": {nil, asUnknown(&hotelstays.ValidationError{}), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			final := finalOutcome(enqueued, tc.outcome, tc.err)
			assert.Equal(t, tc.want, final)
			if final != nil {
				assert.Equal(t, tc.ending, endingOf(final))
			}
		})
	}
}

func TestPausesDoubleUpToABound(t *testing.T) {
	var pauses []string
	for n := range 11 {
		pauses = append(pauses, doubled(time.Second, n, maxFailurePause).String())
	}
	assert.Equal(t, "1s 2s 4s 8s 16s 32s 1m4s 2m8s 4m16s 5m0s 5m0s", strings.Join(pauses, " "))
	assert.Equal(t, maxFailurePause, doubled(time.Second, 1<<15, maxFailurePause), "no overflow")
	assert.Equal(t, time.Second, doubled(time.Second, -1, maxFailurePause))
	assert.Equal(t, maxUnverifiedPause, doubled(unverifiedPause, 9, maxUnverifiedPause))
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
		"a failure":    {nil, errors.New("failed"), river.JobSnooze(maxFailurePause)},
		"a panic":      {"boom", nil, river.JobSnooze(maxFailurePause)},
		"both of them": {"boom", given, river.JobSnooze(maxFailurePause)},
	} {
		assert.Equal(t, tc.want, w.snoozeFailure(t.Context(), job, tc.panicked, tc.err), name)
	}
}
