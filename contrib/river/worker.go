// The worker: River's side of a durable booking.

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
	// countedFailures is how many failures of a job River counts. The rest of its
	// attempts, which are over thirty thousand, are for processes that die.
	countedFailures = 1000
	// failurePause is the longest pause after a failure.
	failurePause = 5 * time.Minute
	// doubtPause is the first pause after a poll that left a booking unverified, and
	// doubtPauseMax the longest.
	doubtPause    = 150 * time.Second
	doubtPauseMax = time.Hour
	// shortPause is after a run that was interrupted.
	shortPause = time.Second
	// decisiveAfter is how long after a Book has ended one poll that finds no order shows
	// that there is none.
	decisiveAfter = 10 * time.Minute
)

// worker works on jobs of bookings. Any number of processes do.
type worker struct {
	river.WorkerDefaults[jobArgs]
	b *Bookings
}

// Timeout is for River.
func (w *worker) Timeout(*river.Job[jobArgs]) time.Duration { return workTimeout }

// NextRetry is for River: when a job that failed is tried again.
func (w *worker) NextRetry(job *river.Job[jobArgs]) time.Time {
	return time.Now().Add(doubling(time.Second, job.Attempt-1, failurePause))
}

// doubling is a pause that has been doubled so many times, up to a bound.
func doubling(first time.Duration, times int, bound time.Duration) time.Duration {
	pause := first
	for range times {
		if pause *= 2; pause >= bound {
			return bound
		}
	}
	return min(pause, bound)
}

// Work makes one step of a recovery. It returns nil only when the job is known to be
// completed in the database, and never lets River use up the job's attempts.
func (w *worker) Work(ctx context.Context, job *river.Job[jobArgs]) (err error) {
	if job.Attempt >= countedFailures {
		defer func() { err = w.uncounted(ctx, job, recover(), err) }()
	}
	err = w.step(ctx, job)
	var failed *onEndError
	var unknown *hotelstays.OutcomeUnknownError
	switch {
	case errors.As(err, &failed):
		return err
	case errors.As(err, &unknown): // ctx ended in a poll
		return river.JobSnooze(shortPause)
	case errors.Is(err, ErrEndedOtherwise): // the job is completed; a person has to look
		w.b.cfg.Logger.ErrorContext(ctx, "a booking ended in two ways", slog.String("error", err.Error()))
		return nil
	}
	return err
}

// uncounted takes a failure or a panic for a pause.
func (w *worker) uncounted(ctx context.Context, job *river.Job[jobArgs], panicked any, err error) error {
	if panicked != nil {
		err = fmt.Errorf("panic: %v", panicked)
	}
	var snooze *river.JobSnoozeError
	var cancel *river.JobCancelError
	if err == nil || errors.As(err, &snooze) || errors.As(err, &cancel) {
		return err
	}
	w.b.cfg.Logger.ErrorContext(ctx, "a booking's job goes on failing", slog.String("reference", job.Args.Reference), slog.Int64("job", job.ID), slog.String("error", err.Error()))
	return river.JobSnooze(failurePause)
}

// step asks for the order, if it is time to, and acts on the answer.
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
	if ending := endingOf(args.Reference, outcome, asUnknown(err)); ending != nil {
		return w.b.end(ctx, job.ID, ending)
	}
	if err != nil {
		return err
	}
	pause := time.Until(args.Recovery.NextPoll)
	if outcome.State == hotelstays.BookingUnverified {
		pause = max(pause, doubling(doubtPause, args.Doubts, doubtPauseMax))
		args.Doubts++
		w.b.cfg.Logger.WarnContext(ctx, "it is not known whether a booking was made; its job goes on asking",
			slog.String("reference", args.Reference), slog.Int("polls", args.Doubts), slog.Any("error", outcome.Err))
	}
	if err := w.progress(ctx, job, &args); err != nil {
		return err
	}
	return river.JobSnooze(max(pause, 0))
}

// asUnknown keeps bad input, such as a recovery of another account, from being taken
// for a booking that failed: no Book was involved.
func asUnknown(err error) error {
	var invalid *hotelstays.ValidationError
	if errors.As(err, &invalid) {
		return &hotelstays.OutcomeUnknownError{Operation: hotelstays.OpBook, Err: err}
	}
	return err
}

// takeOver marks a job whose Book never began, so that it never will. Book commits its
// own mark before it sends, so that nothing was sent: one poll decides, as it does of a
// Book that ended long ago. Where Book began just now, its mark holds.
func (w *worker) takeOver(ctx context.Context, id int64) (args jobArgs, err error) {
	err = w.b.transact(ctx, func(tx pgx.Tx) error {
		job, err := w.b.jobs.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if !job.begun() {
			now := time.Now()
			job.Args.BookBy = wall(now)
			job.Args.Recovery.EndedAt = wall(now.Add(-decisiveAfter))
			if err := w.b.jobs.set(ctx, tx, job); err != nil {
				return err
			}
		}
		args = job.Args
		return nil
	})
	return args, err
}

// peek asks once while Book may still be under way: Wake has said that there is
// something to see. It leaves the recovery's times alone, for they count from the end
// of Book.
func (w *worker) peek(ctx context.Context, job *river.Job[jobArgs], args jobArgs) error {
	recovery := args.Recovery
	outcome, err := w.b.cfg.Client.StepRecovery(ctx, &recovery)
	if ending := endingOf(args.Reference, outcome, asUnknown(err)); ending != nil {
		return w.b.end(ctx, job.ID, ending)
	}
	if err != nil {
		return err
	}
	return river.JobSnooze(max(time.Until(args.BookBy), 0))
}

// progress stores how far the recovery has come. A run that has lost its job meanwhile
// stores nothing.
func (w *worker) progress(ctx context.Context, job *river.Job[jobArgs], args *jobArgs) error {
	return w.b.transact(ctx, func(tx pgx.Tx) error {
		now, err := w.b.jobs.lock(ctx, tx, job.ID)
		if err != nil || !now.takenBy(job.JobRow) {
			return err
		}
		now.Args = *args
		return w.b.jobs.set(ctx, tx, now)
	})
}
