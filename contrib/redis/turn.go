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

	hotelstays "github.com/hotelstays/hotelstays-go"
)

//go:embed turn.lua
var turnSource string

// newTurnScript returns the script of one line. Its text is the line's own, so that a
// server that does not know it has never heard of the line.
func newTurnScript(prefix string, op hotelstays.Operation) *redis.Script {
	return redis.NewScript(fmt.Sprintf("%s-- %q %q\n", turnSource, prefix, op))
}

// take plays one turn.
func (l *line) take(t turn) (reply, error) {
	opts := l.limiter.opts
	ctx, cancel := context.WithTimeout(context.Background(), opts.Timeout)
	defer cancel()
	args := func(pause time.Duration) []any {
		return []any{l.limiter.me, l.limit, l.window().Microseconds(), opts.Lease.Microseconds(),
			t.want, t.first, pause.Microseconds(), l.afterAway().Microseconds(),
			numbers(t.left), numbers(t.unused), numbers(t.held)}
	}
	answer, err := within(ctx, func(ctx context.Context) (any, error) {
		answer, err := l.script.EvalSha(ctx, l.limiter.client, l.keys, args(t.pause)...).Result()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			// Servers forget scripts when they end. What this one read from its disk may
			// be old, so that it rests like one that has lost its memory.
			answer, err = l.script.Eval(ctx, l.limiter.client, l.keys, args(max(t.pause, l.afterAway()))...).Result()
		}
		return answer, err
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return reply{}, fmt.Errorf("no answer within %s", opts.Timeout)
	case err != nil:
		return reply{}, err
	}
	return readReply(answer)
}

func readReply(answer any) (reply, error) {
	parts, ok := answer.([]any)
	var n [4]int64
	if ok = ok && len(parts) == len(n); ok {
		for i := range n {
			number, isNumber := parts[i].(int64)
			n[i], ok = number, ok && isNumber
		}
	}
	if ok {
		return reply{int(n[0]), int(n[1]), int(n[2]), time.Duration(n[3]) * time.Microsecond}, nil
	}
	return reply{}, fmt.Errorf("an answer that is none of its own: %v", answer)
}

func numbers(n []int64) string {
	text := make([]string, len(n))
	for i := range n {
		text[i] = strconv.FormatInt(n[i], 10)
	}
	return strings.Join(text, ",")
}
