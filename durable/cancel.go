// The transitions of a cancellation.

package durable

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

var (
	// ErrAlreadyCancelling: a cancellation under this reference has not ended, or has ended as
	// unknown. With a further cancellation, Cancel could be sent twice.
	ErrAlreadyCancelling = errors.New("a cancellation under this reference has not ended, or nobody knows how it has ended")
	// ErrAlreadyCancelled: a cancellation under this reference has ended, and the order is cancelled.
	ErrAlreadyCancelled = errors.New("the order under this reference is cancelled already")
	// ErrNothingToCancel: the booking under this reference has made no order. The error text says why.
	ErrNothingToCancel = errors.New("there is nothing to cancel")
	// ErrCancelCost: nothing was sent, because the fee exceeds CancelOrder.MaxFee, or is unknown.
	ErrCancelCost = errors.New("the cost of the cancellation exceeds MaxFee, or the order does not say the cost; nothing was sent")
)

// phaseSending is the phase of a cancellation whose Cancel may be in progress. The other phases of a cancellation are
// PhaseWaiting, PhasePolling and phaseEnded.
const phaseSending Phase = "sending"

// CancelEnding says how a cancellation has ended. Its text can be stored. The zero value means that the cancellation
// has not ended.
type CancelEnding string

const (
	// CancelDone: the order is cancelled.
	CancelDone CancelEnding = "cancelled"
	// CancelRefused: Cancel was refused or not sent. Cancellation.Err says why.
	CancelRefused CancelEnding = "refused"
	// CancelStanding: Cancel got no answer, and ten minutes later the order was still not cancelled.
	CancelStanding CancelEnding = "standing"
	// CancelAccepted: the service accepted Cancel, but a day later the order's status was not cancelled. The service
	// may still cancel the order.
	CancelAccepted CancelEnding = "accepted"
	// CancelUnknown: the stay was over before the service showed whether the order is cancelled.
	CancelUnknown CancelEnding = "unknown"
)

const (
	// orderShows is how long a cancellation waits for an order that the service does not show yet, although its booking
	// has ended.
	orderShows = 15 * time.Minute
	// acceptedFor is how long workers read the order after the service has accepted Cancel, until its status is
	// cancelled.
	acceptedFor = 24 * time.Hour
	// A cancellation that was not sent is tried again after a pause of cancelPause at first, and
	// maxCancelPause at most.
	cancelPause    = 5 * time.Second
	maxCancelPause = 30 * time.Second
)

// The reasons why a cancellation has nothing to cancel. These words are stored.
const (
	whyNotBooked  = "not booked"
	whyBegunAgain = "begun again"
	whyNeverSent  = "never sent"
)

// whyNothing has the error text for each reason why a cancellation has nothing to cancel. The key is a reason, or the
// ending of a booking that has not made an order.
var whyNothing = map[string]string{
	whyNotBooked:         "no booking is stored under this reference; name the order by PlatformReferenceNo",
	whyNeverSent:         "the booking was abandoned before it was sent; name another order by PlatformReferenceNo",
	whyBegunAgain:        "the booking has begun again since, and this cancellation belonged to the earlier round",
	string(EndingAbsent): "the booking has ended as absent: it made no order",
	string(EndingFailed): "the booking has ended as failed: Book was refused, or not sent",
	string(EndingReused): "the booking has ended as reused: its order belongs to another stay; name it by PlatformReferenceNo",
}

func nothingToCancel(why string) error {
	return fmt.Errorf("%w: %s", ErrNothingToCancel, whyNothing[why])
}

// CancelOrder asks for the cancellation of an order.
type CancelOrder struct {
	CustomerReferenceNo string `json:"customerReferenceNo"` // required
	// PlatformReferenceNo names the order. If it is empty, the order of the latest booking under the reference is
	// cancelled. It is required if no row of the booking is stored: another program booked the order, or the row was
	// deleted. River deletes the job of an ended booking after a day.
	PlatformReferenceNo string `json:"platformReferenceNo,omitempty"`
	// SessionID is required. The API document does not say which session; use the session of the
	// booking.
	SessionID string `json:"sessionId"`
	// Reason is why the order is cancelled. The service requires it for some orders.
	Reason string `json:"reason,omitempty"`
	// MaxFee, if set, is the highest acceptable fee. Order.CancelFeeAt must not exceed MaxFee at two times: when a
	// worker has read the order, and at the end of Cancel's time limit. An unknown fee counts as too high.
	MaxFee *types.Money `json:"maxFee,omitempty"`
}

// cancellation is the stored state of a cancellation. It holds no secret, and nothing about the
// guests except Reason, WithUserRef and WithClientIP.
type cancellation struct {
	// CancelOrder has the PlatformReferenceNo as soon as it is known.
	CancelOrder
	// Round is the round of the booking that made the order. It is 0 if the request names the order.
	Round int `json:"round,omitempty"`
	// Fingerprint identifies the environment and the account, as in BookingRecovery.
	Fingerprint string        `json:"fingerprint"`
	Options     storedOptions `json:"options,omitzero"`
	Begun       time.Time     `json:"begun"`
	// SendBy is the time by which Cancel has certainly ended. It is zero while nothing was sent.
	SendBy time.Time `json:"sendBy,omitzero"`
	// Cost is the cancellation fee at the time when Cancel was sent, according to Order.CancelFeeAt. It is nil if the
	// fee is unknown.
	Cost *types.Money `json:"cost,omitempty"`
	// SupplierReferenceNo, Status and CheckOut are the values of the order before Cancel was sent.
	SupplierReferenceNo string            `json:"supplierReferenceNo,omitempty"`
	Status              types.OrderStatus `json:"status,omitempty"`
	CheckOut            types.Date        `json:"checkOut,omitempty"`
	// Ending is empty until the cancellation has ended.
	Ending CancelEnding `json:"ending,omitempty"`
	// Delivered is true after OnCancel has received the ending. The row is then no longer Open.
	Delivered bool `json:"-"`
	// Accepted is true if the service answered Cancel with code 0, but the order's status was not cancelled.
	Accepted bool `json:"accepted,omitempty"`
	// ServiceFee is the fee in the answer to Cancel, or nil.
	ServiceFee *types.Money `json:"serviceFee,omitempty"`
	// Refusal is the service's error answer to Cancel. Problem says why Cancel was not sent. The field Nothing says why
	// there was nothing to cancel: it is a key of whyNothing.
	Refusal *hotelstays.APIError `json:"refusal,omitempty"`
	Problem string               `json:"problem,omitempty"`
	Nothing string               `json:"nothing,omitempty"`
	// Bound is the time at which a worker found that the booking had ended.
	Bound time.Time `json:"bound,omitzero"`
	// Due is when a worker must act. It is not in the JSON: the store has its own column for it.
	Due time.Time `json:"-"`

	expect *types.RoomRatePkg // booked stay; set only while a worker works on the cancellation
}

// newCancellation checks a request of CancelTx, and returns the cancellation to store. The parameter booking is the
// latest booking under the reference, or nil. The error is a *hotelstays.ValidationError if the request is
// incomplete, or if an option cannot be stored, such as a function. The error is ErrNothingToCancel if the request
// does not name an order and the booking has made no order.
func newCancellation(req CancelOrder, booking *booking, fingerprint string, now time.Time,
	opts ...hotelstays.CallOption) (cancellation, error) {
	options, err := optionsOf("CancelTx", opts)
	invalidFee := false
	if req.MaxFee != nil {
		_, feeErr := req.MaxFee.Decimal()
		invalidFee = feeErr != nil
	}
	if err == nil {
		err = refuse("CancelTx", unfit{"customerReferenceNo", req.CustomerReferenceNo == "", "is required"},
			unfit{"sessionId", req.SessionID == "", "is required"}, unfit{"maxFee.amount", invalidFee, "is not a number"})
	}
	now = wallClock(now)
	c := cancellation{CancelOrder: req, Fingerprint: fingerprint, Options: options, Begun: now, Due: now}
	if err == nil {
		c, _ = c.bind(now, booking)
		err = c.err()
	}
	return c, err
}

func (c cancellation) namesOtherOrder(was cancellation) bool {
	return c.PlatformReferenceNo != "" && was.PlatformReferenceNo != "" && c.PlatformReferenceNo != was.PlatformReferenceNo
}

// same reports whether the stored cancellation c is still the cancellation that a worker has read. A later cancellation
// under the reference differs in its Round, even if a coarse clock has given it the same Begun.
func (c cancellation) same(read cancellation) bool {
	unbound := c.Round == 0 && c.PlatformReferenceNo == "" // only an older version stores a row without a round and an order number
	return c.Begun.Equal(read.Begun) && (unbound || c.Round == read.Round)
}

// bind gives a waiting cancellation the order of the latest booking under its reference. If that booking
// has ended and made no order, the cancellation ends. The result waits is true while the booking has not ended.
func (c cancellation) bind(at time.Time, booking *booking) (next cancellation, waits bool) {
	switch {
	case c.Round == 0 && c.PlatformReferenceNo != "": // CancelTx was called with the number of the order
		return c, false
	case booking == nil:
		if c.PlatformReferenceNo == "" {
			c.Ending, c.Nothing = CancelRefused, whyNotBooked
		}
		return c, false
	case c.Round == 0: // the cancellation is new, or was stored by an older version
		c.Round = max(booking.Round, 1)
	case c.Round != max(booking.Round, 1):
		c.Ending, c.Nothing = CancelRefused, whyBegunAgain
		return c, false
	}
	switch booking.Ending {
	case "":
		return c.tryAgain(at), true
	case EndingFound:
		c.PlatformReferenceNo = cmp.Or(c.PlatformReferenceNo, booking.OrderNo)
	case EndingAbandoned: // there may be an order, unless Book was never sent
		if booking.BookBy.IsZero() && booking.Earlier.IsZero() {
			c.Ending, c.Nothing = CancelRefused, whyNeverSent
		}
	default:
		c.Ending, c.Nothing = CancelRefused, string(booking.Ending)
	}
	return c, false
}

// bookingBegins ends an unsent cancellation, because a booking begins again under its reference. The error is
// ErrAlreadyCancelling if a Cancel may be in progress: the service could answer the new Book with the order
// that this Cancel cancels.
func (c cancellation) bookingBegins(now time.Time) (cancellation, error) {
	switch {
	case c.Ending != "":
		return c, nil
	case !c.SendBy.IsZero():
		return c, ErrAlreadyCancelling
	}
	c.Ending, c.Nothing, c.Due = CancelRefused, whyBegunAgain, wallClock(now)
	return c, nil
}

func (c *cancellation) identity() (reference, fingerprint string) {
	return c.CustomerReferenceNo, c.Fingerprint
}

func (c *cancellation) due() time.Time { return c.Due }

func (c *cancellation) read(row *Row) error {
	c.Due, c.Delivered = row.Due, row.Life != Open
	return nil
}

func (c *cancellation) open() bool { return !c.Delivered }

func (c cancellation) phase(now time.Time) Phase {
	switch {
	case c.Ending != "":
		return phaseEnded
	case c.SendBy.IsZero():
		return PhaseWaiting
	case now.Before(c.SendBy):
		return phaseSending
	}
	return PhasePolling
}

// again checks whether a new cancellation may begin under the same reference after c. If not, the error is
// ErrAlreadyCancelling or ErrAlreadyCancelled.
func (c cancellation) again() error {
	switch {
	case c.Ending == CancelDone:
		return ErrAlreadyCancelled
	case c.Ending == CancelRefused, c.Ending == CancelStanding, c.SendBy.IsZero(): // a zero SendBy means that Cancel was not sent
		return nil
	}
	return ErrAlreadyCancelling
}

func (c cancellation) request() (*hotelstays.CancelRequest, []hotelstays.CallOption) {
	return &hotelstays.CancelRequest{SessionID: c.SessionID, CustomerReferenceNo: c.CustomerReferenceNo,
		SupplierReferenceNo: c.SupplierReferenceNo, Reason: c.Reason}, c.Options.append(nil)
}

// start decides the next state of a waiting cancellation, after a worker has read its order. The parameter order is nil
// if a complete answer lacked the order. The caller commits the result. If the next phase is phaseSending, only this
// caller then sends Cancel, which must end by sendBy. If the next phase is PhaseWaiting, a worker reads the order again
// later. The cancellation ends if, for example, the order is cancelled already, or its fee exceeds MaxFee.
func (c cancellation) start(at, sendBy time.Time, order *types.Order, states hotelstays.StatusMeanings) cancellation {
	if order == nil || order.SupplierReferenceNo == "" {
		if end := later(c.Begun, c.Bound).Add(orderShows); at.Before(end) {
			return c.tryAgain(at)
		}
		if c.Ending = CancelRefused; order != nil {
			c.Problem = "the order has no supplierReferenceNo, which Cancel requires; cancel it by hand"
		}
		return c
	}
	if c.PlatformReferenceNo == "" && otherStay(c.expect, order) {
		c.Ending, c.Nothing = CancelRefused, string(EndingReused)
		return c
	}
	c.PlatformReferenceNo = order.PlatformReferenceNo
	c.SupplierReferenceNo, c.Status, c.CheckOut = order.SupplierReferenceNo, order.Status, order.CheckOut
	if states.StateOf(order.Status) == hotelstays.OrderStateCancelled {
		c.Ending = CancelDone
		return c
	}
	var costs [2]*types.Money // the fees now and at the end of Cancel's time limit, because a later fee may apply when Cancel arrives
	var unknown error
	for i, t := range []time.Time{at, sendBy} {
		cost, err := order.CancelFeeAt(t)
		if err != nil {
			unknown = err
			break
		}
		costs[i] = &cost
	}
	if c.Cost = costs[0]; c.MaxFee != nil {
		for _, cost := range costs {
			if cost == nil {
				c.Ending, c.Problem = CancelRefused, unknown.Error()
			} else if order, err := cost.Cmp(*c.MaxFee); err != nil || order > 0 {
				c.Ending, c.Problem, c.Cost = CancelRefused, fmt.Sprintf("it costs %s, and MaxFee is %s", cost, c.MaxFee), cost
			}
		}
		if c.Ending != "" {
			return c
		}
	}
	c.SendBy = wallClock(sendBy.Add(ClockMargin))
	c.Due = c.SendBy
	return c
}

// tryAgain sets when a worker tries again. The pause is as long as the cancellation has waited so far, but at least
// cancelPause and at most maxCancelPause. The wait counts from CancelTx, or from the end of the booking if the booking
// ended later.
func (c cancellation) tryAgain(at time.Time) cancellation {
	c.Due = wallClock(at.Add(min(max(at.Sub(later(c.Begun, c.Bound)), cancelPause), maxCancelPause)))
	return c
}

// otherStay reports whether the dates of an order differ from the stay that was booked. If they differ, somebody
// else booked the order.
func otherStay(expect *types.RoomRatePkg, order *types.Order) bool {
	return slices.ContainsFunc(hotelstays.CompareOrder(expect, order).Changes, func(c hotelstays.OfferChange) bool {
		return (c.Field == types.OfferCheckIn || c.Field == types.OfferCheckOut) && c.Seen != "" && c.Now != ""
	})
}

// answered returns the next state after the call of Cancel, which returned resp and err. The parameter at is when the
// call ended. If Cancel was provably not sent, or exceeded the rate limit, the cancellation waits again. In all other
// cases Cancel is never sent again. A cancellation that has ended does not change.
func (c cancellation) answered(at time.Time, resp *hotelstays.CancelResponse, err error, states hotelstays.StatusMeanings) cancellation {
	api, isAnswer := errors.AsType[*hotelstays.APIError](err)
	invalid, isInvalid := errors.AsType[*hotelstays.ValidationError](err)
	switch {
	case c.Ending != "" || c.SendBy.IsZero():
		return c
	case isUnknown(err):
		c.SendBy = wallClock(at)
		c.Due = c.SendBy
	case err == nil:
		c.ServiceFee = resp.ServiceFee
		if resp.Status != nil && !saysCancelled(*resp.Status, states) { // workers read the order until it is cancelled
			c.Accepted, c.SendBy, c.Due = true, wallClock(at), wallClock(at)
			return c
		}
		c.Ending = CancelDone
	case isInvalid:
		c.Ending, c.Problem = CancelRefused, invalid.Error()
	case isAnswer && api.Operation == hotelstays.OpCancel && !errors.Is(err, hotelstays.ErrRateLimited):
		c.Ending = CancelRefused
		c.Refusal = &hotelstays.APIError{Operation: api.Operation, HTTPStatus: api.HTTPStatus, Code: api.Code, Msg: api.Msg,
			RequestID: api.RequestID, TraceID: api.TraceID}
	default:
		c.SendBy, c.Cost, c.SupplierReferenceNo = time.Time{}, nil, ""
		c = c.tryAgain(at)
	}
	return c
}

// saysCancelled reports whether an answer to Cancel with code 0 and this status means that the order is cancelled. If
// StatusMeanings names no status for cancelled, code 0 is enough, unless the status has another meaning.
func saysCancelled(status types.OrderStatus, states hotelstays.StatusMeanings) bool {
	state := states.StateOf(status)
	return state == hotelstays.OrderStateCancelled || state == hotelstays.OrderStateUnknown && len(states.Cancelled) == 0
}

// polled returns the next state after a worker has read the order of a cancellation whose Cancel was sent. The
// parameter at is when the read began. The parameter order is nil if the answer lacked the order.
func (c cancellation) polled(at time.Time, order *types.Order, states hotelstays.StatusMeanings) cancellation {
	if c.phase(at) != PhasePolling {
		return c
	}
	since := at.Sub(c.SendBy)
	c.Due = wallClock(at.Add(min(since, maxUnverifiedPause)))
	if since < provenAfter {
		c.Due = wallClock(c.SendBy.Add(min(2*since+firstPause, provenAfter)))
	}
	if order != nil {
		switch state := states.StateOf(order.Status); {
		case state == hotelstays.OrderStateCancelled:
			c.Ending = CancelDone
			return c
		case c.Accepted && since >= acceptedFor:
			c.Ending = CancelAccepted
			return c
		case !c.Accepted && since >= provenAfter && (state != hotelstays.OrderStateUnknown || order.Status == c.Status):
			c.Ending = CancelStanding
			return c
		}
	}
	if dayOver(c.CheckOut, at) {
		c.Ending = CancelUnknown
	}
	return c
}

// readFailed returns the next state after a read that failed. The parameter at is when the read began. The next read
// is due at most failedPause later.
func (c cancellation) readFailed(at time.Time) cancellation {
	next := c.polled(at, nil, hotelstays.StatusMeanings{})
	if soon := wallClock(at.Add(failedPause)); next.Due.After(soon) {
		next.Due = soon
	}
	return next
}

// dayOver reports whether a day is certainly over in all time zones.
func dayOver(day types.Date, at time.Time) bool {
	start, err := day.Time()
	return err == nil && at.After(start.AddDate(0, 0, 2))
}

// wake makes a cancellation due now, after a webhook for its reference. If its Cancel may be in progress, or the
// cancellation has ended, ok is false and nothing changes.
func (c cancellation) wake(now time.Time) (next cancellation, ok bool) {
	if phase := c.phase(now); phase == phaseSending || phase == phaseEnded {
		return c, false
	}
	c.Due = wallClock(now)
	return c, true
}

func (c cancellation) result() Cancellation {
	return Cancellation{c.CancelOrder, c.Fingerprint, c.Begun, c.SendBy, c.Accepted, c.Due, c.Ending, c.Cost, c.ServiceFee, c.err()}
}

func (c cancellation) err() error {
	switch {
	case c.Ending == "" || c.Ending == CancelDone:
		return nil
	case c.Refusal != nil:
		return c.Refusal
	case c.Nothing != "":
		return nothingToCancel(c.Nothing)
	case c.Ending == CancelAccepted:
		return errors.New("the service accepted Cancel, but a day later the order's status was not cancelled; ask the service")
	case c.Ending == CancelStanding:
		return errors.New("the service did not answer Cancel, and ten minutes later the order was not cancelled; call CancelTx again")
	case c.Ending == CancelUnknown:
		return errors.New("the service did not answer Cancel, and never showed during the stay whether the order is cancelled; ask the service")
	case c.Problem == "":
		return &hotelstays.OrderNotFoundError{CustomerReferenceNo: c.CustomerReferenceNo, Waited: orderShows}
	case c.SendBy.IsZero() && c.SupplierReferenceNo != "":
		return fmt.Errorf("%w: %s", ErrCancelCost, c.Problem)
	}
	return errors.New(c.Problem)
}
