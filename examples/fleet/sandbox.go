// The service that the fleet books with: a sandbox that keeps the ceilings, and to which
// things happen.

package main

import (
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

const (
	// visibleAfter is how long a new order cannot be found, confirmAfter how long it is
	// open: events come at both times, and wake recoveries that are too early or not.
	visibleAfter = 300 * time.Millisecond
	confirmAfter = 2 * time.Second
	// eventsOfOrder is how many events an order has: it is made, paid, and modified.
	eventsOfOrder = 3
)

// faults are what may happen to a request, and how likely.
var faults = []hotelstaystest.Fault{
	// The order is made, and nobody says so.
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Commit: true, Probability: 0.05},
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 504, Commit: true, Probability: 0.05},
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultDelay, Delay: 2 * bookTimeout, Commit: true, Probability: 0.03},
	// No order is made, and nobody says so.
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultCut, Probability: 0.03},
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 504, Probability: 0.03},
	// No order is made, and the answer says so.
	{Operation: hotelstaystest.OpBook, Kind: hotelstaystest.FaultStatus, Status: 400, Probability: 0.03},

	{Operation: hotelstaystest.OpQueryOrders, Kind: hotelstaystest.FaultStatus, Status: 503, Probability: 0.1},
	{Operation: hotelstaystest.OpWebhook, Kind: hotelstaystest.FaultDuplicate, Probability: 0.1},
	{Operation: hotelstaystest.OpWebhook, Kind: hotelstaystest.FaultDrop, Probability: 0.02},
}

// startSandbox starts the service.
func startSandbox() *hotelstaystest.Server {
	srv := hotelstaystest.NewServer(
		hotelstaystest.WithLateVisibility(visibleAfter), hotelstaystest.WithConfirmAfter(confirmAfter),
		hotelstaystest.WithLedgerLimit(1_000_000), // the verdict looks at every request
		// It tries for longer than a dead worker's claim of an event lasts.
		hotelstaystest.WithWebhookRetryDelays(250*time.Millisecond, 500*time.Millisecond, time.Second, 2*time.Second, 2*time.Second,
			2*time.Second, 2*time.Second, 2*time.Second, 4*time.Second, 4*time.Second, 8*time.Second))
	for _, f := range faults {
		f.Times = -1
		srv.Inject(f)
	}
	return srv
}
