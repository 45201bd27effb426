// BookingRecovery: its stored fields, and the times of its polls.

package hotelstays

import (
	"time"

	"github.com/hotelstays/hotelstays-go/types"
)

// BookingRecovery holds what is needed to find a booking again, and to cancel it. Store it as JSON before Book and after
// each step, as WithSaveRecovery does. Only one goroutine may use it at a time. Machines that continue it need synchronised
// clocks.
type BookingRecovery struct {
	CustomerReferenceNo string `json:"customerReferenceNo"`
	// Fingerprint is the Client.Account of the client that sent Book. Polls with another account would prove nothing,
	// because another account does not see the orders of this account.
	Fingerprint string `json:"fingerprint"`
	SessionID   string `json:"sessionId,omitempty"` // the session of the booking, which Cancel needs
	Market      string `json:"market,omitempty"`
	UserRef     string `json:"userRef,omitempty"`
	// EndedAt is when Book ended. It is zero if the recovery was stored before Book. Then the schedule starts with the first
	// poll, and a first poll during Book could report absence too early. So another process must not poll before Book has
	// certainly ended. Book has ended when its time limit has passed since the recovery was stored. The time limit is
	// OpBook.Timeout(), unless WithTimeout or ctx set another limit.
	EndedAt  time.Time `json:"endedAt,omitzero"`
	Polls    int       `json:"polls"` // how many poll times of the schedule have passed
	NextPoll time.Time `json:"nextPoll,omitzero"`
	// Expect is the BookRequest.Expect of the Book, for comparison with the order.
	Expect *types.RoomRatePkg `json:"expect,omitempty"`
}

// recoverySchedule lists the times of the polls, counted from the end of Book. As the document says, the pauses double
// from 30 seconds on, and polling ends after ten minutes.
var recoverySchedule = []time.Duration{0, 30 * time.Second, 90 * time.Second, 210 * time.Second, 450 * time.Second, recoveryEnd}

const (
	// recoveryEnd ends the schedule. Unless Book was refused, only a poll at this time or later proves absence.
	recoveryEnd = 600 * time.Second
	// recoveryPollTimeout bounds one poll. It is shorter than every pause between two polls.
	recoveryPollTimeout = 20 * time.Second
	recoveryPause       = 150 * time.Second
)

func (r *BookingRecovery) ended(at time.Time) {
	r.EndedAt = at.UTC().Round(0) // Round drops the monotonic time, because the recovery is stored
	r.NextPoll = r.EndedAt
}

// repairTimes restarts a schedule with missing or impossible times, which another machine's clock may have made.
func (r *BookingRecovery) repairTimes(now time.Time) {
	switch {
	case r.EndedAt.IsZero() || r.EndedAt.After(now.Add(time.Second)):
		r.Polls = 0
		r.ended(now)
	case r.NextPoll.After(now.Add(recoveryEnd)):
		r.NextPoll = now.UTC().Round(0)
	}
}

// polled advances the schedule after a poll that began at the given time. It skips missed times, because one poll is enough
// for them.
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
