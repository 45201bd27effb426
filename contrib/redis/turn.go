// One turn: the script, its arguments and its reply.

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

// take plays one turn. An answer that comes after Timeout is none: the process may have
// been stopped meanwhile, and what it was granted be another's by now.
func (l *line) take(t turn) (reply, error) {
	opts := l.limiter.opts
	end := time.Now().Add(opts.Timeout)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	answer, err := script(ctx, l.limiter.client, turnScript, l.keys, l.limiter.me, string(l.op), t.number, l.limit,
		window.Microseconds(), (opts.Lease + l.window()).Microseconds(), t.want, t.first, t.pause.Microseconds(), l.afterAway().Microseconds(),
		t.refused.Microseconds(), ages(t.left, t.began), numbers(t.unused), numbers(t.held))
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
	return reply{}, fmt.Errorf("an answer that is none of its own: %v", answer)
}

// ages says how long ago, by the process's own clock, requests had arrived. Redis hears
// it later, and takes their arrivals for so much later.
func ages(left []arrival, now time.Time) string {
	text := make([]string, len(left))
	for i, a := range left {
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
