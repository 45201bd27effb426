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

// worker works on the jobs of a kind. step does a step of a job, and returns when the next one is due,
// or completes the job and returns zero.
type worker[A jobArgs] struct {
	river.WorkerDefaults[A]
	b       *Bookings
	others  bool // have the caller's function, and this process has not
	timeout func(A) time.Duration
	step    func(context.Context, *river.Job[A]) (due time.Time, err error)
}

// Timeout bounds a step, with the caller's function. River does not rescue a job before.
func (w *worker[A]) Timeout(job *river.Job[A]) time.Duration { return w.timeout(job.Args) }

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
func (w *worker[A]) Work(ctx context.Context, job *river.Job[A]) (err error) {
	if w.others {
		return river.JobSnooze(othersPause)
	}
	if _, held := w.b.working.LoadOrStore(job.ID, nil); held { // an OnOutcome that hangs keeps one worker, not all
		return river.JobSnooze(interruptedPause)
	}
	defer w.b.working.Delete(job.ID)
	reference, account := job.Args.key()
	defer func() {
		if panicked := recover(); panicked != nil {
			// River would store the text of the panic, and that may quote a request.
			err = fmt.Errorf("hotelstaysriver: a panic of type %T; Config.Logger has its stack", panicked)
			w.b.cfg.Logger.ErrorContext(ctx, "a job panicked", slog.String("reference", reference),
				slog.String("type", fmt.Sprintf("%T", panicked)), slog.String("stack", string(debug.Stack())))
		}
		if job.Attempt >= countedFailures {
			err = w.b.snoozeFailure(ctx, job.JobRow, reference, err)
		}
	}()
	if account != w.b.account {
		return errors.New("hotelstaysriver: the job is of another account or environment; use one Config.Queue for each")
	}
	due, err := w.step(ctx, job)
	switch {
	case errors.Is(err, errMoved):
		return river.JobSnooze(interruptedPause)
	case err != nil || due.IsZero():
		return err
	}
	return river.JobSnooze(max(time.Until(due), 0))
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

// bookingWorker returns the worker of bookings. The job of one that waits for Send lasts longer.
func (b *Bookings) bookingWorker() *worker[bookingArgs] {
	return &worker[bookingArgs]{b: b, step: b.workBooking, timeout: func(booking bookingArgs) time.Duration {
		if booking.Phase(time.Now()) == durable.PhaseWaiting {
			return b.cfg.BookTimeout + workTimeout
		}
		return workTimeout
	}}
}

// workBooking does a step of a booking.
func (b *Bookings) workBooking(ctx context.Context, job *river.Job[bookingArgs]) (due time.Time, err error) {
	due, err = b.step(ctx, job)
	var failed *onOutcomeError
	var unknown *hotelstays.OutcomeUnknownError
	switch {
	case errors.As(err, &failed):
	case errors.As(err, &unknown): // Book has shown nothing, or a poll was interrupted
		return due, errMoved
	case errors.Is(err, durable.ErrConflictingOutcome): // the job is completed; a person must check
		b.cfg.Logger.ErrorContext(ctx, "a booking has two outcomes", slog.String("error", err.Error()))
		return due, nil
	}
	return due, err
}

// step sends a booking that waits for Send, or polls for its order and acts on the answer. It
// stores nothing but an order in a job that has changed since the poll began.
func (b *Bookings) step(ctx context.Context, job *river.Job[bookingArgs]) (due time.Time, err error) {
	at, booking := time.Now(), job.Args.Booking
	if booking.Phase(at) == durable.PhaseWaiting {
		_, err = b.Send(ctx, job.Args.Reference)
		switch {
		case errors.Is(err, durable.ErrAlreadyStarted): // the caller was faster
			err = errMoved
		case errors.Is(err, durable.ErrAlreadyBooked), errors.Is(err, durable.ErrNotBegun): // and it has ended
			err = nil
		}
		return due, err
	}
	recovery := booking.Recovery
	outcome, err := b.cfg.Client.StepRecovery(ctx, &recovery)
	next, final := booking.Polled(at, outcome, err)
	switch {
	case final != nil:
		return due, b.finish(ctx, job.ID, job.Args.Reference, func(locked *bookingJob) *hotelstays.BookingOutcome {
			if final.State != hotelstays.BookingFound && !locked.unchanged(job) {
				return nil
			}
			return final
		})
	case err != nil:
		return due, err
	case next.Unverified > booking.Unverified:
		b.cfg.Logger.WarnContext(ctx, "a booking is still unverified; its job continues",
			slog.String("reference", job.Args.Reference), slog.Int("polls", next.Unverified), slog.String("error", fmt.Sprint(outcome.Err)))
	}
	return next.Due, b.transact(ctx, func(tx pgx.Tx) error {
		locked, err := b.bookings.lockUnchanged(ctx, tx, job)
		if err != nil {
			return err
		}
		locked.Args.Booking = next
		return b.bookings.store(ctx, tx, locked)
	})
}
