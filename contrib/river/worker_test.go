package hotelstaysriver

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

func TestNextRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for attempt, pause := range map[int]time.Duration{
			0: time.Second, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 9: 256 * time.Second, 10: 5 * time.Minute, countedFailures: 5 * time.Minute, 1 << 15: 5 * time.Minute,
		} {
			job := &river.Job[jobArgs]{JobRow: &rivertype.JobRow{Attempt: attempt}}
			assert.Equal(t, time.Now().Add(pause), (&worker{}).NextRetry(job), "attempt %d", attempt)
		}
	})
}

// River discards a job after its last attempt, whether it failed or its process died. So
// failures use only some of the attempts.
func TestFailuresLeaveAttempts(t *testing.T) {
	b := unconnected(t)
	for attempt, counted := range map[int]bool{1: true, countedFailures - 1: true, countedFailures: false, 30000: false} {
		w := &worker{b: b}
		row := &rivertype.JobRow{Attempt: attempt}
		// A recovery of another account fails without a database.
		err := w.Work(t.Context(), &river.Job[jobArgs]{JobRow: row, Args: jobArgs{
			Booking: durable.Booking{BookBy: time.Now().Add(-time.Hour),
				Recovery: hotelstays.BookingRecovery{CustomerReferenceNo: "ref-1", Fingerprint: "another"}}}})
		var snooze *river.JobSnoozeError
		assert.Equal(t, !counted, errors.As(err, &snooze), "attempt %d: %v", attempt, err)
	}
}

func TestSnoozeFailure(t *testing.T) {
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
