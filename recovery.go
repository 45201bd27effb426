// Recovery: finding out what happened to a Book whose outcome is unknown.

package hotelstays

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// recoverySchedule is when the order is asked for, counted from the end of the Book: at
// once, after half a minute, then with doubling pauses up to the service's limit of ten
// minutes, and at that limit.
var recoverySchedule = []time.Duration{0, 30 * time.Second, 90 * time.Second, 210 * time.Second, 450 * time.Second, recoveryEnd}

const (
	// recoveryEnd ends the schedule: only a poll from then on decides that there is no
	// order.
	recoveryEnd = 600 * time.Second
	// recoveryPollTimeout bounds one poll: the shortest pause between two is longer.
	recoveryPollTimeout = 20 * time.Second
	// recoveryPause is between polls after the schedule: an unverified recovery is worth
	// asking again, without hurry.
	recoveryPause = 150 * time.Second
)

// BookingState is what is known of a booking. As text, in JSON for instance, it is a word.
type BookingState int

const (
	// BookingOpen: the recovery is not finished; ask again when NextPoll is due.
	BookingOpen BookingState = iota
	// BookingFound: the order exists. Its status says how far it has come.
	BookingFound
	// BookingAbsent: there is no order. Check the offer again; then Book may be
	// called again, under the same reference and with a new BookingRecovery.
	BookingAbsent
	// BookingUnverified: nothing is known. Do not book again; keep asking, from the
	// recovery's NextPoll on, or ask a person.
	BookingUnverified
)

var bookingStates = []string{BookingOpen: "open", BookingFound: "found", BookingAbsent: "absent", BookingUnverified: "unverified"}

// String names the state.
func (s BookingState) String() string {
	if word, err := s.MarshalText(); err == nil {
		return string(word)
	}
	return fmt.Sprintf("BookingState(%d)", int(s))
}

// MarshalText returns open, found, absent or unverified.
func (s BookingState) MarshalText() ([]byte, error) {
	if s < 0 || int(s) >= len(bookingStates) {
		return nil, fmt.Errorf("hotelstays: %d is not a BookingState", int(s))
	}
	return []byte(bookingStates[s]), nil
}

// UnmarshalText reads what MarshalText writes; another word is an error.
func (s *BookingState) UnmarshalText(word []byte) error {
	state := slices.Index(bookingStates, string(word))
	if state < 0 {
		return fmt.Errorf("hotelstays: %q is not a BookingState: open, found, absent or unverified", word)
	}
	*s = BookingState(state)
	return nil
}

// BookingOutcome is the result of a booking or its recovery.
type BookingOutcome struct {
	State BookingState
	// Order is set when State is BookingFound, and nil otherwise.
	Order *types.Order
	// Err is why nothing better is known: why the last poll failed, why the outcome of
	// Book was unknown, or how it was refused. It may be nil.
	Err error
	// Recovery goes on from here: store it, and hand it to RecoverBooking or
	// StepRecovery, in this process or another one.
	Recovery *BookingRecovery
}

// BookingRecovery holds what is needed to find a booking again, and to cancel it. Store it
// as JSON before Book is called, and again after each step, as WithSaveRecovery does. It
// must not be used by two goroutines at once. Its times are wall-clock times: the proof of
// absence rests on clocks that agree.
type BookingRecovery struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	// Fingerprint stands for the environment and the account: an empty answer of another
	// one would prove nothing.
	Fingerprint string `json:"fingerprint"`
	// SessionID is the session of the booking, for Cancel.
	SessionID string `json:"sessionId,omitempty"`
	// Market and UserRef are those of the booking.
	Market  string `json:"market,omitempty"`
	UserRef string `json:"userRef,omitempty"`
	// EndedAt is when the Book ended. It is zero in a recovery that was stored before:
	// the schedule then starts with the first step.
	EndedAt time.Time `json:"endedAt,omitzero"`
	// Polls is how many times of the schedule are past.
	Polls int `json:"polls"`
	// NextPoll is when to ask next.
	NextPoll time.Time `json:"nextPoll,omitzero"`
	// Expect is BookRequest.Expect.
	Expect *types.RoomRatePkg `json:"expect,omitempty"`
}

// WithSaveRecovery calls save before Book, where its error means that nothing is sent, and
// after each poll, where its error is returned with the outcome so far.
func WithSaveRecovery(save func(context.Context, *BookingRecovery) error) RecoverOption {
	return recoverOption(func(s *recoverSettings) {
		if save == nil {
			s.faults.add("WithSaveRecovery", "is nil")
			return
		}
		s.save = save
	})
}

// NewBookingRecovery returns the recovery of a Book that is about to be called with the
// same request and options. Store it first: a process that dies finds the booking again.
func (c *Client) NewBookingRecovery(req *BookRequest, opts ...CallOption) *BookingRecovery {
	if req == nil {
		req = &BookRequest{} // a recovery without a reference is refused when it is used
	}
	set := collect(opts).over(&c.defaults)
	return &BookingRecovery{
		CustomerReferenceNo: req.CustomerReferenceNo,
		Fingerprint:         c.fingerprint(),
		SessionID:           req.SessionID,
		Market:              set.headers[headerMarket],
		UserRef:             set.headers[headerUserRef],
		Expect:              req.Expect,
	}
}

// fingerprint identifies the environment and the account without showing them.
func (c *Client) fingerprint() string {
	if c.cred == nil {
		return "" // not made by New: nothing can be recovered with it
	}
	sum := sha256.Sum256([]byte(c.baseURL + " " + c.cred.account()))
	return hex.EncodeToString(sum[:16])
}

// ended starts the schedule.
func (r *BookingRecovery) ended(at time.Time) {
	r.EndedAt = at.UTC().Round(0) // wall clock alone: it is stored
	r.NextPoll = r.EndedAt
}

// mendTimes starts the schedule of a recovery without times, or with impossible ones: its
// clock has been set since, or was another machine's.
func (r *BookingRecovery) mendTimes(now time.Time) {
	switch {
	case r.EndedAt.IsZero() || r.EndedAt.After(now.Add(time.Second)):
		r.Polls = 0
		r.ended(now)
	case r.NextPoll.After(now.Add(recoveryEnd)):
		r.NextPoll = now.UTC().Round(0)
	}
}

// polled moves the schedule past a poll that began at a time. Times that were missed
// meanwhile are not made up for: one poll is as good as several.
func (r *BookingRecovery) polled(at time.Time) {
	for r.Polls < len(recoverySchedule) && !r.EndedAt.Add(recoverySchedule[r.Polls]).After(at) {
		r.Polls++
	}
	if r.Polls < len(recoverySchedule) {
		r.NextPoll = r.EndedAt.Add(recoverySchedule[r.Polls])
	} else {
		r.NextPoll = at.UTC().Round(0).Add(recoveryPause)
	}
}

// BookAndRecover books, and finds out what happened when the outcome is unknown, which
// takes up to ten minutes. Without an error, look at the State: BookingFound comes with the
// order; BookingAbsent and BookingUnverified come without one, and only after BookingAbsent
// may it be booked again.
//
// A definite refusal returns its error and no outcome, and so does bad input: no order was
// made. A refusal with a code that is undocumented for Book is believed after a poll that
// finds no order. When ctx ends, both an outcome with the recovery to go on with and an
// *OutcomeUnknownError are returned. An order of another stay than BookRequest.Expect is a
// *ReferenceReusedError, with the outcome: its State is BookingFound, and its Order the
// other one. Look at the error first.
//
// To survive the end of the process, store the recovery: WithSaveRecovery does, or store
// NewBookingRecovery, then call Book and, on an *OutcomeUnknownError, RecoverBooking.
func (c *Client) BookAndRecover(ctx context.Context, req *BookRequest, opts ...RecoverOption) (*BookingOutcome, error) {
	if err := c.usable(ctx, OpBook); err != nil {
		return nil, err
	}
	if req == nil {
		return nil, nilRequest(OpBook)
	}
	var set recoverSettings
	applyAll(opts, &set, RecoverOption.applyRecover)
	run := &recoveryRun{c, c.NewBookingRecovery(req, set.option()), set}
	if err := run.save(ctx); err != nil {
		return nil, fmt.Errorf("hotelstays: BookAndRecover: nothing was sent, because the recovery was not saved: %w", err)
	}
	resp, err := c.Book(ctx, req, set.option())
	run.recovery.ended(time.Now())
	run.set.settings = set.forOperation(OpQueryOrders)

	var reused *ReferenceReusedError
	var unknown *OutcomeUnknownError
	var answer *APIError
	switch {
	case err == nil:
		return &BookingOutcome{State: BookingFound, Order: resp.HotelOrder, Recovery: run.recovery}, nil
	case errors.As(err, &reused):
		return &BookingOutcome{State: BookingFound, Order: reused.Order, Recovery: run.recovery}, err
	case errors.As(err, &answer) && answer.doubtfulRefusal():
		outcome, err := run.checkRefusal(ctx, answer.believed())
		answer.markUnknown()
		return outcome, stillUnknown(err, answer, answer.RequestID, answer.TraceID)
	case errors.As(err, &unknown):
		outcome, err := run.toEnd(ctx)
		if outcome.State != BookingFound && outcome.Err == nil {
			outcome.Err = unknown
		}
		return outcome, stillUnknown(err, unknown.Err, unknown.RequestID, unknown.TraceID)
	}
	return nil, err
}

// stillUnknown adds the error of Book where the outcome stays unknown.
func stillUnknown(err, book error, requestID, traceID string) error {
	if unknown, ok := err.(*OutcomeUnknownError); ok {
		unknown.RequestID, unknown.TraceID = requestID, traceID
		unknown.Err = &bothErrors{book, "; ", unknown.Err}
	}
	return err
}

// doubtfulRefusal reports a refusal of Book with a code that is not listed for it: the
// reference may have its order. A 401 or a 429 came before any booking.
func (e *APIError) doubtfulRefusal() bool {
	return e.Operation == OpBook && e.seemsRefused() && !e.listed() &&
		e.HTTPStatus != http.StatusUnauthorized && e.HTTPStatus != http.StatusTooManyRequests
}

// believed is the refusal, once it is known that there is no order.
func (e *APIError) believed() *APIError {
	refusal := *e
	refusal.unknown = false
	return &refusal
}

// RecoverBooking goes on with a recovery, of this process or an earlier one, until it is
// known whether there is an order, on the schedule of the package documentation. The
// results are those of BookAndRecover. A recovery of another environment or account is a
// *ValidationError, and nothing is asked.
//
// A recovery that is past its schedule, because it was BookingUnverified or left alone for
// long, asks once. WithWakeup makes it ask at once, off the schedule. One poll takes 20
// seconds at most, or less by WithTimeout.
func (c *Client) RecoverBooking(ctx context.Context, recovery *BookingRecovery, opts ...RecoverOption) (*BookingOutcome, error) {
	var set recoverSettings
	applyAll(opts, &set, RecoverOption.applyRecover)
	run, err := c.recoveryRun(ctx, recovery, set)
	if err != nil {
		return nil, err
	}
	return run.toEnd(ctx)
}

// StepRecovery asks for the order at most once: if NextPoll is due. It is RecoverBooking
// for job queues: store outcome.Recovery, and come back at its NextPoll while the State is
// BookingOpen or BookingUnverified. To ask earlier, set NextPoll to the current time.
func (c *Client) StepRecovery(ctx context.Context, recovery *BookingRecovery, opts ...CallOption) (*BookingOutcome, error) {
	run, err := c.recoveryRun(ctx, recovery, recoverSettings{waitSettings{settings: collect(opts)}, nil})
	if err != nil {
		return nil, err
	}
	outcome, err := run.step(ctx)
	if outcome.State != BookingOpen {
		run.logEnd(ctx, outcome)
	}
	return outcome, err
}

// recoveryRun is a recovery that this process goes on with.
type recoveryRun struct {
	client   *Client
	recovery *BookingRecovery
	set      recoverSettings
}

func (c *Client) recoveryRun(ctx context.Context, r *BookingRecovery, set recoverSettings) (*recoveryRun, error) {
	if err := c.usable(ctx, "RecoverBooking"); err != nil {
		return nil, err
	}
	f := set.faults
	switch {
	case r == nil:
		f.add("recovery", "is nil")
	case r.CustomerReferenceNo == "":
		f.add("recovery.customerReferenceNo", "is required")
	case r.Fingerprint != c.fingerprint():
		f.add("recovery.fingerprint", "is of another environment or account (each TokenCredential counts as one): an empty answer here would prove nothing; use a client of the one that booked")
	case r.Polls < 0 || r.Polls > len(recoverySchedule):
		f.add("recovery.polls", "is %d; it must lie between 0 and %d", r.Polls, len(recoverySchedule))
	}
	return &recoveryRun{c, r, set}, f.err("RecoverBooking")
}

// toEnd polls until the state is no longer open.
func (run *recoveryRun) toEnd(ctx context.Context) (*BookingOutcome, error) {
	r := run.recovery
	if r.Polls == len(recoverySchedule) {
		r.NextPoll = time.Time{}
	}
	for {
		outcome, err := run.step(ctx)
		if err == nil && outcome.State == BookingOpen {
			ended := waitUntil(ctx, r.NextPoll, run.set.wakeup)
			if ended == nil {
				if time.Now().Before(r.NextPoll) { // woken
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

// checkRefusal asks for the order before it believes a refusal with an undocumented code,
// which may mean anything, an order under the same reference included.
func (run *recoveryRun) checkRefusal(ctx context.Context, refusal error) (*BookingOutcome, error) {
	outcome, absent, err := run.poll(ctx)
	if absent {
		outcome.State = BookingAbsent
	}
	if err == nil {
		err = run.saveAfter(ctx, outcome)
	}
	if outcome.State == BookingOpen && err == nil {
		outcome, err = run.toEnd(ctx)
	} else {
		run.logEnd(ctx, outcome)
	}
	switch {
	case outcome.State == BookingAbsent && err == nil:
		return nil, refusal
	case outcome.State != BookingFound: // the refusal may still be the truth: show it
		outcome.Err = &bothErrors{refusal, "; ", outcome.Err}
	}
	return outcome, err
}

// step polls if NextPoll is due, and decides at the end of the schedule.
func (run *recoveryRun) step(ctx context.Context) (*BookingOutcome, error) {
	r := run.recovery
	r.mendTimes(time.Now())
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
	if outcome.State == BookingOpen && !start.Before(r.EndedAt.Add(recoveryEnd)) {
		outcome.State = BookingUnverified
		if absent {
			outcome.State = BookingAbsent
		}
	}
	return outcome, run.saveAfter(ctx, outcome)
}

// poll asks for the order once. absent: the answer proves that there is none, because it
// was read whole and held no order at all. An order under another reference means that the
// filter was not honoured, which proves nothing.
func (run *recoveryRun) poll(ctx context.Context) (outcome *BookingOutcome, absent bool, err error) {
	c, r := run.client, run.recovery
	outcome = &BookingOutcome{State: BookingOpen, Recovery: r}
	start := time.Now()
	order, err := c.readOrder(ctx, r.CustomerReferenceNo, run.pollOption())
	if ctx.Err() != nil && err != nil {
		return outcome, false, r.interrupted(ctx.Err())
	}
	r.polled(start)
	switch {
	case err != nil:
		outcome.Err = err
		c.log.LogAttrs(ctx, slog.LevelWarn, "recovery poll proves nothing", slog.String("reference", r.CustomerReferenceNo), slog.String("error", err.Error()))
		if _, ok := errors.AsType[*ValidationError](err); ok {
			return outcome, false, err
		}
		if errors.Is(err, ErrForbidden) {
			outcome.State = BookingUnverified // the next poll would be refused, too
		}
		return outcome, false, nil
	case order == nil:
		return outcome, true, nil
	}
	outcome.State, outcome.Order = BookingFound, order
	return outcome, false, checkReference(order, r.Expect)
}

// pollOption is the booking's own market and user, and a timeout that keeps a poll from
// reaching into the next one's time.
func (run *recoveryRun) pollOption() CallOption {
	set := run.set.settings
	set.headers[headerMarket], set.headers[headerUserRef] = run.recovery.Market, run.recovery.UserRef
	set.timeout = cmp.Or(set.timeout, run.client.defaults.timeout, recoveryPollTimeout)
	set.timeout = min(set.timeout, recoveryPollTimeout)
	return set.option()
}

func (run *recoveryRun) save(ctx context.Context) error {
	if run.set.save == nil {
		return nil
	}
	return run.set.save(ctx, run.recovery)
}

// saveAfter saves the recovery after a poll. If that fails, what is not known stays
// unknown, and is never taken for a refusal.
func (run *recoveryRun) saveAfter(ctx context.Context, outcome *BookingOutcome) error {
	err := run.save(ctx)
	switch {
	case err == nil:
		return nil
	case outcome.State == BookingFound || outcome.State == BookingAbsent:
		return fmt.Errorf("hotelstays: the order under reference %q is %s, but the recovery was not saved: %w", run.recovery.CustomerReferenceNo, outcome.State, err)
	}
	return run.recovery.notFound("the recovery was not saved", err)
}

func (run *recoveryRun) logEnd(ctx context.Context, outcome *BookingOutcome) {
	level := slog.LevelInfo
	if outcome.State != BookingFound && outcome.State != BookingAbsent {
		level = slog.LevelWarn
	}
	run.client.log.LogAttrs(ctx, level, "recovery ended", slog.String("state", outcome.State.String()),
		slog.String("reference", run.recovery.CustomerReferenceNo), slog.Int("polls", run.recovery.Polls))
}

// notFound is the error of a booking that was not found. The outcome of the Book is as
// unknown as before: a poll's own error, which may well say that nothing was sent, must not
// be taken for the booking's.
func (r *BookingRecovery) notFound(why string, err error) error {
	return &OutcomeUnknownError{Operation: OpBook, CustomerReferenceNo: r.CustomerReferenceNo, Err: fmt.Errorf("%s: %w", why, err)}
}

func (r *BookingRecovery) interrupted(ctxErr error) error {
	return r.notFound("the caller's ctx ended before the order was found; go on with the returned recovery", ctxErr)
}
