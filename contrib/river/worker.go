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
	"github.com/hotelstays/hotelstays-go/durable"
)

const (
	// countedFailures is how many failures of a job River counts. The remaining attempts,
	// over thirty thousand, are for processes that die.
	countedFailures = 1000
	// maxFailurePause is the longest pause after a failure.
	maxFailurePause = 5 * time.Minute
	// interruptedPause follows a run that was interrupted.
	interruptedPause = time.Second
)

type worker struct {
	river.WorkerDefaults[jobArgs]
	b *Bookings
}

func (w *worker) Timeout(*river.Job[jobArgs]) time.Duration { return workTimeout }

// NextRetry returns when a failed job is tried again.
func (w *worker) NextRetry(job *river.Job[jobArgs]) time.Time {
	pause := time.Second
	for range min(job.Attempt-1, 9) {
		pause *= 2
	}
	return time.Now().Add(min(pause, maxFailurePause))
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
	now, booking := time.Now(), job.Args.Booking
	if booking.Phase(now) == durable.PhaseWaiting {
		var err error
		if booking, err = w.takeOver(ctx, job.ID); err != nil {
			return err
		}
	}
	recovery := booking.Recovery
	outcome, err := w.b.cfg.Client.StepRecovery(ctx, &recovery)
	next, final := booking.Polled(now, outcome, err)
	switch {
	case final != nil:
		return w.b.finish(ctx, job.ID, final)
	case err != nil:
		return err
	case booking.Phase(now) == durable.PhaseBooking: // Book may have stored its own recovery meanwhile
		return river.JobSnooze(max(time.Until(next.Due), 0))
	case next.Unverified > booking.Unverified:
		w.b.cfg.Logger.WarnContext(ctx, "a booking is still unverified; its job continues",
			slog.String("reference", job.Args.Reference), slog.Int("polls", next.Unverified), slog.Any("error", outcome.Err))
	}
	if err := w.storeProgress(ctx, job, next); err != nil {
		return err
	}
	return river.JobSnooze(max(time.Until(next.Due), 0))
}

// takeOver marks a job whose Book has not started. If Book has started just now, its mark
// stays.
func (w *worker) takeOver(ctx context.Context, id int64) (next durable.Booking, err error) {
	err = w.b.transact(ctx, func(tx pgx.Tx) error {
		job, err := w.b.jobs.lock(ctx, tx, id)
		if err != nil {
			return err
		}
		next = job.Args.TakeOver(time.Now())
		job.Args.Booking = next
		return w.b.jobs.setArgs(ctx, tx, job)
	})
	return next, err
}

// storeProgress stores the booking, unless this run has lost its job to another.
func (w *worker) storeProgress(ctx context.Context, job *river.Job[jobArgs], next durable.Booking) error {
	return w.b.transact(ctx, func(tx pgx.Tx) error {
		now, err := w.b.jobs.lock(ctx, tx, job.ID)
		if err != nil || !now.takenBy(job.JobRow) {
			return err
		}
		now.Args.Booking = next
		return w.b.jobs.setArgs(ctx, tx, now)
	})
}
