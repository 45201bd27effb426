package hotelstaysriver

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
	"github.com/hotelstays/hotelstays-go/types"
)

func TestNextRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for attempt, pause := range map[int]time.Duration{
			0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 9: 256 * time.Second,
			10: 5 * time.Minute, countedFailures: 5 * time.Minute, 1 << 15: 5 * time.Minute,
		} {
			job := &river.Job[bookingArgs]{JobRow: &rivertype.JobRow{Attempt: attempt}}
			assert.Equal(t, time.Now().Add(pause), (&worker[bookingArgs]{}).NextRetry(job), "attempt %d", attempt)
		}
	})
}

// River rescues a job after its timeout: one that sends lasts as long as its Book may.
func TestTimeout(t *testing.T) {
	b := unconnected(t)
	job := &river.Job[bookingArgs]{}
	assert.Equal(t, defaultBookTimeout+workTimeout, b.bookingWorker().Timeout(job))
	job.Args.BookBy = time.Now()
	assert.Equal(t, workTimeout, b.bookingWorker().Timeout(job))
}

// River discards a job after its last attempt, whether it failed or its process died. So
// failures use only some of the attempts.
func TestFailuresLeaveAttempts(t *testing.T) {
	b := unconnected(t)
	for attempt, counted := range map[int]bool{1: true, countedFailures - 1: true, countedFailures: false, 30000: false} {
		row := &rivertype.JobRow{Attempt: attempt}
		// A job of another account fails without a database.
		err := b.bookingWorker().Work(t.Context(), &river.Job[bookingArgs]{JobRow: row,
			Args: bookingArgs{Reference: "ref-1", Account: "another"}})
		var snooze *river.JobSnoozeError
		assert.Equal(t, !counted, errors.As(err, &snooze), "attempt %d: %v", attempt, err)
	}
}

func TestSnoozeFailure(t *testing.T) {
	b := unconnected(t)
	given := errors.New("given up")
	for name, tc := range map[string]struct{ err, want error }{
		"success":   {nil, nil},
		"a pause":   {river.JobSnooze(time.Hour), river.JobSnooze(time.Hour)},
		"given up":  {river.JobCancel(given), river.JobCancel(given)},
		"a failure": {errors.New("failed"), river.JobSnooze(maxFailurePause)},
	} {
		assert.Equal(t, tc.want, b.snoozeFailure(t.Context(), &rivertype.JobRow{}, "ref-1", tc.err), name)
	}
}

// River stores errors, and a panic's text may quote anything, such as a request with its token.
func TestPanicIsReportedByItsType(t *testing.T) {
	var log strings.Builder
	cfg := unconnectedConfig(t)
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	client, err := hotelstays.New("http://127.0.0.1:1", hotelstays.TokenCredential{Token: types.NewSecret("token-1")},
		hotelstays.WithHTTPClient(&http.Client{Transport: panicking{}}))
	require.NoError(t, err)
	cfg.Client = client
	b, err := New(cfg)
	require.NoError(t, err)
	recovery := client.NewBookingRecovery(&hotelstays.BookRequest{CustomerReferenceNo: "ref-1"})
	args := bookingArgs{Reference: "ref-1", Account: b.account,
		Booking: durable.Booking{BookBy: time.Now().Add(-time.Hour), Recovery: *recovery}}
	for _, attempt := range []int{1, countedFailures} {
		err = b.bookingWorker().Work(t.Context(), &river.Job[bookingArgs]{JobRow: &rivertype.JobRow{Attempt: attempt}, Args: args})
		var snooze *river.JobSnoozeError
		assert.Equal(t, attempt == countedFailures, errors.As(err, &snooze))
		assert.NotContains(t, err.Error(), "token-1")
	}
	assert.Contains(t, log.String(), "panicking.RoundTrip", "the stack")
	assert.NotContains(t, log.String(), "token-1")
}

type panicking struct{}

func (panicking) RoundTrip(r *http.Request) (*http.Response, error) { panic(fmt.Sprint(r.Header)) }
