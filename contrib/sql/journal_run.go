// Run: bookings with an unknown outcome come to their end.

package hotelstayssql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
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
)

// Run polls for the orders of bookings whose outcome is unknown, and calls OnOutcome when it
// is known, until ctx ends. Then it returns nil, after the polls that are under way. Call it in
// every process; one is enough, two survive the end of one.
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
	defer running.Wait()
	running.Go(func() { j.lookForOthers(ctx) })
	for {
		select {
		case workers <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		jobs, err := j.claim(ctx, cap(workers)-len(workers)+1)
		if err != nil && ctx.Err() == nil {
			j.opts.Logger.WarnContext(ctx, "cannot look for bookings to recover", slog.String("error", err.Error()))
		}
		for i, job := range jobs {
			if i > 0 {
				workers <- struct{}{} // at once: nobody else takes them
			}
			running.Go(func() {
				defer func() { <-workers }()
				j.work(ctx, job)
			})
		}
		if len(jobs) == 0 {
			<-workers
			j.pause(ctx)
		}
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
		j.opts.Logger.InfoContext(ctx, "bookings of another base URL or credential are open; this process leaves them to a journal with a client of those",
			slog.Int("bookings", n))
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
		err = j.db.QueryRowContext(ctx, j.db.dialect.sql(`SELECT COUNT(*) FROM hotelstays_journal WHERE account = ? AND live = 1`), account).Scan(&open)
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

// together names the polls that can be made together. It is zero for a poll of its own.
type together struct {
	possible        bool
	market, userRef string
}

func togetherOf(e *entry, now time.Time) together {
	if !e.PollTogether(now) {
		return together{}
	}
	return together{true, e.Recovery.Market, e.Recovery.UserRef}
}

// claim takes leases for at most n workers. Each gets a booking, or several that one poll asks
// for.
func (j *Journal) claim(ctx context.Context, n int) (jobs [][]*entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	now := time.Now()
	due, unreadable, err := j.page(ctx, `due <= ? ORDER BY due`, micros(now))
	if err != nil {
		return nil, err
	}
	for _, bad := range unreadable {
		j.opts.Logger.ErrorContext(ctx, "a booking cannot be recovered", slog.String("error", bad.Error()))
		if err := j.postpone(ctx, &bad.entry, unreadablePause); err != nil {
			return nil, err
		}
	}
	changed, err := j.changeAll(ctx, choose(due, now, n), func(e *entry) durable.Booking {
		next := e.TakeOver(now)
		next.Due = now.Add(lease)
		return next
	})
	groups := map[together]int{} // the index of a job
	for _, e := range changed {
		key := togetherOf(e, now)
		if i, ok := groups[key]; ok {
			jobs[i] = append(jobs[i], e)
			continue
		}
		if key != (together{}) {
			groups[key] = len(jobs)
		}
		jobs = append(jobs, []*entry{e})
	}
	return jobs, err
}

// choose returns the first bookings that n workers can poll for.
func choose(due []*entry, now time.Time, n int) (chosen []*entry) {
	groups := map[together]bool{}
	for _, e := range due {
		key := togetherOf(e, now)
		switch {
		case groups[key]:
		case n == 0:
			continue
		default:
			n--
			groups[key] = key != together{}
		}
		chosen = append(chosen, e)
	}
	return chosen
}

// postpone makes a row due later, and leaves the rest of it as it is.
func (j *Journal) postpone(ctx context.Context, e *entry, pause time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := j.write(ctx, j.db, e, `due = ?`, micros(time.Now().Add(pause)))
	if errors.Is(err, errMoved) {
		return nil
	}
	return err
}

// work does what was claimed. After a failure the lease ends, and any worker continues.
func (j *Journal) work(ctx context.Context, entries []*entry) {
	defer func() {
		if panicked := recover(); panicked != nil {
			j.opts.Logger.ErrorContext(ctx, "a booking is recovered later", slog.String("error", fmt.Sprint("panic: ", panicked)))
		}
	}()
	if len(entries) > 1 {
		entries = j.pollTogether(ctx, entries)
	}
	for _, e := range entries {
		err := j.poll(ctx, e)
		if err != nil && ctx.Err() != nil {
			err = j.release(ctx, e)
		}
		if err != nil && !errors.Is(err, errMoved) {
			j.opts.Logger.ErrorContext(ctx, "a booking is recovered later",
				slog.String("reference", e.reference), slog.String("error", err.Error()))
		}
	}
}

// release ends the lease of a booking, because this process stops.
func (j *Journal) release(ctx context.Context, e *entry) error {
	return j.postpone(context.WithoutCancel(ctx), e, 0)
}

// pollTogether polls for many bookings at once. It stores when those that were not found are
// due, and returns the others: a poll of its own shows whether an order is the expected one.
func (j *Journal) pollTogether(ctx context.Context, entries []*entry) (found []*entry) {
	req := &hotelstays.QueryOrdersRequest{}
	for _, e := range entries {
		req.CustomerReferenceNos = append(req.CustomerReferenceNos, e.reference)
	}
	at := time.Now()
	resp, err := j.client.QueryOrders(ctx, req, append(optionsOf(&entries[0].Recovery), hotelstays.WithTimeout(pollWithin))...)
	orders := map[string]bool{}
	switch {
	case ctx.Err() != nil:
		return entries // to be released
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
	if _, err := j.changeAll(ctx, missed, func(e *entry) durable.Booking { return e.Missed(at) }); err != nil {
		j.opts.Logger.WarnContext(ctx, "bookings are polled for again", slog.Int("bookings", len(missed)), slog.String("error", err.Error()))
	}
	return found
}

// poll polls for the order of a booking and acts on the answer. A worker that has lost its
// booking meanwhile stores nothing but an order: the error is errMoved.
func (j *Journal) poll(ctx context.Context, e *entry) error {
	at, recovery, leased := time.Now(), e.Recovery, e.Due
	if at.After(leased.Add(pollWithin - lease)) {
		return j.postpone(ctx, e, 0) // this process was frozen, or the polls before took long
	}
	outcome, err := j.client.StepRecovery(ctx, &recovery)
	next, final := e.Polled(at, outcome, err)
	storing, cancel := context.WithDeadline(ctx, leased.Add(deliverBy-lease))
	defer cancel()
	switch {
	case final != nil:
		if final.State != hotelstays.BookingFound {
			ended, _, err := e.End(final)
			if err != nil {
				return err
			}
			return j.change(storing, e, ended, j.deliver(final))
		}
		// An order that exists counts, also if a wake-up has come meanwhile.
		polled := e.Booking
		return j.apply(storing, e, func(b durable.Booking) (durable.Booking, bool, error) {
			if !sameRound(b, polled) {
				return b, false, errMoved
			}
			return b.End(final)
		}, j.deliver(final))
	case err != nil:
		return err
	case next.Unverified > e.Unverified:
		j.opts.Logger.WarnContext(ctx, "a booking is still unverified; its polls continue",
			slog.String("reference", e.reference), slog.Int("polls", next.Unverified), slog.Any("error", outcome.Err))
	}
	return j.change(storing, e, next, nil)
}

// Wake makes Run poll for an order now, off the schedule: in this process at once, in others
// within PollInterval. Call it from a webhook handler with the event's reference, but after
// HandleTx: it writes in a transaction of its own. Unknown and ended bookings, and those that
// nobody has started to send, are left alone without an error.
func (j *Journal) Wake(ctx context.Context, customerReferenceNo string) error {
	e, err := j.read(ctx, customerReferenceNo)
	switch {
	case errors.Is(err, ErrNotBegun):
		return nil
	case err == nil:
		err = j.apply(ctx, e, func(b durable.Booking) (durable.Booking, bool, error) {
			next, ok := b.Wake(time.Now())
			return next, ok, nil
		}, nil)
	}
	if err != nil {
		return j.db.failed(err, "Wake: reference %q", customerReferenceNo)
	}
	j.wakeRun()
	return nil
}
