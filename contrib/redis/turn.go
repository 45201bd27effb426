// One turn: a call of turn.lua, its arguments and its reply.

package hotelstaysredis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed turn.lua
var turnSource string

var turnScript = redis.NewScript(turnSource)

// turn is what one call reports and asks for.
type turn struct {
	number       int64 // Redis ignores a turn that arrives after a later one
	want         int   // callers that wait
	first        int64 // number of the first permit to be granted
	began        time.Time
	pause        time.Duration
	refused      time.Duration // how long ago an unreported 429 came; negative: none
	arrived      []arrival
	unused, held []int64
}

type reply struct {
	granted             int
	tickets, maxTickets int
	wait                time.Duration // until the first ticket can be served
	refused             time.Duration // how long ago the fleet's last 429 came; negative: none
}

// take takes one turn. A reply after Timeout is an error: the process may have been stopped
// meanwhile, and its grants may have passed to others.
func (l *line) take(t turn) (reply, error) {
	opts := l.limiter.opts
	end := time.Now().Add(opts.Timeout)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	answer, err := runScript(ctx, l.limiter.client, turnScript, l.keys,
		l.limiter.id, l.name, t.number, l.limit,
		window.Microseconds(), (opts.Lease + l.window()).Microseconds(),
		t.want, t.first, t.pause.Microseconds(), l.restAfterOutage().Microseconds(),
		t.refused.Microseconds(), ages(t.arrived, t.began), numbers(t.unused), numbers(t.held))
	switch {
	case errors.Is(err, context.DeadlineExceeded), err == nil && time.Now().After(end):
		return reply{}, fmt.Errorf("no answer within %s", opts.Timeout)
	case err != nil:
		return reply{}, err
	}
	return readReply(answer)
}

func readReply(answer any) (reply, error) {
	parts, ok := answer.([]any)
	var n [5]int64
	if ok = ok && len(parts) == len(n); ok {
		for i := range n {
			number, isNumber := parts[i].(int64)
			n[i], ok = number, ok && isNumber
		}
	}
	if ok {
		return reply{int(n[0]), int(n[1]), int(n[2]), time.Duration(n[3]) * time.Microsecond, time.Duration(n[4]) * time.Microsecond}, nil
	}
	return reply{}, fmt.Errorf("unexpected answer to turn.lua: %v", answer)
}

// ages gives arrivals as ages, which need no common clock. A script that runs late takes
// them for later arrivals, which is safe.
func ages(arrived []arrival, now time.Time) string {
	text := make([]string, len(arrived))
	for i, a := range arrived {
		text[i] = fmt.Sprintf("%d:%d", a.number, now.Sub(a.by).Microseconds())
	}
	return strings.Join(text, ",")
}

func numbers(n []int64) string {
	text := make([]string, len(n))
	for i := range n {
		text[i] = strconv.FormatInt(n[i], 10)
	}
	return strings.Join(text, ",")
}
