// The sandbox of a test, and its faults.

package chaostest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// Speed is how many times as fast [Fleet.Hurry] lets time pass.
const Speed = 60

// Seed returns the number in HOTELSTAYS_CHAOS_SEED, for a run to repeat, or else a random one.
func Seed() uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("HOTELSTAYS_CHAOS_SEED"), 10, 64); err == nil {
		return seed
	}
	return rand.Uint64N(1_000_000)
}

// Config returns the configuration of the sandbox: new orders are hidden for most of a
// recovery, divided by [Speed], there are no rate limits, and the ledger keeps every request.
// The seed decides which requests meet a fault.
func Config(seed uint64) *hotelstaystest.Config {
	return &hotelstaystest.Config{Seed: seed, LateVisibility: 500 * time.Second / Speed, NoRateLimits: true, LedgerLimit: 1_000_000}
}

// Inject gives a sandbox the faults of a test, for good: about half of the Books meet one, and
// two in five of QueryOrders. A delay of three seconds is meant to be longer than the service waits.
func Inject(srv *hotelstaystest.Server) {
	for _, f := range faults {
		f.Times = -1
		srv.Inject(f)
	}
}

const (
	book  = types.OpBook
	query = types.OpQueryOrders
)

var faults = []hotelstaystest.Fault{
	// No order is made, and there is no answer.
	{Operation: book, Kind: hotelstaystest.FaultCut, Probability: 0.06},
	{Operation: book, Kind: hotelstaystest.FaultStatus, Status: 504, Probability: 0.04},
	{Operation: book, Kind: hotelstaystest.FaultGarbage, Probability: 0.03},
	{Operation: book, Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second, Probability: 0.04},
	// The order is made, and there is no answer.
	{Operation: book, Kind: hotelstaystest.FaultCut, Commit: true, Probability: 0.08},
	{Operation: book, Kind: hotelstaystest.FaultStatus, Status: 502, Commit: true, Probability: 0.05},
	{Operation: book, Kind: hotelstaystest.FaultTruncatedBody, Probability: 0.04},
	{Operation: book, Kind: hotelstaystest.FaultDelay, Delay: 3 * time.Second, Commit: true, Probability: 0.06},
	// The answer comes late.
	{Operation: book, Kind: hotelstaystest.FaultDelay, Delay: time.Second, Commit: true, Probability: 0.15},
	// No order is made, and the answer is a refusal.
	{Operation: book, Kind: hotelstaystest.FaultStatus, Status: 429, Probability: 0.04},
	{Operation: book, Kind: hotelstaystest.FaultStatus, Status: 400, Probability: 0.04},
	{Operation: book, Kind: hotelstaystest.FaultStatus, Status: 200, Code: 100009999, Probability: 0.04},

	{Operation: query, Kind: hotelstaystest.FaultStatus, Status: 503, Probability: 0.15},
	{Operation: query, Kind: hotelstaystest.FaultCut, Probability: 0.1},
	{Operation: query, Kind: hotelstaystest.FaultGarbage, Probability: 0.1},
	{Operation: query, Kind: hotelstaystest.FaultDelay, Delay: 500 * time.Millisecond, Probability: 0.1},
	{Operation: query, Kind: hotelstaystest.FaultStatus, Status: 403, Probability: 0.03},
	{Operation: types.OpTicket, Kind: hotelstaystest.FaultStatus, Status: 503, Probability: 0.1},
}
