// The sandbox, which enforces the rate limits, and its faults.

package main

import (
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

const (
	// visibleAfter is how long a new order is hidden, confirmAfter how long it is open.
	// Events come at both times, some of them too early for a poll.
	visibleAfter = 300 * time.Millisecond
	confirmAfter = 2 * time.Second
	// eventsOfOrder is how many events an order has: created, paid, modified.
	eventsOfOrder = 3
)

// faults are the faults of requests.
var faults = []hotelstaystest.Fault{
	// The order is made, without an answer.
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true, Probability: 0.05},
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 504, Commit: true, Probability: 0.05},
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 2 * bookTimeout, Commit: true, Probability: 0.03},
	// No order is made, without an answer.
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Probability: 0.03},
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 504, Probability: 0.03},
	// No order is made, and the answer is a refusal.
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 400, Probability: 0.03},

	{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 503, Probability: 0.1},
	{Operation: hotelstaystest.OpWebhook, Kind: hotelstaystest.FaultDuplicate, Probability: 0.1},
	{Operation: hotelstaystest.OpWebhook, Kind: hotelstaystest.FaultDrop, Probability: 0.02},
}

func startSandbox() *hotelstaystest.Server {
	srv := hotelstaystest.NewServer(
		hotelstaystest.WithLateVisibility(visibleAfter), hotelstaystest.WithConfirmAfter(confirmAfter),
		hotelstaystest.WithLedgerLimit(1_000_000), // the verdict needs every request
		// Longer than a dead worker's claim of an event.
		hotelstaystest.WithWebhookRetryDelays(250*time.Millisecond, 500*time.Millisecond, time.Second, 2*time.Second, 2*time.Second,
			2*time.Second, 2*time.Second, 2*time.Second, 4*time.Second, 4*time.Second, 8*time.Second))
	for _, f := range faults {
		f.Times = -1
		srv.Inject(f)
	}
	return srv
}
