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

// The used share of the limit at full demand, 20 ms away with 9 ms of jitter.
func TestThroughput(t *testing.T) {
	for _, c := range []struct {
		name      string
		thinking  time.Duration
		proofless bool
		before    time.Duration // how long the fleet has been at it
		after429  bool
		atLeast   float64
	}{
		{"at once, after a 429", 0, false, 0, true, 0.95},
		{"at once, no header, after a 429", 0, true, 0, true, 0.93},
		{"after 3 s, at first", 3 * time.Second, false, 0, false, 0.45},
		{"after 3 s, later", 3 * time.Second, false, 70 * time.Second, false, 0.93},
		{"after 3 s, no header", 3 * time.Second, true, 5 * time.Second, false, 0.93},
	} {
		t.Run(c.name, func(t *testing.T) {
			way := road{c.proofless, 10 * ms, 14500 * time.Microsecond, c.thinking, c.thinking}
			onRoad(t, way, func(t *testing.T, sent *traffic, fleet []*process) {
				sent.driveFor(c.before, fleet...)
				if c.after429 {
					permit := fleet[0].hold(t, sent.key, 1)[0]
					permit.Sent()
					permit.Done(hotelstays.PermitResult{FirstByte: time.Now(), RateLimited: true})
					fleet[0].Pause(sent.key, time.Now().Add(time.Second))
					time.Sleep(2 * time.Second)
				}
				before := len(sent.arrived)
				sent.driveFor(amount(t, time.Minute, 15*time.Second), fleet...)
				used := used(sent.arrived[before:], sent.key.Operation.RateLimit())
				t.Logf("%.3f of the limit", used)
				assert.GreaterOrEqual(t, used, c.atLeast)
				assert.Empty(t, sent.refused)
			})
		})
	}
}
