package hotelstaysredis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	hotelstays "github.com/hotelstays/hotelstays-go"
)

// If answers prove nothing, the first 429 is the last one for a minute, in every process.
// Requests that left before it was known do not count.
func TestOneRefusalAMinuteWithoutProof(t *testing.T) {
	refused := 0
	for _, op := range amount(t, []hotelstays.Operation{hotelstays.OpTicket, hotelstays.OpBook, hotelstays.OpQueryOrders},
		[]hotelstays.Operation{hotelstays.OpTicket}) {
		withFleet(t, amount(t, 4, 2), RateLimiterOptions{}, func(t *testing.T, _ *mini, fleet []*process) {
			sent := &traffic{key: budget(op), callers: 2 * op.RateLimit(),
				road: road{proofless: true, far: 600 * ms, quick: 50 * ms, slow: 5 * time.Second}}
			sent.driveFor(amount(t, 2*time.Minute, 40*time.Second), fleet...)
			for _, left := range sent.refused {
				refused++
				if after := left.Sub(sent.known); after > 0 {
					assert.GreaterOrEqual(t, after, time.Minute, "after the first 429")
				}
			}
		})
	}
	assert.NotZero(t, refused, "the road is too easy")
}
