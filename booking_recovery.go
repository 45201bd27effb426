// Recovery: finding out what became of a Book whose outcome is unknown.

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
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// recoverySchedule is when the order is asked for, counted from the end of the
// Book: at once, after half a minute, then with doubling pauses up to the
// service's ceiling of ten minutes, which is asked at, too.
var recoverySchedule = []time.Duration{0, 30 * time.Second, 90 * time.Second, 210 * time.Second, 450 * time.Second, recoveryCeiling}

const (
	// recoveryCeiling is the end of the schedule: only a poll from then on decides
	// that there is no order.
	recoveryCeiling = 600 * time.Second
	// recoveryPollTimeout bounds one poll: the shortest pause between two is longer.
	recoveryPollTimeout = 20 * time.Second
	// recoveryPause is between polls that come after the schedule: an unverified
	// recovery is worth asking again, and has no hurry.
	recoveryPause = 150 * time.Second
)

// BookingState is what is known of a booking.
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

// String names the state.
func (s BookingState) String() string {
	switch s {
	case BookingOpen:
		return "open"
	case BookingFound:
		return "found"
	case BookingAbsent:
		return "absent"
	case BookingUnverified:
		return "unverified"
	}
	return fmt.Sprintf("BookingState(%d)", int(s))
}

// BookingOutcome is what a booking or its recovery came to.
type BookingOutcome struct {
	State BookingState
	// Order is set when State is BookingFound, and nil otherwise.
	Order *types.Order
	// Cause is why nothing better is known: why the last poll failed, or why the
	// outcome of Book was unknown, or how it was refused. It may be nil.
	Cause error
	// Recovery goes on from here: store it, and hand it to RecoverBooking or
	// StepRecovery, in this process or another one.
	Recovery *BookingRecovery
}

// BookingRecovery is all that it takes to find a booking again, and to cancel it.
// It is plain data: store it as JSON before Book is called, and again after each
// step. It must not be used by two goroutines at once. Its times are wall-clock
// times: that an order is absent rests on clocks that agree.
type BookingRecovery struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	// Fingerprint tells environment and account apart: elsewhere an empty answer
	// would prove nothing.
	Fingerprint string `json:"fingerprint"`
	// SessionID is the session that was booked in, for Cancel.
	SessionID string `json:"sessionId,omitempty"`
	// Market and UserRef are those that the order was booked with.
	Market  string `json:"market,omitempty"`
	UserRef string `json:"userRef,omitempty"`
	// EndedAt is when the Book ended. It is zero in a recovery that was stored
	// before: the schedule then starts with the first step.
	EndedAt time.Time `json:"endedAt,omitzero"`
	// Polls is how many times of the schedule are past.
	Polls int `json:"polls"`
	// NextPoll is when to ask next.
	NextPoll time.Time `json:"nextPoll,omitzero"`
	// Expect is what BookRequest.Expect was.
	Expect *types.RoomRatePkg `json:"expect,omitempty"`
}

// NewBookingRecovery returns the recovery of a Book that is about to be called
// with the same request and options. Store it before Book is called: a process
// that dies in between then finds the booking again.
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

// fingerprint is of the environment and the account, and shows neither.
func (c *Client) fingerprint() string {
	if c.cred == nil {
		return "" // New did not make this client, and nothing can be recovered with it
	}
	sum := sha256.Sum256([]byte(c.baseURL + " " + c.cred.account()))
	return hex.EncodeToString(sum[:16])
}

// ended starts the schedule.
func (r *BookingRecovery) ended(at time.Time) {
	r.EndedAt = at.UTC().Round(0) // wall clock alone: it is stored
	r.NextPoll = r.EndedAt
}

// mendTimes starts the schedule of a recovery that has no times yet, or whose times
// lie where they cannot: they are of a clock that has been set since, or of another
// machine's.
func (r *BookingRecovery) mendTimes(now time.Time) {
	switch {
	case r.EndedAt.IsZero() || r.EndedAt.After(now.Add(time.Second)):
		r.Polls = 0
		r.ended(now)
	case r.NextPoll.After(now.Add(recoveryCeiling)):
		r.NextPoll = now.UTC().Round(0)
	}
}

// polled moves the schedule past a poll that began at a time. Times that were
// missed meanwhile are not made up for: one poll is as good as several.
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

// last tells that the schedule is used up.
func (r *BookingRecovery) last() bool { return r.Polls == len(recoverySchedule) }

// BookAndRecover books, and finds out what happened when the outcome is unknown,
// which takes up to ten minutes. Without an error, look at the State: BookingFound
// comes with the order; BookingAbsent and BookingUnverified come without one, and
// only after BookingAbsent may it be booked again.
//
// A definite refusal returns its error and no outcome, and so does bad input: no
// order was made. A refusal with a code that is undocumented for Book is believed once
// the order has been asked for and is not there. When ctx ends, both an outcome with
// the recovery to go on with and an *OutcomeUnknownError are returned. An order of
// another stay than BookRequest.Expect is a *ReferenceReusedError, with the outcome:
// its State is BookingFound, and its Order the other one. Look at the error first.
//
// To survive the end of the process, store NewBookingRecovery, then call Book and,
// on an *OutcomeUnknownError, RecoverBooking.
func (c *Client) BookAndRecover(ctx context.Context, req *BookRequest, opts ...CallOption) (*BookingOutcome, error) {
	if err := c.usable(ctx, OpBook); err != nil {
		return nil, err
	}
	if req == nil {
		return nil, nilRequest(OpBook)
	}
	recovery := c.NewBookingRecovery(req, opts...)
	polls := collect(opts).forQueryOrders()
	resp, err := c.Book(ctx, req, plainCall(opts)...)
	recovery.ended(time.Now())

	var reused *ReferenceReusedError
	var unknown *OutcomeUnknownError
	var answer *APIError
	switch {
	case err == nil:
		return &BookingOutcome{State: BookingFound, Order: resp.HotelOrder, Recovery: recovery}, nil
	case errors.As(err, &reused):
		return &BookingOutcome{State: BookingFound, Order: reused.Order, Recovery: recovery}, err
	case errors.As(err, &answer) && answer.doubtfulRefusal():
		outcome, err := c.checkRefusal(ctx, recovery, answer.believed(), polls)
		answer.markUnknown()
		return outcome, stillUnknown(err, answer, answer.RequestID, answer.TraceID)
	case errors.As(err, &unknown):
		outcome, err := c.RecoverBooking(ctx, recovery, polls)
		return outcome.because(unknown), stillUnknown(err, unknown.Err, unknown.RequestID, unknown.TraceID)
	}
	return nil, err
}

// checkRefusal asks for the order before a refusal is believed whose code is not
// documented: it may mean anything, an order under the same reference included.
func (c *Client) checkRefusal(ctx context.Context, recovery *BookingRecovery, refusal error, polls CallOption) (*BookingOutcome, error) {
	outcome, absent, err := c.poll(ctx, recovery, polls)
	if !absent && outcome.State == BookingOpen && err == nil {
		outcome, err = c.RecoverBooking(ctx, recovery, polls)
	}
	switch {
	case absent || outcome.State == BookingAbsent:
		return nil, refusal
	case outcome.State != BookingFound: // the refusal may still be the truth: tell it
		outcome.Cause = &bothErrors{refusal, outcome.Cause}
	}
	return outcome, err
}

// because notes why the outcome of Book was unknown, unless a later poll failed.
func (o *BookingOutcome) because(unknown *OutcomeUnknownError) *BookingOutcome {
	if o != nil && o.State != BookingFound && o.Cause == nil {
		o.Cause = unknown
	}
	return o
}

// stillUnknown is err, with what Book itself came to where the outcome stays unknown.
func stillUnknown(err, book error, requestID, traceID string) error {
	if unknown, ok := err.(*OutcomeUnknownError); ok {
		unknown.RequestID, unknown.TraceID = requestID, traceID
		unknown.Err = &bothErrors{book, unknown.Err}
	}
	return err
}

// bothErrors is why an outcome was unknown at first, and why it stayed so.
type bothErrors struct{ first, then error }

func (e *bothErrors) Error() string {
	if e.then == nil {
		return fact(e.first)
	}
	return fact(e.first) + "; " + fact(e.then)
}

func (e *bothErrors) Unwrap() []error { return []error{e.first, e.then} }

// doubtfulRefusal reports a refusal of Book with a code that is not listed for it, which
// may mean that the reference has its order. A 401 or a 429 came before any booking.
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

// RecoverBooking goes on with a recovery, of this process or an earlier one, until
// it is known what became of the booking, on the schedule of the package
// documentation. The results are those of BookAndRecover. A recovery of another
// environment or account is a *ValidationError, and nothing is asked.
//
// A recovery that is past its schedule, because it was BookingUnverified or left
// alone for long, asks once. WithWakeup makes it ask at once, off the schedule. One
// poll takes 20 seconds at most, or less by WithTimeout.
func (c *Client) RecoverBooking(ctx context.Context, recovery *BookingRecovery, opts ...CallOption) (*BookingOutcome, error) {
	wakeup := collect(opts).wakeup
	if err := c.checkRecovery(ctx, recovery, opts); err != nil {
		return nil, err
	}
	if recovery.last() {
		recovery.NextPoll = time.Time{}
	}
	for {
		outcome, err := c.StepRecovery(ctx, recovery, opts...)
		if err != nil || outcome.State != BookingOpen {
			return outcome, err
		}
		if err := waitUntil(ctx, recovery.NextPoll, wakeup); err != nil {
			return outcome, recovery.interrupted(err)
		}
		if time.Now().Before(recovery.NextPoll) { // woken
			recovery.NextPoll = time.Now().UTC().Round(0)
		}
	}
}

// StepRecovery asks for the order at most once: if NextPoll is due, or WithWakeup
// has fired. It is RecoverBooking for job queues: store outcome.Recovery, and come
// back at its NextPoll while the State is BookingOpen or BookingUnverified.
func (c *Client) StepRecovery(ctx context.Context, recovery *BookingRecovery, opts ...CallOption) (*BookingOutcome, error) {
	if err := c.checkRecovery(ctx, recovery, opts); err != nil {
		return nil, err
	}
	recovery.mendTimes(time.Now())
	if time.Now().Before(recovery.NextPoll) && !fired(collect(opts).wakeup) {
		outcome := &BookingOutcome{State: BookingOpen, Recovery: recovery}
		if err := ctx.Err(); err != nil {
			return outcome, recovery.interrupted(err)
		}
		return outcome, nil
	}
	start := time.Now()
	outcome, absent, err := c.poll(ctx, recovery, opts...)
	if err == nil && outcome.State == BookingOpen && !start.Before(recovery.EndedAt.Add(recoveryCeiling)) {
		outcome.State = BookingUnverified
		if absent {
			outcome.State = BookingAbsent
		}
	}
	return outcome, err
}

// interrupted is the error of a ctx that ended before the booking was found. The
// outcome of the Book is as unknown as before: a poll's own error, which may well
// say that nothing was sent, must not be taken for the booking's.
func (r *BookingRecovery) interrupted(err error) error {
	return &OutcomeUnknownError{Operation: OpBook, CustomerReferenceNo: r.CustomerReferenceNo,
		Err: fmt.Errorf("ctx ended before the order was found; go on with the returned recovery: %w", err)}
}

func (c *Client) checkRecovery(ctx context.Context, r *BookingRecovery, opts []CallOption) error {
	if err := c.usable(ctx, "RecoverBooking"); err != nil {
		return err
	}
	f := collect(opts).faults
	switch {
	case r == nil:
		f.add("recovery", "is nil")
	case r.CustomerReferenceNo == "":
		f.add("recovery.customerReferenceNo", "is required")
	case r.Fingerprint != c.fingerprint():
		f.add("recovery.fingerprint", "is of another environment or account (a TokenCredential is one of its own): an empty answer here would prove nothing; use a client of the one that booked")
	case r.Polls < 0 || r.Polls > len(recoverySchedule):
		f.add("recovery.polls", "is %d; it must lie between 0 and %d", r.Polls, len(recoverySchedule))
	}
	return f.err("RecoverBooking")
}

// poll asks for the order once. absent tells that the answer proves that there is
// none: it was read whole (QueryOrders fails on an order that it cannot read), and
// held no order at all. An order under another reference means that the filter was
// not honoured, which proves nothing.
func (c *Client) poll(ctx context.Context, r *BookingRecovery, opts ...CallOption) (outcome *BookingOutcome, absent bool, err error) {
	outcome = &BookingOutcome{State: BookingOpen, Recovery: r}
	start := time.Now()
	resp, err := c.QueryOrders(ctx, &QueryOrdersRequest{CustomerReferenceNos: []string{r.CustomerReferenceNo}}, plainCall(opts, c.pollSettings(r))...)
	if ctx.Err() != nil && err != nil {
		return outcome, false, r.interrupted(ctx.Err())
	}
	r.polled(start)
	if err != nil {
		outcome.Cause = err
		c.log.LogAttrs(ctx, slog.LevelWarn, "recovery poll failed; it proves nothing", slog.String("reference", r.CustomerReferenceNo), slog.String("error", err.Error()))
		if _, ok := errors.AsType[*ValidationError](err); ok {
			return outcome, false, err
		}
		if errors.Is(err, ErrForbidden) {
			outcome.State = BookingUnverified // asking again will be refused again
		}
		return outcome, false, nil
	}
	order, err := pickOrder(resp, r.CustomerReferenceNo)
	switch {
	case err != nil:
		outcome.Cause = err
		c.log.LogAttrs(ctx, slog.LevelWarn, "recovery poll proves nothing", slog.String("reference", r.CustomerReferenceNo), slog.String("error", err.Error()))
		return outcome, false, nil
	case order == nil:
		return outcome, true, nil
	}
	outcome.State, outcome.Order = BookingFound, order
	return outcome, false, checkReference(order, r.Expect)
}

// pollSettings are the booking's own market and user, and a timeout that keeps a poll
// from reaching into the next one's time: the call's or the client's, if that is shorter.
func (c *Client) pollSettings(r *BookingRecovery) callOption {
	return func(s *settings) {
		s.headers[headerMarket], s.headers[headerUserRef] = r.Market, r.UserRef
		s.timeout = cmp.Or(s.timeout, c.defaults.timeout, recoveryPollTimeout)
		s.timeout = min(s.timeout, recoveryPollTimeout)
	}
}

// pickOrder returns the order under a reference out of what was asked for by it, or
// nil where there is none. Other orders alone mean that the filter was not honoured,
// and an empty list beside a sign of more that it is not the whole one: both are
// errors, because they prove nothing.
func pickOrder(resp *QueryOrdersResponse, reference string) (*types.Order, error) {
	for i := range resp.Orders {
		if resp.Orders[i].CustomerReferenceNo == reference {
			return &resp.Orders[i], nil
		}
	}
	if n := len(resp.Orders); n > 0 {
		return nil, fmt.Errorf("hotelstays: %s: %d orders came, and none is under reference %q: the filter was not honoured, so that nothing is known", OpQueryOrders, n, reference)
	}
	if resp.more != "" {
		return nil, fmt.Errorf("hotelstays: %s: no order came for reference %q, but %s says that there may be more: nothing is known", OpQueryOrders, reference, resp.more)
	}
	return nil, nil
}

// ReferenceReusedError reports that the order under the reference is of another stay
// than the expected one. Either the reference was used before, or BookRequest.Expect
// was not the offer that was booked.
type ReferenceReusedError struct {
	// Order is the order that the reference has.
	Order *types.Order
	// What names what differs from BookRequest.Expect.
	What string
}

// Error names the reference and what differs.
func (e *ReferenceReusedError) Error() string {
	return fmt.Sprintf("hotelstays: %s: the order %s under reference %q is not the expected one: its %s is another; was the reference used before? Look at that order before anything else is booked",
		OpBook, e.Order.PlatformReferenceNo, e.Order.CustomerReferenceNo, e.What)
}

// checkReference compares the stay of an order with that of the offer that it should be
// of. A date that one of them does not name is no difference.
func checkReference(order *types.Order, expect *types.RoomRatePkg) error {
	what := ""
	switch {
	case expect == nil:
		return nil
	case otherDay(order.CheckIn, expect.CheckIn):
		what = "check-in " + string(order.CheckIn)
	case otherDay(order.CheckOut, expect.CheckOut):
		what = "check-out " + string(order.CheckOut)
	default:
		return nil
	}
	return &ReferenceReusedError{Order: order, What: what}
}

func otherDay(a, b types.Date) bool {
	one, oneErr := a.Time()
	other, otherErr := b.Time()
	return oneErr == nil && otherErr == nil && !one.Equal(other)
}
