// River's workers.

package hotelstaysriver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/hotelstays/hotelstays-go/durable"
)

const (
	// From attempt countedFailures on, River counts no failure. So over thirty thousand attempts remain for processes
	// that die.
	countedFailures = 1000
	maxFailurePause = 5 * time.Minute
	// movedPause is the pause of a job that has changed, or that another run has taken. noHandlerPause is the pause
	// of a job for which this process has no OnCancel or OnOrder.
	movedPause     = time.Second
	noHandlerPause = 15 * time.Second
	// late: if a job begins this long after it was due, the queue is long, and accounts must take turns. turnsPause is the
	// pause between two calls of takeTurns.
	late       = 3 * time.Second
	turnsPause = time.Second
)

type worker[A river.JobArgs] struct {
	river.WorkerDefaults[A]
	b         *Bookings
	kind      durable.Kind
	noHandler bool // whether the process lacks the handler (OnCancel or OnOrder) of the kind
	maxJobs   int  // maximum number of jobs of the kind that run at the same time in this process

	turns     sync.Mutex // locked during a call of takeTurns
	nextTurns time.Time
}

// Timeout returns the time limit of one run of a job, including a function of the caller such as OnOutcome. River does
// not rescue a job before this limit.
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

// Work runs a job once. It returns nil only if the job is completed in the database. Otherwise River runs the job
// again, and the job never runs out of attempts.
func (w *worker[A]) Work(ctx context.Context, job *river.Job[A]) error {
	if w.noHandler {
		return river.JobSnooze(noHandlerPause)
	}
	row := rowOf(w.kind, job.JobRow)
	if row.Unreadable == nil && w.b.cfg.Clients == nil && row.Account != w.b.cfg.Client.Account() {
		return w.b.failed(ctx, job.JobRow, row,
			errors.New("hotelstaysriver: the job belongs to another account or environment; use one Options.Queue for each account"))
	}
	w.takeTurns(ctx, job.JobRow)
	due, err := w.b.Work(ctx, row, w.maxJobs)
	switch {
	case err == nil && due.IsZero():
		return nil
	case err == nil:
		return river.JobSnooze(max(time.Until(due), 0))
	case err == durable.ErrMoved: //nolint:errorlint // not errors.Is: an error of the caller's function may wrap ErrMoved
		return river.JobSnooze(movedPause)
	}
	return w.b.failed(ctx, job.JobRow, row, err)
}

// takeTurns lets accounts take turns while jobs begin late. Otherwise River starts the jobs that have been due longest,
// so an account with many jobs delays other accounts.
func (w *worker[A]) takeTurns(ctx context.Context, job *rivertype.JobRow) {
	now := time.Now()
	if w.b.cfg.Clients == nil || now.Before(job.ScheduledAt.Add(late)) || !w.turns.TryLock() {
		return
	}
	defer w.turns.Unlock()
	if now.Before(w.nextTurns) {
		return
	}
	if err := w.b.store.takeTurns(ctx, w.kind); err != nil && ctx.Err() == nil {
		w.b.cfg.Logger.WarnContext(ctx, "cannot let accounts take turns; an account with many jobs may delay other accounts",
			slog.String("error", err.Error()))
	}
	w.nextTurns = time.Now().Add(turnsPause)
}

// failed returns the error that River receives for a failed job. From attempt countedFailures on it logs err, and
// returns a snooze of five minutes, which uses up no attempt.
func (b *Bookings) failed(ctx context.Context, job *rivertype.JobRow, row *durable.Row, err error) error {
	var snooze *river.JobSnoozeError
	var cancel *river.JobCancelError
	if job.Attempt < countedFailures || errors.As(err, &snooze) || errors.As(err, &cancel) {
		return err
	}
	b.cfg.Logger.ErrorContext(ctx, "a job keeps failing",
		slog.String("account", row.Account), slog.String("reference", row.Reference), slog.Int64("job", job.ID),
		slog.String("error", err.Error()))
	return river.JobSnooze(maxFailurePause)
}
