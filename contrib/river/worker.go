// The worker that polls for orders.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

const (
	// countedFailures is how many failures of a job River counts. The remaining attempts,
	// over thirty thousand, are for processes that die.
	countedFailures = 1000
	// maxFailurePause is the longest pause after a failure.
	maxFailurePause = 5 * time.Minute
	// unverifiedPause is the first pause after an unverified poll.
	unverifiedPause    = 150 * time.Second
	maxUnverifiedPause = time.Hour
	// interruptedPause follows a run that was interrupted.
	interruptedPause = time.Second
	// decisiveAfter is how long after the end of Book one poll without an order proves its
	// absence.
	decisiveAfter = 10 * time.Minute
)

type worker struct {
	river.WorkerDefaults[jobArgs]
	b *Bookings
}

func (w *worker) Timeout(*river.Job[jobArgs]) time.Duration { return workTimeout }

// NextRetry returns when a failed job is tried again.
func (w *worker) NextRetry(job *river.Job[jobArgs]) time.Time {
	return time.Now().Add(doubled(time.Second, job.Attempt-1, maxFailurePause))
}

// doubled doubles a pause some times, up to a longest one.
func doubled(pause time.Duration, times int, longest time.Duration) time.Duration {
	for ; times > 0 && pause < longest; times-- {
		pause *= 2
	}
	return min(pause, longest)
}

// Work does one step of a recovery. It returns nil only if the job is completed in the
// database, and never lets River use up the job's attempts.
func (w *worker) Work(ctx context.Context, job *river.Job[jobArgs]) (err error) {
	if job.Attempt >= countedFailures {
		defer func() { err = w.snoozeFailure(ctx, job, recover(), err) }()
	}
	err = w.step(ctx, job)
	var failed *onOutcomeError
	var unknown *hotelstays.OutcomeUnknownError
	switch {
	case errors.As(err, &failed):
		return err
	case errors.As(err, &unknown): // ctx ended during a poll
		return river.JobSnooze(interruptedPause)
	case errors.Is(err, ErrConflictingOutcome): // the job is completed; a person must check
		w.b.cfg.Logger.ErrorContext(ctx, "a booking has two outcomes", slog.String("error", err.Error()))
		return nil
	}
	return err
}

// snoozeFailure turns a failure or a panic into a pause, which costs no attempt.
func (w *worker) snoozeFailure(ctx context.Context, job *river.Job[jobArgs], panicked any, err error) error {
	if panicked != nil {
		err = fmt.Errorf("panic: %v", panicked)
	}
	var snooze *river.JobSnoozeError
	var cancel *river.JobCancelError
	if err == nil || errors.As(err, &snooze) || errors.As(err, &cancel) {
		return err
	}
	w.b.cfg.Logger.ErrorContext(ctx, "the job of a booking keeps failing",
		slog.String("reference", job.Args.Reference), slog.Int64("job", job.ID), slog.String("error", err.Error()))
	return river.JobSnooze(maxFailurePause)
}

// step polls for the order, if a poll is due, and acts on the answer.
func (w *worker) step(ctx context.Context, job *river.Job[jobArgs]) error {
	args := job.Args
	if args.BookBy.IsZero() {
		var err error
		if args, err = w.takeOver(ctx, job.ID); err != nil {
			return err
		}
	}
	if args.Recovery.EndedAt.IsZero() && time.Now().Before(args.BookBy) {
		return w.peek(ctx, job, args)
	}
	outcome, err := w.b.cfg.Client.StepRecovery(ctx, &args.Recovery)
	if final := finalOutcome(&args.Recovery, outcome, asUnknown(err)); final != nil {
		return w.b.finish(ctx, job.ID, final)
	}
	if err != nil {
		return err
	}
	pause := time.Until(args.Recovery.NextPoll)
	if outcome.State == hotelstays.BookingUnverified {
		pause = max(pause, doubled(unverifiedPause, args.Unverified, maxUnverifiedPause))
		args.Unverified++
		w.b.cfg.Logger.WarnContext(ctx, "a booking is still unverified; its job continues",
			slog.String("reference", args.Reference), slog.Int("polls", args.Unverified), slog.Any("error", outcome.Err))
	}
	if err := w.storeProgress(ctx, job, &args); err != nil {
		return err
	}
	return river.JobSnooze(max(pause, 0))
}

// asUnknown keeps an invalid recovery, such as one of another account, from looking like a
// booking that failed validation.
func asUnknown(err error) error {
	var invalid *hotelstays.ValidationError
	if errors.As(err, &invalid) {
		return &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: err}
	}
	return err
}

// takeOver marks a job whose Book has not started, so that it never will. Book commits its
// own mark before it sends, so nothing was sent, and one poll decides as after a Book that
// ended long ago. If Book has started just now, its mark stays.
func (w *worker) takeOver(ctx context.Context, id int64) (args jobArgs, err error) {
	err = w.b.transact(ctx, func(tx pgx.Tx) error {
		job, err := w.b.jobs.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if !job.started() {
			now := time.Now()
			job.Args.BookBy = wallClock(now)
			job.Args.Recovery.EndedAt = wallClock(now.Add(-decisiveAfter))
			if err := w.b.jobs.setArgs(ctx, tx, job); err != nil {
				return err
			}
		}
		args = job.Args
		return nil
	})
	return args, err
}

// peek polls once while Book may still be under way, after a Wake. It does not change the
// recovery, whose times count from the end of Book.
func (w *worker) peek(ctx context.Context, job *river.Job[jobArgs], args jobArgs) error {
	recovery := args.Recovery
	outcome, err := w.b.cfg.Client.StepRecovery(ctx, &recovery)
	if final := finalOutcome(&recovery, outcome, asUnknown(err)); final != nil {
		return w.b.finish(ctx, job.ID, final)
	}
	if err != nil {
		return err
	}
	return river.JobSnooze(max(time.Until(args.BookBy), 0))
}

// storeProgress stores the recovery, unless this run has lost its job to another.
func (w *worker) storeProgress(ctx context.Context, job *river.Job[jobArgs], args *jobArgs) error {
	return w.b.transact(ctx, func(tx pgx.Tx) error {
		now, err := w.b.jobs.lock(ctx, tx, job.ID)
		if err != nil || !now.takenBy(job.JobRow) {
			return err
		}
		now.Args = *args
		return w.b.jobs.setArgs(ctx, tx, now)
	})
}
