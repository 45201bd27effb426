// Run: bookings with an unknown outcome come to their end.

package hotelstayssql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/durable"
)

const (
	// lease is how long a worker has a booking: for polls of at most 20 seconds, and OnOutcome.
	// It is also the pause after a failure.
	lease = time.Minute
	// pollWithin is when the last poll of a lease may begin, and ends the time of OnOutcome
	// early enough to store the outcome.
	pollWithin = 20 * time.Second
	deliverBy  = lease - 5*time.Second
	// unreadablePause is the pause after a row that is unreadable.
	unreadablePause = 5 * time.Minute
	// claimTimeout bounds the statements that look for work.
	claimTimeout = 10 * time.Second
	// stopWithin is how long Run waits at its end: longer than it takes to store or give back.
	stopWithin = storeTimeout + 5*time.Second
)

// Run sends the bookings that were begun and whose Send did not come, polls for the orders of
// those whose outcome is unknown, and calls OnOutcome when it is known, until ctx ends. Call it
// in every process; one is enough, two survive the end of one.
//
// When ctx ends it returns nil, after what is under way: a Book is cancelled, so that its
// outcome is unknown, and a poll is given back. An OnOutcome that has not returned 15 seconds
// later is an error, which names its booking. While it has not returned, this process leaves
// the booking to others.
//
// It leaves alone the bookings of other accounts, which are those of another base URL or
// credential, and logs at its start how many of them are open.
//
// It returns a *SchemaError at once if the tables do not fit. Other failures of the database
// are logged, and Run continues.
func (j *Journal) Run(ctx context.Context) error {
	for {
		_, err := Check(ctx, j.db.DB, j.db.dialect)
		if err == nil || ctx.Err() != nil {
			break
		}
		if schema := new(SchemaError); errors.As(err, &schema) {
			return err
		}
		j.opts.Logger.ErrorContext(ctx, "the journal waits for its database", slog.String("error", err.Error()))
		j.pause(ctx)
	}
	workers := make(chan struct{}, j.opts.MaxWorkers)
	var running sync.WaitGroup
	var reading atomic.Bool // one worker at most reads orders that are followed
	running.Go(func() { j.lookForOthers(ctx) })
	for {
		select {
		case workers <- struct{}{}:
		case <-ctx.Done():
			return j.stopped(&running)
		}
		free := cap(workers) - len(workers) + 1
		claimed, err := j.claim(ctx, free)
		var jobs []func()
		for _, job := range claimed {
			jobs = append(jobs, func() { j.work(ctx, job) })
		}
		if err == nil && j.opts.OnCancel != nil && len(jobs) < free {
			var leased []*cancelEntry
			leased, err = cancels.claim(ctx, j, func(due []*cancelEntry) []*cancelEntry { return due[:min(len(due), free-len(jobs))] })
			for _, e := range leased {
				jobs = append(jobs, func() { j.workCancel(ctx, e) })
			}
		}
		if err == nil && j.opts.OnOrder != nil && len(jobs) < free {
			var read func()
			if read, err = j.readOfOrders(ctx, &reading); read != nil {
				jobs = append(jobs, read)
			}
		}
		if err != nil && ctx.Err() == nil {
			j.opts.Logger.WarnContext(ctx, "cannot look for what is due", slog.String("error", err.Error()))
		}
		for i, job := range jobs {
			if i > 0 {
				workers <- struct{}{} // at once: nobody else takes them
			}
			running.Go(func() {
				defer func() { <-workers }()
				job()
			})
		}
		if len(jobs) == 0 {
			<-workers
			j.pause(ctx)
		}
	}
}

// readOfOrders leases orders that are due, and returns the read of them. It returns nil if there are
// none, or a read is under way.
func (j *Journal) readOfOrders(ctx context.Context, reading *atomic.Bool) (func(), error) {
	if !reading.CompareAndSwap(false, true) {
		return nil, nil
	}
	leased, err := orders.claim(ctx, j, func(due []*orderEntry) []*orderEntry {
		return slices.DeleteFunc(due, func(e *orderEntry) bool { return e.Market != due[0].Market || e.UserRef != due[0].UserRef })
	})
	if len(leased) == 0 {
		reading.Store(false)
		return nil, err
	}
	return func() {
		defer j.wakeRun() // others may have become due meanwhile
		defer reading.Store(false)
		j.workOrders(ctx, leased)
	}, err
}

// stopped waits for the workers, but not for a function of the caller that ignores its ctx.
func (j *Journal) stopped(running *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-time.After(stopWithin):
		return fmt.Errorf("hotelstayssql: Run has stopped, but OnOutcome has not returned for %q; let it end with its ctx", j.underway())
	}
}

// lookForOthers logs that there are open bookings of other accounts, as after a change of the base
// URL or the credential. Nobody may be polling for them.
func (j *Journal) lookForOthers(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	n, err := j.countOthers(limited)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		j.opts.Logger.WarnContext(ctx, "cannot look for bookings of other accounts", slog.String("error", err.Error()))
	case n > 0:
		j.opts.Logger.InfoContext(ctx, "bookings of another base URL or credential are open; "+
			"this process leaves them to a journal with a client of those", slog.Int("bookings", n))
	}
}

// countOthers goes from account to account, because an index finds each at once.
func (j *Journal) countOthers(ctx context.Context) (n int, err error) {
	for account := []byte{}; ; {
		err := j.db.QueryRowContext(ctx, j.db.dialect.sql(
			`SELECT account FROM hotelstays_journal WHERE account > ? ORDER BY account LIMIT 1`), account).Scan(&account)
		if errors.Is(err, sql.ErrNoRows) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		if bytes.Equal(account, j.account) {
			continue
		}
		var open int
		err = j.db.QueryRowContext(ctx, j.db.dialect.sql(
			`SELECT COUNT(*) FROM hotelstays_journal WHERE account = ? AND live = 1`), account).Scan(&open)
		if err != nil {
			return n, err
		}
		n += open
	}
}

// pause waits until Run should look for work again.
func (j *Journal) pause(ctx context.Context) {
	timer := time.NewTimer(j.opts.PollInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.woken:
	case <-ctx.Done():
	}
}

func (j *Journal) wakeRun() {
	select {
	case j.woken <- struct{}{}:
	default: // Run has not noticed the last one yet
	}
}

// shared is what bookings have in common that one poll asks for.
type shared struct{ market, userRef string }

// jobsOf divides bookings among at most n workers. Bookings that one poll may ask for are one job.
func jobsOf(due []*entry, now time.Time, n int) (jobs [][]*entry) {
	polls := map[shared]int{} // the index of a job
	for _, e := range due {
		poll, alone := shared{e.Recovery.Market, e.Recovery.UserRef}, !e.PollTogether(now)
		if i, found := polls[poll]; found && !alone {
			jobs[i] = append(jobs[i], e)
		} else if len(jobs) < n {
			if !alone {
				polls[poll] = len(jobs)
			}
			jobs = append(jobs, []*entry{e})
		}
	}
	return jobs
}

// claim takes leases for at most n workers. Each gets a job: a booking, or several that one poll
// asks for.
func (j *Journal) claim(ctx context.Context, n int) (jobs [][]*entry, err error) {
	leased, err := bookings.claim(ctx, j, func(due []*entry) []*entry {
		jobs = jobsOf(due, time.Now(), n)
		return slices.Concat(jobs...)
	})
	for i := range jobs {
		jobs[i] = slices.DeleteFunc(jobs[i], func(e *entry) bool { return !slices.Contains(leased, e) })
	}
	return slices.DeleteFunc(jobs, func(job []*entry) bool { return len(job) == 0 }), err
}

// work does what was claimed. After a failure the lease ends, and any worker continues.
func (j *Journal) work(ctx context.Context, entries []*entry) {
	defer j.logPanic(ctx, "bookings are recovered later") // of the poll for all of them
	for _, e := range j.pollTogether(ctx, entries) {
		err := j.step(ctx, e)
		if err != nil && ctx.Err() != nil {
			err = giveBack(ctx, j, e)
		}
		if err != nil && !errors.Is(err, errMoved) {
			j.opts.Logger.ErrorContext(ctx, "a booking is recovered later",
				slog.String("reference", e.reference), slog.String("error", err.Error()))
		}
	}
}

// logPanic ends a panic of the caller's code, such as OnOutcome or the client's transport. Its text may hold a secret of the request.
func (j *Journal) logPanic(ctx context.Context, what string) {
	if panicked := recover(); panicked != nil {
		j.opts.Logger.ErrorContext(ctx, what, slog.String("panic", fmt.Sprintf("%T", panicked)), slog.String("stack", string(debug.Stack())))
	}
}

// step sends a booking that waits for Send, or polls for its order.
func (j *Journal) step(ctx context.Context, e *entry) error {
	defer j.logPanic(ctx, "a booking is recovered later") // and the others of its job go on
	if e.Phase(time.Now()) != durable.PhaseWaiting {
		return j.poll(ctx, e)
	}
	_, err := j.Send(ctx, e.reference)
	_, unknown := errors.AsType[*hotelstays.OutcomeUnknownError](err)
	if unknown || errors.Is(err, durable.ErrAlreadyStarted) || errors.Is(err, durable.ErrAlreadyBooked) ||
		errors.Is(err, durable.ErrNotBegun) {
		return nil // it is handed over, or the caller was faster
	}
	return err
}

// giveBack ends the lease of an entry.
func giveBack[E leased](ctx context.Context, j *Journal, e E) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	_, err := postpone(ctx, j, []E{e}, func(E) time.Time { return time.Now() })
	return err
}

// pollTogether polls for several bookings at once. It stores when those that were not found are
// due, and returns the others: a poll of its own shows whether an order is the expected one.
func (j *Journal) pollTogether(ctx context.Context, entries []*entry) (found []*entry) {
	if len(entries) == 1 || late(entries[0].Due, time.Now()) {
		return entries
	}
	req := &hotelstays.QueryOrdersRequest{}
	for _, e := range entries {
		req.CustomerReferenceNos = append(req.CustomerReferenceNos, e.reference)
	}
	at := time.Now()
	resp, err := j.client.QueryOrders(ctx, req, append(entries[0].Options(), hotelstays.WithTimeout(pollWithin))...)
	orders := map[string]bool{}
	switch {
	case ctx.Err() != nil:
		return entries // to be given back
	case isOfContent(err): // perhaps of one reference alone
		half := len(entries) / 2
		return append(j.pollTogether(ctx, entries[:half:half]), j.pollTogether(ctx, entries[half:])...)
	case err != nil:
		j.opts.Logger.WarnContext(ctx, "a poll for many bookings failed", slog.Int("bookings", len(entries)), slog.String("error", err.Error()))
	default:
		for i := range resp.Orders {
			orders[resp.Orders[i].CustomerReferenceNo] = true
		}
	}
	var missed []*entry
	for _, e := range entries {
		if orders[e.reference] {
			found = append(found, e)
		} else {
			missed = append(missed, e)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if _, err := postpone(ctx, j, missed, func(e *entry) time.Time { return e.Missed(at).Due }); err != nil {
		j.opts.Logger.WarnContext(ctx, "bookings are polled for again", slog.Int("bookings", len(missed)), slog.String("error", err.Error()))
	}
	return found
}

// isOfContent reports whether an error is about what a request asks for, so that another request
// may be answered: a refusal, or an order that is unreadable.
func isOfContent(err error) bool {
	if _, ok := errors.AsType[*hotelstays.DecodeError](err); ok {
		return true
	}
	answer, ok := errors.AsType[*hotelstays.APIError](err)
	if !ok || answer.HTTPStatus/100 != 4 {
		return errors.Is(err, hotelstays.ErrParam)
	}
	switch answer.HTTPStatus {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return true
}

// late reports whether it is too late in a lease for another poll: this process was frozen, or
// the polls before took long.
func late(leased, now time.Time) bool { return now.After(leased.Add(pollWithin - lease)) }

// poll polls for the order of a booking and acts on the answer. A worker that has lost its
// booking meanwhile stores nothing but an order: the error is errMoved.
func (j *Journal) poll(ctx context.Context, e *entry) error {
	at, recovery, leased := time.Now(), e.Recovery, e.Due
	if late(e.Due, at) {
		return giveBack(ctx, j, e)
	}
	outcome, err := j.client.StepRecovery(ctx, &recovery)
	next, final := e.Polled(at, outcome, err)
	storeCtx, cancel := context.WithDeadline(ctx, leased.Add(deliverBy-lease))
	defer cancel()
	deliver := func(ctx context.Context, tx *sql.Tx) error { return j.deliver(ctx, tx, final) }
	switch {
	case final != nil:
		if final.State != hotelstays.BookingFound {
			ended, _, err := e.End(final)
			if err != nil {
				return err
			}
			return j.store(storeCtx, e, ended, deliver)
		}
		// An order that exists counts, also if a wake-up has come meanwhile.
		polled := e.Booking
		return j.apply(storeCtx, e, func(b durable.Booking) (durable.Booking, bool, error) {
			if !sameRound(b, polled) {
				return b, false, errMoved
			}
			return b.End(final)
		}, deliver)
	case err != nil:
		return err
	case next.Unverified > e.Unverified:
		j.opts.Logger.WarnContext(ctx, "a booking is still unverified; its polls continue",
			slog.String("reference", e.reference), slog.Int("polls", next.Unverified), slog.String("error", fmt.Sprint(outcome.Err)))
	}
	return j.store(storeCtx, e, next, nil)
}

// Wake makes Run poll for an order now, off the schedule: in this process at once, in others
// within PollInterval. That of a cancellation, and one that is followed, is read as well. Call it from a webhook handler with
// the event's reference, but after HandleTx: it writes in transactions of its own. Unknown and ended
// bookings, and those that wait for Send, stay as they are, without an error.
func (j *Journal) Wake(ctx context.Context, customerReferenceNo string) error {
	e, err := j.read(ctx, customerReferenceNo)
	if err == nil {
		err = j.apply(ctx, e, func(b durable.Booking) (durable.Booking, bool, error) {
			next, ok := b.Wake(time.Now())
			return next, ok, nil
		}, nil)
	}
	if errors.Is(err, durable.ErrNotBegun) {
		err = nil
	}
	if err == nil && j.opts.OnCancel != nil {
		err = j.wakeCancel(ctx, customerReferenceNo)
	}
	if err == nil {
		err = j.wakeOrder(ctx, customerReferenceNo)
	}
	if err != nil {
		return j.db.failed(err, "Wake: reference %q", customerReferenceNo)
	}
	j.wakeRun()
	return nil
}
