// Run: the work that is due in a database without a scheduler.

package durable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

const (
	// lease is how long a row belongs to the worker that has claimed it. It is enough for a read of at most 20 seconds
	// and a call such as OnOutcome. lease is also the pause after a failure.
	lease = time.Minute
	// stepWithin is the time limit of a step. It leaves five seconds of the lease to store the result.
	stepWithin = lease - 5*time.Second
	// unreadablePause is the pause before an unreadable row is logged again.
	unreadablePause = 5 * time.Minute
	// lockedPause is how long Run skips a row that another process has locked, or has just leased.
	lockedPause = 5 * time.Second
	// A row waits for sharePause if its account already uses its share of the workers, and for
	// unknownPause if its account is unknown.
	sharePause   = time.Second
	unknownPause = time.Minute
	// claimTimeout is the time limit of a search for due rows, including the lease of these rows.
	claimTimeout = 10 * time.Second
	// stopWithin is how long Run waits for its workers after ctx has ended. It is longer than it takes to store a
	// result or end a lease.
	stopWithin = storeTimeout + 5*time.Second
	// maxReferences is the maximum number of references in one request.
	maxReferences = 100
)

// Work does the next step of a row that a scheduler says is due, within Timeout. It returns when the following
// step is due, or the zero time if the row has ended. If err == ErrMoved, another process has changed or leased
// the row: look at the row again in a second. Do not use errors.Is, because an error of the caller's function may
// match ErrMoved, too.
//
// The parameter workers is how many rows of the kind the scheduler works on at the same time in this process. With
// Options.Clients a row waits while its account is unknown, or already uses its share of the workers.
func (e *Engine[Tx]) Work(ctx context.Context, row *Row, workers int) (due time.Time, err error) {
	e = e.of(row.Account)
	if e.client == nil && row.Unreadable == nil {
		e.logUnknown(ctx, row)
		return time.Now().Add(unknownPause), nil
	}
	if e.opts.Clients != nil {
		kind, _ := e.scheduled.LoadOrStore(row.Kind, newShares(workers, nil, true))
		shared, _ := kind.(*shares)
		if !shared.takeShare(row.Kind, row.Account) {
			return time.Now().Add(sharePause), nil
		}
		defer shared.give(row.Kind, row.Account)
	}
	return e.guarded(ctx, row, e.next)
}

// guarded calls step, unless another worker of this process already works on the row. It turns a panic into an error.
func (e *Engine[Tx]) guarded(ctx context.Context, row *Row,
	step func(context.Context, *Row) (time.Time, error)) (due time.Time, err error) {
	id := row.ID
	if _, held := e.working.LoadOrStore(id, nil); held { // so a function that hangs blocks only one worker
		return due, ErrMoved
	}
	defer e.working.Delete(id)
	defer func() {
		if panicked := recover(); panicked != nil {
			err = e.panicked(ctx, panicked)
		}
	}()
	return step(ctx, row)
}

// panicked logs the stack of a panic of the caller's code, such as OnOutcome or the client's transport. It returns
// an error without the text of the panic, because that text may quote a request.
func (e *Engine[Tx]) panicked(ctx context.Context, panicked any) error {
	e.log.ErrorContext(ctx, "a step panicked; it is tried again later",
		slog.String("panic", fmt.Sprintf("%T", panicked)), slog.String("stack", string(debug.Stack())))
	return fmt.Errorf("a panic of type %T; the Logger has its stack", panicked)
}

func (e *Engine[Tx]) next(ctx context.Context, row *Row) (due time.Time, err error) {
	switch row.Kind {
	case KindCancel:
		return e.workCancel(ctx, row)
	case KindOrder:
		return e.workOrder(ctx, row)
	}
	return e.workBooking(ctx, row)
}

// Timeout returns how long a step of a row may take, including the functions of the caller.
func (e *Engine[Tx]) Timeout(row *Row) time.Duration {
	switch row.Kind {
	case KindBooking:
		if b, _ := read[booking](row); b.Phase(time.Now()) == PhaseWaiting {
			return e.opts.BookTimeout + lease
		}
	case KindCancel:
		if c, _ := read[cancellation](row); c.phase(time.Now()) == PhaseWaiting {
			return e.opts.BookTimeout + lease
		}
	}
	return stepWithin
}

func (e *Engine[Tx]) kinds() []Kind {
	kinds := []Kind{KindBooking}
	if e.opts.OnCancel != nil {
		kinds = append(kinds, KindCancel)
	}
	if e.opts.OnOrder != nil {
		kinds = append(kinds, KindOrder)
	}
	return kinds
}

type run[Tx any] struct {
	*Engine[Tx] // Engine of all accounts; in a job, the Engine of one account
	queue       Queue
	locked      map[ID]time.Time // rows that other processes have locked -> time until which Run skips them
	last        map[Kind]string  // for each kind: the account that was the last to get a worker
	workers     *shares
	ended       *sync.WaitGroup
}

// Run works on the due rows of a Queue, until ctx ends. It sends bookings for which nobody called Send, polls for the
// orders of bookings with an unknown outcome, sends cancellations, and reads followed orders. Call it in every process
// that may work on rows. One such process can do all the work; with two of them, the work continues if one process
// ends.
//
// When ctx ends, Run interrupts the requests in progress, stores their results, and returns nil. The outcome of an
// interrupted Book is unknown. An interrupted poll is due again immediately. If a function of the caller has not
// returned 15 seconds later, Run returns an error that names the function.
func (e *Engine[Tx]) Run(ctx context.Context, queue Queue) error {
	kinds := e.kinds()
	r := &run[Tx]{Engine: e, queue: queue, locked: map[ID]time.Time{}, last: map[Kind]string{},
		workers: newShares(e.opts.MaxWorkers, kinds, e.opts.Clients != nil), ended: &sync.WaitGroup{}}
	if e.opts.SingleProcess {
		e.pollInterrupted(ctx)
	}
	for turn := 0; ; turn++ {
		started := false
		for i := range kinds { // each turn begins with another kind, so that no kind always comes first
			kind := kinds[(turn+i)%len(kinds)]
			free := r.workers.free(kind)
			if free == 0 || ctx.Err() != nil {
				continue
			}
			jobs, err := r.claim(ctx, kind, free)
			if err != nil && ctx.Err() == nil {
				e.log.WarnContext(ctx, "cannot look for due rows", slog.String("error", err.Error()))
			}
			for _, rows := range jobs {
				started = true
				mine := r.forAccount(rows[0].Account)
				mine.start(ctx, kind, func() { mine.work(ctx, kind, rows) })
			}
		}
		if ctx.Err() != nil {
			return r.stopped()
		}
		if !started {
			r.pause(ctx)
		}
	}
}

func (r *run[Tx]) forAccount(account string) *run[Tx] {
	mine := *r
	mine.Engine = r.of(account)
	return &mine
}

// start runs a job in a new goroutine, and counts it as a worker of the kind.
func (r *run[Tx]) start(ctx context.Context, kind Kind, job func()) {
	r.workers.take(kind, r.account)
	r.ended.Go(func() {
		defer r.workers.give(kind, r.account)
		defer func() {
			if panicked := recover(); panicked != nil { // a panic outside a step, in a request for several rows
				_ = r.panicked(ctx, panicked)
			}
		}()
		job()
	})
}

// pause waits until Run should look for work again.
func (r *run[Tx]) pause(ctx context.Context) {
	select {
	case <-time.After(r.opts.PollInterval):
	case <-r.woken:
		clear(r.locked) // a row may have changed since Run found it locked, so Run skips no row now
	case <-r.workers.freed:
	case <-ctx.Done():
	}
}

func (e *Engine[Tx]) wakeRun() {
	select {
	case e.woken <- struct{}{}:
	default: // an earlier wake-up still waits for Run
	}
}

// stopped waits until the workers have ended. If a function such as OnOutcome ignores the end of its ctx, stopped gives
// up after stopWithin and returns an error.
func (r *run[Tx]) stopped() error {
	ended := make(chan struct{})
	go func() { r.ended.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-time.After(stopWithin):
		return r.failed(fmt.Errorf("these calls have not returned: %q; let them end with their ctx", r.Hanging()), "Run has stopped")
	}
}

// claim leases rows of a kind for at most n workers. Each worker gets a job: one row, or several rows
// that share a request.
func (r *run[Tx]) claim(ctx context.Context, kind Kind, n int) (jobs [][]Row, err error) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	now := time.Now()
	due, err := r.queue.Due(ctx, DueLook{Kind: kind, Account: r.account, At: now, Limit: maxReferences + r.opts.MaxWorkers + len(r.locked),
		After: r.last[kind], Each: max(maxReferences/n, 1)})
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(r.locked, func(_ ID, until time.Time) bool { return !now.Before(until) })
	due = slices.DeleteFunc(due, func(row Row) bool { return !r.locked[row.ID].IsZero() })
	due = r.ofKnown(ctx, kind, due)
	var bad []Row
	due = slices.DeleteFunc(due, func(row Row) bool {
		if r.unreadable(ctx, &row) {
			bad = append(bad, row)
			return true
		}
		_, held := r.working.Load(row.ID) // no new lease for a row that this process works on, so that others can claim it
		return held
	})
	r.postpone(ctx, bad, func(Row) time.Time { return now.Add(unreadablePause) })
	jobs = r.jobsOf(kind, due[:min(len(due), maxReferences)], now, n)
	if len(jobs) == 0 {
		return nil, nil
	}
	leased, err := r.queue.Postpone(ctx, slices.Concat(jobs...), func(Row) time.Time { return now.Add(lease) })
	for i := range jobs {
		var mine []Row
		for _, row := range jobs[i] {
			if j := slices.IndexFunc(leased, func(l Row) bool { return l.ID == row.ID }); j >= 0 {
				mine = append(mine, leased[j])
			} else {
				r.locked[row.ID] = now.Add(lockedPause)
			}
		}
		jobs[i] = mine
	}
	return slices.DeleteFunc(jobs, func(job []Row) bool { return len(job) == 0 }), err
}

// unreadable reports whether the state of a row cannot be decoded, and logs why.
func (r *run[Tx]) unreadable(ctx context.Context, row *Row) bool {
	var err error
	switch row.Kind {
	case KindCancel:
		_, err = read[cancellation](row)
	case KindOrder:
		_, err = read[followed](row)
	default:
		_, err = read[booking](row)
	}
	if err != nil {
		r.of(row.Account).log.ErrorContext(ctx, "a row cannot be worked on", slog.String("error", err.Error()))
	}
	return err != nil
}

// shared holds the account and the options of a request. All rows of a request must have the same values.
type shared struct{ account, market, userRef string }

// sharing returns the account and the options with which a row is read. Rows with equal values can share a request.
// The result alone is true if the row needs its own request.
func sharing(row *Row, now time.Time) (with shared, alone bool) {
	with.account = row.Account
	switch row.Kind {
	case KindBooking:
		b, _ := read[booking](row)
		with.market, with.userRef, alone = b.Recovery.Market, b.Recovery.UserRef, !b.pollTogether(now)
	case KindOrder:
		f, _ := read[followed](row)
		with.market, with.userRef = f.Market, f.UserRef
	default:
		c, _ := read[cancellation](row)
		with.market, with.userRef, alone = c.Options.Market, c.Options.UserRef, true
	}
	return with, alone
}

// jobsOf divides rows among at most n workers. Rows that can share a request are one job. Nobody waits for
// followed orders, so one worker reads the orders of many users of an account, one request after the other.
func (r *run[Tx]) jobsOf(kind Kind, due []Row, now time.Time, n int) (jobs [][]Row) {
	requests := map[shared]int{}  // request -> index of the job that makes it
	started := map[string][]int{} // account -> indexes of its jobs
	next := 0
	for _, row := range due {
		with, alone := sharing(&row, now)
		i, found := requests[with]
		own := started[row.Account]
		switch {
		case found && !alone:
		case len(jobs) < n && r.workers.mayHave(row.Account, len(own), len(jobs)):
			if len(own) == 0 {
				r.last[kind] = row.Account
			}
			i, jobs = len(jobs), append(jobs, nil)
			started[row.Account] = append(own, i)
		case kind == KindOrder && len(own) > 0:
			i, next = own[next%len(own)], next+1
		default:
			continue
		}
		if jobs[i] = append(jobs[i], row); !alone {
			requests[with] = i
		}
	}
	return jobs
}

func (r *run[Tx]) work(ctx context.Context, kind Kind, rows []Row) {
	if r.client == nil { // the account has become unknown after the claim; its rows are due again after the lease
		return
	}
	if kind == KindOrder {
		r.workOrders(ctx, rows)
		return
	}
	if len(rows) > 1 {
		rows = r.pollTogether(ctx, rows, time.Now())
	}
	r.each(ctx, kind, rows, func(ctx context.Context, row *Row) (time.Time, error) { return r.next(ctx, row) })
}

// each calls step for each row, on as many workers as are free. While a slow function such as OnOutcome blocks
// one worker, other workers continue with the other rows.
func (r *run[Tx]) each(ctx context.Context, kind Kind, rows []Row, step func(context.Context, *Row) (time.Time, error)) {
	left := make(chan *Row, len(rows))
	for i := range rows {
		left <- &rows[i]
	}
	close(left)
	var work func()
	work = func() {
		for row := range left {
			if len(left) > 0 && r.workers.free(kind) > 0 && r.workers.mayHave(r.account, 0, 0) {
				r.start(ctx, kind, work)
			}
			r.step(ctx, row, step)
		}
	}
	work()
}

// step calls the function step for a row, and makes it end before the lease of the row ends. After a failure any worker
// may try again later.
func (r *run[Tx]) step(ctx context.Context, row *Row, step func(context.Context, *Row) (time.Time, error)) {
	stepCtx, cancel := context.WithCancel(ctx)
	if r.Timeout(row) == stepWithin { // otherwise the step is a Book or a Cancel, which has its own time limit
		stepCtx, cancel = context.WithTimeout(ctx, time.Until(row.Due)-(lease-stepWithin))
	}
	defer cancel()
	_, err := r.guarded(stepCtx, row, step)
	now := time.Now()
	switch {
	case err == nil || errors.Is(err, ErrMoved) && !isOfHandler(err):
	case ctx.Err() != nil:
		r.endLease(ctx, row, now)
	default:
		r.log.ErrorContext(ctx, "a step failed; it is tried again later",
			slog.String("kind", string(row.Kind)), slog.String("reference", row.Reference), slog.String("error", err.Error()))
		if isOfHandler(err) || stepCtx.Err() == nil { // if only stepCtx has ended, too little of the lease was left: the row is due now
			now = now.Add(lease)
		}
		r.endLease(ctx, row, now)
	}
}

// endLease ends the lease of a row, so that workers claim it again when it is due.
func (r *run[Tx]) endLease(ctx context.Context, row *Row, due time.Time) {
	r.postpone(ctx, []Row{*row}, func(Row) time.Time { return due })
}

// postpone sets when rows are due, even if ctx has ended.
func (r *run[Tx]) postpone(ctx context.Context, rows []Row, due func(Row) time.Time) {
	if len(rows) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if _, err := r.queue.Postpone(ctx, rows, due); err != nil {
		r.log.WarnContext(ctx, "rows are worked on again at the end of their lease",
			slog.String("kind", string(rows[0].Kind)), slog.Int("rows", len(rows)), slog.String("error", err.Error()))
	}
}
