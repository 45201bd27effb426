// Recovery: finding the order after a Book with an unknown outcome.

package hotelstays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/hotelstays/hotelstays-go/internal/clone"
	"github.com/hotelstays/hotelstays-go/internal/transport"
	"github.com/hotelstays/hotelstays-go/types"
)

// BookingState says whether the order of a Book exists. No call returns the zero value.
type BookingState string

const (
	// BookingOpen: the recovery is not finished. Poll again at NextPoll.
	BookingOpen BookingState = "open"
	// BookingFound: the order exists. See its status.
	BookingFound BookingState = "found"
	// BookingAbsent: there is no order. Call CheckAvail, then you may call Book again under the
	// same reference, with a new BookingRecovery.
	BookingAbsent BookingState = "absent"
	// BookingUnverified: it is still unknown whether there is an order. Do not book again; poll from NextPoll on, or ask a
	// person. Err is an *AmbiguousReferenceError if several orders have the reference.
	BookingUnverified BookingState = "unverified"
)

// BookingOutcome is the result of a booking or its recovery.
type BookingOutcome struct {
	State BookingState
	// Order is set if State is BookingFound.
	Order *types.Order
	// Changes is the result of CompareOrder for BookRequest.Expect and Order; empty without Expect or Order.
	Changes OfferDiff
	// Err is the reason why the order was not found: the error of the last poll, or the *OutcomeUnknownError of Book, or
	// nil. Decide by State, not by Err.
	Err error
	// Recovery is the state of the recovery. To continue, pass it to RecoverBooking or StepRecovery, in any process.
	Recovery *BookingRecovery
	// Meta describes the answer of Book or of a poll that decided State. It is zero if no answer decided State during this
	// call.
	Meta ResponseMeta
}

// NewBookingRecovery returns the recovery of a Book with the same request and options. Store the recovery before Book: if
// this process dies, another process can find the booking with the recovery.
func (c *Client) NewBookingRecovery(req *BookRequest, opts ...CallOption) *BookingRecovery {
	if req == nil {
		req = &BookRequest{} // the empty request has no reference, so RecoverBooking refuses the recovery
	}
	if c == nil {
		c = &Client{} // the empty client has no fingerprint, so RecoverBooking refuses the recovery
	}
	set := c.collect(OpBook, operations[OpBook], opts)
	return &BookingRecovery{
		CustomerReferenceNo: req.CustomerReferenceNo,
		Fingerprint:         c.fingerprint,
		SessionID:           req.SessionID,
		Market:              set.Market,
		UserRef:             set.UserRef,
		Expect:              clone.Of(req.Expect),
	}
}

// BookAndRecover books. If the outcome of Book is unknown, it polls for the order, up to ten minutes after Book has ended. If
// the error is nil, check the State of the outcome: only after BookingAbsent may you book again. The errors are:
//
//   - Without an outcome: a refusal, or invalid input. Nothing was booked. If the code of a refusal is undocumented for
//     Book, a poll has checked that there is no order.
//   - With an outcome, an *OutcomeUnknownError: ctx ended. Continue with the Recovery of the outcome.
//   - With an outcome, the error of WithSaveRecovery's function after a poll. If the outcome is still unknown, an
//     *OutcomeUnknownError wraps the function's error.
//   - With an outcome of BookingFound, a *ReferenceReusedError: the Order has other dates than Expect.
//
// WithSaveRecovery lets a booking survive the end of the process.
func (c *Client) BookAndRecover(ctx context.Context, req *BookRequest, opts ...CallOption) (*BookingOutcome, error) {
	set := c.collect("BookAndRecover", operations[OpBook], opts)
	if err := checkCall(ctx, c, OpBook, req, set); err != nil {
		return nil, err
	}
	run := &recoveryRun{client: c, recovery: c.NewBookingRecovery(req, set.forCall(OpBook)), set: set}
	return helped(ctx, c, "BookAndRecover", func(ctx context.Context) (*BookingOutcome, error) { return run.book(ctx, req) })
}

func (run *recoveryRun) book(ctx context.Context, req *BookRequest) (*BookingOutcome, error) {
	if err := run.save(ctx); err != nil {
		return nil, fmt.Errorf("hotelstays: BookAndRecover: nothing was sent, because the recovery was not saved: %w", err)
	}
	resp, err := run.client.book(ctx, req, run.set.forCall(OpBook))
	run.recovery.ended(time.Now())
	if resp != nil {
		return run.recovery.found(resp.HotelOrder, resp.Meta)
	}
	unknown, refusal := run.recovery.doubt(err)
	if unknown == nil {
		return nil, err
	}
	run.refused = refusal != nil
	outcome, err := run.toEnd(ctx)
	switch {
	case run.refused && outcome.State == BookingAbsent && err == nil:
		return nil, refusal
	case outcome.State == BookingFound:
	case outcome.Err == nil:
		outcome.Err = unknown
	case run.refused: // the refusal explains why the polls find no order
		outcome.Err = &bothErrors{refusal, outcome.Err}
	}
	if still, ok := err.(*OutcomeUnknownError); ok {
		still.RequestID, still.TraceID, still.Err = unknown.RequestID, unknown.TraceID, &bothErrors{unknown.Err, still.Err}
	}
	return outcome, err
}

// doubt returns the *OutcomeUnknownError of a Book if an order may exist, or nil. The result refusal is set if Book was
// refused with a code that is undocumented for Book.
func (r *BookingRecovery) doubt(err error) (unknown *OutcomeUnknownError, refusal *APIError) {
	if errors.As(err, &unknown) {
		err = unknown.Err
	}
	answer, ok := err.(*APIError)
	if !ok || !answer.undocumentedRefusal() {
		return unknown, nil
	}
	marked, plain := *answer, *answer // copies, because an observer holds the original error
	marked.unknown, plain.unknown = true, false
	return &OutcomeUnknownError{Operation: OpBook, CustomerReferenceNo: r.CustomerReferenceNo, RequestID: answer.RequestID,
		TraceID: answer.TraceID, Err: &marked}, &plain
}

// undocumentedRefusal reports whether Book was refused with a code that is undocumented for Book, so that the order may
// exist. A 401 or a 429 does not count, because with these statuses the service refuses before it books.
func (e *APIError) undocumentedRefusal() bool {
	return e.Operation == OpBook && e.seemsRefused() && !e.listed() &&
		e.HTTPStatus != http.StatusUnauthorized && e.HTTPStatus != http.StatusTooManyRequests
}

// RecoverBooking continues a recovery, and returns the same results as BookAndRecover. It polls at the times that the
// package documentation lists, or once if these times are over. On each wake-up of WithWakeup it polls immediately. A poll
// takes at most 20 seconds, or less with WithTimeout. A recovery of another environment or account is a *ValidationError.
func (c *Client) RecoverBooking(ctx context.Context, recovery *BookingRecovery, opts ...CallOption) (*BookingOutcome, error) {
	run, err := c.recoveryRun(ctx, "RecoverBooking", recovery, opts)
	if err != nil {
		return nil, err
	}
	return helped(ctx, c, "RecoverBooking", run.toEnd)
}

// StepRecovery is RecoverBooking for job queues: it polls at most once, and only if NextPoll is due. While State is
// BookingOpen or BookingUnverified, store outcome.Recovery and call StepRecovery again at its NextPoll. To poll earlier, set
// NextPoll to the current time.
func (c *Client) StepRecovery(ctx context.Context, recovery *BookingRecovery, opts ...CallOption) (*BookingOutcome, error) {
	run, err := c.recoveryRun(ctx, "StepRecovery", recovery, opts)
	if err != nil {
		return nil, err
	}
	outcome, err := run.step(ctx)
	if outcome.State != BookingOpen {
		run.logEnd(ctx, outcome)
	}
	return outcome, err
}

type recoveryRun struct {
	client   *Client
	recovery *BookingRecovery
	set      settings
	// bookEnded is EndedAt with a monotonic reading. It corrects EndedAt if somebody sets the clock during the recovery.
	bookEnded time.Time
	refused   bool // Book was refused with an undocumented code; one poll that finds no order confirms the refusal
}

func (c *Client) recoveryRun(ctx context.Context, name Operation, r *BookingRecovery, opts []CallOption) (*recoveryRun, error) {
	if err := c.usable(ctx, name); err != nil {
		return nil, err
	}
	set := c.collect(name, operations[OpQueryOrders], opts)
	f := set.faults
	switch {
	case r == nil:
		f.add("recovery", "is nil")
	case r.CustomerReferenceNo == "":
		f.add("recovery.customerReferenceNo", "is required")
	case r.Fingerprint != c.fingerprint:
		f.add("recovery.fingerprint",
			"was saved for another environment or account; use the client that booked (each TokenCredential counts as a separate account)")
	case r.Polls < 0 || r.Polls > len(recoverySchedule):
		f.add("recovery.polls", "is %d; it must lie between 0 and %d", r.Polls, len(recoverySchedule))
	default:
		f.text("recovery.customerReferenceNo", r.CustomerReferenceNo)
	}
	return &recoveryRun{client: c, recovery: r, set: set}, f.err(name)
}

func (run *recoveryRun) toEnd(ctx context.Context) (*BookingOutcome, error) {
	r := run.recovery
	if r.Polls == len(recoverySchedule) {
		r.NextPoll = time.Time{}
	}
	for {
		outcome, err := run.step(ctx)
		if err == nil && outcome.State == BookingOpen {
			ended := waitUntil(ctx, r.NextPoll, run.set.Wakeup)
			if ended == nil {
				if time.Now().Before(r.NextPoll) { // a wake-up came before NextPoll, so the poll is due now
					r.NextPoll = time.Now().UTC().Round(0)
				}
				continue
			}
			err = r.interrupted(ended)
		}
		run.logEnd(ctx, outcome)
		return outcome, err
	}
}

func (run *recoveryRun) step(ctx context.Context) (*BookingOutcome, error) {
	r, now := run.recovery, time.Now()
	if !run.bookEnded.IsZero() {
		r.EndedAt = now.Add(-now.Sub(run.bookEnded)).UTC().Round(0)
	}
	r.repairTimes(now)
	run.bookEnded = now.Add(-now.Sub(r.EndedAt))
	if time.Now().Before(r.NextPoll) {
		outcome := &BookingOutcome{State: BookingOpen, Recovery: r}
		if err := ctx.Err(); err != nil {
			return outcome, r.interrupted(err)
		}
		return outcome, nil
	}
	start := time.Now()
	outcome, absent, err := run.poll(ctx)
	if err != nil {
		return outcome, err
	}
	last := !start.Before(r.EndedAt.Add(recoveryEnd))
	switch {
	case outcome.State != BookingOpen:
	case absent != nil && (last || run.refused && r.Polls == 1):
		outcome.State, outcome.Meta = BookingAbsent, *absent
	case last:
		outcome.State = BookingUnverified
	}
	return outcome, run.saveAfter(ctx, outcome)
}

// poll reads the order once. The result absent is set if the answer proves that there is no order.
func (run *recoveryRun) poll(ctx context.Context) (outcome *BookingOutcome, absent *ResponseMeta, err error) {
	c, r := run.client, run.recovery
	outcome = &BookingOutcome{State: BookingOpen, Recovery: r}
	start := time.Now()
	order, meta, err := c.readOrder(ctx, r.CustomerReferenceNo, run.pollOption())
	if ctx.Err() != nil && err != nil {
		return outcome, nil, r.interrupted(ctx.Err())
	}
	r.polled(start)
	switch {
	case err != nil:
		outcome.Err = err
		c.log.LogAttrs(ctx, slog.LevelWarn, "recovery poll failed",
			append(logAttrs(err), slog.String(transport.LogReference, r.CustomerReferenceNo))...)
		if errors.Is(err, ErrForbidden) || errors.Is(err, ErrAmbiguousReference) {
			outcome.State = BookingUnverified // the next poll would fail, too
		}
		return outcome, nil, nil
	case order == nil:
		return outcome, &meta, nil
	}
	outcome, err = r.found(order, meta)
	return outcome, nil, err
}

func (r *BookingRecovery) found(order *types.Order, meta ResponseMeta) (*BookingOutcome, error) {
	changes, err := checkOrder(order, r.Expect)
	return &BookingOutcome{State: BookingFound, Order: order, Changes: changes, Recovery: r, Meta: meta}, err
}

func (run *recoveryRun) pollOption() CallOption {
	set := run.set
	if !set.has(optPriority) {
		set.Priority = PriorityInteractive
	}
	set.Market, set.UserRef = cmp.Or(run.recovery.Market, set.Market), cmp.Or(run.recovery.UserRef, set.UserRef)
	set.Timeout = min(cmp.Or(set.Timeout, recoveryPollTimeout), recoveryPollTimeout)
	return set.forCall(OpQueryOrders)
}

func (run *recoveryRun) save(ctx context.Context) error {
	if run.set.SaveRecovery == nil {
		return nil
	}
	return transport.WithoutCause(ctx, run.set.SaveRecovery(ctx, run.recovery))
}

func (run *recoveryRun) saveAfter(ctx context.Context, outcome *BookingOutcome) error {
	err := run.save(ctx)
	switch {
	case err == nil:
		return nil
	case outcome.State == BookingFound || outcome.State == BookingAbsent:
		return fmt.Errorf("hotelstays: the order under reference %q is %s, but the recovery was not saved: %w",
			run.recovery.CustomerReferenceNo, outcome.State, err)
	}
	return run.recovery.notFound("the recovery was not saved", err)
}

func (run *recoveryRun) logEnd(ctx context.Context, outcome *BookingOutcome) {
	level, what := slog.LevelInfo, "recovery ended"
	switch outcome.State {
	case BookingUnverified:
		level = slog.LevelWarn
	case BookingOpen: // the recovery stopped early, for example because ctx ended
		level, what = slog.LevelWarn, "recovery interrupted"
	}
	run.client.log.LogAttrs(ctx, level, what, slog.String("state", string(outcome.State)),
		slog.String(transport.LogReference, run.recovery.CustomerReferenceNo), slog.Int("polls", run.recovery.Polls))
}

// notFound wraps err in an *OutcomeUnknownError: the error of a poll may say that nothing was sent, although Book was
// sent.
func (r *BookingRecovery) notFound(why string, err error) error {
	return &OutcomeUnknownError{Operation: OpBook, CustomerReferenceNo: r.CustomerReferenceNo, Err: fmt.Errorf("%s: %w", why, err)}
}

func (r *BookingRecovery) interrupted(ctxErr error) error {
	return r.notFound("the caller's ctx ended before the order was found; continue with the returned recovery", ctxErr)
}
