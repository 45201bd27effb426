// The promises of a durable.Bookings.

package bookingstest

import (
	"slices"
	"testing"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

// promise is a rule from the documentation, and the case that proves it.
type promise[Tx any] struct {
	rule     string // the name of the subtest
	test     func(*World[Tx])
	database bool // TestDatabase also runs the case, because its result may depend on the database
	config   hotelstaystest.Config
}

// lateOrders makes the sandbox hide new orders from QueryOrders for two hours, which is longer than a recovery.
var lateOrders = hotelstaystest.Config{LateVisibility: 2 * time.Hour}

// promises returns the rules that each implementation must prove. These rules depend on how the implementation commits,
// locks and finds rows, and delivers outcomes. The tests of package durable prove the decisions of the engine.
func promises[Tx any]() []promise[Tx] {
	return []promise[Tx]{
		{rule: "InTx commits booking and row together, and repeats what the database rolled back", test: inTx[Tx], database: true},
		{rule: "a reference that has begun or is booked cannot begin again", test: beginsOnce[Tx], database: true},
		{rule: "Send stores the outcome if Book returns it immediately", test: knownAtOnce[Tx]},
		{rule: "concurrent calls of Send send Book once", test: sentOnce[Tx], database: true},
		{rule: "a worker sends a booking if nobody calls Send", test: workersSend[Tx], database: true},
		{rule: "a lost answer ends as found, and a lost request as absent, which can be booked again", test: lostAnswers[Tx], database: true},
		{rule: "Wake makes a worker poll", test: wake[Tx], config: lateOrders},
		{rule: "a worker that stops during a poll releases its booking to other workers", test: stoppedInPoll[Tx]},
		{rule: "Abandon ends a booking, and Retry opens it again", test: abandonAndRetry[Tx]},
		{rule: "OnOutcome is called until it succeeds", test: onOutcomeFails[Tx], database: true},
		{rule: "OnOutcome can begin the next round of its booking", test: onOutcomeBeginsAgain[Tx], database: true},

		{rule: "concurrent cancellations send Cancel once", test: cancelledOnce[Tx], database: true},
		{rule: "a cancellation waits until its booking has an order", test: cancelWaits[Tx]},
		{rule: "Cancel is not sent if the booking has no order", test: nothingToCancel[Tx], database: true},
		{rule: "a cancellation does not cancel the order of the next round", test: cancelOfAnEarlierRound[Tx], database: true},
		{rule: "a booking cannot begin again while its Cancel is in progress", test: beginsAfterItsCancel[Tx], database: true},
		{rule: "after a worker stops before or during a Cancel, another worker ends the cancellation", test: stoppedInCancel[Tx]},
		{rule: "OnCancel is called until it succeeds, with the answer to Cancel", test: onCancelFails[Tx], database: true},

		{rule: "OnOrder receives each change of an order once, until the order is settled", test: followed[Tx], database: true},

		{rule: "two accounts can use the same reference in one database", test: accountsShareReferences[Tx], database: true, config: twoAccounts},
		{rule: "bookings of an account wait while the account is unknown", test: unknownAccountWaits[Tx], database: true, config: twoAccounts},
		{rule: "an account with many bookings does not delay other accounts",
			test: loudAccountDelaysNoOther[Tx], database: true, config: twoAccounts},
	}
}

// Test tests an implementation. The function start must start a fleet with its own database for one case. Cases run in
// parallel.
func Test[Tx any](t *testing.T, start func(t *testing.T) Fleet[Tx]) { run(t, start, promises[Tx]()) }

// TestDatabase tests an implementation on another database than Test. It runs only the cases whose results may depend
// on the database.
func TestDatabase[Tx any](t *testing.T, start func(t *testing.T) Fleet[Tx]) {
	run(t, start, slices.DeleteFunc(promises[Tx](), func(p promise[Tx]) bool { return !p.database }))
}

func run[Tx any](t *testing.T, start func(t *testing.T) Fleet[Tx], promises []promise[Tx]) {
	t.Helper()
	for _, p := range promises {
		t.Run(p.rule, func(t *testing.T) {
			t.Parallel()
			p.test(New(t, start(t), p.config))
		})
	}
}
