// The worker that polls for orders.

package hotelstaysriver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

const (
	// countedFailures is how many failures of a job River counts. The remaining attempts,
	// over thirty thousand, are for processes that die.
	countedFailures = 1000
	// maxFailurePause is the longest pause after a failure.
	maxFailurePause = 5 * time.Minute
	// interruptedPause follows a run that was interrupted, or whose job another run of this process
	// still has: another process may take it. othersPause leaves a job to processes with its function.
	interruptedPause = time.Second
	othersPause      = 15 * time.Second
)

type worker struct {
	river.WorkerDefaults[jobArgs]
	b *Bookings
}

// Timeout is longer for a job that sends. River does not rescue a job before.
func (w *worker) Timeout(job *river.Job[jobArgs]) time.Duration {
	if job.Args.Phase(time.Now()) == durable.PhaseWaiting {
		return w.b.cfg.BookTimeout + workTimeout
	}
	return workTimeout
}

// NextRetry returns when a failed job is tried again.
func (w *worker) NextRetry(job *river.Job[jobArgs]) time.Time { return nextRetry(job.JobRow) }

func nextRetry(job *rivertype.JobRow) time.Time {
	pause := time.Second
	for range min(job.Attempt-1, 9) {
		pause *= 2
	}
	return time.Now().Add(min(pause, maxFailurePause))
}

// Work does one step of a recovery. It returns nil only if the job is completed in the
// database, and never lets River use up the job's attempts.
func (w *worker) Work(ctx context.Context, job *river.Job[jobArgs]) error {
	return w.b.guarded(ctx, job.JobRow, job.Args.Reference, func() error {
		err := w.step(ctx, job)
		var failed *onOutcomeError
		var unknown *hotelstays.OutcomeUnknownError
		switch {
		case errors.As(err, &failed):
			return err
		case errors.As(err, &unknown), errors.Is(err, errMoved): // Book or a poll has shown nothing, or was too early
			return river.JobSnooze(interruptedPause)
		case errors.Is(err, durable.ErrConflictingOutcome): // the job is completed; a person must check
			w.b.cfg.Logger.ErrorContext(ctx, "a booking has two outcomes", slog.String("error", err.Error()))
			return nil
		}
		return err
	})
}

// guarded does a step of a job, unless another run of this process has the job.
func (b *Bookings) guarded(ctx context.Context, job *rivertype.JobRow, reference string, step func() error) (err error) {
	if _, held := b.working.LoadOrStore(job.ID, nil); held { // an OnOutcome that hangs keeps one worker, not all
		return river.JobSnooze(interruptedPause)
	}
	defer b.working.Delete(job.ID)
	defer func() {
		if panicked := recover(); panicked != nil {
			// River would store the text of the panic, and that may quote a request.
			err = fmt.Errorf("hotelstaysriver: a panic of type %T; Config.Logger has its stack", panicked)
			b.cfg.Logger.ErrorContext(ctx, "a job panicked", slog.String("reference", reference),
				slog.String("type", fmt.Sprintf("%T", panicked)), slog.String("stack", string(debug.Stack())))
		}
		if job.Attempt >= countedFailures {
			err = b.snoozeFailure(ctx, job, reference, err)
		}
	}()
	return step()
}

// snoozeFailure turns a failure into a pause, which costs no attempt.
func (b *Bookings) snoozeFailure(ctx context.Context, job *rivertype.JobRow, reference string, err error) error {
	var snooze *river.JobSnoozeError
	var cancel *river.JobCancelError
	if err == nil || errors.As(err, &snooze) || errors.As(err, &cancel) {
		return err
	}
	b.cfg.Logger.ErrorContext(ctx, "a job keeps failing",
		slog.String("reference", reference), slog.Int64("job", job.ID), slog.String("error", err.Error()))
	return river.JobSnooze(maxFailurePause)
}

// step sends a booking that waits for Send, or polls for its order and acts on the answer. It
// stores nothing but an order in a job that has changed since the poll began.
func (w *worker) step(ctx context.Context, job *river.Job[jobArgs]) error {
	at, booking := time.Now(), job.Args.Booking
	if booking.Phase(at) == durable.PhaseWaiting {
		return w.send(ctx, job.Args.Reference)
	}
	recovery := booking.Recovery
	outcome, err := w.b.cfg.Client.StepRecovery(ctx, &recovery)
	next, final := booking.Polled(at, outcome, err)
	switch {
	case final != nil:
		return w.b.finish(ctx, job.ID, job.Args.Reference, func(locked *lockedJob) *hotelstays.BookingOutcome {
			if final.State != hotelstays.BookingFound && !locked.unchanged(job.JobRow, booking) {
				return nil
			}
			return final
		})
	case err != nil:
		return err
	case next.Unverified > booking.Unverified:
		w.b.cfg.Logger.WarnContext(ctx, "a booking is still unverified; its job continues",
			slog.String("reference", job.Args.Reference), slog.Int("polls", next.Unverified), slog.String("error", fmt.Sprint(outcome.Err)))
	}
	err = w.b.transact(ctx, func(tx pgx.Tx) error {
		locked, err := w.b.jobs.lock(ctx, tx, job.ID)
		switch {
		case err != nil:
			return err
		case !locked.unchanged(job.JobRow, booking):
			return errMoved
		}
		locked.Args.Booking = next
		return w.b.jobs.setArgs(ctx, tx, locked)
	})
	if err != nil {
		return err
	}
	return river.JobSnooze(max(time.Until(next.Due), 0))
}

// send sends a booking whose Send did not come.
func (w *worker) send(ctx context.Context, reference string) error {
	_, err := w.b.Send(ctx, reference)
	switch {
	case errors.Is(err, durable.ErrAlreadyStarted): // the caller was faster
		return errMoved
	case errors.Is(err, durable.ErrAlreadyBooked), errors.Is(err, durable.ErrNotBegun): // and it has ended
		return nil
	}
	return err
}
