package hotelstaysredis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// onRoad runs a test with fleets that send to operations with limits of 5 and, in the long
// form, 10 and 50 requests a second.
func onRoad(t *testing.T, way road, test func(t *testing.T, sent *traffic, fleet []*process)) {
	for _, op := range amount(t, []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpBook, hotelstays.OpQueryOrders},
		[]hotelstays.Operation{hotelstays.OpTicket}) {
		t.Run(string(op), func(t *testing.T) {
			withFleet(t, amount(t, 4, 2), RateLimiterOptions{}, func(t *testing.T, _ *mini, fleet []*process) {
				for _, p := range fleet {
					p.link.latency.Store(int64(2 * ms))
				}
				test(t, &traffic{key: budget(op), callers: 2 * op.RateLimit(), road: way}, fleet)
			})
		})
	}
}

// Requests take up to 600 ms to arrive, and answers 50 ms to 5 s. Because each answer carries
// its cost, nothing is refused: not in the first burst, and not in one that follows a rest.
func TestNoMoreThanTheLimitEverArrives(t *testing.T) {
	onRoad(t, road{far: 600 * ms, quick: 50 * ms, slow: 5 * time.Second}, func(t *testing.T, sent *traffic, fleet []*process) {
		for range 2 {
			sent.driveFor(amount(t, 70*time.Second, 15*time.Second), fleet...)
			time.Sleep(5 * time.Minute)
		}
		sent.keptLimit(t, window)
	})
}

// If answers prove nothing, the first 429 is the last one for a minute, in every process.
// Requests that left before it was known do not count.
func TestOneRefusalAMinuteWithoutProof(t *testing.T) {
	refused := 0
	way := road{proofless: true, far: 600 * ms, quick: 50 * ms, slow: 5 * time.Second}
	onRoad(t, way, func(t *testing.T, sent *traffic, fleet []*process) {
		sent.driveFor(amount(t, 2*time.Minute, 40*time.Second), fleet...)
		for _, left := range sent.refused {
			refused++
			if after := left.Sub(sent.known); after > 0 {
				assert.GreaterOrEqual(t, after, time.Minute, "after the first 429")
			}
		}
	})
	assert.NotZero(t, refused, "the road is too easy")
}
