// The transitions of a booking, and its outcomes.

package durable

import (
	"errors"
	"fmt"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

const (
	// ClockMargin is the tolerated difference between the clocks of two machines.
	ClockMargin = 5 * time.Second

	// A poll that finds no order proves absence only if enough time has passed since the end of Book: absenceAfter if the
	// machine that booked measures this time, and provenAfter if another machine may measure it.
	absenceAfter = 10 * time.Minute
	provenAfter  = absenceAfter + ClockMargin
	// firstPause is the pause after the first poll for an order. Each further pause is about twice as long.
	firstPause = 30 * time.Second
	// unverifiedPause is the pause after the first poll that could not verify whether an order exists. Each further
	// pause is twice as long.
	unverifiedPause    = 150 * time.Second
	maxUnverifiedPause = time.Hour
)

var (
	// ErrNotBegun: no open booking of the account has this reference.
	ErrNotBegun = errors.New("this account has no open booking under this reference")
	// ErrAlreadyBegun: a booking under this reference has not ended yet.
	ErrAlreadyBegun = errors.New("a booking under this reference has not ended yet")
	// ErrAlreadyBooked: a booking under this reference has ended with an order, and OnOutcome
	// has received it. Book another stay under another reference.
	ErrAlreadyBooked = errors.New("this reference has an order already; book another stay under another reference")
	// ErrAlreadyStarted: Book was called before for this booking, or a worker already polls
	// for its order.
	ErrAlreadyStarted = errors.New("the booking has started already")
	// ErrConflictingOutcome: another outcome of the booking was stored before.
	ErrConflictingOutcome = errors.New("another outcome of the booking was stored before")
)

// Phase is the phase of an open booking. No method returns the zero value.
type Phase string

// The phases; see the package documentation.
const (
	PhaseWaiting Phase = "waiting"
	PhaseBooking Phase = "booking"
	PhasePolling Phase = "polling"

	phaseEnded Phase = "ended"
)

// Booking is an open booking. It holds no secret, and nothing about the guests except the caller's
// WithUserRef.
type Booking struct {
	Recovery hotelstays.BookingRecovery `json:"recovery"`
	// Begun is when the booking was stored. It is zero if an older version of this package stored it.
	Begun time.Time `json:"begun,omitzero"`
	// BookBy is the time by which Book has certainly ended. It is zero until Book starts.
	BookBy time.Time `json:"bookBy,omitzero"`
	// Unverified counts the polls that could not verify whether an order exists.
	Unverified int `json:"unverified,omitempty"`
	// Problem is the kind of the error of the last poll. It is empty if the service answered.
	Problem hotelstays.ErrorKind `json:"problem,omitempty"`
	// Due is when a worker must poll for the order, or send Book. It is not in the JSON, because the store has its own
	// column for it.
	Due time.Time `json:"-"`
}

// Account returns the account of the booking, as hotelstays.Client.Account does.
func (b Booking) Account() string { return b.Recovery.Fingerprint }

// Phase returns the phase in which the booking is at the given time: waiting, booking or polling.
func (b Booking) Phase(now time.Time) Phase {
	switch {
	case b.BookBy.IsZero():
		return PhaseWaiting
	case b.Recovery.EndedAt.IsZero() && now.Before(b.BookBy):
		return PhaseBooking
	}
	return PhasePolling
}

// booking is the JSON that the store keeps for a booking.
type booking struct {
	Booking
	// Round counts the bookings under the reference, from 1. It is 0 if an older version of this package stored the
	// booking.
	Round int `json:"round,omitempty"`
	// Earlier is when the last Book of an earlier round ended, if that Book may have made an order. In the ten minutes
	// after Earlier, absence cannot be proven. Earlier is zero if there is no such Book.
	Earlier time.Time `json:"earlier,omitzero"`
	// Ending is empty until the booking has ended.
	Ending Ending `json:"ending,omitempty"`
	// OrderNo is the PlatformReferenceNo of the order that ended the booking.
	OrderNo string `json:"orderNo,omitempty"`
	// Changes lists how the order that ended the booking differs from Recovery.Expect.
	Changes hotelstays.OfferDiff `json:"changes,omitzero"`
}

// newBooking returns the booking that is stored before Book is called. If Send has not started Book by the time in
// startBy, a worker sends the booking.
func newBooking(recovery hotelstays.BookingRecovery, startBy time.Time) booking {
	return booking{Booking: Booking{Recovery: recovery, Due: wallClock(startBy.Add(ClockMargin))}, Round: 1}
}

// handedOver returns the booking that workers poll after a Book with an unknown outcome.
func handedOver(recovery hotelstays.BookingRecovery) booking {
	return booking{Booking: Booking{Recovery: recovery, BookBy: recovery.EndedAt, Due: recovery.NextPoll}, Round: 1}
}

// after returns b as the next round. The parameter before is the stored booking of the last round. The error is
// ErrAlreadyBegun if before has not ended, and ErrAlreadyBooked if before has ended with an order.
func (b booking) after(before booking) (booking, error) {
	switch {
	case before.Ending == "":
		return b, ErrAlreadyBegun
	case before.Ending.hasOrder():
		return b, ErrAlreadyBooked
	}
	b.Round = max(before.Round, 1) + 1
	b, _ = b.earlierEnded(before.lastBook())
	return b, nil
}

// sameRound reports whether a and b are states of the same booking, and not of two bookings under one reference.
func sameRound(a, b booking) bool { return a.Round == b.Round && a.BookBy.Equal(b.BookBy) }

func (b *booking) identity() (reference, fingerprint string) {
	return b.Recovery.CustomerReferenceNo, b.Recovery.Fingerprint
}

func (b *booking) due() time.Time { return b.Due }

func (b *booking) read(row *Row) error {
	switch b.Due = row.Due; {
	case row.Life != Open && b.Ending == "": // a person has ended the row by hand in the database
		b.Ending = EndingAbandoned
	case row.Life == Open && b.Ending != "":
		return fmt.Errorf("the row's Life is Open, but the booking's ending is %q", b.Ending)
	}
	return nil
}

func (b *booking) open() bool { return b.Ending == "" }

// Phase is like Booking.Phase, but returns phaseEnded after the booking has ended.
func (b booking) Phase(now time.Time) Phase {
	if b.Ending != "" {
		return phaseEnded
	}
	return b.Booking.Phase(now)
}

// start records that Book is about to be sent. The parameter bookBy is the end of Book's time limit. Commit the
// result before you send Book. The error is ErrAlreadyStarted if Book has started, and ErrAlreadyBooked if the
// booking has ended with an order. After any other ending the error matches ErrNotBegun.
//
// The parameter opts has options for Book besides the stored options. Workers poll with the stored options only. So
// the error is a *hotelstays.ValidationError if opts has WithHeader, or a WithMarket or WithUserRef that differs from
// the stored value.
func (b booking) start(bookBy time.Time, opts ...hotelstays.CallOption) (booking, error) {
	switch {
	case b.Ending.hasOrder():
		return b, ErrAlreadyBooked
	case b.Ending != "":
		return b, b.refused(bookBy)
	case !b.BookBy.IsZero():
		return b, ErrAlreadyStarted
	}
	if err := b.checkOptions(opts); err != nil {
		return b, err
	}
	b.BookBy = wallClock(bookBy.Add(ClockMargin))
	b.Due = b.BookBy
	return b, nil
}

// options returns the stored options of the booking, WithMarket and WithUserRef, for its calls.
func (b booking) options() []hotelstays.CallOption {
	return storedOptions{Market: b.Recovery.Market, UserRef: b.Recovery.UserRef}.append(nil)
}

// lastBook returns the field Earlier of the next round. The Book of an abandoned booking may still make an order, so
// lastBook returns when that Book ended. After any other ending, Earlier stays the same.
func (b booking) lastBook() time.Time {
	switch {
	case b.Ending != EndingAbandoned || b.BookBy.IsZero():
		return b.Earlier
	case b.Recovery.EndedAt.IsZero():
		return b.BookBy
	}
	return b.Recovery.EndedAt
}

// earlierEnded records in an open booking that the Book of an earlier round has ended with an unknown outcome. This
// happens if the process of that Book was frozen. If the booking has ended, ok is false and nothing changes: handOver
// may open such a booking again.
func (b booking) earlierEnded(at time.Time) (next booking, ok bool) {
	if b.Ending != "" {
		return b, false
	}
	b.Earlier = wallClock(later(at, b.Earlier))
	if r := &b.Recovery; !r.EndedAt.IsZero() && r.EndedAt.Before(b.Earlier) {
		// The Book of the earlier round ended after EndedAt, so the polls begin again.
		r.EndedAt, r.Polls, r.NextPoll, b.Due = b.Earlier, 0, b.Earlier, b.Earlier
	}
	return b, true
}

// wake makes a booking due now, because a webhook reports an event of the order. If Book has not started, or the booking
// has ended, ok is false and nothing changes.
func (b booking) wake(now time.Time) (next booking, ok bool) {
	if phase := b.Phase(now); phase == PhaseWaiting || phase == phaseEnded {
		return b, false
	}
	b.Due = wallClock(now)
	b.Recovery.NextPoll = b.Due
	return b, true
}

// booked returns the outcome that ends the booking, from the results of BookAndRecover. It returns nil if the outcome
// is unknown or its State is not set. A Book that was refused or never sent does not end the booking while the Book of an
// earlier round may still make an order.
func (b booking) booked(at time.Time, outcome *hotelstays.BookingOutcome, err error) *hotelstays.BookingOutcome {
	final := b.known(outcome, err)
	if final == nil && outcome == nil && err != nil && !isUnknown(err) { // Book was refused, or was never sent
		final = &hotelstays.BookingOutcome{State: hotelstays.BookingAbsent, Err: err, Recovery: &b.Recovery}
	}
	if final == nil || final.State != hotelstays.BookingAbsent || b.Earlier.IsZero() {
		return final
	}
	if _, answered := errors.AsType[*hotelstays.APIError](err); at.Before(b.Earlier.Add(provenAfter)) || err != nil && !answered {
		return nil // the Book of the earlier round may still make an order
	}
	return final
}

// polled returns the booking after a poll. Pass a copy of Recovery to StepRecovery, and then pass the results of
// StepRecovery to polled. The parameter at is when the poll began. The result final is the outcome that ends the
// booking, or nil.
//
// An outcome whose State is not set counts as BookingOpen. A poll in PhaseBooking changes only Due, because the times
// of a recovery count from the end of Book. Absence is proven ClockMargin later than for StepRecovery, because
// EndedAt may come from another machine's clock.
func (b booking) polled(at time.Time, outcome *hotelstays.BookingOutcome, err error) (next booking, final *hotelstays.BookingOutcome) {
	final = b.known(outcome, err)
	early := final != nil && final.State == hotelstays.BookingAbsent && at.Before(final.Recovery.EndedAt.Add(provenAfter))
	switch {
	case !early && (final != nil || err != nil || outcome == nil):
		return b, final
	case b.Phase(at) == PhaseBooking:
		b.Due = b.BookBy
		return b, nil
	}
	b.Recovery, b.Due, b.Problem = *outcome.Recovery, outcome.Recovery.NextPoll, hotelstays.KindOf(outcome.Err)
	if ended := b.Recovery.EndedAt; !b.Due.Before(ended.Add(absenceAfter)) {
		b.Due = later(b.Due, ended.Add(provenAfter))
	}
	if outcome.State == hotelstays.BookingUnverified {
		pause := min(unverifiedPause<<min(b.Unverified, 5), maxUnverifiedPause)
		b.Due = later(b.Due, wallClock(at.Add(pause)))
		b.Unverified++
	}
	return b, nil
}

// pollTogether reports whether a poll for many references may replace the booking's own poll. The poll for many
// references proves no absence, so it may not replace the poll that can prove absence.
func (b booking) pollTogether(at time.Time) bool {
	ended := b.Recovery.EndedAt
	return b.Phase(at) == PhasePolling && !at.Before(ended) && at.Before(ended.Add(provenAfter))
}

// missed returns the booking after a poll for many references that failed or did not find the order. The parameter at
// is when the poll began. The booking is due at the next poll of the recovery's schedule. The recovery does not change,
// because a poll for many references proves nothing.
func (b booking) missed(at time.Time) booking {
	ended := b.Recovery.EndedAt
	b.Due = wallClock(ended.Add(min(2*at.Sub(ended)+firstPause, provenAfter)))
	return b
}

// handOver returns the booking after a Book with an unknown outcome, for workers to continue. The parameter
// recovery is the recovery of that Book.
//
// A booking that has ended without an order opens again: the process that called Book was frozen, and its Book may have
// made an order since. In two cases ok is false and nothing changes: the order was found, or Book ended before the poll
// that proved the absence. If another round is open, store earlierEnded instead.
func (b booking) handOver(recovery hotelstays.BookingRecovery) (next booking, ok bool) {
	proven := b.Ending == EndingAbsent && !recovery.EndedAt.After(later(b.BookBy, b.Recovery.EndedAt))
	if b.Ending.hasOrder() || proven {
		return b, false
	}
	next = handedOver(recovery)
	next.Round, next.Begun = b.Round, b.Begun
	return next.earlierEnded(b.Earlier)
}

// sent holds the results of a Book, and the booking for which it was called.
type sent struct {
	marked  booking   // booking that booking.start returned
	at      time.Time // time at which Book ended
	outcome *hotelstays.BookingOutcome
	err     error // err and outcome are the results of BookAndRecover
}

// settled holds the result of settle: what to store, and what to pass to the caller.
type settled struct {
	outcome *hotelstays.BookingOutcome // outcome of the Book; nil while it is unknown
	store   bool                       // whether to commit the next booking
	deliver bool                       // whether to pass outcome to the caller, in the same transaction
	err     error                      // error that Send returns if another outcome was stored before
}

// settle decides how the results of a Book change the stored booking. The stored booking may already belong to a later
// round.
func (s sent) settle(stored booking) (next booking, is settled) {
	is.outcome = stored.booked(s.at, s.outcome, s.err)
	again := !sameRound(stored, s.marked) // true if the booking has begun again after this Book
	switch {
	case is.outcome == nil && (s.outcome == nil || s.outcome.Recovery == nil): // nothing changes: workers poll from BookBy on
	case is.outcome == nil && again && stored.Ending == "":
		next, is.store = stored.earlierEnded(s.outcome.Recovery.EndedAt)
	case is.outcome == nil && stored.Ending == EndingFailed && !s.outcome.Recovery.EndedAt.After(s.marked.BookBy):
		// nothing changes: the later round began after the proof that this Book made no order
	case is.outcome == nil:
		next, is.store = stored.handOver(*s.outcome.Recovery)
	case !again:
		next, is.store, is.err = stored.end(is.outcome)
		is.deliver = is.store
	case stored.Ending.hasOrder() || !EndingOf(is.outcome).hasOrder(): // nothing changes: the two outcomes do not contradict each other
	default:
		is.err = fmt.Errorf("%w, and the booking has begun again; check the booking by hand", ErrConflictingOutcome)
		next, is.store = stored.earlierEnded(s.at)
	}
	return next, is
}

// abandon ends a booking without an outcome, because a person gives the booking up. While Book may be in progress, abandon
// returns an error. If the booking has already ended, the error is ErrNotBegun.
func (b booking) abandon(now time.Time) (booking, error) {
	if phase := b.Phase(now); phase == PhaseBooking || phase == phaseEnded {
		return b, b.refused(now)
	}
	b.Ending = EndingAbandoned
	return b, nil
}

// retry makes a booking due now, because a person asks for it. An abandoned booking opens again. retry returns an error
// if Book has not started. The error is ErrNotBegun if the booking has an outcome.
func (b booking) retry(now time.Time) (booking, error) {
	if b.Ending == EndingAbandoned {
		b.Ending = ""
		if b.BookBy.IsZero() { // Book was never sent, and is not sent now: the next poll decides the outcome
			b.BookBy = wallClock(now)
			b.Recovery.EndedAt = wallClock(later(now.Add(-provenAfter), b.Earlier))
		}
	}
	next, ok := b.wake(now)
	if !ok {
		return b, b.refused(now)
	}
	return next, nil
}

// refused returns an error that says why start, abandon or retry cannot change a booking.
func (b booking) refused(now time.Time) error {
	switch b.Phase(now) {
	case PhaseBooking:
		return errors.New("the call of Book may still be in progress, until " + b.BookBy.Format(time.RFC3339))
	case PhaseWaiting:
		return errors.New("the booking was not sent yet; call Send, or wait until a worker sends the booking at " +
			b.Due.Format(time.RFC3339))
	}
	return fmt.Errorf("%w: the last booking has ended as %s", ErrNotBegun, b.Ending)
}

// end ends a booking with an outcome that booked or polled has returned. ok is false if the booking has already ended
// in the same way. Absent and failed count as the same way, because both mean that there is no order. If the booking
// has ended in another way, nothing changes, and the error is ErrConflictingOutcome. An outcome for which EndingOf
// returns no ending is an error, too.
func (b booking) end(outcome *hotelstays.BookingOutcome) (next booking, ok bool, err error) {
	noOrder := func(e Ending) bool { return e == EndingAbsent || e == EndingFailed }
	switch end := EndingOf(outcome); {
	case end == "":
		return b, false, fmt.Errorf("reference %q has no final outcome yet; poll again",
			b.Recovery.CustomerReferenceNo)
	case b.Ending == "":
		b.Ending, b.Changes = end, outcome.Changes
		if outcome.Order != nil {
			b.OrderNo = outcome.Order.PlatformReferenceNo
		}
		return b, true, nil
	case b.Ending == end, noOrder(b.Ending) && noOrder(end):
		return b, false, nil
	default:
		return b, false, fmt.Errorf("reference %q: the new outcome %s is not stored, because %w: %s; check the booking by hand",
			b.Recovery.CustomerReferenceNo, end, ErrConflictingOutcome, b.Ending)
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// wallClock returns a time as a store returns it: in UTC, without a monotonic reading.
func wallClock(t time.Time) time.Time { return t.UTC().Round(0) }
