// River's workers.

package hotelstaysriver

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

const (
	// countedFailures is how many failures of a job River counts. The remaining attempts,
	// over thirty thousand, are for processes that die.
	countedFailures = 1000
	// maxFailurePause is the longest pause after a failure.
	maxFailurePause = 5 * time.Minute
	// movedPause follows a run whose job has changed meanwhile, or which another run has. othersPause leaves
	// a job to processes with its function.
	movedPause  = time.Second
	othersPause = 15 * time.Second
	// unknownPause leaves a job to a process that knows its account.
	unknownPause = time.Minute
)

// worker works on the jobs of a kind.
type worker[A river.JobArgs] struct {
	river.WorkerDefaults[A]
	b      *Bookings
	kind   durable.Kind
	others bool // have the caller's function, and this process has not
}

// Timeout bounds a step, with the caller's function. River does not rescue a job before.
func (w *worker[A]) Timeout(job *river.Job[A]) time.Duration {
	row := rowOf(w.kind, job.JobRow)
	return w.b.Engine.Timeout(row)
}

// NextRetry returns when a failed job is tried again.
func (w *worker[A]) NextRetry(job *river.Job[A]) time.Time {
	pause := time.Second
	for range min(job.Attempt-1, 9) {
		pause *= 2
	}
	return time.Now().Add(min(pause, maxFailurePause))
}

// Work does a step. It returns nil only if the job is completed in the database, and never lets River
// use up the job's attempts.
func (w *worker[A]) Work(ctx context.Context, job *river.Job[A]) error {
	if w.others {
		return river.JobSnooze(othersPause)
	}
	row := rowOf(w.kind, job.JobRow)
	if row.Unreadable == nil && w.b.cfg.Clients == nil && row.Account != w.b.cfg.Client.Account() {
		return w.b.failed(ctx, job.JobRow, row,
			errors.New("hotelstaysriver: the job is of another account or environment; use one Options.Queue for each"))
	}
	due, err := w.b.Work(ctx, row)
	switch {
	case err == nil && due.IsZero():
		return nil
	case err == nil:
		return river.JobSnooze(max(time.Until(due), 0))
	case err == durable.ErrMoved: //nolint:errorlint // an error of the caller's function may match it, and is a failure
		return river.JobSnooze(movedPause)
	case errors.Is(err, durable.ErrUnknownAccount):
		w.b.cfg.Logger.ErrorContext(ctx, "a job of an account without a client waits until Clients knows it",
			slog.String("account", row.Account), slog.String("reference", row.Reference), slog.Int64("job", job.ID))
		return river.JobSnooze(unknownPause)
	}
	return w.b.failed(ctx, job.JobRow, row, err)
}

// failed returns an error, or a pause, which costs no attempt.
func (b *Bookings) failed(ctx context.Context, job *rivertype.JobRow, row *durable.Row, err error) error {
	var snooze *river.JobSnoozeError
	var cancel *river.JobCancelError
	if job.Attempt < countedFailures || errors.As(err, &snooze) || errors.As(err, &cancel) {
		return err
	}
	b.cfg.Logger.ErrorContext(ctx, "a job keeps failing",
		slog.String("reference", row.Reference), slog.Int64("job", job.ID), slog.String("error", err.Error()))
	return river.JobSnooze(maxFailurePause)
}
