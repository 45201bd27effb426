// The promises of a durable.Bookings.

package bookingstest

import (
	"slices"
	"testing"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// promise is a sentence of the documentation, and the case that proves it.
type promise[Tx any] struct {
	says     string // the name of the subtest
	test     func(*World[Tx])
	database bool // databases execute its statements differently
	config   hotelstaystest.Config
}

// lateOrders hides new orders for longer than a recovery takes.
var lateOrders = hotelstaystest.Config{LateVisibility: 2 * time.Hour}

// promises returns what an implementation must prove: it commits, locks, finds rows again, and delivers. The tests of
// package durable prove the decisions of the engine.
func promises[Tx any]() []promise[Tx] {
	return []promise[Tx]{
		{says: "InTx commits booking and row or neither, and repeats what the database undid", test: inTx[Tx], database: true},
		{says: "a reference begins once", test: beginsOnce[Tx], database: true},
		{says: "Send stores an outcome that is known at once", test: knownAtOnce[Tx]},
		{says: "one of many Sends sends", test: sentOnce[Tx], database: true},
		{says: "a worker sends a booking if nobody calls Send", test: workersSend[Tx], database: true},
		{says: "after a lost answer the order is found; a lost request is absent, and booked again", test: lostAnswers[Tx], database: true},
		{says: "Wake makes a worker poll", test: wake[Tx], config: lateOrders},
		{says: "a worker that is stopped in a poll returns its booking", test: stoppedInPoll[Tx]},
		{says: "Abandon ends a booking, and Retry opens it again", test: abandonAndRetry[Tx]},
		{says: "a Book that thaws after its booking was absent, and gets no answer, begins the polls again",
			test: thawsAfterTheEnd[Tx], config: lateOrders},
		{says: "a Book that thaws in the next round, and gets no answer, delays the proof of absence",
			test: thawsInTheNextRound[Tx], config: lateOrders},
		{says: "OnOutcome is called until it succeeds", test: onOutcomeFails[Tx], database: true},
		{says: "OnOutcome may begin the reference again", test: onOutcomeBeginsAgain[Tx], database: true},

		{says: "an order is cancelled once", test: cancelledOnce[Tx], database: true},
		{says: "a refused cancellation says why, and another one begins", test: cancelRefused[Tx], database: true},
		{says: "after a lost answer to Cancel the order is read, and Cancel is not sent again", test: cancelAnswersLost[Tx], database: true},
		{says: "a cancellation waits for its order", test: cancelWaits[Tx]},
		{says: "a booking without an order has nothing to cancel", test: nothingToCancel[Tx], database: true},
		{says: "a cancellation leaves the order of the next round alone", test: cancelOfAnEarlierRound[Tx], database: true},
		{says: "a booking begins again after its Cancel has ended", test: beginsAfterItsCancel[Tx], database: true},
		{says: "a worker that stops before or during a Cancel leaves the cancellation to others", test: stoppedInCancel[Tx]},
		{says: "OnCancel is called until it succeeds, with the answer that came", test: onCancelFails[Tx], database: true},

		{says: "each change of an order is delivered once, until it is settled", test: followed[Tx], database: true},
		{says: "nothing is read after Unfollow", test: unfollowed[Tx]},
		{says: "OnOrder is called until it succeeds", test: onOrderFails[Tx]},
		{says: "Watch wakes a page after the commit", test: watched[Tx]},

		{says: "accounts share a database and references", test: accountsShareReferences[Tx], database: true, config: twoAccounts},
		{says: "rows of an unknown account wait", test: unknownAccountWaits[Tx], database: true, config: twoAccounts},
		{says: "an account with many bookings does not delay other accounts",
			test: loudAccountDelaysNoOther[Tx], database: true, config: twoAccounts},
	}
}

// Test tests an implementation. start starts a fleet with a database for one case; cases run in
// parallel.
func Test[Tx any](t *testing.T, start func(t *testing.T) Fleet[Tx]) { run(t, start, promises[Tx]()) }

// TestDatabase tests an implementation with a further database: only the cases whose statements may behave differently.
func TestDatabase[Tx any](t *testing.T, start func(t *testing.T) Fleet[Tx]) {
	run(t, start, slices.DeleteFunc(promises[Tx](), func(p promise[Tx]) bool { return !p.database }))
}

func run[Tx any](t *testing.T, start func(t *testing.T) Fleet[Tx], promises []promise[Tx]) {
	t.Helper()
	for _, p := range promises {
		t.Run(p.says, func(t *testing.T) {
			t.Parallel()
			p.test(New(t, start(t), p.config))
		})
	}
}
