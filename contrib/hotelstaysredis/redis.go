// Functions that the three stores share.

package hotelstaysredis

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const defaultPrefix = "hotelstays"

// within runs the function call, and stops waiting for it when ctx ends, because go-redis by default respects only its
// own timeouts. Redis may still execute the command afterwards. within ignores a result after the deadline of ctx: the
// process may have been frozen, and another process may now have the same claim, lease or slot.
func within[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call(ctx)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		if end, ok := ctx.Deadline(); r.err != nil || !ok || time.Now().Before(end) {
			return r.value, r.err
		}
	case <-ctx.Done():
	}
	var none T
	return none, cmp.Or(ctx.Err(), context.DeadlineExceeded)
}

func runScript[T any](ctx context.Context, client redis.UniversalClient, s *redis.Script, read func(*redis.Cmd) (T, error),
	keys []string, args ...any) (T, error) {
	return within(ctx, func(ctx context.Context) (T, error) { return read(s.Run(ctx, client, keys, args...)) })
}

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// invalid joins the problems of a constructor's arguments into one error. It returns nil if all problems are nil.
func invalid(constructor string, problems ...error) error {
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("hotelstaysredis: %s: %w", constructor, err)
	}
	return nil
}

func checkClient(client redis.UniversalClient) error {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return errors.New("the client is nil; pass a client of github.com/redis/go-redis/v9")
	}
	return nil
}

func checkPrefix(prefix string) error {
	if strings.ContainsAny(prefix, "{}") {
		return fmt.Errorf("the Prefix %q must not contain braces: a cluster uses the text in braces to place a key", prefix)
	}
	return nil
}
