// One turn: a call of turn.lua, its arguments and its reply.

package hotelstaysredis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed turn.lua
var turnSource string

var turnScript = redis.NewScript(turnSource)

// turn is the input of one call of turn.lua: a report, and how many slots the process needs.
type turn struct {
	report
	number    int64 // number of the turn; Redis ignores a turn if it has already received a higher number
	began     time.Time
	want      [3]int        // number of waiting callers of each priority
	first     int64         // number that the next permit gets
	rest      time.Duration // how long Redis must grant no slot
	roundTrip time.Duration // duration of the last call of turn.lua
}

type reply struct {
	granted             int
	tickets, maxTickets int
	wait                time.Duration // time until Redis can grant a slot for the first ticket
	refused             time.Duration // time since the last answer with status 429 to any process; negative if there was none
}

// exchange calls turn.lua. It fails if Redis does not reply within Timeout.
func (l *keyLimiter) exchange(t turn) (reply, error) {
	opts := l.limiter.opts
	ctx, cancel := context.WithTimeout(context.Background(), opts.Timeout)
	defer cancel()
	n, err := runScript(ctx, l.limiter.client, turnScript, (*redis.Cmd).Int64Slice, l.keys,
		l.limiter.id, l.name, t.number, l.limit,
		window.Microseconds(), (opts.Lease + l.window()).Microseconds(),
		fmt.Sprint(t.want), t.first, t.rest.Microseconds(), l.restAfterOutage().Microseconds(),
		t.refusedAgo(), t.ages(), fmt.Sprint(t.unused), fmt.Sprint(t.renewed), t.roundTrip.Microseconds())
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return reply{}, fmt.Errorf("no answer within %s", opts.Timeout)
	case err != nil:
		return reply{}, err
	case len(n) != 5:
		return reply{}, fmt.Errorf("unexpected reply to turn.lua: %v", n)
	}
	return reply{int(n[0]), int(n[1]), int(n[2]), time.Duration(n[3]) * time.Microsecond, time.Duration(n[4]) * time.Microsecond}, nil
}

// refusedAgo returns the time since the last 429, in microseconds, or -1 if there was no 429. Redis receives a
// duration, because its clock may differ from this process's clock.
func (t *turn) refusedAgo() int64 {
	if t.refused.IsZero() {
		return -1
	}
	return t.began.Sub(t.refused).Microseconds()
}

// ages returns the arrivals as number:age, separated by spaces, with the age in microseconds.
func (t *turn) ages() string {
	var text strings.Builder
	for _, a := range t.arrived {
		fmt.Fprintf(&text, "%d:%d ", a.number, t.began.Sub(a.by).Microseconds())
	}
	return text.String()
}
